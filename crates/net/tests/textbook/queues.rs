//! The disciplines as their papers and RFCs write them down: with zero for "never", in seconds, and with every timer
//! gone through tick by tick.

use std::collections::{BTreeMap, VecDeque};
use voxpath_net::Stream;
use voxpath_net::element::Limit;
use voxpath_net::element::queue::{self, Queueing};
use voxpath_net::tap::Action;

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Item {
    pub number: u32,
    pub len: u32,
    pub ect: bool,
    pub flow: u32,
    /// When it came.
    pub at: u64,
}

/// What the link is doing when a packet comes.
#[derive(Debug, Clone, Copy)]
pub struct Situation {
    /// A packet is in service.
    pub busy: bool,
    /// Seconds for which there was none.
    pub idle: f64,
    pub rate: f64,
}

type See<'a> = &'a mut dyn FnMut(Action, u32);

pub trait Queue {
    fn arrive(&mut self, now: u64, item: Item, situation: Situation, see: See<'_>);
    fn next(&mut self, now: u64, see: See<'_>) -> Option<Item>;
    fn len(&self) -> usize;
    /// Everything, in the order in which it goes when the link goes down.
    fn clear(&mut self) -> Vec<Item>;
}

/// The textbook's queue of a discipline; none where it does not know that.
pub fn of(queueing: &Queueing, limit: Limit, stream: Stream) -> Option<Box<dyn Queue>> {
    let room = Room { limit, items: VecDeque::new() };
    Some(match queueing.clone() {
        Queueing::DropTail(_) => Box::new(room),
        Queueing::Red(settings) => Box::new(Red { settings, room, avg: 0.0, count: -1, stream }),
        Queueing::Codel(settings) => Box::new(Codel { room, state: CodelState::new(settings), maxpacket: 0 }),
        Queueing::FqCodel(settings) => Box::new(FqCodel::new(settings, limit)),
        Queueing::Pie(settings) => Box::new(Pie::new(settings, room, stream)),
        #[allow(unreachable_patterns)]
        _ => return None,
    })
}

struct Room {
    limit: Limit,
    items: VecDeque<Item>,
}

impl Room {
    fn bytes(&self) -> u64 {
        self.items.iter().map(|item| u64::from(item.len)).sum()
    }

    fn has_room(&self, len: u32) -> bool {
        self.limit.packets.is_none_or(|limit| self.items.len() < limit as usize)
            && self.limit.bytes.is_none_or(|limit| self.bytes() + u64::from(len) <= limit)
    }
}

impl Queue for Room {
    fn arrive(&mut self, _now: u64, item: Item, situation: Situation, see: See<'_>) {
        if situation.busy && !self.has_room(item.len) {
            return see(Action::Dropped, item.number);
        }
        see(Action::Enqueued, item.number);
        self.items.push_back(item);
    }

    fn next(&mut self, _now: u64, _see: See<'_>) -> Option<Item> {
        self.items.pop_front()
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn clear(&mut self) -> Vec<Item> {
        self.items.drain(..).collect()
    }
}

/// Floyd and Jacobson 1993, figure 2.
struct Red {
    settings: queue::Red,
    room: Room,
    avg: f64,
    count: i64,
    stream: Stream,
}

impl Queue for Red {
    fn arrive(&mut self, now: u64, item: Item, situation: Situation, see: See<'_>) {
        let queue::Red { min_packets: min, max_packets: max, max_p, weight, gentle, mean_packet_bytes, ecn } =
            self.settings;
        let q = self.room.items.len();
        if q == 0 && !situation.busy {
            let m = situation.idle * situation.rate / (8.0 * f64::from(mean_packet_bytes));
            self.avg *= (1.0 - weight).powf(m);
        } else {
            self.avg = (1.0 - weight) * self.avg + weight * q as f64;
        }
        let mut forced = false;
        let mut chosen = false;
        if self.avg < min {
            self.count = -1;
        } else {
            let p_b = if self.avg < max {
                max_p * (self.avg - min) / (max - min)
            } else if gentle && self.avg < 2.0 * max {
                max_p + (1.0 - max_p) * (self.avg / max - 1.0)
            } else {
                1.0
            };
            if p_b >= 1.0 {
                self.count = 0;
                forced = true;
            } else {
                self.count += 1;
                let p_a =
                    if self.count as f64 * p_b < 1.0 { p_b / (1.0 - self.count as f64 * p_b) } else { 1.0 };
                if self.stream.unit() < p_a {
                    self.count = 0;
                    chosen = true;
                }
            }
        }
        if forced
            || (chosen && !ecn)
            || (situation.busy && !self.room.has_room(item.len))
            || (chosen && !item.ect)
        {
            return see(Action::Dropped, item.number);
        }
        if chosen {
            see(Action::Marked, item.number);
        }
        self.room.arrive(now, item, situation, see);
    }

    fn next(&mut self, now: u64, see: See<'_>) -> Option<Item> {
        self.room.next(now, see)
    }

    fn len(&self) -> usize {
        self.room.len()
    }

    fn clear(&mut self) -> Vec<Item> {
        self.room.clear()
    }
}

/// RFC 8289 section 5, with the marking of section 4.2 of RFC 8290's reference implementation.
struct CodelState {
    settings: queue::Codel,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl CodelState {
    fn new(settings: queue::Codel) -> Self {
        Self { settings, first_above_time: 0, drop_next: 0, count: 0, lastcount: 0, dropping: false }
    }

    fn dodequeue(&mut self, now: u64, maxpacket: u32, items: &mut VecDeque<Item>) -> (Option<Item>, bool) {
        let Some(item) = items.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let bytes: u64 = items.iter().map(|item| u64::from(item.len)).sum();
        if now - item.at < self.settings.target_ns || bytes <= u64::from(maxpacket) {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.settings.interval_ns;
        } else if now >= self.first_above_time {
            return (Some(item), true);
        }
        (Some(item), false)
    }

    fn control_law(&self, t: u64) -> u64 {
        t + (self.settings.interval_ns as f64 / f64::from(self.count).sqrt()).round() as u64
    }

    fn dequeue(
        &mut self,
        now: u64,
        maxpacket: u32,
        items: &mut VecDeque<Item>,
        see: See<'_>,
    ) -> Option<Item> {
        let (mut item, mut ok_to_drop) = self.dodequeue(now, maxpacket, items);
        if item.is_none() {
            self.dropping = false;
            return None;
        }
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                let leaving = item.expect("it was ok to drop");
                self.count += 1;
                if self.settings.ecn && leaving.ect {
                    see(Action::Marked, leaving.number);
                    self.drop_next = self.control_law(self.drop_next);
                    return item;
                }
                see(Action::Dropped, leaving.number);
                (item, ok_to_drop) = self.dodequeue(now, maxpacket, items);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let leaving = item.expect("it was ok to drop");
            if self.settings.ecn && leaving.ect {
                see(Action::Marked, leaving.number);
            } else {
                see(Action::Dropped, leaving.number);
                (item, _) = self.dodequeue(now, maxpacket, items);
            }
            self.dropping = true;
            let delta = i64::from(self.count) - i64::from(self.lastcount);
            let since = i128::from(now) - i128::from(self.drop_next);
            let recent = since < i128::from(16 * self.settings.interval_ns);
            self.count = if delta > 1 && recent { delta as u32 } else { 1 };
            self.drop_next = self.control_law(now);
            self.lastcount = self.count;
        }
        item
    }
}

struct Codel {
    room: Room,
    state: CodelState,
    maxpacket: u32,
}

impl Queue for Codel {
    fn arrive(&mut self, now: u64, item: Item, situation: Situation, see: See<'_>) {
        if !situation.busy || self.room.has_room(item.len) {
            self.maxpacket = self.maxpacket.max(item.len);
        }
        self.room.arrive(now, item, situation, see);
    }

    fn next(&mut self, now: u64, see: See<'_>) -> Option<Item> {
        self.state.dequeue(now, self.maxpacket, &mut self.room.items, see)
    }

    fn len(&self) -> usize {
        self.room.len()
    }

    fn clear(&mut self) -> Vec<Item> {
        self.room.clear()
    }
}

/// RFC 8290 section 4, with a queue for each flow: no two flows of the tests meet in one.
struct FqCodel {
    settings: queue::FqCodel,
    limit: Limit,
    flows: BTreeMap<u32, Flow>,
    /// The order in which flows were first seen.
    order: Vec<u32>,
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    maxpacket: u32,
}

struct Flow {
    items: VecDeque<Item>,
    codel: CodelState,
    deficit: i64,
}

impl FqCodel {
    fn new(settings: queue::FqCodel, limit: Limit) -> Self {
        Self {
            settings,
            limit,
            flows: BTreeMap::new(),
            order: Vec::new(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            maxpacket: 0,
        }
    }

    fn bytes(items: &VecDeque<Item>) -> u64 {
        items.iter().map(|item| u64::from(item.len)).sum()
    }

    fn is_over(&self) -> bool {
        let bytes: u64 = self.flows.values().map(|flow| Self::bytes(&flow.items)).sum();
        self.limit.packets.is_some_and(|limit| self.len() > limit as usize)
            || self.limit.bytes.is_some_and(|limit| bytes > limit)
    }
}

impl Queue for FqCodel {
    fn arrive(&mut self, _now: u64, item: Item, _situation: Situation, see: See<'_>) {
        self.maxpacket = self.maxpacket.max(item.len);
        see(Action::Enqueued, item.number);
        if !self.flows.contains_key(&item.flow) {
            self.order.push(item.flow);
        }
        let queue::FqCodel { target_ns, interval_ns, ecn, .. } = self.settings;
        let codel = CodelState::new(queue::Codel { target_ns, interval_ns, ecn });
        let flow = self.flows.entry(item.flow).or_insert(Flow { items: VecDeque::new(), codel, deficit: 0 });
        flow.items.push_back(item);
        if !self.new_flows.contains(&item.flow) && !self.old_flows.contains(&item.flow) {
            flow.deficit = self.settings.quantum_bytes.into();
            self.new_flows.push_back(item.flow);
        }
        while self.is_over() {
            // Of equally fat ones the one that was seen last.
            let fattest = self.order.iter().max_by_key(|flow| Self::bytes(&self.flows[flow].items)).copied();
            let items =
                &mut self.flows.get_mut(&fattest.expect("there are flows")).expect("it is known").items;
            see(Action::Dropped, items.pop_front().expect("the fattest has some").number);
        }
    }

    fn next(&mut self, now: u64, see: See<'_>) -> Option<Item> {
        loop {
            let is_new = !self.new_flows.is_empty();
            let list = if is_new { &mut self.new_flows } else { &mut self.old_flows };
            let id = *list.front()?;
            let flow = self.flows.get_mut(&id).expect("it is known");
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.settings.quantum_bytes);
                list.pop_front();
                self.old_flows.push_back(id);
                continue;
            }
            match flow.codel.dequeue(now, self.maxpacket, &mut flow.items, see) {
                Some(item) => {
                    flow.deficit -= i64::from(item.len);
                    return Some(item);
                }
                None => {
                    list.pop_front();
                    if is_new {
                        self.old_flows.push_back(id);
                    }
                }
            }
        }
    }

    fn len(&self) -> usize {
        self.flows.values().map(|flow| flow.items.len()).sum()
    }

    fn clear(&mut self) -> Vec<Item> {
        let drained = |id: &u32| self.flows.get_mut(id).map(|flow| std::mem::take(&mut flow.items));
        self.order.iter().filter_map(drained).flatten().collect()
    }
}

/// RFC 8033, Appendix A.
struct Pie {
    settings: queue::Pie,
    room: Room,
    drop_prob: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    burst_allowance: u64,
    ticks: u64,
    stream: Stream,
}

impl Pie {
    fn new(settings: queue::Pie, room: Room, stream: Stream) -> Self {
        Self {
            settings,
            room,
            drop_prob: 0.0,
            current_qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: 0,
            ticks: 0,
            stream,
        }
    }

    fn tick_until(&mut self, now: u64) {
        let (target, update) = (self.settings.target_ns as f64 / 1e9, self.settings.update_ns);
        while (self.ticks + 1) * update <= now {
            self.ticks += 1;
            let mut p = self.settings.alpha * (self.current_qdelay - target)
                + self.settings.beta * (self.current_qdelay - self.qdelay_old);
            if self.drop_prob < 0.000_001 {
                p /= 2048.0;
            } else if self.drop_prob < 0.000_01 {
                p /= 512.0;
            } else if self.drop_prob < 0.000_1 {
                p /= 128.0;
            } else if self.drop_prob < 0.001 {
                p /= 32.0;
            } else if self.drop_prob < 0.01 {
                p /= 8.0;
            } else if self.drop_prob < 0.1 {
                p /= 2.0;
            }
            if self.drop_prob >= 0.1 && p > 0.02 {
                p = 0.02;
            }
            self.drop_prob += p;
            if self.current_qdelay < target / 2.0 && self.qdelay_old < target / 2.0 {
                self.drop_prob *= 0.98;
            }
            self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
            self.qdelay_old = self.current_qdelay;
            self.burst_allowance = self.burst_allowance.saturating_sub(update);
        }
    }
}

impl Queue for Pie {
    fn arrive(&mut self, now: u64, item: Item, situation: Situation, see: See<'_>) {
        self.tick_until(now);
        if situation.busy && !self.room.has_room(item.len) {
            return see(Action::Dropped, item.number);
        }
        let target = self.settings.target_ns as f64 / 1e9;
        let early = self.burst_allowance == 0
            && !(self.qdelay_old < target / 2.0 && self.drop_prob < 0.2)
            && self.room.bytes() > 2 * 1500
            && self.stream.unit() < self.drop_prob;
        let marks = early && self.settings.ecn && self.drop_prob <= 0.1 && item.ect;
        if early && !marks {
            see(Action::Dropped, item.number);
        } else {
            if marks {
                see(Action::Marked, item.number);
            }
            self.room.arrive(now, item, situation, see);
        }
        if self.drop_prob == 0.0 && self.current_qdelay < target / 2.0 && self.qdelay_old < target / 2.0 {
            self.burst_allowance = self.settings.max_burst_ns;
        }
    }

    fn next(&mut self, now: u64, see: See<'_>) -> Option<Item> {
        self.tick_until(now);
        let item = self.room.next(now, see)?;
        let waited = if self.room.items.is_empty() { 0 } else { now - item.at };
        self.current_qdelay = waited as f64 / 1e9;
        Some(item)
    }

    fn len(&self) -> usize {
        self.room.len()
    }

    fn clear(&mut self) -> Vec<Item> {
        self.room.clear()
    }
}
