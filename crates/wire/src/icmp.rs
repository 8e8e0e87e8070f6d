//! ICMP (RFC 792) and ICMPv6 (RFC 4443): echo, and errors that quote the packet they are about.
//!
//! One value serves both versions, as with [`IpHeader`]; which one it becomes its packet's addresses say.

use crate::checksum;
use crate::error::{Header, WireError};
use crate::field::{be16, be32};
use crate::ip::{IpHeader, Protocol};
use alloc::vec::Vec;
use core::net::IpAddr;

/// An ICMP message without what follows its eight bytes: the data of an echo, or the quoted packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IcmpHeader {
    /// Asks for a reply with the same numbers and data.
    EchoRequest(Echo),
    /// The reply.
    EchoReply(Echo),
    /// A packet could not be delivered.
    Unreachable(Unreachable),
    /// A packet was larger than the next link takes: fragmentation needed and DF set (RFC 1191 section 4), or Packet
    /// Too Big (RFC 4443 section 3.2).
    TooBig {
        /// The largest packet that the link takes, in bytes; zero from a router older than RFC 1191.
        mtu: u32,
    },
    /// A packet's last hop was behind it.
    TimeExceeded,
    /// Any other message, as its bytes have it.
    Other {
        /// The type field.
        kind: u8,
        /// The code field.
        code: u8,
        /// The second four bytes.
        rest: u32,
    },
}

/// The numbers of an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Echo {
    /// Identifier.
    pub identifier: u16,
    /// Sequence number.
    pub sequence: u16,
}

/// Why a packet could not be delivered; what one version does not tell apart becomes its nearest code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unreachable {
    /// No route leads there.
    Network,
    /// Its last router does not reach the host.
    Host,
    /// The host does not speak the transport; in ICMPv6 a Parameter Problem says so, which is not read as this.
    Protocol,
    /// Nobody listens at the port.
    Port,
    /// Another code.
    Other(u8),
}

/// Types and codes that both directions know: IPv4's and IPv6's.
const ECHO_REQUEST: [u8; 2] = [8, 128];
const ECHO_REPLY: [u8; 2] = [0, 129];
const UNREACHABLE: [u8; 2] = [3, 1];
const TIME_EXCEEDED: [u8; 2] = [11, 3];
/// Fragmentation needed is a code of IPv4's unreachable, and a type of its own in IPv6.
const V4_TOO_BIG: u8 = 4;
const V6_TOO_BIG: u8 = 2;

impl IcmpHeader {
    /// Length on the wire, in bytes.
    pub const LEN: u32 = 8;

    /// Where the checksum is, in bytes from the header's start.
    pub(crate) const CHECKSUM_AT: usize = 2;

    /// The protocol number of the version that a packet with this address speaks.
    pub const fn protocol(address: IpAddr) -> Protocol {
        if address.is_ipv4() { Protocol::Icmp } else { Protocol::Icmpv6 }
    }

    /// Whether it tells of an error: about such messages no errors are told (RFC 1122 section 3.2.2, RFC 4443
    /// section 2.4). Of messages that are not known, `kind` decides as that RFC has it; IPv4's are all taken for errors.
    pub const fn is_error(&self) -> bool {
        match self {
            Self::EchoRequest(_) | Self::EchoReply(_) => false,
            Self::Unreachable(_) | Self::TooBig { .. } | Self::TimeExceeded => true,
            Self::Other { kind, .. } => *kind < 128,
        }
    }

    /// Reads the header at the start of `bytes`, a whole message of the version of `v6`.
    pub fn parse(bytes: &[u8], v6: bool) -> Result<Self, WireError> {
        const LEN: usize = IcmpHeader::LEN as usize;
        let fixed =
            bytes.first_chunk::<LEN>().ok_or(WireError::truncated(Header::Icmp, 0, LEN, bytes.len()))?;
        let (kind, code, rest) = (fixed[0], fixed[1], be32(fixed, 4));
        let version = usize::from(v6);
        let echo = Echo { identifier: be16(fixed, 4), sequence: be16(fixed, 6) };
        Ok(match (kind, code) {
            (kind, 0) if kind == ECHO_REQUEST[version] => Self::EchoRequest(echo),
            (kind, 0) if kind == ECHO_REPLY[version] => Self::EchoReply(echo),
            (V6_TOO_BIG, 0) if v6 => Self::TooBig { mtu: rest },
            // RFC 1191 section 4: the low 16 bits, the others are not used.
            (kind, V4_TOO_BIG) if !v6 && kind == UNREACHABLE[0] => Self::TooBig { mtu: rest & 0xffff },
            (kind, code) if kind == UNREACHABLE[version] => Self::Unreachable(Unreachable::of(code, v6)),
            (kind, 0) if kind == TIME_EXCEEDED[version] => Self::TimeExceeded,
            _ => Self::Other { kind, code, rest },
        })
    }

    /// Appends the header of a message of the version of `v6` to `out`, its checksum zero;
    /// [`crate::packet::emit_icmp`] fills that in.
    pub fn emit(&self, v6: bool, out: &mut Vec<u8>) {
        let version = usize::from(v6);
        let numbers = |echo: &Echo| u32::from(echo.identifier) << 16 | u32::from(echo.sequence);
        let (kind, code, rest) = match self {
            Self::EchoRequest(echo) => (ECHO_REQUEST[version], 0, numbers(echo)),
            Self::EchoReply(echo) => (ECHO_REPLY[version], 0, numbers(echo)),
            Self::Unreachable(why) => (UNREACHABLE[version], why.code(v6), 0),
            Self::TooBig { mtu } if v6 => (V6_TOO_BIG, 0, *mtu),
            Self::TooBig { mtu } => (UNREACHABLE[0], V4_TOO_BIG, (*mtu).min(0xffff)),
            Self::TimeExceeded => (TIME_EXCEEDED[version], 0, 0),
            &Self::Other { kind, code, rest } => (kind, code, rest),
        };
        out.extend_from_slice(&[kind, code, 0, 0]);
        out.extend_from_slice(&rest.to_be_bytes());
    }
}

