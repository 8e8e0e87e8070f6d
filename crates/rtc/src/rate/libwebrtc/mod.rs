//! Google Congestion Control as libwebrtc has it (`GoogCcNetworkController`), which browsers' calls run on.
//!
//! Constants, names and rules are those of libwebrtc at the end of 2024 (branch heads of M132), with no field trial on.
//!
//! | file | its class there |
//! | --- | --- |
//! | `../groups.rs` | `InterArrivalDelta` |
//! | `trendline.rs` | `TrendlineEstimator` |
//! | `aimd.rs` | `AimdRateControl`, `LinkCapacityEstimator` |
//! | `acked.rs` | `AcknowledgedBitrateEstimator`, `BitrateEstimator` |
//! | `loss.rs` | `LossBasedBweV2` |
//! | `probing.rs` | `ProbeController`, `ProbeBitrateEstimator` |
//! | `alr.rs` | `AlrDetector` |
//! | `encoding.rs` | the rate in `RtpVideoSender`, `FecControllerDefault`, `EncoderBitrateAdjuster`, `EncoderOvershootDetector` |
//! | `pushback.rs` | `CongestionWindowPushbackController`; the frames that it leaves out are a smaller rate here |
//! | here | `DelayBasedBwe`, `SendSideBandwidthEstimation`, `RttBasedBackoff` |
//!
//! Left out: estimates of the network's state, a detector of its own for audio; they are off by default.

mod acked;
mod aimd;
mod alr;
mod encoding;
mod loss;
mod probing;
mod pushback;
mod stamps;
mod trendline;

use super::groups::{Delta, Groups};
use super::{
    Allowance, Bounds, Encoding, Every, Feedback, Needs, PacketResult, Probe, RateControl, Report,
    ReportKind, Sent, Settings, Value,
};
use acked::Acknowledged;
use aimd::Aimd;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use alr::Alr;
use encoding::Encoder;
use loss::LossBased;
use probing::{Cause, Controller, Estimator};
use pushback::Pushback;
use serde::{Deserialize, Serialize};
use stamps::Stamps;
use trendline::{Trendline, Usage};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// `kSendTimeGroupLength`.
const GROUP: Span = Span::from_millis(5);
/// `kStreamTimeOut`: after a pause of the stream the trend starts anew.
const STREAM_TIMEOUT: Span = Span::from_secs(2);
/// `kProcessIntervalMs` of the transport controller.
const PROCESS: Span = Span::from_millis(25);
/// Octets of the headers of IPv4 and UDP.
const TRANSPORT_BYTES: u32 = 28;
const MOST_BURST: Span = Span::from_secs(1);
/// `kStartPhase`.
const START_PHASE: Span = Span::from_secs(2);
/// `kLimitNumPackets`.
const FEWEST_PACKETS: u64 = 20;
/// `kProbeDropThroughputFraction`.
const PROBE_DROP: f64 = 0.85;
/// `RttBasedBackoff`: above this round trip, or after as long without a report, the rate falls each second.
const ROUND_TRIP_LIMIT: Span = Span::from_secs(3);
const BACKOFF: f64 = 0.8;
const BACKOFF_INTERVAL: Span = Span::from_secs(1);
const BACKOFF_FLOOR_BPS: f64 = 5e3;
/// `kMaxFeedbackRttWindow`.
const ROUND_TRIPS: usize = 32;
/// The classic loss control, until the loss-based estimate is ready.
const LOW_LOSS: f64 = 0.02;
const HIGH_LOSS: f64 = 0.1;
const INCREASE_INTERVAL: Span = Span::from_secs(1);
const DECREASE_INTERVAL: Span = Span::from_millis(300);
const LOSS_REPORT_TIMEOUT: Span = Span::from_secs(6);

