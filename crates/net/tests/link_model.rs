//! [`Link`](voxpath_net::Link) computes a packet's whole way when it arrives. Here is the same link as a textbook
//! would write it: every step is an event of its own, and every packet sits in the element that holds it. Both
//! have to agree on everything that can be seen, at every moment.
#![allow(missing_docs)]

mod common;
mod textbook;

use common::{Rig, Seen, packet};
use proptest::prelude::*;
use textbook::{Arrival, Change, Spec, SpecLoss, Textbook};
use voxpath_net::element::queue::{Codel, FqCodel, Pie, Queueing, Red};
use voxpath_net::element::{Draw, Limit, Reorder};
use voxpath_net::packet::{AddressId, Ecn, Packet};
use voxpath_net::tap::Action;
use voxpath_net::{Direction, Seed};
use voxpath_units::{Rate, Span, Time};

/// How long a packet of 1500 bytes occupies the wire, at least 1 ns: arrivals are spaced in units of that.
fn typical_service(rate_bps: Option<u64>) -> u64 {
    rate_bps.map_or(1_000, |rate| (1_500 * 8 * 1_000_000_000 / u128::from(rate)).max(1) as u64)
}

const RATES: [u64; 11] = [
    1,
    7,
    9_600,
    1_000_000,
    1_536_000,
    10_000_000,
    3_000_000_000,
    10_000_000_000,
    99_999_999_977,
    100_000_000_000,
    100_000_000_000_000,
];

fn rate() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![1 => Just(None), 6 => prop::sample::select(&RATES[..]).prop_map(Some)]
}

fn loss() -> impl Strategy<Value = SpecLoss> {
    let list = prop::collection::btree_set(1_u64..60, 0..30);
    prop_oneof![
        3 => Just(SpecLoss::None),
        2 => (0.0..=1.0_f64).prop_map(SpecLoss::Bernoulli),
        1 => (1e-6..1e-3_f64).prop_map(SpecLoss::ExactBitErrors),
        1 => (1e-6..1e-3_f64).prop_map(SpecLoss::LinearBitErrors),
        1 => list.prop_map(|set| SpecLoss::List(set.into_iter().collect())),
    ]
}

fn spec() -> impl Strategy<Value = Spec> {
    let often = || prop_oneof![Just(0.0), 0.0..=1.0_f64, Just(1.0)];
    // Spans in units of a typical service.
    let some_services = || 0.0..6.0_f64;
    (
        rate(),
        (
            prop::option::of(0_u32..12),
            prop::option::of(0_u64..20_000),
            prop::collection::vec(any::<u64>(), 0..16),
        ),
        any::<bool>(),
        (loss(), loss()),
        often(),
        prop::option::of((often(), some_services())),
        some_services(),
        any::<bool>(),
    )
        .prop_map(
            |(
                rate_bps,
                (queue_packets, queue_bytes, choices),
                ethernet,
                (loss, corruption),
                duplicate,
                reorder,
                delay,
                changing,
            )| {
                let service = typical_service(rate_bps) as f64;
                Spec {
                    rate_bps,
                    queue_packets,
                    queue_bytes,
                    queueing: queueing(&choices, service),
                    ethernet,
                    loss,
                    corruption,
                    duplicate,
                    reorder: reorder.map(|(p, by)| (p, (by * service) as u64)),
                    delay_ns: (delay * service) as u64,
                    changing,
                }
            },
        )
}

/// Choices, their times in typical services of a link.
struct Services<'a> {
    choices: std::iter::Copied<std::slice::Iter<'a, u64>>,
    service: f64,
}

impl Draw for Services<'_> {
    fn below(&mut self, n: u64) -> u64 {
        self.choices.next().unwrap_or(0) % n
    }

    fn prob(&mut self) -> f64 {
        [0.0, 1.0, self.unit(), self.unit()][self.below(4) as usize]
    }

    fn span(&mut self) -> u64 {
        ((0.5 + 4.0 * self.unit()) * self.service).max(1.0) as u64
    }

    fn rate(&mut self) -> u64 {
        RATES[self.below(RATES.len() as u64) as usize]
    }
}

/// A discipline that the textbook knows.
fn queueing(choices: &[u64], service: f64) -> Queueing {
    match Queueing::sample(&mut Services { choices: choices.iter().copied(), service }) {
        // No two flows meet in one queue.
        Queueing::FqCodel(settings) => FqCodel { queues: 1 << 20, ..settings }.into(),
        other
            if textbook::queues::of(&other, Limit::default(), Seed::new(0, 0).stream("unused")).is_none() =>
        {
            Queueing::default()
        }
        other => other,
    }
}

