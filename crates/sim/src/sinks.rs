//! Where observations go: columns for Python, captures for tshark.

use crate::address::Address;
use crate::capacities::Capacities;
use crate::emit::emit;
use crate::plan::{DIRECTIONS, Observe, Plan};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use voxpath_net::Seed;
use voxpath_net::packet::Packet;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_net::tap::{Action, Event, Interest, Output, Place, Sink};
use voxpath_tcp::Metrics;
use voxpath_units::{Span, Time};
use voxpath_wire::pcapng::{CapturedPacket, Direction, Interface, InterfaceId, PcapngWriter};

/// The sinks that `observe` asks for.
pub(crate) fn wanted(
    plan: &Plan,
    seed: Seed,
    observe: &Observe,
    addresses: &[Address],
) -> Vec<Box<dyn Sink>> {
    let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
    if observe.tcp {
        sinks.push(Box::new(Series::new(plan)));
    }
    if observe.packets {
        sinks.push(Box::new(Packets::new(plan)));
    }
    if observe.capacity {
        sinks.push(Box::new(Capacities::new(plan, seed)));
    }
    for (node, planned) in (0..).zip(&plan.nodes) {
        if observe.capture.contains(&planned.name) {
            sinks.push(Box::new(Capture::new(node, &planned.name, observe.snap_bytes, addresses)));
        }
    }
    sinks
}

/// Values of endpoints over time.
struct Series {
    flows: Vec<String>,
    ends: Vec<String>,
    metrics: BTreeMap<&'static str, u32>,
    samples: Vec<Sample>,
}

pub(crate) struct Sample {
    at: Time,
    flow: u32,
    end: u16,
    subflow: u16,
    metric: u32,
    value: u64,
}

/// The table of series. Its lists of names are those of flows, of ends, and of metrics.
pub(crate) static SERIES: TableOf<Sample> = TableOf {
    name: "series",
    about: "Values of TCP endpoints, one row per change; with --observe tcp.",
    columns: &[
        (
            "time_ns",
            Meaning::time("TCP", "When; of real hosts, looked at every 10 ms."),
            Of::U64(|row| row.at.as_nanos()),
        ),
        (
            "flow",
            Meaning::name(
                "scenario",
                "Name of the flow; of a program's connection its ends, CLIENT:PORT > SERVER:PORT.",
            ),
            Of::Name(0, |row| row.flow),
        ),
        (
            "end",
            Meaning::name("scenario", "client or server; of a process, accepted by or opened by it."),
            Of::Name(1, |row| row.end.into()),
        ),
        (
            "subflow",
            Meaning::count("TCP", "Of Multipath TCP: which subflow, as in connections."),
            Of::OptU64(|row| (row.subflow > 0).then_some(row.subflow.into())),
        ),
        ("metric", Meaning::name("TCP", "What; see series_metrics."), Of::Name(2, |row| row.metric)),
        ("value", Meaning::by("by metric", "TCP", "The new value."), Of::U64(|row| row.value)),
    ],
};

/// What the series tell of a connection.
pub(crate) static SERIES_METRICS: TableOf<Metrics> = TableOf {
    name: "series_metrics",
    about: "What the metric column of series can be.",
    columns: &[
        ("cwnd_bytes", Meaning::bytes("TCP", "Congestion window."), Of::OptU64(|of| Some(of.cwnd))),
        ("ssthresh_bytes", Meaning::bytes("TCP", "Slow-start threshold."), Of::OptU64(|of| of.ssthresh)),
        (
            "flight_bytes",
            Meaning::bytes("TCP", "Data sent and not yet acknowledged (FlightSize of RFC 5681)."),
            Of::OptU64(|of| Some(of.flight)),
        ),
        (
            "pipe_bytes",
            Meaning::bytes("TCP", "Data believed to be in the network (pipe of RFC 6675)."),
            Of::OptU64(|of| Some(of.pipe)),
        ),
        (
            "snd_wnd_bytes",
            Meaning::bytes("TCP", "Window that the other end announces."),
            Of::OptU64(|of| Some(of.snd_wnd)),
        ),
        (
            "srtt_ns",
            Meaning::time("TCP", "Smoothed round-trip time (RFC 6298)."),
            Of::OptU64(|of| of.srtt.map(Span::as_nanos)),
        ),
        (
            "rttvar_ns",
            Meaning::time("TCP", "Variation of the round-trip time (RFC 6298)."),
            Of::OptU64(|of| of.rttvar.map(Span::as_nanos)),
        ),
        (
            "rto_ns",
            Meaning::time("TCP", "Retransmission timeout, backed off or not."),
            Of::OptU64(|of| Some(of.rto.as_nanos())),
        ),
        (
            "phase",
            Meaning::count(
                "TCP",
                "0 open, 1 recovery (a loss is being repaired), 2 loss (all is sent again after a timeout).",
            ),
            Of::OptU64(|of| Some(of.phase.code())),
        ),
        (
            "retransmissions",
            Meaning::count("TCP", "Segments that were sent again so far: data, SYN or FIN."),
            Of::OptU64(|of| Some(of.retransmissions)),
        ),
    ],
};

