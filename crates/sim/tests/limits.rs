//! Runs that reach a limit end there, say so, and keep what they found.
#![allow(missing_docs)]

mod common;

use common::*;
use voxpath_sim::plan::{App, Bulk, Cbr, Flow, Limits, Plan, Transport};
use voxpath_sim::{Observe, Report, Simulation, check};
use voxpath_tcp::Profile;

/// A hundred datagrams a second for ever.
fn endless(limits: Limits, duration_ns: Option<u64>) -> Plan {
    let mut plan = pipe(wire(10 * MS), wire(10 * MS));
    plan.limits = limits;
    plan.duration_ns = duration_ns;
    plan.flows.push(Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: "stream".into(),
        from: 0,
        to: 1,
        start_ns: 0,
        transport: Transport::Udp,
        app: App::Cbr(Cbr { packet_bytes: 160, interval_ns: 10 * MS, packets: Some(1 << 40) }),
    });
    plan
}

fn report(plan: &Plan, steps: u64, observe: &Observe) -> Report {
    let mut simulation = Simulation::new(plan.clone(), 0, observe).expect("a valid plan");
    while !simulation.advance(steps).done {}
    simulation.finish()
}

#[test]
fn a_run_ends_with_its_limit_of_events_however_it_is_driven() {
    // Each datagram is sent by one event and delivered by another.
    for (events, sent) in [(1, 1), (2001, 1001), (10_000, 5000)] {
        let limits = Limits { events: Some(events), ..Limits::default() };
        for steps in [1, 7, u64::MAX] {
            let report = report(&endless(limits, None), steps, &Observe::default());
            assert_eq!(report.verdict.limit, Some("events"));
            assert!(!report.verdict.valid);
            let [problem] = &report.verdict.problems[..] else { panic!("{:?}", report.verdict.problems) };
            assert!(problem.contains("its limit of events"), "{problem}");
            // What it found stands in its tables, and balances: a problem of the books would be told too.
            assert!(datagrams(&report, 0)[0].abs_diff(sent) <= 1);
            assert_eq!(status(&report, 0), "unfinished");
        }
    }
}

#[test]
fn a_run_ends_with_its_limit_of_time_and_a_duration_is_none() {
    let limits = Limits { time_ns: Some(5 * SECOND), ..Limits::default() };
    let cut = report(&endless(limits, None), u64::MAX, &Observe::default());
    assert_eq!((cut.verdict.limit, cut.verdict.valid), (Some("time"), false));
    assert_eq!(cut.verdict.ended_ns, 5 * SECOND);
    let whole = report(&endless(Limits::default(), Some(5 * SECOND)), u64::MAX, &Observe::default());
    assert_eq!((whole.verdict.limit, whole.verdict.valid), (None, true));
    assert_eq!(datagrams(&cut, 0)[0], datagrams(&whole, 0)[0]);
}

#[test]
fn a_run_ends_with_its_limit_of_memory() {
    // Sixteen bytes for number and time of each datagram, and what packets at links take where they are watched.
    let limits = Limits { memory_bytes: Some(1 << 20), ..Limits::default() };
    let quiet = report(&endless(limits, None), u64::MAX, &Observe::default());
    let watched = report(&endless(limits, None), u64::MAX, &Observe { packets: true, ..Observe::default() });
    for report in [&quiet, &watched] {
        assert_eq!((report.verdict.limit, report.verdict.valid), (Some("memory"), false));
    }
    let sent = |report| datagrams(report, 0)[0];
    assert!((30_000..70_000).contains(&sent(&quiet)), "{}", sent(&quiet));
    assert!(sent(&watched) < sent(&quiet) / 2, "{}", sent(&watched));
    let once_more = report(&endless(limits, None), 11, &Observe::default());
    assert_eq!(sent(&once_more).abs_diff(sent(&quiet)) / 4096, 0, "looked at every few thousand events");
}

#[test]
fn a_run_that_is_over_has_reached_no_limit() {
    let app = App::Bulk(Bulk { bytes: Some(100_000) });
    let mut plan = with_tcp(pipe(wire(10 * MS), wire(10 * MS)), &Profile::Linux.config(), app);
    plan.limits =
        Limits { events: Some(1_000_000), time_ns: Some(1000 * SECOND), memory_bytes: Some(1 << 30) };
    let report = run(&plan, 0);
    assert_eq!((report.verdict.limit, status(&report, 0)), (None, "completed"));
}

#[test]
fn the_end_of_the_clock_is_an_error_and_no_wrap() {
    // One datagram in 400 000 h, and the clock ends at 500 000 h.
    let mut plan = endless(Limits::default(), None);
    let App::Cbr(Cbr { interval_ns, .. }) = &mut plan.flows[0].app else { panic!("it is") };
    *interval_ns = 400_000 * 3600 * SECOND;
    let report = report(&plan, u64::MAX, &Observe::default());
    assert_eq!((report.verdict.limit, report.verdict.valid), (Some("clock"), false));
    assert_eq!(datagrams(&report, 0)[1], 2);
    assert_eq!(report.verdict.ended_ns, 500_000 * 3600 * SECOND);
}

#[test]
fn limits_are_above_zero_and_below_the_duration() {
    let cases = [
        (Limits { events: Some(0), ..Limits::default() }, "limits.events"),
        (Limits { memory_bytes: Some(0), ..Limits::default() }, "limits.memory_bytes"),
        (Limits { time_ns: Some(0), ..Limits::default() }, "limits.time_ns"),
        (Limits { time_ns: Some(2 * SECOND), ..Limits::default() }, "limits.time_ns"),
    ];
    for (limits, path) in cases {
        let found = check(&endless(limits, Some(SECOND)));
        assert!(
            found.iter().all(|problem| problem.path.to_string() == path) && !found.is_empty(),
            "{found:?}"
        );
    }
}
