//! What a run leaves behind: tables, captures, and whether it can be trusted.

use crate::connections::{self, CONNECTIONS, ConnectionEnd, ConnectionRow, SubflowOf, WIRE};
use crate::endpoint::{Endpoint, Kind};
use crate::limits::Limit;
use crate::multipath::{Found, MULTIPATH, MultipathRow};
use crate::plan::{DIRECTIONS, Flow, NodeKind, Plan};
use crate::sinks::{ends, flow_names, node_names};
use crate::sockets::SocketTable;
use crate::world::World;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::any::Any;
use serde::Serialize;
use voxpath_apps::{
    App, DatagramApplication, DatagramMachine, Entity, Machine, Over, Process, ProcessEntity, Record, Saw,
    StreamMachine, Told, Work,
};
use voxpath_net::element::Count;
use voxpath_net::element::middlebox::Met;
use voxpath_net::routing::Way;
use voxpath_net::table::{Meaning, Of, Table, TableOf};
use voxpath_net::tap::Output;
use voxpath_tcp::Ended;
use voxpath_units::Time;

/// Everything that came of a run.
#[derive(Debug)]
pub struct Report {
    /// `flows`, `connections`, `elements`, what flows consist of, and what was observed.
    pub tables: Vec<Table>,
    /// Captures as pcapng, by host.
    pub captures: Vec<(String, Vec<u8>)>,
    /// Whether the run can be trusted.
    pub verdict: Verdict,
}

/// Whether a run can be trusted, and what that was checked by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// No check failed.
    pub valid: bool,
    /// Checks that failed.
    pub problems: Vec<String>,
    /// What ended the run before its time: events, time, memory, or the clock; none if it was over.
    pub limit: Option<&'static str>,
    /// Elements for which `in + duplicated = out + dropped + held` was checked.
    pub elements_checked: u64,
    /// Packets that hosts sent.
    pub packets_sent: u64,
    /// Packets still on their way when the run ended.
    pub packets_held: u64,
    /// Packets delivered over a link, all links together.
    pub packet_hops: u64,
    /// Things scheduled.
    pub events: u64,
    /// Virtual time at which the run ended.
    pub ended_ns: u64,
}

/// Closes the books.
pub(crate) fn report(plan: &Plan, mut world: World) -> Report {
    let ended = world.ended();
    let limit = world.limit_reached();
    report_at(plan, world, ended, limit)
}

/// The same for a world whose end is somebody else's decision.
pub(crate) fn report_at(plan: &Plan, mut world: World, ended: Time, limit: Option<Limit>) -> Report {
    for link in &mut world.network.links {
        link.settle(ended);
    }
    let mut books = Books::default();
    let names = flow_names(plan);
    let flows = flows(plan, &world, &names, ended, &mut books);
    let mut tables = vec![flows];
    tables.extend(connections(plan, &world.sockets));
    tables.extend(multipath(plan, &world.sockets));
    tables.extend(entities(plan, &world, &names, ended));
    tables.extend(process_tables(plan, &world, &names));
    tables.push(elements(plan, &world, &mut books));
    books.problems.extend(limit.map(|limit| limit.problem(ended)));
    let verdict = books.verdict(&world, ended, limit);
    let mut report = Report { tables, captures: Vec::new(), verdict };
    report.tables.extend(world.timeline.table(plan));
    for output in world.network.tap.finish(ended) {
        match output {
            Output::Table(table) => report.tables.push(table),
            Output::File { name, bytes } => report.captures.push((name, bytes)),
        }
    }
    report
}

/// The checks at the end of a run.
#[derive(Default)]
struct Books {
    problems: Vec<String>,
    elements_checked: u64,
    packet_hops: u64,
}

impl Books {
    fn check(&mut self, place: &str, element: &str, count: Count, held: u64) {
        self.elements_checked += 1;
        if !count.balances(held) {
            self.problems.push(format!("{place}, {element}: {count:?} does not balance with {held} held"));
        }
    }

