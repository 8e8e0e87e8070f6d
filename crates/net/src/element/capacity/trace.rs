//! Packet-delivery traces in Mahimahi's format (Netravali et al., USENIX ATC 2015, section 4; `mm-link`).
//!
//! A trace lists the milliseconds at which the link can deliver one packet of Ethernet's size. What of such an
//! opportunity a packet does not need, the next one uses if it waits already; what nobody uses is wasted; and a packet
//! for which it is too short goes on with the next opportunity. Behind its last opportunity the trace starts again.

use super::{Rates, Settings};
use crate::element::Draw;
use crate::element::serialiser::Pace;
use crate::random::Stream;
use alloc::boxed::Box;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

const NS_PER_MS: u64 = 1_000_000;

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Milliseconds; not descending, the last above zero.
    pub opportunities_ms: Vec<u32>,
}

impl Settings for Trace {
    const COUNTS_ITS_OWN_BYTES: bool = true;

    fn check(&self, check: &mut Check<'_>) {
        let ms = &self.opportunities_ms;
        let mut place = check.at("opportunities_ms");
        let Some(&last) = ms.last() else {
            return place.fail("are at least one");
        };
        for (i, pair) in ms.windows(2).enumerate() {
            let ordered = pair[0] <= pair[1];
            let message = format_args!("{} comes after {}: times do not descend", pair[1], pair[0]);
            place.at(i + 1).need(ordered, message);
        }
        place.at(ms.len() - 1).need(last > 0, "must be above zero: the last opportunity ends the trace");
    }

    fn pace(&self, _stream: Stream) -> Pace {
        Pace::Trace(Box::new(Opportunities::new(&self.opportunities_ms)))
    }

    fn rates(&self, _stream: Stream) -> Option<Box<dyn Rates>> {
        None
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let mut at = 1 + draw.below(30) as u32;
        let mut opportunities_ms = Vec::new();
        for _ in 0..=draw.below(12) {
            opportunities_ms.push(at);
            at += draw.below(30) as u32;
        }
        Self { opportunities_ms }
    }
}

/// A trace, and how far it is used.
#[derive(Debug)]
pub(crate) struct Opportunities {
    /// Nanoseconds from the start of a lap, not descending; the last is above zero and ends the lap.
    times: Vec<u64>,
    /// Which one comes next, and when its lap began.
    next: usize,
    lap: u64,
    /// The one that is being used, and what is left of it.
    current: Time,
    left: u32,
}

impl Opportunities {
    /// What an opportunity carries, and what each packet needs beyond its own bytes: Mahimahi counts the four bytes in
    /// which a TUN device says what a packet is.
    const BYTES: u32 = 1504;
    const OVERHEAD: u32 = 4;

    /// A trace of the milliseconds of its opportunities, which were checked.
    fn new(ms: &[u32]) -> Self {
        let times = ms.iter().map(|&ms| u64::from(ms) * NS_PER_MS).collect();
        Self { times, next: 0, lap: 0, current: Time::ZERO, left: 0 }
    }

    /// Mean rate in bits per second.
    pub(crate) fn mean_rate(&self) -> u64 {
        let bits = self.times.len() as u128 * u128::from(8 * (Self::BYTES - Self::OVERHEAD));
        (bits * 1_000_000_000 / u128::from(self.period())) as u64
    }

    /// Gives up what has passed at `now`, and takes the first opportunity after it.
    pub(crate) fn seek_after(&mut self, now: Time) -> Time {
        let now = now.as_nanos();
        let behind = now.saturating_sub(self.lap) / self.period();
        if behind > 0 {
            (self.next, self.lap) = (0, self.lap.saturating_add(behind * self.period()));
        }
        self.next += self.times[self.next..].partition_point(|&at| self.lap.saturating_add(at) <= now);
        self.take_next();
        self.current
    }

    /// The opportunity at which a packet goes on that has waited while others were served.
    pub(crate) fn go_on(&mut self) -> Time {
        if self.left == 0 {
            self.take_next();
        }
        self.current
    }

    /// Carries a packet of `len` bytes from the current opportunity on; when its last byte leaves.
    pub(crate) fn carry(&mut self, len: u32) -> Time {
        let mut needed = len + Self::OVERHEAD;
        while needed > self.left {
            needed -= self.left;
            self.take_next();
        }
        self.left -= needed;
        self.current
    }

    fn period(&self) -> u64 {
        self.times[self.times.len() - 1]
    }

    fn take_next(&mut self) {
        if self.next == self.times.len() {
            (self.next, self.lap) = (0, self.lap.saturating_add(self.period()));
        }
        self.current = Time::from_nanos(self.lap.saturating_add(self.times[self.next]));
        self.left = Self::BYTES;
        self.next += 1;
    }
}
