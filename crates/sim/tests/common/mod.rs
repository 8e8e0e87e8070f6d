//! Plans for tests, and reading reports.
#![allow(dead_code, missing_docs, unreachable_pub)] // Each test binary uses its part.

pub mod random;

use voxpath_sim::plan::{
    App, Direction, Download, Flow, Framing, Link, Loss, Node, NodeKind, Plan, Queueing, Transport, VERSION,
    Voice,
};
use voxpath_sim::{Data, Observe, Report, Simulation, Table};
use voxpath_tcp::{Config, Profile};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// A direction without rate, loss or queue.
pub fn wire(delay_ns: u64) -> Direction {
    Direction {
        queue_packets: None,
        queue_bytes: None,
        queueing: Queueing::default(),
        rate_bps: None,
        capacity: None,
        framing: Framing::Ip,
        loss: Loss::None,
        corruption: Loss::None,
        duplicate: 0.0,
        reorder: None,
        delay_ns,
        delay_variation: None,
    }
}

/// Two hosts on one link.
pub fn pipe(ab: Direction, ba: Direction) -> Plan {
    let host = |name: &str, last: u8| Node {
        simulated: false,
        real: false,
        edge: None,
        name: name.into(),
        kind: NodeKind::Host,
        addresses: vec![[10, 0, 0, last].into()],
    };
    Plan {
        limits: voxpath_sim::plan::Limits::default(),
        events: vec![],
        programs: vec![],
        processes: vec![],
        relays: vec![],
        version: VERSION,
        name: "test".into(),
        seed: 1,
        duration_ns: None,
        nodes: vec![host("client", 1), host("server", 2)],
        links: vec![Link { mtu: None, name: "pipe".into(), a: 0, b: 1, ab, ba }],
        interfaces: vec![],
        routes: vec![],
        flows: vec![],
    }
}

/// Adds a flow over TCP between the nodes 0 and 1.
pub fn with_tcp(mut plan: Plan, config: &Config, app: App) -> Plan {
    plan.flows.push(Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: format!("flow{}", plan.flows.len() + 1),
        from: 0,
        to: 1,
        start_ns: 0,
        transport: Transport::tcp(config.clone(), config.clone()),
        app,
    });
    plan
}

/// The download of the 2022 study: ten million bytes for a short request.
pub fn download() -> App {
    App::Download(Download { request_bytes: 100, response_bytes: 10_000_000, requests: 1, pause_ns: 0 })
}

/// A request as in Tran et al. 2018: nine blocks, 300 ms apart, each but the last answered in part; asked three times.
pub fn voice() -> App {
    App::Voice(Voice {
        blocks: 9,
        block_bytes: 2475,
        interval_ns: 300 * MS,
        partial_bytes: 100,
        answer_bytes: 750,
        processing_ns: 50 * MS,
        requests: 3,
        pause_ns: 4 * SECOND,
    })
}

/// `rfc` as the oracle wants it: window 8760, neither timestamps nor SACK nor Nagle's algorithm.
pub fn window_limited() -> Config {
    Config {
        receive_buffer: 8760,
        window_scaling: false,
        timestamps: false,
        sack: false,
        nagle: false,
        ..Profile::Rfc.config()
    }
}

/// Runs a plan; the run has to be valid.
pub fn run(plan: &Plan, replication: u64) -> Report {
    run_observed(plan, replication, &Observe::default())
}

pub fn run_observed(plan: &Plan, replication: u64, observe: &Observe) -> Report {
    let report = Simulation::new(plan.clone(), replication, observe).expect("a valid plan").run();
    assert!(report.verdict.valid, "{:?}", report.verdict.problems);
    report
}

pub fn table<'a>(report: &'a Report, name: &str) -> &'a Table {
    report.tables.iter().find(|table| table.name == name).expect("a table of that name")
}

pub fn column<'a>(table: &'a Table, name: &str) -> &'a Data {
    &table.columns.iter().find(|column| column.name == name).expect("a column of that name").data
}

/// A number of a row of `flows`.
pub fn flow(report: &Report, name: &str, row: usize) -> u64 {
    match column(table(report, "flows"), name) {
        Data::U64(values) => values[row],
        Data::OptU64(values) => values[row].expect("a value"),
        other => panic!("{name} is no number: {other:?}"),
    }
}

/// The status of a flow.
pub fn status(report: &Report, row: usize) -> &str {
    match column(table(report, "flows"), "status") {
        Data::Text(values) => &values[row],
        other => panic!("{other:?}"),
    }
}
