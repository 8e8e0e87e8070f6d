//! CUBIC as RFC 9438 has it. Windows are in segments and times in seconds here, as in the RFC.

use super::super::hystart::SlowStart;
use super::super::{Ack, CongestionControl, CwndEvent, Sample, Window};
use crate::config::Config;
use voxpath_units::{Span, Time};

/// RFC 9438 section 5: C, in segments/s³.
const C: f64 = 0.4;
/// RFC 9438 section 4.6: the multiplicative decrease factor.
const BETA: f64 = 0.7;
/// RFC 9438 section 4.3: α of the Reno-friendly region until W_est reaches the window before the loss.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// RFC 9438.
#[derive(Debug)]
pub(in crate::cc) struct Rfc9438 {
    slow_start: SlowStart,
    /// W_max, segments; none before the first congestion event.
    w_max: Option<f64>,
    /// The congestion window just before the last reduction, segments (`cwnd_prior`).
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// Bytes that the window still has to grow.
    credit: f64,
    /// It grows by whole segments.
    whole_segments: bool,
}

/// A congestion avoidance stage (section 4.2).
#[derive(Debug)]
struct Epoch {
    start: Time,
    /// Time at which the window is back at W_max, seconds after the start.
    k: f64,
    /// The plateau.
    origin: f64,
    /// W_est (section 4.3).
    w_est: f64,
}

impl Rfc9438 {
    /// The algorithm before its first congestion event.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            slow_start: SlowStart::new(config, true),
            w_max: None,
            cwnd_prior: 0.0,
            epoch: None,
            credit: 0.0,
            whole_segments: config.whole_segments,
        }
    }

    /// W_max, segments; none before the first congestion event.
    pub(super) const fn w_max(&self) -> Option<f64> {
        self.w_max
    }
}

impl CongestionControl for Rfc9438 {
    fn ssthresh(&mut self, _now: Time, window: &Window, flight: u64) -> u64 {
        let smss = window.smss as f64;
        let cwnd = window.cwnd as f64 / smss;
        self.epoch = None;
        self.credit = 0.0;
        self.cwnd_prior = cwnd;
        // Fast convergence (section 4.7): below the last plateau, give way.
        self.w_max = Some(match self.w_max {
            Some(w_max) if cwnd < w_max => cwnd * (1.0 + BETA) / 2.0,
            _ => cwnd,
        });
        // Section 4.6, figure 5: from FlightSize, two segments at least.
        ((flight as f64 * BETA) as u64).max(2 * window.smss)
    }

    fn cong_avoid(&mut self, ack: &Ack, window: &mut Window) {
        let Some(acked) = self.slow_start.grow(window, ack.acked) else { return };
        let smss = window.smss as f64;
        let cwnd = window.cwnd as f64 / smss;
        let segments_acked = acked as f64 / smss;
        let (w_max, cwnd_prior) = (self.w_max.unwrap_or(cwnd), self.cwnd_prior);
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(ack.now, cwnd, w_max));

        let target = epoch.target(ack.now, ack.srtt.unwrap_or(Span::ZERO).as_secs_f64(), cwnd);
        let w_est = epoch.reno_friendly(segments_acked, cwnd, cwnd_prior);
        let per_ack = if epoch.cubic(ack.now.since(epoch.start).as_secs_f64()) < w_est {
            // Section 4.3: never below what Reno would have.
            (w_est - cwnd).max(0.0)
        } else {
            // Sections 4.4 and 4.5: (target - cwnd) / cwnd for each segment acknowledged.
            (target - cwnd) / cwnd * segments_acked
        };
        self.credit += per_ack * smss;
        let step = if self.whole_segments { smss } else { 1.0 };
        let whole = libm::floor(self.credit / step) * step;
        self.credit -= whole;
        window.cwnd += whole as u64;
    }

    fn pkts_acked(&mut self, sample: &Sample, window: &mut Window) {
        self.slow_start.pkts_acked(sample, window);
    }

    fn cwnd_event(&mut self, _now: Time, event: CwndEvent, _window: &mut Window) {
        match event {
            // Section 4.8: after a timeout, the stage after the slow start begins with K = 0 at the window then.
            CwndEvent::Loss { .. } => {
                self.epoch = None;
                self.slow_start.on_loss();
            }
            // Section 5.8 (application-limited): time spent idle does not count as growth.
            CwndEvent::TxStart { idle, .. } => {
                if let Some(epoch) = &mut self.epoch {
                    epoch.start += idle;
                }
            }
        }
    }
}

