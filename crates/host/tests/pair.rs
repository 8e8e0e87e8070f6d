//! One scenario with each of its ends simulated or real, over the kernel's TCP and ours.
//!
//! These need the privilege to make network namespaces, as root has it.

#[path = "../../sim/tests/common/mod.rs"]
mod common;

use common::{MS, pipe, wire, with_tcp};
use std::thread;
use std::time::Duration;
use voxpath_host::{Namespace, Outcome, Run, Tun};
use voxpath_sim::plan::{App, Flow, Plan, Transport};
use voxpath_sim::{Observe, RealTime};
use voxpath_tcp::{Config, Profile};

/// The host of an address: a namespace with its device up.
fn host(plan: &Plan, index: usize) -> (Namespace, Tun) {
    let namespace = Namespace::new().expect("root");
    let tun = Tun::new(&namespace, "net0").expect("/dev/net/tun");
    let address = plan.nodes[index].addresses[0];
    namespace.sysctl(&[("ipv6/conf/all/disable_ipv6".into(), "1".into())]).expect("a key of the kernel");
    namespace
        .ip(&format!(
            "link set lo up\naddr add {address}/32 dev net0\nlink set net0 mtu 1500 txqueuelen 10000 up\n\
             route add default dev net0\n"
        ))
        .expect("iproute2");
    (namespace, tun)
}

/// Runs a plan with these hosts real until it is done.
fn run(plan: &Plan, real: [bool; 2]) -> Outcome {
    let mut plan = plan.clone();
    for (node, real) in plan.nodes.iter_mut().zip(real) {
        node.simulated = !real;
    }
    let plan = &plan;
    let world = RealTime::new(plan, 0, &Observe::default()).expect("a plan that can run");
    let hosts = (0..2).map(|index| real[index].then(|| host(plan, index))).collect();
    let run = Run::start(world, hosts, false).expect("sockets");
    let mut patience = 3000;
    while !run.is_done() && patience > 0 {
        thread::sleep(Duration::from_millis(10));
        patience -= 1;
    }
    assert!(patience > 0, "the run is not done after half a minute");
    let outcome = run.finish().expect("no thread failed");
    let verdict = &outcome.report.verdict;
    assert!(verdict.valid, "{:?}", verdict.problems);
    outcome
}

fn linux() -> Config {
    Profile::Linux.config()
}

const ENDS: [[bool; 2]; 3] = [[true, true], [true, false], [false, true]];

#[test]
fn a_download_completes_whichever_end_is_real() {
    let app = App::Download { request_bytes: 100, response_bytes: 3_000_000, requests: 1, pause_ns: 0 };
    for real in ENDS {
        let plan = with_tcp(pipe(wire(5 * MS), wire(5 * MS)), &linux(), app.clone());
        let report = run(&plan, real).report;
        assert_eq!(common::status(&report, 0), "completed", "real: {real:?}");
        assert_eq!(common::flow(&report, "bytes_delivered", 0), 3_000_000);
        assert_eq!(common::flow(&report, "bytes_wrong", 0), 0);
        // Handshake and request take two round trips at least.
        assert!(common::flow(&report, "completed_ns", 0) > 20 * MS, "real: {real:?}");
    }
}

#[test]
fn datagrams_are_told_apart_whichever_end_is_real() {
    for real in ENDS {
        let mut plan = pipe(wire(5 * MS), wire(5 * MS));
        plan.flows.push(Flow {
            simulated: false,
            name: "voice".into(),
            from: 0,
            to: 1,
            start_ns: 20 * MS,
            transport: Transport::Udp,
            app: App::Cbr { packet_bytes: 160, interval_ns: 2 * MS, packets: Some(100) },
        });
        let report = run(&plan, real).report;
        assert_eq!(common::flow(&report, "datagrams_received", 0), 100, "real: {real:?}");
        assert_eq!(common::flow(&report, "bytes_wrong", 0), 0);
        assert!(common::flow(&report, "delay_min_ns", 0) >= 5 * MS);
    }
}
