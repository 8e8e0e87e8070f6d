//! Network-Assisted Dynamic Adaptation (NADA, RFC 8698).
//!
//! All is computed at the sender from reports on packets, as section 6.4 allows; equations are numbered as there.

use super::delay::BaseDelay;
use super::{
    Allowance, Bounds, Every, Feedback, Needs, PacketResult, RateControl, ReportKind, SendQueue, Settings,
    Value,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

// Figure 3 of the RFC; times in milliseconds.
const XREF: f64 = 10.0;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 500.0;
const DELTA: f64 = 100.0;
const LOGWIN: Span = Span::from_millis(500);
const QEPS: f64 = 10.0;
const DFILT: f64 = 120.0;
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 50.0;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 50.0;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const DLOSS: f64 = 10.0;
const DMARK: f64 = 2.0;
/// The congestion signal is no more than this in the authors' own implementation (ns3-rmcat); the RFC's message has room for 3.27 s.
/// Without a limit the square of a loss of 25 % is 6 s, and the rate leaps to its maximum as that falls.
const XMAX: f64 = 500.0;
const FPS: f64 = 30.0;
const BETA_S: f64 = 0.1;
const BETA_V: f64 = 0.1;
const ALPHA: f64 = 0.1;
/// Delay samples that the minimum filter spans (section 5.1.1).
const FILTERED: usize = 15;
/// The shaping buffer moves the rates by no more than this part (11), (12).
const SHAPING: f64 = 0.05;
/// Weights of the last loss intervals (RFC 5348 section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Settings of NADA.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nada {
    /// Weight of the flow among others, PRIO.
    pub priority: f64,
    /// Packets can be marked.
    pub ecn: bool,
}

impl Default for Nada {
    fn default() -> Self {
        Self { priority: 1.0, ecn: false }
    }
}

impl Settings for Nada {
    fn check(&self, check: &mut Check<'_>) {
        check.at("priority").need((0.01..=100.0).contains(&self.priority), "is from 0.01 to 100");
    }

    fn needs(&self) -> Needs {
        let every = Every::Span(Span::from_millis(DELTA as u64));
        Needs { ecn: self.ecn, ..Needs::of(ReportKind::Ccfb, every) }
    }

    fn sender(&self, now: Time, bounds: Bounds) -> Box<dyn RateControl> {
        Box::new(Sender::new(now, bounds, *self))
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self { priority: f64::from(1 + draw.below(1000) as u32) / 100.0, ecn: draw.bit() }
    }
}

/// Non-linear warping of the queueing delay where losses are recent (1).
fn warped(d_queue: f64) -> f64 {
    if d_queue < QTH { d_queue } else { QTH * libm::exp(-LAMBDA * (d_queue - QTH) / QTH) }
}

/// The aggregate congestion signal (2).
fn congestion(d_tilde: f64, p_mark: f64, p_loss: f64) -> f64 {
    let squared = |x: f64| x * x;
    (d_tilde + DMARK * squared(p_mark / PMRREF) + DLOSS * squared(p_loss / PLRREF)).min(XMAX)
}

/// The rate increase of accelerated ramp-up (3).
fn gamma(round_trip_ms: f64) -> f64 {
    GAMMA_MAX.min(QBOUND / (round_trip_ms + DELTA + DFILT))
}

/// The rate after a gradual update (5), (6), (7).
fn gradual(r_ref: f64, x_curr: f64, x_prev: f64, delta_ms: f64, priority: f64, r_max: f64) -> f64 {
    let x_offset = x_curr - priority * XREF * r_max / r_ref;
    let x_diff = x_curr - x_prev;
    r_ref - KAPPA * (delta_ms / TAU) * (x_offset / TAU) * r_ref - KAPPA * ETA * (x_diff / TAU) * r_ref
}

/// Packets between loss events (RFC 5348 sections 5.2 to 5.4).
#[derive(Debug, Default)]
struct LossIntervals {
    /// Closed ones, the last first.
    closed: VecDeque<f64>,
    /// Packets since the last loss event began; before the first, since the start.
    since: f64,
    /// Packets since the last loss.
    since_loss: f64,
    event_sent: Option<Time>,
}

impl LossIntervals {
    fn on_packet(&mut self, sent: Time, lost: bool, round_trip: Span) {
        self.since_loss += 1.0;
        self.since += 1.0;
        if !lost {
            return;
        }
        self.since_loss = 0.0;
        // Losses within a round trip of the first are one event.
        if self.event_sent.is_some_and(|event| sent.since(event) < round_trip) {
            return;
        }
        self.event_sent = Some(sent);
        self.closed.push_front(core::mem::take(&mut self.since));
        self.closed.truncate(WEIGHTS.len());
    }

