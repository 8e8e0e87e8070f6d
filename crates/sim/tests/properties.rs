//! What holds for every plan.
#![allow(missing_docs)]

mod common;

use common::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use voxpath_sim::plan::{
    App, Bulk, Cbr, Change, Direction, Download, Flow, FlowEvent, Link, LinkChange, Node, NodeKind, OnOff,
    Plan, ProcessApp, Push, Queueing, Transport, Voice, Web,
};
use voxpath_sim::{Data, Observe, Report, Simulation, Table};
use voxpath_tcp::Profile;

/// Far more events than any of these plans needs: what takes more is a livelock.
const MAX_EVENTS: u64 = 5_000_000;

fn everything(plan: &Plan) -> Observe {
    let hosts = plan.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    Observe {
        rtc: true,
        tcp: true,
        packets: true,
        capacity: true,
        capture: hosts.map(|node| node.name.clone()).collect(),
        snap_bytes: None,
    }
}

fn simulation(plan: &Plan, observe: &Observe) -> Simulation {
    match Simulation::new(plan.clone(), 3, observe) {
        Ok(simulation) => simulation,
        Err(problems) => panic!("{problems:?}"),
    }
}

/// Runs a plan in steps whose lengths are taken from `steps`, over and over.
fn run_in_steps(plan: &Plan, observe: &Observe, steps: &[u64]) -> Report {
    let mut simulation = simulation(plan, observe);
    let mut events = 0;
    for step in steps.iter().cycle() {
        let before = simulation.advance(0).now;
        let progress = simulation.advance(*step);
        assert!(progress.now >= before, "time never goes back");
        if progress.done {
            break;
        }
        events += step;
        assert!(events < MAX_EVENTS, "no end at {}", progress.now);
    }
    simulation.finish()
}

fn run_whole(plan: &Plan, observe: &Observe) -> Report {
    run_in_steps(plan, observe, &[10_000])
}

/// The rules that hold for any run, wherever it was cut.
fn assert_trustworthy(plan: &Plan, report: &Report) {
    assert!(report.verdict.valid, "{:?}", report.verdict.problems);
    let sent: u64 = ["client_packets_sent", "server_packets_sent"]
        .iter()
        .flat_map(|name| numbers(report, "flows", name))
        .sum();
    // Routers and hosts tell of packets besides that are too big, or have no way; and processes send packets of their own.
    let routes_change = plan.events.iter().any(|event| matches!(event.change, Change::Route(_)));
    if plan.links.iter().all(|link| link.mtu.is_none()) && plan.processes.is_empty() && !routes_change {
        assert_eq!(sent, report.verdict.packets_sent);
    }
    assert!(sent <= report.verdict.packets_sent);
    for (row, flow) in plan.flows.iter().enumerate() {
        assert_eq!(self::flow(report, "bytes_wrong", row), 0, "{}", flow.name);
        let delivered = self::flow(report, "bytes_delivered", row);
        match (status(report, row), &flow.app) {
            // Without a size it is complete when it was stopped and all is there that was sent.
            ("completed", App::Bulk(Bulk { bytes: None })) => assert!(is_stopped(plan, report, row)),
            ("stopped", _) => {
                assert!(is_stopped(plan, report, row));
                assert!(maybe(report, "completed_ns", row).is_none() || flow.transport == Transport::Udp);
            }
            ("completed", App::Bulk(Bulk { bytes })) => assert_eq!(Some(delivered), *bytes),
            ("completed", &App::Download(Download { response_bytes, requests, .. })) => {
                assert_eq!(delivered, response_bytes * u64::from(requests));
            }
            ("completed", &App::Voice(Voice { blocks, partial_bytes, answer_bytes, requests, .. })) => {
                let (partials, requests) = (u64::from(blocks) - 1, u64::from(requests));
                assert_eq!(delivered, (partials * partial_bytes + answer_bytes) * requests);
                assert_eq!(responses(report, row).len() as u64, requests);
                let received = if partial_bytes > 0 { partials * requests } else { 0 };
                assert_eq!(messages(report, row).len() as u64, received);
            }
            ("completed", &App::Web(Web { pages, .. })) => {
                assert_eq!(Some(rows_of(report, "pages", row).len() as u32), pages);
            }
            ("completed", App::Push(Push { updates, .. })) => {
                assert_eq!(messages(report, row).len(), updates.len());
            }
            ("completed", &App::OnOff(OnOff { packet_bytes, packets, .. }))
                if matches!(flow.transport, Transport::Tcp { .. }) && packets.is_some() =>
            {
                assert_eq!(Some(delivered), packets.map(|packets| packets * u64::from(packet_bytes)));
            }
            (
                status @ ("completed" | "unfinished"),
                &(App::Cbr(Cbr { packet_bytes, packets, .. })
                | App::OnOff(OnOff { packet_bytes, packets, .. })),
            ) if matches!(flow.transport, Transport::Udp) => {
                let [sent, received, ..] = datagrams(report, row);
                let whole = packets == Some(sent) || (packets.is_none() && is_stopped(plan, report, row));
                assert_eq!(status == "completed", whole);
                assert!(received <= sent, "{received} of {sent}");
                assert_eq!(delivered, received * u64::from(packet_bytes));
            }
            ("unfinished" | "timed_out" | "reset" | "refused", _) if flow.transport != Transport::Udp => {
                assert!(maybe(report, "completed_ns", row).is_none());
            }
            ("completed", App::OnOff(OnOff { packets: None, .. })) => assert!(is_stopped(plan, report, row)),
            // What more others do is tested beside them.
            ("completed" | "unfinished", _) => {}
            (status, _) => panic!("{}: {status}", flow.name),
        }
        let established = matches!(flow.transport, Transport::Tcp { .. })
            .then(|| maybe_of_end(report, "client", "established_ns", row))
            .flatten();
        let [start, first, completed] =
            ["start_ns", "first_byte_ns", "completed_ns"].map(|name| maybe(report, name, row));
        let times: Vec<u64> = [start, established, first, completed].into_iter().flatten().collect();
        assert!(times.is_sorted(), "{}: {times:?}", flow.name);
        assert!(times[1..].iter().all(|&at| at <= report.verdict.ended_ns), "{}: {times:?}", flow.name);
    }
}

