//! A capacity that follows a schedule: a rate from each moment on.

use super::{Rates, Settings, Stretch};
use crate::element::serialiser::Pace;
use crate::element::{Draw, Steps, saturating_after, steps};
use crate::random::Stream;
use alloc::boxed::Box;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Time in ns and bits per second, zero where nothing passes; ascending from zero.
    pub steps: Vec<(u64, u64)>,
    /// When it starts over; never without it.
    pub period_ns: Option<u64>,
}

impl Settings for Schedule {
    fn check(&self, check: &mut Check<'_>) {
        steps::check(&self.steps, self.period_ns, check);
        let mut place = check.at("steps");
        for (i, &(_, rate)) in self.steps.iter().enumerate() {
            place.at(i).at(1).rate_or_none(rate);
        }
        if self.steps.iter().all(|&(_, rate)| rate == 0) {
            place.fail("nothing ever passes: one rate is above zero");
        }
    }

    fn pace(&self, _stream: Stream) -> Pace {
        Pace::varying(Box::new(self.running()))
    }

    fn rates(&self, _stream: Stream) -> Option<Box<dyn Rates>> {
        Some(Box::new(self.running()))
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let mut at = 0;
        let mut steps = Vec::new();
        for _ in 0..draw.below(6) {
            steps.push((at, draw.rate()));
            at += 1 + draw.span();
        }
        steps.push((at, draw.rate_above_zero()));
        let rest = 1 + draw.span();
        Self { steps, period_ns: draw.bit().then_some(at + rest) }
    }
}

impl Schedule {
    fn running(&self) -> Running {
        let steps = self.steps.iter().map(|&(at, rate)| (Span::from_nanos(at), rate)).collect();
        let steps = Steps::checked(steps, self.period_ns);
        let lap = steps.lap();
        Running { steps, lap }
    }
}

#[derive(Debug)]
struct Running {
    steps: Steps<u64>,
    /// What a whole lap carries, if they are over again after it; see [`Steps::lap`].
    lap: Option<(Span, u128)>,
}

impl Rates for Running {
    fn at(&mut self, at: Time) -> Stretch {
        let (rate, until) = self.steps.at(at);
        Stretch { rate, until }
    }

    fn skip(&self, at: Time, owed: u128) -> (Time, u128) {
        let Some((period, room)) = self.lap else { return (at, owed) };
        if owed <= room {
            return (at, owed);
        }
        let Some(laps) = (owed - 1).checked_div(room) else { return (Time::MAX, owed) };
        let whole = u64::try_from(laps).unwrap_or(u64::MAX);
        (saturating_after(at, period.saturating_mul(whole)), owed - laps * room)
    }
}
