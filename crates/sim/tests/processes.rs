//! Processes: proxies between two connections, and conversations that go through several of them.
#![allow(missing_docs)]

mod common;

use common::*;
use std::sync::Arc;
use voxpath_sim::plan::{
    Bulk, Cbr, Download, Flow, Forward, Link, Node, NodeKind, Peer, Ping, Plan, Process, ProcessApp, Proxy,
    Through, Transport, loss,
};
use voxpath_sim::{Data, Report};
use voxpath_tcp::Profile;

/// Hosts in a row, `client`, proxies, `server`, each joined to the next by a link.
fn chain(proxies: u32, lost: f64) -> Plan {
    let mut plan = pipe(wire(MS), wire(MS));
    let host = |i: u32| Node {
        simulated: false,
        real: false,
        edge: None,
        name: format!("host{i}"),
        kind: NodeKind::Host,
        addresses: vec![[10, 0, 0, i as u8 + 1].into()],
    };
    plan.nodes = (0..proxies + 2).map(host).collect();
    let lossy = || {
        let mut direction = wire(10 * MS);
        direction.rate_bps = Some(20_000_000);
        direction.loss = loss::Bernoulli { p: lost }.into();
        direction
    };
    plan.links = (0..=proxies)
        .map(|i| Link { mtu: None, name: format!("link{i}"), a: i, b: i + 1, ab: lossy(), ba: lossy() })
        .collect();
    plan
}

/// Has a flow go from the first host to the last through a proxy on each between them.
fn through(plan: &mut Plan, transport: Transport, app: impl Into<voxpath_sim::plan::App>) {
    let last = plan.nodes.len() as u32 - 1;
    let (udp, port) = (matches!(transport, Transport::Udp), 8000 + plan.flows.len() as u16);
    for node in 1..last {
        let forward = Forward { port, udp, to: Peer { node: node + 1, port } };
        match plan.processes.iter_mut().find(|process| process.node == node) {
            Some(Process { app: ProcessApp::Proxy(proxy), .. }) => proxy.forwards.push(forward),
            Some(other) => panic!("{} is no proxy", other.name),
            None => plan.processes.push(Process {
                name: format!("proxy{node}"),
                node,
                simulated: false,
                tcp: Arc::new(Profile::Linux.config()),
                mptcp: None,
                wake_ns: 0,
                app: ProcessApp::Proxy(Proxy { buffer_bytes: 65_536, forwards: vec![forward] }),
            }),
        }
    }
    plan.flows.push(Flow {
        through: Some(Through { first: Peer { node: 1, port }, port }),
        from_address: None,
        to_address: None,
        simulated: false,
        name: format!("flow{}", plan.flows.len()),
        from: 0,
        to: last,
        start_ns: 0,
        transport,
        app: app.into(),
    });
}

fn tcp() -> Transport {
    Transport::tcp(Profile::Linux.config(), Profile::Linux.config())
}

fn text<'a>(report: &'a Report, name: &str) -> &'a [String] {
    match column(table(report, "flows"), name) {
        Data::Text(values) => values,
        other => panic!("{other:?}"),
    }
}

#[test]
fn octets_go_through_a_chain_of_three_proxies_both_ways() {
    let mut plan = chain(3, 0.01);
    through(&mut plan, tcp(), Bulk { bytes: Some(500_000) });
    let asks = Download { request_bytes: 300, response_bytes: 200_000, requests: 3, pause_ns: 0 };
    through(&mut plan, tcp(), asks);
    for replication in 0..5 {
        let report = run(&plan, replication);
        assert_eq!(text(&report, "status"), ["completed", "completed"]);
        assert_eq!(flow(&report, "bytes_delivered", 0), 500_000);
        assert_eq!(flow(&report, "bytes_delivered", 1), 600_000);
        assert_eq!(report.verdict.packets_held, 0);
    }
}

#[test]
fn connections_of_proxies_have_rows_of_their_own() {
    let mut plan = chain(1, 0.0);
    let asks = Download { request_bytes: 300, response_bytes: 200_000, requests: 1, pause_ns: 0 };
    through(&mut plan, tcp(), asks);
    let report = run(&plan, 0);
    let of = |name: &str| texts(&report, "connections", name);
    let whose: Vec<_> = of("end").into_iter().zip(of("host")).collect();
    let named = |end: &str, host: &str| (String::from(end), String::from(host));
    assert_eq!(whose[..2], [named("client", "host0"), named("server", "host2")]);
    assert_eq!(whose.len(), 4, "{whose:?}");
    for end in ["accepted by proxy1", "opened by proxy1"] {
        assert!(whose.iter().any(|(of, _)| of == end), "{whose:?}");
    }
    assert!(of("flow").iter().all(|flow| *flow == of("flow")[0]), "all carry the same data");
    // What one end sent is what its own other end has acknowledged, on either side of the proxy.
    let mut delivered: Vec<_> =
        values(&report, "connections", "bytes_delivered").into_iter().flatten().collect();
    delivered.sort_unstable();
    assert_eq!(delivered, [300, 300, 200_000, 200_000]);
}

