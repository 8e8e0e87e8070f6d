//! The loss-based estimate, version 2 (`LossBasedBweV2`), with the values that are its default.
//!
//! Each observation is what was sent and lost in a quarter of a second. A channel is a bandwidth, beyond which everything is lost, and an
//! inherent loss. Of some candidates for the bandwidth the likeliest is taken, its inherent loss found by a step of Newton's method;
//! higher bandwidths are preferred a little. Field trials that are off by default are left out: holding and padding after a decrease,
//! counting bytes, bounds by the acknowledged rate.

use crate::rate::PacketResult;
use alloc::collections::{BTreeSet, VecDeque};
use voxpath_units::{Span, Time};

const OBSERVATION: Span = Span::from_millis(250);
const OBSERVATIONS: usize = 20;
const FEWEST_OBSERVATIONS: u64 = 3;
const TEMPORAL_WEIGHT: f64 = 0.9;
const CANDIDATES: [f64; 3] = [1.02, 1.0, 0.95];
const HIGHER_BIAS: f64 = 0.0002;
const HIGHER_LOG_BIAS: f64 = 0.02;
const LOSS_THRESHOLD: f64 = 0.15;
const PREFERENCE_SMOOTHING: f64 = 0.002;
const INHERENT_LEAST: f64 = 1e-3;
const INHERENT_START: f64 = 0.01;
/// Of the inherent loss and of the estimate: the offset, and kbit/s.
const BOUND_OFFSET: f64 = 0.05;
const BOUND_BALANCE_KBPS: f64 = 75.0;
const NEWTON_STEP: f64 = 0.75;
const RAMP_UP: f64 = 1e6;
const MAX_INCREASE: f64 = 1.3;
const INCREASE_WINDOW: Span = Span::from_millis(300);
/// `kCongestionControllerMinBitrate`.
const LEAST_KBPS: f64 = 5.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    DelayBased,
    Increasing,
    Decreasing,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::DelayBased => "delay_based",
            Self::Increasing => "increasing",
            Self::Decreasing => "decreasing",
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Observation {
    packets: f64,
    lost: f64,
    sent_kbps: f64,
}

/// What the network is taken for.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Channel {
    inherent_loss: f64,
    kbps: f64,
}

impl Channel {
    fn loss_probability(&self, sent_kbps: f64) -> f64 {
        let beyond = if sent_kbps > self.kbps { (sent_kbps - self.kbps) / sent_kbps } else { 0.0 };
        let p = self.inherent_loss + (1.0 - self.inherent_loss) * beyond;
        p.clamp(1e-6, 1.0 - 1e-6)
    }

    /// The inherent loss may not explain all loss at a high bandwidth.
    fn feasible(self) -> Self {
        let most =
            if self.kbps > 0.0 { (BOUND_OFFSET + BOUND_BALANCE_KBPS / self.kbps).min(1.0) } else { 1.0 };
        Self { inherent_loss: self.inherent_loss.max(INHERENT_LEAST).min(most), ..self }
    }
}

/// The estimator; rates in kbit/s.
#[derive(Debug)]
pub(super) struct LossBased {
    pub(super) state: State,
    /// The estimate, once it is ready.
    estimate: Option<f64>,
    best: Channel,
    observations: VecDeque<Observation>,
    counted: u64,
    pub(super) average_loss: f64,
    acked: Option<f64>,
    delay_based: Option<f64>,
    bounds: (f64, f64),
    partial_packets: u64,
    partial_bytes: u64,
    partial_lost: BTreeSet<u64>,
    last_sent: Option<Time>,
    recovering: Option<Time>,
    window_limit: f64,
}

impl LossBased {
    pub(super) fn new(min_bps: f64, max_bps: f64) -> Self {
        Self {
            state: State::DelayBased,
            estimate: None,
            best: Channel { inherent_loss: INHERENT_START, kbps: 0.0 },
            observations: VecDeque::new(),
            counted: 0,
            average_loss: 0.0,
            acked: None,
            delay_based: None,
            bounds: (min_bps / 1e3, max_bps / 1e3),
            partial_packets: 0,
            partial_bytes: 0,
            partial_lost: BTreeSet::new(),
            last_sent: None,
            recovering: None,
            window_limit: f64::INFINITY,
        }
    }

    /// Bits per second, once there is an estimate with enough behind it.
    pub(super) fn ready_bps(&self) -> Option<f64> {
        self.estimate.filter(|_| self.counted >= FEWEST_OBSERVATIONS).map(|kbps| kbps * 1e3)
    }

    pub(super) fn inherent_loss(&self) -> f64 {
        self.best.inherent_loss
    }

    pub(super) fn set_acked(&mut self, bps: f64) {
        self.acked = Some(bps / 1e3);
    }

    fn is_loss_limited(&self) -> bool {
        self.state != State::DelayBased
    }

