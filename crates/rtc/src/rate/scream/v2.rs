//! SCReAM version 2, draft-johansson-ccwg-rfc8298bis-screamv2 as of 2025: names are those of its sections "Network Congestion Control" to
//! "Media Rate Control".
//!
//! Left out: the percentile of frame sizes (`rel_framesize_high` is 1), which the control is not told, and the correction of encoders that
//! miss their target.

use super::{DelayTarget, Heard, MSS, Path, RATE_PACE_MIN};
use crate::rate::{
    Allowance, Bounds, Every, Feedback, Needs, RateControl, ReportKind, Sent, Settings, Value,
};
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::{Span, Time};

const QDELAY_TARGET_LO: f64 = 0.06;
const QDELAY_TARGET_HI: f64 = 0.4;
const MIN_REF_WND: f64 = 3000.0;
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
const REF_WND_OVERHEAD: f64 = 5.0;
const POST_CONGESTION_DELAY_RTTS: f64 = 100.0;
const MUL_INCREASE_FACTOR: f64 = 0.02;
const VIRTUAL_RTT: f64 = 0.025;
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
const QDELAY_AVG_G: f64 = 0.25;
const PACKET_PACING_HEADROOM: f64 = 1.5;
const BYTES_IN_FLIGHT_LIMIT: f64 = 0.9;
const BYTES_IN_FLIGHT_LIMIT_COMPENSATION: f64 = 1.5;
const PACKET_OVERHEAD: f64 = 20.0;
/// `ref_wnd_i` is updated no more often than this, in round trips.
const INFLECTION_RTTS: f64 = 10.0;
/// A silence is looked for this often.
const WATCHED: Span = Span::from_millis(50);

/// Settings of SCReAM version 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scream2 {
    /// Packets can be marked.
    pub ecn: bool,
    /// Marks are those of L4S (RFC 9331), which are more frequent than those of classic ECN.
    pub l4s: bool,
    /// The target delay rises where loss-based flows compete.
    pub competing_flows: bool,
}

impl Default for Scream2 {
    fn default() -> Self {
        Self { ecn: false, l4s: false, competing_flows: true }
    }
}

impl Settings for Scream2 {
    fn needs(&self) -> Needs {
        // "Receiver Requirements on Feedback Intensity": 2 % of the rate in reports of 100 bytes, 1 to 100 ms.
        let (least, most) = (Span::from_millis(1), Span::from_millis(100));
        let every = Every::Share { permille: 20, report_bytes: 100, least, most };
        Needs { ecn: self.ecn || self.l4s, ..Needs::of(ReportKind::Ccfb, every) }
    }

    fn sender(&self, now: Time, bounds: Bounds) -> Box<dyn RateControl> {
        Box::new(Sender::new(now, bounds, *self))
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self { ecn: draw.bit(), l4s: draw.bit(), competing_flows: draw.bit() }
    }
}

/// The sender.
#[derive(Debug)]
struct Sender {
    settings: Scream2,
    bounds: Bounds,
    path: Path,
    target: DelayTarget,
    qdelay_avg: f64,
    averaged: Time,
    l4s_alpha: f64,
    alpha_updated: Time,
    delivered: f64,
    marked: f64,
    ref_wnd: f64,
    ref_wnd_i: f64,
    inflected: Option<Time>,
    congested: Time,
    reacted: Time,
    /// Since the last reaction.
    lost: bool,
    seen_mark: bool,
    /// The most in flight of the present round trip and of the one before, and when the present one began.
    max_in_flight: f64,
    max_in_flight_prev: f64,
    round: Time,
    target_bps: f64,
    next: Time,
}

impl Sender {
    fn new(now: Time, bounds: Bounds, settings: Scream2) -> Self {
        Self {
            settings,
            bounds,
            path: Path::new(now),
            target: DelayTarget::new(now, QDELAY_TARGET_LO, QDELAY_TARGET_HI),
            qdelay_avg: 0.0,
            averaged: now,
            l4s_alpha: 0.0,
            alpha_updated: now,
            delivered: 0.0,
            marked: 0.0,
            ref_wnd: MIN_REF_WND,
            ref_wnd_i: 1.0,
            inflected: None,
            congested: now,
            reacted: now,
            lost: false,
            seen_mark: false,
            max_in_flight: 0.0,
            max_in_flight_prev: 0.0,
            round: now,
            target_bps: bounds.start_bps as f64,
            next: now + WATCHED,
        }
    }

