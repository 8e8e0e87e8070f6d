//! A capacity that changes at random between states, as a Markov chain has it.

use super::{Rates, Settings, Stretch};
use crate::element::serialiser::Pace;
use crate::element::{Draw, checked};
use crate::random::Stream;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Prob, Span, Time};

/// The shortest mean of a state: a chain of shorter ones would keep a run from getting on.
const SHORTEST_DWELL_NS: u64 = 1_000;
/// States that a chain goes through between two questions; after these it has forgotten where it began, and goes on as if no more time
/// had passed. Years at a state a millisecond are not to be walked through.
const MOST_STATES: u32 = 1 << 20;
/// By how much the probabilities of a state's successors may miss one.
const ROUNDING: f64 = 1e-9;

/// Settings: a rate for each state of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Markov {
    /// At least one.
    pub states: Vec<State>,
    /// The probability of each state to be the first; without it the chain starts in the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Vec<f64>>,
}

/// A state of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Bits per second while it lasts, zero where nothing passes.
    pub rate_bps: u64,
    /// How long it lasts, or the mean of that.
    pub dwell_ns: u64,
    /// Whether it lasts an exponentially distributed time, or always as long.
    pub exponential: bool,
    /// The probability of each state, this one too, to come next.
    pub next: Vec<f64>,
}

impl Settings for Markov {
    fn check(&self, check: &mut Check<'_>) {
        self.check_start(&mut check.at("start"));
        let mut check = check.at("states");
        let count = self.states.len();
        for (i, state) in self.states.iter().enumerate() {
            let mut place = check.at(i);
            place.at("rate_bps").rate_or_none(state.rate_bps);
            let mut dwell = place.at("dwell_ns");
            dwell.span(state.dwell_ns);
            dwell.need(state.dwell_ns >= SHORTEST_DWELL_NS, "is too short: a state lasts 1 us at least");
            let mut next = place.at("next");
            next.need(state.next.len() == count, format_args!("must have {count} probabilities"));
            for (j, &p) in state.next.iter().enumerate() {
                next.at(j).probability(p);
            }
        }
        // States may have their successors in common: what is wrong with them is told once.
        let sum = |state: &State| state.next.iter().sum::<f64>();
        let wrong = self.states.iter().map(sum).position(|sum| (sum - 1.0).abs() > ROUNDING);
        if let Some(i) = wrong {
            let percent = percent(sum(&self.states[i]));
            let message = format_args!("the probabilities sum up to {percent} %, not 100 %");
            check.at(i).at("next").fail(message);
        }
        if self.states.iter().all(|state| state.rate_bps == 0) {
            check.fail("nothing ever passes: one rate is above zero");
        }
    }

    fn pace(&self, stream: Stream) -> Pace {
        Pace::varying(Box::new(Chain::new(self, stream)))
    }

    fn rates(&self, stream: Stream) -> Option<Box<dyn Rates>> {
        Some(Box::new(Chain::new(self, stream)))
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let count = 1 + draw.below(4) as usize;
        let mut states = Vec::new();
        for i in 0..count {
            // The first state always carries something, and each leads to it.
            let rate_bps = if i == 0 { draw.rate_above_zero() } else { draw.rate() };
            let mut next = vec![0.0; count];
            let stays = 0.9 * draw.unit();
            next[draw.below(count as u64) as usize] += stays;
            next[0] += 1.0 - stays;
            // A chain of shorter ones is slow.
            let dwell_ns = 1_000_000 + draw.span();
            states.push(State { rate_bps, dwell_ns, exponential: draw.bit(), next });
        }
        // Of the states that are drawn to come first, each leads on as they all do.
        let start = draw.bit().then(|| states[draw.below(count as u64) as usize].next.clone());
        Self { states, start }
    }
}