    fn verdict(mut self, world: &World, ended: Time, limit: Option<Limit>) -> Verdict {
        let network = &world.network;
        let on_links: usize = network.links.iter().map(|link| link.packets_alive()).sum();
        if network.pool.len() != on_links {
            let alive = network.pool.len();
            self.problems.push(format!("{alive} packets are alive, but links hold {on_links}"));
        }
        // The network as a whole is an element too.
        let sum = |of: fn(&crate::network::Node) -> u64| network.nodes.iter().map(of).sum::<u64>();
        let link_sum = |of: fn(&voxpath_net::link::Counts) -> u64| {
            network.links.iter().map(|link| of(&link.counts())).sum::<u64>()
        };
        let middle_sum = |of: fn(&Met) -> u64| {
            let chains = network.middleboxes.iter().flatten();
            chains
                .flat_map(|chain| Way::BOTH.into_iter().flat_map(|way| chain.met(way)))
                .map(|met| of(&met))
                .sum::<u64>()
        };
        let whole = Count {
            entered: sum(|node| node.sent),
            left: sum(|node| node.delivered),
            dropped: sum(|node| node.discarded)
                + link_sum(|counts| counts.elements().iter().map(|(_, count)| count.dropped).sum())
                + middle_sum(|met| met.count.dropped),
            duplicated: link_sum(|counts| counts.duplication.duplicated)
                + middle_sum(|met| met.count.duplicated),
            marked: 0,
        };
        // A packet whose loss is decided but lies ahead counts in its queue and is no longer in the pool.
        let doomed: u64 = network.links.iter().map(|link| link.doomed()).sum();
        let unborn: u64 = network.links.iter().map(|link| link.unborn()).sum();
        let held = network.pool.len() as u64 + doomed - unborn + network.held_by_middleboxes();
        self.check("network", "whole", whole, held);
        Verdict {
            valid: self.problems.is_empty(),
            problems: self.problems,
            limit: limit.map(Limit::name),
            elements_checked: self.elements_checked,
            packets_sent: whole.entered,
            packets_held: held,
            packet_hops: self.packet_hops,
            events: network.events.scheduled(),
            ended_ns: ended.as_nanos(),
        }
    }
}

/// What a packet met at a place.
pub(crate) struct ElementRow {
    place: String,
    element: &'static str,
    count: Count,
    held: u64,
}

/// The table of elements.
pub(crate) static ELEMENTS: TableOf<ElementRow> = TableOf {
    name: "elements",
    about: "One row per element; packets_in + packets_duplicated = packets_out + packets_dropped + packets_held, always.",
    columns: &[
        (
            "place",
            Meaning::name("scenario", "Link and direction (ab is up, ba down), or node."),
            Of::Text(|row| row.place.clone()),
        ),
        (
            "element",
            Meaning::name(
                "scenario",
                "The kinds of middleboxes; queue, serialiser, loss, corruption, duplication, delay; host, router.",
            ),
            Of::Text(|row| row.element.into()),
        ),
        ("packets_in", Meaning::count("element", "Packets that came."), Of::U64(|row| row.count.entered)),
        (
            "packets_duplicated",
            Meaning::count("element", "Copies made."),
            Of::U64(|row| row.count.duplicated),
        ),
        ("packets_out", Meaning::count("element", "Packets passed on."), Of::U64(|row| row.count.left)),
        (
            "packets_dropped",
            Meaning::count(
                "element",
                "Packets that ended here, in a middlebox also those whose data went on in another one.",
            ),
            Of::U64(|row| row.count.dropped),
        ),
        (
            "packets_marked",
            Meaning::count(
                "element",
                "Packets that were changed here: marked by a queue as having met congestion (ECN), changed by a middlebox, or damaged by corruption. They count among the others too.",
            ),
            Of::U64(|row| row.count.marked),
        ),
        (
            "packets_held",
            Meaning::count("element", "Packets still here when the run ended."),
            Of::U64(|row| row.held),
        ),
    ],
};

