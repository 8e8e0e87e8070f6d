//! Links, and the addresses that hosts have at them.

use super::{Draw, Plan};
use alloc::format;
use alloc::string::String;
use serde::{Deserialize, Serialize};
use voxpath_net::routing::DirectionId;
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

/// One of a link's directions, named as in [`DIRECTIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// From `a` to `b`.
    Ab,
    /// From `b` to `a`.
    Ba,
}

impl Way {
    /// The direction of `link`.
    pub(crate) fn of(self, link: u32) -> DirectionId {
        DirectionId::new(link, self == Self::Ab)
    }

    pub(crate) fn name(self) -> &'static str {
        DIRECTIONS[usize::from(self == Self::Ba)]
    }
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
