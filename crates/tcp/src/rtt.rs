//! Round-trip time and the retransmission timeout (RFC 6298), and Linux' own estimator (tcp_rtt_estimator()).

use crate::config::{Config, Estimator};
use alloc::sync::Arc;
use voxpath_units::{Span, Time};

/// RFC 6298 section 5.7: the RTO for data after a SYN timed out.
const RTO_AFTER_SYN_TIMEOUT: Span = Span::from_secs(3);

/// The estimator of RFC 6298 section 2, with the back-off of section 5 under Karn's rule (section 3).
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    config: Arc<Config>,
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
    /// What RTO has above SRTT.
    margin: Span,
    round: Round,
}

/// What Linux remembers beside.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// The largest margin of this round trip (`mdev_max_us`).
    largest: Span,
    /// The first octet sent after it began (`rtt_seq`).
    end: u64,
}

/// Where a timer's wheel has coarser steps: 63 ticks ahead, and eight times as far for each further level (LVL_START).
const WHEEL: u64 = 63;
/// How many times coarser, as a power of two (LVL_CLK_SHIFT).
const COARSER: u32 = 3;

impl RttEstimator {
    pub(crate) fn new(config: Arc<Config>) -> Self {
        let base = config.rto.initial;
        Self { config, smoothed: None, base, backoff: 0 }
    }

    /// Takes a round-trip time in, of an acknowledgment that made SND.UNA and SND.NXT what they are. Samples of segments that were sent
    /// twice must not come here (Karn).
    pub(crate) fn sample(&mut self, rtt: Span, una: u64, nxt: u64) {
        let floor = self.config.rto.variance_floor;
        let next = match (self.smoothed, self.config.rto.estimator) {
            // (2.2)
            (None, _) => {
                let margin = (rtt * 2).max(floor);
                Smoothed { srtt: rtt, rttvar: rtt / 2, margin, round: Round { largest: margin, end: nxt } }
            }
            // (2.3), RTTVAR first; alpha = 1/8, beta = 1/4.
            (Some(Smoothed { srtt, rttvar, round, .. }), Estimator::Rfc6298) => {
                let rttvar = (rttvar * 3 + srtt.abs_diff(rtt)) / 4;
                Smoothed { rttvar, srtt: (srtt * 7 + rtt) / 8, margin: (rttvar * 4).max(floor), round }
            }
            (Some(before), Estimator::Linux) => before.follow(rtt, una, nxt, floor),
        };
        self.smoothed = Some(next);
        self.base = (next.srtt + next.margin).max(self.config.rto.min);
        self.backoff = 0;
    }

    /// Whether SACK blocks and the first segment acknowledged are measured, as in Linux.
    pub(crate) fn follows_linux(&self) -> bool {
        self.config.rto.estimator == Estimator::Linux
    }

    /// When a timer expires that is set to expire after `delay`.
    pub(crate) fn expiry(&self, now: Time, delay: Span) -> Time {
        let tick = self.config.rto.tick;
        if !self.config.rto.wheel || tick == Span::ZERO {
            return (now + delay).round_up(tick);
        }
        let tick = tick.as_nanos();
        let ahead = delay.as_nanos().div_ceil(tick);
        let mut shift = 0;
        while ahead >= WHEEL << shift {
            shift += COARSER;
        }
        // The next step of that level: never early, up to a whole one late.
        let step = ((now.as_nanos() / tick + ahead) >> shift) + 1;
        Time::from_nanos((step << shift).saturating_mul(tick))
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
        self.base.saturating_mul(1 << self.backoff.min(32)).min(self.config.rto.max)
    }

    pub(crate) fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|smoothed| smoothed.srtt)
    }

    pub(crate) fn rttvar(&self) -> Option<Span> {
        self.smoothed.map(|smoothed| smoothed.rttvar)
    }
}

impl Smoothed {
    /// tcp_rtt_estimator(): a deviation below the mean counts an eighth where it would raise the variation, and the margin is the largest of
    /// a round trip, from which it falls by a quarter of the difference each round trip.
    fn follow(self, rtt: Span, una: u64, nxt: u64, floor: Span) -> Self {
        let Self { srtt, rttvar, mut margin, mut round } = self;
        let error = srtt.abs_diff(rtt);
        let shorter_but_wilder = rtt < srtt && error > rttvar;
        let weight = if shorter_but_wilder { 32 } else { 4 };
        let rttvar = (rttvar * (weight - 1) + error) / weight;
        round.largest = round.largest.max(rttvar * 4);
        margin = margin.max(round.largest);
        if una > round.end {
            margin = margin - (margin - round.largest) / 4;
            round = Round { largest: floor, end: nxt };
        }
        Self { srtt: (srtt * 7 + rtt) / 8, rttvar, margin, round }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Profile, RtoConfig};

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    fn estimator(change: impl FnOnce(&mut RtoConfig)) -> RttEstimator {
        let mut config = Profile::Rfc.config();
        config.rto.min = Span::ZERO;
        change(&mut config.rto);
        RttEstimator::new(config.into())
    }

