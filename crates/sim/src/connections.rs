//! TCP connections: what came of each end, and those that programs on real hosts have over the network, as it sees them
//! pass.

use crate::endpoint::{Endpoint, Kind};
use crate::multipath::Multipath;
use crate::outside::Account;
use crate::owner::Counters as Packets;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_tcp::{Connection as TcpConnection, Counters};
use voxpath_units::{Span, Time};
use voxpath_wire::tcp::TcpFlags;

/// A connection of none of the plan's flows. Ends that talk again, after a connection has ended, count as the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Who sent the first SYN.
    pub client: SocketAddr,
    /// To whom.
    pub server: SocketAddr,
    /// When that was.
    pub opened: Time,
    /// Whether the server sent a SYN too, so that it has or had a socket of its own.
    pub is_answered: bool,
    /// When either end sent its last packet.
    pub last_sent: Time,
    /// What the client sent, and what the server did.
    pub sent: [Sent; 2],
    /// Whether the client's host is a real one, and the server's.
    pub real: [bool; 2],
    /// Which subflow of which connection it is, if it is one of Multipath TCP.
    pub subflow: Option<Part>,
}

/// Which connection of Multipath TCP a subflow is a part of, and which part: 1 is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The connection.
    pub of: Whole,
    /// In the order in which the network saw their first packets, from 1 on.
    pub number: u32,
}

/// A connection of Multipath TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whole {
    /// That of a flow, by its index in the plan.
    Flow(u32),
    /// That which began with the connection at this place among those of programs.
    Connection(usize),
}

/// Packets of one end of a connection, as the network saw them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Packets, acknowledgments too.
    pub packets: u64,
    /// Bytes of them.
    pub ip_bytes: u64,
    /// Bytes of the data in them, retransmissions too.
    pub data_bytes: u64,
}

/// Connections, by their ends.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// Two entries for each: one for each direction.
    by_ends: BTreeMap<(SocketAddr, SocketAddr), usize>,
    seen: Vec<Connection>,
    /// Connections of Multipath TCP, by the host that has to be told this token (RFC 8684 section 3.2).
    tokens: BTreeMap<(u32, u32), Whole>,
    /// How many subflows each of them had so far.
    subflows: BTreeMap<Whole, u32>,
}

impl Connections {
    /// Notes a segment that a real host sends to one that is real or not, of so many bytes with data in so many. What does not begin with a SYN
    /// is no connection.
    pub(crate) fn note(
        &mut self,
        now: Time,
        from: SocketAddr,
        to: SocketAddr,
        flags: TcpFlags,
        [ip_bytes, data_bytes]: [u32; 2],
        is_real: bool,
    ) {
        let opens = flags.contains(TcpFlags::SYN) && !flags.contains(TcpFlags::ACK);
        let index = match self.by_ends.get(&(from, to)) {
            Some(&index) => index,
            None if opens => {
                self.by_ends.extend([((from, to), self.seen.len()), ((to, from), self.seen.len())]);
                self.seen.push(Connection {
                    client: from,
                    server: to,
                    opened: now,
                    is_answered: false,
                    last_sent: now,
                    sent: [Sent::default(); 2],
                    real: [true, is_real],
                    subflow: None,
                });
                self.seen.len() - 1
            }
            None => return,
        };
        let connection = &mut self.seen[index];
        connection.last_sent = now;
        connection.is_answered |= from == connection.server && flags.contains(TcpFlags::SYN);
        let sent = &mut connection.sent[usize::from(from == connection.server)];
        sent.packets += 1;
        sent.ip_bytes += u64::from(ip_bytes);
        sent.data_bytes += u64::from(data_bytes);
    }

    /// What an end sent to another, of the connections so far.
    pub(crate) fn sent(&self, from: SocketAddr, to: SocketAddr) -> Option<Sent> {
        let connection = &self.seen[*self.by_ends.get(&(from, to))?];
        Some(connection.sent[usize::from(from == connection.server)])
    }

    /// The host has answered who opens a connection of Multipath TCP: subflows that join it name this token there. `flow` is whose it is, if it
    /// is that of a flow.
    pub(crate) fn learn(&mut self, host: u32, token: u32, flow: Option<u32>, ends: (SocketAddr, SocketAddr)) {
        let whole = match (flow, self.by_ends.get(&ends)) {
            (Some(flow), _) => Whole::Flow(flow),
            (None, Some(&index)) => {
                let whole = Whole::Connection(index);
                self.seen[index].subflow = Some(Part { of: whole, number: 1 });
                whole
            }
            (None, None) => return,
        };
        self.tokens.insert((host, token), whole);
    }

