//! The delay-based rate control (section 5.5): A_hat.

use super::detector::Signal;
use super::loss::clamp_above;
use crate::rate::Bounds;
use voxpath_units::{Span, Time};

/// Of the incoming rate, what the estimate may be above it.
const MOST_ABOVE: f64 = 1.5;
/// Smoothing of the mean incoming rate at decreases.
const SMOOTHING: f64 = 0.95;
/// The variance of that rate by its mean, in kbit/s, stays between these: 14 and 35 kbit/s at 500 kbit/s. The draft does not say how
/// its standard deviation starts, and one sample has none; these are libwebrtc's.
const RELATIVE_VAR: (f64, f64) = (0.4, 2.5);

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

    /// The table of section 5.5.
    fn after(self, signal: Signal) -> Self {
        match (signal, self) {
            (Signal::Overuse, _) => Self::Decrease,
            (Signal::Normal, Self::Hold) => Self::Increase,
            (Signal::Normal, Self::Decrease) | (Signal::Underuse, _) => Self::Hold,
            (Signal::Normal, Self::Increase) => Self::Increase,
        }
    }
}

/// The mean incoming rate at decreases, and its deviation.
#[derive(Debug, Clone, Copy)]
struct AverageMax {
    kbps: f64,
    relative_var: f64,
}

impl AverageMax {
    fn update(known: Option<Self>, kbps: f64) -> Self {
        let Some(known) = known else { return Self { kbps, relative_var: RELATIVE_VAR.0 } };
        let mean = SMOOTHING * known.kbps + (1.0 - SMOOTHING) * kbps;
        let off = mean - kbps;
        let var = SMOOTHING * known.relative_var + (1.0 - SMOOTHING) * off * off / mean.max(1.0);
        Self { kbps: mean, relative_var: var.clamp(RELATIVE_VAR.0, RELATIVE_VAR.1) }
    }

    /// Three standard deviations.
    fn margin(&self) -> f64 {
        3.0 * libm::sqrt(self.relative_var * self.kbps)
    }
}

/// The delay-based controller.
#[derive(Debug)]
pub(super) struct Aimd {
    pub(super) estimate_bps: f64,
    pub(super) state: State,
    beta: f64,
    bounds: Bounds,
    average_max: Option<AverageMax>,
    updated: Time,
}

impl Aimd {
    pub(super) fn new(now: Time, bounds: Bounds, beta: f64) -> Self {
        let estimate_bps = bounds.start_bps as f64;
        Self { estimate_bps, state: State::Increase, beta, bounds, average_max: None, updated: now }
    }

    /// An update with the signal of now, and with the incoming rate R_hat where it is known.
    pub(super) fn update(&mut self, now: Time, signal: Signal, incoming: Option<f64>, round_trip: Span) {
        let since_ms = now.since(self.updated).as_secs_f64() * 1e3;
        self.updated = now;
        self.state = self.state.after(signal);
        match self.state {
            State::Hold => {}
            State::Decrease => {
                // Before a rate is known, the estimate itself stands for it.
                let down = self.beta * incoming.unwrap_or(self.estimate_bps);
                self.estimate_bps = self.estimate_bps.min(down);
                if let Some(bps) = incoming {
                    self.average_max = Some(AverageMax::update(self.average_max, bps / 1e3));
                }
            }
            State::Increase => {
                let up = self.estimate_bps + self.increase(since_ms, incoming, round_trip);
                let limit = incoming.map_or(f64::INFINITY, |bps| MOST_ABOVE * bps);
                self.estimate_bps = clamp_above(self.estimate_bps, up, limit);
            }
        }
        self.estimate_bps = self.bounds.clamp(self.estimate_bps);
    }

    fn increase(&mut self, since_ms: f64, incoming: Option<f64>, round_trip: Span) -> f64 {
        if let (Some(max), Some(bps)) = (self.average_max, incoming) {
            let above = bps / 1e3 - max.kbps;
            if above > max.margin() {
                self.average_max = None;
            } else if above >= -max.margin() {
                let response_ms = 100.0 + round_trip.as_secs_f64() * 1e3;
                let alpha = 0.5 * (since_ms / response_ms).min(1.0);
                return (alpha * expected_packet_bits(self.estimate_bps)).max(1000.0);
            }
        }
        (libm::pow(1.08, (since_ms / 1000.0).min(1.0)) - 1.0) * self.estimate_bps
    }
}

