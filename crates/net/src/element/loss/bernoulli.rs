//! Each packet is lost independently.

use super::{Chance, Loses, Model};
use crate::element::{Draw, checked};
use crate::random::Stream;
use core::fmt;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bernoulli {
    /// Probability.
    pub p: f64,
}

/// The probability, as [`voxpath_units::Prob::threshold`].
#[derive(Debug, Clone)]
pub struct Process(u128);

impl Model for Bernoulli {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        check.at("p").probability(self.p);
    }

    fn process(&self, _apart: &Stream) -> Process {
        Process(checked(self.p).threshold())
    }

    fn chance(&self, _len: u32) -> Chance {
        Chance::Independent(self.p)
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self { p: draw.prob() }
    }
}

impl Loses for Process {
    #[inline]
    fn loses(&mut self, _at: Time, _len: u32, stream: &mut Stream) -> bool {
        stream.below(self.0)
    }
}

impl fmt::Display for Bernoulli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.p)
    }
}
