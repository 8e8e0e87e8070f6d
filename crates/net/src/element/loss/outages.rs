//! Everything that leaves the serialiser during an outage is lost.

use super::{Chance, Loses, Model};
use crate::element::{Draw, Steps};
use crate::random::Stream;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outages {
    /// First and last moment of each, the last left out; in order, none touches another.
    pub outages: Vec<(u64, u64)>,
    /// When they start over; never without it.
    pub period_ns: Option<u64>,
}

/// Whether there is an outage, from each moment on.
#[derive(Debug, Clone)]
pub struct Process(Steps<bool>);

impl Model for Outages {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        let mut outages = check.at("outages");
        outages.need(!self.outages.is_empty(), "are at least one");
        let mut last = None;
        for (i, &(from, to)) in self.outages.iter().enumerate() {
            let mut outage = outages.at(i);
            if last.is_some_and(|last| from <= last) {
                outage.at(0).fail("must come after the end of the outage before");
            }
            if to <= from {
                outage.at(1).fail("is above zero");
            }
            outage.at(1).span(to);
            last = Some(to);
        }
        if self.period_ns.is_some_and(|period| period == 0 || Some(period) < last) {
            check.at("period_ns").fail("must not come before the end of the last outage");
        }
    }

    fn process(&self, _apart: &Stream) -> Process {
        let at = |(ns, lost): (u64, bool)| (Span::from_nanos(ns), lost);
        let mut steps: Vec<(Span, bool)> =
            self.outages.iter().flat_map(|&(from, to)| [(from, true), (to, false)]).map(at).collect();
        if self.outages[0].0 > 0 {
            steps.insert(0, (Span::ZERO, false));
        }
        // An outage that lasts until they start over ends where that begins.
        steps.pop_if(|last| Some(last.0.as_nanos()) == self.period_ns);
        Process(Steps::checked(steps, self.period_ns))
    }

    fn chance(&self, _len: u32) -> Chance {
        Chance::None("packets are lost by a schedule, not by chance")
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let from = draw.span();
        let to = from + 1 + draw.span();
        let rest = draw.span();
        Self { outages: [(from, to)].to_vec(), period_ns: draw.bit().then_some(to + rest) }
    }
}

impl Loses for Process {
    #[inline]
    fn loses(&mut self, at: Time, _len: u32, _stream: &mut Stream) -> bool {
        self.0.at(at).0
    }
}

impl fmt::Display for Outages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} outages", self.outages.len())
    }
}
