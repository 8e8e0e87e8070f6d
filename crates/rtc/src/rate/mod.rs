//! Rate control: how fast a sender of media may send.
//!
//! A control is a file that has its settings, which are those of a plan, and implements [`Settings`]; and an entry in [`RateSettings`].
//! Plans, checks and property tests learn it from there. docs/extending.md adds one.
//!
//! A control has a half at the sender, [`RateControl`], and may have one at the receiver, [`ReceiverEstimator`]. Neither sees a packet
//! of RTP or RTCP: the session matches reports with what was sent ([`History`]), and paces what [`Allowance`] says. In this order it
//! calls `on_...` for what happened, then drains `poll_probe`, then looks at `allowance` and `poll_timeout`.
//!
//! Rates are bits per second of RTP packets: header, extensions and payload, without IP and UDP.

mod delay;
mod encoding;
mod fixed;
mod gcc;
mod groups;
mod history;
mod hoang2017;
mod libwebrtc;
mod nada;
mod scream;
mod window;

pub(crate) use encoding::Headers;
pub use encoding::{Encoding, Packets};
pub use fixed::Fixed;
pub use gcc::{Gcc, Side};
pub use history::{Arrival, History};
pub use hoang2017::Hoang2017;
pub use libwebrtc::LibWebRtc;
pub use nada::Nada;
pub use scream::{Scream, Scream2};

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

rate_controls! {
    /// No control: the start rate, always.
    "none" => Fixed,
    /// draft-ietf-rmcat-gcc-02, at the sender or at the receiver.
    "gcc" => Gcc,
    /// GCC as libwebrtc has it today.
    "libwebrtc" => LibWebRtc,
    /// GCC as Hoang (2017) simulates it.
    "hoang2017" => Hoang2017,
    /// RFC 8698.
    "nada" => Nada,
    /// RFC 8298.
    "scream" => Scream,
    /// draft-johansson-ccwg-rfc8298bis-screamv2.
    "scream2" => Scream2,
}

/// The rates that a control stays between, and where it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Never below.
    pub min_bps: u64,
    /// At the start of a session.
    pub start_bps: u64,
    /// Never above.
    pub max_bps: u64,
}

impl Bounds {
    /// What is wrong with them.
    pub fn check(&self, check: &mut Check<'_>) {
        check.at("min_bps").rate(self.min_bps);
        check.at("max_bps").rate(self.max_bps);
        let inside = (self.min_bps..=self.max_bps).contains(&self.start_bps);
        check.at("start_bps").need(inside, "is between min_bps and max_bps");
    }

    /// The rate, or the bound that is nearest.
    pub fn clamp(&self, bps: f64) -> f64 {
        bps.max(self.min_bps as f64).min(self.max_bps as f64)
    }
}

/// A packet of media, retransmission or padding has left the pacer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// When, on the sender's clock.
    pub now: Time,
    /// Its number among all packets that are reported on, unwrapped.
    pub seq: u64,
    /// Its size.
    pub bytes: u32,
    /// The probe that it belongs to ([`Probe::id`]).
    pub probe: Option<u32>,
    /// Bytes on their way with it: sent, and not yet covered by a report.
    pub in_flight: u64,
}

/// What became of a packet, as the receiver reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketResult {
    /// As in [`Sent`].
    pub seq: u64,
    /// When it was sent, on the sender's clock.
    pub sent: Time,
    /// Its size.
    pub bytes: u32,
    /// When it arrived, on the receiver's clock, whose start and speed are its own; none if it has not arrived.
    pub arrival: Option<Time>,
    /// It arrived with the mark "congestion experienced".
    pub ce: bool,
    /// The probe that it belongs to.
    pub probe: Option<u32>,
    /// An earlier report had it as not arrived.
    pub was_missing: bool,
}

/// A report on single packets: transport-wide feedback, or RFC 8888.
#[derive(Debug, Clone, Copy)]
pub struct Feedback<'a> {
    /// When it arrived, on the sender's clock.
    pub now: Time,
    /// Packets that no report had before, or that had not arrived then; in the order of sending, may be none.
    pub packets: &'a [PacketResult],
    /// Bytes on their way after it.
    pub in_flight: u64,
}

impl Feedback<'_> {
    /// Packets that have arrived, in the order of sending, with their arrival.
    pub fn received(&self) -> impl Iterator<Item = (&PacketResult, Time)> {
        self.packets.iter().filter_map(|packet| Some((packet, packet.arrival?)))
    }

    /// The same in the order of arrival; those of one moment in the order of sending.
    pub fn by_arrival(&self) -> Vec<(&PacketResult, Time)> {
        let mut received: Vec<_> = self.received().collect();
        received.sort_by_key(|&(packet, arrival)| (arrival, packet.seq));
        received
    }

    /// From the sending of the packet that arrived and was sent last to this report: the round trip, with what the receiver waited.
    pub fn round_trip(&self) -> Option<Span> {
        let sent = self.received().map(|(packet, _)| packet.sent).max()?;
        Some(self.now.since(sent))
    }
}