impl Epoch {
    fn new(start: Time, cwnd: f64, w_max: f64) -> Self {
        if cwnd < w_max {
            // Equation (2).
            Self { start, k: libm::cbrt((w_max - cwnd) / C), origin: w_max, w_est: cwnd }
        } else {
            Self { start, k: 0.0, origin: cwnd, w_est: cwnd }
        }
    }

    /// Equation (1).
    fn cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        C * d * d * d + self.origin
    }

    /// W_cubic one round trip ahead, within `cwnd..=1.5 cwnd` (section 4.2).
    fn target(&self, now: Time, rtt: f64, cwnd: f64) -> f64 {
        self.cubic(now.since(self.start).as_secs_f64() + rtt).clamp(cwnd, 1.5 * cwnd)
    }

    /// Equation (4): what Reno would have reached.
    fn reno_friendly(&mut self, segments_acked: f64, cwnd: f64, cwnd_prior: f64) -> f64 {
        let alpha = if self.w_est >= cwnd_prior { 1.0 } else { ALPHA };
        self.w_est += alpha * segments_acked / cwnd;
        self.w_est
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    const SMSS: u64 = 1000;

    /// Runs loss-free round trips of 100 ms from just after a loss at `w_max` segments.
    fn after_loss(w_max: u64, seconds: u64) -> (Window, f64) {
        let mut cubic = Rfc9438::new(&Profile::Rfc.config());
        let mut window = Window { cwnd: w_max * SMSS, ssthresh: u64::MAX, smss: SMSS };
        window.ssthresh = cubic.ssthresh(Time::ZERO, &window, window.cwnd);
        window.cwnd = window.ssthresh;
        let rtt = Span::from_millis(100);
        for round in 0..seconds * 10 {
            let segments = window.cwnd / SMSS;
            for i in 0..segments {
                let now = Time::ZERO + rtt * round + rtt * i / segments;
                cubic.cong_avoid(&Ack { now, acked: SMSS, srtt: Some(rtt) }, &mut window);
            }
        }
        let t = seconds as f64 - libm::cbrt(w_max as f64 * 0.3 / C);
        (window, C * t * t * t + w_max as f64)
    }

    #[test]
    fn the_window_follows_the_curve_of_equation_1() {
        for seconds in [2, 5, 8, 10] {
            let (window, curve) = after_loss(1000, seconds);
            let cwnd = window.cwnd as f64 / SMSS as f64;
            assert!((cwnd / curve - 1.0).abs() < 0.02, "{seconds} s: {cwnd} against {curve}");
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_a_second_below_the_plateau_gives_way() {
        let mut cubic = Rfc9438::new(&Profile::Rfc.config());
        let mut window = Window { cwnd: 100 * SMSS, ssthresh: u64::MAX, smss: SMSS };
        assert_eq!(cubic.ssthresh(Time::ZERO, &window, window.cwnd), 70 * SMSS);
        assert_eq!(cubic.w_max, Some(100.0));
        window.cwnd = 80 * SMSS;
        assert_eq!(cubic.ssthresh(Time::ZERO, &window, window.cwnd), 56 * SMSS);
        assert_eq!(cubic.w_max, Some(68.0));
    }

    #[test]
    fn a_small_window_grows_as_reno_does() {
        // Section 4.3: α ≈ 0.53 segments a round trip up to the window before the loss, one from there on.
        let (window, _) = after_loss(10, 2);
        let cwnd = window.cwnd as f64 / SMSS as f64;
        let expected = 10.0 + (20.0 - 3.0 / ALPHA);
        assert!((cwnd - expected).abs() < 1.5, "{cwnd} against {expected}");
    }
}