    fn ref_wnd_ratio(&self) -> f64 {
        MSS / self.ref_wnd
    }

    /// How far the window is from the last known maximum, 0.1 to 1.
    fn scale(&self) -> f64 {
        let off = 8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        (off * off).clamp(0.1, 1.0)
    }

    fn average(&mut self, now: Time, heard: &Heard) {
        let s_rtt = self.path.s_rtt();
        self.delivered += heard.packets;
        self.marked += heard.packets_ce;
        if now.since(self.alpha_updated).as_secs_f64() >= s_rtt.min(0.01) && self.delivered > 0.0 {
            let fraction = (self.marked / self.delivered).min(1.0);
            let g = if fraction >= self.l4s_alpha { L4S_AVG_G_UP } else { L4S_AVG_G_DOWN };
            let towards = if fraction >= self.l4s_alpha { fraction } else { 0.0 };
            self.l4s_alpha = g * towards + (1.0 - g) * self.l4s_alpha;
            (self.alpha_updated, self.delivered, self.marked) = (now, 0.0, 0.0);
        }
        if now.since(self.averaged).as_secs_f64() >= s_rtt.min(VIRTUAL_RTT) {
            let qdelay = self.path.qdelay;
            let slow = QDELAY_AVG_G * qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg;
            self.qdelay_avg = if qdelay < self.qdelay_avg { qdelay } else { slow };
            self.averaged = now;
        }
    }

    /// The marks that the delay stands for, `l4s_alpha_v_t`; none while L4S seems to be active.
    fn virtual_alpha(&self) -> Option<f64> {
        let half = self.target.seconds / 2.0;
        let limit = 2.0 / self.target_bps * MSS * 8.0 / self.path.s_rtt();
        let active = self.path.qdelay > half && self.l4s_alpha < limit;
        active.then(|| (2.0 * limit * ((self.qdelay_avg - half) / half).max(0.0)).min(1.0))
    }

    /// "Reference Window Reduction".
    fn reduce(&mut self, now: Time) {
        if self.lost || self.seen_mark {
            self.congested = now;
        }
        let s_rtt = self.path.s_rtt();
        let since = now.since(self.reacted).as_secs_f64();
        if since < s_rtt.min(VIRTUAL_RTT) {
            return;
        }
        let scale = self.scale();
        let (lost, marked) = (core::mem::take(&mut self.lost), core::mem::take(&mut self.seen_mark));
        let virtual_alpha = if lost || marked { None } else { self.virtual_alpha() };
        if !lost && !marked && virtual_alpha.is_none() {
            return;
        }
        self.reacted = now;
        let due = self.inflected.is_none_or(|at| now.since(at).as_secs_f64() > INFLECTION_RTTS * s_rtt);
        if due {
            (self.inflected, self.ref_wnd_i) = (Some(now), self.ref_wnd);
        }
        let steady = 0.5_f64.max(1.0 - self.ref_wnd_ratio());
        if lost {
            self.ref_wnd *= BETA_LOSS;
        }
        if marked && self.settings.l4s {
            let mut backoff = self.l4s_alpha / 2.0 * steady;
            if self.path.qdelay < self.target.seconds * 0.25 {
                backoff *= scale.max(0.25);
            }
            if since > 100.0 * s_rtt.max(VIRTUAL_RTT) {
                self.ref_wnd = self.ref_wnd.min(self.max_in_flight_prev);
            }
            self.ref_wnd *= 1.0 - backoff;
        } else if marked {
            self.ref_wnd *= BETA_ECN;
        }
        if let Some(alpha) = virtual_alpha {
            self.ref_wnd *= 1.0 - alpha / 2.0 * steady;
        }
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
    }