    /// The average loss interval in packets; none before there is a loss.
    fn average(&self) -> Option<f64> {
        if self.closed.is_empty() {
            return None;
        }
        let mean = |intervals: &mut dyn Iterator<Item = f64>| {
            let (sum, weight) = intervals
                .zip(WEIGHTS)
                .fold((0.0, 0.0), |(sum, all), (interval, weight)| (sum + interval * weight, all + weight));
            sum / weight
        };
        let without = mean(&mut self.closed.iter().copied());
        let with = mean(&mut core::iter::once(self.since).chain(self.closed.iter().copied()));
        Some(without.max(with))
    }

    /// How far the delay is warped, 0 to 1: whole within the expiration window of the last loss, then less over one more interval.
    fn warp(&self) -> f64 {
        let Some(interval) = self.average() else { return 0.0 };
        (1.0 - (self.since_loss - MULTILOSS * interval) / interval.max(1.0)).clamp(0.0, 1.0)
    }
}

/// A packet in the observation window.
#[derive(Debug, Clone, Copy)]
struct Observed {
    sent: Time,
    arrival: Option<Time>,
    bytes: u32,
    ce: bool,
    /// Queueing delay as it was measured, milliseconds; zero of what is lost.
    queueing: f64,
}

/// The sender.
#[derive(Debug)]
struct Sender {
    settings: Nada,
    bounds: Bounds,
    r_ref: f64,
    x_prev: f64,
    d_tilde: f64,
    d_queue: f64,
    p_loss: f64,
    p_mark: f64,
    r_recv: f64,
    ramping_up: bool,
    base: BaseDelay,
    /// The last samples of the queueing delay.
    samples: VecDeque<f64>,
    observed: VecDeque<Observed>,
    losses: LossIntervals,
    round_trip: Span,
    updated: Time,
    buffer_bytes: u64,
}

impl Sender {
    fn new(now: Time, bounds: Bounds, settings: Nada) -> Self {
        Self {
            settings,
            bounds,
            r_ref: bounds.start_bps as f64,
            x_prev: 0.0,
            d_tilde: 0.0,
            d_queue: 0.0,
            p_loss: 0.0,
            p_mark: 0.0,
            r_recv: 0.0,
            ramping_up: true,
            base: BaseDelay::new(now),
            samples: VecDeque::new(),
            observed: VecDeque::new(),
            losses: LossIntervals::default(),
            round_trip: Span::ZERO,
            updated: now,
            buffer_bytes: 0,
        }
    }

    fn observe(&mut self, now: Time, packet: &PacketResult) {
        if packet.was_missing {
            // "treating out-of-order packets as losses" (section 5.1.2).
            return;
        }
        let mut queueing = 0.0;
        if let Some(arrival) = packet.arrival {
            let Some(sample) = self.base.queueing_ms(now, packet.sent, arrival) else { return };
            if self.samples.len() == FILTERED {
                self.samples.pop_front();
            }
            self.samples.push_back(sample);
            self.d_queue = self.samples.iter().copied().fold(f64::INFINITY, f64::min);
            queueing = sample;
        }
        self.losses.on_packet(packet.sent, packet.arrival.is_none(), self.round_trip);
        let &PacketResult { sent, arrival, bytes, ce, .. } = packet;
        self.observed.push_back(Observed { sent, arrival, bytes, ce, queueing });
    }

    /// Losses, marks and the rate of the observation window.
    fn summarise(&mut self) {
        let Some(newest) = self.observed.iter().map(|packet| packet.sent).max() else { return };
        self.observed.retain(|packet| newest.since(packet.sent) < LOGWIN);
        let all = self.observed.len() as f64;
        let ratio = |count: usize| count as f64 / all;
        let lost = self.observed.iter().filter(|packet| packet.arrival.is_none()).count();
        let marked = self.observed.iter().filter(|packet| packet.ce).count();
        self.p_loss += ALPHA * (ratio(lost) - self.p_loss);
        self.p_mark += ALPHA * (ratio(marked) - self.p_mark);
        let last = self.observed.iter().filter_map(|packet| packet.arrival).max();
        let bytes: u64 = self
            .observed
            .iter()
            .filter(|packet| packet.arrival.zip(last).is_some_and(|(at, last)| last.since(at) < LOGWIN))
            .map(|packet| u64::from(packet.bytes))
            .sum();
        self.r_recv = bytes as f64 * 8.0 / LOGWIN.as_secs_f64();
        let built_up = self.observed.iter().any(|packet| packet.queueing >= QEPS);
        self.ramping_up = lost == 0 && !built_up;
    }

    /// By how much the shaping buffer moves a rate (11), (12).
    fn shaping(&self, beta: f64) -> f64 {
        (SHAPING * self.r_ref).min(beta * 8.0 * self.buffer_bytes as f64 * FPS)
    }
}

