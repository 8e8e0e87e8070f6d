//! Routes, held against a search that tries everything, and at sizes where a careless one would not end.
#![allow(missing_docs)]

#[path = "common/processor.rs"]
mod processor;

use proptest::prelude::*;
use std::time::Duration;
use voxpath_net::routing::{DirectionId, Graph, Routes};

/// Up to eight nodes, any of them routers, connected by a random tree and more links on top, doubled ones too.
fn graph() -> impl Strategy<Value = Graph> {
    let forwards = prop::collection::vec(prop::bool::weighted(0.7), 2..9);
    (
        forwards,
        prop::collection::vec(any::<u32>(), 8),
        prop::collection::vec((any::<u32>(), any::<u32>()), 0..8),
    )
        .prop_map(|(forwards, parents, more)| {
            let nodes = forwards.len() as u32;
            let tree = (1..nodes).zip(parents).map(|(node, parent)| (parent % node, node));
            let more = more.into_iter().map(|(a, b)| (a % nodes, b % nodes)).filter(|(a, b)| a != b);
            Graph { links: tree.chain(more).collect(), forwards, interfaces: vec![] }
        })
}

/// The directions that leave `node`, and where they lead; in the order of links.
fn leaving(graph: &Graph, node: u32) -> impl Iterator<Item = (DirectionId, u32)> {
    (0..).zip(&graph.links).flat_map(move |(link, &(a, b))| {
        let there = (a == node).then_some((DirectionId::new(link, true), b));
        let back = (b == node).then_some((DirectionId::new(link, false), a));
        there.into_iter().chain(back)
    })
}

/// The fewest hops from `from` to `to`: every path without a repetition is walked.
fn fewest_hops(graph: &Graph, from: u32, to: u32, visited: &mut Vec<u32>) -> Option<usize> {
    if from == to {
        return Some(0);
    }
    visited.push(from);
    let onward: Vec<u32> = leaving(graph, from).map(|(_, next)| next).collect();
    let hops = onward
        .into_iter()
        .filter(|&next| next == to || graph.forwards[next as usize])
        .filter_map(|next| if visited.contains(&next) { None } else { fewest_hops(graph, next, to, visited) })
        .min();
    visited.pop();
    hops.map(|hops| hops + 1)
}

proptest! {
    #[test]
    fn routes_are_shortest_paths_and_ties_go_to_the_link_listed_first(graph in graph()) {
        let routes = Routes::shortest(&graph);
        let nodes = graph.forwards.len() as u32;
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(a, b)| a != b) {
            let fewest = fewest_hops(&graph, from, to, &mut Vec::new());
            let path = routes.path(&graph, from, to, None);
            prop_assert_eq!(path.as_ref().map(Vec::len).ok(), fewest, "{} to {}", from, to);
            let Ok(path) = path else { continue };

            // The path is one: it starts here, hangs together, passes routers only, and ends there.
            let mut at = from;
            for (hop, direction) in path.iter().enumerate() {
                prop_assert!(hop == 0 || graph.forwards[at as usize], "{} forwards", at);
                let step = leaving(&graph, at).find(|(leaves, _)| leaves == direction);
                at = step.expect("each hop leaves where the one before arrived").1;
            }
            prop_assert_eq!(at, to);

            let expected = leaving(&graph, from).find(|&(_, next)| {
                let passable = next == to || graph.forwards[next as usize];
                passable && fewest_hops(&graph, next, to, &mut vec![from]).map(|hops| hops + 1) == fewest
            });
            prop_assert_eq!(path.first().copied(), expected.map(|(direction, _)| direction));
        }
    }
}

/// The processor time that `build` takes; bounded, it bounds complexity, with a factor of ten and more to either side.
fn timed<T>(build: impl FnOnce() -> T) -> (T, Duration) {
    let before = processor::used();
    let built = build();
    (built, processor::used() - before)
}

/// 200,000 hosts: one step for each pair of them would be 4 x 10^10, more than half a minute.
#[test]
fn a_star_costs_no_more_than_its_hosts() {
    let hosts = 200_000;
    let mut forwards = vec![false; hosts as usize];
    forwards.push(true);
    let graph = Graph { forwards, links: (0..hosts).map(|host| (host, hosts)).collect(), interfaces: vec![] };
    let (routes, took) = timed(|| Routes::shortest(&graph));
    assert_eq!(routes.path(&graph, 7, 123_456, None).map(|path| path.len()), Ok(2));
    assert!(took < Duration::from_secs(4), "{took:?}");
}

/// A hundred routers in a ring with two hundred hosts each: routers times hosts is what their tables hold.
#[test]
fn many_routers_cost_their_tables() {
    let (routers, hosts_each) = (100_u32, 200);
    let ring = (0..routers).map(|router| (router, (router + 1) % routers));
    let hosts = (0..routers * hosts_each).map(|host| (host % routers, routers + host));
    let links: Vec<(u32, u32)> = ring.chain(hosts).collect();
    let forwards = (0..routers + routers * hosts_each).map(|node| node < routers).collect();
    let graph = Graph { forwards, links, interfaces: vec![] };
    let (routes, took) = timed(|| Routes::shortest(&graph));
    let far = routes.path(&graph, routers, routers + routers / 2, None);
    assert_eq!(far.map(|path| path.len()), Ok(routers as usize / 2 + 2));
    assert!(took < Duration::from_secs(4), "{took:?}");
}
