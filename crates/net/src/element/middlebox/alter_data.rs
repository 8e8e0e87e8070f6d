//! Changes octets of the data, as application-level gateways do; the TCP checksum is put right, that of Multipath TCP fails.

use super::segment::Segment;
use super::{Model, Passed, Surroundings, Way, Works};
use crate::element::Draw;
use crate::packet::{AddressId, Packet};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::Payload;

/// Settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlterData {
    /// Which segment with data of a connection's direction is the first that is changed, counted from 1.
    pub first: u64,
    /// After how many the next one is; none changes that one alone.
    pub every: Option<u64>,
}

/// A connection's direction.
type Tuple = ((AddressId, u16), (AddressId, u16));

/// At work.
#[derive(Debug)]
pub struct Process {
    settings: AlterData,
    /// Segments with data so far.
    seen: BTreeMap<Tuple, u64>,
}

impl Model for AlterData {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        check.at("first").need(self.first > 0, "counts from 1");
        check.at("every").need(self.every != Some(0), "is at least 1");
    }

    fn process(&self, _around: &Surroundings) -> Process {
        Process { settings: self.clone(), seen: BTreeMap::new() }
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self { first: 1 + draw.below(20), every: draw.bit().then(|| 1 + draw.below(20)) }
    }
}

impl Works for Process {
    fn handle(&mut self, _now: Time, _way: Way, packet: Packet, passed: &mut Passed<'_>) {
        let Some((src, dst)) = packet.ports().filter(|_| !packet.payload.is_empty()) else {
            return passed.pass(packet);
        };
        let seen = self.seen.entry(((packet.src, src), (packet.dst, dst))).or_insert(0);
        *seen += 1;
        let AlterData { first, every } = self.settings;
        let is_changed = seen.checked_sub(first).is_some_and(|after| match every {
            None => after == 0,
            Some(every) => after.is_multiple_of(every),
        });
        if !is_changed {
            return passed.pass(packet);
        }
        let mut segment = Segment::open(packet);
        let mut octets = Vec::with_capacity(segment.payload().len() as usize);
        segment.payload().write_to(&mut octets);
        let middle = octets.len() / 2;
        octets[middle] ^= 1;
        segment.set_payload(Payload::bytes(octets.into()));
        passed.pass_changed(segment.close());
    }
}
