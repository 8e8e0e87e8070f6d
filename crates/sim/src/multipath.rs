//! One end of a flow over Multipath TCP: a connection, its subflows' addresses and ports, and the application that drives it.

use crate::address::{Address, FourTuple, Label};
use crate::outside;
use crate::owner::{Counters, Owner};
use crate::plan::MptcpEnd;
use crate::sinks::Watched;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use voxpath_apps::{Stream, StreamMachine};
use voxpath_mptcp::{Connection, Key, LocalAddress, Opening, Setup, Subflow, SubflowId, joins};
use voxpath_net::packet::Packet;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_net::{Ecn, Seed};
use voxpath_tcp::{Config as TcpConfig, Ended, Metrics};
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};

/// One end of a flow over Multipath TCP.
#[derive(Debug)]
pub(crate) struct Multipath {
    /// None before its start, or before the SYN.
    connection: Option<Box<Connection>>,
    pub(crate) owner: Owner,
    /// What the packets of each subflow are addressed with.
    labels: Vec<Label>,
    /// Packets of each subflow, and since when it stands.
    counters: Vec<Counters>,
    /// What was last recorded of each subflow, while they are watched.
    watched: Vec<Watched>,
    planned: Arc<MptcpEnd>,
    addresses: Vec<LocalAddress>,
    key: Key,
    /// What its random numbers are named after.
    name: String,
    seed: Seed,
}

impl Multipath {
    /// The end that is called `name` where it draws, on a host with these addresses, of which it has those that are up.
    pub(crate) fn new(
        planned: &Arc<MptcpEnd>,
        owner: Owner,
        addresses: impl Iterator<Item = (IpAddr, bool)>,
        name: String,
        seed: Seed,
    ) -> Self {
        let local = |(i, (ip, is_up))| LocalAddress { ip, backup: planned.backups.contains(&i), is_up };
        let addresses = (0..).zip(addresses).map(local).collect();
        let key = Key(seed.stream(&format!("{name} key")).bits());
        Self {
            connection: None,
            owner,
            labels: Vec::new(),
            counters: Vec::new(),
            watched: Vec::new(),
            planned: planned.clone(),
            addresses,
            key,
            name,
            seed,
        }
    }

    /// The stack of its subflows.
    pub(crate) fn tcp(&self) -> &Arc<TcpConfig> {
        &self.planned.tcp
    }

    /// How SYNs that join call its connection.
    pub(crate) fn token(&self) -> u32 {
        self.key.token()
    }

    /// Takes another key: a host has another connection with the same token.
    pub(crate) fn change_key(&mut self) {
        self.key = Key(self.key.0.wrapping_add(1));
    }

    fn iss(&self, subflow: usize) -> Seq {
        // That of the first is named as TCP's.
        let place = if subflow == 0 { String::new() } else { format!(" {}", subflow + 1) };
        Seq(self.seed.stream(&format!("{}{place} iss", self.name)).bits() as u32)
    }

    fn nonce(&self, subflow: usize) -> u32 {
        self.seed.stream(&format!("{} {} nonce", self.name, subflow + 1)).bits() as u32
    }

    /// Opens the connection between the ends of `label`: actively without a SYN, else in answer to it.
    pub(crate) fn open(&mut self, label: &Label, addresses: &[Address], syn: Option<&TcpHeader>) {
        if self.connection.is_some() {
            return;
        }
        let setup = Setup {
            config: self.planned.mptcp.clone(),
            tcp: self.planned.tcp.clone(),
            ends: ends_of(label, addresses),
            addresses: &self.addresses,
            key: self.key,
            iss: self.iss(0),
        };
        self.connection = Some(Box::new(match syn {
            None => Connection::connect(&setup),
            Some(syn) => Connection::accept(&setup, syn),
        }));
        self.add_label(*label);
    }

