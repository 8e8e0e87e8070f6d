//! What a run leaves behind: tables, captures, and whether it can be trusted.

use crate::endpoint::{Endpoint, Kind};
use crate::limits::Limit;
use crate::plan::{App, DIRECTIONS, Flow, NodeKind, Plan};
use crate::session::{self, Session};
use crate::updates;
use crate::world::World;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use serde::Serialize;
use voxpath_apps::datagrams::{DatagramRecord, Reception};
use voxpath_apps::{DatagramMachine, Machine, Record, Request, StreamMachine};
use voxpath_net::element::Count;
use voxpath_net::table::{Column, Data, Table};
use voxpath_net::tap::Output;
use voxpath_tcp::{Counters, Ended};
use voxpath_units::{Span, Time};

/// Everything that came of a run.
#[derive(Debug)]
pub struct Report {
    /// `flows`, `requests`, `elements`, and what was observed.
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
    let elements = elements(plan, &world, &mut books);
    let flows = flows(plan, &world, ended, &mut books);
    let requests = requests(plan, &world);
    let told = [session::results(plan, &world), updates::table(plan, &world)];
    books.problems.extend(limit.map(|limit| limit.problem(ended)));
    let verdict = books.verdict(&world, ended, limit);
    let mut report = Report { tables: vec![flows, requests, elements], captures: Vec::new(), verdict };
    report.tables.extend(told.into_iter().flatten());
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
        let whole = Count {
            entered: sum(|node| node.sent),
            left: sum(|node| node.delivered),
            dropped: sum(|node| node.discarded)
                + link_sum(|counts| counts.elements().iter().map(|(_, count)| count.dropped).sum()),
            duplicated: link_sum(|counts| counts.duplication.duplicated),
            marked: 0,
        };
        // A packet whose loss is decided but lies ahead counts in its queue and is no longer in the pool.
        let doomed: u64 = network.links.iter().map(|link| link.doomed()).sum();
        let unborn: u64 = network.links.iter().map(|link| link.unborn()).sum();
        let held = network.pool.len() as u64 + doomed - unborn;
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

fn elements(plan: &Plan, world: &World, books: &mut Books) -> Table {
    let mut rows: Vec<(String, &'static str, Count, u64)> = Vec::new();
    for (i, link) in world.network.links.iter().enumerate() {
        let place = format!("{} {}", plan.links[i / 2].name, DIRECTIONS[i % 2]);
        let counts = link.counts();
        books.packet_hops += counts.delay.left;
        for ((element, count), held) in counts.elements().into_iter().zip(link.held().elements()) {
            rows.push((place.clone(), element, count, held));
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
        rows.push((planned.name.clone(), element, count, 0));
    }
    for (place, element, count, held) in &rows {
        books.check(place, element, *count, *held);
    }
    let each = |of: fn(&(String, &str, Count, u64)) -> u64| Data::U64(rows.iter().map(of).collect());
    Table {
        name: "elements",
        columns: vec![
            Column { name: "place", data: Data::Text(rows.iter().map(|row| row.0.clone()).collect()) },
            Column { name: "element", data: Data::Text(rows.iter().map(|row| row.1.into()).collect()) },
            Column { name: "packets_in", data: each(|row| row.2.entered) },
            Column { name: "packets_duplicated", data: each(|row| row.2.duplicated) },
            Column { name: "packets_out", data: each(|row| row.2.left) },
            Column { name: "packets_dropped", data: each(|row| row.2.dropped) },
            Column { name: "packets_marked", data: each(|row| row.2.marked) },
            Column { name: "packets_held", data: each(|row| row.3) },
        ],
    }
}

/// One flow's results; what does not apply to its transport is none.
struct FlowRow {
    status: &'static str,
    /// When the timeline stopped it.
    stopped: Option<Time>,
    established: Option<Time>,
    first: Option<Time>,
    completed: Option<Time>,
    bytes: u64,
    wrong: u64,
    /// Of the end that opened, and of the end that answered.
    packets_sent: [u64; 2],
    tcp: [Option<TcpCounts>; 2],
    /// From the last byte of a request to the last of its answer, ascending.
    responses: Option<Vec<u64>>,
    /// From the last byte of what a partial answer answers to its own last, ascending.
    partials: Option<Vec<u64>>,
    /// From the request for a page's main object to the last byte of its last one, ascending.
    pages: Option<Vec<u64>>,
    /// From when an update is ready to its last byte, ascending.
    updates: Option<Vec<u64>>,
    speech: Option<Session>,
    datagrams_sent: Option<u64>,
    reception: Option<Reception>,
}

fn flows(plan: &Plan, world: &World, ended: Time, books: &mut Books) -> Table {
    let stopped = world.timeline.stopped();
    let rows: Vec<FlowRow> = (0..)
        .zip(world.sockets.flows())
        .zip(&plan.flows)
        .map(|((i, ends), flow)| row(ends, flow, stopped.get(&i).copied()))
        .collect();
    for (row, flow) in rows.iter().zip(&plan.flows) {
        if row.wrong > 0 {
            books.problems.push(format!("flow {}: {} bytes are not what was sent", flow.name, row.wrong));
        }
    }
    let node = |index: u32| plan.nodes[index as usize].name.clone();
    let planned = |of: &dyn Fn(&Flow) -> String| Data::Text(plan.flows.iter().map(of).collect());
    let time = |of: fn(&FlowRow) -> Option<Time>| {
        Data::OptU64(rows.iter().map(|row| of(row).map(Time::as_nanos)).collect())
    };
    let count = |of: fn(&FlowRow) -> u64| Data::U64(rows.iter().map(of).collect());
    let maybe = |of: &dyn Fn(&FlowRow) -> Option<u64>| Data::OptU64(rows.iter().map(of).collect());
    let goodput = |(row, flow): (&FlowRow, &Flow)| {
        // What had nothing to send was complete at once, however long others went on.
        let going_on = (row.status != "completed").then_some(ended);
        let end = row.completed.or(row.stopped).or(going_on)?;
        let took = end.as_nanos().saturating_sub(flow.start_ns);
        (took > 0).then(|| row.bytes as f64 * 8e9 / took as f64)
    };

    let mut columns = vec![
        Column { name: "flow", data: planned(&|flow| flow.name.clone()) },
        Column { name: "from", data: planned(&|flow| node(flow.from)) },
        Column { name: "to", data: planned(&|flow| node(flow.to)) },
        Column { name: "transport", data: planned(&|flow| flow.transport.name().into()) },
        Column { name: "app", data: planned(&|flow| flow.app.name().into()) },
        Column { name: "status", data: Data::Text(rows.iter().map(|row| row.status.into()).collect()) },
        Column { name: "start_ns", data: Data::U64(plan.flows.iter().map(|flow| flow.start_ns).collect()) },
        Column { name: "established_ns", data: time(|row| row.established) },
        Column { name: "first_byte_ns", data: time(|row| row.first) },
        Column { name: "completed_ns", data: time(|row| row.completed) },
        Column { name: "bytes_delivered", data: count(|row| row.bytes) },
        Column { name: "bytes_wrong", data: count(|row| row.wrong) },
        Column {
            name: "goodput_bps",
            data: Data::OptF64(rows.iter().zip(&plan.flows).map(goodput).collect()),
        },
        Column { name: "client_packets_sent", data: count(|row| row.packets_sent[0]) },
        Column { name: "server_packets_sent", data: count(|row| row.packets_sent[1]) },
    ];
    type Counter = fn(&TcpCounts) -> Option<u64>;
    let counters: [([&'static str; 2], Counter); 6] = [
        (["client_data_segments_sent", "server_data_segments_sent"], |tcp| tcp.data_segments_sent),
        (["client_retransmissions", "server_retransmissions"], |tcp| tcp.retransmissions),
        (["client_fast_retransmits", "server_fast_retransmits"], |tcp| tcp.fast_retransmits),
        (["client_timeouts", "server_timeouts"], |tcp| tcp.timeouts),
        (["client_probes", "server_probes"], |tcp| tcp.probes),
        (["client_duplicate_acks", "server_duplicate_acks"], |tcp| tcp.duplicate_acks),
    ];
    for (names, of) in counters {
        for (end, name) in names.into_iter().enumerate() {
            columns.push(Column { name, data: maybe(&|row| row.tcp[end].as_ref().and_then(of)) });
        }
    }
    type Delays = for<'r> fn(&'r FlowRow) -> Option<&'r [u64]>;
    type Summary = fn(&[u64]) -> Option<u64>;
    let (responses, partials): (Delays, Delays) =
        (|row| row.responses.as_deref(), |row| row.partials.as_deref());
    let (pages, updates): (Delays, Delays) = (|row| row.pages.as_deref(), |row| row.updates.as_deref());
    let summaries: [(&'static str, Delays, Summary); 20] = [
        ("requests_answered", responses, |delays| Some(delays.len() as u64)),
        ("response_mean_ns", responses, mean),
        ("response_p50_ns", responses, |delays| quantile(delays, 50)),
        ("response_p95_ns", responses, |delays| quantile(delays, 95)),
        ("response_max_ns", responses, |delays| delays.last().copied()),
        ("partials_received", partials, |delays| Some(delays.len() as u64)),
        ("partial_mean_ns", partials, mean),
        ("partial_p50_ns", partials, |delays| quantile(delays, 50)),
        ("partial_p95_ns", partials, |delays| quantile(delays, 95)),
        ("partial_max_ns", partials, |delays| delays.last().copied()),
        ("pages_loaded", pages, |delays| Some(delays.len() as u64)),
        ("page_mean_ns", pages, mean),
        ("page_p50_ns", pages, |delays| quantile(delays, 50)),
        ("page_p95_ns", pages, |delays| quantile(delays, 95)),
        ("page_max_ns", pages, |delays| delays.last().copied()),
        ("updates_received", updates, |delays| Some(delays.len() as u64)),
        ("update_mean_ns", updates, mean),
        ("update_p50_ns", updates, |delays| quantile(delays, 50)),
        ("update_p95_ns", updates, |delays| quantile(delays, 95)),
        ("update_max_ns", updates, |delays| delays.last().copied()),
    ];
    for (name, delays, of) in summaries {
        columns.push(Column { name, data: maybe(&|row| delays(row).and_then(of)) });
    }
    for (name, of) in session::MEASURES {
        columns.push(Column { name, data: maybe(&|row| row.speech.as_ref().and_then(of)) });
    }
    columns.push(Column { name: "datagrams_sent", data: maybe(&|row| row.datagrams_sent) });
    type Measure = fn(&Reception) -> Option<u64>;
    let measures: [(&'static str, Measure); 10] = [
        ("datagrams_received", |seen| Some(seen.datagrams)),
        ("datagrams_duplicated", |seen| Some(seen.duplicates)),
        ("datagrams_reordered", |seen| Some(seen.reordered)),
        ("delay_min_ns", |seen| seen.delays.first().copied()),
        ("delay_mean_ns", |seen| mean(&seen.delays)),
        ("delay_p50_ns", |seen| quantile(&seen.delays, 50)),
        ("delay_p95_ns", |seen| quantile(&seen.delays, 95)),
        ("delay_p99_ns", |seen| quantile(&seen.delays, 99)),
        ("delay_max_ns", |seen| seen.delays.last().copied()),
        ("jitter_ns", |seen| (seen.delays.len() > 1).then(|| seen.jitter.as_nanos())),
    ];
    for (name, of) in measures {
        columns.push(Column { name, data: maybe(&|row| row.reception.as_ref().and_then(of)) });
    }
    Table { name: "flows", columns }
}

fn row(ends: &[Endpoint; 2], flow: &Flow, stopped: Option<Time>) -> FlowRow {
    let app = &flow.app;
    let [client, server] = [End::of(&ends[0]), End::of(&ends[1])];
    match [client.part, server.part] {
        [Part::Stream { record: asks, ended: asked }, Part::Stream { record: answers, ended: answered }] => {
            let receiver = [asks, answers][app.receiver()];
            FlowRow {
                // The end that opened knows more of a failure than the one that may never have heard of it.
                status: status(receiver, asked.or(answered), stopped),
                stopped,
                established: client.established_at,
                first: receiver.first_at,
                completed: receiver.completed_at,
                bytes: receiver.octets,
                wrong: asks.wrong_octets + answers.wrong_octets,
                packets_sent: [client.packets_sent, server.packets_sent],
                tcp: [client.tcp, server.tcp],
                responses: has_requests(app).then(|| responses(receiver)),
                partials: answers_in_part(app).then(|| ascending(receiver.partials().iter().copied())),
                pages: matches!(app, App::Web(_)).then(|| ascending(receiver.pages().iter().copied())),
                updates: updates::delays(flow, receiver).map(|delays| ascending(delays.into_iter())),
                speech: Session::of(app, asks, answers),
                datagrams_sent: None,
                reception: None,
            }
        }
        [Part::Datagrams { record: sender, done }, Part::Datagrams { record: answers, .. }] => {
            let receiver = [sender, answers][app.receiver()];
            let reception = receiver.arrivals.reception();
            let bound = sender.planned;
            let is_whole = bound.is_none_or(|packets| packets == sender.sent);
            FlowRow {
                status: match (done, is_whole) {
                    (true, true) => "completed",
                    (true, false) => "stopped",
                    (false, _) => "unfinished",
                },
                // To stop what had sent all it was to changes nothing, and may lie behind the run's end.
                stopped: stopped.filter(|_| bound.is_none() || !is_whole),
                established: None,
                first: receiver.arrivals.first_at(),
                completed: reception.last_at.filter(|_| done),
                bytes: reception.octets,
                wrong: sender.arrivals.wrong + answers.arrivals.wrong,
                packets_sent: [client.packets_sent, server.packets_sent],
                tcp: [None, None],
                responses: None,
                partials: None,
                pages: None,
                updates: None,
                speech: None,
                datagrams_sent: Some(sender.sent),
                reception: Some(reception),
            }
        }
        _ => unreachable!("a flow's ends are of one transport"),
    }
}

/// One end of a flow, wherever it ran.
pub(crate) struct End<'a> {
    pub(crate) part: Part<'a>,
    established_at: Option<Time>,
    packets_sent: u64,
    tcp: Option<TcpCounts>,
}

/// What an end does in its flow.
pub(crate) enum Part<'a> {
    Stream {
        record: &'a Record,
        ended: Option<Ended>,
    },
    /// `done` is when nothing more is due.
    Datagrams {
        record: &'a DatagramRecord,
        done: bool,
    },
}

impl<'a> Part<'a> {
    fn of_datagrams(application: &'a impl DatagramMachine) -> Self {
        Self::Datagrams { record: application.record(), done: application.poll_timeout().is_none() }
    }
}

/// What is counted of a TCP endpoint; none where its stack does not say.
#[derive(Default)]
struct TcpCounts {
    data_segments_sent: Option<u64>,
    retransmissions: Option<u64>,
    fast_retransmits: Option<u64>,
    timeouts: Option<u64>,
    probes: Option<u64>,
    duplicate_acks: Option<u64>,
}

impl<'a> End<'a> {
    pub(crate) fn of(endpoint: &'a Endpoint) -> Self {
        let simulated = |part, tcp| Self {
            part,
            established_at: endpoint.counters.established_at,
            packets_sent: endpoint.counters.packets_sent,
            tcp,
        };
        match &endpoint.kind {
            Kind::Tcp(tcp) => simulated(
                Part::Stream {
                    record: tcp.owner.record().expect("an end of a flow has an application"),
                    ended: tcp.ended(),
                },
                // An end that never opened has counted nothing, which is not unknown.
                Some(TcpCounts::from(
                    &tcp.connection().map_or_else(Counters::default, |connection| *connection.counters()),
                )),
            ),
            Kind::Udp(application) => simulated(Part::of_datagrams(application), None),
            Kind::Datagram(_) | Kind::Vacant => unreachable!("an end of a flow stays one"),
            Kind::Outside(outside) => {
                let outside = outside.as_deref().expect("what was handed out came back");
                let account = &outside.account;
                let (part, tcp) = match &outside.machine {
                    Machine::Stream(application) => {
                        let tcp = TcpCounts {
                            data_segments_sent: account.data_segments_sent,
                            retransmissions: account.retransmissions,
                            timeouts: account.timeouts,
                            ..TcpCounts::default()
                        };
                        (Part::Stream { record: application.record(), ended: account.ended }, Some(tcp))
                    }
                    Machine::Datagrams(application) => (Part::of_datagrams(application), None),
                };
                Self { part, established_at: account.established_at, packets_sent: account.packets_sent, tcp }
            }
        }
    }
}

impl From<&Counters> for TcpCounts {
    fn from(counters: &Counters) -> Self {
        Self {
            data_segments_sent: Some(counters.data_segments_sent),
            retransmissions: Some(counters.retransmissions),
            fast_retransmits: Some(counters.fast_retransmits.into()),
            timeouts: Some(counters.timeouts.into()),
            probes: Some(counters.probes.into()),
            duplicate_acks: Some(counters.duplicate_acks),
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

/// Whether the application asks, so that there are responses.
fn has_requests(app: &App) -> bool {
    matches!(app, App::Download(_) | App::Voice(_) | App::Web(_))
}

/// Whether the application gets partial answers.
fn answers_in_part(app: &App) -> bool {
    matches!(app, App::Voice(voice) if voice.answers_in_part())
}

fn responses(record: &Record) -> Vec<u64> {
    ascending(record.requests.iter().filter_map(Request::response))
}

fn ascending(spans: impl Iterator<Item = Span>) -> Vec<u64> {
    let mut spans: Vec<u64> = spans.map(Span::as_nanos).collect();
    spans.sort_unstable();
    spans
}

fn mean(delays: &[u64]) -> Option<u64> {
    let sum: u128 = delays.iter().map(|&delay| u128::from(delay)).sum();
    // A mean of 64-bit values is one.
    sum.checked_div(delays.len() as u128).map(|mean| mean as u64)
}

/// The smallest value that at least `percent` of them do not exceed.
fn quantile(ascending: &[u64], percent: usize) -> Option<u64> {
    let rank = (ascending.len() * percent).div_ceil(100).max(1);
    ascending.get(rank - 1).copied()
}

fn requests(plan: &Plan, world: &World) -> Table {
    let mut rows = Vec::new();
    for (i, [endpoint, _]) in world.sockets.flows().iter().enumerate() {
        let Part::Stream { record, .. } = End::of(endpoint).part else { continue };
        let requests = record.requests.iter();
        rows.extend((0_u64..).zip(requests).map(|(number, request)| (i as u32, number, *request)));
    }
    let names = plan.flows.iter().map(|flow| flow.name.clone()).collect();
    let time = |of: fn(&Request) -> Option<Time>| {
        Data::OptU64(rows.iter().map(|(_, _, request)| of(request).map(Time::as_nanos)).collect())
    };
    Table {
        name: "requests",
        columns: vec![
            Column {
                name: "flow",
                data: Data::Label { names, index: rows.iter().map(|row| row.0).collect() },
            },
            Column { name: "request", data: Data::U64(rows.iter().map(|row| row.1).collect()) },
            Column {
                name: "page",
                data: Data::OptU64(rows.iter().map(|row| row.2.page.map(u64::from)).collect()),
            },
            Column {
                name: "sent_ns",
                data: Data::U64(rows.iter().map(|row| row.2.sent_at.as_nanos()).collect()),
            },
            Column { name: "last_byte_sent_ns", data: time(|request| request.last_sent_at) },
            Column { name: "first_byte_ns", data: time(|request| request.first_at) },
            Column { name: "completed_ns", data: time(|request| request.completed_at) },
            Column {
                name: "partials_in_time",
                data: Data::OptU64(rows.iter().map(|row| row.2.partials_in_time).collect()),
            },
            Column {
                name: "bytes_delivered",
                data: Data::U64(rows.iter().map(|row| row.2.octets).collect()),
            },
        ],
    }
}