/// Settings of libwebrtc's control.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LibWebRtc {
    /// The pacer's rate by the estimate: 1.1 for video with feedback on packets, 2.5 without (`kDefaultPaceMultiplier`).
    pub pacing_factor: f64,
    /// Probes at the start, and while the application limits the rate.
    pub probing: bool,
    /// The loss-based estimate of today; else the classic one, by the three ranges of loss.
    pub loss_based_v2: bool,
    /// The encoder leaves out frames while more is on its way than a window holds.
    pub pushback: bool,
    /// The encoder gets less than its rate where its frames come too large too often (`WebRTC-VideoRateControl`, `bitrate_adjuster`).
    pub bitrate_adjuster: bool,
    /// Sizes of packets have the headers of IPv4 and UDP in them, and the encoder gets what these leave (`send_side_bwe_with_overhead`).
    pub transport_overhead: bool,
    /// What the pacer may send at once, as time at its rate (`PacerConfig::kDefaultTimeInterval`).
    pub burst_ns: u64,
}

impl Default for LibWebRtc {
    fn default() -> Self {
        Self {
            pacing_factor: 1.1,
            probing: true,
            loss_based_v2: true,
            pushback: true,
            bitrate_adjuster: true,
            transport_overhead: true,
            burst_ns: 40_000_000,
        }
    }
}

impl Settings for LibWebRtc {
    fn check(&self, check: &mut Check<'_>) {
        check.at("pacing_factor").need((1.0..=100.0).contains(&self.pacing_factor), "is from 1 to 100");
        let most = MOST_BURST.as_nanos();
        check.at("burst_ns").need(self.burst_ns <= most, format_args!("is at most {most}"));
    }

    fn needs(&self) -> Needs {
        // `TransportSequenceNumberFeedbackGenenerator::OnSendBandwidthEstimateChanged`.
        let [least, most, alone] = [50, 250, 100].map(Span::from_millis);
        let every = Every::OwnShare { permille: 50, report_bytes: 68, least, most, alone };
        let below_bytes = if self.transport_overhead { TRANSPORT_BYTES } else { 0 };
        let burst = Span::from_nanos(self.burst_ns);
        Needs { below_bytes, burst, ..Needs::of(ReportKind::TransportWide, every) }
    }

    fn sender(&self, now: Time, bounds: Bounds) -> Box<dyn RateControl> {
        Box::new(Sender::new(now, bounds, *self, 1, None))
    }

    fn encoding(&self) -> Box<dyn Encoding> {
        Box::new(Encoder::new(self.bitrate_adjuster))
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self {
            pacing_factor: f64::from(1000 + draw.below(2000) as u32) / 1e3,
            probing: draw.bit(),
            loss_based_v2: draw.bit(),
            pushback: draw.bit(),
            bitrate_adjuster: draw.bit(),
            transport_overhead: draw.bit(),
            burst_ns: draw.below(100_000_000),
        }
    }
}

/// `GoogCcNetworkController`.
#[derive(Debug)]
struct Sender {
    settings: LibWebRtc,
    bounds: Bounds,
    stamps: Stamps,
    groups: Groups,
    trendline: Trendline,
    heard: Option<Time>,
    aimd: Aimd,
    acked: Acknowledged,
    loss: LossBased,
    alr: Alr,
    was_in_alr: bool,
    controller: Controller,
    estimator: Estimator,
    pushback: Pushback,
    target_bps: f64,
    delay_limit_bps: Option<f64>,
    remb_bps: Option<f64>,
    /// From reports on packets, the last ones.
    round_trips: VecDeque<Span>,
    /// A receiver report has told the round trip.
    reported_round_trip: Option<Span>,
    propagation: Option<(Time, Span)>,
    last_sent: Option<Time>,
    first_loss_report: Option<Time>,
    last_loss_report: Option<Time>,
    fraction_lost: f64,
    expected: u64,
    lost: f64,
    decreased: Option<Time>,
    decreased_since_report: bool,
    /// Targets of the last second, each smaller than those after it.
    lowest: VecDeque<(Time, f64)>,
    next: Time,
}

