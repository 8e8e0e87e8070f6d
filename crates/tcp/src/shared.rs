//! What the sender, the receiver and loss recovery of one connection all go by.

use crate::config::Config;
use crate::connection::{Counters, Ended, State};
use crate::owner::Owned;
use crate::rtt::RttEstimator;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ops::Range;
use voxpath_units::{Span, Time};
use voxpath_wire::tcp::TcpHeader;

/// The default of RFC 9293 section 3.7.1 where the peer announces no maximum segment size.
pub(crate) const DEFAULT_MSS: u16 = 536;

/// The largest shift count (RFC 7323 section 2.3).
pub(crate) const MAX_WINDOW_SHIFT: u8 = 14;

/// The largest window without scaling, bytes.
pub(crate) const MAX_UNSCALED_WINDOW: u32 = 65_535;

/// The part of a connection that belongs to none of its halves alone. Each half is lent it: the receiver only reads.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) state: State,
    /// How the connection ended; none while it goes on.
    pub(crate) ended: Option<Ended>,
    /// Options that both ends offered.
    pub(crate) options: Negotiated,
    /// Measured by the sender; the receiver's delays follow it.
    pub(crate) rtt: RttEstimator,
    pub(crate) counters: Counters,
    /// What is kept for the owner, where there is one.
    pub(crate) owned: Option<Box<Owned>>,
}

impl Shared {
    pub(crate) fn new(config: Arc<Config>, state: State) -> Self {
        Self {
            state,
            ended: None,
            options: Negotiated::offered(&config),
            rtt: RttEstimator::new(config.clone()),
            counters: Counters::default(),
            owned: None,
            config,
        }
    }

    /// Whether the handshake is over.
    pub(crate) const fn is_synchronised(&self) -> bool {
        !matches!(self.state, State::SynSent | State::SynReceived)
    }
}

impl Shared {
    /// Octets of options in each segment with data, SACK blocks aside.
    pub(crate) fn options_len(&self) -> u32 {
        self.options.len() + self.reserved(true)
    }

    /// Octets that the owner's options take of a segment.
    pub(crate) fn reserved(&self, has_data: bool) -> u32 {
        self.owned
            .as_ref()
            .map_or(0, |owned| if has_data { owned.owner.data_options } else { owned.owner.ack_options })
    }

    /// The window that somebody else announces.
    pub(crate) fn window_of_owner(&self) -> Option<u32> {
        self.owned.as_ref().filter(|owned| !owned.is_parting).map(|owned| owned.owner.window)
    }

    /// The first of these octets that have one mapping, or none.
    pub(crate) fn first_of_one_mapping(&self, range: Range<u64>) -> Range<u64> {
        let Some(owned) = &self.owned else { return range };
        let end = match owned.mapping_from(range.start) {
            Some(mapping) if mapping.start <= range.start => mapping.end(),
            Some(next) => next.start,
            None => range.end,
        };
        range.start..range.end.min(end)
    }

    /// The last of these octets that have one mapping, or none.
    pub(crate) fn last_of_one_mapping(&self, range: Range<u64>) -> Range<u64> {
        let mut rest = range;
        loop {
            let first = self.first_of_one_mapping(rest.clone());
            if first.end >= rest.end {
                return first;
            }
            rest.start = first.end;
        }
    }

    /// A segment was taken in.
    #[inline]
    pub(crate) fn note_received(&mut self, header: &TcpHeader, start: u64, len: u32) {
        if let Some(owned) = &mut self.owned {
            owned.note_received(header, start, len, self.options.snd_shift);
        }
    }
}

/// What both SYNs agreed on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Negotiated {
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    pub(crate) window_scaling: bool,
    /// Explicit congestion notification (RFC 3168 section 6.1.1).
    pub(crate) ecn: bool,
    /// Snd.Wind.Shift: how far to shift windows that arrive.
    pub(crate) snd_shift: u8,
    /// Rcv.Wind.Shift: how far windows that leave are shifted.
    pub(crate) rcv_shift: u8,
    /// The peer's maximum segment size, bytes.
    pub(crate) peer_mss: u16,
}

impl Negotiated {
    /// What this end's SYN offers.
    fn offered(config: &Config) -> Self {
        Self {
            timestamps: config.timestamps,
            sack: config.sack,
            window_scaling: config.window_scaling,
            ecn: false,
            snd_shift: 0,
            rcv_shift: if config.window_scaling { window_shift(config.receive_buffer) } else { 0 },
            peer_mss: DEFAULT_MSS,
        }
    }

    /// Takes the MSS of the peer's SYN, and leaves what both ends speak of SACK, timestamps and window scaling.
    pub(crate) fn take_syn(&mut self, offered: &voxpath_wire::tcp::TcpOptions) {
        self.peer_mss = offered.mss.unwrap_or(DEFAULT_MSS).max(1);
        self.sack &= offered.sack_permitted;
        self.timestamps &= offered.timestamps.is_some();
        match (self.window_scaling, offered.window_scale) {
            (true, Some(shift)) => self.snd_shift = shift.min(MAX_WINDOW_SHIFT),
            _ => (self.window_scaling, self.rcv_shift) = (false, 0),
        }
    }

    /// Octets of TCP's own options in each segment, SACK blocks aside.
    pub(crate) const fn len(&self) -> u32 {
        if self.timestamps { 12 } else { 0 }
    }
}

/// The shift count with which a buffer's whole size can be announced (RFC 7323 section 2.3).
fn window_shift(buffer: u32) -> u8 {
    (0..MAX_WINDOW_SHIFT).find(|&shift| buffer >> shift <= MAX_UNSCALED_WINDOW).unwrap_or(MAX_WINDOW_SHIFT)
}

/// What the timestamp clock counts. Linux takes no round trip for shorter that it tells (tcp_rtt_tsopt_us()).
pub(crate) const TICK: Span = Span::from_millis(1);

/// The timestamp clock: milliseconds (RFC 7323 section 5.4), from 1 so that 0 can mean none.
pub(crate) const fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32 + 1
}

/// The time since `echo` was the timestamp, in whole milliseconds.
pub(crate) fn elapsed_since(now: Time, echo: u32) -> Option<Span> {
    let elapsed = timestamp(now).wrapping_sub(echo);
    // An echo from the future or of nothing is no sample.
    (echo != 0 && elapsed < u32::MAX / 2).then(|| Span::from_millis(u64::from(elapsed)))
}
