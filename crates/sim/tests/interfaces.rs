//! Hosts with several interfaces: which way packets go, and what is refused.
#![allow(missing_docs)]

mod common;

use common::*;
use voxpath_sim::plan::{App, Bulk, Direction, Interface, Link, Node, NodeKind, Plan, Route};
use voxpath_sim::{Data, Report, check, paths};
use voxpath_tcp::Profile;

/// The client (0) has the links 0 and 1 to the router (2), and an address at each; the server (1) has link 2.
fn two_paths(delays: [u64; 2]) -> Plan {
    let mut plan = pipe(wire(0), wire(0));
    plan.nodes[0].addresses = vec![[10, 0, 0, 1].into(), [10, 0, 1, 1].into()];
    plan.nodes.push(Node {
        simulated: false,
        real: false,
        edge: None,
        name: "core".into(),
        kind: NodeKind::Router,
        addresses: vec![],
    });
    let link = |name: &str, a, b, way: Direction| Link {
        mtu: None,
        name: name.into(),
        a,
        b,
        ab: way.clone(),
        ba: way,
    };
    plan.links = vec![
        link("wifi", 0, 2, wire(delays[0])),
        link("lte", 0, 2, wire(delays[1])),
        link("access", 2, 1, wire(MS)),
    ];
    plan.interfaces = [0, 1].map(|i| Interface { node: 0, address: i, link: i }).to_vec();
    for address in [0, 1] {
        plan = with_tcp(plan, &Profile::Linux.config(), App::Bulk(Bulk { bytes: Some(10_000) }));
        plan.flows[address as usize].from_address = Some(address);
    }
    plan
}

fn forwarded(report: &Report, place: &str) -> u64 {
    let elements = table(report, "elements");
    let (Data::Text(places), Data::Text(kinds), Data::U64(out)) =
        (column(elements, "place"), column(elements, "element"), column(elements, "packets_out"))
    else {
        panic!("columns of the table")
    };
    (0..places.len()).filter(|&i| places[i] == place && kinds[i] == "delay").map(|i| out[i]).sum()
}

#[test]
fn packets_from_and_to_an_address_take_its_link() {
    let plan = two_paths([5 * MS, 20 * MS]);
    let found = paths(&plan).expect("a plan that can run");
    let numbers = |way: &[voxpath_net::routing::DirectionId]| way.iter().map(|d| d.0).collect::<Vec<_>>();
    assert_eq!(found[0].each_ref().map(|way| numbers(way)), [vec![0, 4], vec![5, 1]]);
    assert_eq!(found[1].each_ref().map(|way| numbers(way)), [vec![2, 4], vec![5, 3]]);
    let report = run(&plan, 0);
    for (row, delay) in [5, 20].into_iter().enumerate() {
        assert_eq!(status(&report, row), "completed");
        assert_eq!(of_end(&report, "client", "established_ns", row), 2 * (delay + 1) * MS);
    }
    for link in ["wifi", "lte"] {
        for way in ["ab", "ba"] {
            assert!(forwarded(&report, &format!("{link} {way}")) > 4, "{link} {way}");
        }
    }
}

#[test]
fn an_interface_has_to_be_one() {
    type Change = fn(&mut Plan);
    let wrong: [(&str, Change); 7] = [
        ("interfaces[0].node", |plan| plan.interfaces[0].node = 9),
        ("interfaces[0].address", |plan| plan.interfaces[0].address = 2),
        ("interfaces[0].link", |plan| plan.interfaces[0].link = 2),
        ("interfaces[1].address", |plan| plan.interfaces[1].address = 0),
        ("flows[0].from_address", |plan| plan.flows[0].from_address = Some(2)),
        ("flows[1].to_address", |plan| plan.flows[1].to_address = Some(1)),
        ("routes[0].node", |plan| plan.routes.push(Route { node: 0, to: 1, link: 0 })),
    ];
    for (path, change) in wrong {
        let mut plan = two_paths([MS, MS]);
        change(&mut plan);
        let found: Vec<String> = check(&plan).into_iter().map(|problem| problem.path.to_string()).collect();
        assert_eq!(found.first().map(String::as_str), Some(path), "{found:?}");
    }
}

#[test]
fn a_route_at_a_router_moves_all_addresses_of_a_host() {
    let mut plan = two_paths([5 * MS, 20 * MS]);
    plan.routes.push(Route { node: 2, to: 0, link: 1 });
    let report = run(&plan, 0);
    assert_eq!(of_end(&report, "client", "established_ns", 0), (5 + 1 + 1 + 20) * MS);
    assert_eq!(forwarded(&report, "wifi ba"), 0);
}