    /// Somebody joins the connection that has this token at a host, or else the one that `known` tells; which it is.
    pub(crate) fn join(
        &mut self,
        (host, token): (u32, u32),
        known: impl FnOnce() -> Option<u32>,
        ends: (SocketAddr, SocketAddr),
    ) -> Option<Whole> {
        let of = self.tokens.get(&(host, token)).copied().or_else(|| known().map(Whole::Flow))?;
        let connection = &mut self.seen[*self.by_ends.get(&ends)?];
        if connection.subflow.is_none() {
            let count = self.subflows.entry(of).or_insert(1);
            *count += 1;
            connection.subflow = Some(Part { of, number: *count });
        }
        Some(of)
    }

    /// Whether what began between these ends is a connection of Multipath TCP.
    pub(crate) fn is_multipath(&self, from: SocketAddr, to: SocketAddr) -> bool {
        self.by_ends.get(&(from, to)).is_some_and(|&index| self.seen[index].subflow.is_some())
    }

    /// The subflows that have joined the connection which began between these ends: of each its own ends, in that order, and its number.
    pub(crate) fn joined(
        &self,
        from: SocketAddr,
        to: SocketAddr,
    ) -> impl Iterator<Item = ([SocketAddr; 2], u32)> {
        let whole = self.by_ends.get(&(from, to)).copied();
        let turned = whole.is_some_and(|index| self.seen[index].client != from);
        self.seen.iter().filter_map(move |connection| {
            let part = connection.subflow.filter(|part| part.number > 1)?;
            let ends = [connection.client, connection.server];
            let ends = if turned { [ends[1], ends[0]] } else { ends };
            (Some(part.of) == whole.map(Whole::Connection)).then_some((ends, part.number))
        })
    }

    /// All of them, in the order in which they were opened.
    pub(crate) fn all(&self) -> &[Connection] {
        &self.seen
    }
}

/// What one end of a connection found; none where its stack does not say.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionEnd {
    /// When the client sent its first packet, where the network had to see that.
    pub opened: Option<Time>,
    /// When it stood.
    pub established: Option<Time>,
    /// When either end sent its last packet, where the network had to see that.
    pub last_sent: Option<Time>,
    /// Packets sent, acknowledgments too.
    pub packets_sent: Option<u64>,
    /// Bytes of them.
    pub ip_bytes_sent: Option<u64>,
    /// Bytes of the data in them, retransmissions too.
    pub data_bytes_sent: Option<u64>,
    /// Its own data that has arrived, retransmissions counted once.
    pub bytes_delivered: Option<u64>,
    /// Segments with data, retransmissions too.
    pub data_segments_sent: Option<u64>,
    /// Segments that were retransmitted.
    pub retransmissions: Option<u64>,
    /// Losses seen by duplicate or selective acknowledgment.
    pub fast_retransmits: Option<u64>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<u64>,
    /// Probes of a closed window.
    pub probes: Option<u64>,
    /// Duplicate acknowledgments received.
    pub duplicate_acks: Option<u64>,
    /// The smoothed round-trip time at the end.
    pub srtt: Option<Span>,
    /// The shortest round trip.
    pub min_rtt: Option<Span>,
    /// The congestion window at the end.
    pub cwnd_bytes: Option<u64>,
}

impl ConnectionEnd {
    /// A simulated end.
    pub(crate) fn simulated(established: Option<Time>, connection: Option<&TcpConnection>) -> Self {
        // An end that never opened has counted nothing, which is not unknown.
        let counted = connection.map_or_else(Counters::default, |connection| *connection.counters());
        let metrics = connection.map(TcpConnection::metrics);
        Self {
            opened: None,
            established,
            last_sent: None,
            packets_sent: None,
            ip_bytes_sent: None,
            data_bytes_sent: None,
            bytes_delivered: Some(counted.octets_acknowledged),
            data_segments_sent: Some(counted.data_segments_sent),
            retransmissions: Some(counted.retransmissions),
            fast_retransmits: Some(counted.fast_retransmits.into()),
            timeouts: Some(counted.timeouts.into()),
            probes: Some(counted.probes.into()),
            duplicate_acks: Some(counted.duplicate_acks),
            srtt: metrics.and_then(|metrics| metrics.srtt),
            min_rtt: None,
            cwnd_bytes: metrics.map(|metrics| metrics.cwnd),
        }
    }

