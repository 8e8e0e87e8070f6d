//! A packet: header values, a described payload, and what the network notes about it.

use voxpath_units::Time;
use voxpath_wire::Payload;
pub use voxpath_wire::ip::Ecn;
use voxpath_wire::tcp::TcpHeader;
use voxpath_wire::udp::UdpHeader;

/// An address of the world, IPv4 or IPv6 alike: an index into its table of addresses, so that a
/// forwarding decision is an array access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressId(pub u32);

/// The conversation that a packet belongs to, the same in both directions.
///
/// It is what the IPv6 flow label is: given by the end that opens, carried along, and a hint by which hosts
/// and queues find their state without a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// The transport header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp(TcpHeader),
    /// UDP.
    Udp(UdpHeader),
}

/// A packet on its way.
///
/// Marks, times and the corruption flag are carried from the first day, for disciplines and links to come that decide by them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Source address.
    pub src: AddressId,
    /// Destination address.
    pub dst: AddressId,
    /// The conversation.
    pub flow: FlowId,
    /// Length of the IP packet in bytes, headers included.
    pub len: u32,
    /// Hops left; a router that would count to zero drops the packet.
    pub ttl: u8,
    /// Differentiated services code point.
    pub dscp: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// A bit error happened that the receiver's checksum will find.
    pub corrupted: bool,
    /// When the sender made the packet.
    pub created: Time,
    /// When the queue took it in that it met last.
    pub enqueued: Time,
    /// The transport header.
    pub transport: Transport,
    /// What it carries.
    pub payload: Payload,
}

impl Packet {
    /// The TTL that Linux and most others start from.
    pub const DEFAULT_TTL: u8 = 64;
}
