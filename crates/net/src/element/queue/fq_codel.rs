//! Flow queue CoDel (RFC 8290): a queue for each hash of a flow, served in turns by bytes, those first that are new,
//! and each under CoDel of its own.

use super::codel::{Codel, Control};
use super::waiting::Waiting;
use super::{Discipline, Gate, Limit, Room, Settings};
use crate::element::{Draw, Serialiser};
use crate::packet::Packet;
use crate::pool::Handle;
use crate::random::{Stream, split_mix};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// The least quantum and the most queues: beyond, a turn takes many steps, and a queue too much memory.
const LEAST_QUANTUM: u32 = 64;
const MOST_QUEUES: u32 = 1 << 20;

/// Settings; the RFC's defaults are 1024 queues, a quantum of 1514 bytes, and a limit of 10240 packets
/// (sections 5.1 to 5.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodel {
    /// As of [`Codel`], of each queue.
    pub target_ns: u64,
    /// See `target_ns`.
    pub interval_ns: u64,
    /// Among how many queues flows are spread.
    pub queues: u32,
    /// Bytes of IP packets that a queue may send in a turn.
    pub quantum_bytes: u32,
    /// Whether packets are marked whose ends understand that, instead of dropped.
    pub ecn: bool,
}

impl FqCodel {
    /// The settings of each queue.
    const fn each(&self) -> Codel {
        Codel { target_ns: self.target_ns, interval_ns: self.interval_ns, ecn: self.ecn }
    }
}

impl Settings for FqCodel {
    type Queue = Queues;

    fn check(&self, check: &mut Check<'_>) {
        self.each().check(check);
        let in_range = (1..=MOST_QUEUES).contains(&self.queues);
        check.at("queues").need(in_range, format_args!("are from 1 to {MOST_QUEUES}"));
        let enough = self.quantum_bytes >= LEAST_QUANTUM;
        check.at("quantum_bytes").need(enough, format_args!("is at least {LEAST_QUANTUM} B"));
    }

    fn queue(&self, limit: Limit, mut stream: Stream) -> Queues {
        Queues {
            codel: self.each(),
            quantum: self.quantum_bytes.into(),
            limit,
            room: Room::new(Limit::default()),
            buckets: vec![0; self.queues as usize],
            queues: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            salt: stream.bits(),
            mtu: 0,
        }
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let Codel { target_ns, interval_ns, ecn } = Codel::sample(draw);
        let queues = 1 << draw.below(17);
        let quantum_bytes = LEAST_QUANTUM + draw.below(4_000) as u32;
        Self { target_ns, interval_ns, queues, quantum_bytes, ecn }
    }
}

/// All queues.
#[derive(Debug)]
pub(crate) struct Queues {
    codel: Codel,
    quantum: i64,
    limit: Limit,
    room: Room,
    /// For each hash, one more than the index of its queue; zero before its first packet.
    buckets: Vec<u32>,
    queues: Vec<Queue>,
    /// Indices of the queues that have their first turn, and of those that have had it, in the order of turns.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    salt: u64,
    /// The longest packet so far.
    mtu: u32,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Waiting,
    control: Control,
    /// Bytes that it may still send before the others' turn.
    credits: i64,
    /// Whether it has a place in one of the lists.
    listed: bool,
}

impl Queues {
    /// The queue of a packet's flow (section 4.1.1): by addresses, ports and protocol, and a salt of this queue's own.
    fn classify(&mut self, packet: &Packet) -> usize {
        let (from, to) = packet.ports().unwrap_or_default();
        let protocol = u64::from(packet.tcp().is_some()) | u64::from(packet.is_udp()) << 1;
        let addresses = u64::from(packet.src.0) << 32 | u64::from(packet.dst.0);
        let rest = protocol << 32 | u64::from(from) << 16 | u64::from(to);
        let hash = split_mix(split_mix(self.salt ^ addresses) ^ rest);
        let index = hash % self.buckets.len() as u64;
        let bucket = &mut self.buckets[index as usize];
        if *bucket == 0 {
            self.queues.push(Queue::default());
            *bucket = self.queues.len() as u32;
        }
        *bucket as usize - 1
    }

    /// Drops from the head of the queue with the most bytes until the limit is kept again (section 4.1.3).
    fn make_room(&mut self, now: Time, gate: &mut Gate<'_>) {
        while self.room.exceeds(self.limit) {
            let fattest = self.queues.iter_mut().max_by_key(|queue| queue.waiting.bytes());
            let (packet, len) =
                fattest.and_then(|queue| queue.waiting.pop()).expect("a full queue has packets");
            self.room.dequeue(len);
            gate.drop(now, packet);
        }
    }

    /// The queue whose turn it is, and whether that is its first one.
    fn turn(&self) -> Option<(u32, bool)> {
        self.new.front().map(|&index| (index, true)).or_else(|| self.old.front().map(|&index| (index, false)))
    }

    fn end_turn(&mut self, first: bool) {
        if first {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }
}

impl Discipline for Queues {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Handle,
        _waits: bool,
        _serialiser: &mut Serialiser,
        gate: &mut Gate<'_>,
    ) {
        let len = gate.pool[&packet].len;
        let index = self.classify(&gate.pool[&packet]);
        self.mtu = self.mtu.max(len);
        self.room.enter(len);
        gate.admit(now, &packet);
        let queue = &mut self.queues[index];
        queue.waiting.push(packet, len);
        if !queue.listed {
            queue.listed = true;
            queue.credits = self.quantum;
            self.new.push_back(index as u32);
        }
        self.make_room(now, gate);
    }

    fn dequeue(&mut self, now: Time, gate: &mut Gate<'_>) -> Option<Handle> {
        // Section 4.2.
        while let Some((index, first)) = self.turn() {
            let Self { codel, quantum, room, queues, mtu, .. } = self;
            let queue = &mut queues[index as usize];
            if queue.credits <= 0 {
                queue.credits += *quantum;
                self.end_turn(first);
                self.old.push_back(index);
                continue;
            }
            let Queue { waiting, control, .. } = queue;
            let gone = &mut |len| room.dequeue(len);
            if let Some(packet) = control.dequeue(now, codel, *mtu, waiting, gone, gate) {
                queue.credits -= i64::from(gate.pool[&packet].len);
                return Some(packet);
            }
            self.end_turn(first);
            if first {
                // Or a flow could have its turn first for ever, a packet at a time.
                self.old.push_back(index);
            } else {
                self.queues[index as usize].listed = false;
            }
        }
        None
    }

    fn remove(&mut self) -> Option<Handle> {
        let (packet, len) = self.queues.iter_mut().find_map(|queue| queue.waiting.pop())?;
        self.room.dequeue(len);
        Some(packet)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn packets(&self) -> u32 {
        self.room.packets()
    }

    fn bytes(&self) -> u64 {
        self.room.bytes()
    }
}