    /// A report, with the delay-based limit of now.
    pub(super) fn update(&mut self, packets: &[PacketResult], delay_based_bps: Option<f64>, in_alr: bool) {
        self.delay_based = delay_based_bps.map(|bps| bps / 1e3);
        if packets.is_empty() || !self.observe(packets) {
            return;
        }
        if self.estimate.is_none() {
            let Some(kbps) = self.delay_based else { return };
            (self.best.kbps, self.estimate) = (kbps, Some(kbps));
        }
        let mut best = self.likeliest(in_alr);
        if self.average_loss > best.inherent_loss && self.best.kbps < best.kbps {
            best.kbps = self.best.kbps;
        }
        if self.is_loss_limited() {
            best.kbps = self.slowed(best.kbps);
        }
        let delay_based = self.delay_based.unwrap_or(f64::INFINITY);
        let bounded = best.kbps.min(self.instant_upper_bound()).min(delay_based).max(self.bounds.0);
        self.best = Channel { kbps: best.kbps.max(self.bounds.0), ..best };
        self.settle(bounded, delay_based);
    }

    /// What limits an increase where losses limit the rate.
    fn slowed(&self, kbps: f64) -> f64 {
        let mut kbps = kbps;
        if self.recovering.zip(self.last_sent).is_some_and(|(since, last)| since + INCREASE_WINDOW > last) {
            kbps = kbps.min(self.window_limit);
        }
        if self.is_increase(self.best.kbps, kbps)
            && let Some(acked) = self.acked
        {
            kbps = self.best.kbps.max(kbps.min(RAMP_UP * acked));
            if self.state == State::Decreasing && kbps == self.best.kbps {
                // So that the state changes.
                kbps += 1e-3;
            }
        }
        kbps
    }

    fn is_increase(&self, old: f64, new: f64) -> bool {
        self.is_loss_limited() && (old < new || (old == new && self.state == State::Increasing))
    }

    fn settle(&mut self, bounded: f64, delay_based: f64) {
        let limited = bounded < delay_based && bounded < self.bounds.1;
        let increases = self.is_increase(self.estimate.unwrap_or(0.0), bounded);
        self.state = match (limited, increases) {
            (true, true) => State::Increasing,
            (true, false) => State::Decreasing,
            (false, _) => State::DelayBased,
        };
        self.estimate = Some(bounded);
        let over = match (self.recovering, self.last_sent) {
            (Some(since), Some(last)) => since + INCREASE_WINDOW < last,
            _ => true,
        };
        if self.is_loss_limited() && over {
            self.window_limit = LEAST_KBPS.max(self.best.kbps * MAX_INCREASE);
            self.recovering = self.last_sent;
        }
    }

    fn instant_upper_bound(&self) -> f64 {
        let above = self.average_loss - BOUND_OFFSET;
        if above > 0.0 { BOUND_BALANCE_KBPS / above } else { self.bounds.1 }
    }

    /// The likeliest channel among the candidates.
    fn likeliest(&self, in_alr: bool) -> Channel {
        let factors = CANDIDATES.iter().map(|factor| factor * self.best.kbps);
        let acked = self.acked.filter(|_| !in_alr);
        let delay_based = self.delay_based.filter(|&kbps| kbps > self.best.kbps);
        let limited = self.is_loss_limited() && self.window_limit.is_finite();
        let most = if limited { self.window_limit } else { self.bounds.1 }.max(self.best.kbps);
        let candidates = factors.chain(acked).chain(delay_based).map(|kbps| {
            let candidate = Channel { kbps: kbps.min(most), ..self.best }.feasible();
            self.newton(candidate)
        });
        let mut best = (f64::NEG_INFINITY, self.best);
        for candidate in candidates {
            let objective = self.objective(&candidate);
            if objective > best.0 {
                best = (objective, candidate);
            }
        }
        best.1
    }

    /// Observations with their weights, the last first.
    fn weighted(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let mut weight = 1.0 / TEMPORAL_WEIGHT;
        self.observations.iter().rev().map(move |observation| {
            weight *= TEMPORAL_WEIGHT;
            (weight, observation)
        })
    }

