//! Exactly these packets are lost.

use super::{Chance, Loses, Model};
use crate::element::Draw;
use crate::random::Stream;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Counted from 1 as they leave the serialiser; ascending, without repetition.
    pub packets: Vec<u64>,
}

/// How far the list has come.
#[derive(Debug, Clone)]
pub struct Process {
    /// Numbers still to come, descending: the next one is the last.
    remaining: Vec<u64>,
    /// Packets seen so far.
    seen: u64,
}

impl Model for List {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        let mut packets = check.at("packets");
        if self.packets.first() == Some(&0) {
            packets.at(0).fail("packets are counted from 1");
        }
        for (i, pair) in self.packets.windows(2).enumerate() {
            let [before, number] = [pair[0], pair[1]];
            if number <= before {
                return packets.at(i + 1).fail(format_args!("{number} does not come after {before}"));
            }
        }
    }

    fn process(&self, _apart: &Stream) -> Process {
        Process { remaining: self.packets.iter().rev().copied().collect(), seen: 0 }
    }

    fn chance(&self, _len: u32) -> Chance {
        match self.packets[..] {
            [] => Chance::Independent(0.0),
            _ => Chance::None("packets are lost by a list, not by chance"),
        }
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let mut number = 0;
        let mut next = |draw: &mut dyn Draw| {
            number += 1 + draw.below(10);
            number
        };
        Self { packets: (0..draw.below(20)).map(|_| next(draw)).collect() }
    }
}

impl Loses for Process {
    #[inline]
    fn loses(&mut self, _at: Time, _len: u32, _stream: &mut Stream) -> bool {
        self.seen += 1;
        let seen = self.seen;
        self.remaining.pop_if(|next| *next == seen).is_some()
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "list of {}", self.packets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    #[test]
    fn a_list_loses_exactly_its_packets() {
        let mut process = List { packets: [2, 3, 5].to_vec() }.process(&Seed::new(0, 0).stream("unused"));
        let mut stream = Seed::new(0, 0).stream("unused");
        let lost: Vec<u64> = (1..=10).filter(|_| process.loses(Time::ZERO, 1500, &mut stream)).collect();
        assert_eq!(lost, [2, 3, 5]);
    }
}
