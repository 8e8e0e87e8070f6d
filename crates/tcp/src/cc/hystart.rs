//! Leaving slow start before it drives the network into loss: HyStart as Linux' CUBIC has it, and HyStart++ (RFC 9406).
//!
//! Both measure by rounds: one begins with an acknowledgment and ends when what was outstanding then is acknowledged.

use super::{Sample, Window, slow_start};
use crate::config::{Config, SlowStartExit};
use voxpath_units::{Span, Time};

/// Samples a round needs before its delay counts (RFC 9406 section 4.3: N_RTT_SAMPLE; Linux: HYSTART_MIN_SAMPLES).
const MIN_SAMPLES: u32 = 8;
/// Bounds of the growth of the round-trip time that ends slow start (RFC 9406: MIN_RTT_THRESH, MAX_RTT_THRESH;
/// Linux: HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const DELAY_MIN: Span = Span::from_millis(4);
const DELAY_MAX: Span = Span::from_millis(16);
/// Part of the round-trip time that ends slow start (RFC 9406: MIN_RTT_DIVISOR; Linux: `delay_min >> 3`).
const DELAY_DIVISOR: u64 = 8;
/// Linux: `hystart_low_window`, segments from which on it looks.
const LOW_WINDOW: u64 = 16;
/// Linux: `hystart_ack_delta_us`, the distance up to which acknowledgments make a train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// Linux: hystart_ack_delay(), what bursts of the sender may stretch a train by; less above 2 Gbit/s there.
const TRAIN_SLACK: Span = Span::from_millis(1);
/// RFC 9406: CSS_GROWTH_DIVISOR.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// RFC 9406: CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;

/// Slow start, and when it ends without a loss.
#[derive(Debug)]
pub(super) struct SlowStart {
    limit: u32,
    exit: Exit,
    round: Round,
    paced: bool,
    /// Octets that conservative slow start still has to grow by, in quarters.
    quarters: u64,
}

#[derive(Debug)]
enum Exit {
    ByLoss,
    /// `found` of Linux' CUBIC; the smallest round-trip time of the connection.
    Classic {
        found: bool,
        delay_min: Option<Span>,
    },
    PlusPlus(PlusPlus),
}

/// States of RFC 9406 section 4.2.
#[derive(Debug)]
enum PlusPlus {
    Standard,
    /// Conservative slow start: the smallest round-trip time of the round that led here, rounds since.
    Conservative {
        baseline: Span,
        rounds: u32,
    },
    Done,
}

#[derive(Debug, Default)]
struct Round {
    /// The first octet sent after the round began.
    end: u64,
    start: Time,
    last_ack: Time,
    smallest: Option<Span>,
    /// That of the round before.
    previous: Option<Span>,
    samples: u32,
}

impl Round {
    /// Begins a new round if `sample` ends this one; whether it does.
    fn turn(&mut self, sample: &Sample) -> bool {
        let over = sample.una > self.end;
        if over {
            *self = Self {
                end: sample.nxt,
                start: sample.now,
                last_ack: sample.now,
                previous: self.smallest,
                ..Self::default()
            };
        }
        over
    }

    fn take(&mut self, rtt: Span) {
        self.samples += 1;
        self.smallest = Some(self.smallest.map_or(rtt, |smallest| smallest.min(rtt)));
    }
}

impl SlowStart {
    /// Slow start as configured. HyStart as in Linux belongs to its CUBIC alone (`classic`).
    pub(super) fn new(config: &Config, classic: bool) -> Self {
        let exit = match config.slow_start_exit {
            SlowStartExit::Hystart if classic => Exit::Classic { found: false, delay_min: None },
            SlowStartExit::HystartPlusPlus => Exit::PlusPlus(PlusPlus::Standard),
            SlowStartExit::Hystart | SlowStartExit::Loss => Exit::ByLoss,
        };
        Self {
            limit: config.slow_start_limit,
            exit,
            round: Round::default(),
            paced: config.pacing,
            quarters: 0,
        }
    }

