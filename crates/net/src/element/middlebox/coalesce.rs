//! Joins segments that follow each other, as receive offload before a proxy does: the options of the first one stay.

use super::segment::{MOST_DATA, Segment};
use super::{Model, Passed, Surroundings, Way, Works};
use crate::element::{Draw, saturating_after};
use crate::packet::{AddressId, Packet};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::TcpFlags;

/// Settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coalesce {
    /// Octets of data in a segment, at most.
    pub size_bytes: u32,
    /// How long a segment waits for another one.
    pub wait_ns: u64,
}

/// A connection's direction.
type Tuple = ((AddressId, u16), (AddressId, u16));

/// At work.
#[derive(Debug)]
pub struct Process {
    settings: Coalesce,
    /// What waits in each direction, and until when.
    waiting: [BTreeMap<Tuple, (Time, Segment)>; 2],
}

impl Model for Coalesce {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        let holds = (1..=MOST_DATA).contains(&self.size_bytes);
        check.at("size_bytes").need(holds, format_args!("is 1 to {MOST_DATA} bytes"));
        check.at("wait_ns").span_above_zero(self.wait_ns);
    }

    fn process(&self, _around: &Surroundings) -> Process {
        Process { settings: self.clone(), waiting: Default::default() }
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self { size_bytes: 500 + draw.below(10_000) as u32, wait_ns: 1 + draw.below(10_000_000) }
    }
}

impl Process {
    /// Joins `next` to what waits if it follows it, is marked as that is (RFC 3168 section 5.3), and there is room; whether it did.
    fn join(&mut self, way: Way, tuple: &Tuple, next: &Segment) -> bool {
        let Some((_, first)) = self.waiting[way.index()].get_mut(tuple) else { return false };
        let (head, follows) = (first.header(), next.header());
        let len = first.payload().len();
        if first.ecn() != next.ecn()
            || head.seq.0.wrapping_add(len) != follows.seq.0
            || len + next.payload().len() > self.settings.size_bytes
        {
            return false;
        }
        let joined = Payload::rope([first.payload().clone(), next.payload().clone()]);
        first.set_payload(joined);
        first.set_flags(head.flags | follows.flags);
        first.set_ack(follows.ack);
        first.set_window(follows.window);
        true
    }
}

impl Works for Process {
    fn handle(&mut self, now: Time, way: Way, packet: Packet, passed: &mut Passed<'_>) {
        let (Some((src, dst)), Some(header)) = (packet.ports(), packet.tcp()) else {
            return passed.pass(packet);
        };
        let tuple = ((packet.src, src), (packet.dst, dst));
        let alone = TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST | TcpFlags::URG;
        let is_alone = header.flags.intersects(alone)
            || packet.payload.is_empty()
            || packet.payload.len() > self.settings.size_bytes;
        if is_alone {
            if let Some((_, before)) = self.waiting[way.index()].remove(&tuple) {
                passed.pass_changed(before.close());
            }
            return passed.pass(packet);
        }
        let segment = Segment::open(packet);
        if self.join(way, &tuple, &segment) {
            return passed.absorb();
        }
        let until = saturating_after(now, Span::from_nanos(self.settings.wait_ns));
        if let Some((_, before)) = self.waiting[way.index()].insert(tuple, (until, segment)) {
            passed.pass_changed(before.close());
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.waiting.iter().flat_map(BTreeMap::values).map(|(until, _)| *until).min()
    }

    fn handle_timeout(&mut self, now: Time, way: Way, passed: &mut Passed<'_>) {
        let waiting = &mut self.waiting[way.index()];
        let is_due = |(tuple, (until, _)): (&Tuple, &(Time, Segment))| (*until <= now).then_some(*tuple);
        let due: Vec<Tuple> = waiting.iter().filter_map(is_due).collect();
        for tuple in due {
            if let Some((_, segment)) = waiting.remove(&tuple) {
                passed.pass_changed(segment.close());
            }
        }
    }

    fn held(&self, way: Way) -> u64 {
        self.waiting[way.index()].len() as u64
    }
}
