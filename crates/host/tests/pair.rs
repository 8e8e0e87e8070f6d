//! One scenario with each of its ends simulated or real, over the kernel's TCP and ours.

mod common;

use common::{MS, host, linux, pipe, run_on, wire, with_real, with_tcp};
use std::thread;
use std::time::Duration;
use voxpath_host::{Kind, Outcome, Run};
use voxpath_sim::plan::{App, Cbr, Download, Flow, Plan, Transport};
use voxpath_sim::{Observe, RealTime};
use voxpath_units::{Span, Time};

/// Runs a plan with these hosts real until it is done.
fn run(plan: &Plan, real: [bool; 2], kind: Kind) -> Outcome {
    let plan = with_real(plan, real);
    let hosts = (0..2).map(|index| real[index].then(|| host(&plan, index, kind, &linux()))).collect();
    run_on(&plan, hosts, &Observe::default())
}

/// Which ends are real, and how they are joined to the network.
fn cases() -> impl Iterator<Item = ([bool; 2], Kind)> {
    let ends = [[true, true], [true, false], [false, true]];
    [Kind::Tun, Kind::Veth, Kind::Tap].into_iter().flat_map(move |kind| ends.map(|real| (real, kind)))
}

#[test]
fn a_download_completes_whichever_end_is_real() {
    let app =
        App::Download(Download { request_bytes: 100, response_bytes: 3_000_000, requests: 1, pause_ns: 0 });
    for (real, kind) in cases() {
        let plan = with_tcp(pipe(wire(5 * MS), wire(5 * MS)), &linux(), app.clone());
        let report = run(&plan, real, kind).report;
        assert_eq!(common::status(&report, 0), "completed", "real: {real:?}, {kind:?}");
        assert_eq!(common::flow(&report, "bytes_delivered", 0), 3_000_000);
        assert_eq!(common::flow(&report, "bytes_wrong", 0), 0);
        // Handshake and request take two round trips at least.
        assert!(common::flow(&report, "completed_ns", 0) > 20 * MS, "real: {real:?}, {kind:?}");
    }
}

#[test]
fn datagrams_are_told_apart_whichever_end_is_real() {
    for (real, kind) in cases() {
        let mut plan = pipe(wire(5 * MS), wire(5 * MS));
        plan.flows.push(Flow {
            through: None,
            from_address: None,
            to_address: None,
            simulated: false,
            name: "voice".into(),
            from: 0,
            to: 1,
            start_ns: 20 * MS,
            transport: Transport::Udp,
            app: App::Cbr(Cbr { packet_bytes: 160, interval_ns: 2 * MS, packets: Some(100) }),
        });
        let report = run(&plan, real, kind).report;
        assert_eq!(common::datagrams(&report, 0)[1], 100, "real: {real:?}, {kind:?}");
        assert_eq!(common::flow(&report, "bytes_wrong", 0), 0);
        assert!(common::delays(&report, 0)[0] >= 5 * MS);
    }
}

#[test]
fn a_network_without_traffic_needs_no_processor() {
    let plan = with_real(&pipe(wire(5 * MS), wire(5 * MS)), [true, true]);
    let hosts = (0..2).map(|index| Some(host(&plan, index, Kind::Tun, &linux()))).collect();
    let world = RealTime::new(plan, 0, &Observe::default()).expect("a plan that can run");
    let run = Run::start(world, hosts, false).expect("sockets");
    while run.now() < Time::from_nanos(1500 * MS) {
        thread::sleep(Duration::from_millis(10));
    }
    let outcome = run.finish().expect("no thread failed");
    // Processor time, which a busy machine does not add to.
    assert!(outcome.spent.processor < Span::from_millis(100), "{:?}", outcome.spent);
}
