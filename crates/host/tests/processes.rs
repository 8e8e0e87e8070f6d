//! Processes at the edge: a proxy between a client and a server, each of them simulated or real.

mod common;

use common::{Host, MS, host, linux, pipe, run_on, wire, with_tcp};
use std::sync::Arc;
use voxpath_host::Kind;
use voxpath_sim::plan::{
    Bulk, Download, Flow, Forward, Link, Node, Peer, Ping, Plan, Process, ProcessApp, Proxy, Through,
    Transport,
};
use voxpath_sim::{Observe, Report};

/// A client, a proxy and a server in a row; flows go through the proxy.
fn split() -> Plan {
    let mut plan = pipe(wire(5 * MS), wire(5 * MS));
    let third = Node { name: "third".into(), addresses: vec![[10, 0, 0, 3].into()], ..plan.nodes[0].clone() };
    plan.nodes.push(third);
    let link = Link { name: "second".into(), a: 1, b: 2, ..plan.links[0].clone() };
    plan.links.push(link);
    let asks = Download { request_bytes: 2_000_000, response_bytes: 3_000_000, requests: 1, pause_ns: 0 };
    plan = with_tcp(plan, &linux(), asks.into());
    plan = with_tcp(plan, &linux(), Bulk { bytes: Some(1_000_000) }.into());
    let ping = Ping { packet_bytes: 200, interval_ns: 5 * MS, packets: Some(40), patience_ns: 1000 * MS };
    plan.flows.push(Flow {
        name: "ping".into(),
        transport: Transport::Udp,
        app: ping.into(),
        ..plan.flows[0].clone()
    });
    let mut forwards = Vec::new();
    for (flow, port) in plan.flows.iter_mut().zip(8000..) {
        let udp = matches!(flow.transport, Transport::Udp);
        forwards.push(Forward { port, udp, to: Peer { node: 2, port } });
        flow.to = 2;
        flow.through = Some(Through { first: Peer { node: 1, port }, port });
    }
    plan.processes.push(Process {
        name: "proxy".into(),
        node: 1,
        simulated: false,
        tcp: Arc::new(linux()),
        mptcp: None,
        wake_ns: 0,
        app: ProcessApp::Proxy(Proxy { buffer_bytes: 65_536, forwards }),
    });
    plan
}

fn run(real: [bool; 3]) -> Report {
    let mut plan = split();
    for (node, real) in plan.nodes.iter_mut().zip(real) {
        node.simulated = !real;
    }
    let hosts: Vec<Option<Host>> =
        (0..3).map(|index| real[index].then(|| host(&plan, index, Kind::Tun, &linux()))).collect();
    run_on(&plan, hosts, &Observe::default()).report
}

#[test]
fn octets_pass_a_proxy_whichever_hosts_are_real() {
    // A kernel's client and server with our proxy between them; then the proxy on a kernel; then all of them.
    for real in [[true, false, true], [false, true, false], [true, true, true], [true, false, false]] {
        let report = run(real);
        for (row, octets) in [(0, 3_000_000), (1, 1_000_000)] {
            assert_eq!(common::status(&report, row), "completed", "real: {real:?}");
            assert_eq!(common::flow(&report, "bytes_delivered", row), octets);
            assert_eq!(common::flow(&report, "bytes_wrong", row), 0);
        }
        assert_eq!(common::datagrams(&report, 2)[1], 40, "real: {real:?}");
        assert_eq!(common::flow(&report, "bytes_wrong", 2), 0);
        assert!(common::delays(&report, 2)[0] >= 20 * MS);
    }
}
