//! A proxy: one process between two connections, or two conversations in datagrams.
//!
//! With it a path is split: each part has its own transport, its own losses and its own round-trip time. What a
//! connection brings is held until the other one takes it, but no more than a bound; then it is left in its socket, so
//! that the window closes. A direction that was closed is closed on the other side once all of it is there (RFC 9293
//! section 3.6 knows half-closed connections); a connection that fails takes the other one with it.

use crate::process::{Event, ListenerId, Peer, Process, ProcessContext, ProcessSettings, SocketId, Sockets};
use crate::settings::{Over, at_least_one};
use crate::socket::Stream;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::Payload;

/// Passes on what comes to some of its ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// Bytes that are held of each direction of a connection, at most.
    pub buffer_bytes: u32,
    /// What is passed on.
    pub forwards: Vec<Forward>,
}

/// Who comes to `port` is passed on to `to`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// Where the proxy waits.
    pub port: u16,
    /// Over datagrams, not connections.
    pub udp: bool,
    /// Whom it passes on to.
    pub to: Peer,
}

impl Forward {
    const fn over(&self) -> Over {
        if self.udp { Over::Datagrams } else { Over::Stream }
    }
}

impl ProcessSettings for Proxy {
    type Machine = Relay;

    const PASSES_ON: bool = true;

    fn check(&self, nodes: u32, check: &mut Check<'_>) {
        at_least_one(check, [("buffer_bytes", self.buffer_bytes.into())]);
        let mut ports = BTreeSet::new();
        for (i, forward) in self.forwards.iter().enumerate() {
            let mut forwards = check.at("forwards");
            let mut place = forwards.at(i);
            place.at("port").need(forward.port > 0, "a port is above zero");
            let is_new = ports.insert((forward.port, forward.udp));
            place.at("port").need(is_new, "is passed on already");
            place.at("to").at("port").need(forward.to.port > 0, "a port is above zero");
            place.at("to").at("node").need(forward.to.node < nodes, "there is no such node");
        }
    }

    fn ports(&self) -> impl Iterator<Item = (u16, Over)> {
        self.forwards.iter().map(|forward| (forward.port, forward.over()))
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        self.forwards.iter().map(|forward| forward.to.node)
    }

    fn machine(&self, _context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let target = |to: Peer| SocketAddr::new(address(to.node), to.port);
        let forwards = self.forwards.iter().map(|it| (it.port, it.over(), target(it.to))).collect();
        Relay::new(self.buffer_bytes, forwards)
    }

    fn sample(draw: &mut dyn Draw, peers: &[(Peer, Over)]) -> Option<Self> {
        // One that leads to a peer beside another way to it.
        let again = peers.first().filter(|_| draw.bit());
        let mut forwards: Vec<Forward> = Vec::new();
        for &(to, over) in peers.iter().chain(again) {
            let udp = over == Over::Datagrams;
            let mut port = 1 + draw.below(65_535) as u16;
            while forwards.iter().any(|other| (other.port, other.udp) == (port, udp)) {
                port = port % u16::MAX + 1;
            }
            forwards.push(Forward { port, udp, to });
        }
        // A buffer of less makes a packet of each few bytes.
        Some(Self { buffer_bytes: 2_000 + draw.below(200_000) as u32, forwards })
    }
}

/// The process.
#[derive(Debug)]
pub struct Relay {
    buffer: u32,
    forwards: Vec<(u16, Over, SocketAddr)>,
    listeners: BTreeMap<ListenerId, SocketAddr>,
    /// The other socket of each connection, with what was read of this one and waits for that one.
    connections: BTreeMap<SocketId, (SocketId, Waiting)>,
    /// UDP sockets at which strangers come, and whom they are passed on to.
    gates: BTreeMap<SocketId, SocketAddr>,
    /// Of each stranger, the socket that speaks for it; and the way back.
    speakers: BTreeMap<(SocketId, SocketAddr), SocketId>,
    strangers: BTreeMap<SocketId, (SocketId, SocketAddr)>,
}

/// What was read of a connection and waits for the other one.
#[derive(Debug, Default)]
struct Waiting {
    pieces: VecDeque<Payload>,
    octets: u32,
    /// All of it was passed on, and its end too.
    is_over: bool,
}

