//! Plans at the edge of what numbers can say: they run, or are refused with a message; they never panic.
#![allow(missing_docs)]

mod common;
#[path = "../../net/tests/common/processor.rs"]
mod processor;

use common::*;
use proptest::prelude::*;
use voxpath_sim::plan::{
    App, Bulk, Cbr, Download, Flow, Link, Node, NodeKind, Plan, Reorder, Transport, Voice, loss,
};
use voxpath_sim::{Observe, Simulation, check};
use voxpath_tcp::Profile;

const LONGEST: u64 = 1_800_000_000_000_000_000;

#[test]
fn sums_of_the_longest_spans_stay_inside_the_clock() {
    let mut longest = wire(LONGEST);
    longest.reorder = Some(Reorder { p: 1.0, by_ns: LONGEST });
    let bulk = App::Bulk(Bulk { bytes: Some(1) });
    let mut plan = with_tcp(pipe(longest.clone(), longest), &Profile::Rfc.config(), bulk);
    plan.flows[0].start_ns = LONGEST;
    let cbr = App::Cbr(Cbr { packet_bytes: 65_507, interval_ns: LONGEST, packets: None });
    plan.flows.push(Flow {
        simulated: false,
        name: "udp".into(),
        transport: Transport::Udp,
        app: cbr,
        ..plan.flows[0].clone()
    });
    plan.duration_ns = Some(LONGEST);
    plan.flows[0].start_ns = LONGEST - 1;
    plan.flows[1].start_ns = LONGEST - 1;
    let report = run(&plan, 0);
    assert_eq!(report.verdict.ended_ns, LONGEST);
    assert_eq!([status(&report, 0), status(&report, 1)], ["unfinished"; 2]);
    assert_eq!(report.verdict.packets_held, 2);
}

/// 65,535 bytes at 1 bit/s take six days each; a thousand a second fill centuries, which is more than the clock has.
#[test]
fn a_queue_of_centuries_does_not_overflow_the_clock() {
    let mut slow = wire(0);
    slow.rate_bps = Some(1);
    let mut plan = pipe(slow.clone(), slow);
    plan.duration_ns = Some(60 * SECOND);
    let cbr = App::Cbr(Cbr { packet_bytes: 65_507, interval_ns: MS, packets: None });
    plan.flows.push(Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: "flood".into(),
        from: 0,
        to: 1,
        start_ns: 0,
        transport: Transport::Udp,
        app: cbr,
    });
    let report = run(&plan, 0);
    assert_eq!(report.verdict.packets_held, 60_001);
}

/// A connection whose peer never reads a byte, at one bit a second, without an end: given up by the clock.
#[test]
fn a_run_without_an_end_ends_with_the_clocks_range() {
    let mut slow = wire(LONGEST / 2);
    slow.rate_bps = Some(1);
    let plan = with_tcp(
        pipe(slow.clone(), slow),
        &Profile::Linux.config(),
        App::Bulk(Bulk { bytes: Some(10_000_000) }),
    );
    let report = Simulation::new(plan, 0, &Observe::default()).expect("a valid plan").run();
    assert!(report.verdict.ended_ns <= LONGEST);
    let clock = report.verdict.problems.iter().all(|problem| problem.contains("the clock's range"));
    assert!(clock && report.verdict.problems.len() <= 1, "{:?}", report.verdict.problems);
    assert!(["timed_out", "unfinished"].contains(&status(&report, 0)), "{}", status(&report, 0));
}

/// Mostly the ends of a number's range, and what lies next to them.
fn extreme() -> impl Strategy<Value = u64> {
    let edges = [
        0,
        1,
        2,
        1_000,
        1_000_000_000,
        LONGEST - 1,
        LONGEST,
        LONGEST + 1,
        u64::MAX / 2,
        u64::MAX - 1,
        u64::MAX,
    ];
    prop_oneof![4 => prop::sample::select(edges.to_vec()), 1 => any::<u64>()]
}