/// The mean packet of a video of 30 frames a second whose packets have 1200 bytes at most.
fn expected_packet_bits(bps: f64) -> f64 {
    let frame = bps / 30.0;
    frame / libm::ceil(frame / (1200.0 * 8.0)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { min_bps: 10_000, start_bps: 1_000_000, max_bps: 10_000_000 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_states_follow_the_table() {
        use Signal::{Normal, Overuse, Underuse};
        use State::{Decrease, Hold, Increase};
        for (signal, from, to) in [
            (Overuse, Hold, Decrease),
            (Overuse, Increase, Decrease),
            (Overuse, Decrease, Decrease),
            (Normal, Hold, Increase),
            (Normal, Increase, Increase),
            (Normal, Decrease, Hold),
            (Underuse, Hold, Hold),
            (Underuse, Increase, Hold),
            (Underuse, Decrease, Hold),
        ] {
            assert_eq!(from.after(signal), to, "{signal:?} in {from:?}");
        }
    }

    #[test]
    fn the_estimate_grows_eight_percent_a_second_far_from_the_maximum() {
        let mut aimd = Aimd::new(at(0), BOUNDS, 0.85);
        aimd.update(at(500), Signal::Normal, Some(1e6), Span::ZERO);
        assert!((aimd.estimate_bps - 1e6 * libm::sqrt(1.08)).abs() < 1e-3);
        aimd.update(at(5000), Signal::Normal, Some(1e6), Span::ZERO);
        assert!((aimd.estimate_bps - 1e6 * libm::sqrt(1.08) * 1.08).abs() < 1e-3, "a second at most");
        for i in 6..100 {
            aimd.update(at(1000 * i), Signal::Normal, Some(1e6), Span::ZERO);
        }
        assert_eq!(aimd.estimate_bps, 1.5e6, "what is sent limits it");
    }

    #[test]
    fn near_the_maximum_it_grows_half_a_packet_a_response_time() {
        let mut aimd = Aimd::new(at(0), BOUNDS, 0.85);
        aimd.update(at(100), Signal::Overuse, Some(1e6), Span::from_millis(100));
        assert_eq!((aimd.estimate_bps, aimd.state), (850_000.0, State::Decrease));
        aimd.update(at(200), Signal::Normal, Some(0.99e6), Span::from_millis(100));
        assert_eq!((aimd.estimate_bps, aimd.state), (850_000.0, State::Hold));
        aimd.update(at(300), Signal::Normal, Some(0.99e6), Span::from_millis(100));
        // 28333 bits a frame, in 3 packets of 9444.4; half of one in 200 ms, and 100 ms have passed.
        let packet = 850_000.0 / 30.0 / 3.0;
        assert!((aimd.estimate_bps - (850_000.0 + 0.25 * packet)).abs() < 1e-6);
        // σ = sqrt(0.4 · 1000) = 20 kbit/s: 1.061 Mbit/s is beyond 3σ, so the maximum has changed.
        let before = aimd.estimate_bps;
        aimd.update(at(400), Signal::Normal, Some(1.061e6), Span::from_millis(100));
        assert!(aimd.average_max.is_none());
        assert!((aimd.estimate_bps / before - libm::pow(1.08, 0.1)).abs() < 1e-12);
    }

    #[test]
    fn at_least_a_kilobit_is_added() {
        let bounds = Bounds { start_bps: 30_000, ..BOUNDS };
        let mut aimd = Aimd::new(at(0), bounds, 0.85);
        aimd.update(at(100), Signal::Overuse, Some(30e3), Span::ZERO);
        aimd.update(at(101), Signal::Normal, Some(30e3), Span::ZERO);
        aimd.update(at(102), Signal::Normal, Some(30e3), Span::ZERO);
        assert_eq!(aimd.estimate_bps, 26_500.0);
    }
}
