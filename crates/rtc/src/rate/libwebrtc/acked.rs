//! The rate that arrives (`AcknowledgedBitrateEstimator`): windows of 150 ms, averaged by how far each is from the estimate.

use crate::rate::groups::signed_ms;
use voxpath_units::Time;

/// The first window is longer.
const FIRST_MS: f64 = 500.0;
const WINDOW_MS: f64 = 150.0;
const UNCERTAINTY: f64 = 10.0;

/// The estimator; rates in kbit/s.
#[derive(Debug)]
pub(super) struct Acknowledged {
    kbps: Option<f64>,
    var: f64,
    bytes: f64,
    window_ms: f64,
    previous: Option<Time>,
    /// When the application-limited region ended: what was sent after it may have quite another rate.
    alr_ended: Option<Time>,
}

impl Acknowledged {
    pub(super) fn new() -> Self {
        Self { kbps: None, var: 50.0, bytes: 0.0, window_ms: 0.0, previous: None, alr_ended: None }
    }

    /// Bits per second; none before there is a whole window.
    pub(super) fn bps(&self) -> Option<f64> {
        self.kbps.map(|kbps| kbps * 1e3)
    }

    pub(super) fn on_alr_ended(&mut self, now: Time) {
        self.alr_ended = Some(now);
    }

    /// A packet has arrived, in the order of arrival.
    pub(super) fn on_packet(&mut self, sent: Time, arrival: Time, bytes: u32) {
        if self.alr_ended.is_some_and(|ended| sent > ended) {
            self.var += 200.0;
            self.alr_ended = None;
        }
        let Some(sample) = self.sample(arrival, bytes) else { return };
        let Some(kbps) = self.kbps else {
            self.kbps = Some(sample);
            return;
        };
        let uncertainty = UNCERTAINTY * (kbps - sample).abs() / kbps.max(1e-3);
        let (sample_var, var) = (uncertainty * uncertainty, self.var + 5.0);
        self.kbps = Some((sample_var * kbps + var * sample) / (sample_var + var));
        self.var = sample_var * var / (sample_var + var);
    }

    /// The rate of a window, once the packet after it has come.
    fn sample(&mut self, arrival: Time, bytes: u32) -> Option<f64> {
        let whole = if self.kbps.is_none() { FIRST_MS } else { WINDOW_MS };
        let since = self.previous.map_or(0.0, |previous| signed_ms(previous, arrival));
        if since < 0.0 {
            (self.bytes, self.window_ms) = (0.0, 0.0);
        } else {
            self.window_ms += since;
            if since > whole {
                self.bytes = 0.0;
                self.window_ms %= whole;
            }
        }
        self.previous = Some(arrival);
        let sample = (self.window_ms >= whole).then(|| {
            self.window_ms -= whole;
            8.0 * core::mem::take(&mut self.bytes) / whole
        });
        self.bytes += f64::from(bytes);
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_units::Span;

    #[test]
    fn the_estimate_is_that_of_the_rate_and_follows_it() {
        let mut acked = Acknowledged::new();
        let mut now = Time::ZERO;
        let mut run = |acked: &mut Acknowledged, packets: u64, gap_ms: u64| {
            for _ in 0..packets {
                now += Span::from_millis(gap_ms);
                acked.on_packet(now, now, 1250);
            }
        };
        run(&mut acked, 50, 10);
        assert_eq!(acked.bps(), None);
        run(&mut acked, 1, 10);
        assert_eq!(acked.bps(), Some(1e6));
        // 15 packets in 150 ms: uncertainty 0, and the estimate stays.
        run(&mut acked, 30, 10);
        assert!((acked.bps().expect("known") - 1e6).abs() < 1.0);
        // Half the rate: one sample of 533 kbit/s (8 packets) has a variance of (10·0.467)² = 21.8; the estimate's is 0 + 5.
        run(&mut acked, 7, 20);
        let before = acked.bps().expect("known");
        run(&mut acked, 30, 20);
        let after = acked.bps().expect("known");
        assert!(before > 0.9e6 && (0.5e6..0.8e6).contains(&after), "{before} {after}");
    }
}
