//! Where observations go: columns for Python, captures for tshark.

use crate::emit::emit;
use crate::network::Address;
use crate::plan::{DIRECTIONS, Observe, Plan};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use voxpath_net::packet::Packet;
use voxpath_net::table::{Column, Data, Table};
use voxpath_net::tap::{Action, Event, Interest, Output, Place, Sink};
use voxpath_units::Time;
use voxpath_wire::pcapng::{CapturedPacket, Direction, Interface, InterfaceId, PcapngWriter};

/// The sinks that `observe` asks for.
pub(crate) fn wanted(plan: &Plan, observe: &Observe, addresses: &[Address]) -> Vec<Box<dyn Sink>> {
    let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
    if observe.tcp {
        sinks.push(Box::new(Series::new(plan)));
    }
    if observe.packets {
        sinks.push(Box::new(Packets::new(plan)));
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
    time_ns: Vec<u64>,
    flow: Vec<u32>,
    end: Vec<u32>,
    metric: Vec<u32>,
    value: Vec<u64>,
}

/// Names of the ends of conversations, by [`Event::Sample::end`](Event::Sample): those of flows, then of each process the
/// end that it accepted and the one that it opened.
fn ends(plan: &Plan) -> Vec<String> {
    let of_processes = plan
        .processes
        .iter()
        .flat_map(|process| ["accepted by", "opened by"].map(|what| format!("{what} {}", process.name)));
    ["client", "server"].map(String::from).into_iter().chain(of_processes).collect()
}

/// Names of flows by their labels; behind the last one stands what belongs to none.
fn flow_names(plan: &Plan) -> Vec<String> {
    plan.flows.iter().map(|flow| flow.name.clone()).chain([String::new()]).collect()
}

impl Series {
    fn new(plan: &Plan) -> Self {
        Self {
            flows: flow_names(plan),
            ends: ends(plan),
            metrics: BTreeMap::new(),
            time_ns: Vec::new(),
            flow: Vec::new(),
            end: Vec::new(),
            metric: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl Sink for Series {
    fn interest(&self) -> Interest {
        Interest::SAMPLES
    }

    fn memory(&self) -> usize {
        let labels = self.flow.capacity() + self.end.capacity() + self.metric.capacity();
        (self.time_ns.capacity() + self.value.capacity()) * size_of::<u64>() + labels * size_of::<u32>()
    }

    fn record(&mut self, event: &Event<'_>) {
        let &Event::Sample { at, flow, end, metric, value } = event else { return };
        let next = self.metrics.len() as u32;
        self.time_ns.push(at.as_nanos());
        self.flow.push(flow.0);
        self.end.push(u32::from(end));
        self.metric.push(*self.metrics.entry(metric).or_insert(next));
        self.value.push(value);
    }

    fn finish(self: Box<Self>, _ended: Time) -> Output {
        let mut metrics = vec![String::new(); self.metrics.len()];
        for (name, index) in self.metrics {
            metrics[index as usize] = name.into();
        }
        Output::Table(Table {
            name: "series",
            columns: vec![
                Column { name: "time_ns", data: Data::U64(self.time_ns) },
                Column { name: "flow", data: Data::Label { names: self.flows, index: self.flow } },
                Column { name: "end", data: Data::Label { names: self.ends, index: self.end } },
                Column { name: "metric", data: Data::Label { names: metrics, index: self.metric } },
                Column { name: "value", data: Data::U64(self.value) },
            ],
        })
    }
}

/// Packets at links.
struct Packets {
    flows: Vec<String>,
    links: Vec<String>,
    rows: Vec<Row>,
}

struct Row {
    at: Time,
    link: u32,
    action: Action,
    flow: u32,
    len: u32,
    payload: u32,
    tcp: Option<(u32, u32, u8)>,
}

const ACTIONS: [Action; 7] = [
    Action::Enqueued,
    Action::Marked,
    Action::Dropped,
    Action::Lost,
    Action::Corrupted,
    Action::Duplicated,
    Action::Delivered,
];

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
        let rows = &self.rows;
        let each = |of: fn(&Row) -> u64| Data::U64(rows.iter().map(of).collect());
        let tcp =
            |of: fn((u32, u32, u8)) -> u64| Data::OptU64(rows.iter().map(|row| row.tcp.map(of)).collect());
        let label = |names: Vec<String>, of: fn(&Row) -> u32| Data::Label {
            names,
            index: rows.iter().map(of).collect(),
        };
        let actions = ACTIONS.iter().map(|action| action.name().into()).collect();
        let action = |row: &Row| ACTIONS.iter().position(|action| *action == row.action).unwrap_or(0) as u32;
        Output::Table(Table {
            name: "packets",
            columns: vec![
                Column { name: "time_ns", data: each(|row| row.at.as_nanos()) },
                Column { name: "link", data: label(self.links, |row| row.link) },
                Column { name: "action", data: label(actions, action) },
                Column { name: "flow", data: label(self.flows, |row| row.flow) },
                Column { name: "ip_bytes", data: each(|row| row.len.into()) },
                Column { name: "payload_bytes", data: each(|row| row.payload.into()) },
                Column { name: "seq", data: tcp(|(seq, _, _)| seq.into()) },
                Column { name: "ack", data: tcp(|(_, ack, _)| ack.into()) },
                Column { name: "tcp_flags", data: tcp(|(_, _, flags)| flags.into()) },
            ],
        })
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
