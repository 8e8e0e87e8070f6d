//! Processes on simulated hosts, and their sockets.

use crate::address::{FourTuple, Label};
use crate::endpoint::{Kind, Owner, Simulated, Socket, Tcp, Udp};
use crate::network::Network;
use crate::outside::OutsideProcess;
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
use voxpath_tcp::{Config, Connection};
use voxpath_units::Time;
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
    pub(crate) config: Arc<Config>,
    pub(crate) seed: Seed,
    pub(crate) target: Target,
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
        config: Arc<Config>,
        seed: Seed,
        target: Target,
    ) -> Self {
        Self {
            works: machine.work().is_some(),
            machine: Some(machine),
            is_outside: false,
            name,
            node,
            config,
            seed,
            target,
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
        let (name, tcp) = (self.name.clone(), self.config.clone());
        Some((OutsideProcess { index, name, host: self.node, is_ipv4, tcp, turns }, machine))
    }

    pub(crate) const fn node(&self) -> u32 {
        self.node
    }

    pub(crate) fn tell(&mut self, event: Event) {
        if self.events.back() != Some(&event) {
            self.events.push_back(event);
        }
    }

    /// What a new connection of it needs: the stack of its host, and the number from which it counts.
    pub(crate) fn stack(&mut self) -> (Arc<Config>, Seq) {
        self.connections += 1;
        let stream = format!("process {} {} iss", self.name, self.connections);
        (self.config.clone(), Seq(self.seed.stream(&stream).bits() as u32))
    }
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

    fn tcp(&mut self, socket: SocketId) -> &mut Tcp {
        match &mut self.table.endpoints[socket.0 as usize].kind {
            Kind::Tcp(tcp) => tcp,
            _ => unreachable!("a process reads and writes its connections"),
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
        let (config, iss) = self.running.stack();
        let mut tuple = self.towards(to).expect("a plan was checked for its addresses");
        tuple.local.1 = self.table.free_port(self.running.node);
        let flow = self.flow_of(on_behalf_of);
        let owner = Owner::Process { process: self.process, accepted_at: None };
        let kind = Kind::Tcp(Box::new(Tcp { socket: Socket::Open(Connection::connect(config, iss)), owner }));
        let end = end_of(self.process, true);
        let (node, works) = (self.running.node, self.running.works);
        let index = self.table.add(Label::of(flow, tuple), end, node, kind, works);
        self.running.touched.insert(index);
        SocketId(index)
    }

    fn stream(&mut self, socket: SocketId) -> impl Stream {
        self.running.touched.insert(socket.0);
        match &mut self.tcp(socket).socket {
            Socket::Open(connection) => Simulated(connection),
            Socket::Idle { .. } => unreachable!("a process knows of a connection once it stands"),
        }
    }

    fn has_ended(&self, socket: SocketId) -> bool {
        match &self.table.endpoints[socket.0 as usize].kind {
            Kind::Tcp(tcp) => tcp.ended().is_some(),
            _ => false,
        }
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
        if let Kind::Tcp(tcp) = &mut self.table.endpoints[socket.0 as usize].kind {
            tcp.give_back();
            self.running.touched.insert(socket.0);
        } else {
            self.table.remove(socket.0);
        }
    }
}
