//! Whether the application makes less than the network could carry (`AlrDetector`).

use voxpath_units::Time;

/// Of the estimate, what the budget grows by.
const USAGE: f64 = 0.65;
/// Levels of the budget at which the region starts and stops.
const START: f64 = 0.8;
const STOP: f64 = 0.5;
/// The budget holds what is sent in this time.
const WINDOW_S: f64 = 0.5;

/// The detector: a budget that what is sent uses up.
#[derive(Debug)]
pub(super) struct Alr {
    /// Since when the application limits the rate.
    pub(super) started: Option<Time>,
    bytes_per_s: f64,
    budget: f64,
    last: Option<Time>,
}

impl Alr {
    pub(super) fn new(estimate_bps: f64) -> Self {
        let mut alr = Self { started: None, bytes_per_s: 0.0, budget: 0.0, last: None };
        alr.set_estimate(estimate_bps);
        alr
    }

    pub(super) fn set_estimate(&mut self, bps: f64) {
        self.bytes_per_s = bps * USAGE / 8.0;
        self.budget = self.budget.clamp(-self.most(), self.most());
    }

    fn most(&self) -> f64 {
        self.bytes_per_s * WINDOW_S
    }

    pub(super) fn on_sent(&mut self, now: Time, bytes: u32) {
        let Some(last) = self.last.replace(now) else { return };
        self.budget = (self.budget - f64::from(bytes)).max(-self.most());
        let grown = self.budget + self.bytes_per_s * now.since(last).as_secs_f64();
        self.budget = grown.min(self.most());
        let level = if self.most() > 0.0 { self.budget / self.most() } else { 0.0 };
        if level > START {
            self.started = self.started.or(Some(now));
        } else if level < STOP {
            self.started = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_units::Span;

    #[test]
    fn less_than_two_thirds_of_the_estimate_is_application_limited() {
        let limited = |bps: u64| {
            let mut alr = Alr::new(1e6);
            for i in 0..5000 {
                alr.on_sent(Time::ZERO + Span::from_millis(10 * i), (bps / 800) as u32);
            }
            alr.started.is_some()
        };
        assert!(limited(500_000) && limited(640_000));
        assert!(!limited(660_000) && !limited(1_000_000));
    }
}
