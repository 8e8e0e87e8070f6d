//! Google Congestion Control as draft-ietf-rmcat-gcc-02 has it, with the delay-based controller at the sender or at the receiver.
//!
//! | file | section |
//! | --- | --- |
//! | `../groups.rs` | 5.2, pre-filtering |
//! | `filter.rs` | 5.3, the arrival-time filter |
//! | `detector.rs` | 5.4, the over-use detector |
//! | `aimd.rs` | 5.5, the delay-based rate control |
//! | `loss.rs` | 6, the loss-based control |
//!
//! What libwebrtc does today is another control ([`LibWebRtc`](super::LibWebRtc)).

mod aimd;
mod detector;
mod filter;
mod loss;

use super::groups::Groups;
use super::window::RateWindow;
use super::{
    Allowance, Arrived, Bounds, Every, Feedback, Needs, RateControl, ReceiverEstimator, Report, ReportKind,
    Settings, Value,
};
use aimd::Aimd;
use alloc::boxed::Box;
use detector::{Detector, Signal};
use filter::{Filter, Scalar, TwoStates};
use loss::LossBased;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Packets sent within this time are a group (burst_time).
const BURST: Span = Span::from_millis(5);
/// What the round trip is taken for before it is known (libwebrtc's `kDefaultRtt`).
const ROUND_TRIP: Span = Span::from_millis(200);
/// The receiver updates its estimate this often, and at once where it detects over-use. The draft wants a constant period, no longer
/// than a response time.
const PERIOD: Span = Span::from_millis(100);
/// The receiver sends its estimate at least this often.
const REMB_EVERY: Span = Span::from_secs(1);

/// Where the delay-based controller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// At the sender, fed by transport-wide feedback.
    Sender,
    /// At the receiver, fed by the absolute send time; it sends its estimate (REMB).
    Receiver,
}

/// Settings of GCC; those of table 1 of the draft where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gcc {
    /// Where the delay-based controller is.
    pub side: Side,
    /// Of the incoming rate, what a decrease leaves.
    pub beta: f64,
    /// How fast the noise of the delay is learnt, chi: 0.1 to 0.001.
    pub chi: f64,
    /// How fast the threshold rises, K_u, in 1/ms.
    pub k_up: f64,
    /// How fast the threshold falls, K_d, in 1/ms.
    pub k_down: f64,
    /// The window in which the incoming rate is measured, T.
    pub rate_window_ns: u64,
    /// From report to report on packets.
    pub feedback_interval_ns: u64,
    /// The pacer's rate by the target.
    pub pacing_factor: f64,
    /// Compares m(i) itself with the threshold, as the draft's words are. With groups of 5 ms that detects an over-use above 200 %
    /// only. Every implementation compares the sum of m over up to 60 groups; so does this one unless told otherwise.
    pub literal_threshold: bool,
}

impl Default for Gcc {
    fn default() -> Self {
        Self {
            side: Side::Sender,
            beta: 0.85,
            chi: 0.01,
            k_up: 0.01,
            k_down: 0.000_18,
            rate_window_ns: 500_000_000,
            feedback_interval_ns: 100_000_000,
            pacing_factor: 1.0,
            literal_threshold: false,
        }
    }
}

/// How it may differ from the draft, beside the settings.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Variant {
    /// Bits per second that are added where the loss-based estimate grows.
    pub(super) loss_extra_bps: f64,
    /// A fraction lost is of any number of packets.
    pub(super) loss_of_few: bool,
    /// The filter has the states 1/C and m.
    pub(super) two_states: bool,
    /// The filter does not learn the noise.
    pub(super) fixed_noise: bool,
    /// Each packet is a group.
    pub(super) per_packet: bool,
    /// The incoming rate is multiplied with the number of packets.
    pub(super) rate_times_count: bool,
    /// A packet that is lost has the delay variation of the one before.
    pub(super) lost_repeats: bool,
}

impl Settings for Gcc {
    fn check(&self, check: &mut Check<'_>) {
        let part = |x: f64| x > 0.0 && x < 1.0;
        check.at("beta").need(part(self.beta), "is above 0 and below 1");
        check.at("chi").need(part(self.chi), "is above 0 and below 1");
        check.at("k_up").need(part(self.k_up), "is above 0 and below 1");
        check.at("k_down").need(part(self.k_down), "is above 0 and below 1");
        check.at("rate_window_ns").span_of_at_least(self.rate_window_ns, Span::from_millis(10));
        check.at("feedback_interval_ns").span_of_at_least(self.feedback_interval_ns, Span::from_millis(1));
        check.at("pacing_factor").need((1.0..=100.0).contains(&self.pacing_factor), "is from 1 to 100");
    }

