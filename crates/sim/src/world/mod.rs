//! The world: a network, and endpoints at its hosts, driven by one event queue.
//!
//! An event wakes either a direction of a link, which delivers its next packet, or an endpoint, whose timer is
//! due. Everything that follows from it (forwarding, acknowledging, sending) happens at once, so a hop costs one
//! event. The same world serves real time: only the clock that says how far to advance differs.

mod processes;

use crate::address::{FourTuple, Label};
use crate::connections::ConnectionRow;
use crate::endpoint::{Datagram, Endpoint, Kind};
use crate::limits::{Limit, Limits};
use crate::network::Network;
use crate::plan::{AddressEvent, Change, FlowEvent, LinkEvent, ProcessEvent};
use crate::processes::Running;
use crate::sinks::{SERIES_METRICS, Watched};
use crate::sockets::SocketTable;
use crate::timeline::Timeline;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;
use voxpath_apps::DatagramMachine;
use voxpath_net::packet::Packet;
use voxpath_net::tap::Interest;
use voxpath_net::{Link, Tap};
use voxpath_tcp::Metrics;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::icmp::{IcmpHeader, Quote};
use voxpath_wire::ip::IpHeader;

/// A frame that has arrived at a real host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// Index of the host in the plan.
    pub host: u32,
    /// When it arrived, which is when it should be handed over.
    pub due: Time,
}

/// Everything that a run consists of.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) network: Network,
    /// What changes; its target follows those of the links.
    pub(crate) timeline: Timeline,
    /// Their targets follow that of the timeline.
    pub(crate) processes: Vec<Running>,
    /// The targets of endpoints follow those of the processes.
    pub(crate) sockets: SocketTable,
    /// Endpoints and processes that still have something to do.
    pub(crate) busy: usize,
    /// Connections that processes on real hosts had.
    pub(crate) held: Vec<ConnectionRow>,
    /// Packets that have arrived at a real host and wait to be handed over.
    pub(crate) arrived: VecDeque<(Delivery, Packet)>,
    /// Nothing happens after its end.
    pub(crate) limits: Limits,
    /// What the UDP socket that is driven receives and sends.
    datagram: Datagram,
}

impl World {
    pub(crate) fn new(
        network: Network,
        timeline: Timeline,
        processes: Vec<Running>,
        sockets: SocketTable,
        limits: Limits,
    ) -> Self {
        let busy = sockets.endpoints.iter().filter(|endpoint| endpoint.busy).count();
        Self {
            network,
            timeline,
            processes,
            sockets,
            busy,
            held: Vec::new(),
            arrived: VecDeque::new(),
            limits,
            datagram: Datagram::default(),
        }
    }

    /// Enters the start of an endpoint that opens its flow.
    pub(crate) fn start(&mut self, index: usize, at: Time) {
        self.arm(index, Some(at));
    }

    /// Processes at most `budget` events; whether the run is over, or has reached one of its limits.
    pub(crate) fn advance(&mut self, budget: u64) -> bool {
        let mut left = budget;
        loop {
            if self.is_over() {
                return true;
            }
            let Some(piece) = self.next_piece(left) else { return true };
            if piece == 0 {
                return false;
            }
            left -= piece;
            for _ in 0..piece {
                if self.is_over() {
                    return true;
                }
                self.step();
            }
        }
    }

    fn next_piece(&mut self, budget: u64) -> Option<u64> {
        let (network, sockets) = (&self.network, &self.sockets);
        // What packets, events, observations and the applications' records hold.
        let memory = || {
            let records: usize = sockets.endpoints.iter().map(|endpoint| endpoint.kind.memory()).sum();
            (network.pool.memory() + network.events.memory() + network.tap.memory() + records) as u64
        };
        self.limits.next_piece(budget, network.events.tickets_left(), memory)
    }

    /// What ended the run before its time.
    pub(crate) fn limit_reached(&mut self) -> Option<Limit> {
        let next = if self.is_idle() { None } else { self.network.events.peek_time() };
        self.limits.reached(next)
    }

    /// Processes every event until `now`, for a world whose end is somebody else's decision.
    pub(crate) fn advance_to(&mut self, now: Time) {
        while self.network.events.peek_time().is_some_and(|next| next <= now) {
            self.step();
        }
    }

    /// Processes the next event.
    fn step(&mut self) {
        let (now, ticket, target) = self.network.events.pop().expect("a run that is not over has events");
        match target.index().checked_sub(self.network.links.len()) {
            None => {
                if let Some((host, packet)) = self.network.deliver(now, ticket, target.index()) {
                    self.receive(now, host, packet);
                }
            }
            Some(0) => self.change(now),
            Some(behind) => match (behind - 1).checked_sub(self.processes.len()) {
                Some(endpoint) => self.wake(now, endpoint),
                None => self.wake_process(now, behind as u32 - 1),
            },
        }
        self.hear_own(now);
    }

