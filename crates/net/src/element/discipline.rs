//! What a queue decides about its packets.

use super::codel::{Codel, CodelSettings};
use super::fq_codel::{FqCodel, FqCodelSettings};
use super::pie::{Pie, PieSettings};
use super::queue::{DropTail, Limit};
use super::red::{Red, RedSettings, Verdict};
use super::{Count, Serialiser};
use crate::packet::Ecn;
use crate::pool::{Handle, Pool};
use crate::random::Stream;
use crate::tap::{Action, Place, Tap};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::fmt::Debug;
use voxpath_units::Time;

/// Disciplines, each with its settings; the limit is every link's own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Queueing {
    /// First in, first out; what finds no room is refused.
    #[default]
    DropTail,
    /// Random early detection (Floyd and Jacobson 1993).
    Red(RedSettings),
    /// Controlled delay (RFC 8289).
    Codel(CodelSettings),
    /// Flow queue CoDel (RFC 8290).
    FqCodel(FqCodelSettings),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(PieSettings),
}

/// A queue that holds its packets, because it may decide about them as they leave.
pub(crate) trait Discipline: Debug + Send {
    /// Takes a packet in, or drops it; it `waits` unless it can enter service at once.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Handle,
        waits: bool,
        serialiser: &mut Serialiser,
        gate: &mut Gate<'_>,
    );

    /// The packet that enters service now; none if all are dropped that there were.
    fn dequeue(&mut self, now: Time, gate: &mut Gate<'_>) -> Option<Handle>;

    /// A packet in the order of leaving, whatever the discipline thinks of it.
    fn remove(&mut self) -> Option<Handle>;

    /// Changes how much may wait; what waits already may stay.
    fn set_limit(&mut self, limit: Limit);

    /// Packets waiting.
    fn packets(&self) -> u32;

    /// Bytes waiting.
    fn bytes(&self) -> u64;
}

/// The holding queue of a discipline.
pub(crate) fn holding(queueing: Queueing, limit: Limit, stream: Stream) -> Box<dyn Discipline> {
    match queueing {
        Queueing::DropTail => Box::new(Fifo::new(limit, None)),
        Queueing::Red(settings) => Box::new(Fifo::new(limit, Some(Red::new(settings, stream)))),
        Queueing::Codel(settings) => Box::new(Codel::new(limit, settings)),
        Queueing::FqCodel(settings) => Box::new(FqCodel::new(limit, settings, stream)),
        Queueing::Pie(settings) => Box::new(Pie::new(limit, settings, stream)),
    }
}

/// How a queue lets packets in, marks and drops them, so that each is seen and counted.
pub(crate) struct Gate<'a> {
    pub(crate) pool: &'a mut Pool,
    pub(crate) tap: &'a mut Tap,
    pub(crate) place: Place,
    pub(crate) count: &'a mut Count,
}

impl Gate<'_> {
    /// A packet is let in.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Time, packet: &Handle) {
        self.pool[packet].enqueued = now;
        self.tap.packet(now, self.place, Action::Enqueued, &self.pool[packet]);
    }

    /// A packet's way ends here.
    pub(crate) fn drop(&mut self, now: Time, packet: Handle) {
        self.count.dropped += 1;
        self.tap.packet(now, self.place, Action::Dropped, &self.pool[&packet]);
        self.pool.discard(packet);
    }

    /// Marks a packet where its ends understand that; whether they do.
    pub(crate) fn mark(&mut self, now: Time, packet: &Handle) -> bool {
        if self.pool[packet].ecn == Ecn::NotEct {
            return false;
        }
        // One that was marked before is marked here too: it would have been dropped.
        self.pool[packet].ecn = Ecn::Ce;
        self.count.marked += 1;
        self.tap.packet(now, self.place, Action::Marked, &self.pool[packet]);
        true
    }

    /// Does what a discipline has decided of a packet that comes; the packet, unless that was to drop it.
    pub(crate) fn judge(&mut self, now: Time, packet: Handle, verdict: Verdict) -> Option<Handle> {
        let stays = match verdict {
            Verdict::Pass => true,
            Verdict::Mark => self.mark(now, &packet),
            Verdict::Drop => false,
        };
        if stays {
            return Some(packet);
        }
        self.drop(now, packet);
        None
    }
}

/// Packets in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    packets: VecDeque<(Handle, u32)>,
    bytes: u64,
}

impl Waiting {
    pub(crate) fn push(&mut self, packet: Handle, len: u32) {
        self.bytes += u64::from(len);
        self.packets.push_back((packet, len));
    }

    pub(crate) fn pop(&mut self) -> Option<(Handle, u32)> {
        let (packet, len) = self.packets.pop_front()?;
        self.bytes -= u64::from(len);
        Some((packet, len))
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// First in, first out; with random early detection, if it has that.
#[derive(Debug)]
struct Fifo {
    room: DropTail,
    red: Option<Red>,
    waiting: VecDeque<(Handle, u32)>,
}

impl Fifo {
    const fn new(limit: Limit, red: Option<Red>) -> Self {
        Self { room: DropTail::new(limit), red, waiting: VecDeque::new() }
    }
}

impl Discipline for Fifo {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Handle,
        waits: bool,
        serialiser: &mut Serialiser,
        gate: &mut Gate<'_>,
    ) {
        let verdict =
            self.red.as_mut().map_or(Verdict::Pass, |red| red.judge(now, self.room.packets(), serialiser));
        let len = gate.pool[&packet].len;
        if verdict == Verdict::Drop || (waits && !self.room.has_room(len)) {
            return gate.drop(now, packet);
        }
        if let Some(packet) = gate.judge(now, packet, verdict) {
            self.room.enter(len);
            gate.admit(now, &packet);
            self.waiting.push_back((packet, len));
        }
    }

    fn dequeue(&mut self, _now: Time, _gate: &mut Gate<'_>) -> Option<Handle> {
        self.remove()
    }

    fn remove(&mut self) -> Option<Handle> {
        let (packet, len) = self.waiting.pop_front()?;
        self.room.dequeue(len);
        Some(packet)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.room.set_limit(limit);
    }

    fn packets(&self) -> u32 {
        self.room.packets()
    }

    fn bytes(&self) -> u64 {
        self.room.bytes()
    }
}