    /// Below the threshold, grows the window by what was acknowledged; the octets that are for congestion avoidance, none where slow start
    /// has taken them all.
    pub(super) fn grow(&mut self, window: &mut Window, acked: u64) -> Option<u64> {
        if !window.in_slow_start() {
            return Some(acked);
        }
        let left = if matches!(self.exit, Exit::PlusPlus(PlusPlus::Conservative { .. })) {
            self.quarters += acked.min(u64::from(self.limit).saturating_mul(window.smss));
            let step = self.quarters / CSS_GROWTH_DIVISOR;
            self.quarters %= CSS_GROWTH_DIVISOR;
            slow_start(window, step, u32::MAX)
        } else {
            slow_start(window, acked, self.limit)
        };
        (left > 0).then_some(left)
    }

    /// Looks at an acknowledgment, and sets the threshold to the window where slow start has to end.
    pub(super) fn pkts_acked(&mut self, sample: &Sample, window: &mut Window) {
        let Some(rtt) = sample.rtt else { return };
        let in_slow_start = window.in_slow_start();
        let ends = match &mut self.exit {
            Exit::ByLoss => return,
            Exit::Classic { found, delay_min } => {
                let smallest = delay_min.map_or(rtt, |smallest| smallest.min(rtt));
                *delay_min = Some(smallest);
                if *found || !in_slow_start {
                    return;
                }
                // Also below the low window, so that rounds begin with flights and not amid them.
                self.round.turn(sample);
                if window.cwnd < LOW_WINDOW * window.smss {
                    return;
                }
                *found = self.round.is_train(sample.now, smallest, self.paced)
                    | self.round.is_delayed(rtt, smallest);
                *found
            }
            Exit::PlusPlus(PlusPlus::Done) => return,
            Exit::PlusPlus(state) if !in_slow_start => {
                *state = PlusPlus::Done;
                return;
            }
            Exit::PlusPlus(state) => state.step(&mut self.round, sample, rtt),
        };
        if ends {
            window.ssthresh = window.cwnd;
        }
    }

    /// A timeout: Linux' bictcp_reset() lets HyStart look afresh. RFC 9406 is for the first slow start only
    /// (section 4.3).
    pub(super) fn on_loss(&mut self) {
        match &mut self.exit {
            Exit::Classic { found, delay_min } => (*found, *delay_min) = (false, None),
            Exit::PlusPlus(state) => *state = PlusPlus::Done,
            Exit::ByLoss => {}
        }
    }
}

impl Round {
    /// Linux' first sign: acknowledgments have kept coming for longer than half the round-trip time. Pacing itself stretches the train,
    /// so that it takes a whole one then.
    fn is_train(&mut self, now: Time, delay_min: Span, paced: bool) -> bool {
        if now.since(self.last_ack) > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        let whole = delay_min + TRAIN_SLACK;
        now.since(self.start) > if paced { whole } else { whole / 2 }
    }

    /// Linux' second sign: the smallest round-trip time of the round has grown.
    fn is_delayed(&mut self, rtt: Span, delay_min: Span) -> bool {
        let enough = self.samples >= MIN_SAMPLES;
        self.take(rtt);
        let threshold = (delay_min / DELAY_DIVISOR).clamp(DELAY_MIN, DELAY_MAX);
        enough && self.smallest.is_some_and(|smallest| smallest > delay_min + threshold)
    }
}

