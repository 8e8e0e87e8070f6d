//! Ethernet II frames, and ARP (RFC 826) for IPv4 over them: what a TAP device speaks.

use crate::error::{Header, WireError, WireErrorKind};
use crate::field::be16;
use alloc::vec::Vec;
use core::fmt;
use core::net::Ipv4Addr;

/// Length of a frame's header; there is no trailer.
pub const HEADER_LEN: usize = 14;
/// Length of an ARP message for IPv4 over Ethernet.
pub const ARP_LEN: usize = 28;

/// An address of the link layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Everybody's.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// Nobody's: asked for.
    pub const UNKNOWN: Self = Self([0; 6]);
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = self.0;
        write!(f, "{first:02x}")?;
        rest.iter().try_for_each(|octet| write!(f, ":{octet:02x}"))
    }
}

/// What a frame carries (EtherType).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EtherType {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// Address resolution.
    Arp,
    /// Something else.
    Other(u16),
}

impl EtherType {
    /// The number on the wire.
    pub const fn number(self) -> u16 {
        match self {
            Self::Ipv4 => 0x0800,
            Self::Arp => 0x0806,
            Self::Ipv6 => 0x86dd,
            Self::Other(number) => number,
        }
    }

    const fn from_number(number: u16) -> Self {
        match number {
            0x0800 => Self::Ipv4,
            0x0806 => Self::Arp,
            0x86dd => Self::Ipv6,
            other => Self::Other(other),
        }
    }
}

/// A frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EthernetHeader {
    /// Whom it is for.
    pub dst: MacAddress,
    /// Who sent it.
    pub src: MacAddress,
    /// What follows.
    pub ether_type: EtherType,
}

impl EthernetHeader {
    /// The header in front of an IP packet, whose first bits say of which version it is.
    pub fn of_packet(dst: MacAddress, src: MacAddress, packet: &[u8]) -> Self {
        let v6 = packet.first().is_some_and(|octet| octet >> 4 == 6);
        Self { dst, src, ether_type: if v6 { EtherType::Ipv6 } else { EtherType::Ipv4 } }
    }

    /// Reads the header of `frame`.
    ///
    /// # Errors
    /// The frame is shorter than a header.
    pub fn parse(frame: &[u8]) -> Result<Self, WireError> {
        let header: &[u8; HEADER_LEN] = first(frame, Header::Ethernet)?;
        Ok(Self {
            dst: mac(header, 0),
            src: mac(header, 6),
            ether_type: EtherType::from_number(be16(header, 12)),
        })
    }

    /// The header's bytes.
    pub fn emit(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..6].copy_from_slice(&self.dst.0);
        bytes[6..12].copy_from_slice(&self.src.0);
        bytes[12..].copy_from_slice(&self.ether_type.number().to_be_bytes());
        bytes
    }
}

/// What an ARP message does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArpOperation {
    /// Asks who has the target's address.
    Request,
    /// Answers.
    Reply,
}

/// An ARP message for IPv4 over Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arp {
    /// Asks or answers.
    pub operation: ArpOperation,
    /// Who says it; [`Ipv4Addr::UNSPECIFIED`] who only tries whether an address is free (RFC 5227).
    pub sender: (MacAddress, Ipv4Addr),
    /// Whom it is about.
    pub target: (MacAddress, Ipv4Addr),
}

impl Arp {
    /// Hardware type 1 (Ethernet), protocol IPv4, address lengths 6 and 4.
    const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];

    /// Reads the message that a frame carries.
    ///
    /// # Errors
    /// It is too short, of other protocols, or neither a request nor a reply.
    pub fn parse(message: &[u8]) -> Result<Self, WireError> {
        let message: &[u8; ARP_LEN] = first(message, Header::Arp)?;
        let unsupported =
            |offset| WireError { header: Header::Arp, offset, kind: WireErrorKind::Unsupported };
        if message[..6] != Self::KIND {
            return Err(unsupported(0));
        }
        let operation = match be16(message, 6) {
            1 => ArpOperation::Request,
            2 => ArpOperation::Reply,
            _ => return Err(unsupported(6)),
        };
        let party = |at: usize| (mac(message, at), ip(message, at + 6));
        Ok(Self { operation, sender: party(8), target: party(18) })
    }

    /// Appends the message to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&Self::KIND);
        let operation: u16 = match self.operation {
            ArpOperation::Request => 1,
            ArpOperation::Reply => 2,
        };
        out.extend_from_slice(&operation.to_be_bytes());
        for (mac, ip) in [self.sender, self.target] {
            out.extend_from_slice(&mac.0);
            out.extend_from_slice(&ip.octets());
        }
    }
}

fn first<const N: usize>(bytes: &[u8], header: Header) -> Result<&[u8; N], WireError> {
    bytes.first_chunk().ok_or_else(|| WireError::truncated(header, 0, N, bytes.len()))
}

fn mac(bytes: &[u8], at: usize) -> MacAddress {
    let mut address = [0; 6];
    address.copy_from_slice(&bytes[at..at + 6]);
    MacAddress(address)
}

fn ip(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request as Linux sends it, from a capture.
    const REQUEST: [u8; 42] = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0, 0, 0, 0x01, 0x08, 0x06, // Ethernet
        0, 1, 8, 0, 6, 4, 0, 1, // ARP for IPv4, request
        0x02, 0, 0, 0, 0, 0x01, 10, 0, 0, 1, // from
        0, 0, 0, 0, 0, 0, 10, 0, 0, 2, // about
    ];

    #[test]
    fn a_request_is_read_and_written_again() {
        let header = EthernetHeader::parse(&REQUEST).expect("a whole frame");
        let host = MacAddress([2, 0, 0, 0, 0, 1]);
        assert_eq!(alloc::string::ToString::to_string(&host), "02:00:00:00:00:01");
        assert_eq!((header.dst, header.src), (MacAddress::BROADCAST, host));
        assert_eq!(header.ether_type, EtherType::Arp);
        assert_eq!(header.emit(), REQUEST[..HEADER_LEN]);
        let arp = Arp::parse(&REQUEST[HEADER_LEN..]).expect("a whole message");
        assert_eq!(arp.operation, ArpOperation::Request);
        assert_eq!(arp.sender, (host, Ipv4Addr::new(10, 0, 0, 1)));
        assert_eq!(arp.target, (MacAddress::UNKNOWN, Ipv4Addr::new(10, 0, 0, 2)));
        let mut bytes = Vec::new();
        arp.emit(&mut bytes);
        assert_eq!(bytes, REQUEST[HEADER_LEN..]);
    }

    #[test]
    fn what_is_short_or_of_another_protocol_is_refused() {
        for len in 0..HEADER_LEN {
            EthernetHeader::parse(&REQUEST[..len]).expect_err("too short");
        }
        for len in 0..ARP_LEN {
            Arp::parse(&REQUEST[HEADER_LEN..HEADER_LEN + len]).expect_err("too short");
        }
        for at in 0..8 {
            let mut message = REQUEST;
            message[HEADER_LEN + at] ^= 0x40;
            let error = Arp::parse(&message[HEADER_LEN..]).expect_err("another protocol");
            assert_eq!(error.header, Header::Arp);
        }
    }
}
