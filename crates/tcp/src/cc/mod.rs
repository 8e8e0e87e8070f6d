//! Congestion control: how large the window is.
//!
//! The hooks are named as in Linux (`tcp_congestion_ops`), the quantities as in RFC 5681. Loss detection
//! and recovery, which decide *what* is sent, are not here. An algorithm is a file that implements
//! [`CongestionControl`], and an entry here: scenarios, plans and the property tests learn its name from
//! [`Congestion`]. docs/tutorial/4-own-congestion-control.md adds one.

mod bbr;
mod cubic;
mod hystart;
mod minmax;
mod reno;
mod vegas;

use crate::config::Config;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_units::{Span, Time};

algorithms! {
    /// Slow start and congestion avoidance of RFC 5681.
    "reno" => reno::Reno,
    /// RFC 9438.
    "cubic" => cubic::Cubic,
    /// Vegas, by the queue that the flow itself builds.
    "vegas" => vegas::Vegas,
    /// BBR version 1.
    "bbr" => bbr::Bbr,
}

/// The algorithms by the names that scenarios know them by, each made by its `new(&Config)`.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $name:literal => $module:ident::$algorithm:ident,)*) => {
        /// Congestion control algorithms.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Congestion {
            $($(#[$doc])* #[serde(rename = $name)] $algorithm,)*
        }

        impl Congestion {
            /// Every algorithm, by name.
            pub const ALL: &[(&str, Self)] = &[$(($name, Self::$algorithm),)*];

            /// Its name; a kernel that has it knows it by the same.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$algorithm => $name,)*
                }
            }
        }

        impl CongestionFactory for Congestion {
            fn build(&self, config: &Config) -> Box<dyn CongestionControl> {
                match self {
                    $(Self::$algorithm => Box::new($module::$algorithm::new(config)),)*
                }
            }
        }
    };
}
use algorithms;

/// Makes the congestion control of a connection: one of those listed, or any other, which may share a state with those of other connections
/// ([`Connection::connect_with`](crate::Connection::connect_with)).
pub trait CongestionFactory {
    /// The algorithm at the start of a connection with these parameters.
    fn build(&self, config: &Config) -> Box<dyn CongestionControl>;
}

/// What an algorithm shows of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CongestionMetrics {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes; none while "arbitrarily high".
    pub ssthresh: Option<u64>,
    /// What it is doing, by the algorithm's own name for it: `slow_start`, `congestion_avoidance`, `probe_bw`, …
    pub state: &'static str,
    /// Values of its own, each with a name that ends with the unit; none where they are not known.
    pub own: [Option<(&'static str, u64)>; CongestionMetrics::OWN],
}

impl CongestionMetrics {
    /// How many values of its own an algorithm may show.
    pub const OWN: usize = 2;

    /// What any algorithm can show: the window, and on which side of the threshold it is.
    pub fn of(window: &Window) -> Self {
        Self {
            cwnd: window.cwnd,
            ssthresh: (window.ssthresh < u64::MAX).then_some(window.ssthresh),
            state: if window.in_slow_start() { "slow_start" } else { "congestion_avoidance" },
            own: [None; Self::OWN],
        }
    }
}

/// The window that an algorithm steers, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; `u64::MAX` is "arbitrarily high".
    pub ssthresh: u64,
    /// Sender maximum segment size: what a full-sized segment carries.
    pub smss: u64,
}

impl Window {
    /// Whether the sender is in slow start (RFC 5681 section 3.1).
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An acknowledgment of new data, outside of loss recovery.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// What was charged of the window for what it acknowledged: octets, of whole segments where small ones are charged as such.
    pub acked: u64,
    /// The smoothed round-trip time, if known.
    pub srtt: Option<Span>,
}

/// What an acknowledgment of new data measured, in loss recovery too.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    /// When it arrived.
    pub now: Time,
    /// The round-trip time of what it acknowledged, if that was sent once.
    pub rtt: Option<Span>,
    /// SND.UNA, which it moved, and SND.NXT: octets from the start of the connection.
    pub una: u64,
    /// See `una`.
    pub nxt: u64,
}

