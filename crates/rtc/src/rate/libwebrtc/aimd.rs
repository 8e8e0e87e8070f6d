//! The delay-based estimate (`AimdRateControl`), and the estimate of the link's capacity (`LinkCapacityEstimator`).

use super::trendline::Usage;
use crate::rate::Bounds;
use voxpath_units::{Span, Time};

const BETA: f64 = 0.85;
/// Taken off beside it.
const EXTRA_BPS: f64 = 5e3;
const DEFAULT_ROUND_TRIP: Span = Span::from_millis(200);
const LEAST_INCREASE_BPS: f64 = 4e3;

/// The capacity as over-use and probes show it, kbit/s.
#[derive(Debug, Default)]
pub(super) struct LinkCapacity {
    kbps: Option<f64>,
    /// Variance by the mean.
    deviation: f64,
}

impl LinkCapacity {
    fn new() -> Self {
        Self { kbps: None, deviation: 0.4 }
    }

    fn on_overuse(&mut self, bps: f64) {
        const ALPHA: f64 = 0.05;
        let sample = bps / 1e3;
        let kbps = self.kbps.map_or(sample, |kbps| (1.0 - ALPHA) * kbps + ALPHA * sample);
        let error = kbps - sample;
        self.kbps = Some(kbps);
        self.deviation = (1.0 - ALPHA) * self.deviation + ALPHA * error * error / kbps.max(1.0);
        self.deviation = self.deviation.clamp(0.4, 2.5);
    }

    pub(super) fn bps(&self) -> Option<f64> {
        self.kbps.map(|kbps| kbps * 1e3)
    }

    fn margin_bps(&self) -> f64 {
        3e3 * libm::sqrt(self.deviation * self.kbps.unwrap_or(0.0))
    }

    fn is_below(&self, bps: f64) -> bool {
        self.bps().is_some_and(|estimate| bps > estimate + self.margin_bps())
    }

    fn is_above(&self, bps: f64) -> bool {
        self.bps().is_some_and(|estimate| bps < estimate - self.margin_bps())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Hold,
    Increase,
    Decrease,
}

impl State {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Increase => "increase",
            Self::Decrease => "decrease",
        }
    }
}

/// The rate control.
#[derive(Debug)]
pub(super) struct Aimd {
    pub(super) estimate_bps: f64,
    pub(super) state: State,
    pub(super) capacity: LinkCapacity,
    pub(super) round_trip: Span,
    bounds: Bounds,
    throughput_bps: f64,
    changed: Option<Time>,
}

impl Aimd {
    pub(super) fn new(bounds: Bounds) -> Self {
        let start = bounds.start_bps as f64;
        Self {
            estimate_bps: start,
            state: State::Hold,
            capacity: LinkCapacity::new(),
            round_trip: DEFAULT_ROUND_TRIP,
            bounds,
            throughput_bps: start,
            changed: None,
        }
    }

    /// A probe has told the rate, or nothing is known and the estimate is halved.
    pub(super) fn set_estimate(&mut self, now: Time, bps: f64) {
        self.estimate_bps = self.clamp(bps);
        self.changed = Some(now);
    }

    fn clamp(&self, bps: f64) -> f64 {
        bps.max(self.bounds.min_bps as f64)
    }

    /// Whether a decrease may follow the last change.
    pub(super) fn time_to_reduce(&self, now: Time, throughput_bps: f64) -> bool {
        let interval = self.round_trip.clamp(Span::from_millis(10), Span::from_millis(200));
        self.changed.is_none_or(|changed| now.since(changed) >= interval)
            || throughput_bps < 0.5 * self.estimate_bps
    }

    /// The same before a throughput is known.
    pub(super) fn initial_time_to_reduce(&self, now: Time) -> bool {
        self.time_to_reduce(now, self.estimate_bps / 2.0 - 1.0)
    }