#[test]
fn a_split_path_recovers_where_it_loses() {
    let goodput = |split: bool| {
        let mut plan = chain(1, 0.0);
        plan.links[1].ab.loss = loss::Bernoulli { p: 0.02 }.into();
        plan.links[0].ab.delay_ns = 100 * MS;
        plan.links[0].ba.delay_ns = 100 * MS;
        plan.links[1].ab.delay_ns = MS;
        plan.links[1].ba.delay_ns = MS;
        plan.nodes[1].kind = if split { NodeKind::Host } else { NodeKind::Router };
        let app = Bulk { bytes: Some(2_000_000) };
        if split {
            through(&mut plan, tcp(), app);
        } else {
            plan = with_tcp(plan, &Profile::Linux.config(), app.into());
            plan.flows[0].to = 2;
        }
        flow(&run(&plan, 1), "completed_ns", 0)
    };
    assert!(goodput(true) * 2 < goodput(false), "losses far from a sender cost it whole round trips");
}

#[test]
fn datagrams_go_through_and_come_back() {
    let mut plan = chain(2, 0.0);
    plan.links[0].ab.loss = loss::List { packets: vec![3] }.into();
    plan.links[2].ba.loss = loss::List { packets: vec![5, 6] }.into();
    let ping = Ping { packet_bytes: 100, interval_ns: 20 * MS, packets: Some(50), patience_ns: SECOND };
    through(&mut plan, Transport::Udp, ping);
    through(&mut plan, Transport::Udp, Cbr { packet_bytes: 200, interval_ns: 10 * MS, packets: Some(100) });
    let report = run(&plan, 0);
    assert_eq!(text(&report, "status"), ["completed", "completed"]);
    assert_eq!(datagrams(&report, 0)[0], 50);
    assert!(datagrams(&report, 0)[1] < 50);
    // Three links of 10 ms each way, and little to serialise.
    let shortest = delays(&report, 0)[0];
    assert!((60 * MS..61 * MS).contains(&shortest), "{shortest}");
}

#[test]
fn an_error_about_a_proxys_packet_is_heard_while_the_end_that_answers_waits() {
    let mut plan = chain(1, 0.0);
    plan.links[1].mtu = Some(1000);
    through(&mut plan, Transport::Udp, Cbr { packet_bytes: 1400, interval_ns: 10 * MS, packets: Some(3) });
    let report = run(&plan, 0);
    assert_eq!(datagrams(&report, 0)[..2], [3, 0]);
}

#[test]
fn a_pair_of_hosts_pings_and_tells_the_directions_apart() {
    let mut plan = pipe(wire(10 * MS), wire(30 * MS));
    plan.links[0].ab.loss = loss::List { packets: vec![1, 2] }.into();
    plan.links[0].ba.loss = loss::List { packets: vec![1] }.into();
    plan = with_tcp(plan, &Profile::Linux.config(), Bulk { bytes: Some(1) }.into());
    plan.flows[0].transport = Transport::Udp;
    plan.flows[0].app =
        Ping { packet_bytes: 64, interval_ns: 20 * MS, packets: Some(10), patience_ns: SECOND }.into();
    let report = run(&plan, 0);
    assert_eq!(datagrams(&report, 0)[0], 10);
    assert_eq!(flow(&report, "server_packets_sent", 0), 8, "two were lost on their way there");
    assert_eq!(datagrams(&report, 0)[1], 7, "and one on its way back");
    assert_eq!(delays(&report, 0), [40 * MS; 7]);
}

#[test]
fn a_connection_that_fails_takes_the_other_one_with_it() {
    let mut plan = chain(1, 0.0);
    through(&mut plan, tcp(), Bulk { bytes: Some(100_000) });
    // Nobody waits behind the proxy.
    let ProcessApp::Proxy(proxy) = &mut plan.processes[0].app else { panic!("it is a proxy") };
    proxy.forwards[0].to.port = 9;
    let report = run(&plan, 0);
    assert_eq!(text(&report, "status"), ["reset"]);
}

#[test]
fn ten_thousand_connections_come_to_one_listener() {
    const COUNT: usize = 10_000;
    let mut plan = chain(1, 0.0);
    through(&mut plan, tcp(), Bulk { bytes: Some(100) });
    let one = plan.flows[0].clone();
    plan.flows = (0..COUNT)
        .map(|i| Flow { name: format!("flow{i}"), start_ns: i as u64 * 100_000, ..one.clone() })
        .collect();
    let report = run(&plan, 0);
    assert!(text(&report, "status").iter().all(|status| status == "completed"));
}
