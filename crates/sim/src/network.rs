//! Nodes and links: what carries a packet from one host to another.

use crate::address::{Address, Label};
use crate::bucket::Bucket;
use crate::plan::NodeKind;
use crate::ways::Ways;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::IpAddr;
use core::ops::Range;
use voxpath_net::element::middlebox::Chain;
use voxpath_net::packet::{Packet, Transport};
use voxpath_net::routing::{DirectionId, Way};
use voxpath_net::tap::{Action, Place};
use voxpath_net::{AddressId, EventQueue, Handle, Link, Pool, Tap, Ticket};
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::icmp::{IcmpHeader, Unreachable};
use voxpath_wire::ip::IpHeader;

/// Everything that packets meet.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) pool: Pool,
    pub(crate) events: EventQueue,
    pub(crate) tap: Tap,
    pub(crate) nodes: Vec<Node>,
    /// Each direction of each link; its target is its index.
    pub(crate) links: Vec<Link>,
    /// What stands on each link; none at all if there is nothing on any.
    pub(crate) middleboxes: Vec<Option<Box<Chain>>>,
    /// The largest packet that each direction takes.
    pub(crate) mtus: Vec<u32>,
    /// The node at the far end of each direction.
    pub(crate) far_ends: Vec<u32>,
    pub(crate) ways: Ways,
    pub(crate) addresses: Vec<Address>,
    /// Whose an address is, where somebody asks by addresses: processes, and real hosts.
    pub(crate) by_ip: BTreeMap<IpAddr, AddressId>,
    /// What nodes have told themselves, and have not heard yet.
    pub(crate) own: VecDeque<(u32, Packet)>,
}

/// A host or a router, and what became of the packets that met it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    /// Whether it is a real host, at the edge of a world in real time.
    pub(crate) real: bool,
    /// Its addresses, by their index among all.
    pub(crate) addresses: Range<u32>,
    /// How often it tells of errors.
    pub(crate) errors: Bucket,
    /// Packets that it sent itself.
    pub(crate) sent: u64,
    /// Packets that links brought.
    pub(crate) received: u64,
    /// Packets passed on to a link, its own ones too.
    pub(crate) forwarded: u64,
    /// Packets handed to an endpoint.
    pub(crate) delivered: u64,
    /// Packets that had nowhere to go: no route, no hops left, no socket.
    pub(crate) discarded: u64,
}

impl Node {
    pub(crate) const fn new(kind: NodeKind, real: bool, addresses: Range<u32>) -> Self {
        Self {
            kind,
            real,
            addresses,
            errors: Bucket::FULL,
            sent: 0,
            received: 0,
            forwarded: 0,
            delivered: 0,
            discarded: 0,
        }
    }
}

impl Network {
    /// The addresses between which a host reaches an address: its own, and that one.
    pub(crate) fn between(&self, node: u32, ip: IpAddr) -> Option<(AddressId, AddressId)> {
        let remote = *self.by_ip.get(&ip)?;
        Some((self.own_address(node, remote)?, remote))
    }

    /// The first address of a node that has one.
    pub(crate) fn first_address(&self, node: u32) -> AddressId {
        AddressId(self.nodes[node as usize].addresses.start)
    }

    /// A host's own packet leaves it.
    pub(crate) fn send(
        &mut self,
        now: Time,
        from: u32,
        label: &Label,
        transport: Transport,
        payload: Payload,
    ) -> u32 {
        let ip_len = match self.addresses[label.local.0 as usize].ip {
            IpAddr::V4(_) => IpHeader::V4_LEN,
            IpAddr::V6(_) => IpHeader::V6_LEN,
        };
        let packet = label.packet(now, ip_len, transport, payload);
        let len = packet.len;
        self.tap.packet(now, Place::Host(from), Action::Sent, &packet);
        self.enter(now, from, packet);
        len
    }