fn elements(plan: &Plan, world: &World, books: &mut Books) -> Table {
    let mut rows: Vec<ElementRow> = Vec::new();
    for (i, link) in world.network.links.iter().enumerate() {
        let place = format!("{} {}", plan.links[i / 2].name, DIRECTIONS[i % 2]);
        let counts = link.counts();
        books.packet_hops += counts.delay.left;
        if let Some(Some(chain)) = world.network.middleboxes.get(i / 2) {
            for Met { kind, count, held } in chain.met(Way::BOTH[i % 2]) {
                rows.push(ElementRow { place: place.clone(), element: kind, count, held });
            }
        }
        for ((element, count), held) in counts.elements().into_iter().zip(link.held().elements()) {
            rows.push(ElementRow { place: place.clone(), element, count, held });
        }
    }
    for (node, planned) in world.network.nodes.iter().zip(&plan.nodes) {
        let element = match node.kind {
            NodeKind::Host => "host",
            NodeKind::Router => "router",
        };
        let count = Count {
            entered: node.sent + node.received,
            left: node.forwarded + node.delivered,
            dropped: node.discarded,
            ..Count::default()
        };
        rows.push(ElementRow { place: planned.name.clone(), element, count, held: 0 });
    }
    for row in &rows {
        books.check(&row.place, row.element, row.count, row.held);
    }
    ELEMENTS.fill(&rows, &[])
}

/// What every flow has, whatever it does.
pub(crate) struct FlowRow {
    flow: u32,
    /// Hosts.
    from: u32,
    to: u32,
    transport: &'static str,
    app: &'static str,
    start: Time,
    status: &'static str,
    /// When the timeline stopped it.
    stopped: Option<Time>,
    /// When the run ended.
    ended: Time,
    first: Option<Time>,
    completed: Option<Time>,
    bytes: u64,
    wrong: u64,
    /// Of the end that opened, and of the end that answered.
    packets_sent: [u64; 2],
}

/// The table of flows.
pub(crate) static FLOWS: TableOf<FlowRow> = TableOf {
    name: "flows",
    about: "One row per flow, and per process that does something of its own: what every flow has, and summaries of what it consists of, where it has that.",
    columns: &[
        ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.flow)),
        ("from", Meaning::name("scenario", "Host that opens; the client."), Of::Name(1, |row| row.from)),
        ("to", Meaning::name("scenario", "Host that answers; the server."), Of::Name(1, |row| row.to)),
        (
            "transport",
            Meaning::name("scenario", "tcp, mptcp or udp; mqtt of what processes do."),
            Of::Text(|row| row.transport.into()),
        ),
        ("app", Meaning::name("scenario", "The application's kind."), Of::Text(|row| row.app.into())),
        (
            "status",
            Meaning::name(
                "receiving application",
                "completed, unfinished, stopped (by the timeline), or how the connection failed: refused, reset, aborted, timed_out.",
            ),
            Of::Text(|row| row.status.into()),
        ),
        (
            "start_ns",
            Meaning::time("scenario", "When the client's application starts."),
            Of::U64(|row| row.start.as_nanos()),
        ),
        (
            "first_byte_ns",
            Meaning::time("receiving application", "When the first byte is delivered."),
            Of::OptU64(|row| row.first.map(Time::as_nanos)),
        ),
        (
            "completed_ns",
            Meaning::time("receiving application", "When the last byte is delivered."),
            Of::OptU64(|row| row.completed.map(Time::as_nanos)),
        ),
        (
            "bytes_delivered",
            Meaning::bytes("receiving application", "Data delivered."),
            Of::U64(|row| row.bytes),
        ),
        (
            "bytes_wrong",
            Meaning::bytes(
                "receiving application",
                "Data that is not what was sent, or not where it belongs; none in a valid run.",
            ),
            Of::U64(|row| row.wrong),
        ),
        (
            "goodput_bps",
            Meaning::rate(
                "receiving application",
                "Data delivered over the time from start_ns to completed_ns, to when it was stopped, or to the end of the run.",
            ),
            Of::OptF64(FlowRow::goodput),
        ),
        (
            "client_packets_sent",
            Meaning::count("client host", "IP packets sent, of every kind."),
            Of::U64(|row| row.packets_sent[0]),
        ),
        (
            "server_packets_sent",
            Meaning::count("server host", "IP packets sent, of every kind."),
            Of::U64(|row| row.packets_sent[1]),
        ),
    ],
};

