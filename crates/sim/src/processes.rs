//! Processes on simulated hosts, and their sockets.

use crate::address::{Address, FourTuple, Label};
use crate::endpoint::{self, Kind, Socket, Tcp, Udp};
use crate::multipath::{self, Multipath};
use crate::network::Network;
use crate::outside::OutsideProcess;
use crate::owner::Owner;
use crate::plan::{MptcpEnd, MptcpEnds};
use crate::sockets::{Bound, Listener, Port, SocketTable};
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use voxpath_apps::ProcessMachine;
use voxpath_apps::Stream;
use voxpath_apps::process::{Event, ListenerId, Process, SocketId, Sockets};
use voxpath_net::{FlowId, Seed, Target};
use voxpath_tcp::Config;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::Seq;

/// A process, and what it has to hear of.
#[derive(Debug)]
pub(crate) struct Running {
    /// None while it is driven, and where it runs on a real host.
    pub(crate) machine: Option<ProcessMachine>,
    /// It runs, or is to run, on a real host.
    pub(crate) is_outside: bool,
    pub(crate) name: String,
    pub(crate) node: u32,
    pub(crate) stacks: Stacks,
    pub(crate) seed: Seed,
    pub(crate) target: Target,
    /// From what happens at a socket until it runs.
    pub(crate) wake: Span,
    /// The earliest wake-up that the event queue holds for it.
    pub(crate) armed: Option<Time>,
    /// Whether the world waits for it.
    pub(crate) busy: bool,
    /// Whether it does something of its own ([`Process::work`]), also while it is driven.
    pub(crate) works: bool,
    pub(crate) events: VecDeque<Event>,
    /// Sockets that it has used, whose packets have to leave.
    pub(crate) touched: BTreeSet<u32>,
    /// Connections that it had so far.
    pub(crate) connections: u32,
}

/// Which end of a conversation a process's socket is, behind the two of a flow: it accepted it, or it opened it.
pub(crate) const fn end_of(process: u32, has_opened: bool) -> u16 {
    2 + 2 * process as u16 + has_opened as u16
}

impl Running {
    pub(crate) fn new(
        machine: ProcessMachine,
        name: String,
        node: u32,
        stacks: Stacks,
        seed: Seed,
        target: Target,
        wake: Span,
    ) -> Self {
        Self {
            works: machine.work().is_some(),
            machine: Some(machine),
            is_outside: false,
            name,
            node,
            stacks,
            seed,
            target,
            wake,
            armed: None,
            busy: false,
            events: VecDeque::new(),
            touched: BTreeSet::new(),
            connections: 0,
        }
    }

    /// Has it run on a real host.
    pub(crate) const fn move_outside(&mut self) {
        self.is_outside = true;
    }

    /// The process that is to run on a real host, if it is and was not handed out yet.
    pub(crate) fn take_outside(
        &mut self,
        index: u32,
        is_ipv4: bool,
        turns: Vec<(Time, bool)>,
    ) -> Option<(OutsideProcess, ProcessMachine)> {
        let machine = self.machine.take_if(|_| self.is_outside)?;
        let (name, Stacks { tcp, mptcp }) = (self.name.clone(), self.stacks.clone());
        let is_multipath = mptcp.is_some();
        let own = |end: &Arc<MptcpEnd>| end.tcp.clone();
        let tcp = mptcp.map_or([tcp.clone(), tcp], |ends| [own(&ends.client), own(&ends.server)]);
        Some((OutsideProcess { index, name, host: self.node, is_ipv4, tcp, is_multipath, turns }, machine))
    }

    pub(crate) const fn node(&self) -> u32 {
        self.node
    }

    pub(crate) fn tell(&mut self, event: Event) {
        if self.events.back() != Some(&event) {
            self.events.push_back(event);
        }
    }

    /// A new connection of it: one that it opens, or one that a listener of it is to accept, on a host with these addresses.
    pub(crate) fn connection(
        &mut self,
        accepted_at: Option<u32>,
        process: u32,
        addresses: &[Address],
    ) -> Kind {
        self.connections += 1;
        let name = format!("process {} {}", self.name, self.connections);
        let owner = Owner::Process { process, accepted_at };
        if let Some(MptcpEnds { client, server }) = &self.stacks.mptcp {
            let planned = if accepted_at.is_some() { server } else { client };
            let addresses = addresses.iter().map(|address| (address.ip, address.is_up));
            return Kind::Mptcp(Box::new(Multipath::new(planned, owner, addresses, name, self.seed)));
        }
        let iss = Seq(self.seed.stream(&format!("{name} iss")).bits() as u32);
        Kind::Tcp(Box::new(Tcp { socket: Socket::Idle { config: self.stacks.tcp.clone(), iss }, owner }))
    }
}

/// The stacks that the connections of a process have.
#[derive(Debug, Clone)]
pub(crate) struct Stacks {
    pub(crate) tcp: Arc<Config>,
    /// Over Multipath TCP, of those that it opens and accepts.
    pub(crate) mptcp: Option<MptcpEnds>,
}

/// The sockets of a process on a simulated host.
pub(crate) struct ProcessSockets<'a> {
    pub(crate) network: &'a mut Network,
    pub(crate) table: &'a mut SocketTable,
    pub(crate) running: &'a mut Running,
    pub(crate) process: u32,
}