/// Whether the timeline has stopped a flow by the end of the run, wherever that was cut.
fn is_stopped(plan: &Plan, report: &Report, flow: usize) -> bool {
    let stop = Change::Flow(FlowEvent { flow: flow as u32, runs: false });
    let told = report.tables.iter().find(|table| table.name == "events");
    let happened = told.map_or(0, |table| table.columns[0].data.len());
    plan.events[..happened].iter().any(|event| event.change == stop)
}

fn numbers(report: &Report, table_name: &str, name: &str) -> Vec<u64> {
    match column(table(report, table_name), name) {
        Data::U64(values) => values.clone(),
        other => panic!("{name} is not a column of numbers: {other:?}"),
    }
}

fn maybe(report: &Report, name: &str, row: usize) -> Option<u64> {
    match column(table(report, "flows"), name) {
        Data::U64(values) => Some(values[row]),
        Data::OptU64(values) => values[row],
        other => panic!("{name} is not a column of numbers: {other:?}"),
    }
}

/// The tables that do not depend on what was observed.
fn results(report: &Report) -> Vec<&Table> {
    report
        .tables
        .iter()
        .filter(|table| !["series", "packets", "signals", "capacities"].contains(&table.name))
        .collect()
}

#[test]
fn every_kind_is_drawn_and_nothing_is_wrong_with_a_plan() {
    let mut runner = TestRunner::deterministic();
    let (mut drawn, mut processes, mut changes) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for _ in 0..200 {
        let plan = random::plan().new_tree(&mut runner).expect("nothing is rejected").current();
        assert_eq!(voxpath_sim::check(&plan), []);
        drawn.extend(plan.flows.iter().map(|flow| flow.app.name()));
        processes.extend(plan.processes.iter().map(|process| process.app.name()));
        changes.extend(plan.events.iter().map(|event| kind_of(&event.change)));
    }
    assert_eq!(drawn, App::KINDS.iter().copied().collect());
    assert_eq!(processes, ProcessApp::passing().into_iter().collect());
    assert_eq!(
        changes,
        ["address", "delay", "flow", "loss", "process", "queue", "rate", "route", "up"].into()
    );
}