    /// A simulated end whose packets were counted.
    fn counted(counters: &Packets, connection: Option<&TcpConnection>) -> Self {
        Self {
            packets_sent: Some(counters.packets_sent),
            ip_bytes_sent: Some(counters.ip_bytes_sent),
            data_bytes_sent: Some(counters.data_bytes_sent),
            ..Self::simulated(counters.established_at, connection)
        }
    }

    /// An end on a real host, of which the network counted what it sent.
    pub(crate) fn seen(sent: Sent) -> Self {
        Self {
            packets_sent: Some(sent.packets),
            ip_bytes_sent: Some(sent.ip_bytes),
            data_bytes_sent: Some(sent.data_bytes),
            ..Self::default()
        }
    }

    /// An end on a real host.
    pub(crate) fn outside(account: &Account) -> Self {
        Self {
            established: account.established_at,
            bytes_delivered: account.bytes_delivered,
            data_segments_sent: account.data_segments_sent,
            retransmissions: account.retransmissions,
            timeouts: account.timeouts,
            srtt: account.srtt,
            min_rtt: account.min_rtt,
            cwnd_bytes: account.cwnd_bytes,
            ..Self::default()
        }
    }

    fn goodput(&self) -> Option<f64> {
        let took = self.last_sent?.since(self.opened?).as_nanos();
        let bits = self.bytes_delivered? as f64 * 8e9;
        (took > 0).then(|| bits / took as f64)
    }
}

/// A row of [`CONNECTIONS`]: indices into the lists of flows, ends and hosts, and what the end found.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionRow {
    /// The flow.
    pub flow: u32,
    /// Which end.
    pub end: u32,
    /// Where it is.
    pub host: u32,
    /// Which subflow it is; none of a connection that has none.
    pub subflow: Option<SubflowOf>,
    /// What it found.
    pub found: ConnectionEnd,
}

/// Which subflow of its connection one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowOf {
    /// From 1 on, as this end opened or accepted them.
    pub number: u32,
    /// The addresses of this end and of the other.
    pub between: [IpAddr; 2],
    /// The connection goes on as TCP; none where that is not known.
    pub is_fallback: Option<bool>,
}

impl ConnectionRow {
    /// Of a simulated endpoint.
    pub(crate) fn new(endpoint: &Endpoint, subflow: Option<SubflowOf>, found: ConnectionEnd) -> Self {
        Self { flow: endpoint.label.flow.0, end: endpoint.end.into(), host: endpoint.node, subflow, found }
    }
}

/// A number of an end, or a time.
macro_rules! of_end {
    ($name:literal, $meaning:expr, $field:ident) => {
        ($name, $meaning, Of::OptU64(|row| row.found.$field))
    };
    ($name:literal, $meaning:expr, $field:ident in $unit:ident) => {
        ($name, $meaning, Of::OptU64(|row| row.found.$field.map($unit::as_nanos)))
    };
}

fn of_subflow(row: &ConnectionRow, end: usize) -> String {
    row.subflow.map_or_else(String::new, |subflow| subflow.between[end].to_string())
}