impl RateControl for Sender {
    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if feedback.packets.is_empty() {
            return;
        }
        if let Some(round_trip) = feedback.round_trip() {
            self.round_trip = round_trip;
        }
        for packet in feedback.packets {
            self.observe(feedback.now, packet);
        }
        self.summarise();
        let warp = self.losses.warp();
        self.d_tilde = warp * warped(self.d_queue) + (1.0 - warp) * self.d_queue;
        let x_curr = congestion(self.d_tilde, self.p_mark, self.p_loss);
        // After a pause one step is no longer than TAU, over which the control is meant to work.
        let delta_ms = (feedback.now.since(self.updated).as_secs_f64() * 1e3).min(TAU);
        self.r_ref = if self.ramping_up {
            let gamma = gamma(self.round_trip.as_secs_f64() * 1e3);
            self.r_ref.max((1.0 + gamma) * self.r_recv)
        } else {
            let r_max = self.bounds.max_bps as f64;
            gradual(self.r_ref, x_curr, self.x_prev, delta_ms, self.settings.priority, r_max)
        };
        self.r_ref = self.bounds.clamp(self.r_ref);
        (self.x_prev, self.updated) = (x_curr, feedback.now);
    }

    fn on_queue(&mut self, queue: &SendQueue) {
        self.buffer_bytes = queue.bytes;
    }

    fn on_route_change(&mut self, now: Time) {
        let buffer_bytes = self.buffer_bytes;
        *self = Self { buffer_bytes, ..Self::new(now, self.bounds, self.settings) };
    }

    fn allowance(&self) -> Allowance {
        // (13), (14)
        let target_bps = self.bounds.clamp(self.r_ref - self.shaping(BETA_V)) as u64;
        let pacing_bps = self.bounds.clamp(self.r_ref + self.shaping(BETA_S)) as u64;
        Allowance { target_bps, pacing_bps, window_bytes: None }
    }

    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value)) {
        show("target_bps", (self.allowance().target_bps as f64).into());
        show("reference_bps", self.r_ref.into());
        show("congestion_ms", self.x_prev.into());
        show("queueing_ms", self.d_queue.into());
        show("warped_ms", self.d_tilde.into());
        show("loss_fraction", self.p_loss.into());
        show("mark_fraction", self.p_mark.into());
        show("incoming_bps", self.r_recv.into());
        show("state", (if self.ramping_up { "accelerated_ramp_up" } else { "gradual_update" }).into());
        if let Some(interval) = self.losses.average() {
            show("loss_interval_packets", interval.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn equations_by_hand() {
        // (1): e^(-1/2) at twice QTH.
        close(warped(49.9), 49.9);
        close(warped(100.0), 50.0 * 0.606_530_659_712_633_4);
        // (2): 20 + 2·4 + 10·9.
        close(congestion(20.0, 0.02, 0.03), 118.0);
        close(congestion(20.0, 0.0, 0.25), XMAX);
        // (3): 50/(100+100+120), and the maximum is never reached with these numbers.
        close(gamma(100.0), 0.15625);
        close(gamma(0.0), 50.0 / 220.0);
        // (7): x_offset = 40-10·1.5/1 = 25; 1e6·(1 - 0.5·0.2·0.05 - 0.5·2·0.02).
        close(gradual(1e6, 40.0, 30.0, 100.0, 1.0, 1.5e6), 975_000.0);
        // At equilibrium x = PRIO·XREF·RMAX/r nothing changes.
        close(gradual(1e6, 30.0, 30.0, 100.0, 2.0, 1.5e6), 1e6);
    }

    #[test]
    fn loss_intervals_are_weighted_as_in_tfrc() {
        let mut losses = LossIntervals::default();
        let mut sent = Time::ZERO;
        let mut run = |losses: &mut LossIntervals, received: u64| {
            for i in 0..=received {
                sent += Span::from_millis(10);
                losses.on_packet(sent, i == received, Span::from_millis(50));
            }
        };
        run(&mut losses, 30);
        assert_eq!((losses.average(), losses.warp()), (Some(31.0), 1.0));
        for received in [99, 49, 19, 9, 9] {
            run(&mut losses, received);
        }
        // Intervals, the last first: 10, 10, 20, 50, 100, 31 with weights 1, 1, 1, 1, 0.8, 0.6.
        close(losses.average().expect("known"), (90.0 + 80.0 + 18.6) / 5.4);
        // Two losses within a round trip are one event.
        let closed = losses.closed.len();
        run(&mut losses, 3);
        assert_eq!(losses.closed.len(), closed);
        // 1000 packets later the open interval counts, and the loss is forgotten.
        for _ in 0..1000 {
            losses.on_packet(Time::MAX, false, Span::ZERO);
        }
        let average = losses.average().expect("known");
        close(average, (1004.0 + 10.0 + 10.0 + 20.0 + 0.8 * 50.0 + 0.6 * 100.0 + 0.4 * 31.0) / 5.8);
        assert_eq!(losses.warp(), 1.0);
        losses.since_loss = 7.25 * average;
        close(losses.warp(), 0.75);
        losses.since_loss = 8.5 * average;
        assert_eq!(losses.warp(), 0.0);
    }
}
