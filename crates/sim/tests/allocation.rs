//! In steady state a packet costs no allocation: everything that grows has grown during the warm-up.
#![allow(missing_docs)]

mod common;

use common::*;
use voxpath_sim::plan::{
    App, Bulk, Cbr, Direction, Download, Flow, Loss, Plan, Queueing, Reorder, Transport, capacity, delay,
    loss, queue,
};
use voxpath_sim::{Observe, Simulation};
use voxpath_tcp::{Config, Congestion, Profile, Recovery};

/// Events before, and events while allocations are counted: some fifty thousand packets.
const WARM_UP: u64 = 200_000;
const MEASURED: u64 = 100_000;

fn bottleneck(loss: Loss) -> Direction {
    Direction { rate_bps: Some(10_000_000), queue_packets: Some(100), loss, ..wire(20 * MS) }
}

fn bulk(config: &Config, loss: Loss) -> Plan {
    let mut plan =
        with_tcp(pipe(bottleneck(loss), bottleneck(Loss::None)), config, App::Bulk(Bulk { bytes: None }));
    plan.duration_ns = Some(100_000 * SECOND);
    plan
}

/// Allocations of `MEASURED` events after `WARM_UP`.
fn allocations(plan: &Plan) -> u64 {
    let mut simulation = Simulation::new(plan.clone(), 0, &Observe::default()).expect("a valid plan");
    assert!(!simulation.advance(WARM_UP).done);
    let info = allocation_counter::measure(|| {
        assert!(!simulation.advance(MEASURED).done);
    });
    info.count_total
}

fn rfc(recovery: Recovery, sack: bool) -> Config {
    Config { recovery, sack, ..Profile::Rfc.config() }
}

#[test]
fn a_flow_without_loss_does_not_allocate() {
    for (_, profile) in Profile::ALL {
        // A window that the queue can hold.
        let config =
            Config { receive_buffer: profile.config().receive_buffer.min(100_000), ..profile.config() };
        assert_eq!(allocations(&bulk(&config, Loss::None)), 0, "{profile:?}");
    }
}

#[test]
fn a_flow_that_fills_its_queue_does_not_allocate() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno] {
        assert_eq!(allocations(&bulk(&rfc(recovery, false), Loss::None)), 0, "{recovery:?}");
    }
    for &(_, congestion) in Congestion::ALL {
        let config = Config { congestion, ..rfc(Recovery::NewReno, true) };
        assert_eq!(allocations(&bulk(&config, Loss::None)), 0, "SACK, {congestion:?}");
    }
}

/// What is known of holes is kept in vectors that double whenever there are more holes at once than ever before, and
/// chance sets such records for ever, if ever more seldom. A packet does not allocate: a record does.
const RECORDS: u64 = 4;

#[test]
fn a_flow_under_random_loss_allocates_for_records_only() {
    for p in [0.001, 0.01, 0.05] {
        for sack in [false, true] {
            let plan = bulk(&rfc(Recovery::NewReno, sack), loss::Bernoulli { p }.into());
            let allocated = allocations(&plan);
            assert!(allocated <= RECORDS, "p {p}, SACK {sack}: {allocated}");
            for &(_, congestion) in Congestion::ALL {
                let linux = Config { sack, congestion, ..Profile::Linux.config() };
                let allocated = allocations(&bulk(&linux, loss::Bernoulli { p }.into()));
                assert!(allocated <= RECORDS, "linux, {congestion:?}, p {p}, SACK {sack}: {allocated}");
            }
        }
    }
}