/// What changes, and how many typical services after what changed before.
fn changes() -> impl Strategy<Value = Vec<(f64, Change)>> {
    // Near what the link may have had, or nothing would happen between two packets.
    let change = prop_oneof![
        3 => (1_u64..100).prop_map(|factor| Change::Rate(Some(factor))),
        1 => Just(Change::Rate(None)),
        1 => loss().prop_map(Change::Loss),
        1 => (0_u64..600).prop_map(Change::Delay),
        1 => any::<bool>().prop_map(Change::Up),
        1 => Just(Change::Up(true)),
    ];
    prop::collection::vec((0.0..20.0_f64, change), 0..8)
}

/// Gaps in hundredths of a typical service, many of them none, and lengths of all sizes.
fn traffic() -> impl Strategy<Value = Vec<(u64, u32, bool, u32)>> {
    let gap = prop_oneof![2 => Just(0_u64), 4 => 0_u64..200, 1 => 0_u64..2_000];
    let len = prop_oneof![3 => Just(1500_u32), 2 => Just(40_u32), 2 => 1_u32..=65_535];
    prop::collection::vec((gap, len, any::<bool>(), 0_u32..4), 1..120)
}

impl Rig {
    fn change(&mut self, now: Time, change: &Change) {
        let Self { link, pool, events, tap, .. } = self;
        match change {
            Change::Rate(rate) => link.set_rate(now, rate.and_then(Rate::from_bits_per_sec), events),
            Change::Loss(loss) => link.set_loss(&loss.element()),
            Change::Delay(ns) => link.set_delay(Span::from_nanos(*ns)),
            Change::Up(up) => link.set_up(now, *up, pool, events, tap),
        }
    }
}

fn packet_of(arrival: &Arrival, number: u32) -> Packet {
    Packet {
        src: AddressId(arrival.flow),
        ecn: if arrival.ect { Ecn::Ect0 } else { Ecn::NotEct },
        ..packet(number, arrival.len)
    }
}

const ACTIONS: [Action; 7] = [
    Action::Enqueued,
    Action::Marked,
    Action::Dropped,
    Action::Lost,
    Action::Corrupted,
    Action::Duplicated,
    Action::Delivered,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_link_does_what_the_textbook_says_at_every_moment(
        spec in spec(),
        traffic in traffic(),
        changes in changes(),
        moments in prop::collection::vec(0.0..1.2_f64, 0..20),
    ) {
        let unit = typical_service(spec.rate_bps);
        let mut at = 0;
        let arrivals: Vec<Arrival> = traffic
            .into_iter()
            .map(|(gap, len, ect, flow)| {
                at += gap * unit / 100;
                Arrival { at, len, ect, flow }
            })
            .collect();

        let mut at = 0;
        let changes: Vec<(u64, Change)> = changes
            .into_iter()
            .filter(|_| spec.changing)
            .map(|(after, change)| {
                at += (after * unit as f64) as u64;
                let change = match change {
                    Change::Rate(Some(factor)) => {
                        let rate = u128::from(spec.rate_bps.unwrap_or(1_000_000)) * u128::from(factor) / 30;
                        Change::Rate(Some(rate.clamp(1, 100_000_000_000_000) as u64))
                    }
                    Change::Delay(hundredths) => Change::Delay(hundredths * unit / 100),
                    other => other,
                };
                (at, change)
            })
            .collect();

        // All that ever happens there, the nanoseconds around it, and moments in between.
        let mut whole = Textbook::new(&spec, &arrivals, &changes);
        whole.run_until(u64::MAX);
        let times = || whole.seen.iter().map(|seen| seen.at.as_nanos());
        let last = times().max().unwrap_or(0) as f64;
        let between = moments.iter().map(|moment| (moment * last) as u64);
        let mut probes: Vec<u64> =
            times().flat_map(|at| [at.saturating_sub(1), at, at + 1]).chain(between).collect();
        probes.sort_unstable();
        probes.dedup();

        let mut expected = Textbook::new(&spec, &arrivals, &changes);
        let mut rig = spec.rig();
        let mut next = arrivals.iter().zip(0..).peekable();
        let mut next_change = changes.iter().peekable();
        for probe in probes {
            expected.run_until(probe);
            let within = |at: Option<u64>| at.filter(|&at| at <= probe);
            loop {
                let arrival = within(next.peek().map(|(arrival, _)| arrival.at));
                let change = within(next_change.peek().map(|(at, _)| *at));
                let Some(at) = [arrival, change].into_iter().flatten().min() else { break };
                rig.run_until(Time::from_nanos(at));
                if change == Some(at) {
                    let (_, change) = next_change.next().expect("it was seen");
                    rig.change(Time::from_nanos(at), change);
                } else {
                    let (arrival, number) = next.next().expect("it was seen");
                    rig.send(Time::from_nanos(at), packet_of(arrival, number));
                }
            }
            rig.run_until(Time::from_nanos(probe));
            rig.link.settle(Time::from_nanos(probe));

            let (counts, held) = (rig.link.counts(), rig.link.held());
            prop_assert_eq!(counts, expected.counts, "accounts at {} ns", probe);
            prop_assert_eq!(held, expected.held(), "held at {} ns", probe);
            for ((name, count), held) in counts.elements().into_iter().zip(held.elements()) {
                prop_assert!(count.balances(held), "{} at {} ns: {:?}, {} held", name, probe, count, held);
            }
            // The link's books and the pool's are two views of the same packets.
            prop_assert_eq!(rig.pool.len(), rig.link.packets_alive());
            let in_elements: u64 = held.elements().iter().sum();
            prop_assert_eq!(in_elements, rig.pool.len() as u64 + rig.link.doomed() - rig.link.unborn());
            let busy = rig.link.busy_until().is_some_and(|until| until > Time::from_nanos(probe));
            prop_assert_eq!(busy, held.serialiser + held.queue > 0);
        }
        prop_assert!(rig.pool.is_empty());

        // What happened to whom, when, and in which order.
        let seen = rig.seen();
        for action in ACTIONS {
            let ours: Vec<&Seen> = seen.iter().filter(|seen| seen.action == action).collect();
            let theirs: Vec<&Seen> = expected.seen.iter().filter(|seen| seen.action == action).collect();
            prop_assert_eq!(ours, theirs, "{:?}", action);
        }
    }
}

