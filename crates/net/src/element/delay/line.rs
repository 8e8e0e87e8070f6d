//! The line of packets in flight. It has no capacity limit.

use crate::event::Ticket;
use crate::pool::Handle;
use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::{Ordering, Reverse};
use voxpath_units::Time;

/// Packets in flight, in order of delivery.
///
/// Packets of one constant delay leave in the order in which they came: a ring holds them. Only what was held
/// back longer than its successors goes through a heap.
#[derive(Debug, Default)]
pub struct DelayLine {
    in_order: VecDeque<InFlight>,
    held_back: BinaryHeap<Reverse<InFlight>>,
}

#[derive(Debug)]
struct InFlight {
    at: Time,
    ticket: Ticket,
    packet: Handle,
}

impl DelayLine {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a packet that is to be delivered at `at`, in the place of `ticket`.
    pub fn push(&mut self, at: Time, ticket: Ticket, packet: Handle) {
        let flight = InFlight { at, ticket, packet };
        match self.in_order.back() {
            Some(last) if last.key() > flight.key() => self.held_back.push(Reverse(flight)),
            _ => self.in_order.push_back(flight),
        }
    }

    /// As [`DelayLine::push`] for a packet that others will overtake: kept out of the ring, lest all
    /// that follows looks late.
    pub fn push_held_back(&mut self, at: Time, ticket: Ticket, packet: Handle) {
        self.held_back.push(Reverse(InFlight { at, ticket, packet }));
    }

    /// When, and in which place, the next delivery is due.
    pub fn next(&self) -> Option<(Time, Ticket)> {
        match (self.in_order.front(), self.held_back.peek()) {
            (Some(ordered), Some(Reverse(late))) => Some(ordered.key().min(late.key())),
            (Some(flight), None) | (None, Some(Reverse(flight))) => Some(flight.key()),
            (None, None) => None,
        }
    }

    /// When the last of those is due that were not held back.
    pub fn last_in_order(&self) -> Option<Time> {
        self.in_order.back().map(|flight| flight.at)
    }

    /// Gives out the next packet.
    pub fn pop(&mut self) -> Option<Handle> {
        let late_first = match (self.in_order.front(), self.held_back.peek()) {
            (Some(ordered), Some(Reverse(late))) => late.key() < ordered.key(),
            (None, Some(_)) => true,
            _ => false,
        };
        if late_first {
            return self.held_back.pop().map(|Reverse(flight)| flight.packet);
        }
        self.in_order.pop_front().map(|flight| flight.packet)
    }

    /// Packets in flight.
    pub fn len(&self) -> usize {
        self.in_order.len() + self.held_back.len()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl InFlight {
    fn key(&self) -> (Time, Ticket) {
        (self.at, self.ticket)
    }
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl Eq for InFlight {}
impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
