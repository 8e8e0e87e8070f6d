//! Losses in bursts and one by one: the chain of four states of Salsano, Ludovici and Ordine's "General and Intuitive" loss
//! model (2009), numbered as in Linux's netem: 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost in a
//! gap.

use super::{Chance, IN_BURSTS, Loses, Model};
use crate::element::Draw;
use crate::random::Stream;
use core::fmt;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Settings: probabilities of steps. State 4 is left for the first at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FourState {
    /// From received in a gap to lost in a burst.
    pub p13: f64,
    /// From lost in a burst to received in a gap.
    pub p31: f64,
    /// From lost in a burst to received in a burst.
    pub p32: f64,
    /// From received in a burst to lost in a burst.
    pub p23: f64,
    /// From received in a gap to lost in a gap.
    pub p14: f64,
}

/// It starts in the first state; the chain takes a step, and its new state says what becomes of the packet.
#[derive(Debug, Clone)]
pub struct Process {
    steps: FourState,
    state: u8,
}

impl Model for FourState {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        let &Self { p13, p31, p32, p23, p14 } = self;
        for (key, p) in [("p13", p13), ("p31", p31), ("p32", p32), ("p23", p23), ("p14", p14)] {
            check.at(key).probability(p);
        }
        for (key, sum, of) in [("p13", p13 + p14, "p13 and p14"), ("p31", p31 + p32, "p31 and p32")] {
            if sum > 1.0 {
                check.at(key).fail(format_args!("{of} are steps from one state: together at most '100 %'"));
            }
        }
    }

    fn process(&self, _apart: &Stream) -> Process {
        Process { steps: self.clone(), state: 1 }
    }

    fn chance(&self, _len: u32) -> Chance {
        IN_BURSTS
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let mut half = || draw.prob() / 2.0;
        Self { p13: half() / 10.0, p31: 0.5 - half(), p32: half(), p23: half(), p14: half() / 10.0 }
    }
}

impl Loses for Process {
    #[inline]
    fn loses(&mut self, _at: Time, _len: u32, stream: &mut Stream) -> bool {
        let draw = stream.unit();
        let FourState { p13, p31, p32, p23, p14 } = self.steps;
        self.state = match self.state {
            1 if draw < p14 => 4,
            1 if draw < p14 + p13 => 3,
            2 if draw < p23 => 3,
            3 if draw < p32 => 2,
            3 if draw < p32 + p31 => 1,
            4 => 1,
            same => same,
        };
        self.state >= 3
    }
}

impl fmt::Display for FourState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "four states, {} to {}", self.p13, self.p31)
    }
}