    /// What nodes have told themselves reaches them.
    pub(crate) fn hear_own(&mut self, now: Time) {
        while let Some((host, packet)) = self.network.own.pop_front() {
            self.receive(now, host, packet);
        }
    }

    /// The next event of the timeline happens.
    fn change(&mut self, now: Time) {
        match self.timeline.next(&mut self.network.events) {
            Change::Link(LinkEvent { link, direction, set }) => {
                self.network.change(now, direction.of(link), &set);
            }
            Change::Route(route) => self.network.ways.set(route.node, route.to, route.link),
            Change::Address(change) => self.change_address(now, change),
            // The flow's own start begins it.
            Change::Flow(FlowEvent { runs: true, .. }) => {}
            Change::Flow(FlowEvent { flow, runs: false }) => {
                let index = 2 * flow as usize;
                self.sockets.endpoints[index].stop();
                self.run(now, index);
            }
            Change::Process(ProcessEvent { process, runs: true }) => self.start_process(now, process),
            Change::Process(ProcessEvent { process, runs: false }) => self.stop_process(now, process),
        }
    }

    /// Changes a link by hand, at a time up to which the world has been advanced.
    pub(crate) fn change_by_hand(&mut self, now: Time, event: LinkEvent) {
        self.network.change(now, event.direction.of(event.link), &event.set);
        self.timeline.note(now, Change::Link(event), &mut self.network.events);
    }

    /// A host gets an address, or loses it. Connections of Multipath TCP are told; others are not, as TCP is not.
    fn change_address(&mut self, now: Time, AddressEvent { node, address, up }: AddressEvent) {
        let id = self.network.nodes[node as usize].addresses.start + address;
        let address = &mut self.network.addresses[id as usize];
        address.is_up = up;
        let ip = address.ip;
        for index in 0..self.sockets.endpoints.len() {
            let endpoint = &mut self.sockets.endpoints[index];
            if let Kind::Mptcp(multipath) = &mut endpoint.kind
                && endpoint.node == node
            {
                multipath.set_address(ip, up);
                self.run(now, index);
            }
        }
    }

    /// The time up to which the world has run.
    pub(crate) fn now(&mut self) -> Time {
        match self.network.events.peek_time() {
            // Time is up: everything until there has happened.
            Some(next) if next > self.limits.end && !self.is_idle() => self.limits.end,
            _ => self.network.events.now(),
        }
    }

    /// When the run ended, if it ends here: [`World::now`], but no world is idle while a packet is in service,
    /// if only to be lost.
    pub(crate) fn ended(&mut self) -> Time {
        let now = self.now();
        if !self.is_idle() {
            return now;
        }
        let busy = self.network.links.iter().filter_map(Link::busy_until).max();
        busy.map_or(now, |busy| busy.clamp(now, self.limits.end))
    }

    /// Whether the run is over: nothing is left to do, nothing can happen any more, or time is up.
    fn is_over(&mut self) -> bool {
        self.is_idle() || self.network.events.peek_time().is_none_or(|next| next > self.limits.end)
    }