impl Relay {
    /// Passes on from ports of its host to places elsewhere, holding at most `buffer` octets of each direction.
    pub const fn new(buffer: u32, forwards: Vec<(u16, Over, SocketAddr)>) -> Self {
        Self {
            buffer,
            forwards,
            listeners: BTreeMap::new(),
            connections: BTreeMap::new(),
            gates: BTreeMap::new(),
            speakers: BTreeMap::new(),
            strangers: BTreeMap::new(),
        }
    }

    /// Moves what can be moved between a connection and its other one.
    fn pump(&mut self, socket: SocketId, sockets: &mut impl Sockets) {
        let Some(&(other, _)) = self.connections.get(&socket) else { return };
        self.pass_on(socket, other, sockets);
        self.pass_on(other, socket, sockets);
        let is_over = |it: SocketId| self.connections.get(&it).is_some_and(|(_, waiting)| waiting.is_over);
        if is_over(socket) && is_over(other) {
            self.drop_pair(socket, other, sockets);
        } else if [socket, other].into_iter().any(|it| sockets.has_ended(it) && !is_over(it)) {
            // It failed before it was at its end: nothing that the other one has can be passed on any more.
            self.drop_pair(socket, other, sockets);
        }
    }

    fn drop_pair(&mut self, socket: SocketId, other: SocketId, sockets: &mut impl Sockets) {
        for it in [socket, other] {
            self.connections.remove(&it);
            sockets.release(it);
        }
    }

    fn pass_on(&mut self, from: SocketId, to: SocketId, sockets: &mut impl Sockets) {
        let Some((_, waiting)) = self.connections.get_mut(&from) else { return };
        loop {
            let room = self.buffer - waiting.octets;
            let data = if room > 0 { sockets.stream(from).read(room) } else { Payload::Empty };
            let read = data.len();
            if read > 0 {
                waiting.octets += read;
                waiting.pieces.push_back(data);
            }
            let written = waiting.write(&mut sockets.stream(to));
            if read == 0 && written == 0 {
                break;
            }
        }
        if !waiting.is_over && waiting.octets == 0 && sockets.stream(from).is_at_end() {
            waiting.is_over = true;
            sockets.stream(to).close();
        }
    }

    fn receive(&mut self, socket: SocketId, sockets: &mut impl Sockets) {
        while let Some((from, data)) = sockets.receive_from(socket) {
            if let Some(&(gate, stranger)) = self.strangers.get(&socket) {
                sockets.send_to(gate, stranger, data);
            } else if let Some(&target) = self.gates.get(&socket) {
                let Self { speakers, strangers, .. } = self;
                let speaker = *speakers.entry((socket, from)).or_insert_with(|| {
                    let speaker = sockets.bind(None, Some(socket));
                    strangers.insert(speaker, (socket, from));
                    speaker
                });
                sockets.send_to(speaker, target, data);
            }
        }
    }
}

impl Waiting {
    /// Writes what fits; how many octets that is.
    fn write(&mut self, socket: &mut impl Stream) -> u32 {
        let mut written = 0;
        while socket.is_connected()
            && let Some(piece) = self.pieces.front_mut()
        {
            let taken = socket.write(piece);
            written += taken;
            if taken < piece.len() {
                *piece = piece.slice(taken, piece.len() - taken);
                break;
            }
            self.pieces.pop_front();
        }
        self.octets -= written;
        written
    }
}

impl Process for Relay {
    fn start(&mut self, sockets: &mut impl Sockets) {
        for &(port, over, target) in &self.forwards {
            match over {
                Over::Stream => self.listeners.insert(sockets.listen(port), target).map(drop),
                Over::Datagrams => self.gates.insert(sockets.bind(Some(port), None), target).map(drop),
            };
        }
    }

    fn stop(&mut self, _now: Time) {
        *self = Self::new(self.buffer, core::mem::take(&mut self.forwards));
    }

    fn drive(&mut self, _now: Time, sockets: &mut impl Sockets) {
        while let Some(event) = sockets.poll_event() {
            match event {
                Event::Accepted { listener, socket } => {
                    let target = self.listeners[&listener];
                    let other = sockets.connect(target, Some(socket));
                    self.connections.insert(socket, (other, Waiting::default()));
                    self.connections.insert(other, (socket, Waiting::default()));
                    self.pump(socket, sockets);
                }
                Event::Ready(socket) if self.connections.contains_key(&socket) => self.pump(socket, sockets),
                Event::Ready(socket) => self.receive(socket, sockets),
            }
        }
    }

    fn held(&self) -> u64 {
        self.connections.values().map(|(_, waiting)| u64::from(waiting.octets)).sum()
    }
}
