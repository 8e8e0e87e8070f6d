//! Static routes, and the ways that packets take with and without them.

use super::Checker;
use crate::plan::{Direction, NodeKind, Plan, Route};
use crate::ways::{End, Ways, between, ends, opened};
use alloc::format;
use alloc::vec::Vec;
use core::net::IpAddr;
use voxpath_net::routing::{DirectionId, NoPath, Way};

impl Checker<'_> {
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

    /// Whoever is behind a middlebox that translates is not reached by his own address.
    pub(super) fn translations(&mut self) {
        let plan = self.plan;
        let outside: Vec<(IpAddr, u32)> = plan.outside().collect();
        if outside.is_empty() {
            return;
        }
        let ways = Ways::of(plan);
        for (i, flow) in plan.flows.iter().enumerate() {
            let Some([from, to]) = ends(plan, flow) else { continue };
            let is_v4 = plan.nodes[to.0 as usize].addresses[to.1 as usize].is_ipv4();
            let path = ways.path(from, to).unwrap_or_default();
            let back =
                |&&(ip, link): &&(IpAddr, u32)| ip.is_ipv4() == is_v4 && path.contains(&Way::Ba.of(link));
            if let Some((_, link)) = outside.iter().find(back) {
                let name = &plan.links[*link as usize].name;
                let message = format!(
                    "is behind the link {name:?}, which translates addresses: only who is behind it opens flows"
                );
                self.fail(format_args!("flows[{i}].to"), message);
            }
        }
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
    pub(super) fn route_event(&mut self, path: &str, route: &Route) {
        let place = format!("{path}.change");
        self.route(&place, route);
        match self.plan.nodes.get(route.node as usize) {
            Some(node) if node.kind == NodeKind::Host => self.fail(
                format_args!("{place}.node"),
                "is a host: routes change at routers, and hosts by their links",
            ),
            _ => {}
        }
    }
}

/// The direction of a link as it was planned.
fn direction(plan: &Plan, id: DirectionId) -> &Direction {
    let link = &plan.links[id.link() as usize];
    if id == DirectionId::new(id.link(), true) { &link.ab } else { &link.ba }
}
