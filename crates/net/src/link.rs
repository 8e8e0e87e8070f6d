//! One direction of a link: queue → serialiser → loss → duplication → delay line.
//!
//! Nothing in this composition is decided after a packet has arrived, so its whole way is computed on
//! arrival and a hop costs one event. The elements' accounts follow later, as time passes
//! ([`Link::settle`]), so that at any moment each element holds exactly what it would hold if every
//! step were an event of its own. A discipline that decides at dequeue (CoDel, PIE, fair queueing)
//! needs an event there; it will stand beside this path, not inside it.

use crate::element::{Count, DelayLine, DropTail, Framing, Limit, Loss, Serialiser, saturating_after};
use crate::event::{EventQueue, Target, Ticket};
use crate::pool::{Handle, Pool};
use crate::random::{Seed, Stream};
use crate::tap::{Action, Place, Tap};
use alloc::collections::VecDeque;
use alloc::format;
use voxpath_units::{Prob, Rate, Span, Time};

/// What one direction of a link does.
#[derive(Debug, Clone, Default)]
pub struct LinkConfig {
    /// Room in the queue, the packet in service not counted.
    pub limit: Limit,
    /// Rate of the serialiser; none passes packets on at once.
    pub rate: Option<Rate>,
    /// Which bytes the rate counts.
    pub framing: Framing,
    /// Loss after the serialiser.
    pub loss: Loss,
    /// Probability that a packet is delivered twice.
    pub duplicate: Prob,
    /// Probability that a packet is held back, and for how long.
    pub reorder: Option<(Prob, Span)>,
    /// One-way propagation delay.
    pub delay: Span,
}

/// The accounts of a link's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// The waiting room.
    pub queue: Count,
    /// The serialiser.
    pub serialiser: Count,
    /// Loss.
    pub loss: Count,
    /// Duplication.
    pub duplication: Count,
    /// The delay line, where held-back packets wait too.
    pub delay: Count,
}

/// What a link's elements can be seen to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Packets waiting.
    pub queue: u64,
    /// Packets in service, at most one.
    pub serialiser: u64,
    /// Packets in flight.
    pub delay: u64,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    queue: DropTail,
    serialiser: Serialiser,
    loss: Loss,
    loss_stream: Stream,
    duplicate: Prob,
    duplicate_stream: Stream,
    reorder: Option<(Prob, Span)>,
    reorder_stream: Stream,
    delay: Span,
    line: DelayLine,
    /// Packets that wait or are in service, in order; the last `queue.packets()` of them wait.
    planned: VecDeque<Planned>,
    counts: Counts,
    /// Bytes of IP packets that the serialiser has passed on.
    served: u64,
    /// The earliest delivery that has an entry in the event queue.
    armed: Option<(Time, Ticket)>,
    target: Target,
    place: Place,
}

/// A packet's way through queue and serialiser, computed on its arrival.
#[derive(Debug)]
struct Planned {
    start: Time,
    end: Time,
    len: u32,
    /// How many of it will be delivered: none if it is lost.
    copies: u32,
}

impl Link {
    /// A link that is idle. `name` names its random streams, `target` is woken for its deliveries, and `place` is
    /// where its packets are seen.
    pub fn new(config: LinkConfig, name: &str, seed: Seed, target: Target, place: Place) -> Self {
        let stream = |element| seed.stream(&format!("link {name} {element}"));
        Self {
            queue: DropTail::new(config.limit),
            serialiser: Serialiser::new(config.rate, config.framing),
            loss: config.loss,
            loss_stream: stream("loss"),
            duplicate: config.duplicate,
            duplicate_stream: stream("duplication"),
            reorder: config.reorder,
            reorder_stream: stream("reordering"),
            delay: config.delay,
            line: DelayLine::new(),
            planned: VecDeque::new(),
            counts: Counts::default(),
            served: 0,
            armed: None,
            target,
            place,
        }
    }

    /// Takes a packet in at `now`.
    pub fn send(
        &mut self,
        now: Time,
        packet: Handle,
        pool: &mut Pool,
        events: &mut EventQueue,
        tap: &mut Tap,
    ) {
        self.settle(now);
        self.counts.queue.entered += 1;
        let len = pool[&packet].len;
        if self.serialiser.is_busy(now) && !self.queue.enqueue(len) {
            self.counts.queue.dropped += 1;
            tap.packet(now, self.place, Action::Dropped, &pool[&packet]);
            pool.discard(packet);
            return;
        }
        pool[&packet].enqueued = now;
        tap.packet(now, self.place, Action::Enqueued, &pool[&packet]);

        let (start, end) = self.serialiser.serve(now, len);
        let copies = if self.loss.loses(len, &mut self.loss_stream) {
            tap.packet(end, self.place, Action::Lost, &pool[&packet]);
            pool.discard(packet);
            0
        } else {
            self.propagate(end, packet, pool, events, tap)
        };
        let planned = Planned { start, end, len, copies };
        if self.serialiser.is_limited() {
            if start <= now {
                self.counts.enter_service();
            }
            self.planned.push_back(planned);
        } else {
            self.counts.enter_service();
            self.leave_service(&planned);
        }
    }

