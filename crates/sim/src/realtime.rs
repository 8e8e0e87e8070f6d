//! The same world on somebody else's clock, with real hosts at its edge.
//!
//! Nothing here reads a clock or a device. Whoever drives it says what time it is, brings the frames that real
//! hosts send, and takes those that have arrived at one:
//!
//! 1. [`RealTime::handle_timeout`] lets everything happen that is due,
//! 2. [`RealTime::poll_delivery`] gives out what has arrived at real hosts, until there is no more,
//! 3. [`RealTime::handle_frame`] takes in what a real host has sent, then again from 1,
//! 4. [`RealTime::poll_timeout`] says when to come back.

use crate::build::Edge;
use crate::connections::{Connection, ConnectionEnd, ConnectionRow, Connections, SubflowOf, Whole};
use crate::emit::emit;
use crate::endpoint::Kind;
use crate::outside::{Held, Outside, OutsideProcess};
use crate::plan::LinkEvent;
use crate::processes::{Running, end_of};
use crate::world::{Delivery, World};
use crate::{Observe, Plan, Problem, Report, build, check, report};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use voxpath_apps::ProcessMachine;
use voxpath_mptcp::Key;
use voxpath_net::packet::{Frame, Packet, Transport};
use voxpath_net::routing::DirectionId;
use voxpath_net::tap::{Action, Place};
use voxpath_net::{AddressId, FlowId, Seed};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::packet::{ChecksumStatus, parse_packet};
use voxpath_wire::tcp::TcpFlags;
use voxpath_wire::tcp::mptcp::{Capable, CapableForm, Join, MptcpOption};

/// A world whose clock is outside.
#[derive(Debug)]
pub struct RealTime {
    plan: Plan,
    world: World,
    /// The flow of the plan that a packet from the first address to the second one belongs to.
    flows: BTreeMap<(SocketAddr, SocketAddr), FlowId>,
    /// The same of subflows that have joined a flow's first one.
    joined: BTreeMap<(SocketAddr, SocketAddr), FlowId>,
    /// Of programs, and subflows that have joined.
    connections: Connections,
    strays: Strays,
    /// IP identification of simulated packets, counted up as hosts do.
    identification: u16,
    /// Links can be changed by hand.
    steered: bool,
    /// The host that stands for addresses outside of the plan.
    gateway: Option<u32>,
}

/// Frames of real hosts that have no place in the plan.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Strays {
    /// Not IP, or damaged.
    pub unparsed: u64,
    /// From an address that is not the host's, or to one that nobody has, such as multicast.
    pub unroutable: u64,
}

/// One direction of a link at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkState {
    /// Packets that came to it.
    pub entered: u64,
    /// Bytes of IP packets that its serialiser has passed on.
    pub served_bytes: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// Packets that were lost on the way.
    pub lost: u64,
    /// Packets that wait.
    pub queued: u32,
    /// How long a packet that came now would take.
    pub delay: Span,
}

impl RealTime {
    /// Builds the world of `plan` for one replication, around the hosts that [`Plan::real_hosts`] names.
    ///
    /// # Errors
    /// As [`Simulation::new`](crate::Simulation::new), and what cannot be between real hosts.
    pub fn new(plan: Plan, replication: u64, observe: &Observe) -> Result<Self, Vec<Problem>> {
        Self::built(plan, replication, observe, false)
    }

    /// The same world, whose links can also be changed by [`RealTime::change`]; each hop costs one event more.
    ///
    /// # Errors
    /// As [`RealTime::new`].
    pub fn steered(plan: Plan, replication: u64, observe: &Observe) -> Result<Self, Vec<Problem>> {
        Self::built(plan, replication, observe, true)
    }