    /// "Reference Window Increase".
    fn increase(&mut self, now: Time, heard: &Heard) {
        let s_rtt = self.path.s_rtt();
        let scale = self.scale();
        let calm = now.since(self.congested).as_secs_f64();
        let post_congestion = (calm / (POST_CONGESTION_DELAY_RTTS * s_rtt.max(VIRTUAL_RTT))).min(1.0);
        let mut increment = (heard.newly_acked - heard.newly_acked_ce).max(0.0) * self.ref_wnd_ratio();
        let short = (s_rtt / VIRTUAL_RTT).min(1.0);
        increment *= short * short * scale.max(0.25) * 0.5_f64.max(1.0 - self.ref_wnd_ratio());
        if self.l4s_alpha < 0.0001 {
            increment *= 0.1_f64.max(1.0 - self.qdelay_avg / (self.target.seconds / 4.0));
        }
        let factor = 1.0 + MUL_INCREASE_FACTOR * self.ref_wnd / MSS;
        increment *= 1.0 + (factor - 1.0) * post_congestion * scale;
        let in_flight = self.max_in_flight.max(self.max_in_flight_prev);
        let allowed = MSS + in_flight * BYTES_IN_FLIGHT_HEAD_ROOM;
        if self.ref_wnd + increment <= allowed && self.target_bps < self.bounds.max_bps as f64 {
            self.ref_wnd += increment;
        }
    }

    /// "Media Rate Control".
    fn update_target(&mut self) {
        let mut factor = 1.0;
        let ratio = self.path.in_flight as f64 / self.ref_wnd;
        if self.path.qdelay > 0.25 * self.target.seconds && ratio > BYTES_IN_FLIGHT_LIMIT {
            factor /= (ratio / BYTES_IN_FLIGHT_LIMIT).min(BYTES_IN_FLIGHT_LIMIT_COMPENSATION);
        }
        factor *= 1.0 - (self.ref_wnd_ratio() - 0.1).clamp(0.0, 0.2);
        factor *= MSS / (MSS + PACKET_OVERHEAD);
        self.target_bps = self.bounds.clamp(factor * 8.0 * self.ref_wnd / self.path.s_rtt());
    }
}

impl RateControl for Sender {
    fn on_sent(&mut self, packet: &Sent) {
        self.path.in_flight = packet.in_flight;
        self.max_in_flight = self.max_in_flight.max(packet.in_flight as f64);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if feedback.packets.is_empty() {
            return;
        }
        let now = feedback.now;
        let heard = self.path.hear(feedback);
        let s_rtt = self.path.s_rtt();
        if now.since(self.round).as_secs_f64() >= s_rtt {
            self.max_in_flight_prev = self.max_in_flight;
            (self.max_in_flight, self.round) = (feedback.in_flight as f64, now);
        }
        self.lost |= heard.lost;
        self.seen_mark |= heard.packets_ce > 0.0;
        self.target.note_loss(now, heard.lost, s_rtt);
        self.average(now, &heard);
        self.reduce(now);
        self.increase(now, &heard);
        if self.settings.competing_flows {
            self.target.adjust(self.path.qdelay);
        }
        self.update_target();
    }

