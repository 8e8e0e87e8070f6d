//! Drops SYNs that carry options it does not know.

use super::segment::{Segment, kind};
use super::{Model, Passed, Surroundings, Way, Works};
use crate::element::Draw;
use crate::packet::Packet;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::tcp::TcpFlags;

/// Settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropUnknownOptions {
    /// Kinds that it knows besides those of plain TCP: MSS, window scale, SACK and timestamps.
    pub known: Vec<u8>,
}

impl Model for DropUnknownOptions {
    type Process = Self;

    fn check(&self, _check: &mut Check<'_>) {}

    fn process(&self, _around: &Surroundings) -> Self {
        self.clone()
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self { known: if draw.bit() { Vec::new() } else { alloc::vec![draw.below(256) as u8] } }
    }
}

impl Works for DropUnknownOptions {
    fn handle(&mut self, _now: Time, _way: Way, packet: Packet, passed: &mut Passed<'_>) {
        let opens = packet.tcp().is_some_and(|header| header.flags.contains(TcpFlags::SYN));
        let is_known = |found: u8| kind::PLAIN.contains(&found) || self.known.contains(&found);
        if opens && !Segment::open(packet.clone()).kinds().all(is_known) {
            passed.drop(packet);
        } else {
            passed.pass(packet);
        }
    }
}
