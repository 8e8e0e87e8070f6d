//! A link with all that it needs around it.
#![allow(dead_code, missing_docs, unreachable_pub)] // Each test binary uses its part.

use std::sync::{Arc, Mutex};
use voxpath_net::packet::{AddressId, Ecn, FlowId, Packet, Transport};
use voxpath_net::table::Table;
use voxpath_net::tap::{Action, Event, Interest, Output, Place, Sink, Tap};
use voxpath_net::{Direction, EventQueue, Link, Pool, Seed, Target};
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::udp::UdpHeader;

/// Something that happened to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub at: Time,
    pub action: Action,
    pub packet: u32,
}

/// The packet with this number, which it carries in its flow label.
pub fn packet(number: u32, len: u32) -> Packet {
    Packet {
        src: AddressId(0),
        dst: AddressId(1),
        flow: FlowId(number),
        len,
        ttl: Packet::DEFAULT_TTL,
        dscp: 0,
        ecn: Ecn::NotEct,
        corrupted: false,
        enqueued: Time::ZERO,
        transport: Transport::Udp(UdpHeader::default()),
        payload: Payload::Empty,
    }
}

/// One link, driven by hand.
pub struct Rig {
    pub link: Link,
    pub pool: Pool,
    pub events: EventQueue,
    pub tap: Tap,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Rig {
    pub const NAME: &str = "under test";

    pub fn new(direction: Direction) -> Self {
        Self::named(direction, false, Self::NAME)
    }

    /// A link on which something may change.
    pub fn changing(direction: Direction) -> Self {
        Self::named(direction, true, Self::NAME)
    }

    /// A link whose random streams have this name.
    pub fn named(direction: Direction, changing: bool, name: &str) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut tap = Tap::new();
        tap.attach(Box::new(Notes(Arc::clone(&seen))));
        let target = Target::new(0).expect("small");
        let built = if changing { Link::changing } else { Link::new };
        let link = built(&direction, name, Seed::new(1, 0), target, Place::Link(0));
        Self { link, pool: Pool::new(), events: EventQueue::new(), tap, seen }
    }

    pub fn send(&mut self, now: Time, packet: Packet) {
        let handle = self.pool.insert(packet);
        self.link.send(now, handle, &mut self.pool, &mut self.events, &mut self.tap);
    }

    /// Makes all deliveries that are due up to and including `end`.
    pub fn run_until(&mut self, end: Time) {
        while self.events.peek_time().is_some_and(|at| at <= end) {
            let (now, ticket, _) = self.events.pop().expect("it was seen");
            let Self { link, pool, events, tap, .. } = self;
            if let Some(handle) = link.wake(now, ticket, pool, events, tap) {
                let packet = self.pool.take(handle);
                self.tap.packet(now, Place::Link(0), Action::Delivered, &packet);
            }
        }
    }

    /// Everything that happened, in the order in which it was decided.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("nobody panicked").clone()
    }

    /// When each delivered packet came, and which it was.
    pub fn delivered(&self) -> Vec<(Time, u32)> {
        let seen = self.seen();
        let delivered = seen.iter().filter(|seen| seen.action == Action::Delivered);
        delivered.map(|seen| (seen.at, seen.packet)).collect()
    }
}

struct Notes(Arc<Mutex<Vec<Seen>>>);

impl Sink for Notes {
    fn interest(&self) -> Interest {
        Interest::LINKS
    }

    fn memory(&self) -> usize {
        self.0.lock().expect("nobody panicked").capacity() * size_of::<Seen>()
    }

    fn record(&mut self, event: &Event<'_>) {
        if let Event::Packet { at, action, packet, .. } = *event {
            self.0.lock().expect("nobody panicked").push(Seen { at, action, packet: packet.flow.0 });
        }
    }

    fn finish(self: Box<Self>, _ended: Time) -> Output {
        Output::Table(Table { name: "notes", columns: Vec::new() })
    }
}