impl Sender {
    fn new(now: Time, bounds: Bounds, settings: LibWebRtc, probe_id: u32, media_bps: Option<f64>) -> Self {
        let start = bounds.start_bps as f64;
        Self {
            settings,
            bounds,
            stamps: Stamps::default(),
            groups: Groups::new(GROUP),
            trendline: Trendline::new(),
            heard: None,
            aimd: Aimd::new(bounds),
            acked: Acknowledged::new(),
            loss: LossBased::new(bounds.min_bps as f64, bounds.max_bps as f64),
            alr: Alr::new(start),
            was_in_alr: false,
            controller: Controller::new(now, bounds, probe_id, media_bps),
            estimator: Estimator::default(),
            pushback: Pushback::new(),
            target_bps: start,
            delay_limit_bps: None,
            remb_bps: None,
            round_trips: VecDeque::new(),
            reported_round_trip: None,
            propagation: None,
            last_sent: None,
            first_loss_report: None,
            last_loss_report: None,
            fraction_lost: 0.0,
            expected: 0,
            lost: 0.0,
            decreased: None,
            decreased_since_report: false,
            lowest: VecDeque::new(),
            next: now + PROCESS,
        }
    }

    fn round_trip(&self) -> Option<Span> {
        let mean = || {
            let sum: u128 = self.round_trips.iter().map(|span| u128::from(span.as_nanos())).sum();
            let count = self.round_trips.len() as u128;
            (count > 0).then(|| Span::from_nanos((sum / count.max(1)) as u64))
        };
        self.reported_round_trip.or_else(mean)
    }

    /// The round trip, or how long nothing was heard while something was sent.
    fn corrected_round_trip(&self) -> Span {
        let Some((at, round_trip)) = self.propagation else { return Span::ZERO };
        let silence = self.last_sent.map_or(Span::ZERO, |last| last.since(at));
        Span::from_nanos(silence.as_nanos().saturating_add(round_trip.as_nanos()))
    }

    fn is_round_trip_above_limit(&self) -> bool {
        self.corrected_round_trip() > ROUND_TRIP_LIMIT
    }

    fn note_round_trips(&mut self, feedback: &Feedback<'_>) {
        let Some(last) = feedback.received().map(|(_, arrival)| arrival).max() else { return };
        let longest = feedback.received().map(|(packet, _)| feedback.now.since(packet.sent)).max();
        let shortest = feedback
            .received()
            .map(|(packet, arrival)| {
                let pending = last.since(arrival).as_nanos();
                Span::from_nanos(feedback.now.since(packet.sent).as_nanos().saturating_sub(pending))
            })
            .min();
        self.round_trips.extend(longest);
        if self.round_trips.len() > ROUND_TRIPS {
            self.round_trips.pop_front();
        }
        self.propagation = shortest.map(|span| (feedback.now, span));
        if let Some(span) = self.round_trip() {
            self.aimd.round_trip = span;
        }
    }

    /// Packets into the trend; whether the delay recovered from under-use.
    fn follow_delay(&mut self, feedback: &Feedback<'_>) -> bool {
        let mut recovered = false;
        for (packet, arrival) in feedback.by_arrival() {
            if self.heard.is_none_or(|heard| feedback.now.since(heard) > STREAM_TIMEOUT) {
                self.groups = Groups::new(GROUP);
                self.trendline = Trendline::new();
            }
            self.heard = Some(feedback.now);
            let before = self.trendline.usage;
            let delta = self.groups.on_packet(packet.sent, arrival, feedback.now, packet.bytes);
            if let Some(delta) = delta {
                // Of the packet that ended the group, not of the group (`DelayBasedBwe::IncomingPacketFeedback`).
                self.trendline.update(&Delta { arrival, ..delta });
            }
            recovered |= before == Usage::Underusing && self.trendline.usage == Usage::Normal;
        }
        recovered
    }

    /// `DelayBasedBwe::MaybeUpdateEstimate`: whether there is a new estimate, and whether a probe told it.
    fn update_delay_based(&mut self, now: Time, probed_bps: Option<f64>) -> (bool, bool) {
        let acked = self.acked.bps();
        if self.trendline.usage != Usage::Overusing {
            match probed_bps {
                Some(bps) => self.aimd.set_estimate(now, bps),
                None => self.aimd.update(now, self.trendline.usage, acked),
            }
            return (true, probed_bps.is_some());
        }
        match acked {
            Some(bps) if self.aimd.time_to_reduce(now, bps) => {
                self.aimd.update(now, Usage::Overusing, acked);
                (true, false)
            }
            None if self.aimd.initial_time_to_reduce(now) => {
                self.aimd.set_estimate(now, self.aimd.estimate_bps / 2.0);
                (true, false)
            }
            _ => (false, false),
        }
    }

