//! A link as a textbook would write it: every step is an event of its own, and every packet sits in the element that
//! holds it.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod queues;

use crate::common::{Rig, Seen};
use queues::{Item, Queue, Situation};
use std::collections::BTreeMap;
use voxpath_net::element::loss::{Bernoulli, BitErrorForm, BitErrors, List, Loss};
use voxpath_net::element::{Framing, Limit, Queueing, Reorder};
use voxpath_net::link::{Counts, Held};
use voxpath_net::tap::Action;
use voxpath_net::{Direction, Seed, Stream};
use voxpath_units::{Prob, Time};

/// What a link is to do, in plain numbers.
#[derive(Debug, Clone)]
pub struct Spec {
    pub rate_bps: Option<u64>,
    pub queue_packets: Option<u32>,
    pub queue_bytes: Option<u64>,
    pub queueing: Queueing,
    pub ethernet: bool,
    pub loss: SpecLoss,
    pub corruption: SpecLoss,
    pub duplicate: f64,
    pub reorder: Option<(f64, u64)>,
    pub delay_ns: u64,
    pub changing: bool,
}

/// Something that happens to the link.
#[derive(Debug, Clone)]
pub enum Change {
    Rate(Option<u64>),
    Loss(SpecLoss),
    Delay(u64),
    Up(bool),
}

#[derive(Debug, Clone)]
pub enum SpecLoss {
    None,
    Bernoulli(f64),
    ExactBitErrors(f64),
    LinearBitErrors(f64),
    List(Vec<u64>),
}

impl Spec {
    pub fn rig(&self) -> Rig {
        if self.changing { Rig::changing(self.direction()) } else { Rig::new(self.direction()) }
    }

    fn direction(&self) -> Direction {
        Direction {
            queue_packets: self.queue_packets,
            queue_bytes: self.queue_bytes,
            queueing: self.queueing.clone(),
            rate_bps: self.rate_bps,
            framing: if self.ethernet { Framing::Ethernet } else { Framing::Ip },
            loss: self.loss.element(),
            corruption: self.corruption.element(),
            duplicate: self.duplicate,
            reorder: self.reorder.map(|(p, by_ns)| Reorder { p, by_ns }),
            delay_ns: self.delay_ns,
            ..Direction::default()
        }
    }

    fn limit(&self) -> Limit {
        Limit { packets: self.queue_packets, bytes: self.queue_bytes }
    }

    /// Bits that one packet puts on the wire.
    fn wire_bits(&self, len: u32) -> u128 {
        8 * (u128::from(len) + if self.ethernet { 38 } else { 0 })
    }
}

impl SpecLoss {
    pub fn element(&self) -> Loss {
        match self {
            Self::None => Loss::None,
            Self::Bernoulli(p) => Bernoulli { p: *p }.into(),
            Self::ExactBitErrors(rate) => BitErrors { rate: *rate, form: BitErrorForm::Exact }.into(),
            Self::LinearBitErrors(rate) => BitErrors { rate: *rate, form: BitErrorForm::Linear }.into(),
            Self::List(packets) => List { packets: packets.clone() }.into(),
        }
    }
}

impl SpecLoss {
    /// Whether packet number `number` of those that came is struck.
    fn strikes(&self, len: u32, number: u64, stream: &mut Stream) -> bool {
        let bits = 8 * len;
        let p = match self {
            Self::None => return false,
            Self::List(packets) => return packets.contains(&number),
            Self::Bernoulli(p) => *p,
            Self::LinearBitErrors(rate) => (f64::from(bits) * rate).min(1.0),
            // Accurate enough at the rates that are tried here.
            Self::ExactBitErrors(rate) => 1.0 - (1.0 - rate).powi(bits as i32),
        };
        stream.happens(prob(p))
    }
}

pub fn prob(p: f64) -> Prob {
    Prob::new(p).expect("a probability")
}

/// A packet's arrival; packets are numbered in the order of arrival.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at: u64,
    pub len: u32,
    pub ect: bool,
    pub flow: u32,
}

/// A step of the textbook link.
#[derive(Debug)]
pub enum Step {
    Arrive(u32),
    Change(Change),
    EndService,
    Deliver(u32),
}

/// Steps of one time: the link's own first, then changes, then arrivals, in the order in which they were scheduled.
type Key = (u64, u8, u64);

