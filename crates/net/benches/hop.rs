//! What one hop costs, and what it would cost otherwise: the spike that decided the core types.
//!
//! `cargo bench -p voxpath-net --bench hop` prints nanoseconds per operation, the best of several rounds:
//!
//! * a bare event queue (pop and push) at several depths, ours beside `std`'s binary heap;
//! * moving a packet through a ring by value, and by handle through a pool;
//! * one hop through a whole [`Link`], with one event for each packet in flight, and as it is now.
// A benchmark is a clock's reason to be.
#![allow(clippy::disallowed_methods, missing_docs)]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hint::black_box;
use std::time::Instant;
use voxpath_net::element::queue::{Codel, FqCodel, Pie, Queueing};
use voxpath_net::packet::{AddressId, Ecn, FlowId, Packet, Transport};
use voxpath_net::tap::{Place, Tap};
use voxpath_net::{Direction, EventQueue, Link, Pool, Seed, Target};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::TcpHeader;

const ROUNDS: usize = 5;

fn main() {
    println!("packet {} B, handle {} B", size_of::<Packet>(), size_of::<voxpath_net::Handle>());
    for depth in [10, 100, 1_000, 10_000, 100_000] {
        report(&format!("pop+push, depth {depth}, std BinaryHeap"), binary_heap(depth));
        report(&format!("pop+push, depth {depth}, EventQueue"), event_queue(depth));
    }
    for window in [10, 1_000, 100_000] {
        report(&format!("ring of {window}, packets by value"), ring_by_value(window));
        report(&format!("ring of {window}, handles into a pool"), ring_by_handle(window));
    }
    for in_flight in [10, 1_000, 10_000] {
        report(&format!("hop, {in_flight} in flight, an event for each"), hop_event_each(in_flight));
        report(&format!("hop, {in_flight} in flight, Link"), hop_link(in_flight, Queueing::default()));
    }
    // Targets that are never reached: the cost of deciding, not of dropping.
    let (target_ns, interval_ns, ecn) = (10_000_000_000, 100_000_000, true);
    let pie = Pie {
        target_ns,
        update_ns: 15_000_000,
        max_burst_ns: 150_000_000,
        alpha: 0.125,
        beta: 1.25,
        ecn: true,
    };
    for (name, queueing) in [
        ("CoDel", Queueing::from(Codel { target_ns, interval_ns, ecn })),
        ("FQ-CoDel", FqCodel { target_ns, interval_ns, queues: 1024, quantum_bytes: 1514, ecn }.into()),
        ("PIE", pie.into()),
    ] {
        report(&format!("hop, 1000 in flight, Link under {name}"), hop_link(1_000, queueing));
    }
}

/// Prints the best of several rounds of `run`, which answers with the number of its operations.
fn report(name: &str, mut run: impl FnMut() -> u64) {
    let best = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let operations = run();
            start.elapsed().as_nanos() as f64 / operations as f64
        })
        .fold(f64::INFINITY, f64::min);
    println!("{name:<50} {best:8.1} ns");
}

/// A cheap sequence of increments, the same for every contender.
struct Increments(u64);
impl Increments {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.0 >> 44
    }
}

fn binary_heap(depth: u32) -> impl FnMut() -> u64 {
    move || {
        let mut step = Increments(1);
        let mut heap: BinaryHeap<_> =
            (0..u64::from(depth)).map(|i| Reverse((step.next(), i, 0_u32))).collect();
        let operations = 2_000_000;
        for order in 0..operations {
            let Reverse((time, _, target)) = heap.pop().expect("never empty");
            heap.push(Reverse((time + step.next(), u64::from(depth) + order, black_box(target))));
        }
        operations
    }
}