/// What the series of a connection had last, one value of each.
pub(crate) type Watched = [Option<u64>; SERIES_METRICS.columns.len()];

/// Names of the ends of conversations, by [`Event::Sample::end`](Event::Sample): those of flows, then of each process the
/// end that it accepted and the one that it opened.
pub(crate) fn ends(plan: &Plan) -> Vec<String> {
    let of_processes = plan
        .processes
        .iter()
        .flat_map(|process| ["accepted by", "opened by"].map(|what| format!("{what} {}", process.name)));
    ["client", "server"].map(String::from).into_iter().chain(of_processes).collect()
}

/// Names of flows by their labels; behind the last one stands what belongs to none, and then each process, to which
/// belongs what it opens of its own accord.
pub(crate) fn flow_names(plan: &Plan) -> Vec<String> {
    let processes = plan.processes.iter().map(|process| process.name.clone());
    plan.flows.iter().map(|flow| flow.name.clone()).chain([String::new()]).chain(processes).collect()
}

/// Names of the plan's nodes.
pub(crate) fn node_names(plan: &Plan) -> Vec<String> {
    plan.nodes.iter().map(|node| node.name.clone()).collect()
}

impl Series {
    fn new(plan: &Plan) -> Self {
        Self { flows: flow_names(plan), ends: ends(plan), metrics: BTreeMap::new(), samples: Vec::new() }
    }
}

impl Sink for Series {
    fn interest(&self) -> Interest {
        Interest::SAMPLES
    }

    fn memory(&self) -> usize {
        self.samples.capacity() * size_of::<Sample>()
    }

    fn record(&mut self, event: &Event<'_>) {
        let &Event::Sample { at, flow, end, subflow, metric, value } = event else { return };
        let next = self.metrics.len() as u32;
        let metric = *self.metrics.entry(metric).or_insert(next);
        self.samples.push(Sample { at, flow: flow.0, end, subflow, metric, value });
    }

    fn finish(self: Box<Self>, _ended: Time) -> Output {
        let mut metrics = vec![String::new(); self.metrics.len()];
        for (name, index) in self.metrics {
            metrics[index as usize] = name.into();
        }
        Output::Table(SERIES.fill(&self.samples, &[&self.flows, &self.ends, &metrics]))
    }
}

/// Packets at links.
struct Packets {
    flows: Vec<String>,
    links: Vec<String>,
    rows: Vec<Row>,
}

pub(crate) struct Row {
    at: Time,
    link: u32,
    action: Action,
    flow: u32,
    len: u32,
    payload: u32,
    tcp: Option<(u32, u32, u8)>,
}

/// The table of packets. Its lists of names are those of links, of actions, and of flows.
pub(crate) static PACKETS: TableOf<Row> = TableOf {
    name: "packets",
    about: "Every packet at every link, in the order of decision; with --observe packets.",
    columns: &[
        ("time_ns", Meaning::time("link", "When it happens."), Of::U64(|row| row.at.as_nanos())),
        (
            "link",
            Meaning::name("scenario", "Link and direction (ab is up, ba down)."),
            Of::Name(0, |row| row.link),
        ),
        (
            "action",
            Meaning::name("link", "enqueued, marked, dropped, lost, corrupted, duplicated or delivered."),
            Of::Name(1, |row| row.action as u32 - ACTIONS[0] as u32),
        ),
        ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(2, |row| row.flow)),
        ("ip_bytes", Meaning::bytes("link", "Length of the IP packet."), Of::U64(|row| row.len.into())),
        (
            "payload_bytes",
            Meaning::bytes("link", "Data in it, headers left out."),
            Of::U64(|row| row.payload.into()),
        ),
        (
            "seq",
            Meaning::count("link", "TCP sequence number."),
            Of::OptU64(|row| row.tcp.map(|(seq, _, _)| seq.into())),
        ),
        (
            "ack",
            Meaning::count("link", "TCP acknowledgment number."),
            Of::OptU64(|row| row.tcp.map(|(_, ack, _)| ack.into())),
        ),
        (
            "tcp_flags",
            Meaning::count("link", "TCP flags, as the byte of the header."),
            Of::OptU64(|row| row.tcp.map(|(_, _, flags)| flags.into())),
        ),
    ],
};

