//! Packets that were sent or delivered in a burst are one group; how much later a group arrives than the one before.
//!
//! Section 5.2 of draft-ietf-rmcat-gcc-02, and libwebrtc's `InterArrivalDelta`, which does the same with three more rules: a group
//! lasts 100 ms at most, a jump of the receiver's clock starts anew, and so do three groups in a row that arrive before the last one.

use voxpath_units::{Span, Time};

/// A burst that is delivered at once lasts no longer than this (`kMaxBurstDuration`).
const LONGEST: Span = Span::from_millis(100);
/// A receiver's clock that gains this much on ours has jumped (`kArrivalTimeOffsetThreshold`).
const JUMP_MS: f64 = 3000.0;
/// Groups in a row that arrive before their predecessors (`kReorderedResetThreshold`).
const REORDERED: u32 = 3;

/// From one point to another, in milliseconds; negative where the second is earlier.
pub(super) fn signed_ms(from: Time, to: Time) -> f64 {
    if to >= from { to.since(from).as_secs_f64() * 1e3 } else { -from.since(to).as_secs_f64() * 1e3 }
}

/// A group beside the one before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Delta {
    /// Between the departures of their last packets: T(i) - T(i-1).
    pub(super) sent_ms: f64,
    /// Between the arrivals of their last packets: t(i) - t(i-1).
    pub(super) arrived_ms: f64,
    /// Between their sizes, bytes.
    pub(super) bytes: f64,
    /// When the later of them had arrived, on the receiver's clock.
    pub(super) arrival: Time,
}

impl Delta {
    /// d(i) = t(i) - t(i-1) - (T(i) - T(i-1)).
    pub(super) fn delay_ms(&self) -> f64 {
        self.arrived_ms - self.sent_ms
    }
}

#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent: Time,
    sent: Time,
    first_arrival: Time,
    arrival: Time,
    /// When the last of it was heard of, on the clock of whoever asks.
    heard: Time,
    bytes: u32,
}

/// Puts packets into groups.
#[derive(Debug)]
pub(super) struct Groups {
    burst: Span,
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
}

impl Groups {
    /// Packets sent within `burst` are a group; zero makes each packet one.
    pub(super) fn new(burst: Span) -> Self {
        Self { burst, current: None, previous: None, reordered: 0 }
    }

    /// A packet, in the order of arrival; `heard` is now. Tells of the last group once a packet begins another one.
    pub(super) fn on_packet(&mut self, sent: Time, arrival: Time, heard: Time, bytes: u32) -> Option<Delta> {
        let new = Group { first_sent: sent, sent, first_arrival: arrival, arrival, heard, bytes };
        let Some(current) = &mut self.current else {
            self.current = Some(new);
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        let later = sent > current.sent && sent.since(current.first_sent) > self.burst;
        if !later || current.belongs(&new, self.burst) {
            current.sent = current.sent.max(sent);
            (current.arrival, current.heard) = (arrival, heard);
            current.bytes = current.bytes.saturating_add(bytes);
            return None;
        }
        let done = *current;
        let delta = match self.previous {
            None => None,
            // What ends it in vain is left out, as in libwebrtc: the next packet ends it again.
            Some(previous) => Some(self.compare(&previous, &done)?),
        };
        (self.previous, self.current) = (Some(done), Some(new));
        delta
    }

    fn compare(&mut self, previous: &Group, current: &Group) -> Option<Delta> {
        let arrived_ms = signed_ms(previous.arrival, current.arrival);
        self.reordered = if arrived_ms < 0.0 { self.reordered + 1 } else { 0 };
        let jumped = arrived_ms - signed_ms(previous.heard, current.heard) >= JUMP_MS;
        if jumped || self.reordered >= REORDERED {
            (self.current, self.previous, self.reordered) = (None, None, 0);
        }
        (!jumped && arrived_ms >= 0.0).then(|| Delta {
            sent_ms: signed_ms(previous.sent, current.sent),
            arrived_ms,
            bytes: f64::from(current.bytes) - f64::from(previous.bytes),
            arrival: current.arrival,
        })
    }
}

impl Group {
    /// The packet was delivered in one burst with the group, however it was sent.
    fn belongs(&self, packet: &Group, burst: Span) -> bool {
        let arrived = signed_ms(self.arrival, packet.arrival);
        arrived < signed_ms(self.sent, packet.sent)
            && arrived <= burst.as_secs_f64() * 1e3
            && signed_ms(self.first_arrival, packet.arrival) < LONGEST.as_secs_f64() * 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    fn deltas(packets: &[(u64, u64)]) -> Vec<(f64, f64)> {
        let mut groups = Groups::new(Span::from_millis(5));
        let found = packets
            .iter()
            .filter_map(|&(sent, arrival)| groups.on_packet(at(sent), at(arrival), at(arrival), 100));
        found.map(|delta| (delta.sent_ms, delta.arrived_ms)).collect()
    }

    #[test]
    fn packets_sent_within_five_milliseconds_are_one_group() {
        // Groups {0, 5}, {10, 14}, {20}: departures 5, 14; arrivals 35, 46.
        let packets = [(0, 30_000), (5_000, 35_000), (10_000, 41_000), (14_000, 46_000), (20_000, 52_000)];
        assert_eq!(deltas(&packets), [(9.0, 11.0)]);
    }

    #[test]
    fn packets_delivered_in_a_burst_are_one_group() {
        // An outage delivers what was sent at 10 and 20 at once: one group, which the packet of 40 ends.
        let packets = [(0, 30_000), (10_000, 80_000), (20_000, 80_100), (40_000, 90_000)];
        assert_eq!(deltas(&packets), [(20.0, 50.1)]);
    }

    #[test]
    fn what_was_sent_before_the_group_is_passed_over() {
        let packets = [(0, 30_000), (10_000, 40_000), (3_000, 41_000), (20_000, 50_000)];
        assert_eq!(deltas(&packets), [(10.0, 10.0)]);
    }

    #[test]
    fn a_jump_of_the_receivers_clock_starts_anew() {
        let mut groups = Groups::new(Span::from_millis(5));
        let mut found = Vec::new();
        for i in 0..20_u64 {
            let heard = at(30_000 + 10_000 * i);
            let arrival = if i < 10 { heard } else { heard + Span::from_secs(100) };
            found.extend(groups.on_packet(at(10_000 * i), arrival, heard, 100));
        }
        assert!(found.iter().all(|delta| delta.delay_ms().abs() < 1e-9), "{found:?}");
        assert!(found.len() >= 14, "{found:?}");
    }
}
