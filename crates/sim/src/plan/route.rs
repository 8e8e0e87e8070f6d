//! Static routes, and the ways that packets take with and without them.

use super::{Draw, Link, NodeKind, Plan};
use crate::check::Checker;
use crate::ways::{End, Ways, between, opened};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_net::Direction;
use voxpath_net::routing::{DirectionId, NoPath};

/// A static route: at `node`, packets for `to` leave by `link`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Index of the node that forwards or sends.
    pub node: u32,
    /// Index of the destination node.
    pub to: u32,
    /// Index of a link of `node`.
    pub link: u32,
}

impl Route {
    /// Any link of a router for the packets to any host, also one by which they do not get there. Only in a run that has an
    /// end, for the same reason as a link that goes down.
    pub(crate) fn sample(draw: &mut dyn Draw, plan: &Plan) -> Option<Self> {
        plan.duration_ns?;
        let of = |kind| (0..).zip(&plan.nodes).filter(move |(_, node)| node.kind == kind).map(|(i, _)| i);
        let (routers, hosts): (Vec<u32>, Vec<u32>) =
            (of(NodeKind::Router).collect(), of(NodeKind::Host).collect());
        if routers.is_empty() || hosts.is_empty() {
            return None;
        }
        let (node, to) = (draw.pick(&routers), draw.pick(&hosts));
        let at_node = |(_, link): &(u32, &Link)| link.a == node || link.b == node;
        let links: Vec<u32> = (0..).zip(&plan.links).filter(at_node).map(|(i, _)| i).collect();
        (!links.is_empty()).then(|| Self { node, to, link: draw.pick(&links) })
    }

    pub(crate) fn told(&self, plan: &Plan) -> [String; 4] {
        let node = |index: u32| plan.nodes[index as usize].name.clone();
        let way = format!("to {} by {}", node(self.to), plan.links[self.link as usize].name);
        ["route".into(), node(self.node), "route".into(), way]
    }
}

impl Checker<'_> {
    pub(crate) fn routes(&mut self) {
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
    pub(crate) fn way(&mut self, path: &str, ways: &Ways, here: End, there: End) -> Option<bool> {
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

    pub(crate) fn route(&mut self, path: &str, route: &Route) {
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
    pub(crate) fn route_event(&mut self, path: &str, route: &Route) {
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
