//! The way on which each end of service is an event, because something is decided only then.

use super::wire::Wire;
use super::{Around, Books, Held};
use crate::element::{Count, Discipline, Gate, Limit, Queue, Serialiser};
use crate::event::{EventQueue, Target, Ticket};
use crate::pool::Handle;
use voxpath_units::{Rate, Span, Time};

#[derive(Debug)]
pub(super) struct Stepwise {
    queue: Queue,
    serialiser: Serialiser,
    in_service: Option<Handle>,
    /// The end of that service, or the start of the next one where that is to be waited for; an entry of the event
    /// queue that is not this one has been replaced.
    due: Option<(Time, Ticket)>,
    up: bool,
}

impl Stepwise {
    pub(super) const fn new(queue: Queue, serialiser: Serialiser) -> Self {
        Self { queue, serialiser, in_service: None, due: None, up: true }
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
        books.queue.entered += 1;
        let mut gate = gate(wire, &mut books.queue, around);
        if !self.up {
            return gate.drop(now, packet);
        }
        let waits = self.serialiser.is_busy(now);
        self.queue.enqueue(now, packet, waits, &mut self.serialiser, &mut gate);
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
            return self.serve(now, wire, books, around);
        };
        let len = around.pool[&packet].len;
        let fate = wire.take(now, packet, len, around);
        books.leave_service(len, fate);
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

    pub(super) fn set_limit(&mut self, limit: Limit) {
        self.queue.set_limit(limit);
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
        self.due = None;
        self.serialiser.abort(now);
        while let Some(packet) = self.queue.remove() {
            gate(wire, &mut books.queue, around).drop(now, packet);
        }
        if let Some(packet) = self.in_service.take() {
            gate(wire, &mut books.serialiser, around).drop(now, packet);
        }
    }

    pub(super) fn queued(&self) -> u32 {
        self.queue.packets()
    }

    pub(super) fn held(&self, flying: usize) -> Held {
        Held {
            queue: u64::from(self.queue.packets()),
            serialiser: u64::from(self.in_service.is_some()),
            delay: flying as u64,
        }
    }

    pub(super) fn busy_until(&self) -> Option<Time> {
        self.due.map(|(at, _)| at)
    }

    /// About how long a packet that comes now waits and is served.
    pub(super) fn wait(&mut self, now: Time) -> Span {
        let in_service = self.due.map_or(Span::ZERO, |(at, _)| at.since(now));
        let seconds = match self.serialiser.rate() {
            Some(rate) if rate > 0 => self.queue.bytes() as f64 * 8.0 / rate as f64,
            _ => 0.0,
        };
        Span::from_nanos(in_service.as_nanos().saturating_add(Span::from_secs_f64(seconds).as_nanos()))
    }

    pub(super) fn packets_alive(&self) -> usize {
        self.queue.packets() as usize + usize::from(self.in_service.is_some())
    }

    /// Serves the next packet as soon as it can be; whether that `waited` when the last service ended.
    fn go_on(&mut self, now: Time, waited: bool, wire: &Wire, books: &mut Books, around: &mut Around<'_>) {
        // A queue is asked when it is empty too: it may keep account of turns.
        let start = if self.queue.packets() > 0 { self.serialiser.next_start(now, waited) } else { now };
        if start > now {
            self.expect(start, wire.target(), around.events);
        } else {
            self.serve(now, wire, books, around);
        }
    }

    fn serve(&mut self, now: Time, wire: &Wire, books: &mut Books, around: &mut Around<'_>) {
        if let Some(packet) = self.queue.dequeue(now, &mut gate(wire, &mut books.queue, around)) {
            books.enter_service();
            let end = self.serialiser.serve_next(now, around.pool[&packet].len);
            self.in_service = Some(packet);
            self.expect(end, wire.target(), around.events);
        }
    }

    fn expect(&mut self, at: Time, target: Target, events: &mut EventQueue) {
        let ticket = events.ticket();
        events.push_with(at, ticket, target);
        self.due = Some((at, ticket));
    }
}

fn gate<'a>(wire: &Wire, count: &'a mut Count, around: &'a mut Around<'_>) -> Gate<'a> {
    Gate { pool: around.pool, tap: around.tap, place: wire.place(), count }
}
