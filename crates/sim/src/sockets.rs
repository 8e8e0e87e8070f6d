//! All sockets of a run, and which of them a packet is for.
//!
//! A packet's label names a flow of the plan, and with it two endpoints: the shortcut by which most packets find theirs.
//! What has no label, or one of a conversation that a process passes on, is found by addresses and ports: the ports of the
//! plan's flows are a function of their numbers, other conversations stand in a map, and who is expected by nobody in
//! particular comes to whoever waits at the port.

use crate::address::{Address, FourTuple, Label};
use crate::connections::{self, ConnectionRow};
use crate::endpoint::{Endpoint, Kind};
use crate::owner::Counters;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use voxpath_apps::process::ListenerId;
use voxpath_net::packet::Packet;
use voxpath_net::{FlowId, Target};
use voxpath_wire::icmp::Quote;

/// First port of the ends that answer (iperf's).
const SERVER_PORT: u16 = 5001;
/// First of the dynamic ports (RFC 6335 section 6), from which the ends that open a flow take theirs.
const DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u32 = 1 << 14;
/// First of the ports from which processes open conversations: Linux' range begins here, and has room below those of
/// flows.
const EPHEMERAL_PORT: u16 = 32_768;

/// The ports of a flow's ends, by its number: a pair of hosts has 2^14 dynamic ports; after that the next server port
/// begins.
pub(crate) fn ports_of(flow: u32) -> [u16; 2] {
    [DYNAMIC_PORT + (flow % DYNAMIC_PORTS) as u16, SERVER_PORT + (flow / DYNAMIC_PORTS) as u16]
}

/// The only flow between these ports, whichever end is whose; [`ports_of`] the other way round.
fn flow_between(ports: [u16; 2]) -> Option<u32> {
    let (dynamic, server) = (ports[0].max(ports[1]), ports[0].min(ports[1]));
    let (dynamic, server) = (dynamic.checked_sub(DYNAMIC_PORT)?, server.checked_sub(SERVER_PORT)?);
    Some(u32::from(server) * DYNAMIC_PORTS + u32::from(dynamic))
}

/// A port of a host at which somebody waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port {
    pub(crate) node: u32,
    pub(crate) is_udp: bool,
    pub(crate) number: u16,
}

/// A listener of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener {
    pub(crate) process: u32,
    pub(crate) id: ListenerId,
}

/// Who waits at a port for whom he does not know yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// An endpoint, for the first who comes; or a UDP socket, for all.
    Endpoint(u32),
    /// A listener of a process.
    Listener(u32),
}

/// The sockets of a run.
#[derive(Debug)]
pub(crate) struct SocketTable {
    /// Both ends of each flow, side by side; then those of processes.
    pub(crate) endpoints: Vec<Endpoint>,
    /// How many flows the plan has.
    flows: u32,
    /// Places behind the flows that were given back.
    free: Vec<u32>,
    /// What wakes the first endpoint; the others follow.
    first_target: u32,
    connected: BTreeMap<(bool, FourTuple), u32>,
    bound: BTreeMap<Port, Bound>,
    /// Connections of Multipath TCP, by host and token.
    tokens: BTreeMap<(u32, u32), u32>,
    pub(crate) listeners: Vec<Listener>,
    /// The port from which a host opens its next conversation.
    next_ports: BTreeMap<u32, u16>,
    /// Connections of processes whose places were given back.
    closed: Vec<ConnectionRow>,
}

impl SocketTable {
    /// Of the ends of the plan's flows.
    pub(crate) fn new(endpoints: Vec<Endpoint>, first_target: u32) -> Self {
        Self {
            flows: (endpoints.len() / 2) as u32,
            endpoints,
            free: Vec::new(),
            first_target,
            connected: BTreeMap::new(),
            bound: BTreeMap::new(),
            tokens: BTreeMap::new(),
            listeners: Vec::new(),
            next_ports: BTreeMap::new(),
            closed: Vec::new(),
        }
    }

    /// The ends of the plan's flows, side by side.
    pub(crate) fn flows(&self) -> &[[Endpoint; 2]] {
        self.endpoints[..2 * self.flows as usize].as_chunks().0
    }

    /// The endpoints of processes that are there.
    pub(crate) fn of_processes(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints[2 * self.flows as usize..].iter()
    }