/// The table of connections. Its lists of names are those of flows, of ends, and of hosts.
pub static CONNECTIONS: TableOf<ConnectionRow> = TableOf {
    name: "connections",
    about: "One row per end of every TCP connection: of flows, of processes, and of programs on real hosts. A number that the end's stack does not tell has no value; of programs it is the kernel's (TCP_INFO), the last before the socket was gone.",
    columns: &[
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
            Meaning::name(
                "scenario",
                "client, which opened it, or server; of a process, accepted by or opened by it.",
            ),
            Of::Name(1, |row| row.end),
        ),
        ("host", Meaning::name("scenario", "Host of this end."), Of::Name(2, |row| row.host)),
        (
            "subflow",
            Meaning::count(
                "TCP",
                "Of Multipath TCP: which subflow, in the order in which this end opened or accepted them, from 1 on.",
            ),
            Of::OptU64(|row| row.subflow.map(|subflow| subflow.number.into())),
        ),
        (
            "address",
            Meaning::name("TCP", "Of Multipath TCP: this end's address, which selects the path; else empty."),
            Of::Text(|row| of_subflow(row, 0)),
        ),
        (
            "peer_address",
            Meaning::name("TCP", "Of Multipath TCP: the other end's address; else empty."),
            Of::Text(|row| of_subflow(row, 1)),
        ),
        (
            "fallback",
            Meaning::count(
                "TCP",
                "Of Multipath TCP: 1 if the connection went on as TCP, since options do not pass (RFC 8684 section 3.7), else 0.",
            ),
            Of::OptU64(|row| row.subflow?.is_fallback.map(u64::from)),
        ),
        of_end!(
            "opened_ns",
            Meaning::time("network", "When the client sent its first packet; of programs only."),
            opened in Time
        ),
        of_end!(
            "established_ns",
            Meaning::time("TCP", "When this end's connection is established; not told of programs."),
            established in Time
        ),
        of_end!(
            "ended_ns",
            Meaning::time("network", "When either end sent its last packet; of programs only."),
            last_sent in Time
        ),
        of_end!(
            "bytes_delivered",
            Meaning::bytes("TCP", "Data of this end that the other end's TCP has acknowledged."),
            bytes_delivered
        ),
        (
            "goodput_bps",
            Meaning::rate("TCP", "bytes_delivered over the time from opened_ns to ended_ns."),
            Of::OptF64(|row| row.found.goodput()),
        ),
        of_end!(
            "data_segments_sent",
            Meaning::count("TCP", "Segments with data, retransmissions too."),
            data_segments_sent
        ),
        of_end!(
            "retransmissions",
            Meaning::count("TCP", "Segments that were retransmitted: data, SYN or FIN."),
            retransmissions
        ),
        of_end!(
            "fast_retransmits",
            Meaning::count("TCP", "Losses seen by duplicate or selective acknowledgment."),
            fast_retransmits
        ),
        of_end!(
            "timeouts",
            Meaning::count("TCP", "Expiries of the retransmission timer; of the kernel's since Linux 6.7."),
            timeouts
        ),
        of_end!("probes", Meaning::count("TCP", "Probes of a closed window."), probes),
        of_end!(
            "duplicate_acks",
            Meaning::count("TCP", "Duplicate acknowledgments received."),
            duplicate_acks
        ),
        of_end!("srtt_ns", Meaning::time("TCP", "Smoothed round-trip time at the end."), srtt in Span),
        of_end!(
            "min_rtt_ns",
            Meaning::time("TCP", "Shortest round-trip time; of the kernel's only."),
            min_rtt in Span
        ),
        of_end!("cwnd_bytes", Meaning::bytes("TCP", "Congestion window at the end."), cwnd_bytes),
    ],
};

/// The table of what connections of processes had links carry. Its lists of names are those of [`CONNECTIONS`].
pub(crate) static WIRE: TableOf<ConnectionRow> = TableOf {
    name: "wire",
    about: "One row per end of every connection of a publisher, subscriber or broker, and of Multipath TCP per subflow: what it had its links carry, by layers. Of real hosts it is what the network saw them send.",
    columns: &[
        (
            "flow",
            Meaning::name("scenario", "Name of the process that opened it; empty of a program's."),
            Of::Name(0, |row| row.flow),
        ),
        ("end", Meaning::name("scenario", "Accepted by or opened by a process."), Of::Name(1, |row| row.end)),
        ("host", Meaning::name("scenario", "Host of this end."), Of::Name(2, |row| row.host)),
        (
            "subflow",
            Meaning::count("TCP", "Of Multipath TCP: which subflow, as in `connections`."),
            Of::OptU64(|row| row.subflow.map(|subflow| subflow.number.into())),
        ),
        of_end!("packets_sent", Meaning::count("TCP", "IP packets, of every kind."), packets_sent),
        of_end!("ip_bytes_sent", Meaning::bytes("TCP", "Bytes of these packets."), ip_bytes_sent),
        of_end!(
            "data_bytes_sent",
            Meaning::bytes("TCP", "Data in them, retransmissions too; the rest are headers of IP and TCP."),
            data_bytes_sent
        ),
    ],
};

/// The rows of an endpoint of a process, if it is a connection: one, or one for each subflow.
pub(crate) fn of_process(endpoint: &Endpoint) -> impl Iterator<Item = ConnectionRow> {
    let (own, subflows) = match &endpoint.kind {
        Kind::Tcp(tcp) => {
            let found = ConnectionEnd::counted(&endpoint.counters, tcp.connection());
            (Some(ConnectionRow::new(endpoint, None, found)), None)
        }
        Kind::Mptcp(multipath) => (None, Some(of_subflows(endpoint, multipath))),
        _ => (None, None),
    };
    own.into_iter().chain(subflows.into_iter().flatten())
}