fn kind_of(change: &Change) -> &'static str {
    match change {
        Change::Link(event) => match event.set {
            LinkChange::Rate { .. } => "rate",
            LinkChange::Delay { .. } => "delay",
            LinkChange::Loss { .. } => "loss",
            LinkChange::Queue { .. } => "queue",
            LinkChange::Up { .. } => "up",
        },
        Change::Flow(_) => "flow",
        Change::Process(_) => "process",
        Change::Route(_) => "route",
        Change::Address(_) => "address",
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_run_balances_and_delivers_what_was_sent(plan in random::plan()) {
        let report = run_whole(&plan, &Observe::default());
        assert_trustworthy(&plan, &report);
        match plan.duration_ns {
            Some(end) => prop_assert!(report.verdict.ended_ns <= end),
            // It went on until every flow had ended, well or badly, and no packet was left.
            None => {
                prop_assert_eq!(report.verdict.packets_held, 0);
                for row in 0..plan.flows.len() {
                    prop_assert_ne!(status(&report, row), "unfinished", "{}", plan.flows[row].name);
                }
            }
        }
    }

    #[test]
    fn a_run_balances_wherever_it_is_cut(plan in random::plan(), events in 0..3_000_u64) {
        let mut simulation = simulation(&plan, &Observe::default());
        simulation.advance(events);
        assert_trustworthy(&plan, &simulation.finish());
    }

    #[test]
    fn the_same_plan_gives_the_same_report_in_whatever_steps(plan in random::plan()) {
        let observe = everything(&plan);
        let once = run_whole(&plan, &observe);
        for steps in [&[u64::MAX][..], &[1, 7]] {
            let again = run_in_steps(&plan, &observe, steps);
            prop_assert_eq!(&once.verdict, &again.verdict);
            prop_assert_eq!(&once.tables, &again.tables);
            prop_assert_eq!(&once.captures, &again.captures);
        }
    }

    #[test]
    fn observation_does_not_change_behaviour(plan in random::plan()) {
        let seen = run_whole(&plan, &everything(&plan));
        let unseen = run_whole(&plan, &Observe::default());
        prop_assert_eq!(results(&seen), results(&unseen));
        prop_assert_eq!(&seen.verdict, &unseen.verdict);

        // What was seen agrees with what was counted.
        let at = numbers(&seen, "packets", "time_ns");
        prop_assert!(at.is_sorted());
        prop_assert!(at.iter().all(|&at| at <= seen.verdict.ended_ns), "nothing is seen before it happens");
        let action = |name| count_label(table(&seen, "packets"), "action", name);
        let element = |name, column| element_sum(&seen, name, column);
        // Some disciplines drop what they have let in.
        let never_dropped = element("queue", "packets_in") - element("queue", "packets_dropped");
        prop_assert!((never_dropped..=element("queue", "packets_in")).contains(&action("enqueued")));
        prop_assert_eq!(action("marked"), element("queue", "packets_marked"));
        prop_assert_eq!(action("corrupted"), element("corruption", "packets_marked"));
        // A link that goes down drops what waits for it, and what it was just sending.
        let dropped = ["queue", "serialiser"].map(|name| element(name, "packets_dropped"));
        prop_assert_eq!(action("dropped"), dropped.iter().sum::<u64>());
        prop_assert_eq!(action("lost"), element("loss", "packets_dropped"));
        prop_assert_eq!(action("duplicated"), element("duplication", "packets_duplicated"));
        prop_assert_eq!(action("delivered"), element("delay", "packets_out"));
    }

    #[test]
    fn a_flow_elsewhere_changes_nothing_here(plan in random::plan(), first in any::<bool>(), other in random::direction()) {
        let mut plan = plan;
        // A common end: what a run without one lasts depends on all its flows.
        plan.duration_ns.get_or_insert(20 * SECOND);
        let observe = Observe { tcp: true, packets: true, ..Observe::default() };
        let alone = run_whole(&plan, &observe);
        // Whose queue a flow shares hangs on its ports, and they on its place in the list.
        // And what a process sends to is known to itself alone.
        let first = first && !is_hashed(&plan) && plan.processes.is_empty();
        let joined_plan = with_neighbours(&plan, first, &other);
        let joined = run_whole(&joined_plan, &observe);
        assert_trustworthy(&joined_plan, &joined);
        for (name, key) in alone.tables.iter().filter_map(|table| key_of(table.name)) {
            // Data over the time to the end of the run, where something failed: that end hangs on all flows.
            let by_end = table(&alone, name).columns.iter().position(|column| column.name == "goodput_bps");
            let rows = |report| {
                let mut rows = rows(table(report, name));
                rows.iter_mut().for_each(|row| drop(by_end.map(|at| row.remove(at))));
                rows
            };
            let (ours, theirs) = (rows(&alone), rows(&joined));
            let at = table(&alone, name).columns.iter().position(|column| column.name == key).expect("a key");
            let kept: Vec<_> = theirs.into_iter().filter(|row| !row[at].contains("elsewhere")).collect();
            prop_assert_eq!(ours, kept, "{}", name);
        }
    }
}

