//! The way on which each end of service is an event, because something is decided only then.

use super::wire::Wire;
use super::{Around, Books, Held};
use crate::element::{DropTail, Limit, Serialiser};
use crate::event::{EventQueue, Target, Ticket};
use crate::pool::Handle;
use crate::tap::Action;
use alloc::collections::VecDeque;
use voxpath_units::{Rate, Time};

#[derive(Debug)]
pub(super) struct Stepwise {
    room: DropTail,
    waiting: VecDeque<Handle>,
    serialiser: Serialiser,
    in_service: Option<Handle>,
    /// The end of that service, or the start of the next one where that is to be waited for; an entry of the event
    /// queue that is not this one has been replaced.
    due: Option<(Time, Ticket)>,
    up: bool,
}

impl Stepwise {
    pub(super) const fn new(limit: Limit, serialiser: Serialiser) -> Self {
        Self {
            room: DropTail::new(limit),
            waiting: VecDeque::new(),
            serialiser,
            in_service: None,
            due: None,
            up: true,
        }
    }

    pub(super) fn send(
        &mut self,
        now: Time,
        packet: Handle,
        wire: &mut Wire,
        books: &mut Books,
        around: &mut Around<'_>,
    ) {
        // What ends as the packet comes has ended before, as on the other way.
        while self.due.is_some_and(|(at, _)| at <= now) {
            self.step(now, wire, books, around);
        }
        books.counts.queue.entered += 1;
        let waits = self.serialiser.is_busy(now);
        if !self.up || (waits && !self.room.enqueue(around.pool[&packet].len)) {
            books.counts.queue.dropped += 1;
            wire.drop(now, packet, around);
            return;
        }
        around.pool[&packet].enqueued = now;
        around.tap.packet(now, wire.place(), Action::Enqueued, &around.pool[&packet]);
        if !waits {
            self.serve(now, packet, wire, books, around);
            return;
        }
        self.waiting.push_back(packet);
        if self.due.is_none() {
            self.go_on(now, false, wire, books, around);
        }
    }

    /// Whether `ticket` is what this way waits for.
    pub(super) fn is_due(&self, now: Time, ticket: Ticket) -> bool {
        self.due == Some((now, ticket))
    }

    /// Does what is due.
    pub(super) fn step(&mut self, now: Time, wire: &mut Wire, books: &mut Books, around: &mut Around<'_>) {
        self.due = None;
        let Some(packet) = self.in_service.take() else {
            return self.serve_next(now, wire, books, around);
        };
        let len = around.pool[&packet].len;
        let copies = wire.take(now, packet, around);
        books.leave_service(len, copies);
        self.go_on(now, true, wire, books, around);
    }

    pub(super) fn set_rate(
        &mut self,
        now: Time,
        rate: Option<Rate>,
        target: Target,
        events: &mut EventQueue,
    ) {
        let end = self.serialiser.set_rate(now, rate);
        if self.in_service.is_some() {
            self.expect(end, target, events);
        }
    }

    pub(super) const fn set_limit(&mut self, limit: Limit) {
        self.room.set_limit(limit);
    }

    pub(super) fn set_up(
        &mut self,
        now: Time,
        up: bool,
        wire: &Wire,
        books: &mut Books,
        around: &mut Around<'_>,
    ) {
        self.up = up;
        if up {
            return;
        }
        if let Some(packet) = self.in_service.take() {
            books.counts.serialiser.dropped += 1;
            wire.drop(now, packet, around);
        }
        while let Some(packet) = self.waiting.pop_front() {
            self.room.dequeue(around.pool[&packet].len);
            books.counts.queue.dropped += 1;
            wire.drop(now, packet, around);
        }
        self.serialiser.abort(now);
        self.due = None;
    }

    pub(super) const fn queued(&self) -> u32 {
        self.room.packets()
    }

    pub(super) fn held(&self, flying: usize) -> Held {
        Held {
            queue: self.waiting.len() as u64,
            serialiser: u64::from(self.in_service.is_some()),
            delay: flying as u64,
        }
    }

    pub(super) fn busy_until(&self) -> Option<Time> {
        self.due.map(|(at, _)| at)
    }

    pub(super) fn packets_alive(&self) -> usize {
        self.waiting.len() + usize::from(self.in_service.is_some())
    }

    /// Serves the next packet as soon as it can be; whether that `waited` when the last service ended.
    fn go_on(&mut self, now: Time, waited: bool, wire: &Wire, books: &mut Books, around: &mut Around<'_>) {
        if self.waiting.is_empty() {
            return;
        }
        let start = self.serialiser.next_start(now, waited);
        if start > now {
            self.expect(start, wire.target(), around.events);
        } else {
            self.serve_next(now, wire, books, around);
        }
    }

    fn serve_next(&mut self, now: Time, wire: &Wire, books: &mut Books, around: &mut Around<'_>) {
        if let Some(next) = self.waiting.pop_front() {
            self.room.dequeue(around.pool[&next].len);
            self.serve(now, next, wire, books, around);
        }
    }

    fn serve(&mut self, now: Time, packet: Handle, wire: &Wire, books: &mut Books, around: &mut Around<'_>) {
        books.enter_service();
        let end = self.serialiser.serve_next(now, around.pool[&packet].len);
        self.in_service = Some(packet);
        self.expect(end, wire.target(), around.events);
    }

    fn expect(&mut self, at: Time, target: Target, events: &mut EventQueue) {
        let ticket = events.ticket();
        events.push_with(at, ticket, target);
        self.due = Some((at, ticket));
    }
}
