//! One end of a conversation: a socket, who drives it, and when they have to be woken.

use crate::address::{Address, FourTuple, Label};
use crate::multipath::Multipath;
use crate::outside::{Account, Outside};
use crate::owner::{Counters, Owner};
use crate::sinks::Watched;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use voxpath_apps::{DatagramApplication, DatagramMachine, Datagrams, Machine, Record, Stream, StreamMachine};
use voxpath_net::{AddressId, Ecn, Target};
use voxpath_tcp::{Config, Connection, Ended, State};
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::icmp::Quote;
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};

/// One end of a conversation.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) label: Label,
    /// 0 opens the flow, 1 answers; behind them those of processes (see [`end_of`](crate::processes::end_of)).
    pub(crate) end: u16,
    pub(crate) node: u32,
    pub(crate) target: Target,
    pub(crate) kind: Kind,
    /// Whether the world waits for it; see [`Kind::is_busy`].
    pub(crate) busy: bool,
    /// Whether it is of a process that does something of its own.
    pub(crate) works: bool,
    /// Whether the world waits until what it sent is acknowledged.
    pub(crate) awaited: bool,
    pub(crate) counters: Counters,
    /// The earliest wake-up that the event queue holds for this endpoint.
    pub(crate) armed: Option<Time>,
    /// What the connection's series had last, one value of each, while it is watched.
    pub(crate) watched: Option<Box<Watched>>,
}

impl Endpoint {
    /// Makes the endpoint one that runs on a real host.
    pub(crate) fn move_outside(&mut self, start: Time, stop: Option<Time>, addresses: &[Address]) {
        let Label { flow, local, remote, local_port, remote_port, .. } = self.label;
        let address = |id: AddressId, port| SocketAddr::new(addresses[id.0 as usize].ip, port);
        let is_multipath = matches!(self.kind, Kind::Mptcp(_));
        let (tcp, machine) = match core::mem::replace(&mut self.kind, Kind::Outside(None)) {
            Kind::Tcp(tcp) => match tcp.socket {
                Socket::Idle { config, .. } => (Some(config), Machine::Stream(tcp.owner.application())),
                Socket::Open(_) => unreachable!("an endpoint moves before it starts"),
            },
            Kind::Udp(application) => (None, Machine::Datagrams(application)),
            Kind::Mptcp(multipath) => {
                (Some(multipath.tcp().clone()), Machine::Stream(multipath.owner.application()))
            }
            Kind::Outside(_) | Kind::Datagram(_) | Kind::Vacant => {
                unreachable!("an end of a flow moves, and once")
            }
        };
        self.busy = false;
        self.kind = Kind::Outside(Some(Box::new(Outside {
            flow: flow.0,
            end: self.end as u8,
            host: self.node,
            local: address(local, local_port),
            remote: self.label.has_peer().then(|| address(remote, remote_port)),
            start,
            stop,
            tcp,
            is_multipath,
            machine,
            account: Account::default(),
        })));
    }

    /// Has the end that opened its flow begin nothing more, and close.
    pub(crate) fn stop(&mut self) {
        match &mut self.kind {
            Kind::Tcp(tcp) => tcp.stop(),
            Kind::Mptcp(multipath) => multipath.stop(),
            Kind::Udp(application) => application.stop(),
            // A real host is told by its own clock.
            Kind::Outside(_) | Kind::Datagram(_) | Kind::Vacant => {}
        }
    }

    /// Whether it sent what an error quotes.
    pub(crate) fn sent(&self, quote: &Quote, addresses: &[Address]) -> bool {
        match &self.kind {
            Kind::Mptcp(multipath) => {
                multipath.labels().iter().any(|label| label.is_quoted(quote, addresses))
            }
            _ => self.label.is_quoted(quote, addresses),
        }
    }

    /// Whether nobody will ask for it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.kind.owner().is_some_and(|owner| matches!(owner, Owner::Nobody)) && self.kind.has_ended()
    }

    /// When it wants to be woken.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.poll_timeout(),
            Kind::Mptcp(multipath) => multipath.poll_timeout(),
            Kind::Udp(application) => application.poll_timeout(),
            Kind::Outside(_) | Kind::Datagram(_) | Kind::Vacant => None,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Kind {
    Tcp(Box<Tcp>),
    Mptcp(Box<Multipath>),
    Udp(DatagramApplication),
    /// A UDP socket of a process.
    Datagram(Box<Udp>),
    /// Runs on a real host; none while it does.
    Outside(Option<Box<Outside>>),
    /// What was here is gone.
    Vacant,
}

