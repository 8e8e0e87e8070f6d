//! Static routing: fewest hops, with explicit exceptions.
//!
//! Only routers forward; a path through another host does not count. Among paths of equal length the link
//! listed first wins, so that a plan's order alone decides.
//!
//! A packet is bound for a *place*: a node, whichever way it gets there, or one of its interfaces, at which it arrives by
//! that interface's link. Places are numbered: nodes first, then interfaces.

use alloc::vec;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One direction of a link: `2 × link` from its first node to its second, `2 × link + 1` back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirectionId(pub u32);

impl DirectionId {
    /// No direction: the destination cannot be reached.
    const NONE: Self = Self(u32::MAX);

    /// The direction of link `link` that begins at its first node, or else at its second.
    pub const fn new(link: u32, from_first: bool) -> Self {
        Self(link * 2 + if from_first { 0 } else { 1 })
    }

    /// The direction as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Which of its link's directions it is.
    pub const fn way(self) -> Way {
        if self.0.is_multiple_of(2) { Way::Ab } else { Way::Ba }
    }

    /// The link that this is a direction of.
    pub const fn link(self) -> u32 {
        self.0 / 2
    }
}

/// One of a link's directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// From the link's first node to its second.
    Ab,
    /// Back.
    Ba,
}

impl Way {
    /// Both, in the order of a link's directions.
    pub const BOTH: [Self; 2] = [Self::Ab, Self::Ba];

    /// Its place in [`Way::BOTH`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// This direction of `link`.
    pub const fn of(self, link: u32) -> DirectionId {
        DirectionId::new(link, matches!(self, Self::Ab))
    }

    /// Its name, as in the names of places.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ab => "ab",
            Self::Ba => "ba",
        }
    }
}

/// The network as routing sees it.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Whether a node forwards, by node.
    pub forwards: Vec<bool>,
    /// The two nodes that each link joins.
    pub links: Vec<(u32, u32)>,
    /// Interfaces that packets are bound for: a node and one of its links.
    pub interfaces: Vec<(u32, u32)>,
}

impl Graph {
    /// The place of an interface, by its index.
    pub const fn place(&self, interface: usize) -> u32 {
        (self.forwards.len() + interface) as u32
    }

    /// The node that a place belongs to.
    pub fn node(&self, place: u32) -> u32 {
        match (place as usize).checked_sub(self.forwards.len()) {
            None => place,
            Some(interface) => self.interfaces[interface].0,
        }
    }

    /// The direction of `link` that begins at `node`, one of its ends.
    pub fn leaving(&self, node: u32, link: u32) -> DirectionId {
        DirectionId::new(link, self.links[link as usize].0 == node)
    }

    /// The node at which a direction ends.
    fn end(&self, direction: DirectionId) -> u32 {
        let (first, second) = self.links[direction.link() as usize];
        if DirectionId::new(direction.link(), true) == direction { second } else { first }
    }
}

/// Next hops of every node to every place.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    tables: Vec<Table>,
    places: usize,
}

/// Why a packet never arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoPath {
    /// A node on the way does not forward, or knows no next hop.
    Unreachable,
    /// Explicit routes lead round these nodes for ever, in this order, the first in the plan at the front.
    Loop(Vec<u32>),
}

#[derive(Debug, Clone)]
enum Table {
    /// A host with one interface has no choice.
    Only(DirectionId),
    /// By destination.
    ByPlace(Vec<DirectionId>),
}

impl Routes {
    /// Shortest paths through `graph`.
    pub fn shortest(graph: &Graph) -> Self {
        let nodes = graph.forwards.len();
        let places = nodes + graph.interfaces.len();
        let neighbours = Neighbours::of(graph);
        let mut tables: Vec<Table> = (0..nodes)
            .map(|node| match neighbours.all[node].as_slice() {
                [only] if !graph.forwards[node] => Table::Only(only.direction),
                _ => Table::ByPlace(vec![DirectionId::NONE; places]),
            })
            .collect();
        // Only these have a choice. Everything below costs what they and the routers cost, for each destination:
        // ten thousand hosts around one router are not a hundred million steps.
        let mut choosing: Vec<(usize, &mut Vec<DirectionId>)> = tables
            .iter_mut()
            .enumerate()
            .filter_map(|(node, table)| match table {
                Table::Only(_) => None,
                Table::ByPlace(next) => Some((node, next)),
            })
            .collect();
        let mut search = Search { distance: vec![u32::MAX; nodes], found: Vec::new() };
        for to in 0..nodes {
            search.run(&neighbours, to);
            for (node, next) in &mut choosing {
                if *node != to {
                    next[to] = neighbours.next_hop(*node, to, &search.distance);
                }
            }
        }
        for (i, &(of, link)) in graph.interfaces.iter().enumerate() {
            let last = DirectionId(graph.leaving(of, link).0 ^ 1);
            let gate = graph.end(graph.leaving(of, link)) as usize;
            search.run(&neighbours, gate);
            for (node, next) in &mut choosing {
                next[nodes + i] = if *node == gate {
                    last
                } else if *node == of as usize || !graph.forwards[gate] {
                    DirectionId::NONE
                } else {
                    neighbours.next_hop(*node, gate, &search.distance)
                };
            }
        }
        Self { tables, places }
    }

