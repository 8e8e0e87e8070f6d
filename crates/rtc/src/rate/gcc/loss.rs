//! The loss-based controller (section 6): As_hat.

use crate::rate::Bounds;

/// Below this fraction lost the estimate grows.
const LOW: f64 = 0.02;
/// Above this one it falls.
const HIGH: f64 = 0.1;
/// What it grows by.
const GROWTH: f64 = 1.05;
/// Packets that a fraction is of, at least (libwebrtc's `kLimitNumPackets`): of less, a single loss would be above 10 %. The draft
/// says nothing of reports on few packets.
pub(super) const FEWEST: u64 = 20;

/// `up`, but not above the limit; where `now` is above already, it stays.
pub(super) fn clamp_above(now: f64, up: f64, limit: f64) -> f64 {
    up.min(limit.max(now))
}

/// The loss-based controller.
#[derive(Debug)]
pub(super) struct LossBased {
    pub(super) estimate_bps: f64,
    /// The fraction that it was last told.
    pub(super) fraction: f64,
    bounds: Bounds,
    /// Added when it grows.
    extra_bps: f64,
    fewest: u64,
    lost: f64,
    expected: u64,
}

impl LossBased {
    pub(super) fn new(bounds: Bounds, extra_bps: f64, fewest: u64) -> Self {
        let estimate_bps = bounds.start_bps as f64;
        Self { estimate_bps, fraction: 0.0, bounds, extra_bps, fewest, lost: 0.0, expected: 0 }
    }

    /// A report: of `expected` packets `lost` are lost.
    pub(super) fn report(&mut self, lost: f64, expected: u64) {
        self.lost += lost;
        self.expected += expected;
        if self.expected < self.fewest.max(1) {
            return;
        }
        let p = (self.lost / self.expected as f64).clamp(0.0, 1.0);
        (self.lost, self.expected, self.fraction) = (0.0, 0, p);
        if p > HIGH {
            self.estimate_bps *= 1.0 - 0.5 * p;
        } else if p < LOW {
            self.estimate_bps = GROWTH * self.estimate_bps + self.extra_bps;
        }
        self.estimate_bps = self.bounds.clamp(self.estimate_bps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { min_bps: 100_000, start_bps: 1_000_000, max_bps: 1_200_000 };

    #[test]
    fn the_estimate_follows_the_three_ranges_of_loss() {
        let after = |lost: f64| {
            let mut loss = LossBased::new(BOUNDS, 0.0, FEWEST);
            loss.report(lost, 100);
            loss.estimate_bps
        };
        assert_eq!(after(0.0), 1_050_000.0);
        assert_eq!(after(1.9), 1_050_000.0);
        assert_eq!([after(2.0), after(10.0)], [1_000_000.0; 2]);
        assert_eq!(after(20.0), 900_000.0);
        assert_eq!(after(100.0), 500_000.0);
    }

    #[test]
    fn few_packets_are_summed_and_bounds_hold() {
        let mut loss = LossBased::new(BOUNDS, 0.0, FEWEST);
        loss.report(1.0, 10);
        assert_eq!(loss.estimate_bps, 1_000_000.0);
        loss.report(0.0, 10);
        assert_eq!((loss.estimate_bps, loss.fraction), (1_000_000.0, 0.05));
        for _ in 0..100 {
            loss.report(0.0, 20);
        }
        assert_eq!(loss.estimate_bps, 1_200_000.0);
        for _ in 0..100 {
            loss.report(20.0, 20);
        }
        assert_eq!(loss.estimate_bps, 100_000.0);
    }
}
