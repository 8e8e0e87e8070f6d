//! Adds an offset to the sequence numbers of each connection, as firewalls do that draw initial sequence numbers themselves.

use super::segment::Segment;
use super::{Model, Passed, Surroundings, Way, Works};
use crate::element::Draw;
use crate::packet::{AddressId, Packet};
use crate::random::Stream;
use alloc::collections::BTreeMap;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::tcp::{Seq, TcpFlags};

/// Settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewriteSequence {
    /// What is added in both directions; none draws one for each connection and direction.
    pub offset: Option<u32>,
    /// Whether SACK blocks are put right too.
    pub sack: bool,
}

/// A connection, from the link's first node to its second.
type Tuple = ((AddressId, u16), (AddressId, u16));

/// At work.
#[derive(Debug)]
pub struct Process {
    settings: RewriteSequence,
    stream: Stream,
    /// What is added, for each direction.
    offsets: BTreeMap<Tuple, [u32; 2]>,
}

impl Model for RewriteSequence {
    type Process = Process;

    const NEEDS_BOTH_WAYS: bool = true;

    fn check(&self, _check: &mut Check<'_>) {}

    fn process(&self, around: &Surroundings) -> Process {
        Process { settings: self.clone(), stream: around.stream.clone(), offsets: BTreeMap::new() }
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let offset = draw.bit().then(|| draw.below(1 << 32) as u32);
        Self { offset, sack: draw.bit() }
    }
}

impl Works for Process {
    fn handle(&mut self, _now: Time, way: Way, packet: Packet, passed: &mut Passed<'_>) {
        let Some((src, dst)) = packet.ports() else { return passed.pass(packet) };
        let ends = [(packet.src, src), (packet.dst, dst)];
        let tuple = match way {
            Way::Ab => (ends[0], ends[1]),
            Way::Ba => (ends[1], ends[0]),
        };
        let Self { settings, stream, offsets } = self;
        let mut offset = || settings.offset.unwrap_or_else(|| stream.bits() as u32);
        let offsets = offsets.entry(tuple).or_insert_with(|| [offset(), offset()]);
        let (own, other) = (offsets[way.index()], offsets[1 - way.index()]);
        let mut segment = Segment::open(packet);
        let header = segment.header();
        segment.set_seq(Seq(header.seq.0.wrapping_add(own)));
        if header.flags.contains(TcpFlags::ACK) {
            segment.set_ack(Seq(header.ack.0.wrapping_sub(other)));
        }
        if settings.sack {
            segment.move_sack(other.wrapping_neg());
        }
        passed.pass_changed(segment.close());
    }
}
