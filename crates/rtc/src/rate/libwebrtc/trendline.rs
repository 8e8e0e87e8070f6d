//! The trend of the delay, and what it says of the network (`TrendlineEstimator`).

use crate::rate::groups::{Delta, signed_ms};
use alloc::collections::VecDeque;
use voxpath_units::Time;

/// Groups that the line is fitted to (`kDefaultTrendlineWindowSize`).
const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const K_UP: f64 = 0.0087;
const K_DOWN: f64 = 0.039;
const START: f64 = 12.5;
const RANGE: (f64, f64) = (6.0, 600.0);
const OVERUSE_MS: f64 = 10.0;
/// `kMaxAdaptOffsetMs`: above it a trend is a spike, which the threshold does not follow.
const SPIKE: f64 = 15.0;
/// `kMinNumDeltas`.
const MOST_DELTAS: u32 = 60;
const LONGEST_STEP_MS: f64 = 100.0;

/// `BandwidthUsage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    Normal,
    Overusing,
    Underusing,
}

impl Usage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Overusing => "overusing",
            Self::Underusing => "underusing",
        }
    }
}

/// The estimator and its detector.
#[derive(Debug)]
pub(super) struct Trendline {
    pub(super) usage: Usage,
    pub(super) threshold: f64,
    /// The slope, by the number of groups and the gain: what is compared with the threshold.
    pub(super) modified_trend: f64,
    deltas: u32,
    first: Option<Time>,
    accumulated_ms: f64,
    smoothed_ms: f64,
    /// Arrival and smoothed delay, milliseconds.
    points: VecDeque<(f64, f64)>,
    trend: f64,
    over_ms: Option<f64>,
    overuses: u32,
    updated: Option<Time>,
}

impl Trendline {
    pub(super) fn new() -> Self {
        Self {
            usage: Usage::Normal,
            threshold: START,
            modified_trend: 0.0,
            deltas: 0,
            first: None,
            accumulated_ms: 0.0,
            smoothed_ms: 0.0,
            points: VecDeque::with_capacity(WINDOW + 1),
            trend: 0.0,
            over_ms: None,
            overuses: 0,
            updated: None,
        }
    }

    /// Takes a group in.
    pub(super) fn update(&mut self, delta: &Delta) {
        let first = *self.first.get_or_insert(delta.arrival);
        self.deltas = (self.deltas + 1).min(MOST_DELTAS);
        self.accumulated_ms += delta.delay_ms();
        self.smoothed_ms = SMOOTHING * self.smoothed_ms + (1.0 - SMOOTHING) * self.accumulated_ms;
        self.points.push_back((signed_ms(first, delta.arrival), self.smoothed_ms));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        let fitted = if self.points.len() == WINDOW { slope(&self.points) } else { None };
        self.detect(fitted.unwrap_or(self.trend), delta.sent_ms);
        self.adapt(delta.arrival);
    }

    fn detect(&mut self, trend: f64, gap_ms: f64) {
        if self.deltas < 2 {
            self.usage = Usage::Normal;
            return;
        }
        self.modified_trend = f64::from(self.deltas) * trend * GAIN;
        if self.modified_trend > self.threshold {
            // Half of the time since the group before is taken for over-use at the first.
            let over = self.over_ms.map_or(gap_ms / 2.0, |ms| ms + gap_ms);
            self.over_ms = Some(over);
            self.overuses += 1;
            if over > OVERUSE_MS && self.overuses > 1 && trend >= self.trend {
                (self.over_ms, self.overuses) = (Some(0.0), 0);
                self.usage = Usage::Overusing;
            }
        } else {
            (self.over_ms, self.overuses) = (None, 0);
            let under = self.modified_trend < -self.threshold;
            self.usage = if under { Usage::Underusing } else { Usage::Normal };
        }
        self.trend = trend;
    }

    fn adapt(&mut self, arrival: Time) {
        if self.deltas < 2 {
            return;
        }
        let since = self.updated.replace(arrival).map_or(0.0, |before| signed_ms(before, arrival));
        let size = self.modified_trend.abs();
        if size > self.threshold + SPIKE {
            return;
        }
        let k = if size < self.threshold { K_DOWN } else { K_UP };
        self.threshold += k * (size - self.threshold) * since.min(LONGEST_STEP_MS);
        self.threshold = self.threshold.clamp(RANGE.0, RANGE.1);
    }
}

/// The slope of the line of least squares; none where all points are of one time.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let mean = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (xy, xx) = points.iter().fold((0.0, 0.0), |(xy, xx), point| {
        let x = point.0 - mean.0;
        (xy + x * (point.1 - mean.1), xx + x * x)
    });
    (xx > 0.0).then(|| xy / xx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_units::Span;

    fn feed(trendline: &mut Trendline, count: u64, d: f64) -> Vec<Usage> {
        let begin = trendline.updated.unwrap_or(Time::ZERO);
        (1..=count)
            .map(|i| {
                let arrival = begin + Span::from_secs_f64(i as f64 * (10.0 + d) / 1e3);
                trendline.update(&Delta { sent_ms: 10.0, arrived_ms: 10.0 + d, bytes: 0.0, arrival });
                trendline.usage
            })
            .collect()
    }

    use alloc::vec::Vec;

    #[test]
    fn the_slope_is_that_of_least_squares() {
        let points = [(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 5.0)].into_iter().collect();
        // Means 1.5 and 2.75; Σxy = 5.5, Σxx = 5.
        assert!((slope(&points).expect("a slope") - 1.1).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0)].into_iter().collect()), None);
    }

    #[test]
    fn a_growing_queue_is_overuse_and_an_emptying_one_underuse() {
        let mut trendline = Trendline::new();
        assert!(feed(&mut trendline, 60, 0.0).iter().all(|&usage| usage == Usage::Normal));
        let found = feed(&mut trendline, 30, 1.0);
        let first = found.iter().position(|&usage| usage == Usage::Overusing).expect("overuse");
        assert!((2..20).contains(&first), "{first}");
        // The slope tends to 1/11: (rate - capacity)/rate.
        feed(&mut trendline, 100, 1.0);
        assert!((trendline.trend - 1.0 / 11.0).abs() < 1e-3, "{}", trendline.trend);
        assert!((trendline.modified_trend - 60.0 * 4.0 / 11.0).abs() < 0.3);
        let found = feed(&mut trendline, 60, -2.0);
        assert!(found.contains(&Usage::Underusing));
    }

    #[test]
    fn the_threshold_falls_faster_than_it_rises() {
        let mut trendline = Trendline::new();
        feed(&mut trendline, 60, 0.0);
        assert_eq!(trendline.threshold, 6.0);
        trendline.modified_trend = 16.0;
        trendline.updated = Some(Time::ZERO);
        trendline.adapt(Time::ZERO + Span::from_millis(10));
        assert!((trendline.threshold - (6.0 + 0.0087 * 10.0 * 10.0)).abs() < 1e-9);
        trendline.modified_trend = 0.0;
        let before = trendline.threshold;
        trendline.adapt(Time::ZERO + Span::from_millis(11));
        assert!((trendline.threshold - before * (1.0 - 0.039)).abs() < 1e-9);
    }
}