    fn on_route_change(&mut self, now: Time) {
        *self = Self { path: self.path.change(now), ..Self::new(now, self.bounds, self.settings) };
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next)
    }

    fn handle_timeout(&mut self, now: Time) {
        if now >= self.next {
            self.next = now + WATCHED;
            self.path.watch_silence(now);
        }
    }

    fn allowance(&self) -> Allowance {
        let pacing_bps = (RATE_PACE_MIN.max(self.target_bps) * PACKET_PACING_HEADROOM) as u64;
        let window_bytes = Some(self.path.window(self.ref_wnd * REF_WND_OVERHEAD));
        Allowance { target_bps: self.target_bps as u64, pacing_bps, window_bytes }
    }

    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value)) {
        show("target_bps", self.target_bps.into());
        show("window_bytes", self.ref_wnd.into());
        show("window_inflection_bytes", self.ref_wnd_i.into());
        show("in_flight_bytes", (self.path.in_flight as f64).into());
        show("queueing_ms", (self.path.qdelay * 1e3).into());
        show("mean_queueing_ms", (self.qdelay_avg * 1e3).into());
        show("target_queueing_ms", (self.target.seconds * 1e3).into());
        show("mark_fraction", self.l4s_alpha.into());
        show("round_trip_ms", (self.path.s_rtt() * 1e3).into());
        show("loss_event_rate", self.target.loss_event_rate.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { min_bps: 50_000, start_bps: 1_000_000, max_bps: 5_000_000 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn sender(settings: Scream2) -> Sender {
        let mut sender = Sender::new(at(0), BOUNDS, settings);
        sender.ref_wnd = 20_000.0;
        sender.path.s_rtt = Some(0.1);
        (sender.max_in_flight, sender.max_in_flight_prev) = (18_000.0, 15_000.0);
        sender
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }

    #[test]
    fn the_window_is_reduced_by_hand() {
        let mut lost = sender(Scream2::default());
        lost.lost = true;
        lost.reduce(at(24));
        close(lost.ref_wnd, 20_000.0);
        lost.reduce(at(25));
        close(lost.ref_wnd, 14_000.0);
        close(lost.ref_wnd_i, 20_000.0);
        let mut marked = sender(Scream2::default());
        marked.seen_mark = true;
        marked.reduce(at(100));
        close(marked.ref_wnd, 16_000.0);
        let mut l4s = sender(Scream2 { l4s: true, ..Scream2::default() });
        (l4s.seen_mark, l4s.l4s_alpha, l4s.path.qdelay) = (true, 0.2, 0.02);
        l4s.reduce(at(100));
        close(l4s.ref_wnd, 20_000.0 * (1.0 - 0.1 * 0.95));
        // Delay: the limit of alpha is 2·8000/(1e6·0.1) = 0.16; half-way from half the target to it, alpha is 0.16.
        let mut delayed = sender(Scream2::default());
        (delayed.path.qdelay, delayed.qdelay_avg) = (0.05, 0.045);
        close(delayed.virtual_alpha().expect("active"), 0.16);
        delayed.reduce(at(100));
        close(delayed.ref_wnd, 20_000.0 * (1.0 - 0.08 * 0.95));
    }

    #[test]
    fn the_window_is_increased_by_hand() {
        let heard = Heard { newly_acked: 4000.0, newly_acked_ce: 1000.0, ..Heard::default() };
        let mut sender = sender(Scream2::default());
        sender.l4s_alpha = 0.01;
        // 3000/20 = 150, times 0.95; the factor 1.4 counts by half, 5 s of 10 s after congestion.
        sender.increase(at(5000), &heard);
        close(sender.ref_wnd, 20_000.0 + 150.0 * 0.95 * 1.2);
        // Near the last maximum: 0.25, and the multiplicative part by 0.1.
        sender.ref_wnd = 20_000.0;
        sender.ref_wnd_i = 20_000.0;
        sender.increase(at(5000), &heard);
        close(sender.ref_wnd, 20_000.0 + 150.0 * 0.95 * 0.25 * (1.0 + 0.4 * 0.5 * 0.1));
        // Not without use.
        (sender.ref_wnd, sender.max_in_flight, sender.max_in_flight_prev) = (20_000.0, 5000.0, 5000.0);
        sender.increase(at(5000), &heard);
        close(sender.ref_wnd, 20_000.0);
    }

    #[test]
    fn the_target_by_hand() {
        let mut sender = sender(Scream2::default());
        sender.update_target();
        close(sender.target_bps, 1.6e6 / 1.02);
        (sender.path.qdelay, sender.path.in_flight) = (0.03, 21_600);
        sender.update_target();
        close(sender.target_bps, 1.6e6 / 1.02 / 1.2);
        (sender.path.in_flight, sender.ref_wnd) = (0, 5000.0);
        sender.update_target();
        close(sender.target_bps, 0.9 * 0.4e6 / 1.02);
    }

    #[test]
    fn the_averages_by_hand() {
        let mut sender = sender(Scream2::default());
        sender.path.qdelay = 0.04;
        sender.average(at(30), &Heard { packets: 10.0, packets_ce: 4.0, ..Heard::default() });
        close(sender.l4s_alpha, 0.05);
        close(sender.qdelay_avg, 0.01);
        sender.path.qdelay = 0.005;
        sender.average(at(60), &Heard { packets: 10.0, ..Heard::default() });
        close(sender.l4s_alpha, 0.05 * 127.0 / 128.0);
        close(sender.qdelay_avg, 0.005);
    }
}