impl Kind {
    /// Whether something is left to do here that the run has to wait for.
    pub(crate) fn is_busy(&self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.ended().is_none(),
            Self::Mptcp(multipath) => multipath.ended().is_none(),
            Self::Udp(application) => application.poll_timeout().is_some(),
            Self::Outside(_) | Self::Datagram(_) | Self::Vacant => false,
        }
    }
}

impl Kind {
    /// Whether datagrams come to it, not segments.
    pub(crate) const fn is_udp(&self) -> bool {
        matches!(self, Self::Udp(_) | Self::Datagram(_))
    }

    /// Who drives the connection; none of what is none.
    pub(crate) fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Tcp(tcp) => Some(&tcp.owner),
            Self::Mptcp(multipath) => Some(&multipath.owner),
            _ => None,
        }
    }

    /// The same, to change it.
    pub(crate) fn owner_mut(&mut self) -> Option<&mut Owner> {
        match self {
            Self::Tcp(tcp) => Some(&mut tcp.owner),
            Self::Mptcp(multipath) => Some(&mut multipath.owner),
            _ => None,
        }
    }

    /// Whether the connection stands.
    pub(crate) fn is_established(&self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.is_established(),
            Self::Mptcp(multipath) => multipath.is_established(),
            _ => false,
        }
    }

    /// Whether the connection is over.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.ended().is_some(),
            Self::Mptcp(multipath) => multipath.ended().is_some(),
            _ => false,
        }
    }

    /// Whether the connection has data, or the handshake, that is not acknowledged.
    pub(crate) fn is_outstanding(&self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.is_outstanding(),
            Self::Mptcp(multipath) => multipath.is_outstanding(),
            _ => false,
        }
    }

    /// The process that has the connection was killed.
    pub(crate) fn abandon(&mut self) {
        match self {
            Self::Tcp(tcp) => tcp.abandon(),
            Self::Mptcp(multipath) => multipath.abandon(),
            _ => {}
        }
    }

    /// Bytes that the application's record holds.
    pub(crate) fn memory(&self) -> usize {
        match self {
            Self::Tcp(tcp) => tcp.owner.record().map_or(0, Record::memory),
            Self::Mptcp(multipath) => multipath.owner.record().map_or(0, Record::memory),
            Self::Udp(application) => application.memory(),
            Self::Datagram(udp) => udp.memory(),
            Self::Outside(_) | Self::Vacant => 0,
        }
    }
}

/// A TCP socket and who drives it.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) socket: Socket,
    pub(crate) owner: Owner,
}

/// A UDP socket of a process.
#[derive(Debug)]
pub(crate) struct Udp {
    pub(crate) process: u32,
    /// What has come and was not taken: from where, and what.
    pub(crate) inbox: VecDeque<(AddressId, u16, Payload)>,
    /// What is to leave.
    pub(crate) outbox: Vec<(FourTuple, Payload)>,
}

impl Udp {
    pub(crate) const fn new(process: u32) -> Self {
        Self { process, inbox: VecDeque::new(), outbox: Vec::new() }
    }

    fn memory(&self) -> usize {
        self.inbox.capacity() * size_of::<(AddressId, u16, Payload)>()
    }
}

/// Large when open, and open most of the time; [`Kind`] boxes it as a whole.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub(crate) enum Socket {
    /// Not open yet: an active end before its start, a passive one in LISTEN.
    Idle {
        config: Arc<Config>,
        iss: Seq,
    },
    Open(Connection),
}

impl Tcp {
    pub(crate) fn connection(&self) -> Option<&Connection> {
        match &self.socket {
            Socket::Idle { .. } => None,
            Socket::Open(connection) => Some(connection),
        }
    }

    /// Opens the socket: actively without a SYN, else in answer to it.
    pub(crate) fn open(&mut self, syn: Option<&TcpHeader>) {
        if let Socket::Idle { config, iss } = &self.socket {
            let (config, iss) = (config.clone(), *iss);
            self.socket = Socket::Open(match syn {
                None => Connection::connect(config, iss),
                Some(syn) => Connection::accept(config, iss, syn),
            });
        }
    }

    fn stop(&mut self) {
        if let Owner::Application(application) = &mut self.owner {
            application.stop();
        }
        if let Socket::Open(connection) = &mut self.socket
            && !connection.is_synchronised()
        {
            // The application is not shown its socket before it stands.
            connection.close();
        }
    }