impl FlowRow {
    fn goodput(&self) -> Option<f64> {
        // What had nothing to send was complete at once, however long others went on.
        let going_on = (self.status != "completed").then_some(self.ended);
        let end = self.completed.or(self.stopped).or(going_on)?;
        let took = end.since(self.start).as_nanos();
        (took > 0).then(|| self.bytes as f64 * 8e9 / took as f64)
    }
}

fn flows(plan: &Plan, world: &World, names: &[String], ended: Time, books: &mut Books) -> Table {
    let stopped = world.timeline.stopped();
    let mut rows: Vec<FlowRow> = (0..)
        .zip(world.sockets.flows())
        .zip(&plan.flows)
        .map(|((i, ends), flow)| row(i, ends, flow, stopped.get(&i).copied(), ended))
        .collect();
    for row in rows.iter().filter(|row| row.wrong > 0) {
        let name = &names[row.flow as usize];
        books.problems.push(format!("flow {name}: {} bytes are not what was sent", row.wrong));
    }
    let first = names.len() - plan.processes.len();
    // Packets of connections, by who opened them, and whether by that end.
    let mut sent: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for row in wire(plan, world) {
        *sent.entry((row.flow, row.end % 2)).or_default() += row.found.packets_sent.unwrap_or(0);
    }
    let processes = (first as u32..).zip(&world.processes).zip(&plan.processes);
    rows.extend(processes.filter_map(|((name, running), process)| {
        let Work { transport, to, start, status, first, completed, octets, wrong } =
            running.machine.as_ref()?.work()?;
        Some(FlowRow {
            flow: name,
            from: process.node,
            to,
            transport,
            app: process.app.name(),
            start,
            status,
            stopped: None,
            ended,
            first,
            completed,
            bytes: octets,
            wrong,
            packets_sent: [1, 0].map(|opened| sent.get(&(name, opened)).copied().unwrap_or(0)),
        })
    }));
    FLOWS.fill(&rows, &[names, &node_names(plan)])
}

/// The tables of processes: those that their kinds have rows in, and what they had links carry.
fn process_tables(plan: &Plan, world: &World, names: &[String]) -> Vec<Table> {
    let first = names.len() - plan.processes.len();
    let (first, nobody) = (first as u32, plan.flows.len() as u32);
    let saw: Vec<Saw<'_>> = (0..)
        .zip(&world.processes)
        .filter_map(|(process, running)| {
            let account = running.machine.as_ref()?.account();
            Some(Saw { name: first + u32::from(process), nobody, process, account })
        })
        .collect();
    let mut of: Vec<&dyn ProcessEntity> = Vec::new();
    for &entity in plan.processes.iter().flat_map(|process| process.app.tables()) {
        if of.iter().all(|known| known.name() != entity.name()) {
            of.push(entity);
        }
    }
    let mut tables: Vec<Table> = of.into_iter().map(|entity| entity.table(&saw, names)).collect();
    let rows: Vec<ConnectionRow> = wire(plan, world).collect();
    if !rows.is_empty() {
        tables.push(WIRE.fill(&rows, &[names, &ends(plan), &node_names(plan)]));
    }
    tables
}

/// Ends of the connections that processes opened of their own accord.
fn wire(plan: &Plan, world: &World) -> impl Iterator<Item = ConnectionRow> {
    let nobody = plan.flows.len() as u32;
    let open = world.sockets.of_processes().flat_map(connections::of_process);
    let simulated = world.sockets.closed().iter().copied().chain(open).filter(move |row| row.flow > nobody);
    simulated.chain(world.held.iter().copied())
}