    /// Its host gets an address, or loses it.
    pub(crate) fn set_address(&mut self, ip: IpAddr, is_up: bool) {
        for address in self.addresses.iter_mut().filter(|address| address.ip == ip) {
            address.is_up = is_up;
        }
        if let Some(connection) = &mut self.connection {
            connection.set_address(ip, is_up);
        }
    }

    fn add_label(&mut self, label: Label) {
        self.labels.push(label);
        self.counters.push(Counters::default());
    }

    /// Which subflow a packet is for.
    pub(crate) fn subflow_of(&self, packet: &Packet) -> Option<SubflowId> {
        self.labels.iter().position(|label| label.accepts(packet))
    }

    /// Takes a packet in that is for `label`, the end of its first subflow, for a further one, or that opens one; the four-tuple of a
    /// subflow that it opened. None as the answer: it is refused.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        label: &Label,
        addresses: &[Address],
        packet: &Packet,
    ) -> Option<Option<FourTuple>> {
        let header = packet.tcp()?;
        let opens =
            header.flags.contains(TcpFlags::SYN) && !header.flags.intersects(TcpFlags::ACK | TcpFlags::RST);
        let known = self.subflow_of(packet);
        let subflows = self.labels.len();
        let (iss, nonce) =
            if known.is_none() && opens { (self.iss(subflows), self.nonce(subflows)) } else { (Seq(0), 0) };
        let Some(connection) = &mut self.connection else {
            if opens {
                self.open(label, addresses, Some(header));
            }
            return Some(None);
        };
        if let Some(id) = known {
            if packet.ecn == Ecn::Ce {
                connection.congestion_experienced(id);
            }
            connection.handle_segment(now, id, header, &packet.payload);
            return Some(None);
        }
        let tuple = FourTuple::of(packet)?;
        let joined = Label::of(label.flow, tuple);
        joins(header).filter(|_| opens)?;
        connection.join(ends_of(&joined, addresses), header, iss, nonce)?;
        self.add_label(joined);
        Some(Some(tuple))
    }

    /// Lets the application do what it can.
    pub(crate) fn drive(&mut self, now: Time) {
        if let Some(connection) = &mut self.connection {
            connection.handle_timeout(now);
            if let Owner::Application(application) = &mut self.owner {
                application.drive(now, &mut Simulated(connection));
            }
        }
    }

    pub(crate) fn stop(&mut self) {
        if let Owner::Application(application) = &mut self.owner {
            application.stop();
        }
        if let Some(connection) = &mut self.connection
            && !connection.is_connected()
        {
            connection.close();
        }
    }

    /// A subflow that is to be opened; it counts as opened.
    pub(crate) fn poll_open(&mut self) -> Option<Opening> {
        self.connection.as_mut()?.poll_open()
    }

    /// Opens it.
    pub(crate) fn open_subflow(&mut self, opening: &Opening, label: Label) {
        let subflows = self.labels.len();
        let (iss, nonce) = (self.iss(subflows), self.nonce(subflows));
        if let Some(connection) = &mut self.connection {
            connection.open(opening, label.local_port, iss, nonce);
            self.add_label(label);
        }
    }

    /// The next segment to send, and by which subflow.
    pub(crate) fn transmit(&mut self, now: Time) -> Option<(SubflowId, TcpHeader, Payload)> {
        self.connection.as_mut()?.poll_transmit(now)
    }

    /// What the packet of the segment that was given out last is addressed with.
    pub(crate) fn label(&self, id: SubflowId) -> Label {
        let is_ecn_capable = self.connection.as_ref().is_some_and(|it| it.is_ecn_capable(id));
        Label { ecn: if is_ecn_capable { Ecn::Ect0 } else { Ecn::NotEct }, ..self.labels[id] }
    }

    /// The last packet of a subflow had so many bytes, so many of them data.
    pub(crate) fn note_sent(&mut self, id: SubflowId, ip_bytes: u32, data_bytes: u32) {
        let counters = &mut self.counters[id];
        counters.packets_sent += 1;
        counters.ip_bytes_sent += u64::from(ip_bytes);
        counters.data_bytes_sent += u64::from(data_bytes);
    }

    /// The connection as a process sees it.
    pub(crate) fn stream(&mut self) -> Simulated<'_> {
        let connection = self.connection.as_mut();
        Simulated(connection.expect("a process knows of a connection once it stands"))
    }

    pub(crate) fn is_established(&self) -> bool {
        self.connection.as_ref().is_some_and(|it| it.is_connected() && it.ended().is_none())
    }

    /// Whether it has data, or the handshake, that is not acknowledged.
    pub(crate) fn is_outstanding(&self) -> bool {
        self.connection.as_ref().is_some_and(|it| it.ended().is_none() && it.is_outstanding())
    }

    /// The process that has it was killed.
    pub(crate) fn abandon(&mut self) {
        self.owner = Owner::Nobody;
        if let Some(connection) = &mut self.connection {
            connection.abort();
        }
    }

    /// The process that has it wants it no more: what it closed goes on to its end, all else is reset.
    pub(crate) fn give_back(&mut self) {
        self.owner = Owner::Nobody;
        if let Some(connection) = &mut self.connection
            && !connection.is_closing()
        {
            connection.abort();
        }
    }

    /// Notes since when subflows stand.
    pub(crate) fn note_established(&mut self, now: Time) {
        let Some(connection) = &self.connection else { return };
        for (Counters { established_at: since, .. }, subflow) in
            self.counters.iter_mut().zip(connection.subflows())
        {
            if since.is_none() && subflow.tcp().is_synchronised() && subflow.tcp().ended().is_none() {
                *since = Some(now);
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let connection = self.connection.as_ref()?;
        let app = match &self.owner {
            Owner::Application(application) if connection.ended().is_none() => application.poll_timeout(),
            _ => None,
        };
        Time::earliest([connection.poll_timeout(), app])
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        self.connection.as_ref()?.ended()
    }

    /// Whether the connection goes on as TCP.
    pub(crate) fn is_fallback(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.is_fallback())
    }

    /// What came of the whole connection.
    pub(crate) fn found(&self) -> Found {
        let Some(connection) = &self.connection else { return Found::default() };
        let counters = connection.counters();
        let known = outside::Multipath {
            is_fallback: connection.is_fallback(),
            bytes_acked: Some(connection.octets_acknowledged()),
            bytes_received: Some(connection.octets_received()),
            bytes_reinjected: Some(counters.octets_reinjected),
        };
        Found {
            known: Some(known),
            bytes_duplicate: Some(counters.octets_duplicate),
            penalties: Some(counters.penalties.into()),
            timeouts: Some(counters.timeouts.into()),
        }
    }

    /// Its subflows, and what was counted of each.
    pub(crate) fn subflows(&self) -> impl Iterator<Item = (&Subflow, &Counters)> {
        let subflows = self.connection.iter().flat_map(|connection| connection.subflows());
        subflows.zip(&self.counters)
    }

    /// Looks at each subflow: its number from 1 on, what was known of it, and what is now.
    pub(crate) fn watch(&mut self, mut look: impl FnMut(u16, &mut Watched, &Metrics)) {
        let subflows = self.connection.iter().flat_map(|connection| connection.subflows());
        for (place, subflow) in subflows.enumerate() {
            if self.watched.len() == place {
                self.watched.push(Watched::default());
            }
            look(place as u16 + 1, &mut self.watched[place], &subflow.tcp().metrics());
        }
    }

    /// A link takes no more than `largest` bytes of the segment of a subflow that begins at `seq`; whether there is something to do.
    pub(crate) fn handle_too_big(&mut self, label: impl Fn(&Label) -> bool, largest: u32, seq: Seq) -> bool {
        let Some(id) = self.labels.iter().position(label) else { return false };
        self.connection.as_mut().is_some_and(|connection| connection.handle_too_big(id, largest, seq))
    }

    /// The labels of its subflows.
    pub(crate) fn labels(&self) -> &[Label] {
        &self.labels
    }
}