impl Markov {
    /// What is wrong with the probabilities of the first state.
    fn check_start(&self, check: &mut Check<'_>) {
        let Some(start) = &self.start else { return };
        let count = self.states.len();
        check.need(start.len() == count, format_args!("must have {count} probabilities"));
        for (i, &p) in start.iter().enumerate() {
            check.at(i).probability(p);
        }
        let sum: f64 = start.iter().sum();
        let message = format_args!("the probabilities sum up to {} %, not 100 %", percent(sum));
        check.need((sum - 1.0).abs() <= ROUNDING, message);
    }
}

/// Hundred times `share` with six digits, as people write it.
fn percent(share: f64) -> f64 {
    libm::round(share * 1e8) / 1e6
}

/// A chain in one of its states.
#[derive(Debug)]
struct Chain {
    states: Vec<Planned>,
    /// Of each state whether a rate above zero can come yet.
    hopeful: Vec<bool>,
    state: usize,
    until: Time,
    stream: Stream,
}

/// A state that was checked.
#[derive(Debug)]
struct Planned {
    rate: u64,
    dwell: Span,
    exponential: bool,
    next: Vec<Prob>,
}

impl Chain {
    /// A chain of at least one state.
    fn new(markov: &Markov, stream: Stream) -> Self {
        let planned = |state: &State| Planned {
            rate: state.rate_bps,
            dwell: Span::from_nanos(state.dwell_ns),
            exponential: state.exponential,
            next: state.next.iter().map(|&p| checked(p)).collect(),
        };
        let states: Vec<Planned> = markov.states.iter().map(planned).collect();
        let hopeful = hopeful(&states);
        let mut chain = Self { states, hopeful, state: 0, until: Time::ZERO, stream };
        if let Some(start) = &markov.start {
            let start: Vec<Prob> = start.iter().map(|&p| checked(p)).collect();
            chain.state = drawn(&start, &mut chain.stream).unwrap_or(0);
        }
        chain.dwell();
        chain
    }

    fn dwell(&mut self) {
        if !self.hopeful[self.state] {
            self.until = Time::MAX;
            return;
        }
        let Planned { dwell, exponential, .. } = self.states[self.state];
        let span = if exponential { self.stream.exponential(dwell) } else { dwell };
        // No state lasts no time at all, or a chain could stand still.
        let span = span.max(Span::from_nanos(1));
        self.until = Time::from_nanos(self.until.as_nanos().saturating_add(span.as_nanos()));
    }

    fn advance(&mut self) {
        let next = &self.states[self.state].next;
        // Where none may follow, it stays.
        self.state = drawn(next, &mut self.stream).unwrap_or(self.state);
        self.dwell();
    }
}

impl Rates for Chain {
    fn at(&mut self, at: Time) -> Stretch {
        let mut states = 0;
        while self.until <= at && self.until < Time::MAX {
            if states == MOST_STATES {
                self.until = at;
            }
            states += 1;
            self.advance();
        }
        Stretch { rate: self.states[self.state].rate, until: self.until }
    }
}

/// Which of these happens; none where none may. Where they sum up to less than one by rounding, the last that may has the rest.
fn drawn(probabilities: &[Prob], stream: &mut Stream) -> Option<usize> {
    let draw = stream.unit();
    let mut sum = 0.0;
    let drawn = probabilities.iter().position(|p| {
        sum += p.get();
        draw < sum
    });
    drawn.or_else(|| probabilities.iter().rposition(|p| p.get() > 0.0))
}

