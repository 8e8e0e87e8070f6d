//! The ways that packets take: which addresses a flow goes between, and by which links.

use crate::plan::{self, Flow, NodeKind, Plan};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;
use voxpath_net::routing::{DirectionId, Graph, NoPath, Routes};

/// An address, by its node and its number there.
pub(crate) type End = (u32, u32);

/// A plan's network as routing sees it, static routes included.
#[derive(Debug)]
pub(crate) struct Ways {
    pub(crate) graph: Graph,
    pub(crate) routes: Routes,
    /// Which of [`Graph::interfaces`] an address is at.
    attached: BTreeMap<End, usize>,
    /// How many of [`Graph::interfaces`], the last ones, are of addresses of middleboxes.
    outside: usize,
}

impl Ways {
    /// The plan's indices must be valid.
    pub(crate) fn of(plan: &Plan) -> Self {
        let interfaces = plan.interfaces.iter().map(|interface| (interface.node, interface.link));
        let outside = plan.outside().map(|(_, link)| (plan.links[link as usize].a, link));
        let graph = Graph {
            forwards: plan.nodes.iter().map(|node| node.kind == NodeKind::Router).collect(),
            links: plan.links.iter().map(|link| (link.a, link.b)).collect(),
            interfaces: interfaces.chain(outside).collect(),
        };
        let routes = Routes::shortest(&graph);
        let end = |(i, interface): (usize, &plan::Interface)| ((interface.node, interface.address), i);
        let attached = plan.interfaces.iter().enumerate().map(end).collect();
        let outside = plan.outside().count();
        let mut ways = Self { graph, routes, attached, outside };
        for route in &plan.routes {
            ways.set(route.node, route.to, route.link);
        }
        ways
    }

    /// From now on `node` sends by `link` what is for any address of the node `to`.
    pub(crate) fn set(&mut self, node: u32, to: u32, link: u32) {
        let next = self.graph.leaving(node, link);
        for place in self.places(to) {
            self.routes.set(node, place, next);
        }
    }

    /// Every place of a node.
    pub(crate) fn places(&self, node: u32) -> Vec<u32> {
        let interfaces =
            self.graph.interfaces.iter().enumerate().filter(|(_, interface)| interface.0 == node);
        core::iter::once(node).chain(interfaces.map(|(i, _)| self.graph.place(i))).collect()
    }

    /// The place at which an address is.
    pub(crate) fn place(&self, end: End) -> u32 {
        self.interface(end).map_or(end.0, |interface| self.graph.place(interface))
    }

    /// The direction by which packets from an address leave its node, if it is attached to a link.
    pub(crate) fn leaving(&self, end: End) -> Option<DirectionId> {
        let (node, link) = self.graph.interfaces[self.interface(end)?];
        Some(self.graph.leaving(node, link))
    }

    /// Where the address is that stands for what is behind a link, of those of [`Plan::outside`].
    pub(crate) fn outside(&self, index: usize) -> u32 {
        self.graph.place(self.graph.interfaces.len() - self.outside + index)
    }

    fn interface(&self, end: End) -> Option<usize> {
        self.attached.get(&end).copied()
    }

    /// The directions that packets from one address to another take.
    pub(crate) fn path(&self, from: End, to: End) -> Result<Vec<DirectionId>, NoPath> {
        self.routes.path(&self.graph, from.0, self.place(to), self.leaving(from))
    }
}

/// The addresses between which a flow goes, of the end that opens and of the end that answers: those that it names, else
/// the first ones of one family. None where there are none. The plan's indices must be valid.
pub(crate) fn ends(plan: &Plan, flow: &Flow) -> Option<[End; 2]> {
    let (i, j) = pair(plan, (flow.from, flow.from_address), (flow.to, flow.to_address))?;
    Some([(flow.from, i), (flow.to, j)])
}

/// The addresses of the end that opens a flow and of whom it talks to: of the end that answers, or of the process that
/// passes the flow on.
pub(crate) fn opened(plan: &Plan, flow: &Flow) -> Option<[End; 2]> {
    let [here, there] = ends(plan, flow)?;
    let Some(through) = flow.through else { return Some([here, there]) };
    let (_, address) = towards(plan, here, through.first.node)?;
    Some([here, (through.first.node, address)])
}

/// The first addresses of one family that two nodes have, each by its number at its node.
pub(crate) fn between(plan: &Plan, from: u32, to: u32) -> Option<(u32, u32)> {
    pair(plan, (from, None), (to, None))
}

/// The same, where one of them is given.
pub(crate) fn towards(plan: &Plan, from: End, to: u32) -> Option<(u32, u32)> {
    pair(plan, (from.0, Some(from.1)), (to, None))
}

fn pair(plan: &Plan, from: (u32, Option<u32>), to: (u32, Option<u32>)) -> Option<(u32, u32)> {
    let candidates = |(node, named): (u32, Option<u32>)| {
        let all = plan.nodes[node as usize].addresses.iter().copied();
        (0..).zip(all).filter(move |&(i, _)| named.is_none_or(|named| named == i))
    };
    let there: Vec<(u32, IpAddr)> = candidates(to).collect();
    candidates(from).find_map(|(i, address)| {
        let &(j, _) = there.iter().find(|(_, other)| other.is_ipv4() == address.is_ipv4())?;
        Some((i, j))
    })
}