/// What came of a connection at one of its ends; none where its stack does not say.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// What every stack tells.
    pub(crate) known: Option<outside::Multipath>,
    /// Octets of data that came again, on whichever subflow.
    bytes_duplicate: Option<u64>,
    /// Windows of subflows that were halved for holding up the others.
    penalties: Option<u64>,
    /// Expiries of the timer of the data level.
    timeouts: Option<u64>,
}

impl Found {
    /// What a kernel tells of one of its own.
    pub(crate) fn of_kernel(known: Option<outside::Multipath>) -> Self {
        Self { known, ..Self::default() }
    }
}

/// A row of [`MULTIPATH`]: indices into the lists of flows, ends and hosts, and what the end found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MultipathRow {
    pub(crate) flow: u32,
    pub(crate) end: u32,
    pub(crate) host: u32,
    pub(crate) found: Found,
}

/// The table of connections of Multipath TCP. Its lists of names are those of flows, of ends, and of hosts.
pub(crate) static MULTIPATH: TableOf<MultipathRow> = TableOf {
    name: "multipath",
    about: "One row per end of every flow over Multipath TCP: the connection that its subflows in `connections` make up. A number that the end's stack does not tell has no value; on real hosts it is the kernel's (MPTCP_INFO).",
    columns: &[
        ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.flow)),
        ("end", Meaning::name("scenario", "client, which opened it, or server."), Of::Name(1, |row| row.end)),
        ("host", Meaning::name("scenario", "Host of this end."), Of::Name(2, |row| row.host)),
        (
            "fallback",
            Meaning::count("TCP", "1 if the connection went on as TCP (RFC 8684 section 3.7), else 0."),
            Of::OptU64(|row| row.found.known.map(|known| known.is_fallback.into())),
        ),
        (
            "bytes_acked",
            Meaning::bytes("TCP", "Data of this end that the other end has acknowledged at the data level."),
            Of::OptU64(|row| row.found.known?.bytes_acked),
        ),
        (
            "bytes_received",
            Meaning::bytes("TCP", "Data that came to this end, each octet counted once, in order."),
            Of::OptU64(|row| row.found.known?.bytes_received),
        ),
        (
            "bytes_reinjected",
            Meaning::bytes("TCP", "Data of this end that it gave to a second subflow, for whatever reason."),
            Of::OptU64(|row| row.found.known?.bytes_reinjected),
        ),
        (
            "bytes_duplicate",
            Meaning::bytes("TCP", "Data that came again to this end, on whichever subflow."),
            Of::OptU64(|row| row.found.bytes_duplicate),
        ),
        (
            "penalties",
            Meaning::count("TCP", "Windows of subflows that were halved for holding up the others."),
            Of::OptU64(|row| row.found.penalties),
        ),
        (
            "timeouts",
            Meaning::count("TCP", "Expiries of the retransmission timer of the data level."),
            Of::OptU64(|row| row.found.timeouts),
        ),
    ],
};

fn ends_of(label: &Label, addresses: &[Address]) -> [SocketAddr; 2] {
    let FourTuple { local, remote } = label.tuple();
    [local, remote].map(|(id, port)| SocketAddr::new(addresses[id.0 as usize].ip, port))
}

/// A connection as applications see it.
pub(crate) struct Simulated<'a>(&'a mut Connection);

impl Stream for Simulated<'_> {
    fn is_connected(&self) -> bool {
        self.0.is_connected()
    }

    fn writable(&self) -> u32 {
        self.0.writable()
    }

    fn write(&mut self, data: &Payload) -> u32 {
        self.0.write(data)
    }

    fn read(&mut self, max: u32) -> Payload {
        self.0.read(max)
    }

    fn is_at_end(&self) -> bool {
        self.0.is_at_end()
    }

    fn close(&mut self) {
        self.0.close();
    }
}
