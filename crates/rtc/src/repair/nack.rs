//! Which packets to ask for again, and when.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};

/// Packets that are asked for at most (libwebrtc's `kMaxNackPackets`).
const MOST: usize = 1000;
/// How often each is asked for (`kMaxNackRetries`).
const TRIES: u32 = 10;
/// What was asked for is looked at again by a timer (`NackPeriodicProcessor::kUpdateInterval`).
const TIMER: Span = Span::from_millis(20);
/// The round trip as long as it is not known (`kDefaultRttMs`).
const ROUND_TRIP: Span = Span::from_millis(100);

/// Missing packets of one source.
#[derive(Debug)]
pub struct Missing {
    packets: BTreeMap<u64, Asked>,
    highest: Option<u64>,
    round_trip: Span,
    /// Some were given up, and nobody has heard of it.
    gave_up: bool,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    tries: u32,
    next: Time,
}

impl Default for Missing {
    fn default() -> Self {
        Self { packets: BTreeMap::new(), highest: None, round_trip: ROUND_TRIP, gave_up: false }
    }
}

impl Missing {
    /// The round trip is known.
    pub const fn set_round_trip(&mut self, round_trip: Span) {
        self.round_trip = round_trip;
    }

    /// A packet came, or was recovered.
    pub fn take(&mut self, now: Time, number: u64) {
        self.packets.remove(&number);
        let highest = *self.highest.get_or_insert(number);
        if number <= highest {
            return;
        }
        self.highest = Some(number);
        if number - highest > MOST as u64 || self.packets.len() as u64 + number - highest > MOST as u64 {
            self.packets.clear();
            self.gave_up = true;
            return;
        }
        let asked = Asked { tries: 0, next: now };
        self.packets.extend((highest + 1..number).map(|missing| (missing, asked)));
    }

    /// When something is to be asked for.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.packets.values().map(|asked| asked.next).min()
    }

    /// The packets to ask for now, ascending.
    pub fn poll(&mut self, now: Time) -> Vec<u64> {
        if self.poll_timeout().is_none_or(|next| next > now) {
            return Vec::new();
        }
        // A round trip later, or when the timer is next: so what left its sender a little later than it was asked for is not asked for
        // too early.
        let due_ns = (now + self.round_trip.max(TIMER)).as_nanos();
        let next = Time::from_nanos(due_ns.next_multiple_of(TIMER.as_nanos()));
        let mut due = Vec::new();
        self.packets.retain(|&number, asked| {
            if asked.next > now {
                return true;
            }
            if asked.tries == TRIES {
                self.gave_up = true;
                return false;
            }
            *asked = Asked { tries: asked.tries + 1, next };
            due.push(number);
            true
        });
        due
    }

    /// Whether packets were given up since this was asked last.
    pub const fn gave_up(&mut self) -> bool {
        core::mem::replace(&mut self.gave_up, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn what_is_missing_is_asked_for_each_round_trip_until_it_comes() {
        let mut missing = Missing::default();
        missing.set_round_trip(Span::from_millis(50));
        missing.take(at(0), 10);
        missing.take(at(1), 13);
        assert_eq!(missing.poll(at(1)), [11, 12]);
        assert_eq!(missing.poll(at(40)), [] as [u64; 0]);
        missing.take(at(45), 12);
        // At 51 ms, by a timer of 20.
        assert_eq!((missing.poll_timeout(), missing.poll(at(60))), (Some(at(60)), alloc::vec![11]));
        missing.take(at(61), 11);
        assert_eq!(missing.poll_timeout(), None);
        assert!(!missing.gave_up());
    }

    #[test]
    fn after_ten_times_it_is_given_up() {
        let mut missing = Missing::default();
        missing.take(at(0), 10);
        missing.take(at(0), 12);
        let asked = (0..30).filter(|i| !missing.poll(at(100 * i)).is_empty()).count();
        assert_eq!(asked, 10);
        assert!(missing.gave_up());
        missing.take(at(0), 5_000);
        assert!(missing.gave_up(), "so many are not asked for");
    }
}