impl PlusPlus {
    /// RFC 9406 section 4.2; whether slow start ends.
    fn step(&mut self, round: &mut Round, sample: &Sample, rtt: Span) -> bool {
        let turned = round.turn(sample);
        round.take(rtt);
        let smallest = round.smallest.filter(|_| round.samples >= MIN_SAMPLES);
        match self {
            Self::Standard => {
                if let (Some(smallest), Some(previous)) = (smallest, round.previous)
                    && smallest >= previous + (previous / DELAY_DIVISOR).clamp(DELAY_MIN, DELAY_MAX)
                {
                    *self = Self::Conservative { baseline: smallest, rounds: 0 };
                }
                false
            }
            Self::Conservative { baseline, rounds } => {
                if smallest.is_some_and(|smallest| smallest < *baseline) {
                    // What looked like a queue was jitter.
                    *self = Self::Standard;
                    return false;
                }
                *rounds += u32::from(turned);
                let ends = *rounds >= CSS_ROUNDS;
                if ends {
                    *self = Self::Done;
                }
                ends
            }
            Self::Done => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    const SMSS: u64 = 1000;

    /// Rounds of slow start with these round-trip times, acknowledgments `gap` apart, up to `segments` of them a round; the window in
    /// segments at which it ended.
    fn run(exit: SlowStartExit, gap: Span, rtts: impl Fn(u32, u64) -> Span) -> Option<u64> {
        let config = Config { slow_start_exit: exit, slow_start_limit: u32::MAX, ..Profile::Linux.config() };
        let mut slow_start = SlowStart::new(&config, true);
        let mut window = Window { cwnd: 10 * SMSS, ssthresh: u64::MAX, smss: SMSS };
        let (mut una, mut nxt, mut start) = (0, 10 * SMSS, Time::ZERO);
        for round in 0..12 {
            let segments = (nxt - una) / SMSS;
            start += Span::from_millis(40);
            for i in 0..segments {
                una += SMSS;
                let sample = Sample { now: start + gap * i, rtt: Some(rtts(round, i)), una, nxt };
                slow_start.pkts_acked(&sample, &mut window);
                if !window.in_slow_start() {
                    return Some(window.cwnd / SMSS);
                }
                slow_start.grow(&mut window, SMSS);
                nxt = una + window.cwnd;
            }
        }
        None
    }

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_it_as_in_linux() {
        // 1 ms a segment at 40 ms: the pipe holds 40. The pauses before that break trains; the first unbroken one ends it.
        let at = run(SlowStartExit::Hystart, ms(1), |_, _| ms(40));
        assert!(at.is_some_and(|at| (40..=100).contains(&at)), "{at:?}");
        // Gaps above 2 ms make no train.
        assert_eq!(run(SlowStartExit::Hystart, ms(3), |_, _| ms(40)), None);
    }

    #[test]
    fn rounds_of_linux_begin_with_flights() {
        // A flight's own bursts queue up behind each other; its first segments find the queue empty. Rounds that begin amid a flight, where
        // the window reaches 16, would take that for a delay that has grown, at 128 segments.
        let gap = Span::from_micros(240);
        let at = run(SlowStartExit::Hystart, gap, |_, i| ms(40) + gap / 2 * i);
        assert!(at.is_some_and(|at| (230..=260).contains(&at)), "{at:?}");
    }

    #[test]
    fn a_delay_grown_by_an_eighth_ends_it_as_in_linux() {
        let slow = |from| move |round: u32, _| if round >= from { ms(46) } else { ms(40) };
        let at = run(SlowStartExit::Hystart, Span::from_nanos(1), slow(3));
        assert!(at.is_some_and(|at| at >= 80), "{at:?}");
        // By less than an eighth, and 4 ms, it does not.
        assert_eq!(
            run(SlowStartExit::Hystart, Span::from_nanos(1), |round, _| ms(40 + u64::from(round) / 4)),
            None
        );
        assert_eq!(run(SlowStartExit::Loss, ms(1), slow(3)), None);
    }

    #[test]
    fn hystart_plus_plus_slows_down_and_then_ends() {
        // RFC 9406 section 4.2: rounds of 80 segments when the delay grows, then five rounds that grow by a quarter.
        let grown = |round: u32, _| if round >= 3 { ms(46) } else { ms(40) };
        let at = run(SlowStartExit::HystartPlusPlus, Span::from_nanos(1), grown).expect("it ends");
        let five_rounds = 88.0 * 1.25_f64.powi(5);
        assert!((at as f64 / five_rounds - 1.0).abs() < 0.1, "{at} against {five_rounds}");
    }

    #[test]
    fn hystart_plus_plus_resumes_where_the_delay_falls_again() {
        // RFC 9406 section 4.2: "if currentRoundMinRTT < cssBaselineMinRtt, resume slow start"
        let jitter = |round: u32, _| if round == 3 { ms(46) } else { ms(40) };
        assert_eq!(run(SlowStartExit::HystartPlusPlus, Span::from_nanos(1), jitter), None);
    }
}