/// Of each state whether it, or one that can follow it, has a rate above zero.
fn hopeful(states: &[Planned]) -> Vec<bool> {
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
    use crate::random::Seed;

    #[test]
    fn years_are_not_walked_through_state_by_state() {
        let state = |rate_bps| State { rate_bps, dwell_ns: 1_000, exponential: false, next: vec![0.5, 0.5] };
        let markov = Markov { states: vec![state(1), state(2)], start: None };
        let mut chain = Chain::new(&markov, Seed::new(3, 0).stream("link x ab capacity"));
        let at = Time::from_nanos(100_000_000_000_000_000);
        assert_eq!(chain.at(at).until, at + Span::from_nanos(1_000));
    }

    /// The states that a chain goes through: which, and how long each lasted.
    fn visits(states: &[State], count: usize) -> Vec<(usize, Span)> {
        let markov = Markov { states: states.into(), start: None };
        let mut chain = Chain::new(&markov, Seed::new(3, 0).stream("link x ab capacity"));
        let mut at = Time::ZERO;
        (0..count)
            .map(|_| {
                let stretch = chain.at(at);
                let lasted = stretch.until.since(at);
                at = stretch.until;
                (
                    states.iter().position(|state| state.rate_bps == stretch.rate).expect("rates differ"),
                    lasted,
                )
            })
            .collect()
    }

    #[test]
    fn a_markov_capacity_dwells_and_moves_as_said() {
        let state = |rate_bps, ms: u64, exponential, next: [f64; 3]| {
            let dwell_ns = Span::from_millis(ms).as_nanos();
            State { rate_bps, dwell_ns, exponential, next: next.into() }
        };
        let states = [
            state(1_000_000, 20, true, [0.0, 0.25, 0.75]),
            state(2_000_000, 5, false, [0.5, 0.0, 0.5]),
            state(0, 60, true, [0.1, 0.2, 0.7]),
        ];
        let n = 200_000;
        let visits = visits(&states, n);
        for (from, state) in states.iter().enumerate() {
            let lasted: Vec<f64> =
                visits.iter().filter(|visit| visit.0 == from).map(|visit| visit.1.as_secs_f64()).collect();
            let count = lasted.len() as f64;
            let average = lasted.iter().sum::<f64>() / count;
            let mean = Span::from_nanos(state.dwell_ns).as_secs_f64();
            if state.exponential {
                assert!((average - mean).abs() < 3.0 * mean / libm::sqrt(count), "state {from}: {average} s");
                // Of an exponential distribution, e^-1 lasts longer than the mean, and e^-3 three times as long.
                for times in [1.0, 3.0] {
                    let p = libm::exp(-times);
                    let longer = lasted.iter().filter(|&&s| s > times * mean).count() as f64;
                    let error = libm::sqrt(count * p * (1.0 - p));
                    assert!((longer - count * p).abs() < 3.0 * error, "state {from}, {times} means");
                }
            } else {
                assert!(lasted.iter().all(|&s| s == mean));
            }
            for (to, &p) in state.next.iter().enumerate() {
                let moves =
                    visits.windows(2).filter(|pair| pair[0].0 == from && pair[1].0 == to).count() as f64;
                let error = libm::sqrt(count * p * (1.0 - p));
                assert!((moves - count * p).abs() <= 3.0 * error, "{from} to {to}: {moves} of {count}");
            }
        }
    }
    #[test]
    fn the_first_state_is_the_first_unless_it_is_drawn() {
        let state =
            |rate_bps| State { rate_bps, dwell_ns: 1_000, exponential: false, next: [0.5, 0.5].into() };
        let states = Vec::from([state(1_000), state(2_000)]);
        let first = |start: Option<Vec<f64>>, seed| {
            let markov = Markov { states: states.clone(), start };
            Chain::new(&markov, Seed::new(seed, 0).stream("link x ab capacity")).at(Time::ZERO).rate
        };
        assert!((0..100).all(|seed| first(None, seed) == 1_000));
        assert!((0..100).all(|seed| first(Some([0.0, 1.0].into()), seed) == 2_000));
        let n = 10_000;
        let second = (0..n).filter(|&seed| first(Some([0.75, 0.25].into()), seed) == 2_000).count() as f64;
        let error = libm::sqrt(n as f64 * 0.25 * 0.75);
        assert!((second - 0.25 * n as f64).abs() < 3.5 * error, "{second} of {n}");
    }
}