#[test]
fn a_flow_through_a_queue_discipline_allocates_for_records_only() {
    let (target_ns, interval_ns) = (5 * MS, 100 * MS);
    for queueing in [
        Queueing::from(queue::Red {
            min_packets: 5.0,
            max_packets: 15.0,
            max_p: 0.1,
            weight: 0.002,
            gentle: true,
            mean_packet_bytes: 500,
            ecn: true,
        }),
        queue::Codel { target_ns, interval_ns, ecn: true }.into(),
        queue::FqCodel { target_ns, interval_ns, queues: 1024, quantum_bytes: 1514, ecn: true }.into(),
        queue::Pie {
            target_ns: 15 * MS,
            update_ns: 15 * MS,
            max_burst_ns: 150 * MS,
            alpha: 0.125,
            beta: 1.25,
            ecn: true,
        }
        .into(),
    ] {
        let mut plan = bulk(&rfc(Recovery::NewReno, true), Loss::None);
        plan.links[0].ab.queueing = queueing.clone();
        let allocated = allocations(&plan);
        assert!(allocated <= RECORDS, "{queueing:?}: {allocated}");
    }
}

#[test]
fn links_that_vary_allocate_for_records_only() {
    let mut plan = bulk(&rfc(Recovery::NewReno, true), Loss::None);
    let steps = vec![(0, 10_000_000), (300 * MS, 2_000_000)];
    plan.links[0].ab.rate_bps = None;
    plan.links[0].ab.capacity = Some(capacity::Schedule { steps, period_ns: Some(500 * MS) }.into());
    plan.links[0].ba.delay_variation =
        Some(delay::Normal { deviation_ns: 2 * MS, correlation: 0.5, overtaking: true }.into());
    let allocated = allocations(&plan);
    assert!(allocated <= RECORDS, "{allocated}");
}

#[test]
fn duplicated_and_reordered_packets_allocate_for_records_only() {
    let mut plan = bulk(&rfc(Recovery::NewReno, true), Loss::None);
    plan.links[0].ab.duplicate = 0.05;
    plan.links[0].ab.reorder = Some(Reorder { p: 0.05, by_ns: 5 * MS });
    let allocated = allocations(&plan);
    assert!(allocated <= RECORDS, "{allocated}");
}

/// A receiver of datagrams keeps each one's delay for its quantiles: a vector that doubles now and then.
#[test]
fn datagrams_allocate_only_what_their_delays_need() {
    let mut plan = pipe(bottleneck(Loss::None), bottleneck(Loss::None));
    plan.duration_ns = Some(100_000 * SECOND);
    let app = App::Cbr(Cbr { packet_bytes: 160, interval_ns: MS, packets: None });
    let transport = Transport::Udp;
    plan.flows.push(Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: "voice".into(),
        from: 0,
        to: 1,
        start_ns: 0,
        transport,
        app,
    });
    let allocated = allocations(&plan);
    assert!(allocated <= 4, "{allocated}");
}

#[test]
fn the_counter_counts() {
    let info = allocation_counter::measure(|| drop(std::hint::black_box(vec![1, 2, 3])));
    assert_eq!(info.count_total, 1);
}

/// What an idle flow held before hosts had processes (34a0210), counted likewise: both ends, and its part of the plan.
const MOST_IDLE: i64 = 3601;

/// Bytes that so many flows hold which have exchanged an octet each way and are silent, beside those of two hosts.
fn held_by_idle_flows(count: u64) -> i64 {
    let app = Download { request_bytes: 1, response_bytes: 1, requests: 2, pause_ns: 3600 * SECOND };
    let mut plan = pipe(wire(MS), wire(MS));
    plan.duration_ns = Some(2 * SECOND);
    let config = std::sync::Arc::new(Profile::Linux.config());
    for i in 0..count {
        plan = with_tcp(plan, &config, App::Download(app.clone()));
        let flow = plan.flows.last_mut().expect("it was added");
        (flow.start_ns, flow.name) = (i * 10_000, format!("idle{i}"));
        flow.transport = Transport::tcp(config.clone(), config.clone());
    }
    let mut simulation = None;
    let info = allocation_counter::measure(|| {
        let built = simulation.insert(Simulation::new(plan, 0, &Observe::default()).expect("a valid plan"));
        while !built.advance(1 << 20).done {}
    });
    info.bytes_current
}

#[test]
fn an_idle_flow_holds_little() {
    const FLOWS: u64 = 1000;
    let each = (held_by_idle_flows(2 * FLOWS) - held_by_idle_flows(FLOWS)) / FLOWS as i64;
    assert!(each <= MOST_IDLE, "{each} bytes");
}
