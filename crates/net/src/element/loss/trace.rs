//! Losses as they were recorded, packet by packet, over and over.

use super::{Chance, Loses, Model};
use crate::element::Draw;
use crate::random::Stream;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// A `1` for each lost packet, a `0` for each other.
    pub lost: String,
}

/// How far the record has been read.
#[derive(Debug, Clone)]
pub struct Process {
    /// Whether each was lost; not empty.
    lost: Vec<bool>,
    next: usize,
}

impl Model for Trace {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        let mut place = check.at("lost");
        place.need(!self.lost.is_empty(), "is at least one digit");
        for (i, wrong) in self.lost.chars().enumerate().filter(|(_, digit)| !matches!(digit, '0' | '1')) {
            place.at(i).fail(format_args!("{wrong:?} is not one of the digits 0 and 1, one for each packet"));
        }
    }

    fn process(&self, _apart: &Stream) -> Process {
        Process { lost: self.lost.bytes().map(|digit| digit == b'1').collect(), next: 0 }
    }

    fn chance(&self, _len: u32) -> Chance {
        Chance::None("packets are lost by a trace, not by chance")
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let count = 10 + draw.below(30);
        Self { lost: (0..count).map(|_| if draw.below(10) == 9 { '1' } else { '0' }).collect() }
    }
}

impl Loses for Process {
    #[inline]
    fn loses(&mut self, _at: Time, _len: u32, _stream: &mut Stream) -> bool {
        let is_lost = self.lost[self.next];
        self.next = (self.next + 1) % self.lost.len();
        is_lost
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace of {}", self.lost.len())
    }
}