/// Guards the property above against becoming vacuous.
#[test]
fn the_textbook_meets_every_kind_of_event_under_every_discipline() {
    let (target_ns, interval_ns, ecn) = (20_000_000, 100_000_000, true);
    let red = Red {
        min_packets: 2.0,
        max_packets: 8.0,
        max_p: 0.1,
        weight: 0.2,
        gentle: true,
        mean_packet_bytes: 1500,
        ecn,
    };
    let pie = Pie {
        target_ns: 40_000_000,
        update_ns: 20_000_000,
        max_burst_ns: 60_000_000,
        alpha: 0.125,
        beta: 1.25,
        ecn,
    };
    for queueing in [
        Queueing::default(),
        red.into(),
        Codel { target_ns, interval_ns, ecn }.into(),
        FqCodel { target_ns, interval_ns, queues: 1 << 20, quantum_bytes: 1500, ecn }.into(),
        pie.into(),
    ] {
        let spec = Spec {
            rate_bps: Some(1_000_000),
            queue_packets: Some(20),
            queue_bytes: None,
            queueing: queueing.clone(),
            ethernet: true,
            loss: SpecLoss::Bernoulli(0.2),
            corruption: SpecLoss::Bernoulli(0.2),
            duplicate: 0.2,
            reorder: Some((0.2, 30_000_000)),
            delay_ns: 5_000_000,
            changing: false,
        };
        let arrival = |i: u32| Arrival {
            at: u64::from(i) * 12_000_000,
            len: 1500,
            ect: i.is_multiple_of(2),
            flow: i % 3,
        };
        let arrivals: Vec<Arrival> = (0..5_000).map(arrival).collect();
        let mut link = Textbook::new(&spec, &arrivals, &[]);
        link.run_until(u64::MAX);
        for action in ACTIONS {
            let count = link.seen.iter().filter(|seen| seen.action == action).count();
            let possible = queueing != Queueing::default() || action != Action::Marked;
            assert!(count > 5 || !possible, "{queueing:?}: {count} {action:?}");
        }
        let delivered = link.seen.iter().filter(|seen| seen.action == Action::Delivered);
        assert!(!delivered.map(|seen| seen.packet).is_sorted(), "some were overtaken");
    }
}

#[test]
fn work_beyond_the_end_of_the_clock_waits_there_for_ever() {
    // 65,535 bytes at 1 bit/s take six days; forty thousand of them 6.6 centuries, which is more than the clock has.
    let forever = Span::MAX.as_nanos();
    for reorder in [None, Some(Reorder { p: 0.5, by_ns: forever })] {
        let mut rig =
            Rig::new(Direction { rate_bps: Some(1), reorder, delay_ns: forever, ..Direction::default() });
        for number in 0..40_000 {
            rig.send(Time::from_nanos(u64::from(number)), packet(number, 65_535));
        }
        let century_s = 100 * 365 * 86_400;
        let century = Time::ZERO + Span::from_secs(century_s);
        rig.run_until(century);
        rig.link.settle(century);
        // Whatever is through is still in the line: that is as long as the clock.
        let (counts, held) = (rig.link.counts(), rig.link.held());
        assert_eq!(counts.serialiser.left, century_s / (65_535 * 8));
        assert_eq!((held.delay, held.serialiser), (counts.serialiser.left, 1));
        assert_eq!(held.elements().iter().sum::<u64>(), 40_000);
        assert!(counts.elements().iter().zip(held.elements()).all(|((_, count), held)| count.balances(held)));
    }
}
