//! Runs a plan, one JSON line as the peers' programs print it (benches/peers), and in it the rows of each table.
//!
//! `cargo run --release --example plan -- PLAN.json`; replication 0 of the plan in the file, as `Document.plan.json` of Python has it.
// A command line ends in a panic where a library would not.
#![allow(clippy::disallowed_methods, clippy::expect_used)]

use voxpath_sim::{Data, Observe, Plan, Report, Simulation, Table};

fn main() {
    let path = std::env::args().nth(1).expect("a file that has a plan");
    let text = std::fs::read_to_string(&path).expect("the file can be read");
    let plan: Plan = serde_json::from_str(&text).expect("the file has a plan");
    let simulation = Simulation::new(plan, 0, &Observe::default()).expect("the plan is valid");
    let report = simulation.run();
    assert!(report.verdict.valid, "{:?}", report.verdict.problems);
    let rows: Vec<String> = report.tables.iter().map(|it| format!("\"{}\": {}", it.name, rows(it))).collect();
    let seconds = report.verdict.ended_ns as f64 / 1e9;
    println!(
        "{{\"simulator\": \"voxpath\", \"goodput_bps\": {}, \"packet_hops\": {}, \"events\": {}, \
         \"sim_seconds\": {seconds}, \"peak_rss_bytes\": {}, \"rows\": {{{}}}}}",
        bytes_delivered(&report) as f64 * 8.0 / seconds,
        report.verdict.packet_hops,
        report.verdict.events,
        peak_rss_bytes(),
        rows.join(", "),
    );
}

fn rows(table: &Table) -> usize {
    table.columns.first().map_or(0, |column| column.data.len())
}

fn bytes_delivered(report: &Report) -> u64 {
    let flows = report.tables.iter().find(|table| table.name == "flows").expect("a table of flows");
    let column =
        flows.columns.iter().find(|column| column.name == "bytes_delivered").expect("a column of bytes");
    match &column.data {
        Data::U64(bytes) => bytes.iter().sum(),
        other => panic!("bytes are whole numbers: {other:?}"),
    }
}

fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells a process about itself");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the kernel reports it");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number of kB");
    kib * 1024
}
