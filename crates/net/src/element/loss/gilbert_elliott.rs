//! Losses in bursts: Gilbert's and Elliott's chain of two states (Gilbert 1960, Elliott 1963).

use super::{Chance, IN_BURSTS, Loses, Model};
use crate::element::{Draw, checked};
use crate::random::Stream;
use core::fmt;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability of the step from the good state to the bad one (p).
    pub to_bad: f64,
    /// And back (r).
    pub to_good: f64,
    /// Probability of a loss in the good state (1 - k).
    pub loss_good: f64,
    /// And in the bad one (1 - h).
    pub loss_bad: f64,
}

/// A packet has the probability of the state that it finds, and then the chain takes a step, as in Linux's netem. It
/// starts in the good state.
#[derive(Debug, Clone)]
pub struct Process {
    to_bad: u128,
    to_good: u128,
    loss: [u128; 2],
    bad: bool,
}

impl Model for GilbertElliott {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        check.at("to_bad").probability(self.to_bad);
        check.at("to_good").probability(self.to_good);
        check.at("loss_good").probability(self.loss_good);
        check.at("loss_bad").probability(self.loss_bad);
    }

    fn process(&self, _apart: &Stream) -> Process {
        let threshold = |p| checked(p).threshold();
        Process {
            to_bad: threshold(self.to_bad),
            to_good: threshold(self.to_good),
            loss: [self.loss_good, self.loss_bad].map(threshold),
            bad: false,
        }
    }

    fn chance(&self, _len: u32) -> Chance {
        IN_BURSTS
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self {
            to_bad: draw.prob() / 10.0,
            to_good: draw.prob(),
            loss_good: draw.prob() / 10.0,
            loss_bad: draw.prob(),
        }
    }
}

impl Loses for Process {
    #[inline]
    fn loses(&mut self, _at: Time, _len: u32, stream: &mut Stream) -> bool {
        let lost = stream.below(self.loss[usize::from(self.bad)]);
        self.bad ^= stream.below(if self.bad { self.to_good } else { self.to_bad });
        lost
    }
}

impl fmt::Display for GilbertElliott {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gilbert-Elliott, {} to {}", self.to_bad, self.to_good)
    }
}