    fn needs(&self) -> Needs {
        let report = match self.side {
            Side::Sender => ReportKind::TransportWide,
            Side::Receiver => ReportKind::Remb,
        };
        let every = Every::Span(Span::from_nanos(self.feedback_interval_ns));
        Needs::of(report, every)
    }

    fn sender(&self, now: Time, bounds: Bounds) -> Box<dyn RateControl> {
        Box::new(Sender::new(now, bounds, *self, Variant::default()))
    }

    fn receiver(&self, now: Time, bounds: Bounds) -> Option<Box<dyn ReceiverEstimator>> {
        (self.side == Side::Receiver).then(|| {
            let delay = DelayBased::new(now, bounds, self, &Variant::default());
            Box::new(Receiver { delay, next: None, said: None, due: false }) as Box<dyn ReceiverEstimator>
        })
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let side = draw.pick(&[Side::Sender, Side::Receiver]);
        let mut part = |least: u32, more: u64| f64::from(least + draw.below(more) as u32) / 1e3;
        Self {
            side,
            beta: part(500, 490),
            chi: part(1, 100),
            k_up: part(1, 100),
            k_down: part(1, 100),
            pacing_factor: part(1000, 4000),
            rate_window_ns: 10_000_000 + draw.below(2_000_000_000),
            feedback_interval_ns: 1_000_000 + draw.below(3_000_000_000),
            literal_threshold: draw.bit(),
        }
    }
}

/// The delay-based controller, wherever it is.
#[derive(Debug)]
struct DelayBased {
    variant: Variant,
    groups: Groups,
    filter: Filter,
    detector: Detector,
    incoming: RateWindow,
    aimd: Aimd,
    round_trip: Span,
    m: f64,
    last: Option<super::groups::Delta>,
    signal: Signal,
}

impl DelayBased {
    fn new(now: Time, bounds: Bounds, settings: &Gcc, variant: &Variant) -> Self {
        let filter = if variant.two_states {
            Filter::TwoStates(TwoStates::new(settings.chi, variant.fixed_noise))
        } else {
            Filter::Scalar(Scalar::new(settings.chi, variant.fixed_noise))
        };
        Self {
            variant: *variant,
            groups: Groups::new(if variant.per_packet { Span::ZERO } else { BURST }),
            filter,
            detector: Detector::new(settings),
            incoming: RateWindow::new(Span::from_nanos(settings.rate_window_ns)),
            aimd: Aimd::new(now, bounds, settings.beta),
            round_trip: ROUND_TRIP,
            m: 0.0,
            last: None,
            signal: Signal::Normal,
        }
    }

    /// A packet has arrived, in the order of arrival; whether that shows over-use.
    fn on_packet(&mut self, sent: Time, arrival: Time, heard: Time, bytes: u32) -> bool {
        self.incoming.add(arrival, bytes);
        let Some(delta) = self.groups.on_packet(sent, arrival, heard, bytes) else { return false };
        self.last = Some(delta);
        self.on_group(&delta)
    }

    /// A packet is lost.
    fn on_lost(&mut self) -> bool {
        match self.last {
            Some(delta) if self.variant.lost_repeats => self.on_group(&delta),
            _ => false,
        }
    }

    fn on_group(&mut self, delta: &super::groups::Delta) -> bool {
        self.m = self.filter.update(delta);
        self.signal = self.detector.update(self.m, delta);
        self.signal == Signal::Overuse
    }

    fn incoming_bps(&self) -> Option<f64> {
        let times = if self.variant.rate_times_count { self.incoming.count() as f64 } else { 1.0 };
        self.incoming.bps().map(|bps| bps * times)
    }

    fn update(&mut self, now: Time, overuse: bool) {
        let signal = if overuse { Signal::Overuse } else { self.signal };
        self.aimd.update(now, signal, self.incoming_bps(), self.round_trip);
    }

    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value)) {
        show("delay_based_bps", self.aimd.estimate_bps.into());
        show("delay_gradient_ms", self.m.into());
        show("compared_ms", self.detector.compared_ms.into());
        show("threshold_ms", self.detector.threshold_ms.into());
        show("signal", self.signal.name().into());
        show("state", self.aimd.state.name().into());
        if let Some(bps) = self.incoming_bps() {
            show("incoming_bps", bps.into());
        }
    }
}