    /// What came of connections of processes that are not there any more, in the order in which they were given back.
    pub(crate) fn closed(&self) -> &[ConnectionRow] {
        &self.closed
    }

    /// The label of what belongs to none of the plan's flows.
    pub(crate) const fn no_flow(&self) -> FlowId {
        FlowId(self.flows)
    }

    /// The label of what a process does of its own accord.
    pub(crate) const fn flow_of(&self, process: u32) -> FlowId {
        FlowId(self.flows + 1 + process)
    }

    /// The endpoint that a packet is for, if there is one already.
    #[inline]
    pub(crate) fn find(&self, packet: &Packet) -> Option<usize> {
        let first = packet.flow.0 as usize * 2;
        let ends = self.endpoints.get(first..first + 2).unwrap_or_default();
        match ends.iter().position(|endpoint| endpoint.label.accepts(packet)) {
            Some(end) if packet.flow.0 < self.flows => Some(first + end),
            _ => self.subflow(packet).or_else(|| self.look_up(packet)),
        }
    }

    /// The endpoint that a packet is for, whatever its label says.
    #[cold]
    fn look_up(&self, packet: &Packet) -> Option<usize> {
        let tuple = FourTuple::of(packet)?;
        let planned = flow_between([tuple.local.1, tuple.remote.1]).filter(|&flow| flow < self.flows);
        let planned = planned.and_then(|flow| {
            let first = flow as usize * 2;
            (first..first + 2).find(|&end| self.endpoints[end].label.accepts(packet))
        });
        planned.or_else(|| self.connected.get(&(packet.is_udp(), tuple)).map(|&found| found as usize))
    }

    /// The end of a packet's flow that has a subflow for it.
    fn subflow(&self, packet: &Packet) -> Option<usize> {
        let first = packet.flow.0 as usize * 2;
        let has = |&end: &usize| match self.endpoints.get(end).map(|endpoint| &endpoint.kind) {
            Some(Kind::Mptcp(multipath)) => multipath.subflow_of(packet).is_some(),
            _ => false,
        };
        (first..first + 2).find(|end| packet.flow.0 < self.flows && has(end))
    }

    /// Has a connection of Multipath TCP be found by its token, which is told apart on its host (RFC 8684 section 3.1).
    pub(crate) fn name(&mut self, index: u32) {
        let Endpoint { kind: Kind::Mptcp(multipath), node, .. } = &mut self.endpoints[index as usize] else {
            return;
        };
        while self.tokens.contains_key(&(*node, multipath.token())) {
            multipath.change_key();
        }
        self.tokens.insert((*node, multipath.token()), index);
    }

    /// The connection of a host that has this token.
    pub(crate) fn by_token(&self, node: u32, token: u32) -> Option<u32> {
        self.tokens.get(&(node, token)).copied()
    }

    /// Has an endpoint be found by addresses and ports of a further subflow.
    pub(crate) fn enter_subflow(&mut self, endpoint: u32, tuple: FourTuple) {
        self.connected.insert((false, tuple), endpoint);
    }

    /// The endpoint that sent what an error quotes.
    pub(crate) fn quoted(&self, flow: FlowId, quote: &Quote, addresses: &[Address]) -> Option<usize> {
        let is_quoted = |&end: &usize| self.endpoints[end].sent(quote, addresses);
        let first = flow.0 as usize * 2;
        let labelled = if flow.0 < self.flows { first..first + 2 } else { 0..0 };
        // Errors are rare, and those about conversations of processes rarer.
        labelled
            .into_iter()
            .find(is_quoted)
            .or_else(|| self.connected.values().map(|&end| end as usize).find(is_quoted))
    }

    /// Who waits at a port of a host, for a packet of this flow if it is of one.
    pub(crate) fn bound(&self, port: Port, flow: FlowId) -> Option<Bound> {
        let waits = |&end: &u32| {
            let Endpoint { label, node, kind, .. } = &self.endpoints[end as usize];
            !label.has_peer()
                && (*node, label.local_port, kind.is_udp()) == (port.node, port.number, port.is_udp)
        };
        let answering = (flow < self.no_flow()).then_some(2 * flow.0 + 1).filter(waits);
        answering.map(Bound::Endpoint).or_else(|| self.bound.get(&port).copied())
    }

    /// Has an endpoint, or a listener, wait at a port of a host.
    pub(crate) fn bind(&mut self, port: Port, bound: Bound) {
        self.bound.insert(port, bound);
    }