/// The column that says whose a row of this table is, if one does.
fn key_of(name: &'static str) -> Option<(&'static str, &'static str)> {
    match name {
        "packets" | "events" => None,
        "elements" => Some((name, "place")),
        _ => Some((name, "flow")),
    }
}

fn is_hashed(plan: &Plan) -> bool {
    let of = |direction: &Direction| matches!(direction.queueing, Queueing::FqCodel(_));
    plan.links.iter().any(|link| of(&link.ab) || of(&link.ba))
}

/// `plan` and, disjoint from it, two hosts, a link and two flows, listed before or after its own.
fn with_neighbours(plan: &Plan, first: bool, direction: &Direction) -> Plan {
    let mut plan = plan.clone();
    let host = |i: u8| Node {
        simulated: false,
        real: false,
        edge: None,
        name: format!("elsewhere{i}"),
        kind: NodeKind::Host,
        addresses: vec![[192, 0, 2, i].into()],
    };
    let shift = if first { 2 } else { 0 };
    let start = if first { 0 } else { plan.nodes.len() as u32 };
    for link in &mut plan.links {
        (link.a, link.b) = (link.a + shift, link.b + shift);
    }
    for flow in &mut plan.flows {
        (flow.from, flow.to) = (flow.from + shift, flow.to + shift);
    }
    let (links, flows) = if first { (1, 2) } else { (0, 0) };
    for event in &mut plan.events {
        match &mut event.change {
            Change::Link(event) => event.link += links,
            Change::Flow(event) => event.flow += flows,
            Change::Address(event) => event.node += shift,
            // The neighbours have none.
            Change::Process(_) => {}
            Change::Route(route) => {
                (route.node, route.to, route.link) =
                    (route.node + shift, route.to + shift, route.link + links);
            }
        }
    }
    let link = Link {
        mtu: None,
        name: "elsewhere".into(),
        a: start,
        b: start + 1,
        ab: direction.clone(),
        ba: direction.clone(),
    };
    let config = Profile::Linux.config();
    let flows = [
        (
            Transport::tcp(config.clone(), config),
            App::Download(Download { request_bytes: 100, response_bytes: 50_000, requests: 3, pause_ns: 0 }),
        ),
        (Transport::Udp, App::Cbr(Cbr { packet_bytes: 160, interval_ns: 20 * MS, packets: Some(100) })),
    ];
    let flows = flows.into_iter().enumerate().map(|(i, (transport, app))| Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: format!("elsewhere{i}"),
        from: start,
        to: start + 1,
        start_ns: 0,
        transport,
        app,
    });
    let at = |len: usize| if first { 0 } else { len };
    plan.nodes.splice(at(plan.nodes.len())..at(plan.nodes.len()), [host(1), host(2)]);
    plan.links.splice(at(plan.links.len())..at(plan.links.len()), [link]);
    plan.flows.splice(at(plan.flows.len())..at(plan.flows.len()), flows);
    plan
}

/// A table row by row, each value as text, so that labels compare by their meaning.
fn rows(table: &Table) -> Vec<Vec<String>> {
    let cell = |data: &Data, row: usize| match data {
        Data::U64(values) => values[row].to_string(),
        Data::OptU64(values) => format!("{:?}", values[row]),
        Data::F64(values) => values[row].to_string(),
        Data::OptF64(values) => format!("{:?}", values[row]),
        Data::Text(values) => values[row].clone(),
        Data::Label { names, index } => names[index[row] as usize].clone(),
    };
    let len = table.columns[0].data.len();
    (0..len).map(|row| table.columns.iter().map(|column| cell(&column.data, row)).collect()).collect()
}

fn count_label(table: &Table, name: &str, wanted: &str) -> u64 {
    match column(table, name) {
        Data::Label { names, index } => {
            index.iter().filter(|&&index| names[index as usize] == wanted).count() as u64
        }
        other => panic!("{name} has no labels: {other:?}"),
    }
}

fn element_sum(report: &Report, element: &str, name: &str) -> u64 {
    let elements = table(report, "elements");
    let Data::Text(kinds) = column(elements, "element") else { panic!("elements have names") };
    let values = numbers(report, "elements", name);
    kinds.iter().zip(values).filter(|(kind, _)| *kind == element).map(|(_, value)| value).sum()
}
