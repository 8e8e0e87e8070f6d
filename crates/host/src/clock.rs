//! The wall clock, which exists in this crate alone.

use rustix::time::{ClockId, Timespec, clock_gettime};
use voxpath_units::Time;

/// Counts nanoseconds of `CLOCK_MONOTONIC` from the run's start.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that says zero now.
    pub fn start() -> Self {
        Self { origin_ns: monotonic_ns() }
    }

    /// Time since the start.
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic_ns() - self.origin_ns)
    }

    /// `CLOCK_MONOTONIC` at the start, in nanoseconds: joins our times to those of other programs.
    pub const fn origin_ns(&self) -> u64 {
        self.origin_ns
    }
}

fn monotonic_ns() -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    // Neither is negative: the clock counts from boot.
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}