pub struct Textbook {
    pub spec: Spec,
    pub arrivals: Vec<Arrival>,
    pub agenda: BTreeMap<Key, Step>,
    pub scheduled: u64,
    pub queue: Box<dyn Queue>,
    pub in_service: Option<Item>,
    pub idle_since: u64,
    pub in_flight: u64,
    pub up: bool,
    pub end_of_service: Option<Key>,
    /// When the serialiser was last found idle or got another rate, and the bits that it had to send since, times 10^9:
    /// ends of service are computed from there, so that no error adds up.
    pub busy_since: u64,
    pub busy_work: u128,
    /// Packets that were to be lost or not, since the loss is what it is.
    pub offered: u64,
    pub passed: u64,
    pub last_in_order: u64,
    pub loss_stream: Stream,
    pub corruption_stream: Stream,
    pub duplicate_stream: Stream,
    pub reorder_stream: Stream,
    pub counts: Counts,
    pub seen: Vec<Seen>,
}

impl Textbook {
    pub fn new(spec: &Spec, arrivals: &[Arrival], changes: &[(u64, Change)]) -> Self {
        let stream = |element| Seed::new(1, 0).stream(&format!("link {} {element}", Rig::NAME));
        let mut link = Self {
            spec: spec.clone(),
            arrivals: arrivals.to_vec(),
            agenda: BTreeMap::new(),
            scheduled: 0,
            queue: queues::of(&spec.queueing, spec.limit(), stream("queue")).expect("a known discipline"),
            in_service: None,
            idle_since: 0,
            in_flight: 0,
            up: true,
            end_of_service: None,
            busy_since: 0,
            busy_work: 0,
            offered: 0,
            passed: 0,
            last_in_order: 0,
            loss_stream: stream("loss"),
            corruption_stream: stream("corruption"),
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

    pub fn run_until(&mut self, end: u64) {
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

    pub fn held(&self) -> Held {
        Held {
            queue: self.queue.len() as u64,
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
        let Arrival { len, ect, flow, .. } = self.arrivals[packet as usize];
        let situation = Situation {
            busy: self.in_service.is_some(),
            idle: (now - self.idle_since) as f64 / 1e9,
            rate: self.spec.rate_bps.unwrap_or(0) as f64,
        };
        let item = Item { number: packet, len, ect, flow, at: now };
        self.ask(now, |queue, see| queue.arrive(now, item, situation, see));
        if self.in_service.is_none() {
            self.serve_next(now);
        }
    }

    /// Asks the queue for something, and keeps account of what it does.
    fn ask<T>(&mut self, now: u64, what: impl FnOnce(&mut dyn Queue, &mut dyn FnMut(Action, u32)) -> T) -> T {
        let Self { queue, counts, seen, .. } = self;
        what(queue.as_mut(), &mut |action, packet| {
            match action {
                Action::Dropped => counts.queue.dropped += 1,
                Action::Marked => counts.queue.marked += 1,
                _ => {}
            }
            seen.push(Seen { at: Time::from_nanos(now), action, packet });
        })
    }

    fn serve_next(&mut self, now: u64) {
        let Some(item) = self.ask(now, |queue, see| queue.next(now, see)) else { return };
        self.counts.queue.left += 1;
        self.counts.serialiser.entered += 1;
        self.in_service = Some(item);
        if u128::from(now - self.busy_since) * self.rate() >= self.busy_work {
            (self.busy_since, self.busy_work) = (now, 0);
        }
        self.busy_work += self.spec.wire_bits(item.len) * 1_000_000_000;
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
                for item in self.queue.clear() {
                    self.counts.queue.dropped += 1;
                    self.see(now, Action::Dropped, item.number);
                }
                if let Some(item) = self.in_service.take() {
                    self.agenda.remove(&self.end_of_service.expect("a packet is in service"));
                    self.counts.serialiser.dropped += 1;
                    self.see(now, Action::Dropped, item.number);
                }
                (self.busy_work, self.idle_since) = (0, now);
            }
        }
    }

    fn end_service(&mut self, now: u64) {
        let Item { number: packet, len, .. } = self.in_service.take().expect("a packet is in service");
        self.idle_since = now;
        self.counts.serialiser.left += 1;
        self.counts.loss.entered += 1;
        self.offered += 1;
        if self.spec.loss.strikes(len, self.offered, &mut self.loss_stream) {
            self.counts.loss.dropped += 1;
            self.see(now, Action::Lost, packet);
        } else {
            self.counts.loss.left += 1;
            self.counts.corruption.entered += 1;
            self.counts.corruption.left += 1;
            self.passed += 1;
            if self.spec.corruption.strikes(len, self.passed, &mut self.corruption_stream) {
                self.counts.corruption.marked += 1;
                self.see(now, Action::Corrupted, packet);
            }
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
        self.serve_next(now);
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

    fn see(&mut self, now: u64, action: Action, packet: u32) {
        self.seen.push(Seen { at: Time::from_nanos(now), action, packet });
    }
}