/// The sender's half.
#[derive(Debug)]
pub(super) struct Sender {
    settings: Gcc,
    variant: Variant,
    bounds: Bounds,
    delay: DelayBased,
    loss: LossBased,
    /// The receiver's estimate.
    remb_bps: Option<f64>,
}

impl Sender {
    pub(super) fn new(now: Time, bounds: Bounds, settings: Gcc, variant: Variant) -> Self {
        let fewest = if variant.loss_of_few { 1 } else { loss::FEWEST };
        Self {
            settings,
            variant,
            bounds,
            delay: DelayBased::new(now, bounds, &settings, &variant),
            loss: LossBased::new(bounds, variant.loss_extra_bps, fewest),
            remb_bps: None,
        }
    }

    fn delay_based_bps(&self) -> f64 {
        match self.settings.side {
            Side::Sender => self.delay.aimd.estimate_bps,
            // Until the receiver says something, only losses limit the rate (section 7).
            Side::Receiver => self.remb_bps.unwrap_or(f64::INFINITY),
        }
    }

    fn target_bps(&self) -> f64 {
        self.bounds.clamp(self.loss.estimate_bps.min(self.delay_based_bps()))
    }
}

impl RateControl for Sender {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if self.settings.side == Side::Receiver || feedback.packets.is_empty() {
            return;
        }
        if let Some(round_trip) = feedback.round_trip() {
            self.delay.round_trip = round_trip;
        }
        let mut overuse = false;
        for (packet, arrival) in feedback.by_arrival() {
            overuse |= self.delay.on_packet(packet.sent, arrival, feedback.now, packet.bytes);
        }
        let lost = feedback.packets.iter().filter(|packet| packet.arrival.is_none()).count();
        for _ in 0..lost {
            overuse |= self.delay.on_lost();
        }
        let new = feedback.packets.iter().filter(|packet| !packet.was_missing).count();
        self.loss.report(lost as f64, new as u64);
        self.delay.update(feedback.now, overuse);
    }

    fn on_remb(&mut self, _now: Time, bps: u64) {
        self.remb_bps = Some(bps as f64);
    }

    fn on_report(&mut self, report: &Report) {
        if self.settings.side == Side::Receiver {
            self.loss.report(report.fraction_lost * report.expected as f64, report.expected);
        }
    }

    fn on_route_change(&mut self, now: Time) {
        *self = Self::new(now, self.bounds, self.settings, self.variant);
    }

    fn allowance(&self) -> Allowance {
        let target = self.target_bps();
        let pacing_bps = (target * self.settings.pacing_factor) as u64;
        Allowance { target_bps: target as u64, pacing_bps, window_bytes: None }
    }

    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value)) {
        show("target_bps", self.target_bps().into());
        show("loss_based_bps", self.loss.estimate_bps.into());
        show("loss_fraction", self.loss.fraction.into());
        match self.settings.side {
            Side::Sender => self.delay.metrics(show),
            Side::Receiver => {
                if let Some(bps) = self.remb_bps {
                    show("remb_bps", bps.into());
                }
            }
        }
    }
}

/// The receiver's half.
#[derive(Debug)]
struct Receiver {
    delay: DelayBased,
    next: Option<Time>,
    /// The estimate that was sent last, and when.
    said: Option<(Time, f64)>,
    due: bool,
}

impl Receiver {
    fn update(&mut self, now: Time, overuse: bool) {
        self.delay.update(now, overuse);
        self.next = Some(now + PERIOD);
        let estimate = self.delay.aimd.estimate_bps;
        let quiet = self.said.is_none_or(|(at, _)| now.since(at) >= REMB_EVERY);
        let fell = self.said.is_some_and(|(_, bps)| estimate < bps);
        if quiet || (overuse && fell) {
            self.said = Some((now, estimate));
            self.due = true;
        }
    }
}

impl ReceiverEstimator for Receiver {
    fn on_arrived(&mut self, packet: &Arrived) {
        let overuse = self.delay.on_packet(packet.sent, packet.now, packet.now, packet.bytes);
        if overuse {
            self.update(packet.now, true);
        } else if self.next.is_none() {
            self.next = Some(packet.now + PERIOD);
        }
    }

    fn on_round_trip(&mut self, round_trip: Span) {
        self.delay.round_trip = round_trip;
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.next.is_some_and(|at| at <= now) {
            self.update(now, false);
        }
    }

    fn poll_remb(&mut self) -> Option<u64> {
        core::mem::take(&mut self.due).then_some(self.delay.aimd.estimate_bps as u64)
    }

    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value)) {
        self.delay.metrics(show);
    }
}
