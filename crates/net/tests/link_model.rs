//! [`Link`](voxpath_net::Link) computes a packet's whole way when it arrives. Here is the same link as a textbook
//! would write it: every step is an event of its own, and every packet sits in the element that holds it. Both
//! have to agree on everything that can be seen, at every moment.
#![allow(missing_docs)]

mod common;

use common::{Rig, Seen, packet};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use voxpath_net::element::{BitErrorForm, Framing, Limit, Loss};
use voxpath_net::link::{Counts, Held};
use voxpath_net::tap::Action;
use voxpath_net::{LinkConfig, Seed, Stream};
use voxpath_units::{Prob, Rate, Span, Time};

/// What a link is to do, in plain numbers.
#[derive(Debug, Clone)]
struct Spec {
    rate_bps: Option<u64>,
    queue_packets: Option<u32>,
    queue_bytes: Option<u64>,
    ethernet: bool,
    loss: SpecLoss,
    duplicate: f64,
    reorder: Option<(f64, u64)>,
    delay_ns: u64,
    changing: bool,
}

/// Something that happens to the link.
#[derive(Debug, Clone)]
enum Change {
    Rate(Option<u64>),
    Loss(SpecLoss),
    Delay(u64),
    Up(bool),
}

#[derive(Debug, Clone)]
enum SpecLoss {
    None,
    Bernoulli(f64),
    ExactBitErrors(f64),
    LinearBitErrors(f64),
    List(Vec<u64>),
}

impl Spec {
    fn config(&self) -> LinkConfig {
        LinkConfig {
            limit: Limit { packets: self.queue_packets, bytes: self.queue_bytes },
            capacity: self.rate_bps.and_then(Rate::from_bits_per_sec).into(),
            framing: if self.ethernet { Framing::Ethernet } else { Framing::Ip },
            loss: self.loss.element(),
            duplicate: prob(self.duplicate),
            reorder: self.reorder.map(|(p, by)| (prob(p), Span::from_nanos(by))),
            delay: Span::from_nanos(self.delay_ns),
            changing: self.changing,
        }
    }

    /// Bits that one packet puts on the wire.
    fn wire_bits(&self, len: u32) -> u128 {
        8 * (u128::from(len) + if self.ethernet { 38 } else { 0 })
    }
}

impl SpecLoss {
    fn element(&self) -> Loss {
        match self {
            Self::None => Loss::None,
            Self::Bernoulli(p) => Loss::bernoulli(prob(*p)),
            Self::ExactBitErrors(rate) => Loss::bit_errors(*rate, BitErrorForm::Exact),
            Self::LinearBitErrors(rate) => Loss::bit_errors(*rate, BitErrorForm::Linear),
            Self::List(packets) => Loss::list(packets.clone()),
        }
    }
}

fn prob(p: f64) -> Prob {
    Prob::new(p).expect("a probability")
}

/// A packet's arrival; packets are numbered in the order of arrival.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: u64,
    len: u32,
}

/// A step of the textbook link.
#[derive(Debug)]
enum Step {
    Arrive(u32),
    Change(Change),
    EndService,
    Deliver(u32),
}

/// Steps of one time: the link's own first, then changes, then arrivals, in the order in which they were scheduled.
type Key = (u64, u8, u64);

struct Textbook {
    spec: Spec,
    arrivals: Vec<Arrival>,
    agenda: BTreeMap<Key, Step>,
    scheduled: u64,
    waiting: VecDeque<u32>,
    in_service: Option<u32>,
    in_flight: u64,
    up: bool,
    end_of_service: Option<Key>,
    /// When the serialiser was last found idle or got another rate, and the bits that it had to send since, times 10^9:
    /// ends of service are computed from there, so that no error adds up.
    busy_since: u64,
    busy_work: u128,
    /// Packets that were to be lost or not, since the loss is what it is.
    offered: u64,
    last_in_order: u64,
    loss_stream: Stream,
    duplicate_stream: Stream,
    reorder_stream: Stream,
    counts: Counts,
    seen: Vec<Seen>,
}