    /// Whether all flows are done and no packet will be delivered any more.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy == 0 && self.network.pool.is_empty() && self.network.held_by_middleboxes() == 0
    }

    /// A packet has reached its host.
    fn receive(&mut self, now: Time, host: u32, packet: Packet) {
        let icmp = packet.icmp().copied();
        let found = self.demultiplex(host, &packet, icmp);
        let node = &mut self.network.nodes[host as usize];
        let is_outside = |index: usize| matches!(self.sockets.endpoints[index].kind, Kind::Outside(_));
        if node.real && found.is_none_or(is_outside) {
            node.delivered += 1;
            self.arrived.push_back((Delivery { host, due: now }, packet));
            return;
        }
        // A stack drops what its checksum shows to be damaged before it looks for a socket.
        if packet.corrupted {
            node.discarded += 1;
            return;
        }
        let Some(index) = found else { return self.network.answer_unclaimed(now, host, &packet) };
        node.delivered += 1;
        if let Some(error) = icmp {
            return self.handle_error(now, index, error, &packet.payload);
        }
        let endpoint = &mut self.sockets.endpoints[index];
        // Where addresses and ports agree but the transport does not, nobody listens.
        match &mut endpoint.kind {
            Kind::Tcp(tcp) => {
                if let Some(header) = packet.tcp() {
                    tcp.receive(now, header, &packet.payload, packet.ecn);
                    self.run(now, index);
                }
            }
            Kind::Mptcp(multipath) => {
                let addresses = &self.network.addresses;
                match multipath.receive(now, &endpoint.label, addresses, &packet) {
                    Some(joined) => {
                        if let Some(tuple) = joined {
                            self.sockets.enter_subflow(index as u32, tuple);
                        }
                        self.run(now, index);
                    }
                    None => {
                        // A subflow that is refused.
                        self.network.nodes[host as usize].delivered -= 1;
                        self.network.answer_unclaimed(now, host, &packet);
                    }
                }
            }
            Kind::Udp(_) => {
                if packet.is_udp() {
                    self.datagram.inbox = Some((packet.payload, packet.ecn));
                    self.run(now, index);
                }
            }
            Kind::Datagram(udp) => {
                endpoint.label.flow = packet.flow;
                if let Some(from) = packet.ports() {
                    udp.inbox.push_back((packet.src, from.0, packet.payload));
                    self.run(now, index);
                }
            }
            Kind::Outside(_) | Kind::Vacant => {}
        }
    }

    /// The endpoint that a packet is for. An error is for the endpoint that it quotes; what is damaged opens nothing.
    fn demultiplex(&mut self, host: u32, packet: &Packet, icmp: Option<IcmpHeader>) -> Option<usize> {
        if icmp.is_some_and(|header| header.is_error()) {
            let quote = quote_of(&packet.payload)?;
            return self.sockets.quoted(packet.flow, &quote, &self.network.addresses);
        }
        match self.sockets.find(packet) {
            None if !packet.corrupted => self.claim(host, packet),
            found => found,
        }
    }

    /// A node could not pass on, or not deliver, what an endpoint sent. Only that a packet was too big is acted upon: the
    /// others may pass (RFC 1122 section 4.2.3.9 calls them soft), and datagrams are not repeated.
    fn handle_error(&mut self, now: Time, index: usize, error: IcmpHeader, quoted: &Payload) {
        let (IcmpHeader::TooBig { mtu }, Some(quote)) = (error, quote_of(quoted)) else { return };
        // RFC 8201 section 4: no link of IPv6 takes less than 1280 bytes, whatever a router says.
        let largest = match quote.src {
            IpAddr::V4(_) => mtu.saturating_sub(IpHeader::V4_LEN),
            IpAddr::V6(_) => mtu.max(1280) - IpHeader::V6_LEN,
        };
        let addresses = &self.network.addresses;
        let acts = match &mut self.sockets.endpoints[index].kind {
            Kind::Tcp(tcp) => tcp.handle_too_big(largest, quote.seq()),
            Kind::Mptcp(multipath) => {
                multipath.handle_too_big(|label| label.is_quoted(&quote, addresses), largest, quote.seq())
            }
            _ => false,
        };
        if acts {
            self.run(now, index);
        }
    }

    /// An endpoint's wake-up is due, unless an earlier one has replaced it.
    fn wake(&mut self, now: Time, index: usize) {
        let endpoint = &mut self.sockets.endpoints[index];
        if endpoint.armed != Some(now) {
            return;
        }
        endpoint.armed = None;
        // The first wake-up of the end that opens is the flow's start.
        match &mut endpoint.kind {
            Kind::Tcp(tcp) => tcp.open(None),
            Kind::Mptcp(multipath) => multipath.open(&endpoint.label, &self.network.addresses, None),
            _ => {}
        }
        self.run(now, index);
    }

    /// Lets an endpoint do everything that it can do now.
    fn run(&mut self, now: Time, index: usize) {
        match &mut self.sockets.endpoints[index].kind {
            Kind::Tcp(tcp) => {
                tcp.drive(now);
                if let Some(process) = tcp.owner.process() {
                    return self.run_owner(now, index, process);
                }
            }
            Kind::Mptcp(multipath) => {
                multipath.drive(now);
                let owner = multipath.owner.process();
                open_subflows(&self.network, &mut self.sockets, index);
                if let Some(process) = owner {
                    return self.run_owner(now, index, process);
                }
            }
            Kind::Udp(application) => application.drive(now, &mut self.datagram),
            Kind::Datagram(udp) => {
                let process = udp.process;
                return self.run_owner(now, index, process);
            }
            Kind::Outside(_) | Kind::Vacant => {}
        }
        self.flush(now, index);
    }

    /// Lets everything leave that an endpoint has to send.
    pub(crate) fn flush(&mut self, now: Time, index: usize) {
        let Self { network, sockets, datagram, .. } = self;
        let endpoint = &mut sockets.endpoints[index];
        match &mut endpoint.kind {
            Kind::Tcp(tcp) => {
                while let Some((header, payload)) = tcp.transmit(now) {
                    let transport = endpoint.label.tcp(header);
                    endpoint.counters.packets_sent += 1;
                    let label = Label { ecn: tcp.ecn(), ..endpoint.label };
                    endpoint.counters.data_bytes_sent += u64::from(payload.len());
                    let len = network.send(now, endpoint.node, &label, transport, payload);
                    endpoint.counters.ip_bytes_sent += u64::from(len);
                }
                if endpoint.counters.established_at.is_none() && tcp.is_established() {
                    endpoint.counters.established_at = Some(now);
                }
            }
            Kind::Mptcp(multipath) => {
                while let Some((subflow, header, payload)) = multipath.transmit(now) {
                    endpoint.counters.packets_sent += 1;
                    let (label, data) = (multipath.label(subflow), payload.len());
                    let len = network.send(now, endpoint.node, &label, label.tcp(header), payload);
                    multipath.note_sent(subflow, len, data);
                }
                multipath.note_established(now);
            }
            Kind::Udp(_) => {
                for (payload, ecn) in datagram.outbox.drain(..) {
                    let transport = endpoint.label.udp();
                    endpoint.counters.packets_sent += 1;
                    let label = Label { ecn, ..endpoint.label };
                    network.send(now, endpoint.node, &label, transport, payload);
                }
            }
            Kind::Datagram(udp) => {
                for (tuple, payload) in udp.outbox.drain(..) {
                    let mut label = endpoint.label;
                    label.answer_to(tuple);
                    endpoint.counters.packets_sent += 1;
                    network.send(now, endpoint.node, &label, label.udp(), payload);
                }
            }
            Kind::Outside(_) | Kind::Vacant => {}
        }
        if network.tap.wants(Interest::SAMPLES) {
            watch(now, endpoint, &mut network.tap);
        }
        // An end of a call that answers has nothing to do until it hears of the call. What a process has opened is the process's to wait for.
        let may_begin = endpoint.busy || matches!(endpoint.kind, Kind::Udp(_));
        let is_busy = may_begin && endpoint.kind.is_busy();
        self.busy = self.busy + usize::from(is_busy) - usize::from(endpoint.busy);
        endpoint.busy = is_busy;
        if endpoint.works {
            // Whatever its process wrote is waited for, also once the process has given it back.
            let is_awaited = endpoint.kind.is_outstanding();
            self.busy = self.busy + usize::from(is_awaited) - usize::from(endpoint.awaited);
            endpoint.awaited = is_awaited;
        }
        if endpoint.is_over() {
            return sockets.remove(index as u32);
        }
        let next = endpoint.poll_timeout();
        self.arm(index, next);
    }

    /// Enters an endpoint's wake-up unless the event queue has an earlier one, at which it looks again.
    fn arm(&mut self, index: usize, at: Option<Time>) {
        let endpoint = &mut self.sockets.endpoints[index];
        if let Some(at) = at
            && endpoint.armed.is_none_or(|armed| at < armed)
        {
            let at = at.max(self.network.events.now());
            endpoint.armed = Some(at);
            self.network.events.push(at, endpoint.target);
        }
    }
}

