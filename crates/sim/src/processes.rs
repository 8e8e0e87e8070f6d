//! Processes on simulated hosts, and their sockets.

use crate::endpoint::{Kind, Label, Owner, Simulated, Socket, Tcp, Udp};
use crate::network::Network;
use crate::outside::OutsideProcess;
use crate::sockets::{Bound, FourTuple, Port, SocketTable};
use crate::world::World;
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::net::SocketAddr;
use voxpath_apps::Stream;
use voxpath_apps::process::{Event, ListenerId, Process, ProcessMachine, SocketId, Sockets};
use voxpath_net::packet::Packet;
use voxpath_net::{FlowId, Seed, Target};
use voxpath_tcp::{Config, Connection};
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{Seq, TcpFlags};

/// A process, and what it has to hear of.
#[derive(Debug)]
pub(crate) struct Running {
    /// None while it is driven, and where it runs on a real host.
    machine: Option<ProcessMachine>,
    /// It runs, or is to run, on a real host.
    is_outside: bool,
    name: String,
    node: u32,
    config: Arc<Config>,
    seed: Seed,
    target: Target,
    /// The earliest wake-up that the event queue holds for it.
    armed: Option<Time>,
    /// Whether the world waits for it.
    busy: bool,
    events: VecDeque<Event>,
    /// Sockets that it has used, whose packets have to leave.
    touched: BTreeSet<u32>,
    /// Connections that it had so far.
    connections: u32,
}

/// A listener of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener {
    process: u32,
    id: ListenerId,
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
    pub(crate) fn take_outside(&mut self, is_ipv4: bool) -> Option<(OutsideProcess, ProcessMachine)> {
        let machine = self.machine.take_if(|_| self.is_outside)?;
        let (name, tcp) = (self.name.clone(), self.config.clone());
        Some((OutsideProcess { name, host: self.node, is_ipv4, tcp }, machine))
    }

    pub(crate) const fn node(&self) -> u32 {
        self.node
    }

    fn tell(&mut self, event: Event) {
        if self.events.back() != Some(&event) {
            self.events.push_back(event);
        }
    }

    /// What a new connection of it needs: the stack of its host, and the number from which it counts.
    fn stack(&mut self) -> (Arc<Config>, Seq) {
        self.connections += 1;
        let stream = format!("process {} {} iss", self.name, self.connections);
        (self.config.clone(), Seq(self.seed.stream(&stream).bits() as u32))
    }
}

impl World {
    /// Has every process open what has to be there when the run starts.
    pub(crate) fn start_processes(&mut self) {
        for process in 0..self.processes.len() as u32 {
            if self.processes[process as usize].is_outside {
                continue;
            }
            self.with_process(Time::ZERO, process, |machine, sockets| {
                machine.start(sockets);
                machine.drive(Time::ZERO, sockets);
            });
        }
    }

    /// A process's wake-up is due, unless an earlier one has replaced it.
    pub(crate) fn wake_process(&mut self, now: Time, process: u32) {
        let running = &mut self.processes[process as usize];
        if running.armed == Some(now) {
            running.armed = None;
            self.with_process(now, process, |machine, sockets| machine.drive(now, sockets));
        }
    }

    /// Something happened at a socket of a process: lets it do what it can.
    pub(crate) fn run_owner(&mut self, now: Time, index: usize, process: u32) {
        let running = &mut self.processes[process as usize];
        running.touched.insert(index as u32);
        let socket = SocketId(index as u32);
        if let Kind::Tcp(tcp) = &mut self.sockets.endpoints[index].kind
            && let is_established = tcp.is_established()
            && let Owner::Process { accepted_at: accepted_at @ Some(_), .. } = &mut tcp.owner
        {
            // A process knows of a connection once it stands.
            if is_established && let Some(listener) = accepted_at.take() {
                let Listener { id, .. } = self.sockets.listeners[listener as usize];
                running.tell(Event::Accepted { listener: id, socket });
            }
        } else {
            running.tell(Event::Ready(socket));
        }
        self.with_process(now, process, |machine, sockets| machine.drive(now, sockets));
    }

    fn with_process(
        &mut self,
        now: Time,
        process: u32,
        act: impl FnOnce(&mut ProcessMachine, &mut ProcessSockets<'_>),
    ) {
        let running = &mut self.processes[process as usize];
        let Some(mut machine) = running.machine.take() else {
            unreachable!("a process is driven by its own sockets one after the other");
        };
        let (network, table) = (&mut self.network, &mut self.sockets);
        act(&mut machine, &mut ProcessSockets { network, table, running, process });
        let (next, busy) = (machine.poll_timeout(), machine.is_busy());
        running.machine = Some(machine);
        self.busy = self.busy + usize::from(busy) - usize::from(running.busy);
        running.busy = busy;
        if let Some(at) = next
            && running.armed.is_none_or(|armed| at < armed)
        {
            let at = at.max(self.network.events.now());
            running.armed = Some(at);
            self.network.events.push(at, running.target);
        }
        while let Some(endpoint) = self.processes[process as usize].touched.pop_first() {
            self.flush(now, endpoint as usize);
        }
    }

    /// A packet that no socket expects in particular: the one that waits at its port, or a new one of who listens there.
    pub(crate) fn claim(&mut self, node: u32, packet: &Packet) -> Option<usize> {
        let tuple = FourTuple::of(packet)?;
        let port = Port { node, is_udp: packet.is_udp(), number: tuple.local.1 };
        let opens = packet.tcp().is_none_or(|header| {
            header.flags.contains(TcpFlags::SYN) && !header.flags.intersects(TcpFlags::ACK | TcpFlags::RST)
        });
        match self.sockets.bound(port, packet.flow)? {
            Bound::Endpoint(endpoint) => {
                if !matches!(self.sockets.endpoints[endpoint as usize].kind, Kind::Datagram(_)) {
                    if !opens {
                        return None;
                    }
                    self.sockets.settle(endpoint, port, tuple);
                }
                Some(endpoint as usize)
            }
            Bound::Listener(_) if !opens => None,
            Bound::Listener(listener) => {
                let Listener { process, .. } = self.sockets.listeners[listener as usize];
                let (config, iss) = self.processes[process as usize].stack();
                let owner = Owner::Process { process, accepted_at: Some(listener) };
                let kind = Kind::Tcp(Box::new(Tcp { socket: Socket::Idle { config, iss }, owner }));
                // The label of who opens is carried on.
                let label = Label::of(packet.flow, tuple);
                Some(self.sockets.add(label, end_of(process, false), node, kind) as usize)
            }
        }
    }
}

/// The sockets of a process on a simulated host.
struct ProcessSockets<'a> {
    network: &'a mut Network,
    table: &'a mut SocketTable,
    running: &'a mut Running,
    process: u32,
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
        other.map_or(self.table.no_flow(), |other| label(other).flow)
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
        let index = self.table.add(Label::of(flow, tuple), end, self.running.node, kind);
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
        let index =
            self.table.add(Label::waiting(flow, self.network.first_address(node), number), end, node, kind);
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