impl Textbook {
    fn new(spec: &Spec, arrivals: &[Arrival], changes: &[(u64, Change)]) -> Self {
        let stream = |element| Seed::new(1, 0).stream(&format!("link {} {element}", Rig::NAME));
        let mut link = Self {
            spec: spec.clone(),
            arrivals: arrivals.to_vec(),
            agenda: BTreeMap::new(),
            scheduled: 0,
            waiting: VecDeque::new(),
            in_service: None,
            in_flight: 0,
            up: true,
            end_of_service: None,
            busy_since: 0,
            busy_work: 0,
            offered: 0,
            last_in_order: 0,
            loss_stream: stream("loss"),
            duplicate_stream: stream("duplication"),
            reorder_stream: stream("reordering"),
            counts: Counts::default(),
            seen: Vec::new(),
        };
        for (number, arrival) in (0..).zip(arrivals) {
            link.schedule(arrival.at, Step::Arrive(number));
        }
        for (at, change) in changes {
            link.schedule(*at, Step::Change(change.clone()));
        }
        link
    }

    fn schedule(&mut self, at: u64, step: Step) -> Key {
        let class = match step {
            Step::EndService | Step::Deliver(_) => 0,
            Step::Change(_) => 1,
            Step::Arrive(_) => 2,
        };
        let key = (at, class, self.scheduled);
        self.agenda.insert(key, step);
        self.scheduled += 1;
        key
    }

    fn run_until(&mut self, end: u64) {
        while let Some(entry) = self.agenda.first_entry() {
            let &(now, ..) = entry.key();
            if now > end {
                return;
            }
            match entry.remove() {
                Step::Arrive(packet) => self.arrive(now, packet),
                Step::Change(change) => self.change(now, change),
                Step::EndService => self.end_service(now),
                Step::Deliver(packet) => {
                    self.in_flight -= 1;
                    self.counts.delay.left += 1;
                    self.see(now, Action::Delivered, packet);
                }
            }
        }
    }

    fn held(&self) -> Held {
        Held {
            queue: self.waiting.len() as u64,
            serialiser: u64::from(self.in_service.is_some()),
            delay: self.in_flight,
        }
    }

    fn arrive(&mut self, now: u64, packet: u32) {
        self.counts.queue.entered += 1;
        if !self.up {
            self.counts.queue.dropped += 1;
            self.see(now, Action::Dropped, packet);
            return;
        }
        if self.in_service.is_none() {
            self.see(now, Action::Enqueued, packet);
            self.start_service(now, packet);
            return;
        }
        let bytes = |packet: &u32| u64::from(self.arrivals[*packet as usize].len);
        let waiting_bytes: u64 = self.waiting.iter().map(bytes).sum();
        let too_many = self.spec.queue_packets.is_some_and(|limit| self.waiting.len() as u32 + 1 > limit);
        let too_much = self.spec.queue_bytes.is_some_and(|limit| waiting_bytes + bytes(&packet) > limit);
        if too_many || too_much {
            self.counts.queue.dropped += 1;
            self.see(now, Action::Dropped, packet);
        } else {
            self.see(now, Action::Enqueued, packet);
            self.waiting.push_back(packet);
        }
    }

    fn start_service(&mut self, now: u64, packet: u32) {
        self.counts.queue.left += 1;
        self.counts.serialiser.entered += 1;
        self.in_service = Some(packet);
        if u128::from(now - self.busy_since) * self.rate() >= self.busy_work {
            (self.busy_since, self.busy_work) = (now, 0);
        }
        self.busy_work += self.spec.wire_bits(self.arrivals[packet as usize].len) * 1_000_000_000;
        self.schedule_end_of_service();
    }

    /// Bits a second; without a rate far more than any packet has in a nanosecond.
    fn rate(&self) -> u128 {
        self.spec.rate_bps.map_or(u128::from(u64::MAX), u128::from)
    }