fn row(index: u32, ends: &[Endpoint; 2], flow: &Flow, stopped: Option<Time>, ended: Time) -> FlowRow {
    let [client, server] = [End::of(&ends[0]), End::of(&ends[1])];
    let row = FlowRow {
        flow: index,
        from: flow.from,
        to: flow.to,
        transport: flow.transport.name(),
        app: flow.app.name(),
        start: Time::from_nanos(flow.start_ns),
        status: "",
        stopped,
        ended,
        first: None,
        completed: None,
        bytes: 0,
        wrong: 0,
        packets_sent: [client.packets_sent, server.packets_sent],
    };
    match [client.part, server.part] {
        [Part::Stream { record: asks, ended: asked }, Part::Stream { record: answers, ended: answered }] => {
            let receiver = [asks, answers][flow.app.receiver()];
            FlowRow {
                // The end that opened knows more of a failure than the one that may never have heard of it.
                status: status(receiver, asked.or(answered), stopped),
                first: receiver.first_at,
                completed: receiver.completed_at,
                bytes: receiver.octets,
                wrong: asks.wrong_octets + answers.wrong_octets,
                ..row
            }
        }
        [Part::Datagrams(sender), Part::Datagrams(answers)] => {
            let done = sender.poll_timeout().is_none();
            let (sender, answers) = (sender.record(), answers.record());
            let arrivals = &[sender, answers][flow.app.receiver()].arrivals;
            let is_whole = sender.planned.is_none_or(|packets| packets == sender.sent());
            FlowRow {
                status: match (done, is_whole) {
                    (true, true) => "completed",
                    (true, false) => "stopped",
                    (false, _) => "unfinished",
                },
                // To stop what had sent all it was to changes nothing, and may lie behind the run's end.
                stopped: stopped.filter(|_| sender.planned.is_none() || !is_whole),
                first: arrivals.first_at(),
                completed: arrivals.last_at().filter(|_| done),
                bytes: arrivals.octets(),
                wrong: sender.arrivals.wrong + answers.arrivals.wrong,
                ..row
            }
        }
        _ => unreachable!("a flow's ends are of one transport"),
    }
}

/// The connections of flows and of processes, if there can be any.
fn connections(plan: &Plan, sockets: &SocketTable) -> Option<Table> {
    let flows = sockets.flows().iter().flatten();
    let mut rows: Vec<ConnectionRow> = Vec::new();
    for endpoint in flows {
        if let Kind::Mptcp(multipath) = &endpoint.kind {
            rows.extend(connections::of_subflows(endpoint, multipath));
        } else if let Some(found) = End::of(endpoint).connection {
            rows.push(ConnectionRow::new(endpoint, first_subflow(endpoint), found));
        }
    }
    rows.extend(sockets.closed());
    rows.extend(sockets.of_processes().flat_map(connections::of_process));
    let any = plan.flows.iter().any(|flow| flow.transport.carries() == Over::Stream);
    (any || !rows.is_empty())
        .then(|| CONNECTIONS.fill(&rows, &[&flow_names(plan), &ends(plan), &node_names(plan)]))
}

/// The kernel's own connection of a flow is the first subflow, where the flow is over Multipath TCP.
fn first_subflow(endpoint: &Endpoint) -> Option<SubflowOf> {
    let Kind::Outside(Some(outside)) = &endpoint.kind else { return None };
    let remote = outside.remote.filter(|_| outside.is_multipath)?;
    let is_fallback = outside.account.multipath.map(|found| found.is_fallback);
    Some(SubflowOf { number: 1, between: [outside.local.ip(), remote.ip()], is_fallback })
}

/// The connections of flows over Multipath TCP, if there are any.
fn multipath(plan: &Plan, sockets: &SocketTable) -> Option<Table> {
    let rows: Vec<_> = sockets.flows().iter().flatten().filter_map(multipath_row).collect();
    (!rows.is_empty()).then(|| MULTIPATH.fill(&rows, &[&flow_names(plan), &ends(plan), &node_names(plan)]))
}

/// Of an end of a flow; none if it is of no connection of Multipath TCP.
fn multipath_row(endpoint: &Endpoint) -> Option<MultipathRow> {
    let found = match &endpoint.kind {
        Kind::Mptcp(multipath) => multipath.found(),
        Kind::Outside(Some(outside)) if outside.is_multipath => Found::of_kernel(outside.account.multipath),
        _ => return None,
    };
    Some(MultipathRow { flow: endpoint.label.flow.0, end: endpoint.end.into(), host: endpoint.node, found })
}