/// What a receiver report says of the stream (RFC 3550 section 6.4.1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// When it arrived.
    pub now: Time,
    /// Packets that were expected since the report before.
    pub expected: u64,
    /// Fraction of them that was lost, 0 to 1.
    pub fraction_lost: f64,
    /// The round trip, if the report tells it.
    pub round_trip: Option<Span>,
}

/// What waits at the sender to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendQueue {
    /// Now.
    pub now: Time,
    /// Bytes that wait.
    pub bytes: u64,
    /// How long the first of them has waited.
    pub delay: Span,
}

/// What a sender may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// What sources shall produce, all of them together.
    pub target_bps: u64,
    /// How fast packets leave the queue.
    pub pacing_bps: u64,
    /// Bytes that may be on their way; none if that is not limited.
    pub window_bytes: Option<u64>,
}

/// Packets to be sent at a rate of their own, which tells whether the path carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Its number, which its packets carry.
    pub id: u32,
    /// The rate.
    pub bps: u64,
    /// Packets, at least.
    pub packets: u32,
    /// How long, at least; with padding where media does not suffice.
    pub span: Span,
    /// A packet with so many octets of payload has to come before it is sent, unless it follows another probe.
    pub starts_with: u32,
}

/// A signal inside a control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A number, in the unit that its name ends with.
    Number(f64),
    /// A state, by the control's own name for it.
    State(&'static str),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&'static str> for Value {
    fn from(state: &'static str) -> Self {
        Self::State(state)
    }
}

/// The half of a control that the sender has.
pub trait RateControl: Debug + Send {
    /// A packet was sent that reports on packets will cover.
    fn on_sent(&mut self, packet: &Sent) {
        let _ = packet;
    }

    /// A report on single packets came.
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let _ = feedback;
    }

    /// The receiver's estimate of the maximum rate came (REMB).
    fn on_remb(&mut self, now: Time, bps: u64) {
        let _ = (now, bps);
    }

    /// A receiver report came.
    fn on_report(&mut self, report: &Report) {
        let _ = report;
    }

    /// The send queue has changed: media was put in, or packets were taken out.
    fn on_queue(&mut self, queue: &SendQueue) {
        let _ = queue;
    }

    /// What media have at most, where that is less than the call's bound.
    fn set_media_most(&mut self, bps: u64) {
        let _ = bps;
    }

    /// Packets go another way from now on, and it is known: what was learnt of the path is of no use.
    fn on_route_change(&mut self, now: Time);

    /// When to call [`handle_timeout`](RateControl::handle_timeout).
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// That time has come.
    fn handle_timeout(&mut self, now: Time) {
        let _ = now;
    }

    /// The next probe to be sent.
    fn poll_probe(&mut self) -> Option<Probe> {
        None
    }

    /// What the sender may do.
    fn allowance(&self) -> Allowance;

    /// Shows each signal inside, by its name. Asked when somebody looks, not for each packet.
    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value));
}

/// A packet has arrived, with the time at which it says that it was sent (header extension abs-send-time).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// When, on the receiver's clock.
    pub now: Time,
    /// When it was sent, on the sender's clock, unwrapped; its start and speed are its own.
    pub sent: Time,
    /// Its size.
    pub bytes: u32,
}

/// The half of a control that the receiver has: it estimates the maximum rate, and has it sent back (REMB).
pub trait ReceiverEstimator: Debug + Send {
    /// A packet has arrived.
    fn on_arrived(&mut self, packet: &Arrived);

    /// The round trip is known, or has changed.
    fn on_round_trip(&mut self, round_trip: Span) {
        let _ = round_trip;
    }

    /// When to call [`handle_timeout`](ReceiverEstimator::handle_timeout).
    fn poll_timeout(&self) -> Option<Time>;

    /// That time has come.
    fn handle_timeout(&mut self, now: Time);

    /// The estimate to be sent now, bits per second; none if none is due.
    fn poll_remb(&mut self) -> Option<u64>;

    /// Shows each signal inside, by its name.
    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value));
}

/// What a receiver has to report for a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The kind of report.
    pub report: ReportKind,
    /// How often.
    pub every: Every,
    /// Packets are sent as capable of explicit congestion notification.
    pub ecn: bool,
    /// What the control counts of each packet beside its RTP octets: the headers below.
    pub below_bytes: u32,
    /// Packets leave at once until the pacer is so far ahead of its rate; then it waits until it is not.
    pub burst: Span,
}

impl Needs {
    /// A report of a kind at intervals; packets are counted as RTP has them, and paced one by one.
    pub(crate) const fn of(report: ReportKind, every: Every) -> Self {
        Self { report, every, ecn: false, below_bytes: 0, burst: Span::ZERO }
    }
}

