//! A link of any kind, traces too, under any traffic and any changes: packets are conserved in every element, time goes
//! forward, and what is no trace is refused.

use crate::source::Source;
use voxpath_net::element::capacity::{Capacity, Trace};
use voxpath_net::element::{DelayVariation, Draw, Queueing};
use voxpath_net::packet::{AddressId, Ecn, FlowId, Packet, Transport};
use voxpath_net::tap::Place;
use voxpath_net::{Direction, EventQueue, Link, LinkChange, Pool, Seed, Tap, Target};
use voxpath_units::check::Check;
use voxpath_units::{Prob, Rate, Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::udp::UdpHeader;

/// What a plan may ask for at most: 500,000 hours, and 100 Tbit/s.
const LONGEST_NS: u64 = 1_800_000_000_000_000_000;
const FASTEST_BPS: u64 = 100_000_000_000_000;

/// Something over eleven days.
const LONG_NS: u64 = 1_000_000_000_000_000;

/// A packet has so many events at most: it is delivered, its copy too, and wakes a queue and a serialiser or two.
const MOST_EVENTS: u64 = 8;

/// Panics if something does not hold.
pub fn run(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    refuse_what_is_no_trace(&mut source);
    let Some(direction) = direction(&mut source) else { return };
    let changing = source.bit();
    let target = Target::new(0).expect("small");
    let built = if changing { Link::changing } else { Link::new };
    let mut rig = Rig {
        link: built(&direction, "fuzzed", Seed::new(1, 0), target, Place::Link(0)),
        pool: Pool::new(),
        events: EventQueue::new(),
        tap: Tap::new(),
        now: Time::ZERO,
        sent: 0,
        delivered: 0,
        woken: 0,
        idle: 0,
    };
    while !source.is_empty() {
        match source.below(if changing { 12 } else { 8 }) {
            0..=4 => rig.send(&mut source),
            5..=7 => {
                let until = rig.now.as_nanos().saturating_add(span(&mut source).as_nanos());
                rig.run_until(Time::from_nanos(until.min(LONGEST_NS)));
            }
            _ => {
                let change = LinkChange::sample(&mut Extremes(&mut source), &direction);
                if Check::found(|root| change.check(root)).is_empty() {
                    rig.link.change(rig.now, &change, &mut rig.pool, &mut rig.events, &mut rig.tap);
                }
            }
        }
        rig.check();
    }
    rig.run_until(Time::from_nanos(LONGEST_NS));
    rig.check();
}

struct Rig {
    link: Link,
    pool: Pool,
    events: EventQueue,
    tap: Tap,
    now: Time,
    sent: u64,
    delivered: u64,
    woken: u64,
    /// The wake-ups of a queue that looks at the clock, not at packets.
    idle: u64,
}

impl Rig {
    fn send(&mut self, source: &mut Source<'_>) {
        let packet = Packet {
            src: AddressId(0),
            dst: AddressId(1),
            flow: FlowId(u32::from(source.u8() & 3)),
            len: source.pick(&[1500, 40, 1, 65_535, 576]),
            ttl: Packet::DEFAULT_TTL,
            dscp: 0,
            ecn: Ecn::from_bits(source.u8()),
            corrupted: false,
            enqueued: self.now,
            transport: Transport::Udp(UdpHeader::default()),
            payload: Payload::Empty,
        };
        let packet = self.pool.insert(packet);
        self.sent += 1;
        self.link.send(self.now, packet, &mut self.pool, &mut self.events, &mut self.tap);
    }

    fn run_until(&mut self, end: Time) {
        while self.events.peek_time().is_some_and(|at| at <= end) {
            let (now, ticket, _) = self.events.pop().expect("it was seen");
            assert!(now >= self.now, "time goes forward");
            self.now = now;
            self.woken += 1;
            let Self { link, pool, events, tap, .. } = self;
            if let Some(packet) = link.wake(now, ticket, pool, events, tap) {
                drop(self.pool.take(packet));
                self.delivered += 1;
            } else if self.pool.is_empty() {
                self.idle += 1;
            }
            assert!(self.woken <= MOST_EVENTS * (self.sent + 100), "{} events without an end", self.woken);
        }
        self.now = self.now.max(end);
    }

    fn check(&mut self) {
        self.link.settle(self.now);
        let (counts, held) = (self.link.counts(), self.link.held());
        for ((name, count), held) in counts.elements().into_iter().zip(held.elements()) {
            assert!(count.balances(held), "{name} at {}: {count:?}, {held} held", self.now);
        }
        assert_eq!(counts.queue.entered, self.sent);
        assert_eq!(counts.delay.left, self.delivered);
        assert_eq!(self.pool.len(), self.link.packets_alive());
        let _ = (self.link.wait(self.now), self.link.delay(self.now), self.link.busy_until());
    }
}

fn refuse_what_is_no_trace(source: &mut Source<'_>) {
    let mut at = 0_u32;
    let opportunities_ms: Vec<u32> = (0..source.below(8))
        .map(|_| {
            at = at.wrapping_add(source.pick(&[0, 1, 5, 1000, u32::MAX / 2, u32::MAX]));
            at
        })
        .collect();
    let valid = opportunities_ms.is_sorted() && opportunities_ms.last().is_some_and(|&last| last > 0);
    let trace = Capacity::from(Trace { opportunities_ms });
    assert_eq!(Check::found(|root| trace.check(root)).is_empty(), valid);
}

/// One direction of a link; none where something was refused, as it would be in a plan.
fn direction(source: &mut Source<'_>) -> Option<Direction> {
    let mut direction = Direction::sample(&mut Extremes(source));
    // It looks at its queue as often as this.
    if let Queueing::Pie(pie) = &mut direction.queueing {
        pie.update_ns = pie.update_ns.max(LONG_NS);
    }
    // What changes or starts over in no time takes as many steps as there are nanoseconds.
    match &mut direction.capacity {
        Some(Capacity::Markov(chain)) => {
            chain.states.iter_mut().for_each(|state| state.dwell_ns = state.dwell_ns.max(LONG_NS));
        }
        Some(Capacity::Schedule(schedule)) => lengthen(&mut schedule.period_ns),
        _ => {}
    }
    if let Some(DelayVariation::Steps(steps)) = &mut direction.delay_variation {
        lengthen(&mut steps.period_ns);
    }
    Check::found(|root| direction.check(root)).is_empty().then_some(direction)
}

fn lengthen(period_ns: &mut Option<u64>) {
    *period_ns = period_ns.map(|period| period.max(LONG_NS));
}

/// Settings at the edges of what there may be.
struct Extremes<'a, 's>(&'a mut Source<'s>);

impl Draw for Extremes<'_, '_> {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n as usize) as u64
    }

    fn prob(&mut self) -> f64 {
        prob(self.0).get()
    }

    fn span(&mut self) -> u64 {
        span(self.0).as_nanos()
    }

    fn rate(&mut self) -> u64 {
        rate(self.0).map_or(0, Rate::as_bits_per_sec)
    }
}

fn span(source: &mut Source<'_>) -> Span {
    let ns = source.pick(&[0, 1, 1_000, 1_000_000, 20_000_000, 1_000_000_000, 1 << 50, LONGEST_NS]);
    Span::from_nanos(ns / (1 + u64::from(source.u8() & 7)))
}

fn rate(source: &mut Source<'_>) -> Option<Rate> {
    Rate::from_bits_per_sec(source.pick(&[0, 1, 7, 9_600, 1_000_000, 10_000_000, 1_000_000_007, FASTEST_BPS]))
}

fn prob(source: &mut Source<'_>) -> Prob {
    Prob::new(source.pick(&[0.0, 1.0, 0.5, 0.01, 1e-9, f64::MIN_POSITIVE, 1.0 - f64::EPSILON]))
        .expect("between 0 and 1")
}
