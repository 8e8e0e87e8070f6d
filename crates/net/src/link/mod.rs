//! One direction of a link: queue → serialiser → loss → corruption → duplication → delay line.
//!
//! There are two ways through queue and serialiser. Where nothing is decided after a packet has arrived, its whole
//! way is computed then ([`ahead`], one event a hop). Where something is (a discipline that looks at its packets as they
//! leave, a link that changes during the run), each end of service is an event ([`stepwise`]). What follows the
//! serialiser is the same for both ([`wire`]).

mod ahead;
mod change;
mod direction;
mod stepwise;
mod wire;

use crate::element::capacity::Stretches;
use crate::element::{Arrival, Count, Delay, Limit, Loss, Serialiser};
use crate::event::{EventQueue, Target, Ticket};
use crate::pool::{Handle, Pool};
use crate::random::{Seed, Stream};
use crate::tap::{Place, Tap};
use ahead::Ahead;
use alloc::boxed::Box;
use alloc::format;
pub use change::LinkChange;
pub use direction::Direction;
use stepwise::Stepwise;
use voxpath_units::{Rate, Span, Time};
use wire::{Fate, Wire};

/// The accounts of a link's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// The waiting room.
    pub queue: Count,
    /// The serialiser.
    pub serialiser: Count,
    /// Loss.
    pub loss: Count,
    /// Corruption.
    pub corruption: Count,
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
    way: Way,
    wire: Wire,
    books: Books,
}

/// How packets get through queue and serialiser.
#[derive(Debug)]
enum Way {
    Ahead(Ahead),
    Stepwise(Box<Stepwise>),
}

/// What a link keeps account of. Behind the serialiser an element takes in at once what that before it passes on, so only what it does
/// to packets is noted.
#[derive(Debug, Default)]
struct Books {
    queue: Count,
    serialiser: Count,
    /// Bytes of IP packets that the serialiser has passed on.
    served: u64,
    lost: u64,
    corrupted: u64,
    duplicated: u64,
    delivered: u64,
}

/// What a link shares with all others.
struct Around<'a> {
    pool: &'a mut Pool,
    events: &'a mut EventQueue,
    tap: &'a mut Tap,
}

impl Link {
    /// A link that is idle, of settings with which nothing is wrong. `name` names its random streams, `target` is woken for its
    /// deliveries, and `place` is where its packets are seen.
    pub fn new(direction: &Direction, name: &str, seed: Seed, target: Target, place: Place) -> Self {
        Self::built(direction, false, name, seed, target, place)
    }

    /// A link on which [`Link::set_rate`] and its like will be called: no packet's way is computed ahead.
    pub fn changing(direction: &Direction, name: &str, seed: Seed, target: Target, place: Place) -> Self {
        Self::built(direction, true, name, seed, target, place)
    }

    fn built(
        direction: &Direction,
        changing: bool,
        name: &str,
        seed: Seed,
        target: Target,
        place: Place,
    ) -> Self {
        let stream = |element: &str| stream(seed, name, element);
        let serialiser = Serialiser::new(direction.pace(|| stream(CAPACITY)), direction.framing);
        let limit = direction.limit();
        let way = match direction.queueing.arrival(stream("queue")) {
            Some(Arrival::Room) if !changing => Way::Ahead(Ahead::new(limit, None, serialiser)),
            Some(Arrival::Judge(judge)) if !changing => {
                Way::Ahead(Ahead::new(limit, Some(judge), serialiser))
            }
            _ => {
                let queue = direction.queueing.queue(limit, stream("queue"));
                Way::Stepwise(Box::new(Stepwise::new(queue, serialiser)))
            }
        };
        let wire = Wire::new(direction, changing, &stream, target, place);
        Self { way, wire, books: Books::default() }
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
        let around = &mut Around { pool, events, tap };
        match &mut self.way {
            Way::Ahead(ahead) => ahead.send(now, packet, &mut self.wire, &mut self.books, around),
            Way::Stepwise(steps) => steps.send(now, packet, &mut self.wire, &mut self.books, around),
        }
    }

