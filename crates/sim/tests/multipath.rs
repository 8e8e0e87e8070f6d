//! Flows over Multipath TCP.
#![allow(missing_docs)]

mod common;

use common::*;
use std::sync::Arc;
use voxpath_mptcp as mptcp;
use voxpath_sim::plan::{Direction, Interface, Link, MptcpEnd, Node, NodeKind, Plan, Transport, VERSION};
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
