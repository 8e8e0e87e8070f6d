//! Round-trip time and the retransmission timeout (RFC 6298).

use crate::config::RtoConfig;
use voxpath_units::Span;

/// RFC 6298 section 5.7: the RTO for data after a SYN timed out.
const RTO_AFTER_SYN_TIMEOUT: Span = Span::from_secs(3);

/// The estimator of RFC 6298 section 2, with the back-off of section 5 under Karn's rule (section 3).
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    config: RtoConfig,
    smoothed: Option<Smoothed>,
    /// RTO without back-off.
    base: Span,
    /// Times the timer expired since the last valid sample.
    backoff: u32,
}

#[derive(Debug, Clone, Copy)]
struct Smoothed {
    srtt: Span,
    rttvar: Span,
}

impl RttEstimator {
    pub(crate) fn new(config: RtoConfig) -> Self {
        let base = config.initial;
        Self { config, smoothed: None, base, backoff: 0 }
    }

    /// Takes a round-trip time in. Samples of segments that were sent twice must not come here (Karn).
    pub(crate) fn sample(&mut self, rtt: Span) {
        let next = match self.smoothed {
            // (2.2)
            None => Smoothed { srtt: rtt, rttvar: rtt / 2 },
            // (2.3), RTTVAR first; alpha = 1/8, beta = 1/4.
            Some(Smoothed { srtt, rttvar }) => {
                Smoothed { rttvar: (rttvar * 3 + srtt.abs_diff(rtt)) / 4, srtt: (srtt * 7 + rtt) / 8 }
            }
        };
        self.smoothed = Some(next);
        self.base = (next.srtt + (next.rttvar * 4).max(self.config.variance_floor)).max(self.config.min);
        self.backoff = 0;
    }

    /// (5.5): the timer expired.
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// (5.7): data transmission begins after a SYN had timed out.
    pub(crate) fn after_syn_timeout(&mut self) {
        if self.smoothed.is_none() {
            self.base = self.base.max(RTO_AFTER_SYN_TIMEOUT);
        }
        self.backoff = 0;
    }

    /// The current timeout: backed off until the next valid sample, and at most the configured maximum.
    pub(crate) fn rto(&self) -> Span {
        self.base.saturating_mul(1 << self.backoff.min(32)).min(self.config.max)
    }

    pub(crate) fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|smoothed| smoothed.srtt)
    }

    pub(crate) fn rttvar(&self) -> Option<Span> {
        self.smoothed.map(|smoothed| smoothed.rttvar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    fn estimator(change: impl FnOnce(&mut RtoConfig)) -> RttEstimator {
        let mut config = Profile::Rfc.config().rto;
        config.min = Span::ZERO;
        change(&mut config);
        RttEstimator::new(config)
    }

    #[test]
    fn rule_2_1_initial_timeout() {
        assert_eq!(estimator(|_| ()).rto(), ms(1000));
    }

    #[test]
    fn rules_2_2_and_2_3_by_hand() {
        let mut rtt = estimator(|_| ());
        rtt.sample(ms(100));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(100)), Some(ms(50)), ms(300)));
        rtt.sample(ms(180));
        // RTTVAR = 3/4·50 + 1/4·|100 - 180| = 57.5; SRTT = 7/8·100 + 1/8·180 = 110
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(ms(110)), Some(Span::from_micros(57_500))));
        assert_eq!(rtt.rto(), ms(340));
    }

    #[test]
    fn rule_2_4_minimum_and_the_floor_of_the_variance() {
        let mut rtt = estimator(|config| config.min = ms(1000));
        (0..50).for_each(|_| rtt.sample(ms(40)));
        assert_eq!(rtt.rto(), ms(1000));
        let mut linux = estimator(|config| config.variance_floor = ms(200));
        (0..50).for_each(|_| linux.sample(ms(40)));
        assert_eq!(linux.rto(), ms(240), "Linux: SRTT + 200 ms");
    }

    #[test]
    fn rules_5_5_and_2_5_back_off_up_to_the_maximum_until_a_valid_sample() {
        let mut rtt = estimator(|config| config.max = ms(4000));
        let seen: [Span; 4] = core::array::from_fn(|_| {
            rtt.back_off();
            rtt.rto()
        });
        assert_eq!(seen, [ms(2000), ms(4000), ms(4000), ms(4000)]);
        rtt.sample(ms(100));
        assert_eq!(rtt.rto(), ms(300));
    }

    #[test]
    fn rule_5_7_three_seconds_after_a_lost_syn() {
        let mut rtt = estimator(|_| ());
        rtt.back_off();
        rtt.after_syn_timeout();
        assert_eq!(rtt.rto(), ms(3000));
    }
}