    fn built(
        mut plan: Plan,
        replication: u64,
        observe: &Observe,
        steered: bool,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = check(&plan);
        problems.extend(check::observable(&plan, observe));
        problems.extend(check::edges(&plan));
        if !problems.is_empty() {
            return Err(problems);
        }
        plan.share_stacks();
        let world = build::world(&plan, Seed::new(plan.seed, replication), observe, Edge::Real { steered });
        let address = |id: AddressId, port| SocketAddr::new(world.network.addresses[id.0 as usize].ip, port);
        let flow_of = |endpoint: &crate::endpoint::Endpoint| {
            let label = &endpoint.label;
            let local = address(label.local, label.local_port);
            let remote = label.has_peer().then(|| address(label.remote, label.remote_port))?;
            Some(((local, remote), label.flow))
        };
        let is_outside = |end: &&crate::endpoint::Endpoint| matches!(end.kind, Kind::Outside(_));
        let flows = world.sockets.endpoints.iter().filter(is_outside).filter_map(flow_of).collect();
        let gateway = plan.gateway();
        Ok(Self {
            plan,
            world,
            flows,
            joined: BTreeMap::new(),
            connections: Connections::default(),
            strays: Strays::default(),
            identification: 0,
            steered,
            gateway,
        })
    }

    /// Hands out the ends of flows that are to run on real hosts.
    pub fn take_outside(&mut self) -> Vec<Outside> {
        let taken = |endpoint: &mut crate::endpoint::Endpoint| match &mut endpoint.kind {
            Kind::Outside(outside) => outside.take().map(|outside| *outside),
            _ => None,
        };
        self.world.sockets.endpoints.iter_mut().filter_map(taken).collect()
    }

    /// Hands out the processes that are to run on real hosts.
    pub fn take_processes(&mut self) -> Vec<(OutsideProcess, ProcessMachine)> {
        let (network, plan) = (&self.world.network, &self.plan);
        let taken = |(index, running): (u32, &mut Running)| {
            let first = network.first_address(running.node());
            let is_ipv4 = network.addresses[first.0 as usize].ip.is_ipv4();
            running.take_outside(index, is_ipv4, plan.turns_of(index).collect())
        };
        (0..).zip(&mut self.world.processes).filter_map(taken).collect()
    }

