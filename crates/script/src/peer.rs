//! The other end of the ladder, which a script speaks for: it fills in what the script leaves out, and reads what leaves.

use crate::multipath::{self, Level, Multipath, Nonces};
use crate::segment::{Segment, Stamps, describe};
use std::net::Ipv4Addr;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader, Timestamps};

/// The endpoint's address, one of RFC 5737's for documentation.
pub const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// The peer's.
pub const PEER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// The port of whoever listens.
pub const LISTENS: u16 = 8080;
/// The port of whoever connects; further subflows come from those that follow.
pub const CONNECTS: u16 = 40_000;
/// The pattern that the endpoint under test sends.
pub const OURS: u32 = 1;
/// The pattern that its peer sends.
pub const THEIRS: u32 = 2;

/// What the peer knows.
#[derive(Debug, Clone)]
pub struct Peer {
    /// What it puts into the window field where nothing is said.
    pub window: u16,
    /// The number of its SYN.
    pub irs: Seq,
    /// The number of the endpoint's SYN, once known.
    pub iss: Option<Seq>,
    /// What it acknowledged last.
    acked: u32,
    /// The number after all that it sent.
    next: u32,
    last_stamp: u32,
    offers_stamps: bool,
    stamps: bool,
    stamp_base: Option<u32>,
    nonces: Nonces,
}

impl Peer {
    /// A peer whose SYN has the number `irs`; `iss` is the endpoint's, where it is known before it sends.
    pub const fn new(irs: Seq, iss: Option<Seq>) -> Self {
        Self {
            window: u16::MAX,
            irs,
            iss,
            acked: 0,
            next: 0,
            last_stamp: 0,
            offers_stamps: false,
            stamps: false,
            stamp_base: None,
            nonces: Nonces::of(0),
        }
    }

    /// The same peer on a further subflow, whose numbers nobody knows yet.
    pub(crate) fn further(&self, subflow: usize) -> Self {
        Self { nonces: Nonces::of(subflow), ..Self::new(self.irs, None) }
    }

    /// Both timestamps in use, as after a handshake that offered them.
    pub const fn use_stamps(&mut self) {
        self.stamps = true;
    }

    /// The endpoint's clock of timestamps runs from anywhere; said once it is known.
    pub const fn count_stamps_from(&mut self, base: u32) {
        self.stamp_base = Some(base);
    }

    /// Whether the endpoint has sent a timestamp that was counted from somewhere.
    pub const fn knows_stamps(&self) -> bool {
        self.stamp_base.is_some()
    }

    /// What arrives at `now`. What is not said of it: it continues the peer's stream, repeats its last acknowledgment, has the last window
    /// said, and timestamps where those are in use.
    ///
    /// # Errors
    /// Options that cannot be said yet, or that do not fit the header.
    pub(crate) fn arrives(
        &mut self,
        now: Time,
        segment: &Segment,
        level: &mut Level,
    ) -> Result<(TcpHeader, Payload), String> {
        let flags = segment.flags;
        let ours = self.iss.unwrap_or_default();
        let usual = Timestamps { value: (now.as_nanos() / 1_000_000) as u32 + 1, echo: self.last_stamp };
        let mut options = segment.options(ours, usual);
        if flags.contains(TcpFlags::SYN) {
            self.offers_stamps = options.timestamps.is_some();
        }
        if let Some(Some(Stamps::These(value, echo))) = segment.options.stamps
            && echo != 0
        {
            let echo = echo.wrapping_add(self.stamp_base.unwrap_or(0));
            options.timestamps = Some(Timestamps { value, echo });
        }
        let says_nothing =
            segment.options.stamps.is_none() && !flags.intersects(TcpFlags::SYN | TcpFlags::RST);
        if self.stamps && says_nothing {
            options.timestamps = Some(usual);
        }
        let has_ack = flags.contains(TcpFlags::ACK);
        if let Some(ack) = segment.ack.filter(|_| has_ack) {
            self.acked = ack;
        }
        if let Some(window) = segment.window {
            self.window = window;
        }
        let seq = segment.seq.unwrap_or(self.next);
        if !flags.contains(TcpFlags::RST) {
            self.next = self.next.max(seq.wrapping_add(segment.occupies()));
        }
        let said = segment.options.multipath.as_deref().unwrap_or_default();
        let place = multipath::place(said, flags).unwrap_or_else(|| u64::from(seq.max(1)) - 1);
        let payload = Payload::pattern(THEIRS, place, segment.len.unwrap_or(0));
        for option in said {
            let emitted = level.emit(option, self.nonces, (flags, seq), &payload)?;
            if !options.push_mptcp(&emitted) {
                return Err(format!("{option} does not fit the header beside the other options"));
            }
        }
        let header = TcpHeader {
            seq: self.irs.wrapping_add(seq),
            ack: if has_ack { ours.wrapping_add(self.acked) } else { Seq(0) },
            flags,
            window: self.window,
            options,
            ..TcpHeader::default()
        };
        Ok((header, payload))
    }

    /// Takes note of a segment that left.
    pub(crate) fn hear(&mut self, header: &TcpHeader, level: &mut Level) {
        level.hear(header, &mut self.nonces);
        if header.flags.contains(TcpFlags::SYN) {
            self.iss = Some(header.seq);
            self.stamps = header.options.timestamps.is_some()
                && (self.offers_stamps || !header.flags.contains(TcpFlags::ACK));
        }
        if let Some(stamps) = header.options.timestamps {
            self.last_stamp = stamps.value;
        }
    }

    /// The options of Multipath TCP of a segment that left.
    ///
    /// # Errors
    /// One is none, or has not the right key or proof.
    pub(crate) fn options(
        &self,
        header: &TcpHeader,
        payload: &Payload,
        level: &Level,
    ) -> Result<Vec<Multipath>, String> {
        let seq = header.seq.0.wrapping_sub(self.iss.unwrap_or_default().0);
        level.read(self.nonces, header, seq, payload)
    }

    /// Compares a segment that left, with these options of Multipath TCP, with what was expected of it; timestamps may be off by `slack`
    /// milliseconds.
    ///
    /// # Errors
    /// What differs.
    pub(crate) fn compare(
        &self,
        expected: &Segment,
        (header, payload): (&TcpHeader, &Payload),
        options: &[Multipath],
        slack: u32,
    ) -> Result<(), String> {
        let stamps = (self.stamp_base.unwrap_or(0), slack);
        expected.compare(header, payload, options, self.numbers(), stamps)
    }

    /// A segment that left, as a script would write it.
    pub(crate) fn describe(&self, header: &TcpHeader, payload: &Payload, options: &[Multipath]) -> String {
        describe(header, payload, options, self.numbers(), self.stamp_base.unwrap_or(0))
    }

    /// A segment that arrives, as a script would write it.
    pub(crate) fn describe_arrival(
        &self,
        header: &TcpHeader,
        payload: &Payload,
        options: &[Multipath],
    ) -> String {
        let (ours, theirs) = self.numbers();
        describe(header, payload, options, (theirs, ours), 0)
    }

    fn numbers(&self) -> (Seq, Seq) {
        (self.iss.unwrap_or_default(), self.irs)
    }
}
