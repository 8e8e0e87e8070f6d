//! A delay from each moment on: of packets that leave the serialiser then. They do not overtake each other.

use super::{Delays, Settings};
use crate::element::{Draw, steps};
use crate::random::Stream;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Settings; they stand in place of the delay that others vary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Time and delay, both in ns; ascending from zero.
    pub steps: Vec<(u64, u64)>,
    /// When it starts over; never without it.
    pub period_ns: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Process(steps::Steps<Span>);

impl Settings for Steps {
    type Process = Process;

    fn check(&self, delay_ns: u64, check: &mut Check<'_>) {
        steps::check(&self.steps, self.period_ns, check);
        for (i, &(_, delay)) in self.steps.iter().enumerate() {
            check.at("steps").at(i).at(1).span(delay);
        }
        check.need(delay_ns == 0, "a delay in steps stands in place of delay_ns, which is 0");
    }

    fn least_ns(&self, _delay_ns: u64) -> u64 {
        self.steps.iter().map(|step| step.1).min().unwrap_or(0)
    }

    fn process(&self, _delay_ns: u64) -> Process {
        let steps = self.steps.iter().map(|&(at, delay)| (Span::from_nanos(at), Span::from_nanos(delay)));
        Process(steps::Steps::checked(steps.collect(), self.period_ns))
    }

    fn sample(draw: &mut dyn Draw) -> (u64, Self) {
        let mut at = 0;
        let mut steps = Vec::new();
        for _ in 0..=draw.below(5) {
            steps.push((at, draw.span() / 3));
            at += 1 + draw.span();
        }
        (0, Self { steps, period_ns: draw.bit().then_some(at) })
    }
}

impl Delays for Process {
    fn of(&mut self, at: Time, _stream: &mut Stream) -> Span {
        self.0.at(at).0
    }

    fn about(&self, at: Time) -> Span {
        self.0.at(at).0
    }
}
