//! A packet: header values, a described payload, and what the network notes about it.

use alloc::boxed::Box;
use bytes::Bytes;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::icmp::IcmpHeader;
pub use voxpath_wire::ip::Ecn;
use voxpath_wire::packet;
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
    /// ICMP, of the version that the addresses say.
    Icmp(IcmpHeader),
    /// What a real host sent: its bytes, and what is known of them. Rare where everything is simulated, so
    /// it does not make every packet larger.
    Frame(Box<Frame>),
}

/// An IP packet of a real host. Nothing of it is lost on its way, options that nobody here knows included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The whole packet as it came.
    pub bytes: Bytes,
    /// What its transport header says.
    pub transport: packet::Transport,
}

/// A packet on its way.
///
/// Of many packets in flight, each that is forwarded has to come into the cache: what a hop looks at fills one line of it, what the ends need
/// another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C, align(64))]
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
    /// When the queue took it in that it met last, of those that ask; before, when its sender made it.
    pub enqueued: Time,
    /// What it carries.
    pub payload: Payload,
    /// The transport header.
    pub transport: Transport,
}

const _: () = assert!(size_of::<Option<Packet>>() == 128, "two lines of the cache");

impl Packet {
    /// The TTL that Linux and most others start from.
    pub const DEFAULT_TTL: u8 = 64;

    /// A packet that its sender makes now, with nothing out of the ordinary. `len` is its whole length.
    pub fn new(
        now: Time,
        src: AddressId,
        dst: AddressId,
        flow: FlowId,
        len: u32,
        transport: Transport,
        payload: Payload,
    ) -> Self {
        Self {
            src,
            dst,
            flow,
            len,
            ttl: Self::DEFAULT_TTL,
            dscp: 0,
            ecn: Ecn::NotEct,
            corrupted: false,
            enqueued: now,
            transport,
            payload,
        }
    }

    /// The TCP header, whoever sent it.
    pub fn tcp(&self) -> Option<&TcpHeader> {
        match &self.transport {
            Transport::Tcp(header) => Some(header),
            Transport::Frame(frame) => match &frame.transport {
                packet::Transport::Tcp(header) => Some(header),
                _ => None,
            },
            Transport::Udp(_) | Transport::Icmp(_) => None,
        }
    }

    /// The ICMP header, whoever sent it.
    pub fn icmp(&self) -> Option<&IcmpHeader> {
        match &self.transport {
            Transport::Icmp(header) => Some(header),
            Transport::Frame(frame) => match &frame.transport {
                packet::Transport::Icmp(header) => Some(header),
                _ => None,
            },
            Transport::Tcp(_) | Transport::Udp(_) => None,
        }
    }

    /// Whether it carries UDP.
    pub fn is_udp(&self) -> bool {
        match &self.transport {
            Transport::Udp(_) => true,
            Transport::Frame(frame) => matches!(frame.transport, packet::Transport::Udp(_)),
            Transport::Tcp(_) | Transport::Icmp(_) => false,
        }
    }

    /// Source and destination port, where its transport has ports.
    pub fn ports(&self) -> Option<(u16, u16)> {
        let udp = |header: &UdpHeader| (header.src_port, header.dst_port);
        match &self.transport {
            Transport::Udp(header) => Some(udp(header)),
            Transport::Frame(frame) => match &frame.transport {
                packet::Transport::Udp(header) => Some(udp(header)),
                packet::Transport::Tcp(header) => Some((header.src_port, header.dst_port)),
                packet::Transport::Icmp(_) | packet::Transport::Other => None,
            },
            Transport::Tcp(header) => Some((header.src_port, header.dst_port)),
            Transport::Icmp(_) => None,
        }
    }
}
