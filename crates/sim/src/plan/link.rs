//! Links, and the addresses that hosts have at them.

use super::{Draw, Plan};
use alloc::format;
use alloc::string::String;
use serde::{Deserialize, Serialize};
use voxpath_net::element::middlebox::{Middlebox, Which};
use voxpath_net::routing::Way;
use voxpath_net::{Direction, LinkChange};

/// A bidirectional link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name; also the name of its random streams.
    pub name: String,
    /// Index of the node at one end.
    pub a: u32,
    /// Index of the node at the other end.
    pub b: u32,
    /// The largest IP packet that it takes, in bytes; none takes any.
    pub mtu: Option<u32>,
    /// From `a` to `b`.
    pub ab: Direction,
    /// From `b` to `a`.
    pub ba: Direction,
}

/// The names of a link's directions, in the order of [`voxpath_net::routing::DirectionId`].
pub const DIRECTIONS: [&str; 2] = ["ab", "ba"];

/// An address of a host at one of its links: packets to it arrive by that link, and packets from it leave by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Index of the host.
    pub node: u32,
    /// Index of the address among the host's.
    pub address: u32,
    /// Index of a link of the host.
    pub link: u32,
}

/// One direction of a link changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkEvent {
    /// Index of the link.
    pub link: u32,
    /// Which direction.
    pub direction: Way,
    /// What of it.
    pub set: LinkChange,
}

/// A middlebox on a link.
///
/// Those of a link stand in the order in which packets from its first node meet them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkMiddlebox {
    /// Index of the link.
    pub link: u32,
    /// Which packets it looks at.
    pub which: Which,
    /// What it does with them.
    pub set: Middlebox,
}

impl LinkEvent {
    /// Any change of any link.
    pub(crate) fn sample(draw: &mut dyn Draw, plan: &Plan) -> Option<Self> {
        let link = draw.below(plan.links.len() as u64) as u32;
        let Link { ab, ba, .. } = &plan.links[link as usize];
        let (direction, of) = if draw.bit() { (Way::Ba, ba) } else { (Way::Ab, ab) };
        let set = LinkChange::sample(draw, of);
        // In a run without an end nothing would bring back what waits for a link that is down.
        let can_be = !matches!(set, LinkChange::Up { .. }) || plan.duration_ns.is_some();
        can_be.then_some(Self { link, direction, set })
    }

    pub(crate) fn told(&self, plan: &Plan) -> [String; 4] {
        let name = format!("{} {}", plan.links[self.link as usize].name, self.direction.name());
        let (what, value) = self.set.told();
        ["link".into(), name, what.into(), value]
    }
}