    /// A packet begins its way at a host.
    pub(crate) fn enter(&mut self, now: Time, from: u32, packet: Packet) {
        let to = self.addresses[packet.dst.0 as usize].place;
        let Address { leaving, is_up, .. } = self.addresses[packet.src.0 as usize];
        let next = leaving.or_else(|| self.ways.routes.next(from, to));
        self.nodes[from as usize].sent += 1;
        if !is_up {
            self.nodes[from as usize].discarded += 1;
            return;
        }
        let packet = self.pool.insert(packet);
        self.pass_on(now, from, next, packet);
    }

    /// A direction of a link was woken: delivers its next packet. The packet itself, and the host that it is
    /// for, if it has reached that.
    pub(crate) fn deliver(&mut self, now: Time, ticket: Ticket, direction: usize) -> Option<(u32, Packet)> {
        if let Some(Some(chain)) = self.middleboxes.get(direction / 2)
            && chain.is_due(now, ticket)
        {
            self.let_go(now, (direction / 2) as u32);
            return None;
        }
        let link = &mut self.links[direction];
        let packet = link.wake(now, ticket, &mut self.pool, &mut self.events, &mut self.tap)?;
        self.tap.packet(now, Place::Link(direction as u32), Action::Delivered, &self.pool[&packet]);
        let at = self.far_ends[direction];
        let node = &mut self.nodes[at as usize];
        node.received += 1;
        let header = &mut self.pool[&packet];
        let Address { node: to, place, is_up, .. } = self.addresses[header.dst.0 as usize];
        if to == at && is_up {
            let packet = self.pool.take(packet);
            self.tap.packet(now, Place::Host(at), Action::Received, &packet);
            return Some((at, packet));
        }
        if node.kind == NodeKind::Host {
            // Hosts pass on none.
            node.discarded += 1;
            self.pool.discard(packet);
        } else if header.ttl <= 1 {
            // RFC 1812 section 5.3.1: a router does not pass on a packet whose last hop this was.
            let packet = self.pool.take(packet);
            self.refuse(now, at, &packet, IcmpHeader::TimeExceeded);
        } else {
            header.ttl -= 1;
            let next = self.ways.routes.next(at, place);
            self.pass_on(now, at, next, packet);
        }
        None
    }

    fn pass_on(&mut self, now: Time, at: u32, next: Option<DirectionId>, packet: Handle) {
        let Some(direction) = next else {
            let packet = self.pool.take(packet);
            return self.refuse(now, at, &packet, IcmpHeader::Unreachable(Unreachable::Network));
        };
        let mtu = self.mtus[direction.index()];
        if self.pool[&packet].len > mtu {
            // Every packet forbids that it be fragmented.
            let packet = self.pool.take(packet);
            return self.refuse(now, at, &packet, IcmpHeader::TooBig { mtu });
        }
        self.nodes[at as usize].forwarded += 1;
        let Some(Some(chain)) = self.middleboxes.get_mut(direction.link() as usize) else {
            return self.put(now, direction, packet);
        };
        let packet = self.pool.take(packet);
        for packet in chain.handle(now, direction.way(), packet, &mut self.events, &mut self.tap) {
            let packet = self.pool.insert(packet);
            self.put(now, direction, packet);
        }
    }

    /// The middleboxes of a link let go of what they held.
    #[cold]
    fn let_go(&mut self, now: Time, link: u32) {
        let Some(Some(chain)) = self.middleboxes.get_mut(link as usize) else { return };
        let packets = chain.handle_timeout(now, &mut self.events, &mut self.tap);
        for (way, packets) in Way::BOTH.into_iter().zip(packets) {
            for packet in packets {
                let packet = self.pool.insert(packet);
                self.put(now, way.of(link), packet);
            }
        }
    }

    fn put(&mut self, now: Time, direction: DirectionId, packet: Handle) {
        let link = &mut self.links[direction.index()];
        link.send(now, packet, &mut self.pool, &mut self.events, &mut self.tap);
    }

    /// Packets that middleboxes hold.
    pub(crate) fn held_by_middleboxes(&self) -> u64 {
        self.middleboxes.iter().flatten().map(|chain| chain.held()).sum()
    }
}