/// What links do, without a gap: an action's place here follows from it.
const ACTIONS: [Action; 7] = [
    Action::Enqueued,
    Action::Marked,
    Action::Dropped,
    Action::Lost,
    Action::Corrupted,
    Action::Duplicated,
    Action::Delivered,
];

const _: () = {
    let mut i = 0;
    while i < ACTIONS.len() {
        assert!(ACTIONS[i] as usize == ACTIONS[0] as usize + i, "actions are listed in their order");
        i += 1;
    }
};

impl Packets {
    fn new(plan: &Plan) -> Self {
        let names = |name: &String| DIRECTIONS.map(|direction| format!("{name} {direction}"));
        Self {
            flows: flow_names(plan),
            links: plan.links.iter().flat_map(|link| names(&link.name)).collect(),
            rows: Vec::new(),
        }
    }
}

impl Sink for Packets {
    fn interest(&self) -> Interest {
        Interest::LINKS
    }

    fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<Row>()
    }

    fn record(&mut self, event: &Event<'_>) {
        let &Event::Packet { at, place: Place::Link(link), action, packet } = event else { return };
        self.rows.push(Row {
            at,
            link,
            action,
            flow: packet.flow.0,
            len: packet.len,
            payload: packet.payload.len(),
            tcp: packet.tcp().map(|header| (header.seq.0, header.ack.0, header.flags.0)),
        });
    }

    fn finish(mut self: Box<Self>, ended: Time) -> Output {
        // Links record a loss when they decide it, which is before it happens, if it happens at all.
        self.rows.retain(|row| row.at <= ended);
        self.rows.sort_by_key(|row| row.at);
        let actions = ACTIONS.map(|action| String::from(action.name()));
        Output::Table(PACKETS.fill(&self.rows, &[&self.links, &actions, &self.flows]))
    }
}

/// What a packet sniffer on a host would see.
struct Capture {
    node: u32,
    name: String,
    snap: usize,
    addresses: Vec<Address>,
    writer: PcapngWriter,
    interface: InterfaceId,
    packet: Vec<u8>,
    bytes: Vec<u8>,
    /// IP identification, counted up as hosts do.
    identification: u16,
}

impl Capture {
    fn new(node: u32, name: &str, snap: Option<u32>, addresses: &[Address]) -> Self {
        let mut bytes = Vec::new();
        let mut writer = PcapngWriter::new(&mut bytes);
        let interface = writer.interface(&Interface { name: Some(name), snap_len: snap }, &mut bytes);
        Self {
            node,
            name: name.into(),
            snap: snap.map_or(usize::MAX, |snap| snap as usize),
            addresses: addresses.to_vec(),
            writer,
            interface,
            packet: Vec::new(),
            bytes,
            identification: 0,
        }
    }

    fn write_out(&mut self, packet: &Packet) {
        self.identification = self.identification.wrapping_add(1);
        self.packet.clear();
        emit(packet, &self.addresses, self.identification, &mut self.packet);
    }
}

impl Sink for Capture {
    fn interest(&self) -> Interest {
        Interest::HOSTS
    }

    fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    fn record(&mut self, event: &Event<'_>) {
        let &Event::Packet { at, place, action, packet } = event else { return };
        if place != Place::Host(self.node) {
            return;
        }
        self.write_out(packet);
        let captured = CapturedPacket {
            interface: self.interface,
            at,
            direction: if action == Action::Sent { Direction::Outbound } else { Direction::Inbound },
            original_len: packet.len,
            bytes: &self.packet[..self.packet.len().min(self.snap)],
        };
        self.writer.packet(&captured, &mut self.bytes);
    }

    fn finish(self: Box<Self>, _ended: Time) -> Output {
        Output::File { name: self.name, bytes: self.bytes }
    }
}