/// The tables of what flows consist of, those that their applications have rows in.
fn entities(plan: &Plan, world: &World, names: &[String], ended: Time) -> Vec<Table> {
    let told: Vec<(&App, Told<'_>)> = (0..)
        .zip(world.sockets.flows())
        .zip(&plan.flows)
        .map(|((flow, ends), Flow { app, .. })| {
            let receiver = app.receiver();
            let told = Told { flow, receiver, ended, settings: app.settings(), ends: seen(ends) };
            (app, told)
        })
        .collect();
    let mut tables: Vec<(&dyn Entity, Vec<Told<'_>>)> = Vec::new();
    for (app, told) in told {
        for &entity in app.tables().iter().filter(|entity| entity.is_of(&told)) {
            match tables.iter_mut().find(|(known, _)| known.name() == entity.name()) {
                Some((_, of)) => of.push(told),
                None => tables.push((entity, vec![told])),
            }
        }
    }
    tables.into_iter().map(|(entity, of)| entity.table(&of, names)).collect()
}

/// What the ends of a flow saw, as [`Told::ends`] wants it.
fn seen(ends: &[Endpoint; 2]) -> [&dyn Any; 2] {
    ends.each_ref().map(|end| -> &dyn Any {
        match End::of(end).part {
            Part::Stream { record, .. } => record,
            Part::Datagrams(application) => application.seen(),
        }
    })
}

/// One end of a flow, wherever it ran.
pub(crate) struct End<'a> {
    part: Part<'a>,
    packets_sent: u64,
    /// Its connection; none over datagrams, and where it has subflows.
    pub(crate) connection: Option<ConnectionEnd>,
}

/// What an end does in its flow.
enum Part<'a> {
    Stream { record: &'a Record, ended: Option<Ended> },
    Datagrams(&'a DatagramApplication),
}

impl<'a> End<'a> {
    pub(crate) fn of(endpoint: &'a Endpoint) -> Self {
        let packets_sent = endpoint.counters.packets_sent;
        match &endpoint.kind {
            Kind::Tcp(tcp) => {
                let record = tcp.owner.record().expect("an end of a flow has an application");
                let part = Part::Stream { record, ended: tcp.ended() };
                Self {
                    part,
                    packets_sent,
                    connection: Some(ConnectionEnd::simulated(
                        endpoint.counters.established_at,
                        tcp.connection(),
                    )),
                }
            }
            Kind::Mptcp(multipath) => {
                let record = multipath.owner.record().expect("an end of a flow has an application");
                let part = Part::Stream { record, ended: multipath.ended() };
                Self { part, packets_sent, connection: None }
            }
            Kind::Udp(application) => {
                Self { part: Part::Datagrams(application), packets_sent, connection: None }
            }
            Kind::Datagram(_) | Kind::Vacant => unreachable!("an end of a flow stays one"),
            Kind::Outside(outside) => {
                let outside = outside.as_deref().expect("what was handed out came back");
                let account = &outside.account;
                let (part, connection) = match &outside.machine {
                    Machine::Stream(application) => (
                        Part::Stream { record: application.record(), ended: account.ended },
                        Some(ConnectionEnd::outside(account)),
                    ),
                    Machine::Datagrams(application) => (Part::Datagrams(application), None),
                };
                Self { part, packets_sent: account.packets_sent, connection }
            }
        }
    }
}

fn status(receiver: &Record, ended: Option<Ended>, stopped: Option<Time>) -> &'static str {
    if receiver.completed_at.is_some() {
        return "completed";
    }
    match ended {
        Some(Ended::Refused) => "refused",
        Some(Ended::Reset) => "reset",
        Some(Ended::Aborted) => "aborted",
        Some(Ended::TimedOut) => "timed_out",
        Some(Ended::Closed) | None if stopped.is_some() => "stopped",
        Some(Ended::Closed) | None => "unfinished",
    }
}
