//! What ends a run before its time: limits on its events, its virtual time and its memory, and the clock's own range.

use crate::plan::Plan;
use alloc::format;
use alloc::string::String;
use voxpath_units::Time;
use voxpath_units::check::LONGEST_NS;

/// Events between two looks at the limits.
const PIECE: u64 = 4096;
/// Tickets of the event queue that are left when a run has to end: far more than a piece draws.
const RESERVE: u64 = 1 << 32;

/// The bounds of a run.
#[derive(Debug)]
pub(crate) struct Limits {
    events: Option<u64>,
    memory: Option<u64>,
    /// Nothing happens after this.
    pub(crate) end: Time,
    /// What `end` is.
    end_is: End,
    processed: u64,
    /// What ended the run, if it was not time.
    reached: Option<Limit>,
}

/// Why nothing happens after a run's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It was to last so long.
    Duration,
    /// It was to last no longer.
    Limit,
    /// The clock's range.
    Clock,
}

/// What ended a run before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Events,
    Memory,
    Time,
    Clock,
}

impl Limits {
    pub(crate) fn new(plan: &Plan) -> Self {
        let bounds = [
            (plan.duration_ns, End::Duration),
            (plan.limits.time_ns, End::Limit),
            (Some(LONGEST_NS), End::Clock),
        ];
        let bounds = bounds.into_iter().filter_map(|(bound, kind)| Some((bound?, kind)));
        // The first of equal ones: to last as long as was asked for is no limit.
        let (end, end_is) = bounds.min_by_key(|&(bound, _)| bound).expect("the clock has an end");
        Self {
            events: plan.limits.events,
            memory: plan.limits.memory_bytes,
            end: Time::from_nanos(end),
            end_is,
            processed: 0,
            reached: None,
        }
    }

    /// How many of `budget` events may be processed before the limits have to be looked at again; none if one is
    /// reached.
    pub(crate) fn next_piece(
        &mut self,
        budget: u64,
        tickets_left: u64,
        memory: impl FnOnce() -> u64,
    ) -> Option<u64> {
        let left = self.events.map_or(u64::MAX, |events| events - self.processed);
        if self.reached.is_none() {
            if left == 0 || tickets_left < RESERVE {
                self.reached = Some(Limit::Events);
            } else if self.memory.is_some_and(|most| memory() > most) {
                self.reached = Some(Limit::Memory);
            }
        }
        if self.reached.is_some() {
            return None;
        }
        let piece = budget.min(PIECE).min(left);
        self.processed += piece;
        Some(piece)
    }

    /// What ended a run before its time, whose next event is then, if it still had something to do.
    pub(crate) fn reached(&self, next: Option<Time>) -> Option<Limit> {
        let end = match self.end_is {
            End::Duration => return self.reached,
            End::Limit => Limit::Time,
            End::Clock => Limit::Clock,
        };
        let is_cut = next.is_some_and(|next| next > self.end);
        self.reached.or(is_cut.then_some(end))
    }
}

impl Limit {
    /// The name in the verdict.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Memory => "memory",
            Self::Time => "time",
            Self::Clock => "clock",
        }
    }

    /// What is wrong with a run that ended so.
    pub(crate) fn problem(self, ended: Time) -> String {
        let what = match self {
            Self::Events => "its limit of events",
            Self::Memory => "its limit of memory",
            Self::Time => "its limit of time",
            Self::Clock => "the end of the clock's range",
        };
        format!("the run reached {what} at {ended}, and was not over")
    }
}