    /// Wakes the link for what it scheduled under `ticket`; the packet that it delivers, if that was a delivery and
    /// no other was due before.
    pub fn wake(
        &mut self,
        now: Time,
        ticket: Ticket,
        pool: &mut Pool,
        events: &mut EventQueue,
        tap: &mut Tap,
    ) -> Option<Handle> {
        if let Way::Stepwise(steps) = &mut self.way
            && steps.is_due(now, ticket)
        {
            let around = &mut Around { pool, events, tap };
            steps.step(now, &mut self.wire, &mut self.books, around);
            return None;
        }
        let packet = self.wire.deliver(now, ticket, events)?;
        self.books.delivered += 1;
        Some(packet)
    }

    /// Gives the serialiser another rate; none passes packets on at once.
    ///
    /// What is left of the packet in service takes its time at the new rate. Panics unless the link is
    /// [`Link::changing`], or if its rate varies by itself.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>, events: &mut EventQueue) {
        let target = self.wire.target();
        self.steps().set_rate(now, rate, target, events);
    }

    /// Gives the queue other bounds; packets that wait keep their room.
    ///
    /// Panics unless the link is [`Link::changing`].
    pub fn set_limit(&mut self, limit: Limit) {
        self.steps().set_limit(limit);
    }

    /// Loses packets otherwise from now on: those that leave the serialiser after this.
    ///
    /// Panics unless the link is [`Link::changing`].
    pub fn set_loss(&mut self, loss: &Loss) {
        self.steps();
        self.wire.set_loss(loss);
    }

    /// Delays packets otherwise from now on: those that leave the serialiser after this.
    ///
    /// Packets in flight arrive when they would have, and none of those that follow arrives before them, unless reordering
    /// is asked for. Panics unless the link is [`Link::changing`].
    pub fn set_delay(&mut self, delay: impl Into<Delay>) {
        self.steps();
        self.wire.set_delay(delay.into());
    }

    /// Takes the sending interface down, or up again.
    ///
    /// A link that goes down drops what waits and what is in service, and what is sent into it until it is up
    /// again; what is in flight arrives. Panics unless the link is [`Link::changing`].
    pub fn set_up(&mut self, now: Time, up: bool, pool: &mut Pool, events: &mut EventQueue, tap: &mut Tap) {
        let around = &mut Around { pool, events, tap };
        let Self { way: Way::Stepwise(steps), wire, books } = self else { unchanging() };
        steps.set_up(now, up, wire, books, around);
    }

    /// Brings the accounts up to `now`; deliveries due by then must have been made.
    pub fn settle(&mut self, now: Time) {
        // Stepwise accounts are never behind.
        if let Way::Ahead(ahead) = &mut self.way {
            ahead.settle(now, &mut self.books);
        }
    }

    /// Bytes of IP packets that the serialiser has passed on as of the last [`Link::settle`].
    pub const fn served(&self) -> u64 {
        self.books.served
    }

    /// Packets that wait, as of the last [`Link::settle`].
    pub fn queued(&self) -> u32 {
        match &self.way {
            Way::Ahead(ahead) => ahead.queued(),
            Way::Stepwise(steps) => steps.queued(),
        }
    }

    /// About how long propagation takes at `now`.
    pub fn delay(&self, now: Time) -> Span {
        self.wire.delay(now)
    }

    /// The accounts as of the last [`Link::settle`].
    pub fn counts(&self) -> Counts {
        self.books.counts()
    }

    /// What the elements hold, seen from the packets themselves; settle first, or the line is behind the queue.
    pub fn held(&self) -> Held {
        let flying = self.wire.in_flight();
        match &self.way {
            Way::Ahead(ahead) => ahead.held(flying),
            Way::Stepwise(steps) => steps.held(flying),
        }
    }

    /// About how long a packet that comes now waits and is served, as of the last [`Link::settle`].
    pub fn wait(&mut self, now: Time) -> Span {
        match &mut self.way {
            Way::Ahead(ahead) => ahead.busy_until().map_or(Span::ZERO, |until| until.since(now)),
            Way::Stepwise(steps) => steps.wait(now),
        }
    }

    /// When the serialiser will be through with all that was sent so far, as far as that lies ahead and is known.
    pub fn busy_until(&self) -> Option<Time> {
        match &self.way {
            Way::Ahead(ahead) => ahead.busy_until(),
            Way::Stepwise(steps) => steps.busy_until(),
        }
    }

    /// Packets that this link keeps in the pool.
    pub fn packets_alive(&self) -> usize {
        let waiting = match &self.way {
            Way::Ahead(_) => 0,
            Way::Stepwise(steps) => steps.packets_alive(),
        };
        waiting + self.wire.in_flight()
    }

    /// Packets not through the serialiser yet whose loss is decided: elements count them, the pool does not.
    pub fn doomed(&self) -> u64 {
        match &self.way {
            Way::Ahead(ahead) => ahead.doomed(),
            Way::Stepwise(_) => 0,
        }
    }

    /// Copies in the pool of packets that are not through the serialiser yet.
    pub fn unborn(&self) -> u64 {
        match &self.way {
            Way::Ahead(ahead) => ahead.unborn(),
            Way::Stepwise(_) => 0,
        }
    }

    fn steps(&mut self) -> &mut Stepwise {
        match &mut self.way {
            Way::Stepwise(steps) => steps,
            Way::Ahead(_) => unchanging(),
        }
    }
}

