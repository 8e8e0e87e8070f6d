//! Links, the interfaces to them, and the ways that they make.

use super::Checker;
use crate::plan::{Direction, NodeKind, Plan, Route};
use crate::ways::{End, Ways, between, opened};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use core::net::IpAddr;
use voxpath_net::routing::{DirectionId, NoPath};

impl Checker<'_> {
    pub(super) fn links(&mut self) {
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

    pub(super) fn interfaces(&mut self) {
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

    pub(super) fn routes(&mut self) {
        let plan = self.plan;
        for (i, route) in plan.routes.iter().enumerate() {
            self.route(&format!("routes[{i}]"), route);
        }
        if !self.problems.is_empty() {
            return;
        }
        let ways = Ways::of(plan);
        for (i, flow) in plan.flows.iter().enumerate() {
            let Some([here, there]) = opened(plan, flow) else {
                self.fail(format_args!("flows[{i}].through"), "is not reached by an address of one family");
                continue;
            };
            let takes_time = self.way(&format!("flows[{i}]"), &ways, here, there);
            // Each acknowledgment would let the next data out in the same instant, for ever.
            if takes_time == Some(false) && flow.app.is_endless() && !flow.app.is_paced() {
                self.fail(
                    format_args!("flows[{i}].app"),
                    "without a delay or a rate on its way it sends without end in no time",
                );
            }
        }
        for (i, process) in plan.processes.iter().enumerate() {
            for to in process.app.targets() {
                let Some((here, there)) = between(plan, process.node, to) else { continue };
                self.way(&format!("processes[{i}]"), &ways, (process.node, here), (to, there));
            }
        }
    }

    /// Packets find their way from one address to the other and back; whether they ever need time for it.
    pub(super) fn way(&mut self, path: &str, ways: &Ways, here: End, there: End) -> Option<bool> {
        let plan = self.plan;
        let name = |node: u32| plan.nodes[node as usize].name.as_str();
        let mut needs_time = Some(false);
        for (from, to) in [(here, there), (there, here)] {
            match ways.path(from, to) {
                Ok(path) => {
                    let slow = path.iter().any(|&id| direction(plan, id).takes_time());
                    needs_time = needs_time.map(|before| before || slow);
                }
                Err(why) => {
                    needs_time = None;
                    let (from, to) = (name(from.0), name(to.0));
                    let message = match why {
                        NoPath::Unreachable => format!("there is no route from {from:?} to {to:?}"),
                        NoPath::Loop(nodes) => {
                            let round: Vec<&str> =
                                nodes.iter().chain(&nodes[..1]).map(|&node| name(node)).collect();
                            let round = round.join(" - ");
                            format!("the routes from {from:?} to {to:?} go round for ever: {round}")
                        }
                    };
                    self.fail(path, message);
                }
            }
        }
        needs_time
    }

    pub(super) fn route(&mut self, path: &str, route: &Route) {
        let plan = self.plan;
        for (key, node) in [("node", route.node), ("to", route.to)] {
            if node as usize >= plan.nodes.len() {
                self.fail(format_args!("{path}.{key}"), format_args!("there is no node {node}"));
            }
        }
        match plan.links.get(route.link as usize) {
            Some(link) if link.a == route.node || link.b == route.node => {}
            _ => self.fail(format_args!("{path}.link"), "the node has no such link"),
        }
        if plan.interfaces.iter().any(|interface| interface.node == route.node) {
            self.fail(
                format_args!("{path}.node"),
                "packets leave this host by the link of their address: a route has no effect",
            );
        }
    }
}

/// The direction of a link as it was planned.
fn direction(plan: &Plan, id: DirectionId) -> &Direction {
    let link = &plan.links[id.link() as usize];
    if id == DirectionId::new(id.link(), true) { &link.ab } else { &link.ba }
}