    /// Replaces the route from `node` to the place `to`.
    pub fn set(&mut self, node: u32, to: u32, next: DirectionId) {
        let table = &mut self.tables[node as usize];
        if let Table::Only(only) = *table {
            *table = Table::ByPlace(vec![only; self.places]);
        }
        if let Table::ByPlace(by_place) = table {
            by_place[to as usize] = next;
        }
    }

    /// The direction by which `node` sends to `to`, a place of another node; none if it cannot.
    #[inline]
    pub fn next(&self, node: u32, to: u32) -> Option<DirectionId> {
        let next = match &self.tables[node as usize] {
            Table::Only(only) => *only,
            Table::ByPlace(next) => next[to as usize],
        };
        (next != DirectionId::NONE).then_some(next)
    }

    /// The directions that a packet from the node `from` to the place `to` takes, where it leaves by `first` if that is
    /// given.
    ///
    /// # Errors
    /// Why it never arrives.
    pub fn path(
        &self,
        graph: &Graph,
        from: u32,
        to: u32,
        mut first: Option<DirectionId>,
    ) -> Result<Vec<DirectionId>, NoPath> {
        let mut path = Vec::new();
        let mut at = from;
        let arrived = graph.node(to);
        while at != arrived {
            if at != from && !graph.forwards[at as usize] {
                return Err(NoPath::Unreachable);
            }
            if path.len() > graph.forwards.len() {
                return Err(NoPath::Loop(self.round(graph, at, to)));
            }
            let next = first.take().or_else(|| self.next(at, to)).ok_or(NoPath::Unreachable)?;
            path.push(next);
            at = graph.end(next);
        }
        Ok(path)
    }

    /// The nodes of a loop, of which `first` is one.
    fn round(&self, graph: &Graph, first: u32, to: u32) -> Vec<u32> {
        let mut nodes = vec![first];
        while let Some(next) = self.next(nodes[nodes.len() - 1], to) {
            match graph.end(next) {
                node if node == first => break,
                node => nodes.push(node),
            }
        }
        let least = (0..nodes.len()).min_by_key(|&i| nodes[i]).unwrap_or_default();
        nodes.rotate_left(least);
        nodes
    }
}

/// Who is next to whom, in the order of links.
struct Neighbours {
    all: Vec<Vec<Neighbour>>,
    /// Only those that forward: what a search has to walk through, however many hosts a router has.
    forwarding: Vec<Vec<Neighbour>>,
}

#[derive(Clone, Copy)]
struct Neighbour {
    node: usize,
    direction: DirectionId,
}

impl Neighbours {
    fn of(graph: &Graph) -> Self {
        let mut all = vec![Vec::new(); graph.forwards.len()];
        for (link, &(a, b)) in (0..).zip(&graph.links) {
            let (first, second) = (a as usize, b as usize);
            all[first].push(Neighbour { node: second, direction: DirectionId::new(link, true) });
            all[second].push(Neighbour { node: first, direction: DirectionId::new(link, false) });
        }
        let forwarding = all
            .iter()
            .map(|list| list.iter().copied().filter(|neighbour| graph.forwards[neighbour.node]).collect())
            .collect();
        Self { all, forwarding }
    }

    fn next_hop(&self, node: usize, to: usize, distance: &[u32]) -> DirectionId {
        let direct = self.all[to].iter().filter(|neighbour| neighbour.node == node);
        // Seen from `to`, the direction that leads here is the one back.
        let direct = direct.map(|neighbour| (0, DirectionId(neighbour.direction.0 ^ 1)));
        let onward = self.forwarding[node].iter().map(|n| (distance[n.node], n.direction));
        direct
            .chain(onward)
            .filter(|&(hops, _)| hops != u32::MAX)
            .min()
            .map_or(DirectionId::NONE, |(_, direction)| direction)
    }
}