    /// Wakes the link for the delivery that it scheduled under `ticket`; none if another was due before.
    pub fn deliver(&mut self, now: Time, ticket: Ticket, events: &mut EventQueue) -> Option<Handle> {
        if self.line.next() != Some((now, ticket)) {
            // A packet that was entered later overtook the one that this wake-up was for.
            return None;
        }
        let packet = self.line.pop();
        self.armed = None;
        self.arm(events);
        self.counts.delay.left += 1;
        packet
    }

    /// Brings the accounts up to `now`; deliveries due by then must have been made.
    pub fn settle(&mut self, now: Time) {
        while self.queue.packets() > 0 {
            let first_waiting = &self.planned[self.planned.len() - self.queue.packets() as usize];
            if first_waiting.start > now {
                break;
            }
            self.queue.dequeue(first_waiting.len);
            self.counts.enter_service();
        }
        while let Some(done) = self.planned.pop_front_if(|planned| planned.end <= now) {
            self.leave_service(&done);
        }
    }

    /// Bytes of IP packets that the serialiser has passed on as of the last [`Link::settle`].
    pub const fn served(&self) -> u64 {
        self.served
    }

    /// Packets that wait, as of the last [`Link::settle`].
    pub fn queued(&self) -> u32 {
        self.queue.packets()
    }

    /// The propagation delay.
    pub const fn delay(&self) -> Span {
        self.delay
    }

    /// The accounts as of the last [`Link::settle`].
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What the elements hold, seen from the packets themselves; settle first, or the line is behind the queue.
    pub fn held(&self) -> Held {
        let queue = u64::from(self.queue.packets());
        let not_yet_in_flight: u64 = self.planned.iter().map(|planned| u64::from(planned.copies)).sum();
        Held {
            queue,
            serialiser: self.planned.len() as u64 - queue,
            delay: self.line.len() as u64 - not_yet_in_flight,
        }
    }

    /// When the serialiser will be through with all that was sent so far, as far as that lies ahead.
    pub fn busy_until(&self) -> Option<Time> {
        self.planned.back().map(|last| last.end)
    }

    /// Packets that this link keeps in the pool.
    pub fn packets_alive(&self) -> usize {
        self.line.len()
    }

    /// Packets not through the serialiser yet whose loss is decided: elements count them, the pool does not.
    pub fn doomed(&self) -> u64 {
        self.planned.iter().filter(|planned| planned.copies == 0).count() as u64
    }

    /// Copies in the pool of packets that are not through the serialiser yet.
    pub fn unborn(&self) -> u64 {
        self.planned.iter().map(|planned| u64::from(planned.copies.saturating_sub(1))).sum()
    }

    fn leave_service(&mut self, planned: &Planned) {
        self.served += u64::from(planned.len);
        self.counts.leave_service(planned);
    }

    /// Duplicates and delays a packet that leaves the serialiser at `end`; how many will be delivered.
    fn propagate(
        &mut self,
        end: Time,
        packet: Handle,
        pool: &mut Pool,
        events: &mut EventQueue,
        tap: &mut Tap,
    ) -> u32 {
        let mut copies = 1;
        if self.duplicate > Prob::NEVER && self.duplicate_stream.happens(self.duplicate) {
            tap.packet(end, self.place, Action::Duplicated, &pool[&packet]);
            let copy = pool.insert(pool[&packet].clone());
            self.enter_line(end, copy, events);
            copies += 1;
        }
        self.enter_line(end, packet, events);
        self.arm(events);
        copies
    }

    fn enter_line(&mut self, end: Time, packet: Handle, events: &mut EventQueue) {
        let ticket = events.ticket();
        let at = saturating_after(end, self.delay);
        match self.reorder {
            Some((p, by)) if self.reorder_stream.happens(p) => {
                self.line.push_held_back(saturating_after(at, by), ticket, packet);
            }
            _ => self.line.push(at, ticket, packet),
        }
    }

    /// Enters the next delivery into the event queue unless that, or an earlier one, is there.
    fn arm(&mut self, events: &mut EventQueue) {
        let next = self.line.next();
        if let Some((at, ticket)) = next
            && self.armed.is_none_or(|armed| (at, ticket) < armed)
        {
            events.push_with(at, ticket, self.target);
            self.armed = next;
        }
    }
}

impl Counts {
    fn enter_service(&mut self) {
        self.queue.left += 1;
        self.serialiser.entered += 1;
    }

    fn leave_service(&mut self, planned: &Planned) {
        self.serialiser.left += 1;
        self.loss.entered += 1;
        if planned.copies == 0 {
            self.loss.dropped += 1;
            return;
        }
        let copies = u64::from(planned.copies);
        self.loss.left += 1;
        self.duplication.entered += 1;
        self.duplication.duplicated += copies - 1;
        self.duplication.left += copies;
        self.delay.entered += copies;
    }

    /// The elements with their names and accounts, in the order in which a packet meets them.
    pub fn elements(&self) -> [(&'static str, Count); 5] {
        [
            ("queue", self.queue),
            ("serialiser", self.serialiser),
            ("loss", self.loss),
            ("duplication", self.duplication),
            ("delay", self.delay),
        ]
    }
}

impl Held {
    /// What is held, in the order of [`Counts::elements`].
    pub const fn elements(&self) -> [u64; 5] {
        [self.queue, self.serialiser, 0, 0, self.delay]
    }
}