    /// Lets everything happen that is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.world.advance_to(now);
    }

    /// When the next thing is due; none as long as nothing comes in.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        self.world.network.events.peek_time()
    }

    /// Takes in a frame that the real host `host` sent.
    ///
    /// What is due at `now` must have happened: see [`RealTime::handle_timeout`].
    pub fn handle_frame(&mut self, now: Time, host: u32, bytes: Bytes) {
        let Ok(parsed) = parse_packet(&bytes) else {
            self.strays.unparsed += 1;
            return;
        };
        let Some((src, dst)) = self.ends(parsed.ip.src, parsed.ip.dst) else {
            self.strays.unroutable += 1;
            return;
        };
        let network = &mut self.world.network;
        if network.addresses[src.0 as usize].node != host {
            self.strays.unroutable += 1;
            return;
        }
        let mut packet = Packet {
            src,
            dst,
            // Traffic of programs belongs to none of the plan's flows.
            flow: FlowId(self.plan.flows.len() as u32),
            // A packet is no longer than the length field can say.
            len: bytes.len() as u32,
            ttl: parsed.ip.ttl,
            dscp: parsed.ip.dscp,
            ecn: parsed.ip.ecn,
            corrupted: parsed.checksum == ChecksumStatus::Bad,
            enqueued: now,
            payload: Payload::bytes(bytes.slice(parsed.payload)),
            transport: Transport::Frame(Box::new(Frame { bytes, transport: parsed.transport })),
        };
        if let Some((src_port, dst_port)) = packet.ports() {
            let ends = (SocketAddr::new(parsed.ip.src, src_port), SocketAddr::new(parsed.ip.dst, dst_port));
            if let Some(&flow) = self.flows.get(&ends) {
                packet.flow = flow;
            } else if let Some(tcp) = packet.tcp() {
                let bytes = [packet.len, packet.payload.len()];
                let node = network.addresses[dst.0 as usize].node;
                let is_real = network.nodes[node as usize].real;
                self.connections.note(now, ends.0, ends.1, tcp.flags, bytes, is_real);
            }
            self.hear_multipath(&mut packet, ends);
        }
        let network = &mut self.world.network;
        network.tap.packet(now, Place::Host(host), Action::Sent, &packet);
        network.enter(now, host, packet);
        self.world.hear_own(now);
    }

    /// What a segment says of Multipath TCP: which connection has which token, and which one it joins. A subflow of a flow is that flow's.
    fn hear_multipath(&mut self, packet: &mut Packet, ends: (SocketAddr, SocketAddr)) {
        if let Some(&flow) = self.joined.get(&ends) {
            packet.flow = flow;
            return;
        }
        let Some(header) = packet.tcp().filter(|header| header.flags.contains(TcpFlags::SYN)) else { return };
        let flows = self.plan.flows.len() as u32;
        let World { network, sockets, .. } = &self.world;
        let node = |id: AddressId| network.addresses[id.0 as usize].node;
        let options: Vec<MptcpOption> = header.options.mptcp().flatten().collect();
        for option in options {
            match option {
                MptcpOption::Capable(Capable { form: CapableForm::SynAck { key }, .. }) => {
                    let flow = Some(packet.flow.0).filter(|&flow| flow < flows);
                    self.connections.learn(node(packet.src), Key(key).token(), flow, ends);
                }
                MptcpOption::Join(Join::Syn { token, .. }) => {
                    let host = node(packet.dst);
                    let simulated =
                        || sockets.by_token(host, token).map(|end| end / 2).filter(|&flow| flow < flows);
                    if let Some(Whole::Flow(flow)) = self.connections.join((host, token), simulated, ends) {
                        self.joined.extend([(ends, FlowId(flow)), ((ends.1, ends.0), FlowId(flow))]);
                        packet.flow = FlowId(flow);
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    /// Whose packet it is and for whom; the host that stands for the Internet has every address that nobody has.
    fn ends(&self, src: IpAddr, dst: IpAddr) -> Option<(AddressId, AddressId)> {
        let network = &self.world.network;
        match [src, dst].map(|ip| network.by_ip.get(&ip).copied()) {
            [Some(src), Some(dst)] => Some((src, dst)),
            [Some(known), None] => Some((known, self.outside(dst, known)?)),
            [None, Some(known)] => Some((self.outside(src, known)?, known)),
            [None, None] => None,
        }
    }

    /// The address of the host that stands for an address outside, as somebody inside sees it: at the same link, where a
    /// host has addresses at several.
    fn outside(&self, ip: IpAddr, inside: AddressId) -> Option<AddressId> {
        let IpAddr::V4(v4) = ip else { return None };
        if v4.is_multicast()
            || v4.is_broadcast()
            || v4.is_link_local()
            || v4.is_loopback()
            || v4.is_unspecified()
        {
            return None;
        }
        let network = &self.world.network;
        let gateway = &network.nodes[self.gateway? as usize];
        let link = |id: u32| network.addresses[id as usize].leaving.map(DirectionId::link);
        let mut known = gateway.addresses.clone().filter(|&id| network.addresses[id as usize].ip.is_ipv4());
        let near = known.clone().find(|&id| link(id) == link(inside.0));
        near.or_else(|| known.next()).map(AddressId)
    }

    /// Appends the next frame that has arrived at a real host to `out`, and says whose it is.
    pub fn poll_delivery(&mut self, out: &mut Vec<u8>) -> Option<Delivery> {
        let (delivery, packet) = self.world.arrived.pop_front()?;
        self.identification = self.identification.wrapping_add(1);
        emit(&packet, &self.world.network.addresses, self.identification, out);
        Some(delivery)
    }

    /// Whether the simulated ends have nothing left to do and no packet is on its way.
    pub fn is_idle(&self) -> bool {
        self.world.is_idle() && self.world.arrived.is_empty()
    }

    /// Each link at `now`, up to which the world has been advanced: its direction from `a` to `b`, then the other.
    pub fn links(&mut self, now: Time) -> impl Iterator<Item = LinkState> {
        self.world.network.links.iter_mut().map(move |link| {
            link.settle(now);
            let way = link.wait(now).as_nanos().saturating_add(link.delay(now).as_nanos());
            let counts = link.counts();
            LinkState {
                entered: counts.queue.entered,
                served_bytes: link.served(),
                dropped: counts.queue.dropped,
                lost: counts.loss.dropped,
                queued: link.queued(),
                delay: Span::from_nanos(way),
            }
        })
    }

    /// Changes links by hand at `now`, up to which the world has been advanced: all of `events`, in order, or none. The
    /// run's table of events has them like those of the plan.
    ///
    /// # Errors
    /// What is wrong with them, at its place in a plan that has these events alone; or the world is not
    /// [`RealTime::steered`].
    pub fn change(&mut self, now: Time, events: Vec<LinkEvent>) -> Result<(), Vec<Problem>> {
        let problems = check::by_hand(&self.plan, &events, self.steered);
        if !problems.is_empty() {
            return Err(problems);
        }
        for event in events {
            self.world.change_by_hand(now, event);
        }
        Ok(())
    }

    /// TCP connections of programs so far, in the order in which they were opened.
    pub fn connections(&self) -> &[Connection] {
        self.connections.all()
    }

    /// The names of the plan's flows.
    pub fn flow_names(&self) -> impl Iterator<Item = &str> {
        self.plan.flows.iter().map(|flow| flow.name.as_str())
    }

    /// Frames of real hosts that went nowhere.
    pub const fn strays(&self) -> Strays {
        self.strays
    }

    /// Records a value of an end that runs outside, where series are observed.
    pub fn sample(
        &mut self,
        now: Time,
        (flow, end, subflow): (u32, u8, u16),
        metric: &'static str,
        value: u64,
    ) {
        self.world.network.tap.sample(now, (FlowId(flow), end.into(), subflow), metric, value);
    }

    /// Ends the run at `now` and closes its books; `outside` and `processes` are what [`RealTime::take_outside`] and
    /// [`RealTime::take_processes`] gave out, `held` the connections that these processes had.
    pub fn finish(
        mut self,
        now: Time,
        outside: Vec<Outside>,
        processes: Vec<(OutsideProcess, ProcessMachine)>,
        held: &[Held],
    ) -> Report {
        self.world.advance_to(now);
        for (OutsideProcess { index, .. }, machine) in processes {
            self.world.processes[index as usize].machine = Some(machine);
        }
        for end in outside {
            let index = end.flow as usize * 2 + usize::from(end.end);
            self.world.sockets.endpoints[index].kind = Kind::Outside(Some(Box::new(end)));
        }
        self.world.held = self.held(held);
        report::report_at(&self.plan, self.world, now, None)
    }

    /// Rows of connections of processes on real hosts, by what the network saw them send.
    fn held(&self, held: &[Held]) -> Vec<ConnectionRow> {
        let opened: BTreeMap<[SocketAddr; 2], u32> =
            held.iter().filter(|it| it.has_opened).map(|it| (it.ends, it.process)).collect();
        let rows = |&Held { process, ends: [local, remote], has_opened }: &Held| {
            let opener = if has_opened { Some(process) } else { opened.get(&[remote, local]).copied() };
            let sockets = &self.world.sockets;
            let joined = self.connections.joined(local, remote);
            let first = self.connections.is_multipath(local, remote).then_some(1);
            let all = core::iter::once(([local, remote], first))
                .chain(joined.map(|(ends, number)| (ends, Some(number))));
            all.filter_map(move |([local, remote], number)| {
                let sent = self.connections.sent(local, remote)?;
                let between = [local.ip(), remote.ip()];
                let subflow = number.map(|number| SubflowOf { number, between, is_fallback: None });
                Some(ConnectionRow {
                    flow: opener.map_or(sockets.no_flow(), |opener| sockets.flow_of(opener)).0,
                    end: end_of(process, has_opened).into(),
                    host: self.world.processes[process as usize].node(),
                    subflow,
                    found: ConnectionEnd::seen(sent),
                })
            })
        };
        held.iter().flat_map(rows).collect()
    }
}
