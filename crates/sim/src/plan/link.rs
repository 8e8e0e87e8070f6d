//! Links, and the addresses that hosts have at them.

use super::{Draw, NodeKind, Plan};
use crate::check::Checker;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use core::net::IpAddr;
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

impl Checker<'_> {
    pub(crate) fn links(&mut self) {
        let nodes = self.plan.nodes.len();
        for (i, link) in self.plan.links.iter().enumerate() {
            for (end, node) in [("a", link.a), ("b", link.b)] {
                if node as usize >= nodes {
                    self.fail(format_args!("links[{i}].{end}"), format_args!("there is no node {node}"));
                }
            }
            if link.a == link.b {
                self.fail(format_args!("links[{i}].b"), "a link joins two different nodes");
            }
            if let Some(mtu) = link.mtu {
                let speaks_v6 = |node: u32| {
                    let node = self.plan.nodes.get(node as usize);
                    node.is_some_and(|node| node.addresses.iter().any(IpAddr::is_ipv6))
                };
                // RFC 791 section 3.1, RFC 8200 section 5.
                let least = if speaks_v6(link.a) || speaks_v6(link.b) { 1280 } else { 68 };
                if !(least..=65_535).contains(&mtu) {
                    self.fail(
                        format_args!("links[{i}].mtu"),
                        format_args!("{mtu} bytes: between these nodes a link takes {least} to 65535 bytes"),
                    );
                }
            }
            for (name, direction) in [("ab", &link.ab), ("ba", &link.ba)] {
                direction.check(&mut self.root().at("links").at(i).at(name));
            }
        }
    }

    pub(crate) fn interfaces(&mut self) {
        let plan = self.plan;
        let mut seen = BTreeSet::new();
        for (i, interface) in plan.interfaces.iter().enumerate() {
            let path = format!("interfaces[{i}]");
            match plan.nodes.get(interface.node as usize) {
                None => self.fail(format_args!("{path}.node"), "there is no such node"),
                Some(node) if node.kind == NodeKind::Router => {
                    self.fail(format_args!("{path}.node"), "is a router: only hosts have addresses of links");
                }
                Some(node) if interface.address as usize >= node.addresses.len() => {
                    self.fail(format_args!("{path}.address"), "the host has no such address");
                }
                Some(_) => {}
            }
            match plan.links.get(interface.link as usize) {
                Some(link) if link.a == interface.node || link.b == interface.node => {}
                _ => self.fail(format_args!("{path}.link"), "the host has no such link"),
            }
            if !seen.insert((interface.node, interface.address)) {
                self.fail(format_args!("{path}.address"), "belongs to a link already");
            }
        }
    }
    pub(crate) fn link_event(&mut self, i: usize, change: &LinkEvent) {
        let LinkEvent { link, direction, set } = change;
        let Some(link) = self.plan.links.get(*link as usize) else {
            return self.fail(format_args!("events[{i}].change.link"), "there is no such link");
        };
        let of = if *direction == Way::Ab { &link.ab } else { &link.ba };
        if matches!(set, LinkChange::Rate { .. }) && of.capacity.is_some() {
            let place = format_args!("events[{i}].change.set.rate_bps");
            self.fail(place, "the link's rate varies by itself, and is not set");
        }
        set.check(&mut self.root().at("events").at(i).at("change").at("set"));
    }
}
