//! A link of any kind, traces too, under any traffic and any changes: packets are conserved in every element, time goes
//! forward, and what is no trace is refused.

use crate::source::Source;
use voxpath_net::element::queue::{Pie, Queueing};
use voxpath_net::element::{
    Capacity, Delay, Distribution, Draw, Dwell, Framing, Limit, Loss, Opportunities, RandomDelay, State,
    Steps,
};
use voxpath_net::packet::{AddressId, Ecn, FlowId, Packet, Transport};
use voxpath_net::tap::Place;
use voxpath_net::{EventQueue, Link, LinkConfig, Pool, Seed, Tap, Target};
use voxpath_units::check::Check;
use voxpath_units::{Prob, Rate, Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::udp::UdpHeader;

/// What a plan may ask for at most: 500,000 hours, and 100 Tbit/s.
const LONGEST_NS: u64 = 1_800_000_000_000_000_000;
const FASTEST_BPS: u64 = 100_000_000_000_000;

/// A packet has so many events at most: it is delivered, its copy too, and wakes a queue and a serialiser or two.
const MOST_EVENTS: u64 = 8;

/// Panics if something does not hold.
pub fn run(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    let Some(config) = config(&mut source) else { return };
    let changing = config.changing;
    // The rate of what varies by itself is nobody's to set.
    let settable = matches!(config.capacity, Capacity::Unlimited | Capacity::Constant(_));
    let target = Target::new(0).expect("small");
    let mut rig = Rig {
        link: Link::new(config, "fuzzed", Seed::new(1, 0), target, Place::Link(0)),
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
            8 if settable => {
                let rate = rate(&mut source);
                rig.link.set_rate(rig.now, rate, &mut rig.events);
            }
            8 => {}
            9 => {
                let Some(loss) = loss(&mut source) else { continue };
                rig.link.set_loss(&loss);
            }
            10 => rig.link.set_delay(span(&mut source)),
            _ => {
                let up = source.bit();
                rig.link.set_up(rig.now, up, &mut rig.pool, &mut rig.events, &mut rig.tap);
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

/// A link; none where something was refused, as a plan would be.
fn config(source: &mut Source<'_>) -> Option<LinkConfig> {
    let shape = source.u8();
    Some(LinkConfig {
        limit: Limit {
            packets: (shape & 1 > 0).then(|| u32::from(source.u8())),
            bytes: (shape & 2 > 0).then(|| u64::from(source.u16())),
        },
        queueing: queueing(source)?,
        capacity: capacity(source)?,
        framing: if shape & 4 > 0 { Framing::Ethernet } else { Framing::Ip },
        loss: loss(source)?,
        corruption: if shape & 8 > 0 { loss(source)? } else { Loss::None },
        duplicate: if shape & 16 > 0 { prob(source) } else { Prob::default() },
        reorder: (shape & 32 > 0).then(|| (prob(source), span(source))),
        delay: delay(source)?,
        changing: shape & 64 > 0,
    })
}

fn capacity(source: &mut Source<'_>) -> Option<Capacity> {
    Some(match source.below(5) {
        0 => rate(source).into(),
        1 => Capacity::Schedule(steps(source, |source| rate(source).map_or(0, Rate::as_bits_per_sec))?),
        2 => {
            let count = 1 + source.below(4);
            let state = |source: &mut Source<'_>| State {
                rate: rate(source).map_or(0, Rate::as_bits_per_sec),
                // A chain that changes in no time takes as many steps as there are nanoseconds.
                dwell: {
                    let dwell = span(source).max(Span::from_secs(1_000_000));
                    if source.bit() { Dwell::Constant(dwell) } else { Dwell::Exponential(dwell) }
                },
                next: (0..count).map(|_| prob(source)).collect(),
            };
            Capacity::Markov((0..count).map(|_| state(source)).collect())
        }
        3 => {
            let mut at = 0_u32;
            let ms: Vec<u32> = (0..source.u8())
                .map(|_| {
                    at = at.wrapping_add(source.pick(&[0, 1, 5, 1000, u32::MAX / 2, u32::MAX]));
                    at
                })
                .collect();
            let trace = Opportunities::new(&ms);
            assert_eq!(trace.is_some(), ms.is_sorted() && ms.last().is_some_and(|&last| last > 0));
            trace.iter().for_each(|trace| assert!(trace.mean_rate() > 0 || ms.len() < 1000));
            Capacity::Trace(trace?)
        }
        _ => rate(source).map_or(Capacity::Unlimited, Capacity::Constant),
    })
}

fn loss(source: &mut Source<'_>) -> Option<Loss> {
    let loss = Loss::sample(&mut Extremes(source));
    Check::found(|root| loss.check(root)).is_empty().then_some(loss)
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

fn delay(source: &mut Source<'_>) -> Option<Delay> {
    Some(match source.below(4) {
        0 => Delay::Constant(span(source)),
        1 => Delay::Steps(steps(source, span)?),
        kind => {
            let distribution = match kind {
                2 => Distribution::Normal { mean: span(source), deviation: span(source) },
                _ => Distribution::Pareto {
                    least: span(source),
                    shape: source.pick(&[2.5, 1.0, 1.0001, 0.01, 1e-9, 1e9]),
                },
            };
            Delay::Random(RandomDelay::new(distribution, prob(source), source.bit()))
        }
    })
}

fn queueing(source: &mut Source<'_>) -> Option<Queueing> {
    let queueing = match Queueing::sample(&mut Extremes(source)) {
        // It looks at its queue as often as this.
        Queueing::Pie(pie) => Pie { update_ns: pie.update_ns.max(1_000_000_000_000), ..pie }.into(),
        other => other,
    };
    Check::found(|root| queueing.check(root)).is_empty().then_some(queueing)
}

/// Up to seven steps; none where their order or the period is refused.
fn steps<T: Copy>(source: &mut Source<'_>, value: impl Fn(&mut Source<'_>) -> T) -> Option<Steps<T>> {
    let mut from = Span::ZERO;
    let list = (0..source.below(8))
        .map(|_| {
            let step = (from, value(source));
            // As for chains.
            from = Span::from_nanos(from.as_nanos() + span(source).as_nanos() / 16);
            step
        })
        .collect();
    let period = source.bit().then(|| span(source).max(Span::from_secs(1_000_000)));
    Steps::new(list, period)
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
