//! Flows over Multipath TCP.
#![allow(missing_docs)]

mod common;

use common::*;
use std::sync::Arc;
use voxpath_mptcp as mptcp;
use voxpath_sim::plan::{
    AddressEvent, Change, Direction, Event, Interface, Link, MptcpEnd, Node, NodeKind, Plan, Transport,
    VERSION,
};
use voxpath_tcp::Profile;

/// The client (0) has the links 0 and 1 to the router (2), and an address at each; the server (1) has link 2.
pub fn two_paths(ways: [Direction; 2], app: voxpath_sim::plan::App) -> Plan {
    let mut plan = with_tcp(pipe(wire(0), wire(0)), &Profile::Linux.config(), app);
    assert_eq!(plan.version, VERSION);
    plan.nodes[0].addresses = vec![[10, 0, 0, 1].into(), [10, 0, 1, 1].into()];
    plan.nodes.push(Node {
        simulated: false,
        real: false,
        edge: None,
        name: "core".into(),
        kind: NodeKind::Router,
        addresses: vec![],
    });
    let link = |name: &str, a, b, way: &Direction| Link {
        mtu: None,
        name: name.into(),
        a,
        b,
        ab: way.clone(),
        ba: way.clone(),
    };
    let [wifi, lte] = &ways;
    plan.links = vec![link("wifi", 0, 2, wifi), link("lte", 0, 2, lte), link("access", 2, 1, &wire(MS))];
    plan.interfaces = [0, 1].map(|i| Interface { node: 0, address: i, link: i }).to_vec();
    let end = |mptcp: mptcp::Config| {
        Arc::new(MptcpEnd { tcp: Arc::new(Profile::Linux.config()), mptcp: Arc::new(mptcp), backups: vec![] })
    };
    let answers = mptcp::PathManagement { opens: mptcp::Opens::Nothing, ..Default::default() };
    plan.flows[0].transport = Transport::Mptcp {
        client: end(mptcp::Config::default()),
        server: end(mptcp::Config { paths: answers, ..mptcp::Config::default() }),
    };
    plan
}

fn way(mbps: u64, delay: u64) -> Direction {
    Direction { rate_bps: Some(mbps * 1_000_000), queue_packets: Some(100), ..wire(delay * MS) }
}

#[test]
fn a_download_takes_both_paths() {
    let report = run(&two_paths([way(10, 10), way(10, 20)], download()), 0);
    assert_eq!(status(&report, 0), "completed");
    assert_eq!(flow(&report, "bytes_delivered", 0), 10_000_000);
    let took = flow(&report, "completed_ns", 0) as f64 / 1e9;
    // Of 20 Mbit/s, headers take less than a tenth.
    assert!((4.0..5.2).contains(&took), "{took} s");
    let ends = texts(&report, "connections", "end");
    let subflows = values(&report, "connections", "subflow");
    let bytes = values(&report, "connections", "bytes_delivered");
    let of_server: Vec<_> = (0..ends.len()).filter(|&i| ends[i] == "server").collect();
    assert_eq!(of_server.iter().map(|&i| subflows[i]).collect::<Vec<_>>(), [Some(1), Some(2)]);
    for at in of_server {
        assert!(bytes[at] > Some(4_000_000), "{bytes:?}");
    }
}

fn address(plan: &mut Plan, at_ms: u64, address: u32, up: bool) {
    let change = Change::Address(AddressEvent { node: 0, address, up });
    plan.events.push(Event { at_ns: at_ms * MS, change });
}

#[test]
fn addresses_leave_and_come_back_and_change() {
    let mut plan = two_paths([way(10, 10), way(10, 20)], download());
    // A third one, at the second link, that replaces the second.
    plan.nodes[0].addresses.push([10, 0, 2, 1].into());
    plan.interfaces.push(Interface { node: 0, address: 2, link: 1 });
    plan.duration_ns = Some(60 * SECOND);
    address(&mut plan, 1000, 0, false);
    address(&mut plan, 2000, 0, true);
    address(&mut plan, 3000, 1, false);
    address(&mut plan, 3000, 2, true);
    let report = run(&plan, 0);
    assert_eq!(status(&report, 0), "completed");
    assert_eq!(flow(&report, "bytes_delivered", 0), 10_000_000);
    assert_eq!(flow(&report, "bytes_wrong", 0), 0);
    let (ends, locals) =
        (texts(&report, "connections", "end"), texts(&report, "connections", "peer_address"));
    let bytes = values(&report, "connections", "bytes_delivered");
    let of_server = (0..ends.len()).filter(|&i| ends[i] == "server");
    let carried: Vec<(&str, u64)> = of_server.map(|i| (locals[i].as_str(), bytes[i].unwrap_or(0))).collect();
    let places: Vec<&str> = carried.iter().map(|(place, _)| *place).collect();
    // The second subflow stood before the first address left, and the first one's came back by a new one.
    assert_eq!(places, ["10.0.0.1", "10.0.1.1", "10.0.0.1", "10.0.2.1"]);
    assert!(carried.iter().all(|&(_, bytes)| bytes > 300_000), "{carried:?}");
    assert_eq!(texts(&report, "events", "name")[2], "client 10.0.1.1");
}

#[test]
fn tcp_from_an_address_that_is_gone_is_silent() {
    let mut plan = with_tcp(pipe(way(10, 10), way(10, 10)), &Profile::Linux.config(), download());
    plan.duration_ns = Some(60 * SECOND);
    address(&mut plan, 1000, 0, false);
    address(&mut plan, 3000, 0, true);
    let report = run(&plan, 0);
    assert_eq!(status(&report, 0), "completed");
    let took = flow(&report, "completed_ns", 0) as f64 / 1e9;
    // Its 8.4 s, and what it was gone for.
    assert!((10.0..13.0).contains(&took), "{took} s");
}