    /// Takes a segment in, on which the network left `ecn`.
    pub(crate) fn receive(&mut self, now: Time, header: &TcpHeader, payload: &Payload, ecn: Ecn) {
        match &mut self.socket {
            Socket::Idle { .. } => {
                // LISTEN (RFC 9293 section 3.10.7.2). What else arrives before the SYN is old.
                if header.flags.contains(TcpFlags::SYN)
                    && !header.flags.intersects(TcpFlags::ACK | TcpFlags::RST)
                {
                    self.open(Some(header));
                }
            }
            Socket::Open(connection) => {
                if ecn == Ecn::Ce {
                    connection.congestion_experienced();
                }
                connection.handle_segment(now, header, payload);
            }
        }
    }

    /// A link takes no more than `largest` bytes of the segment that begins at `seq`; whether there is something to do.
    pub(crate) fn handle_too_big(&mut self, largest: u32, seq: Seq) -> bool {
        match &mut self.socket {
            Socket::Idle { .. } => false,
            Socket::Open(connection) => connection.handle_too_big(largest, seq),
        }
    }

    /// The connection as a process sees it.
    pub(crate) fn stream(&mut self) -> Simulated<'_> {
        match &mut self.socket {
            Socket::Open(connection) => Simulated(connection),
            Socket::Idle { .. } => unreachable!("a process knows of a connection once it stands"),
        }
    }

    /// Lets the application do what it can, and says when it or the connection has to be woken.
    pub(crate) fn drive(&mut self, now: Time) {
        if let Socket::Open(connection) = &mut self.socket {
            connection.handle_timeout(now);
            if let Owner::Application(application) = &mut self.owner {
                application.drive(now, &mut Simulated(connection));
            }
        }
    }

    /// The process that has it was killed.
    pub(crate) fn abandon(&mut self) {
        self.owner = Owner::Nobody;
        if let Socket::Open(connection) = &mut self.socket {
            connection.abort();
        }
    }

    /// The process that has it wants it no more: what it closed goes on to its end, all else is reset.
    pub(crate) fn give_back(&mut self) {
        self.owner = Owner::Nobody;
        if let Socket::Open(connection) = &mut self.socket
            && !connection.is_closing()
        {
            connection.abort();
        }
    }

    /// The next segment to send.
    pub(crate) fn transmit(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        match &mut self.socket {
            Socket::Idle { .. } => None,
            Socket::Open(connection) => connection.poll_transmit(now),
        }
    }

    /// Whether the network may mark the segment that was given out last.
    pub(crate) fn ecn(&self) -> Ecn {
        match self.connection() {
            Some(connection) if connection.is_ecn_capable() => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let connection = self.connection()?;
        let app = match &self.owner {
            Owner::Application(application) if connection.ended().is_none() => application.poll_timeout(),
            _ => None,
        };
        Time::earliest([connection.poll_timeout(), app])
    }

    pub(crate) fn is_established(&self) -> bool {
        self.connection().is_some_and(is_established)
    }

    pub(crate) fn ended(&self) -> Option<Ended> {
        self.connection().and_then(Connection::ended)
    }

    /// Whether it has data, or the handshake, that is not acknowledged.
    pub(crate) fn is_outstanding(&self) -> bool {
        self.connection()
            .is_some_and(|connection| connection.ended().is_none() && connection.is_outstanding())
    }
}

/// Whether the handshake succeeded and the connection still stands. A connection that was refused is past its
/// handshake too.
fn is_established(connection: &Connection) -> bool {
    connection.is_synchronised() && connection.state() != State::Closed
}

/// A simulated connection as applications see it.
pub(crate) struct Simulated<'a>(pub(crate) &'a mut Connection);

impl Stream for Simulated<'_> {
    fn is_connected(&self) -> bool {
        is_established(self.0)
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

/// A UDP socket as applications see it: what has come, and what they send.
#[derive(Debug, Default)]
pub(crate) struct Datagram {
    pub(crate) inbox: Option<(Payload, Ecn)>,
    pub(crate) outbox: Vec<(Payload, Ecn)>,
}

impl Datagrams for Datagram {
    fn send_marked(&mut self, data: Payload, ecn: Ecn) {
        self.outbox.push((data, ecn));
    }

    fn receive_marked(&mut self) -> Option<(Payload, Ecn)> {
        self.inbox.take()
    }
}
