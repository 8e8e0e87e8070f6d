//! The over-use detector (section 5.4): m(i) against a threshold that adapts.

use super::Gcc;
use crate::rate::groups::{Delta, signed_ms};
use voxpath_units::Time;

/// The threshold at the start, del_var_th(0), in milliseconds.
const START_MS: f64 = 12.5;
/// It stays between these.
const RANGE_MS: (f64, f64) = (6.0, 600.0);
/// How long m has to be above it, overuse_time_th.
const OVERUSE_MS: f64 = 10.0;
/// It does not adapt to an m further above than this.
const SPIKE_MS: f64 = 15.0;
/// It adapts over no longer a time than this at once, as the implementations have it: after a pause it would leap.
const LONGEST_STEP_MS: f64 = 100.0;
/// Groups that m is summed over at most before it is compared (`kMinNumDeltas`); see [`Gcc::literal_threshold`].
const MOST_DELTAS: f64 = 60.0;

/// What the network is put to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Normal,
    Overuse,
    Underuse,
}

impl Signal {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Overuse => "overuse",
            Self::Underuse => "underuse",
        }
    }
}

/// The detector.
#[derive(Debug)]
pub(super) struct Detector {
    pub(super) threshold_ms: f64,
    /// What was compared with it.
    pub(super) compared_ms: f64,
    k_up: f64,
    k_down: f64,
    literal: bool,
    deltas: f64,
    previous: f64,
    above_for_ms: Option<f64>,
    updated: Option<Time>,
}

impl Detector {
    pub(super) fn new(settings: &Gcc) -> Self {
        Self {
            threshold_ms: START_MS,
            compared_ms: 0.0,
            k_up: settings.k_up,
            k_down: settings.k_down,
            literal: settings.literal_threshold,
            deltas: 0.0,
            previous: 0.0,
            above_for_ms: None,
            updated: None,
        }
    }

    /// A group has led to this m(i).
    pub(super) fn update(&mut self, m: f64, delta: &Delta) -> Signal {
        self.deltas = (self.deltas + 1.0).min(MOST_DELTAS);
        self.compared_ms = if self.literal { m } else { m * self.deltas };
        let signal = self.judge(m, delta.sent_ms);
        self.previous = m;
        self.adapt(delta.arrival);
        signal
    }

    fn judge(&mut self, m: f64, gap_ms: f64) -> Signal {
        if self.compared_ms <= self.threshold_ms {
            self.above_for_ms = None;
            let under = self.compared_ms < -self.threshold_ms;
            return if under { Signal::Underuse } else { Signal::Normal };
        }
        // From the first group that is above on.
        let above_for = self.above_for_ms.map_or(0.0, |ms| ms + gap_ms);
        self.above_for_ms = Some(above_for);
        if above_for >= OVERUSE_MS && m >= self.previous { Signal::Overuse } else { Signal::Normal }
    }

    fn adapt(&mut self, arrival: Time) {
        let since = self.updated.replace(arrival).map_or(0.0, |before| signed_ms(before, arrival));
        let size = self.compared_ms.abs();
        if size - self.threshold_ms > SPIKE_MS {
            return;
        }
        let k = if size < self.threshold_ms { self.k_down } else { self.k_up };
        let step = since.clamp(0.0, LONGEST_STEP_MS) * k * (size - self.threshold_ms);
        self.threshold_ms = (self.threshold_ms + step).clamp(RANGE_MS.0, RANGE_MS.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::gcc::filter::{Filter, Scalar};
    use voxpath_units::Span;

    fn group(i: u64, gap_ms: f64, d: f64) -> Delta {
        let arrival = Time::ZERO + Span::from_secs_f64((gap_ms + d) * i as f64 / 1e3);
        Delta { sent_ms: gap_ms, arrived_ms: gap_ms + d, bytes: 0.0, arrival }
    }

    fn literal() -> Gcc {
        Gcc { literal_threshold: true, ..Gcc::default() }
    }

    #[test]
    fn overuse_needs_ten_milliseconds_and_an_m_that_does_not_fall() {
        let mut detector = Detector::new(&literal());
        let signals: alloc::vec::Vec<_> = [13.0, 13.0, 13.1, 13.0, 12.0, -14.0, -5.0]
            .iter()
            .zip(1..)
            .map(|(&m, i)| detector.update(m, &group(i, 5.0, 0.0)))
            .collect();
        use Signal::{Normal, Overuse, Underuse};
        assert_eq!(signals, [Normal, Normal, Overuse, Normal, Normal, Underuse, Normal]);
    }

    #[test]
    fn the_threshold_adapts_by_hand() {
        let mut detector = Detector::new(&literal());
        detector.update(20.0, &group(1, 5.0, 0.0));
        assert_eq!(detector.threshold_ms, 12.5);
        detector.update(20.0, &group(2, 5.0, 0.0));
        assert!((detector.threshold_ms - (12.5 + 5.0 * 0.01 * 7.5)).abs() < 1e-12);
        let before = detector.threshold_ms;
        detector.update(2.0, &group(3, 5.0, 0.0));
        assert!((detector.threshold_ms - (before + 5.0 * 0.000_18 * (2.0 - before))).abs() < 1e-12);
        let before = detector.threshold_ms;
        detector.update(before + 15.1, &group(4, 5.0, 0.0));
        assert_eq!(detector.threshold_ms, before, "spikes are left out");
        for i in 5..10_000 {
            detector.update(0.0, &group(i, 5.0, 0.0));
        }
        assert_eq!(detector.threshold_ms, 6.0);
    }

    /// The least over-use that is detected within 10 s, in percent of the capacity.
    fn least_detected(gap_ms: f64, settings: &Gcc) -> Option<u64> {
        (0..=400).step_by(2).find(|&percent| {
            let mut filter = Filter::Scalar(Scalar::new(settings.chi, false));
            let mut detector = Detector::new(settings);
            (1..(10_000.0 / gap_ms) as u64).any(|i| {
                let delta = group(i, gap_ms, gap_ms * percent as f64 / 100.0);
                detector.update(filter.update(&delta), &delta) == Signal::Overuse
            })
        })
    }

    /// The trap: m is per group, so groups of 5 ms show little of an over-use. d is 5 ms times the over-use, and the draft's
    /// comparison with 12.5 ms needs 250 %; groups of a frame, 33 ms apart, need 38 %.
    #[test]
    fn read_to_the_letter_small_groups_hide_a_large_overuse() {
        let found = [5.0, 33.0].map(|gap| least_detected(gap, &literal()).expect("at some rate"));
        // The threshold sinks towards 6 ms while m rises, so what is found lies between 6/gap and 12.5/gap.
        assert!((120..=250).contains(&found[0]), "{found:?}");
        assert!((18..=38).contains(&found[1]), "{found:?}");
        // Summed over up to 60 groups, as implementations compare it, ten percent suffice for both.
        let found = [5.0, 33.0].map(|gap| least_detected(gap, &Gcc::default()).expect("at some rate"));
        assert!(found.iter().all(|&percent| (1..=10).contains(&percent)), "{found:?}");
    }
}
