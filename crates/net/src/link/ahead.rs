//! The way that is computed on arrival.
//!
//! Where nothing is decided after a packet has arrived, its whole way is known then, and a hop costs one event. The
//! elements' accounts follow later, as time passes ([`Ahead::settle`]), so that at any moment each element holds
//! exactly what it would hold if every step were an event of its own.

use super::wire::{Fate, Wire};
use super::{Around, Books, Held};
use crate::element::{Gate, Judge, Limit, Room, Serialiser, Verdict};
use crate::pool::Handle;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use voxpath_units::Time;

#[derive(Debug)]
pub(super) struct Ahead {
    queue: Room,
    judge: Option<Box<Judge>>,
    serialiser: Serialiser,
    /// Packets that wait or are in service, in order; the last `queue.packets()` of them wait.
    planned: VecDeque<Planned>,
}

/// A packet's way through queue and serialiser.
#[derive(Debug)]
struct Planned {
    start: Time,
    end: Time,
    len: u32,
    fate: Fate,
}

impl Ahead {
    pub(super) const fn new(limit: Limit, judge: Option<Box<Judge>>, serialiser: Serialiser) -> Self {
        Self { queue: Room::new(limit), judge, serialiser, planned: VecDeque::new() }
    }

    pub(super) fn send(
        &mut self,
        now: Time,
        mut packet: Handle,
        wire: &mut Wire,
        books: &mut Books,
        around: &mut Around<'_>,
    ) {
        self.settle(now, books);
        books.queue.entered += 1;
        let len = around.pool[&packet].len;
        let count = &mut books.queue;
        let mut gate = Gate { pool: around.pool, tap: around.tap, place: wire.place(), count };
        let busy = self.serialiser.is_busy(now);
        if let Some(judge) = &mut self.judge {
            let verdict = judge.judge(now, self.queue.packets(), &mut self.serialiser);
            if verdict == Verdict::Drop || (busy && !self.queue.has_room(len)) {
                return gate.drop(now, packet);
            }
            match gate.judge(now, packet, verdict) {
                Some(judged) => packet = judged,
                None => return,
            }
        }
        if busy && !self.queue.enqueue(len) {
            return gate.drop(now, packet);
        }
        gate.admit(now, &packet);

        let (start, end) = self.serialiser.serve(now, len);
        let fate = wire.take(end, packet, len, around);
        if self.serialiser.is_limited() {
            if start <= now {
                books.enter_service();
            }
            self.planned.push_back(Planned { start, end, len, fate });
        } else {
            books.enter_service();
            books.leave_service(len, fate);
        }
    }

    pub(super) fn settle(&mut self, now: Time, books: &mut Books) {
        while self.queue.packets() > 0 {
            let first_waiting = &self.planned[self.planned.len() - self.queue.packets() as usize];
            if first_waiting.start > now {
                break;
            }
            self.queue.dequeue(first_waiting.len);
            books.enter_service();
        }
        while let Some(done) = self.planned.pop_front_if(|planned| planned.end <= now) {
            books.leave_service(done.len, done.fate);
        }
    }

    pub(super) const fn queued(&self) -> u32 {
        self.queue.packets()
    }

    pub(super) fn held(&self, flying: usize) -> Held {
        let queue = u64::from(self.queue.packets());
        let not_yet_in_flight: u64 = self.planned.iter().map(|planned| u64::from(planned.fate.copies)).sum();
        Held {
            queue,
            serialiser: self.planned.len() as u64 - queue,
            delay: flying as u64 - not_yet_in_flight,
        }
    }

    pub(super) fn busy_until(&self) -> Option<Time> {
        self.planned.back().map(|last| last.end)
    }

    pub(super) fn doomed(&self) -> u64 {
        self.planned.iter().filter(|planned| planned.fate.copies == 0).count() as u64
    }

    pub(super) fn unborn(&self) -> u64 {
        self.planned.iter().map(|planned| u64::from(planned.fate.copies.saturating_sub(1))).sum()
    }
}