/// Kinds of reports, beside the receiver reports that each session sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportKind {
    /// None.
    None,
    /// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01): arrivals, without marks.
    TransportWide,
    /// RFC 8888: arrivals and marks.
    Ccfb,
    /// REMB (draft-alvestrand-rmcat-remb-03), when the [`ReceiverEstimator`] says.
    Remb,
}

/// How often a receiver reports on packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Every {
    /// After each of these spans, if anything has arrived.
    Span(Span),
    /// As often as a share of the received rate allows.
    Share {
        /// Of the received rate, in thousandths.
        permille: u32,
        /// What a report is taken to have.
        report_bytes: u32,
        /// Not sooner.
        least: Span,
        /// Not later.
        most: Span,
    },
    /// As often as a share of what the receiver's own control lets it send allows.
    OwnShare {
        /// Of that rate, in thousandths.
        permille: u32,
        /// As in `Share`.
        report_bytes: u32,
        /// Not sooner.
        least: Span,
        /// Not later.
        most: Span,
        /// Of a receiver that sends no media.
        alone: Span,
    },
}

impl Every {
    /// The time to the next report at a received rate, and the target of the receiver's own control if it sends media.
    pub fn interval(&self, received_bps: u64, own_bps: Option<u64>) -> Span {
        let of = |bps: u64, permille: u32, report_bytes: u32, least: Span, most: Span| {
            // Bits times thousandths times nanoseconds are below 2^75.
            let owed = u128::from(report_bytes) * 8 * 1000 * 1_000_000_000;
            let rate = u128::from(bps) * u128::from(permille);
            let ns = u64::try_from(owed / rate.max(1)).unwrap_or(u64::MAX);
            Span::from_nanos(ns.clamp(least.as_nanos(), most.as_nanos()))
        };
        match *self {
            Self::Span(span) => span,
            Self::Share { permille, report_bytes, least, most } => {
                of(received_bps, permille, report_bytes, least, most)
            }
            Self::OwnShare { permille, report_bytes, least, most, alone } => {
                own_bps.map_or(alone, |bps| of(bps, permille, report_bytes, least, most))
            }
        }
    }
}

/// The settings of a control: as a plan has them, without the kind.
pub(crate) trait Settings: Sized {
    /// What is wrong with them.
    fn check(&self, check: &mut Check<'_>) {
        let _ = check;
    }

    /// What the receiver has to report.
    fn needs(&self) -> Needs;

    /// The sender's half at the start of a session.
    fn sender(&self, now: Time, bounds: Bounds) -> Box<dyn RateControl>;

    /// The receiver's half, if it has one.
    fn receiver(&self, _now: Time, _bounds: Bounds) -> Option<Box<dyn ReceiverEstimator>> {
        None
    }

    /// How what an encoder may make follows from its share of the target.
    fn encoding(&self) -> Box<dyn Encoding> {
        Box::new(Headers)
    }

    /// Settings with which nothing is wrong, for property tests.
    fn sample(draw: &mut dyn Draw) -> Self;
}

macro_rules! rate_controls {
    ($($(#[$doc:meta])* $name:literal => $settings:ident,)*) => {
        /// Rate controls, each with its settings.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum RateSettings {
            $($(#[$doc])* #[serde(rename = $name)] $settings($settings),)*
        }

        impl RateSettings {
            /// The names of the controls.
            pub const KINDS: &[&str] = &[$($name),*];

            /// The name of this one.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$settings(_) => $name,)*
                }
            }

            /// What is wrong with the settings.
            pub fn check(&self, check: &mut Check<'_>) {
                match self {
                    $(Self::$settings(settings) => settings.check(check),)*
                }
            }

            /// What the receiver has to report.
            pub fn needs(&self) -> Needs {
                match self {
                    $(Self::$settings(settings) => settings.needs(),)*
                }
            }

            /// The sender's half at the start of a session, of settings and bounds with which nothing is wrong.
            pub fn sender(&self, now: Time, bounds: Bounds) -> Box<dyn RateControl> {
                match self {
                    $(Self::$settings(settings) => settings.sender(now, bounds),)*
                }
            }

            /// The receiver's half, if it has one.
            pub fn receiver(&self, now: Time, bounds: Bounds) -> Option<Box<dyn ReceiverEstimator>> {
                match self {
                    $(Self::$settings(settings) => settings.receiver(now, bounds),)*
                }
            }

            /// How what an encoder may make follows from its share of the target.
            pub fn encoding(&self) -> Box<dyn Encoding> {
                match self {
                    $(Self::$settings(settings) => settings.encoding(),)*
                }
            }

            /// Settings of the kind with this index in [`KINDS`](Self::KINDS), with which nothing is wrong.
            pub fn sample(kind: usize, draw: &mut dyn Draw) -> Self {
                let all: &[fn(&mut dyn Draw) -> Self] =
                    &[$(|draw| Self::$settings(<$settings as Settings>::sample(draw)),)*];
                all[kind](draw)
            }
        }
    };
}
use rate_controls;