/// Opens the subflows that a connection wants, each from a port of its own.
fn open_subflows(network: &Network, sockets: &mut SocketTable, index: usize) {
    let Endpoint { node, label, .. } = sockets.endpoints[index];
    while let Kind::Mptcp(multipath) = &mut sockets.endpoints[index].kind
        && let Some(opening) = multipath.poll_open()
    {
        let address = |ip| network.by_ip.get(&ip).copied();
        // Nobody has an address that was announced by mistake.
        let (Some(local), Some(remote)) = (address(opening.local), address(opening.remote.ip())) else {
            continue;
        };
        let local = (local, sockets.free_port(node));
        let tuple = FourTuple { local, remote: (remote, opening.remote.port()) };
        sockets.enter_subflow(index as u32, tuple);
        if let Kind::Mptcp(multipath) = &mut sockets.endpoints[index].kind {
            multipath.open_subflow(&opening, Label::of(label.flow, tuple));
        }
    }
}

/// What an error quotes, if it is enough of a packet.
fn quote_of(payload: &Payload) -> Option<Quote> {
    Quote::parse(payload.as_bytes()?)
}

/// Records what changed of a connection since it was looked at last.
#[cold]
#[inline(never)]
fn watch(now: Time, endpoint: &mut Endpoint, tap: &mut Tap) {
    let (flow, end) = (endpoint.label.flow, endpoint.end);
    let mut look = |subflow: u16, known: &mut Watched, metrics: &Metrics| {
        for ((name, _, of), known) in SERIES_METRICS.columns.iter().zip(known) {
            let value = of.number(metrics);
            if core::mem::replace(known, value) != value
                && let Some(value) = value
            {
                tap.sample(now, (flow, end, subflow), name, value);
            }
        }
    };
    match &mut endpoint.kind {
        Kind::Tcp(tcp) => {
            if let Some(connection) = tcp.connection() {
                look(0, endpoint.watched.get_or_insert_default(), &connection.metrics());
            }
        }
        Kind::Mptcp(multipath) => multipath.watch(look),
        _ => {}
    }
}