fn event_queue(depth: u32) -> impl FnMut() -> u64 {
    move || {
        let mut step = Increments(1);
        let mut queue = EventQueue::new();
        for i in 0..depth {
            queue.push(Time::from_nanos(step.next()), Target::new(i).expect("small"));
        }
        let operations = 2_000_000;
        for _ in 0..operations {
            let (time, _, target) = queue.pop().expect("never empty");
            queue.push(time + Span::from_nanos(step.next()), black_box(target));
        }
        operations
    }
}

fn packet() -> Packet {
    Packet {
        src: AddressId(0),
        dst: AddressId(1),
        flow: FlowId(0),
        len: 1500,
        ttl: Packet::DEFAULT_TTL,
        dscp: 0,
        ecn: Ecn::NotEct,
        corrupted: false,
        enqueued: Time::ZERO,
        transport: Transport::Tcp(TcpHeader::default()),
        payload: Payload::pattern(0, 0, 1460),
    }
}

fn ring_by_value(window: usize) -> impl FnMut() -> u64 {
    move || {
        let mut ring: VecDeque<Packet> = (0..window).map(|_| packet()).collect();
        let operations = 2_000_000;
        for _ in 0..operations {
            let mut next = ring.pop_front().expect("never empty");
            next.ttl = next.ttl.wrapping_sub(1);
            ring.push_back(black_box(next));
        }
        operations
    }
}

fn ring_by_handle(window: usize) -> impl FnMut() -> u64 {
    move || {
        let mut pool = Pool::new();
        let mut ring: VecDeque<_> = (0..window).map(|_| pool.insert(packet())).collect();
        let operations = 2_000_000;
        for _ in 0..operations {
            let next = ring.pop_front().expect("never empty");
            let ttl = &mut pool[&next].ttl;
            *ttl = ttl.wrapping_sub(1);
            ring.push_back(black_box(next));
        }
        operations
    }
}

/// A link whose packets each have an entry in the event queue, as most simulators do it.
fn hop_event_each(in_flight: u32) -> impl FnMut() -> u64 {
    move || {
        let mut pool = Pool::new();
        let mut queue = EventQueue::new();
        let mut packets: Vec<_> = (0..in_flight).map(|_| Some(pool.insert(packet()))).collect();
        let (gap, delay) = (Span::from_nanos(12_000), Span::from_nanos(12_000) * u64::from(in_flight));
        for i in 0..in_flight {
            queue.push(Time::ZERO + gap * u64::from(i), Target::new(i).expect("small"));
        }
        let operations = 2_000_000;
        for _ in 0..operations {
            let (now, _, target) = queue.pop().expect("never empty");
            let handle = packets[target.index()].take().expect("scheduled once");
            pool[&handle].enqueued = now;
            packets[target.index()] = Some(black_box(handle));
            queue.push(now + delay, target);
        }
        operations
    }
}

/// A saturated link: each delivered packet is sent again.
fn hop_link(in_flight: u32, queueing: Queueing) -> impl FnMut() -> u64 {
    move || {
        let mut pool = Pool::new();
        let mut queue = EventQueue::new();
        let mut tap = Tap::new();
        let direction = Direction {
            queue_packets: Some(in_flight),
            rate_bps: Some(1_000_000_000),
            queueing: queueing.clone(),
            delay_ns: 12_000 * u64::from(in_flight / 2),
            ..Direction::default()
        };
        let target = Target::new(0).expect("small");
        let mut link = Link::new(&direction, "bench", Seed::new(1, 0), target, Place::Link(0));
        for _ in 0..in_flight {
            let handle = pool.insert(packet());
            link.send(Time::ZERO, handle, &mut pool, &mut queue, &mut tap);
        }
        let operations = 2_000_000;
        for _ in 0..operations {
            let (now, handle) = loop {
                let (now, ticket, _) = queue.pop().expect("never empty");
                // Under a discipline an end of service wakes it too.
                if let Some(handle) = link.wake(now, ticket, &mut pool, &mut queue, &mut tap) {
                    break (now, handle);
                }
            };
            link.send(now, black_box(handle), &mut pool, &mut queue, &mut tap);
        }
        operations
    }
}
