//! The parts of a link, one effect each.
//!
//! A packet is counted by every element that it meets, and for each of them holds at all times
//!
//! ```text
//! in + duplicated = out + dropped + held
//! ```
//!
//! where `held` is what the element can be seen to hold, not what the equation would need: see
//! [`Count::balances`].

pub mod capacity;
pub mod delay;
pub mod loss;
pub mod middlebox;
pub mod queue;
mod reorder;
mod sample;
mod serialiser;
mod steps;

pub use capacity::Capacity;
pub use delay::{Delay, DelayLine, DelayVariation};
pub use loss::{BitErrorForm, Losing, Loss};
pub use middlebox::Middlebox;
pub(crate) use queue::{Arrival, Discipline, Gate, Judge, Queue, Verdict};
pub use queue::{Limit, Queueing, Room};
pub use reorder::Reorder;
pub use sample::Draw;
pub(crate) use serialiser::Pace;
pub use serialiser::{Framing, Serialiser};
pub(crate) use steps::Steps;

use voxpath_units::{Prob, Span, Time};

/// What settings are that something is built of: whoever builds has asked their checks before.
pub(crate) const CHECKED: &str = "settings were checked";

/// A probability of checked settings.
pub(crate) fn checked(p: f64) -> Prob {
    Prob::new(p).expect(CHECKED)
}

/// The point `span` after `time`, but not beyond the clock's range.
///
/// A queue without bound before a slow serialiser can hold more than centuries of work. Runs end long before
/// [`Time::MAX`], so what is due then stays where it is, and in order: tickets decide among equal times.
pub(crate) const fn saturating_after(time: Time, span: Span) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add(span.as_nanos()))
}

/// Packets that went through one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Taken in.
    pub entered: u64,
    /// Passed on.
    pub left: u64,
    /// Dropped or lost.
    pub dropped: u64,
    /// Made here, beyond what came in.
    pub duplicated: u64,
    /// Changed here: congestion-marked by a queue, or damaged. They count among the others too.
    pub marked: u64,
}

impl Count {
    /// Whether nothing appeared or vanished, given what the element holds.
    pub const fn balances(&self, held: u64) -> bool {
        self.entered + self.duplicated == self.left + self.dropped + held
    }
}