/// What an acknowledgment says of the rate of delivery (`rate_sample` of Linux); octets, as they are charged of the window.
#[derive(Debug, Clone, Copy, Default)]
pub struct RateSample {
    /// When it arrived.
    pub now: Time,
    /// When data was delivered last, or sent where nothing was outstanding (delivered_mstamp).
    pub delivered_at: Time,
    /// Delivered since the start of the connection.
    pub total_delivered: u64,
    /// Delivered before the segment was sent that is measured.
    pub prior_delivered: u64,
    /// Delivered since then, and how long that took; none if nothing can be said.
    pub delivered: u64,
    /// See `delivered`.
    pub interval: Option<Span>,
    /// The application, not the network, was what limited the rate.
    pub app_limited: bool,
    /// Delivered by this acknowledgment, and found lost with it.
    pub acked: u64,
    /// See `acked`.
    pub lost: u64,
    /// Found lost since the start of the connection (tp->lost).
    pub total_lost: u64,
    /// When the next segment may leave (tcp_wstamp_ns), not before `now`.
    pub departure: Time,
    /// On their way before and after this acknowledgment.
    pub prior_in_flight: u64,
    /// See `prior_in_flight`.
    pub in_flight: u64,
    /// The round-trip time of what it acknowledged, if that was sent once.
    pub rtt: Option<Span>,
    /// The smoothed round-trip time, if known.
    pub srtt: Option<Span>,
    /// A loss is being repaired that acknowledgments have shown.
    pub in_recovery: bool,
    /// A loss is being repaired that a timeout has shown.
    pub in_loss: bool,
}

/// Something happened to the window that was not an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CwndEvent {
    /// The retransmission timer expired.
    Loss {
        /// Octets found lost since the start of the connection, by this timeout too.
        total_lost: u64,
    },
    /// Transmission begins after nothing was outstanding.
    TxStart {
        /// Time since data was sent last.
        idle: Span,
        /// The application had less to send than the window allows; known where a rate of delivery is asked for.
        app_limited: bool,
    },
}

/// A congestion control algorithm.
pub trait CongestionControl: core::fmt::Debug + Send {
    /// The new slow-start threshold after a loss, with `flight` octets outstanding (RFC 5681 equation (4)).
    fn ssthresh(&mut self, now: Time, window: &Window, flight: u64) -> u64;

    /// Grows the window on an acknowledgment.
    fn cong_avoid(&mut self, ack: &Ack, window: &mut Window);

    /// The handshake is over, and took this round trip, where that is known; the window is the first one.
    fn init(&mut self, now: Time, rtt: Option<Span>, window: &Window) {
        let _ = (now, rtt, window);
    }

    /// Takes a measurement in, before the window grows.
    fn pkts_acked(&mut self, sample: &Sample, window: &mut Window) {
        let _ = (sample, window);
    }

    /// Whether [`cong_control`](CongestionControl::cong_control) steers the window in place of `cong_avoid` and of loss recovery; packets are
    /// paced then.
    fn has_cong_control(&self) -> bool {
        false
    }

    /// Sets the window by what was delivered, on each acknowledgment.
    fn cong_control(&mut self, sample: &RateSample, window: &mut Window) {
        let _ = (sample, window);
    }

    /// Whether it holds the rate down on purpose, so that what is delivered meanwhile says little of the network.
    fn limits_rate(&self) -> bool {
        false
    }

    /// The rate of pacing in bytes a second; none leaves it to `Config::pacing`.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// The window when a reduction turns out to have been spurious, `prior` being that of before.
    fn undo_cwnd(&mut self, window: &Window, prior: u64) -> u64 {
        window.cwnd.max(prior)
    }

    /// What it shows of itself, with the window that it steers. Asked when somebody looks, not for each segment.
    fn metrics(&self, window: &Window) -> CongestionMetrics {
        CongestionMetrics::of(window)
    }

    /// Takes notice of an event, which may end a reduction of the window.
    fn cwnd_event(&mut self, now: Time, event: CwndEvent, window: &mut Window) {
        let _ = (now, event, window);
    }
}

/// Slow start (RFC 5681 equation (2), RFC 3465 section 2.2); the acknowledged octets left over once the
/// threshold is reached.
fn slow_start(window: &mut Window, acked: u64, limit_segments: u32) -> u64 {
    let step = acked.min(u64::from(limit_segments).saturating_mul(window.smss));
    let grown = window.cwnd + step;
    if grown <= window.ssthresh {
        window.cwnd = grown;
        return 0;
    }
    // The rest is for congestion avoidance, as in Linux' tcp_slow_start().
    let rest = grown - window.ssthresh;
    window.cwnd = window.ssthresh;
    rest
}