    /// What is in service is through when all work is done; events happen on the whole nanosecond before.
    fn schedule_end_of_service(&mut self) {
        let end = self.busy_since + (self.busy_work / self.rate()) as u64;
        self.end_of_service = Some(self.schedule(end, Step::EndService));
    }

    fn change(&mut self, now: u64, change: Change) {
        match change {
            Change::Rate(rate) => {
                let done = u128::from(now - self.busy_since) * self.rate();
                self.busy_work = self.busy_work.saturating_sub(done);
                self.busy_since = now;
                self.spec.rate_bps = rate;
                if self.in_service.is_some() {
                    self.agenda.remove(&self.end_of_service.expect("a packet is in service"));
                    self.schedule_end_of_service();
                } else {
                    self.busy_work = 0;
                }
            }
            Change::Loss(loss) => (self.spec.loss, self.offered) = (loss, 0),
            Change::Delay(ns) => self.spec.delay_ns = ns,
            Change::Up(up) => {
                self.up = up;
                if up {
                    return;
                }
                if let Some(packet) = self.in_service.take() {
                    self.agenda.remove(&self.end_of_service.expect("a packet is in service"));
                    self.counts.serialiser.dropped += 1;
                    self.see(now, Action::Dropped, packet);
                }
                while let Some(packet) = self.waiting.pop_front() {
                    self.counts.queue.dropped += 1;
                    self.see(now, Action::Dropped, packet);
                }
                self.busy_work = 0;
            }
        }
    }

    fn end_service(&mut self, now: u64) {
        let packet = self.in_service.take().expect("a packet is in service");
        self.counts.serialiser.left += 1;
        self.counts.loss.entered += 1;
        self.offered += 1;
        if self.loses(self.arrivals[packet as usize].len) {
            self.counts.loss.dropped += 1;
            self.see(now, Action::Lost, packet);
        } else {
            self.counts.loss.left += 1;
            self.counts.duplication.entered += 1;
            let twice = self.spec.duplicate > 0.0 && self.duplicate_stream.happens(prob(self.spec.duplicate));
            if twice {
                self.counts.duplication.duplicated += 1;
                self.see(now, Action::Duplicated, packet);
            }
            for _ in 0..if twice { 2 } else { 1 } {
                self.propagate(now, packet);
            }
        }
        if let Some(next) = self.waiting.pop_front() {
            self.start_service(now, next);
        }
    }

    fn propagate(&mut self, now: u64, packet: u32) {
        self.counts.duplication.left += 1;
        self.counts.delay.entered += 1;
        self.in_flight += 1;
        // What is not held back keeps its order, though the delay may have become shorter.
        let mut at = (now + self.spec.delay_ns).max(self.last_in_order);
        if let Some((p, by)) = self.spec.reorder
            && self.reorder_stream.happens(prob(p))
        {
            at += by;
        } else {
            self.last_in_order = at;
        }
        self.schedule(at, Step::Deliver(packet));
    }

    fn loses(&mut self, len: u32) -> bool {
        let bits = 8 * len;
        let p = match &self.spec.loss {
            SpecLoss::None => return false,
            SpecLoss::List(packets) => return packets.contains(&self.offered),
            SpecLoss::Bernoulli(p) => *p,
            SpecLoss::LinearBitErrors(rate) => (f64::from(bits) * rate).min(1.0),
            // Accurate enough at the rates that are tried here.
            SpecLoss::ExactBitErrors(rate) => 1.0 - (1.0 - rate).powi(bits as i32),
        };
        self.loss_stream.happens(prob(p))
    }