impl Unreachable {
    /// Codes of RFC 792 and RFC 4443 section 3.1.
    const fn of(code: u8, v6: bool) -> Self {
        match (code, v6) {
            (0, _) => Self::Network,
            (1, false) | (3, true) => Self::Host,
            (2, false) => Self::Protocol,
            (3, false) | (4, true) => Self::Port,
            (code, _) => Self::Other(code),
        }
    }

    const fn code(self, v6: bool) -> u8 {
        match (self, v6) {
            (Self::Network, _) => 0,
            (Self::Host, false) => 1,
            (Self::Host, true) | (Self::Port, false) => 3,
            (Self::Protocol, false) => 2,
            (Self::Protocol | Self::Port, true) => 4,
            (Self::Other(code), _) => code,
        }
    }
}

/// What an error says of the packet that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// Its source, whom the error is told.
    pub src: IpAddr,
    /// Its destination.
    pub dst: IpAddr,
    /// What it carries.
    pub protocol: Protocol,
    /// The first eight bytes behind its IP header: ports, and TCP's sequence number.
    pub transport: [u8; 8],
}

impl Quote {
    /// Bytes of a packet that an error quotes at most, so that the error has at most 576 bytes over IPv4 (RFC 1812 section
    /// 4.3.2.3) and 1280 over IPv6 (RFC 4443 section 2.4).
    pub const fn most(address: IpAddr) -> usize {
        match address {
            IpAddr::V4(_) => 576 - (IpHeader::V4_LEN + IcmpHeader::LEN) as usize,
            IpAddr::V6(_) => 1280 - (IpHeader::V6_LEN + IcmpHeader::LEN) as usize,
        }
    }

    /// Reads the beginning of a packet, which may be cut anywhere behind those eight bytes.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (header, start) = IpHeader::parse_beginning(bytes).ok()?;
        let transport = *bytes.get(start..)?.first_chunk()?;
        Some(Self { src: header.src, dst: header.dst, protocol: header.protocol, transport })
    }

    /// Source and destination port of TCP or UDP.
    pub fn ports(&self) -> (u16, u16) {
        (be16(&self.transport, 0), be16(&self.transport, 2))
    }

    /// TCP's sequence number.
    pub fn seq(&self) -> crate::tcp::Seq {
        crate::tcp::Seq(be32(&self.transport, 4))
    }
}

/// The checksum of a whole message: ICMPv6 has a pseudo header (RFC 4443 section 2.3), ICMP has none.
pub(crate) fn icmp_checksum(ip: &IpHeader, message: &[u8]) -> u16 {
    match ip.src {
        IpAddr::V4(_) => checksum::internet(message),
        IpAddr::V6(_) => checksum::transport(ip.src, ip.dst, ip.protocol.into(), message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_has_its_type_and_code_in_both_versions() {
        let echo = Echo { identifier: 0x1234, sequence: 7 };
        let cases: [(IcmpHeader, [u8; 8], [u8; 8]); 7] = [
            (IcmpHeader::EchoRequest(echo), [8, 0, 0, 0, 0x12, 0x34, 0, 7], [128, 0, 0, 0, 0x12, 0x34, 0, 7]),
            (IcmpHeader::EchoReply(echo), [0, 0, 0, 0, 0x12, 0x34, 0, 7], [129, 0, 0, 0, 0x12, 0x34, 0, 7]),
            (IcmpHeader::TooBig { mtu: 1400 }, [3, 4, 0, 0, 0, 0, 5, 120], [2, 0, 0, 0, 0, 0, 5, 120]),
            (IcmpHeader::TimeExceeded, [11, 0, 0, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0, 0]),
            (
                IcmpHeader::Unreachable(Unreachable::Network),
                [3, 0, 0, 0, 0, 0, 0, 0],
                [1, 0, 0, 0, 0, 0, 0, 0],
            ),
            (IcmpHeader::Unreachable(Unreachable::Host), [3, 1, 0, 0, 0, 0, 0, 0], [1, 3, 0, 0, 0, 0, 0, 0]),
            (IcmpHeader::Unreachable(Unreachable::Port), [3, 3, 0, 0, 0, 0, 0, 0], [1, 4, 0, 0, 0, 0, 0, 0]),
        ];
        for (header, v4, v6) in cases {
            for (version, expected) in [(false, v4), (true, v6)] {
                let mut bytes = Vec::new();
                header.emit(version, &mut bytes);
                assert_eq!(bytes, expected);
                assert_eq!(IcmpHeader::parse(&bytes, version), Ok(header));
            }
        }
    }

    #[test]
    fn what_is_not_known_is_kept() {
        for v6 in [false, true] {
            for kind in 0..=u8::MAX {
                for code in [0, 1, 4, 9, 255] {
                    let bytes = [kind, code, 0, 0, 0, 0, 1, 2];
                    let header = IcmpHeader::parse(&bytes, v6).expect("eight bytes");
                    let mut again = Vec::new();
                    header.emit(v6, &mut again);
                    // What a message does not use it does not say.
                    let used = matches!(header, IcmpHeader::Unreachable(_) | IcmpHeader::TimeExceeded);
                    assert_eq!(again[..4], bytes[..4], "{header:?}");
                    assert!(used || again[4..] == bytes[4..], "{header:?}");
                }
            }
        }
        assert!(IcmpHeader::parse(&[8, 0, 0, 0, 0, 0, 0], false).is_err());
    }
}