    /// Has an endpoint of a flow be found by addresses and ports that do not tell the flow's number.
    pub(crate) fn enter(&mut self, endpoint: u32, is_udp: bool) {
        let tuple = self.endpoints[endpoint as usize].label.tuple();
        self.connected.insert((is_udp, tuple), endpoint);
    }

    /// An endpoint that waited has found whom it waited for: a TCP socket waits no longer.
    pub(crate) fn settle(&mut self, endpoint: u32, port: Port, tuple: FourTuple) {
        let label = &mut self.endpoints[endpoint as usize].label;
        if port.is_udp {
            self.connected.remove(&(true, label.tuple()));
        } else if self.bound.get(&port) == Some(&Bound::Endpoint(endpoint)) {
            self.bound.remove(&port);
        }
        label.answer_to(tuple);
        self.connected.insert((port.is_udp, tuple), endpoint);
    }

    /// Adds an endpoint of a process, which does something of its own or not.
    pub(crate) fn add(&mut self, label: Label, end: u16, node: u32, kind: Kind, works: bool) -> u32 {
        let index = self.free.pop().unwrap_or(self.endpoints.len() as u32);
        let target = Target::new(self.first_target + index).expect("a run has fewer sockets than targets");
        if label.has_peer() {
            self.connected.insert((kind.is_udp(), label.tuple()), index);
        }
        let endpoint = Endpoint {
            label,
            end,
            node,
            target,
            kind,
            busy: false,
            works,
            awaited: false,
            counters: Counters::default(),
            armed: None,
            watched: None,
        };
        match self.endpoints.get_mut(index as usize) {
            // Wake-ups of whoever was here before find nothing due.
            Some(place) => *place = endpoint,
            None => self.endpoints.push(endpoint),
        }
        index
    }

    /// Takes the place of an endpoint of a process back.
    pub(crate) fn remove(&mut self, index: u32) {
        let endpoint = &mut self.endpoints[index as usize];
        self.closed.extend(connections::of_process(endpoint));
        let is_udp = endpoint.kind.is_udp();
        if let Kind::Mptcp(multipath) = core::mem::replace(&mut endpoint.kind, Kind::Vacant) {
            self.tokens.remove(&(endpoint.node, multipath.token()));
            for label in multipath.labels() {
                self.connected.remove(&(false, label.tuple()));
            }
        }
        self.connected.remove(&(is_udp, endpoint.label.tuple()));
        let port = Port { node: endpoint.node, is_udp, number: endpoint.label.local_port };
        if self.bound.get(&port) == Some(&Bound::Endpoint(index)) {
            self.bound.remove(&port);
        }
        self.free.push(index);
    }

    /// Closes whatever a process has, as its end does: connections are reset. The endpoints that have something to send now.
    pub(crate) fn stop(&mut self, process: u32) -> Vec<u32> {
        let listeners = &self.listeners;
        self.bound.retain(|_, bound| match bound {
            Bound::Listener(listener) => listeners[*listener as usize].process != process,
            Bound::Endpoint(_) => true,
        });
        let mut reset = Vec::new();
        for index in 2 * self.flows..self.endpoints.len() as u32 {
            match &mut self.endpoints[index as usize].kind {
                Kind::Datagram(udp) if udp.process == process => self.remove(index),
                kind if kind.owner().is_some_and(|owner| owner.is(process)) => {
                    kind.abandon();
                    reset.push(index);
                }
                _ => {}
            }
        }
        reset
    }

    /// A port of a host for a process to open a conversation from. Those that open more than 16 384 at a time share ports:
    /// their other ends tell them apart.
    pub(crate) fn free_port(&mut self, node: u32) -> u16 {
        let next = self.next_ports.entry(node).or_insert(EPHEMERAL_PORT);
        let port = *next;
        *next = if port + 1 < DYNAMIC_PORT { port + 1 } else { EPHEMERAL_PORT };
        port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_of_a_flow_tell_its_number() {
        for flow in [0, 1, 16_383, 16_384, 99_999, 200_000] {
            let [client, server] = ports_of(flow);
            assert_eq!(flow_between([client, server]), Some(flow));
            assert_eq!(flow_between([server, client]), Some(flow));
        }
        assert_eq!(flow_between([80, 49_152]), None);
        assert_eq!(flow_between([5001, 40_000]), None);
    }
}