    fn see(&mut self, now: u64, action: Action, packet: u32) {
        self.seen.push(Seen { at: Time::from_nanos(now), action, packet });
    }
}

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
        (prop::option::of(0_u32..8), prop::option::of(0_u64..20_000)),
        any::<bool>(),
        loss(),
        often(),
        prop::option::of((often(), some_services())),
        some_services(),
        any::<bool>(),
    )
        .prop_map(
            |(
                rate_bps,
                (queue_packets, queue_bytes),
                ethernet,
                loss,
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
                    ethernet,
                    loss,
                    duplicate,
                    reorder: reorder.map(|(p, by)| (p, (by * service) as u64)),
                    delay_ns: (delay * service) as u64,
                    changing,
                }
            },
        )
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
fn traffic() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![2 => Just(0_u64), 4 => 0_u64..200, 1 => 0_u64..2_000];
    let len = prop_oneof![3 => Just(1500_u32), 2 => Just(40_u32), 2 => 1_u32..=65_535];
    prop::collection::vec((gap, len), 1..60)
}

impl Rig {
    fn change(&mut self, now: Time, change: &Change) {
        let Self { link, pool, events, tap, .. } = self;
        match change {
            Change::Rate(rate) => link.set_rate(now, rate.and_then(Rate::from_bits_per_sec), events),
            Change::Loss(loss) => link.set_loss(loss.element()),
            Change::Delay(ns) => link.set_delay(Span::from_nanos(*ns)),
            Change::Up(up) => link.set_up(now, *up, pool, events, tap),
        }
    }
}

const ACTIONS: [Action; 5] =
    [Action::Enqueued, Action::Dropped, Action::Lost, Action::Duplicated, Action::Delivered];

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
            .map(|(gap, len)| {
                at += gap * unit / 100;
                Arrival { at, len }
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
        let mut rig = Rig::new(spec.config());
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
                    rig.send(Time::from_nanos(at), packet(number, arrival.len));
                }
            }
            rig.run_until(Time::from_nanos(probe));
            rig.link.settle(Time::from_nanos(probe));

            let (counts, held) = (*rig.link.counts(), rig.link.held());
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
fn the_textbook_meets_every_kind_of_event() {
    let spec = Spec {
        rate_bps: Some(1_000_000),
        queue_packets: Some(5),
        queue_bytes: None,
        ethernet: true,
        loss: SpecLoss::Bernoulli(0.2),
        duplicate: 0.2,
        reorder: Some((0.2, 30_000_000)),
        delay_ns: 5_000_000,
        changing: false,
    };
    let arrivals: Vec<Arrival> = (0..200).map(|i| Arrival { at: i * 11_000_000, len: 1500 }).collect();
    let mut link = Textbook::new(&spec, &arrivals, &[]);
    link.run_until(u64::MAX);
    for action in ACTIONS {
        assert!(link.seen.iter().filter(|seen| seen.action == action).count() > 5, "{action:?}");
    }
    let delivered = link.seen.iter().filter(|seen| seen.action == Action::Delivered);
    assert!(!delivered.map(|seen| seen.packet).is_sorted(), "some were overtaken");
}

#[test]
fn work_beyond_the_end_of_the_clock_waits_there_for_ever() {
    // 65,535 bytes at 1 bit/s take six days; forty thousand of them 6.6 centuries, which is more than the clock has.
    let rate = Rate::from_bits_per_sec(1);
    for reorder in [None, Some((prob(0.5), Span::MAX))] {
        let mut rig = Rig::new(LinkConfig {
            capacity: rate.into(),
            reorder,
            delay: Span::MAX,
            ..LinkConfig::default()
        });
        for number in 0..40_000 {
            rig.send(Time::from_nanos(u64::from(number)), packet(number, 65_535));
        }
        let century_s = 100 * 365 * 86_400;
        let century = Time::ZERO + Span::from_secs(century_s);
        rig.run_until(century);
        rig.link.settle(century);
        // Whatever is through is still in the line: that is as long as the clock.
        let (counts, held) = (*rig.link.counts(), rig.link.held());
        assert_eq!(counts.serialiser.left, century_s / (65_535 * 8));
        assert_eq!((held.delay, held.serialiser), (counts.serialiser.left, 1));
        assert_eq!(held.elements().iter().sum::<u64>(), 40_000);
        assert!(counts.elements().iter().zip(held.elements()).all(|((_, count), held)| count.balances(held)));
    }
}