/// Rates of a direction that vary by themselves, by element, as its link of this name draws them.
pub fn varying_rates(
    direction: &Direction,
    name: &str,
    seed: Seed,
) -> impl Iterator<Item = (&'static str, Stretches)> {
    let stream = |element: &str| stream(seed, name, element);
    let capacity = direction.capacity.as_ref();
    let found = [
        ("serialiser", capacity.and_then(|capacity| capacity.stretches(stream(CAPACITY)))),
        ("loss", direction.loss.rates(&stream(LOSS_APART))),
        ("corruption", direction.corruption.rates(&stream(CORRUPTION_APART))),
    ];
    found.into_iter().filter_map(|(element, rates)| Some((element, rates?)))
}

/// What is drawn under these names does not depend on packets.
const CAPACITY: &str = "capacity";
const LOSS_APART: &str = "loss apart";
const CORRUPTION_APART: &str = "corruption apart";

/// The stream of a link's element.
fn stream(seed: Seed, name: &str, element: &str) -> Stream {
    seed.stream(&format!("link {name} {element}"))
}

fn unchanging() -> ! {
    panic!("only a link that was built as changing changes");
}

impl Books {
    fn enter_service(&mut self) {
        self.queue.left += 1;
        self.serialiser.entered += 1;
    }

    /// A packet of `len` bytes leaves the serialiser.
    fn leave_service(&mut self, len: u32, fate: Fate) {
        self.served += u64::from(len);
        self.serialiser.left += 1;
        self.lost += u64::from(fate.copies == 0);
        self.corrupted += u64::from(fate.corrupted);
        self.duplicated += u64::from(fate.copies.saturating_sub(1));
    }

    fn counts(&self) -> Counts {
        let Self { queue, serialiser, lost, corrupted, duplicated, delivered, .. } = *self;
        let passed = serialiser.left - lost;
        let through = |entered| Count { entered, left: entered, dropped: 0, duplicated: 0, marked: 0 };
        Counts {
            queue,
            serialiser,
            loss: Count { left: passed, dropped: lost, ..through(serialiser.left) },
            corruption: Count { marked: corrupted, ..through(passed) },
            duplication: Count { left: passed + duplicated, duplicated, ..through(passed) },
            delay: Count { left: delivered, ..through(passed + duplicated) },
        }
    }
}

impl Counts {
    /// The elements with their names and accounts, in the order in which a packet meets them.
    pub fn elements(&self) -> [(&'static str, Count); 6] {
        [
            ("queue", self.queue),
            ("serialiser", self.serialiser),
            ("loss", self.loss),
            ("corruption", self.corruption),
            ("duplication", self.duplication),
            ("delay", self.delay),
        ]
    }
}

impl Held {
    /// What is held, in the order of [`Counts::elements`].
    pub const fn elements(&self) -> [u64; 6] {
        [self.queue, self.serialiser, 0, 0, 0, self.delay]
    }
}
