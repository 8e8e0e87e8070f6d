//! Static routes, and the ways that packets take with and without them.

use super::{Draw, Link, NodeKind, Plan};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

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