    /// An update with what the network is put to, and with the rate that arrives where it is known.
    pub(super) fn update(&mut self, now: Time, usage: Usage, acked_bps: Option<f64>) {
        self.throughput_bps = acked_bps.unwrap_or(self.throughput_bps);
        match usage {
            Usage::Normal if self.state == State::Hold => {
                self.changed = Some(now);
                self.state = State::Increase;
            }
            Usage::Normal => {}
            Usage::Overusing => self.state = State::Decrease,
            Usage::Underusing => self.state = State::Hold,
        }
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(now),
            State::Decrease => self.decrease(now),
        }
    }

    fn increase(&mut self, now: Time) {
        if self.capacity.is_below(self.throughput_bps) {
            self.capacity.kbps = None;
        }
        let limit = 1.5 * self.throughput_bps + 10e3;
        if self.estimate_bps < limit {
            let since = self.changed.map(|changed| now.since(changed).as_secs_f64());
            let more = if self.capacity.kbps.is_some() {
                self.near_max_increase_bps_per_s() * since.unwrap_or(0.0)
            } else {
                let alpha = libm::pow(1.08, since.map_or(1.0, |s| s.min(1.0)));
                (self.estimate_bps * (alpha - 1.0)).max(1e3)
            };
            self.estimate_bps = self.clamp((self.estimate_bps + more).min(limit));
        }
        self.changed = Some(now);
    }

    fn near_max_increase_bps_per_s(&self) -> f64 {
        let frame_bytes = self.estimate_bps / 30.0 / 8.0;
        let packets = libm::ceil(frame_bytes / 1200.0).max(1.0);
        let packet_bits = frame_bytes / packets * 8.0;
        let response_s = 2.0 * (self.round_trip.as_secs_f64() + 0.1);
        (packet_bits / response_s).max(LEAST_INCREASE_BPS)
    }

    fn decrease(&mut self, now: Time) {
        let throughput = self.throughput_bps;
        let mut down = throughput * BETA;
        if down > EXTRA_BPS {
            down -= EXTRA_BPS;
        }
        if down > self.estimate_bps
            && let Some(bps) = self.capacity.bps()
        {
            down = BETA * bps;
        }
        if down < self.estimate_bps {
            self.estimate_bps = self.clamp(down);
        }
        if self.capacity.is_above(throughput) {
            self.capacity.kbps = None;
        }
        self.capacity.on_overuse(throughput);
        // Until the pipes are cleared.
        self.state = State::Hold;
        self.changed = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { min_bps: 30_000, start_bps: 1_000_000, max_bps: 10_000_000 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn decrease_hold_and_additive_increase_by_hand() {
        let mut aimd = Aimd::new(BOUNDS);
        aimd.round_trip = Span::from_millis(100);
        aimd.update(at(0), Usage::Overusing, Some(1e6));
        assert_eq!((aimd.estimate_bps, aimd.state), (845_000.0, State::Hold));
        assert!(!aimd.time_to_reduce(at(99), 0.9e6) && aimd.time_to_reduce(at(100), 0.9e6));
        assert!(aimd.time_to_reduce(at(1), 0.4e6));
        aimd.update(at(100), Usage::Underusing, Some(0.95e6));
        assert_eq!((aimd.estimate_bps, aimd.state), (845_000.0, State::Hold));
        // The clock of the increase starts when the hold ends.
        aimd.update(at(200), Usage::Normal, Some(0.99e6));
        assert_eq!((aimd.estimate_bps, aimd.state), (845_000.0, State::Increase));
        aimd.update(at(300), Usage::Normal, Some(0.99e6));
        // 3520.8 bytes a frame in 3 packets of 1173.6; 9388.9 bit in 0.4 s are 23472 bit/s a second.
        assert!((aimd.estimate_bps - (845_000.0 + 2_347.222_222)).abs() < 1e-3, "{}", aimd.estimate_bps);
        // σ = sqrt(0.4·1000): above 1.06 Mbit/s the capacity is another, and the increase multiplicative.
        aimd.update(at(400), Usage::Normal, Some(1.07e6));
        assert!(aimd.capacity.bps().is_none());
        aimd.update(at(1400), Usage::Normal, Some(1.07e6));
        let expected = 847_347.222_222 * libm::pow(1.08, 1.1);
        assert!((aimd.estimate_bps - expected).abs() < 1e-2, "{}", aimd.estimate_bps);
    }

    #[test]
    fn what_arrives_limits_the_increase() {
        let mut aimd = Aimd::new(BOUNDS);
        for i in 0..100 {
            aimd.update(at(1000 * i), Usage::Normal, Some(1e6));
        }
        assert_eq!(aimd.estimate_bps, 1.51e6);
        aimd.set_estimate(at(200_000), 3e6);
        aimd.update(at(201_000), Usage::Normal, Some(1e6));
        assert_eq!(aimd.estimate_bps, 3e6, "what a probe found stays");
    }
}