    fn upper_limit(&self) -> f64 {
        let receiver = self.remb_bps.unwrap_or(f64::INFINITY);
        self.delay_limit_bps.unwrap_or(f64::INFINITY).min(receiver).min(self.bounds.max_bps as f64)
    }

    fn set_target(&mut self, bps: f64) {
        self.target_bps = bps.min(self.upper_limit()).max(self.bounds.min_bps as f64);
    }

    fn is_in_start_phase(&self, now: Time) -> bool {
        self.first_loss_report.is_none_or(|first| now.since(first) < START_PHASE)
    }

    /// `SendSideBandwidthEstimation::UpdateEstimate`.
    fn update_target(&mut self, now: Time) {
        if self.is_round_trip_above_limit() {
            let due = self.decreased.is_none_or(|at| now.since(at) >= BACKOFF_INTERVAL);
            if due && self.target_bps > BACKOFF_FLOOR_BPS {
                self.decreased = Some(now);
                self.set_target((self.target_bps * BACKOFF).max(BACKOFF_FLOOR_BPS));
            } else {
                self.set_target(self.target_bps);
            }
            return;
        }
        // Without losses the first seconds belong to the probes.
        if self.fraction_lost == 0.0 && self.is_in_start_phase(now) {
            let known = [self.remb_bps, self.delay_limit_bps];
            let new = known.into_iter().flatten().fold(self.target_bps, f64::max);
            if new != self.target_bps {
                self.lowest.clear();
                self.lowest.push_back((now, self.target_bps));
                self.set_target(new);
                return;
            }
        }
        self.remember_lowest(now);
        match self.last_loss_report {
            None => self.set_target(self.target_bps),
            Some(_) if self.settings.loss_based_v2 && self.loss.ready_bps().is_some() => {
                self.set_target(self.loss.ready_bps().unwrap_or(self.target_bps));
            }
            Some(at) => self.classic_loss(now, at),
        }
    }

    fn classic_loss(&mut self, now: Time, reported: Time) {
        let mut bps = self.target_bps;
        if now.since(reported) < LOSS_REPORT_TIMEOUT {
            let pause = DECREASE_INTERVAL + self.round_trip().unwrap_or(Span::ZERO);
            if self.fraction_lost <= LOW_LOSS {
                let lowest = self.lowest.front().map_or(bps, |&(_, bps)| bps);
                bps = lowest * 1.08 + 1000.0;
            } else if self.fraction_lost > HIGH_LOSS
                && !self.decreased_since_report
                && self.decreased.is_none_or(|at| now.since(at) >= pause)
            {
                (self.decreased, self.decreased_since_report) = (Some(now), true);
                bps *= 1.0 - 0.5 * self.fraction_lost;
            }
        }
        self.set_target(bps);
    }

    fn remember_lowest(&mut self, now: Time) {
        while self.lowest.front().is_some_and(|&(at, _)| now.since(at) >= INCREASE_INTERVAL) {
            self.lowest.pop_front();
        }
        while self.lowest.back().is_some_and(|&(_, bps)| self.target_bps <= bps) {
            self.lowest.pop_back();
        }
        self.lowest.push_back((now, self.target_bps));
    }

    /// `MaybeTriggerOnNetworkChanged`.
    fn tell(&mut self, now: Time) {
        self.pushback.update();
        self.alr.set_estimate(self.target_bps);
        let cause = match (self.trendline.usage, self.loss.state) {
            (Usage::Overusing | Usage::Underusing, _) | (_, loss::State::Decreasing) => Cause::Congested,
            _ if self.is_round_trip_above_limit() => Cause::Congested,
            (_, loss::State::Increasing) => Cause::LossLimitedIncreasing,
            (_, loss::State::DelayBased) => Cause::DelayBased,
        };
        self.controller.set_estimate(now, self.target_bps, cause);
    }

