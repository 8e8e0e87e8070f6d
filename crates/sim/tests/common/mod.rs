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
        middleboxes: vec![],
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

/// The numbers of a column; none where a row has none.
pub fn values(report: &Report, name: &str, of: &str) -> Vec<Option<u64>> {
    match column(table(report, name), of) {
        Data::U64(values) => values.iter().copied().map(Some).collect(),
        Data::OptU64(values) => values.clone(),
        other => panic!("{of} is no number: {other:?}"),
    }
}

/// The texts of a column.
pub fn texts(report: &Report, name: &str, of: &str) -> Vec<String> {
    match column(table(report, name), of) {
        Data::Text(values) => values.clone(),
        Data::Label { names, index } => index.iter().map(|&i| names[i as usize].clone()).collect(),
        other => panic!("{of} is no text: {other:?}"),
    }
}

/// The rows of a table that are of the flow at a row of `flows`.
pub fn rows_of(report: &Report, name: &str, row: usize) -> Vec<usize> {
    let flow = texts(report, "flows", "flow").swap_remove(row);
    (0..).zip(texts(report, name, "flow")).filter(|(_, of)| *of == flow).map(|(i, _)| i).collect()
}

/// A number of an end's connection, if there is one.
pub fn maybe_of_end(report: &Report, end: &str, name: &str, row: usize) -> Option<u64> {
    let ends = texts(report, "connections", "end");
    let at = rows_of(report, "connections", row).into_iter().find(|&at| ends[at] == end)?;
    values(report, "connections", name)[at]
}

/// The same, where there has to be one.
pub fn of_end(report: &Report, end: &str, name: &str, row: usize) -> u64 {
    maybe_of_end(report, end, name, row).expect("a value")
}

/// How long what a flow consists of took from one time to another, ascending; of what was over.
pub fn took(report: &Report, name: &str, [since, until]: [&str; 2], row: usize) -> Vec<u64> {
    let (since, until) = (values(report, name, since), values(report, name, until));
    let rows = rows_of(report, name, row).into_iter();
    let mut took: Vec<u64> = rows.filter_map(|at| Some(until[at]?.saturating_sub(since[at]?))).collect();
    took.sort_unstable();
    took
}

/// Response delays of a flow, ascending.
pub fn responses(report: &Report, row: usize) -> Vec<u64> {
    took(report, "requests", ["last_byte_sent_ns", "completed_ns"], row)
}

/// Delays of a flow's messages that were received, ascending.
pub fn messages(report: &Report, row: usize) -> Vec<u64> {
    took(report, "messages", ["ready_ns", "received_ns"], row)
}

/// Delays of a flow's datagrams that came, ascending.
pub fn delays(report: &Report, row: usize) -> Vec<u64> {
    took(report, "datagrams", ["sent_ns", "received_ns"], row)
}

/// How many datagrams a flow sent, how many came, how many came again, and how many after one that was sent later.
pub fn datagrams(report: &Report, row: usize) -> [u64; 4] {
    let rows = rows_of(report, "datagrams", row);
    let (arrivals, copies) = (values(report, "datagrams", "arrival"), values(report, "datagrams", "copies"));
    // In the order of sending: late is who came after somebody behind him.
    let mut earliest = u64::MAX;
    let mut late = 0;
    for arrival in rows.iter().rev().filter_map(|&at| arrivals[at]) {
        late += u64::from(arrival > earliest);
        earliest = earliest.min(arrival);
    }
    let came = rows.iter().filter(|&&at| arrivals[at].is_some()).count();
    let again = rows.iter().filter_map(|&at| copies[at]).sum();
    [rows.len() as u64, came as u64, again, late]
}