    /// Samples of one flight.
    fn take(estimator: &mut RttEstimator, rtt: Span) {
        estimator.sample(rtt, 0, 1);
    }

    #[test]
    fn linux_forgets_a_long_round_trip_by_a_quarter_of_the_difference_a_round() {
        let mut linux = RttEstimator::new(Profile::Linux.config().into());
        // The first: three round trips, or 200 ms above.
        linux.sample(ms(40), 10, 20);
        assert_eq!(linux.rto(), ms(240));
        // 120 ms once: the deviation is (3 * 20 + 80) / 4 = 35, SRTT 50; four times that is below 200 ms.
        linux.sample(ms(120), 20, 30);
        assert_eq!((linux.rttvar(), linux.rto()), (Some(ms(35)), ms(250)));
        linux.sample(ms(530), 30, 40);
        // (3 * 35 + 480) / 4 = 146.25, of which four count at once; the round ends, and later ones have no more than the floor.
        assert_eq!(linux.srtt(), Some(ms(110)));
        assert_eq!(linux.rto(), ms(110 + 585));
        // Shorter than the mean, and further away than the deviation is not: it weighs a quarter.
        linux.sample(ms(110), 50, 60);
        let rttvar = Span::from_nanos(146_250_000 * 3 / 4);
        assert_eq!(linux.rttvar(), Some(rttvar));
        assert_eq!(linux.rto(), ms(110) + (ms(585) - (ms(585) - rttvar * 4) / 4));
    }

    #[test]
    fn linux_takes_a_shorter_round_trip_for_little() {
        let mut linux = RttEstimator::new(Profile::Linux.config().into());
        (1..100).for_each(|i| linux.sample(ms(400), i, i));
        let before = linux.rttvar().expect("there are samples");
        linux.sample(ms(80), 100, 100);
        let grown = linux.rttvar().expect("there are samples") - before;
        assert!(ms(9) < grown && grown <= ms(10), "an eighth of a quarter of 320 ms, and not 80: {grown}");
    }

    #[test]
    fn timers_of_a_wheel_are_late_by_up_to_an_eighth() {
        let linux = RttEstimator::new(Profile::Linux.config().into());
        let at = |now, delay| linux.expiry(Time::ZERO + ms(now), ms(delay)) - Time::ZERO;
        // 4 ms up to 248 ms ahead, 32 ms up to two seconds.
        assert_eq!((at(0, 40), at(3, 40), at(4, 40)), (ms(44), ms(44), ms(48)));
        assert_eq!((at(0, 248), at(0, 252), at(31, 252)), (ms(252), ms(256), ms(288)));
        assert_eq!((at(0, 1000), at(100, 1000)), (ms(1024), ms(1120)));
        let rfc = RttEstimator::new(Profile::Rfc.config().into());
        assert_eq!(rfc.expiry(Time::ZERO, ms(1000)) - Time::ZERO, ms(1000));
    }

    #[test]
    fn rule_2_1_initial_timeout() {
        assert_eq!(estimator(|_| ()).rto(), ms(1000));
    }

    #[test]
    fn rules_2_2_and_2_3_by_hand() {
        let mut rtt = estimator(|_| ());
        take(&mut rtt, ms(100));
        assert_eq!((rtt.srtt(), rtt.rttvar(), rtt.rto()), (Some(ms(100)), Some(ms(50)), ms(300)));
        take(&mut rtt, ms(180));
        // RTTVAR = 3/4·50 + 1/4·|100 - 180| = 57.5; SRTT = 7/8·100 + 1/8·180 = 110
        assert_eq!((rtt.srtt(), rtt.rttvar()), (Some(ms(110)), Some(Span::from_micros(57_500))));
        assert_eq!(rtt.rto(), ms(340));
    }

    #[test]
    fn rule_2_4_minimum_and_the_floor_of_the_variance() {
        let mut rtt = estimator(|config| config.min = ms(1000));
        (0..50).for_each(|_| take(&mut rtt, ms(40)));
        assert_eq!(rtt.rto(), ms(1000));
        let mut linux = estimator(|config| config.variance_floor = ms(200));
        (0..50).for_each(|_| take(&mut linux, ms(40)));
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
        take(&mut rtt, ms(100));
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