    /// One step towards the inherent loss of the greatest likelihood.
    fn newton(&self, channel: Channel) -> Channel {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, seen) in self.weighted() {
            let p = channel.loss_probability(seen.sent_kbps);
            let received = seen.packets - seen.lost;
            first += weight * (seen.lost / p - received / (1.0 - p));
            second -= weight * (seen.lost / (p * p) + received / ((1.0 - p) * (1.0 - p)));
        }
        let second = if second < 0.0 { second } else { -1e-6 };
        let inherent_loss = channel.inherent_loss - NEWTON_STEP * first / second;
        Channel { inherent_loss, ..channel }.feasible()
    }

    fn objective(&self, channel: &Channel) -> f64 {
        let off = LOSS_THRESHOLD - self.average_loss;
        let preference = off / (PREFERENCE_SMOOTHING + off.abs());
        let bias =
            preference * (HIGHER_BIAS * channel.kbps + HIGHER_LOG_BIAS * libm::log(1.0 + channel.kbps));
        self.weighted()
            .map(|(weight, seen)| {
                let p = channel.loss_probability(seen.sent_kbps);
                let likelihood = seen.lost * libm::log(p) + (seen.packets - seen.lost) * libm::log(1.0 - p);
                weight * (likelihood + bias * seen.packets)
            })
            .sum()
    }

    /// Whether an observation is complete.
    fn observe(&mut self, packets: &[PacketResult]) -> bool {
        self.partial_packets += packets.len() as u64;
        for packet in packets {
            if packet.arrival.is_some() {
                self.partial_lost.remove(&packet.seq);
            } else {
                self.partial_lost.insert(packet.seq);
            }
            self.partial_bytes += u64::from(packet.bytes);
        }
        let sent = || packets.iter().map(|packet| packet.sent);
        let (Some(first), Some(last)) = (sent().min(), sent().max()) else { return false };
        let since = *self.last_sent.get_or_insert(first);
        let duration = last.since(since);
        if duration < OBSERVATION {
            return false;
        }
        self.last_sent = Some(last);
        let lost = core::mem::take(&mut self.partial_lost).len() as f64;
        let packets = core::mem::take(&mut self.partial_packets) as f64;
        let bytes = core::mem::take(&mut self.partial_bytes) as f64;
        let sent_kbps = bytes * 8.0 / duration.as_secs_f64() / 1e3;
        if self.observations.len() == OBSERVATIONS {
            self.observations.pop_front();
        }
        self.observations.push_back(Observation { packets, lost: lost.min(packets), sent_kbps });
        self.counted += 1;
        let (all, lost) = self.weighted().fold((0.0, 0.0), |(all, lost), (weight, seen)| {
            (all + weight * seen.packets, lost + weight * seen.lost)
        });
        self.average_loss = lost / all;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    }

    /// Reports on packets of 1250 bytes at 1 Mbit/s, of which every `n`th is lost; the estimate afterwards.
    fn after(seconds: u64, n: u64, delay_based: f64) -> LossBased {
        let mut loss = LossBased::new(30e3, 10e6);
        loss.set_acked(1e6);
        for report in 0..seconds * 10 {
            let packets: Vec<_> = (report * 10..report * 10 + 10)
                .map(|seq| {
                    let sent = Time::ZERO + Span::from_millis(10 * seq);
                    let arrival = (n == 0 || seq % n != 0).then_some(sent);
                    PacketResult {
                        seq,
                        sent,
                        bytes: 1250,
                        arrival,
                        ce: false,
                        probe: None,
                        was_missing: false,
                    }
                })
                .collect();
            loss.update(&packets, Some(delay_based), false);
        }
        loss
    }

    #[test]
    fn without_loss_the_delay_decides() {
        let loss = after(10, 0, 2e6);
        assert_eq!((loss.ready_bps(), loss.state), (Some(2e6), State::DelayBased));
    }

    #[test]
    fn a_little_loss_is_inherent_and_much_bounds_the_rate() {
        let little = after(20, 50, 1.2e6);
        assert_eq!(little.state, State::DelayBased, "{little:?}");
        assert!((0.015..0.025).contains(&little.inherent_loss()), "{}", little.inherent_loss());
        // The instant bound: 75 kbit/s over the loss above 5 %.
        let much = after(20, 4, 1.2e6);
        let bound = 75e3 / (much.average_loss - 0.05);
        assert!(much.ready_bps().expect("ready") <= bound + 1.0, "{much:?}");
        assert!((0.2..0.3).contains(&much.average_loss), "{}", much.average_loss);
        assert!(much.is_loss_limited());
    }

    #[test]
    fn likelihood_and_newtons_step_by_hand() {
        let mut loss = LossBased::new(30e3, 10e6);
        loss.observations.push_back(Observation { packets: 100.0, lost: 10.0, sent_kbps: 2000.0 });
        loss.average_loss = 0.1;
        let channel = Channel { inherent_loss: 0.02, kbps: 2000.0 };
        close(channel.loss_probability(2000.0), 0.02);
        close(Channel { kbps: 1000.0, ..channel }.loss_probability(2000.0), 0.02 + 0.98 * 0.5);
        // first = 10/0.02 - 90/0.98, second = -(10/0.02² + 90/0.98²); the bound is 0.05 + 75/2000.
        let step = 0.75 * (500.0 - 90.0 / 0.98) / (25_000.0 + 90.0 / (0.98 * 0.98));
        close(loss.newton(channel).inherent_loss, 0.02 + step);
        close(loss.newton(Channel { inherent_loss: 0.08, ..channel }).inherent_loss, 0.0875);
        let bias = 0.05 / 0.052 * (0.0002 * 2000.0 + 0.02 * libm::log(2001.0));
        close(loss.objective(&channel), 10.0 * libm::log(0.02) + 90.0 * libm::log(0.98) + 100.0 * bias);
    }
}