    fn count_losses(&mut self, now: Time, lost: f64, expected: u64) {
        self.first_loss_report = self.first_loss_report.or(Some(now));
        self.lost += lost;
        self.expected += expected;
        if self.expected < FEWEST_PACKETS {
            return;
        }
        self.decreased_since_report = false;
        self.fraction_lost = (self.lost / self.expected as f64).clamp(0.0, 1.0);
        (self.lost, self.expected) = (0.0, 0);
        self.last_loss_report = Some(now);
        self.update_target(now);
    }
}

impl RateControl for Sender {
    fn on_sent(&mut self, packet: &Sent) {
        self.alr.on_sent(packet.now, packet.bytes);
        if self.propagation.is_none() {
            self.propagation = Some((packet.now, Span::ZERO));
        }
        self.last_sent = Some(packet.now);
        self.pushback.set_outstanding(packet.in_flight);
        self.pushback.update();
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if feedback.packets.is_empty() {
            return;
        }
        let now = feedback.now;
        let packets: Vec<PacketResult> = feedback
            .packets
            .iter()
            .map(|packet| PacketResult {
                sent: self.stamps.stamp(packet.sent, now),
                arrival: packet.arrival.map(stamps::whole),
                ..*packet
            })
            .collect();
        let feedback = &Feedback { packets: &packets, ..*feedback };
        self.pushback.set_outstanding(feedback.in_flight);
        self.note_round_trips(feedback);
        let in_alr = self.alr.started.is_some();
        if self.was_in_alr && !in_alr {
            self.acked.on_alr_ended(now);
            self.controller.on_alr_ended(now);
        }
        self.was_in_alr = in_alr;
        let mut probed_bps = None;
        for (packet, arrival) in feedback.by_arrival() {
            self.acked.on_packet(packet.sent, arrival, packet.bytes);
            probed_bps = self.estimator.on_packet(packet, arrival).or(probed_bps);
        }
        if let Some(bps) = self.acked.bps() {
            self.loss.set_acked(bps);
            // Not far below what arrives anyhow.
            let limit = self.aimd.estimate_bps.min(bps * PROBE_DROP);
            probed_bps = probed_bps.map(|probed| probed.max(limit));
        }
        let mut updated = (false, false);
        let mut recovered = false;
        if feedback.received().next().is_some() {
            recovered = self.follow_delay(feedback);
            updated = self.update_delay_based(now, probed_bps);
        }
        if updated.1 {
            self.delay_limit_bps = None;
            self.set_target(self.aimd.estimate_bps);
            self.lowest.clear();
        }
        if updated.0 {
            self.delay_limit_bps = Some(self.aimd.estimate_bps);
            self.set_target(self.target_bps);
        }
        self.loss.update(feedback.packets, self.delay_limit_bps, in_alr);
        self.update_target(now);
        if updated.0 {
            self.tell(now);
        }
        if recovered {
            self.controller.alr_started = self.alr.started;
            self.controller.on_recovered(now);
        }
        if let Some(&shortest) = self.round_trips.iter().min() {
            self.pushback.set_window(self.target_bps, shortest);
        }
    }

    fn on_remb(&mut self, _now: Time, bps: u64) {
        self.remb_bps = (bps > 0).then_some(bps as f64);
        self.set_target(self.target_bps);
    }

    fn on_report(&mut self, report: &Report) {
        if let Some(span) = report.round_trip {
            self.reported_round_trip = Some(span);
            self.aimd.round_trip = span;
        }
        self.count_losses(report.now, report.fraction_lost * report.expected as f64, report.expected);
        self.tell(report.now);
    }

    fn set_media_most(&mut self, bps: u64) {
        self.controller.media_bps = Some(bps as f64);
    }

