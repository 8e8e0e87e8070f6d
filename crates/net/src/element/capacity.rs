//! Capacities that vary by themselves: by a schedule, or as a Markov chain has it.
//!
//! Both are known ahead of the packets, whatever these do: a capacity is a sequence of stretches of constant rate, asked
//! for in the order of time.

use super::CHECKED;
use crate::random::Stream;
use alloc::vec;
use alloc::vec::Vec;
use voxpath_units::{Prob, Span, Time};

/// A rate that holds for a while; zero bit/s where nothing passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Bits per second.
    pub rate: u64,
    /// The first moment at which it may no longer hold.
    pub until: Time,
}

/// Values that hold each from its time on; over again after a period, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps<T> {
    /// Ascending; the first is at zero.
    steps: Vec<(Span, T)>,
    period: Option<Span>,
}

impl<T: Copy> Steps<T> {
    /// The steps in order, the first at zero; after `period`, which is longer than the last one's time, over again.
    /// None if they are not so.
    pub fn new(steps: Vec<(Span, T)>, period: Option<Span>) -> Option<Self> {
        let last = steps.last()?.0;
        let ordered = steps[0].0 == Span::ZERO && steps.is_sorted_by(|a, b| a.0 < b.0);
        (ordered && period.is_none_or(|period| period > last)).then_some(Self { steps, period })
    }

    /// The same of checked settings.
    pub(crate) fn checked(steps: Vec<(Span, T)>, period_ns: Option<u64>) -> Self {
        Self::new(steps, period_ns.map(Span::from_nanos)).expect(CHECKED)
    }

    /// What holds at `at`, and until when.
    pub fn at(&self, at: Time) -> (T, Time) {
        let ns = at.as_nanos();
        let lap = self.period.map_or(0, |period| ns - ns % period.as_nanos());
        let into = Span::from_nanos(ns - lap);
        let next = self.steps.partition_point(|&(from, _)| from <= into);
        let end = self.steps.get(next).map(|&(from, _)| from).or(self.period);
        let until = end.map_or(u64::MAX, |end| lap.saturating_add(end.as_nanos()));
        (self.steps[next - 1].1, Time::from_nanos(until))
    }
}

impl Steps<u64> {
    /// The period, if there is one, and what these rates carry in it, in bits times 10^9.
    pub(crate) fn lap(&self) -> Option<(Span, u128)> {
        let period = self.period?;
        let ends = self.steps[1..].iter().map(|step| step.0).chain([period]);
        let carried = |(&(from, rate), end): (&(Span, u64), Span)| {
            u128::from(rate) * u128::from((end - from).as_nanos())
        };
        Some((period, self.steps.iter().zip(ends).map(carried).sum()))
    }
}

/// How long a state lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dwell {
    /// Always as long.
    Constant(Span),
    /// Exponentially distributed, with this mean.
    Exponential(Span),
}

/// A state of a Markov-modulated capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Bits per second while it lasts.
    pub rate: u64,
    /// How long it lasts.
    pub dwell: Dwell,
    /// The probability of each state, this one too, to come next; they sum up to one.
    pub next: Vec<Prob>,
}

/// A capacity that changes at random between states, each with a rate of its own; it starts in the first.
#[derive(Debug, Clone)]
pub struct Markov {
    states: Vec<State>,
    /// Of each state whether a rate above zero can come yet.
    hopeful: Vec<bool>,
    state: usize,
    until: Time,
    stream: Stream,
}

impl Markov {
    /// A chain of at least one state.
    pub fn new(states: Vec<State>, stream: Stream) -> Self {
        let hopeful = hopeful(&states);
        let mut chain = Self { states, hopeful, state: 0, until: Time::ZERO, stream };
        chain.dwell();
        chain
    }

    fn dwell(&mut self) {
        if !self.hopeful[self.state] {
            self.until = Time::MAX;
            return;
        }
        let span = match self.states[self.state].dwell {
            Dwell::Constant(span) => span,
            Dwell::Exponential(mean) => self.stream.exponential(mean),
        };
        // No state lasts no time at all, or a chain could stand still.
        let span = span.max(Span::from_nanos(1));
        self.until = Time::from_nanos(self.until.as_nanos().saturating_add(span.as_nanos()));
    }

    fn advance(&mut self) {
        let draw = self.stream.unit();
        let mut sum = 0.0;
        let next = &self.states[self.state].next;
        let drawn = next.iter().position(|p| {
            sum += p.get();
            draw < sum
        });
        // Where the probabilities sum up to less than one by rounding, the last state that may come has the rest; where none may, it stays.
        let last = || next.iter().rposition(|p| p.get() > 0.0);
        self.state = drawn.or_else(last).unwrap_or(self.state);
        self.dwell();
    }

    /// The stretch that `at` lies in; never asked for an earlier one than before.
    pub fn at(&mut self, at: Time) -> Stretch {
        while self.until <= at && self.until < Time::MAX {
            self.advance();
        }
        Stretch { rate: self.states[self.state].rate, until: self.until }
    }
}

/// Of each state whether it, or one that can follow it, has a rate above zero.
fn hopeful(states: &[State]) -> Vec<bool> {
    let mut hopeful = vec![false; states.len()];
    for _ in states {
        for (i, state) in states.iter().enumerate() {
            let follows = state.next.iter().zip(&hopeful).any(|(p, hopeful)| p.get() > 0.0 && *hopeful);
            hopeful[i] |= state.rate > 0 || follows;
        }
    }
    hopeful
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn steps_hold_until_the_next_and_start_over() {
        let span = Span::from_nanos;
        let once = Steps::new(vec![(span(0), 'a'), (span(10), 'b')], None).expect("in order");
        assert_eq!([0, 9, 10].map(|ns| once.at(at(ns))), [('a', at(10)), ('a', at(10)), ('b', Time::MAX)]);
        let again = Steps::new(vec![(span(0), 'a'), (span(10), 'b')], Some(span(15))).expect("in order");
        assert_eq!(
            [14, 15, 30, 44].map(|ns| again.at(at(ns))),
            [('b', at(15)), ('a', at(25)), ('a', at(40)), ('b', at(45))]
        );
        for (steps, period) in [
            (vec![], None),
            (vec![(1, 'a')], None),
            (vec![(0, 'a'), (0, 'b')], None),
            (vec![(0, 'a')], Some(0)),
        ] {
            let steps = steps.into_iter().map(|(ns, value)| (span(ns), value)).collect();
            assert_eq!(Steps::new(steps, period.map(span)), None);
        }
    }
}
