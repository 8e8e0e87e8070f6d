//! Packets that wait.

use super::Discipline;
use super::gate::{Gate, Verdict};
use super::red::Judge;
use super::room::{Limit, Room};
use crate::element::Serialiser;
use crate::pool::Handle;
use alloc::collections::VecDeque;
use voxpath_units::Time;

/// Packets in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    packets: VecDeque<(Handle, u32)>,
    bytes: u64,
}

impl Waiting {
    pub(crate) fn push(&mut self, packet: Handle, len: u32) {
        self.bytes += u64::from(len);
        self.packets.push_back((packet, len));
    }

    pub(crate) fn pop(&mut self) -> Option<(Handle, u32)> {
        let (packet, len) = self.packets.pop_front()?;
        self.bytes -= u64::from(len);
        Some((packet, len))
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// First in, first out; with random early detection, if it has that.
#[derive(Debug)]
pub(crate) struct Fifo {
    room: Room,
    judge: Option<Judge>,
    waiting: VecDeque<(Handle, u32)>,
}

impl Fifo {
    pub(crate) const fn new(limit: Limit, judge: Option<Judge>) -> Self {
        Self { room: Room::new(limit), judge, waiting: VecDeque::new() }
    }
}

impl Discipline for Fifo {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Handle,
        waits: bool,
        serialiser: &mut Serialiser,
        gate: &mut Gate<'_>,
    ) {
        let verdict = self
            .judge
            .as_mut()
            .map_or(Verdict::Pass, |judge| judge.judge(now, self.room.packets(), serialiser));
        let len = gate.pool[&packet].len;
        if verdict == Verdict::Drop || (waits && !self.room.has_room(len)) {
            return gate.drop(now, packet);
        }
        if let Some(packet) = gate.judge(now, packet, verdict) {
            self.room.enter(len);
            gate.admit(now, &packet);
            self.waiting.push_back((packet, len));
        }
    }

    fn dequeue(&mut self, _now: Time, _gate: &mut Gate<'_>) -> Option<Handle> {
        self.remove()
    }

    fn remove(&mut self) -> Option<Handle> {
        let (packet, len) = self.waiting.pop_front()?;
        self.room.dequeue(len);
        Some(packet)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.room.set_limit(limit);
    }

    fn packets(&self) -> u32 {
        self.room.packets()
    }

    fn bytes(&self) -> u64 {
        self.room.bytes()
    }
}