/// A row for each subflow of an end.
pub(crate) fn of_subflows<'a>(
    endpoint: &'a Endpoint,
    multipath: &'a Multipath,
) -> impl Iterator<Item = ConnectionRow> + use<'a> {
    (1..).zip(multipath.subflows()).map(|(number, (subflow, counters))| {
        let found = ConnectionEnd::counted(counters, Some(subflow.tcp()));
        let is_fallback = Some(multipath.is_fallback());
        let between = [subflow.local.ip(), subflow.remote.ip()];
        ConnectionRow::new(endpoint, Some(SubflowOf { number, between, is_fallback }), found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: SocketAddr =
        SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1)), 40_000);
    const SERVER: SocketAddr =
        SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2)), 80);

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_connection_is_from_its_first_syn_to_the_last_packet_of_either_end() {
        let mut connections = Connections::default();
        connections.note(ms(1), CLIENT, SERVER, TcpFlags::SYN, [60, 0], true);
        // Lost, and sent again.
        connections.note(ms(1001), CLIENT, SERVER, TcpFlags::SYN, [60, 0], true);
        assert!(!connections.all()[0].is_answered);
        connections.note(ms(1011), SERVER, CLIENT, TcpFlags::SYN | TcpFlags::ACK, [60, 0], true);
        connections.note(ms(1021), CLIENT, SERVER, TcpFlags::ACK, [152, 100], true);
        connections.note(ms(1500), SERVER, CLIENT, TcpFlags::FIN | TcpFlags::ACK, [52, 0], true);
        let client = Sent { packets: 3, ip_bytes: 272, data_bytes: 100 };
        let server = Sent { packets: 2, ip_bytes: 112, data_bytes: 0 };
        assert_eq!(
            [connections.sent(CLIENT, SERVER), connections.sent(SERVER, CLIENT)],
            [Some(client), Some(server)]
        );
        let seen = Connection {
            client: CLIENT,
            server: SERVER,
            opened: ms(1),
            is_answered: true,
            last_sent: ms(1500),
            sent: [client, server],
            real: [true, true],
            subflow: None,
        };
        assert_eq!(connections.all(), [seen]);
    }

    #[test]
    fn a_subflow_joins_the_connection_whose_token_it_names_at_its_host() {
        let mut connections = Connections::default();
        let other = SocketAddr::new(core::net::Ipv4Addr::new(10, 0, 0, 9).into(), 40_000);
        let third = SocketAddr::new(core::net::Ipv4Addr::new(10, 0, 0, 10).into(), 40_000);
        connections.note(ms(1), CLIENT, SERVER, TcpFlags::SYN, [60, 0], true);
        connections.learn(7, 99, None, (SERVER, CLIENT));
        for (client, at) in [(other, 2), (third, 3)] {
            connections.note(ms(at), client, SERVER, TcpFlags::SYN, [60, 0], true);
        }
        let nobody = || None;
        assert_eq!(connections.join((8, 99), nobody, (other, SERVER)), None, "another host has that token");
        // A SYN that comes again joins once.
        for _ in 0..2 {
            let whole = connections.join((7, 99), nobody, (other, SERVER));
            assert_eq!(whole, Some(Whole::Connection(0)));
        }
        let own = Some(Part { of: Whole::Connection(0), number: 1 });
        assert_eq!(connections.all()[0].subflow, own);
        let joined = |from, to| connections.joined(from, to).collect::<Vec<_>>();
        assert_eq!(joined(CLIENT, SERVER), [([other, SERVER], 2)]);
        assert_eq!(joined(SERVER, CLIENT), [([SERVER, other], 2)]);
        assert_eq!(connections.join((7, 5), || Some(3), (third, SERVER)), Some(Whole::Flow(3)));
        assert_eq!(connections.all()[2].subflow, Some(Part { of: Whole::Flow(3), number: 2 }));
    }

    #[test]
    fn who_refuses_has_no_socket_and_what_begins_without_a_syn_is_no_connection() {
        let mut connections = Connections::default();
        connections.note(ms(1), SERVER, CLIENT, TcpFlags::ACK, [40, 0], true);
        connections.note(ms(2), SERVER, CLIENT, TcpFlags::SYN | TcpFlags::ACK, [40, 0], true);
        assert_eq!(connections.all(), []);
        connections.note(ms(3), CLIENT, SERVER, TcpFlags::SYN, [40, 0], true);
        connections.note(ms(4), SERVER, CLIENT, TcpFlags::RST | TcpFlags::ACK, [40, 0], true);
        assert_eq!((connections.all().len(), connections.all()[0].is_answered), (1, false));
    }
}
