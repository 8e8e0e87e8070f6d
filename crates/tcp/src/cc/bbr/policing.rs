//! The rate behind a policer (`bbr_lt_bw_sampling()` of Linux): where a fifth of what is sent is lost and the rate is the same in two intervals, the
//! path drops what is above a rate. BBR then goes at that rate for some time and does not probe.

use super::{Bandwidth, NEUTRAL};
use voxpath_units::{Span, Time};

/// Round trips of an interval: at least, and at most.
const INTERVAL_ROUNDS: core::ops::RangeInclusive<u32> = 4..=16;
/// Lost in an interval, in 256ths of what was delivered, for it to count.
const LOSS_RATIO: u64 = 50;
/// Two intervals agree within this share of the rate, or within so many bytes a second.
const RATE_RATIO: u64 = 8;
const RATE_DIFFERENCE: u64 = 4000 / 8;
/// Round trips for which the rate is held.
const HELD_ROUNDS: u32 = 48;

/// What the sender has counted when an acknowledgment or a timeout ends; octets since the start of the connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// When data was delivered last.
    pub(super) now: Time,
    pub(super) delivered: u64,
    pub(super) lost: u64,
}

/// What an acknowledgment, or a timeout, brings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) counted: Counted,
    /// It tells of losses.
    pub(super) losses: bool,
    pub(super) round_start: bool,
    pub(super) app_limited: bool,
    /// Bandwidth is being probed.
    pub(super) probing: bool,
}

/// The long-term rate, and what it is estimated from.
#[derive(Debug, Default)]
pub(super) struct Policing {
    /// Of the last interval; none before there was one.
    rate: Option<Bandwidth>,
    is_held: bool,
    is_sampling: bool,
    since: Counted,
    rounds: u32,
}

/// What a sample means for the cycle of gains.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing changes.
    Unchanged,
    /// There is a policer: its rate is held from now on.
    Held,
    /// The rate was held for long enough; it is to be probed again.
    Expired,
}

impl Policing {
    /// The rate to go at in place of the largest that was seen.
    pub(super) fn held_rate(&self) -> Option<Bandwidth> {
        self.rate.filter(|_| self.is_held)
    }

    /// bbr_reset_lt_bw_sampling(): nothing is known.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Takes in an acknowledgment, or a timeout, of a connection with segments of so many octets.
    pub(super) fn sample(&mut self, seen: Seen, smss: u64) -> Verdict {
        if self.is_held {
            self.rounds += u32::from(seen.probing && seen.round_start);
            if self.rounds < HELD_ROUNDS {
                return Verdict::Unchanged;
            }
            self.reset();
            return Verdict::Expired;
        }
        if !self.is_sampling {
            // The policer's tokens are to be used up before its rate is measured.
            if !seen.losses {
                return Verdict::Unchanged;
            }
            self.begin(seen.counted);
        }
        if seen.app_limited {
            self.reset();
            return Verdict::Unchanged;
        }
        self.rounds += u32::from(seen.round_start);
        if self.rounds > *INTERVAL_ROUNDS.end() {
            self.reset();
        } else if seen.losses && self.rounds >= *INTERVAL_ROUNDS.start() {
            self.end(seen.counted, smss);
        }
        if self.is_held { Verdict::Held } else { Verdict::Unchanged }
    }

    fn begin(&mut self, counted: Counted) {
        (self.is_sampling, self.since, self.rounds) = (true, counted, 0);
    }

    /// bbr_lt_bw_interval_done(), if enough was lost. The kernel takes the time in whole milliseconds.
    fn end(&mut self, counted: Counted, smss: u64) {
        let lost = counted.lost - self.since.lost;
        let delivered = counted.delivered - self.since.delivered;
        let millis = |at: Time| at.as_nanos() / Span::from_millis(1).as_nanos();
        let took = millis(counted.now) - millis(self.since.now);
        if delivered == 0 || lost << 8 < LOSS_RATIO * delivered || took == 0 {
            return;
        }
        let rate = Bandwidth::of(delivered, smss, Span::from_millis(took));
        if let Some(before) = self.rate {
            let apart = Bandwidth(rate.0.abs_diff(before.0));
            if apart.0 * RATE_RATIO <= before.0 || apart.pacing_rate(smss, NEUTRAL) <= RATE_DIFFERENCE {
                let both = Bandwidth(u64::midpoint(rate.0, before.0));
                (self.rate, self.is_held, self.rounds) = (Some(both), true, 0);
                return;
            }
        }
        self.begin(counted);
        self.rate = Some(rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1448;

    /// Of the sender of [`at`].
    fn held_bandwidth() -> Bandwidth {
        Bandwidth::of(100_000, SMSS, Span::from_secs(1))
    }

    /// Counts of a sender of which every fifth segment is lost, at a round trip of 20 ms and a hundred thousand octets a second.
    fn at(round: u64) -> Counted {
        let delivered = round * 2000;
        Counted { now: Time::from_nanos(round * 20_000_000), delivered, lost: delivered / 4 }
    }

    /// An acknowledgment without a loss that begins a round, while bandwidth is probed.
    fn ack(counted: Counted) -> Seen {
        Seen { counted, round_start: true, probing: true, ..Seen::default() }
    }

    fn held(rounds: core::ops::Range<u64>, losses: impl Fn(u64) -> bool) -> Policing {
        let mut policing = Policing::default();
        for round in rounds {
            policing.sample(Seen { losses: losses(round), ..ack(at(round)) }, SMSS);
        }
        policing
    }

    #[test]
    fn two_intervals_of_the_same_rate_and_a_fifth_lost_are_a_policer() {
        assert_eq!(held(1..8, |_| true).held_rate(), None);
        assert_eq!(held(1..20, |_| true).held_rate(), Some(held_bandwidth()));
    }

    #[test]
    fn few_losses_are_none() {
        let mut policing = Policing::default();
        for round in 1..60 {
            let counted = Counted { lost: round * 100, ..at(round) };
            policing.sample(Seen { losses: true, ..ack(counted) }, SMSS);
        }
        assert_eq!(policing.held_rate(), None);
    }

    #[test]
    fn the_rate_is_held_for_48_rounds_of_probing() {
        let mut policing = Policing::default();
        let first = (1..).find(|&round| {
            policing.sample(Seen { losses: true, ..ack(at(round)) }, SMSS);
            policing.held_rate().is_some()
        });
        let first = first.expect("a fifth is lost in each round");
        let last = (first + 1..).find(|&round| policing.sample(ack(at(round)), SMSS) == Verdict::Expired);
        assert_eq!(last, Some(first + 48));
        assert_eq!(policing.held_rate(), None);
    }

    #[test]
    fn rounds_count_only_while_bandwidth_is_probed() {
        let mut policing = held(1..20, |_| true);
        for round in 20..200 {
            policing.sample(Seen { probing: false, ..ack(at(round)) }, SMSS);
        }
        assert_eq!(policing.held_rate(), Some(held_bandwidth()));
    }

    #[test]
    fn an_application_that_sends_too_little_ends_the_estimate() {
        let mut policing = held(1..5, |_| true);
        policing.sample(Seen { losses: true, app_limited: true, ..ack(at(5)) }, SMSS);
        for round in 6..9 {
            policing.sample(Seen { losses: true, ..ack(at(round)) }, SMSS);
        }
        assert_eq!(policing.held_rate(), None);
    }
}