fn plan() -> impl Strategy<Value = Plan> {
    let numbers = prop::array::uniform12(extreme());
    (numbers, prop::option::of(extreme()), prop::option::of(extreme()), 0..4_usize, 0.0..=1.0_f64).prop_map(
        |(
            [delay_ns, rate, by_ns, start_ns, span, bytes, pause_ns, many, small, queue, tick, msl],
            duration_ns,
            count,
            app,
            p,
        )| {
            let mut there = wire(delay_ns);
            there.rate_bps = (rate > 0).then_some(rate);
            there.queue_bytes = there.rate_bps.map(|_| queue);
            there.reorder = Some(Reorder { p, by_ns });
            there.loss = loss::Bernoulli { p: p / 2.0 }.into();
            let mut back = there.clone();
            back.rate_bps = back.rate_bps.map(|rate| rate.saturating_add(small));
            let mut plan = pipe(there, back);
            plan.duration_ns = duration_ns;
            let span = |ns| voxpath_units::Span::from_nanos(ns).min(voxpath_units::Span::from_nanos(span));
            let mut config = Profile::Rfc.config();
            config.rto.initial = span(tick);
            config.rto.max = span(msl).max(config.rto.min);
            config.rto.variance_floor = span(pause_ns);
            config.rto.tick = span(small);
            config.delayed_ack.max_delay = span(start_ns);
            config.persist.max = config.persist.min.max(span(many));
            config.msl = span(u64::MAX);
            let transport = match app {
                2 => Transport::Udp,
                _ => Transport::tcp(config.clone(), config),
            };
            let app = match app {
                0 => App::Bulk(Bulk { bytes: count }),
                1 => App::Download(Download {
                    request_bytes: bytes,
                    response_bytes: small,
                    requests: many as u32,
                    pause_ns,
                }),
                2 => App::Cbr(Cbr { packet_bytes: many as u32, interval_ns: pause_ns, packets: count }),
                _ => App::Voice(Voice {
                    blocks: queue as u32,
                    block_bytes: bytes,
                    interval_ns: span(tick).as_nanos(),
                    partial_bytes: small,
                    answer_bytes: bytes,
                    processing_ns: pause_ns,
                    requests: many as u32,
                    pause_ns,
                }),
            };
            plan.flows.push(Flow {
                through: None,
                from_address: None,
                to_address: None,
                simulated: false,
                name: "flow".into(),
                from: 0,
                to: 1,
                start_ns,
                transport,
                app,
            });
            plan
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_check_lets_through_does_not_panic(plan in plan()) {
        if check(&plan).is_empty() {
            let mut simulation = Simulation::new(plan, 0, &Observe::default()).expect("checked");
            // Not to the end: a petabyte takes its time.
            simulation.advance(2_000);
            let report = simulation.finish();
            // What takes longer than the clock counts is told, and is no fault of the books.
            let faults = report.verdict.problems.iter().filter(|problem| !problem.contains("the clock's range"));
            prop_assert_eq!(faults.collect::<Vec<_>>(), Vec::<&String>::new());
        }
    }
}

/// Twenty thousand hosts around one router, each with a flow to its neighbour: what a plan costs to check, build and
/// start grows with its size, not with its square.
#[test]
fn a_big_star_is_built_in_no_time() {
    let hosts = 20_000_u32;
    let mut plan = pipe(wire(MS), wire(MS));
    plan.nodes = (0..hosts)
        .map(|host| Node {
            simulated: false,
            real: false,
            edge: None,
            name: format!("host{host}"),
            kind: NodeKind::Host,
            addresses: vec![std::net::Ipv4Addr::from(0x0a00_0000 + 1 + host).into()],
        })
        .collect();
    plan.nodes.push(Node {
        simulated: false,
        real: false,
        edge: None,
        name: "hub".into(),
        kind: NodeKind::Router,
        addresses: vec![],
    });
    plan.links = (0..hosts)
        .map(|host| Link {
            mtu: None,
            name: format!("link{host}"),
            a: host,
            b: hosts,
            ab: wire(MS),
            ba: wire(MS),
        })
        .collect();
    let config = Profile::Rfc.config();
    plan.flows = (0..hosts)
        .map(|host| Flow {
            through: None,
            from_address: None,
            to_address: None,
            simulated: false,
            name: format!("flow{host}"),
            from: host,
            to: (host + 1) % hosts,
            start_ns: 0,
            transport: Transport::tcp(config.clone(), config.clone()),
            app: App::Bulk(Bulk { bytes: Some(1) }),
        })
        .collect();
    let before = processor::used();
    let mut simulation = Simulation::new(plan, 0, &Observe::default()).expect("a valid plan");
    simulation.advance(1);
    let took = processor::used() - before;
    assert!(took < std::time::Duration::from_secs(3), "{took:?}");
}
