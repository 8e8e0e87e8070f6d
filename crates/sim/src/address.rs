//! Addresses of a run, and with which of them packets are addressed.

use core::net::IpAddr;
use voxpath_net::packet::{Packet, Transport};
use voxpath_net::routing::DirectionId;
use voxpath_net::{AddressId, Ecn, FlowId};
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::icmp::Quote;
use voxpath_wire::tcp::TcpHeader;
use voxpath_wire::udp::UdpHeader;

/// An address and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) ip: IpAddr,
    pub(crate) node: u32,
    /// What packets to it are bound for.
    pub(crate) place: u32,
    /// Whether its host has it now.
    pub(crate) is_up: bool,
    /// By which direction packets from it leave; none asks the routes.
    pub(crate) leaving: Option<DirectionId>,
}

/// Addresses and ports of a conversation, as one of its ends sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FourTuple {
    pub(crate) local: (AddressId, u16),
    pub(crate) remote: (AddressId, u16),
}

impl FourTuple {
    /// Of the end that a packet with ports has come to.
    pub(crate) fn of(packet: &Packet) -> Option<Self> {
        let (from, to) = packet.ports()?;
        Some(Self { local: (packet.dst, to), remote: (packet.src, from) })
    }
}

/// What the packets of an endpoint are addressed with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label {
    pub(crate) flow: FlowId,
    pub(crate) local: AddressId,
    pub(crate) remote: AddressId,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    /// Whether the network may mark what it is on (RFC 3168); a segment says so for itself.
    pub(crate) ecn: Ecn,
}

/// Whom nobody knows yet.
const NOBODY: AddressId = AddressId(u32::MAX);

impl Label {
    /// Of a conversation.
    pub(crate) const fn of(flow: FlowId, FourTuple { local, remote }: FourTuple) -> Self {
        Self {
            flow,
            local: local.0,
            remote: remote.0,
            local_port: local.1,
            remote_port: remote.1,
            ecn: Ecn::NotEct,
        }
    }

    /// Of an endpoint that waits at a port for whoever comes.
    pub(crate) const fn waiting(flow: FlowId, local: AddressId, port: u16) -> Self {
        Self::of(flow, FourTuple { local: (local, port), remote: (NOBODY, 0) })
    }

    /// Whether it is known whom the endpoint talks to.
    pub(crate) fn has_peer(&self) -> bool {
        self.remote != NOBODY
    }

    /// From now on the endpoint talks to whoever sent this.
    pub(crate) const fn answer_to(&mut self, FourTuple { local, remote }: FourTuple) {
        (self.local, self.remote, self.remote_port) = (local.0, remote.0, remote.1);
    }

    pub(crate) const fn tuple(&self) -> FourTuple {
        FourTuple { local: (self.local, self.local_port), remote: (self.remote, self.remote_port) }
    }

    /// A datagram of this endpoint.
    pub(crate) fn udp(&self) -> Transport {
        Transport::Udp(UdpHeader { src_port: self.local_port, dst_port: self.remote_port })
    }

    /// A segment of this endpoint.
    pub(crate) fn tcp(&self, header: TcpHeader) -> Transport {
        Transport::Tcp(TcpHeader { src_port: self.local_port, dst_port: self.remote_port, ..header })
    }

    /// A packet of this endpoint.
    pub(crate) fn packet(&self, now: Time, ip_len: u32, transport: Transport, payload: Payload) -> Packet {
        let header_len = match &transport {
            Transport::Tcp(header) => header.wire_len(),
            Transport::Udp(_) => UdpHeader::LEN,
            Transport::Icmp(_) | Transport::Frame(_) => unreachable!("an endpoint sends its own transport"),
        };
        let len = ip_len + header_len + payload.len();
        let packet = Packet::new(now, self.local, self.remote, self.flow, len, transport, payload);
        Packet { ecn: self.ecn, ..packet }
    }

    /// Whether a packet is addressed to this endpoint.
    pub(crate) fn accepts(&self, packet: &Packet) -> bool {
        (self.local, self.remote) == (packet.dst, packet.src)
            && packet.ports() == Some((self.remote_port, self.local_port))
    }

    /// Whether an error that has come to this endpoint's address quotes a packet that it sent.
    pub(crate) fn is_quoted(&self, quote: &Quote, addresses: &[Address]) -> bool {
        let ip = |id: AddressId| addresses[id.0 as usize].ip;
        // Whoever waits has sent nothing yet.
        self.has_peer()
            && (quote.src, quote.dst) == (ip(self.local), ip(self.remote))
            && quote.ports() == (self.local_port, self.remote_port)
    }
}