    fn on_route_change(&mut self, now: Time) {
        let Controller { media_bps, .. } = self.controller;
        *self = Self::new(now, self.bounds, self.settings, self.controller.next_id(), media_bps);
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next)
    }

    fn handle_timeout(&mut self, now: Time) {
        if now < self.next {
            return;
        }
        self.next = now + PROCESS;
        self.update_target(now);
        self.controller.alr_started = self.alr.started;
        self.controller.process(now);
        self.tell(now);
    }

    fn poll_probe(&mut self) -> Option<Probe> {
        let probe = self.controller.poll()?;
        if !self.settings.probing {
            return None;
        }
        self.estimator.on_probe(&probe);
        Some(probe)
    }

    fn allowance(&self) -> Allowance {
        let pacing_bps = (self.target_bps * self.settings.pacing_factor) as u64;
        let target_bps = if self.settings.pushback {
            self.pushback.encoded(self.target_bps, self.bounds.min_bps as f64)
        } else {
            self.target_bps
        };
        Allowance { target_bps: target_bps as u64, pacing_bps, window_bytes: None }
    }

    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value)) {
        show("target_bps", self.target_bps.into());
        show("delay_based_bps", self.aimd.estimate_bps.into());
        show("trend", self.trendline.modified_trend.into());
        show("threshold", self.trendline.threshold.into());
        show("signal", self.trendline.usage.name().into());
        show("state", self.aimd.state.name().into());
        show("loss_state", self.loss.state.name().into());
        show("loss_fraction", self.loss.average_loss.into());
        show("inherent_loss", self.loss.inherent_loss().into());
        show("round_trip_ms", (self.aimd.round_trip.as_secs_f64() * 1e3).into());
        show("application_limited", (if self.alr.started.is_some() { "yes" } else { "no" }).into());
        let known = [
            ("incoming_bps", self.acked.bps()),
            ("loss_based_bps", self.loss.ready_bps()),
            ("link_capacity_bps", self.aimd.capacity.bps()),
        ];
        for (name, bps) in known {
            if let Some(bps) = bps {
                show(name, bps.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { min_bps: 30_000, start_bps: 1_000_000, max_bps: 10_000_000 };

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// The trend after a report on packets that were sent and came at these microseconds.
    fn trend(times: &[(u64, u64)]) -> f64 {
        let packets: Vec<_> = (0..)
            .zip(times)
            .map(|(seq, &(sent, arrival))| PacketResult {
                seq,
                sent: at(sent),
                bytes: 1200,
                arrival: Some(at(arrival)),
                ce: false,
                probe: None,
                was_missing: false,
            })
            .collect();
        let mut sender = Sender::new(Time::ZERO, BOUNDS, LibWebRtc::default(), 1, None);
        sender.on_feedback(&Feedback { now: at(1_000_000), packets: &packets, in_flight: 0 });
        sender.trendline.modified_trend
    }

    #[test]
    fn times_of_arrival_are_cut_to_milliseconds() {
        let come = |part: fn(u64) -> u64| -> Vec<_> {
            (0..40).map(|i| (10_000 * i, 50_000 + 11_000 * i + part(i))).collect()
        };
        assert_eq!(trend(&come(|i| 100 * (i % 10))), trend(&come(|_| 0)));
        assert_ne!(trend(&come(|i| 1000 * (i % 2))), trend(&come(|_| 0)));
    }

    #[test]
    fn a_group_is_a_point_at_the_arrival_of_the_packet_that_ends_it() {
        // Of two packets each; the second one comes 20 ms after that of the group before, the first one by turns.
        let first = |i: u64| 50_000 + 20_000 * i + 4000 * (i % 2);
        let pairs = (0..30).flat_map(|i| {
            let sent = 19_000 * i;
            [(sent, first(i)), (sent + 1000, 58_000 + 20_000 * i)]
        });
        let mut expected = Trendline::new();
        for i in 2..30 {
            let arrival = at(first(i));
            expected.update(&Delta { sent_ms: 19.0, arrived_ms: 20.0, bytes: 0.0, arrival });
        }
        assert_eq!(trend(&pairs.collect::<Vec<_>>()), expected.modified_trend);
    }
}