/// A breadth-first search, whose room is used again.
struct Search {
    /// Hops from every forwarding node to the destination, and from that itself; `u32::MAX` where there is no path.
    distance: Vec<u32>,
    /// The nodes found, nearest first.
    found: Vec<usize>,
}

impl Search {
    fn run(&mut self, neighbours: &Neighbours, to: usize) {
        for node in self.found.drain(..) {
            self.distance[node] = u32::MAX;
        }
        self.distance[to] = 0;
        self.found.push(to);
        let mut next = 0;
        while let Some(&node) = self.found.get(next) {
            next += 1;
            for neighbour in &neighbours.forwarding[node] {
                if self.distance[neighbour.node] == u32::MAX {
                    self.distance[neighbour.node] = self.distance[node] + 1;
                    self.found.push(neighbour.node);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hosts each on two routers in a triangle of routers, one link doubled.
    fn graph() -> Graph {
        Graph {
            forwards: vec![false, false, true, true, true],
            links: vec![(0, 2), (1, 3), (2, 4), (4, 3), (2, 3), (2, 3)],
            interfaces: vec![],
        }
    }

    fn path(routes: &Routes, from: u32, to: u32) -> Result<Vec<u32>, NoPath> {
        routes.path(&graph(), from, to, None).map(|path| path.iter().map(|direction| direction.0).collect())
    }

    #[test]
    fn the_fewest_hops_win_and_then_the_link_listed_first() {
        let routes = Routes::shortest(&graph());
        assert_eq!(path(&routes, 0, 1), Ok(vec![0, 8, 3]));
        assert_eq!(path(&routes, 1, 0), Ok(vec![2, 9, 1]));
        assert_eq!(path(&routes, 0, 4), Ok(vec![0, 4]));
    }

    #[test]
    fn a_static_route_replaces_the_shortest_and_a_loop_is_told_by_its_nodes() {
        let mut routes = Routes::shortest(&graph());
        routes.set(2, 1, DirectionId::new(2, true));
        assert_eq!(path(&routes, 0, 1), Ok(vec![0, 4, 6, 3]));
        routes.set(4, 1, DirectionId::new(2, false));
        // In at node 2, and round; node 0 is before the loop, not in it.
        assert_eq!(path(&routes, 0, 1), Err(NoPath::Loop(vec![2, 4])));
    }

    #[test]
    fn hosts_do_not_forward() {
        let chain = Graph { forwards: vec![false; 3], links: vec![(0, 1), (1, 2)], interfaces: vec![] };
        let routes = Routes::shortest(&chain);
        assert_eq!(routes.path(&chain, 0, 2, None), Err(NoPath::Unreachable));
        assert_eq!(routes.path(&chain, 0, 1, None), Ok(vec![DirectionId(0)]));
    }

    #[test]
    fn an_interface_is_reached_by_its_own_link_and_left_by_the_one_that_is_asked_for() {
        // Host 0 has the links 0 and 1 to the router 2, and link 2 to host 1, which has link 3 to the router.
        let graph = Graph {
            forwards: vec![false, false, true],
            links: vec![(0, 2), (2, 0), (0, 1), (1, 2)],
            interfaces: vec![(0, 0), (0, 1), (0, 2)],
        };
        let routes = Routes::shortest(&graph);
        let path = |from, to, first| {
            routes.path(&graph, from, to, first).map(|path| path.iter().map(|d| d.0).collect::<Vec<_>>())
        };
        assert_eq!(path(2, graph.place(0), None), Ok(vec![1]));
        assert_eq!(path(2, graph.place(1), None), Ok(vec![2]));
        assert_eq!(path(1, graph.place(2), None), Ok(vec![5]));
        assert_eq!(path(1, graph.place(1), None), Ok(vec![6, 2]));
        assert_eq!(path(2, graph.place(2), None), Err(NoPath::Unreachable), "hosts do not forward");
        assert_eq!(path(0, 1, None), Ok(vec![4]));
        assert_eq!(path(0, 1, Some(graph.leaving(0, 1))), Ok(vec![3, 7]));
        assert_eq!((graph.node(2), graph.node(graph.place(1))), (2, 0));
    }
}