impl ProcessSockets<'_> {
    /// The address by which the process's host reaches another.
    fn towards(&self, to: SocketAddr) -> Option<FourTuple> {
        let (local, remote) = self.network.between(self.running.node, to.ip())?;
        Some(FourTuple { local: (local, 0), remote: (remote, to.port()) })
    }

    /// The flow that a socket belongs to which is opened because of another.
    fn flow_of(&self, other: Option<SocketId>) -> FlowId {
        let label = |SocketId(other)| self.table.endpoints[other as usize].label;
        let own = if self.running.works { self.table.flow_of(self.process) } else { self.table.no_flow() };
        other.map_or(own, |other| label(other).flow)
    }

    fn udp(&mut self, socket: SocketId) -> &mut Udp {
        match &mut self.table.endpoints[socket.0 as usize].kind {
            Kind::Datagram(udp) => udp,
            _ => unreachable!("a process sends datagrams from its UDP sockets"),
        }
    }
}

impl Sockets for ProcessSockets<'_> {
    fn poll_event(&mut self) -> Option<Event> {
        self.running.events.pop_front()
    }

    fn listen(&mut self, port: u16) -> ListenerId {
        let listener = self.table.listeners.len() as u32;
        let id = ListenerId(listener);
        self.table.listeners.push(Listener { process: self.process, id });
        let port = Port { node: self.running.node, is_udp: false, number: port };
        self.table.bind(port, Bound::Listener(listener));
        id
    }

    fn connect(&mut self, to: SocketAddr, on_behalf_of: Option<SocketId>) -> SocketId {
        let own = self.network.nodes[self.running.node as usize].addresses.clone();
        let addresses = &self.network.addresses[own.start as usize..own.end as usize];
        let kind = self.running.connection(None, self.process, addresses);
        let mut tuple = self.towards(to).expect("a plan was checked for its addresses");
        tuple.local.1 = self.table.free_port(self.running.node);
        let flow = self.flow_of(on_behalf_of);
        let end = end_of(self.process, true);
        let (node, works) = (self.running.node, self.running.works);
        let label = Label::of(flow, tuple);
        let index = self.table.add(label, end, node, kind, works);
        self.table.name(index);
        match &mut self.table.endpoints[index as usize].kind {
            Kind::Tcp(tcp) => tcp.open(None),
            Kind::Mptcp(multipath) => multipath.open(&label, &self.network.addresses, None),
            _ => unreachable!("what a process opens is a connection"),
        }
        self.running.touched.insert(index);
        SocketId(index)
    }

    fn stream(&mut self, socket: SocketId) -> impl Stream {
        self.running.touched.insert(socket.0);
        match &mut self.table.endpoints[socket.0 as usize].kind {
            Kind::Tcp(tcp) => ProcessStream::Tcp(tcp.stream()),
            Kind::Mptcp(multipath) => ProcessStream::Mptcp(multipath.stream()),
            _ => unreachable!("a process reads and writes its connections"),
        }
    }

    fn has_ended(&self, socket: SocketId) -> bool {
        self.table.endpoints[socket.0 as usize].kind.has_ended()
    }

    fn bind(&mut self, port: Option<u16>, on_behalf_of: Option<SocketId>) -> SocketId {
        let node = self.running.node;
        let number = port.unwrap_or_else(|| self.table.free_port(node));
        let flow = self.flow_of(on_behalf_of);
        let end = end_of(self.process, port.is_none());
        let kind = Kind::Datagram(Box::new(Udp::new(self.process)));
        let index = self.table.add(
            Label::waiting(flow, self.network.first_address(node), number),
            end,
            node,
            kind,
            false,
        );
        self.table.bind(Port { node, is_udp: true, number }, Bound::Endpoint(index));
        SocketId(index)
    }

    fn send_to(&mut self, socket: SocketId, to: SocketAddr, data: Payload) {
        // Where nobody can be reached, a datagram is lost.
        let Some(tuple) = self.towards(to) else { return };
        let udp = self.udp(socket);
        udp.outbox.push((tuple, data));
        self.running.touched.insert(socket.0);
    }

    fn receive_from(&mut self, socket: SocketId) -> Option<(SocketAddr, Payload)> {
        let (from, port, data) = self.udp(socket).inbox.pop_front()?;
        Some((SocketAddr::new(self.network.addresses[from.0 as usize].ip, port), data))
    }

    fn release(&mut self, socket: SocketId) {
        // A process that needs a moment to wake up may not have heard yet of what happened there.
        self.running.events.retain(|event| event.socket() != socket);
        match &mut self.table.endpoints[socket.0 as usize].kind {
            Kind::Tcp(tcp) => tcp.give_back(),
            Kind::Mptcp(multipath) => multipath.give_back(),
            _ => return self.table.remove(socket.0),
        }
        self.running.touched.insert(socket.0);
    }
}

/// A connection of a process.
enum ProcessStream<'a> {
    Tcp(endpoint::Simulated<'a>),
    Mptcp(multipath::Simulated<'a>),
}

/// Has whichever it is answer.
macro_rules! whichever {
    ($self:ident, $stream:ident => $answer:expr) => {
        match $self {
            Self::Tcp($stream) => $answer,
            Self::Mptcp($stream) => $answer,
        }
    };
}

impl Stream for ProcessStream<'_> {
    fn is_connected(&self) -> bool {
        whichever!(self, stream => stream.is_connected())
    }

    fn writable(&self) -> u32 {
        whichever!(self, stream => stream.writable())
    }

    fn write(&mut self, data: &Payload) -> u32 {
        whichever!(self, stream => stream.write(data))
    }

    fn read(&mut self, max: u32) -> Payload {
        whichever!(self, stream => stream.read(max))
    }

    fn is_at_end(&self) -> bool {
        whichever!(self, stream => stream.is_at_end())
    }

    fn close(&mut self) {
        whichever!(self, stream => stream.close());
    }
}
