//! The IP header, neutral between IPv4 (RFC 791) and IPv6 (RFC 8200).
//!
//! One value serves both, so that hosts, queues and transports need not care; the addresses say which of the
//! two it is. To change a packet that is already bytes, see [`patch`].

pub mod patch;

use crate::checksum;
use crate::error::{Header, WireError, WireErrorKind};
use crate::field::{be16, be32};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::Range;

/// An IP header; lengths and the header checksum follow from the rest.
///
/// Both addresses are of one family. What only one version carries is zero in the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpHeader {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// What the packet carries.
    pub protocol: Protocol,
    /// Time to live; the hop limit in IPv6.
    pub ttl: u8,
    /// Differentiated services code point (RFC 2474 section 3), below 64.
    pub dscp: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// IPv4 only: identifies the datagram that a fragment belongs to.
    pub identification: u16,
    /// IPv4 only: which part of a datagram this is.
    pub fragmentation: Fragmentation,
    /// IPv6 only: the flow label (RFC 6437), below 2^20.
    pub flow_label: u32,
}

/// The transport protocol, by its assigned number.
///
/// Made from its number, so that `Other` is never one of those that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP, 6.
    Tcp,
    /// UDP, 17.
    Udp,
    /// ICMP of IPv4, 1.
    Icmp,
    /// ICMP of IPv6, 58.
    Icmpv6,
    /// Any other. IPv6 extension headers are not walked: their number stands here, and they are payload.
    Other(u8),
}

/// The ECN field (RFC 3168 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// 00: the sender does not understand ECN; a queue can only drop.
    #[default]
    NotEct,
    /// 01: ECN-capable; since RFC 9331 the identifier of L4S.
    Ect1,
    /// 10: ECN-capable, what classic senders use.
    Ect0,
    /// 11: congestion experienced, set by a queue.
    Ce,
}

/// The fragmentation fields of IPv4 (RFC 791 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fragmentation {
    /// Routers must not fragment the packet.
    pub dont_fragment: bool,
    /// Further fragments of the datagram follow.
    pub more_fragments: bool,
    /// Where in the datagram the fragment begins, in units of 8 bytes; below 2^13.
    pub offset: u16,
}

const V4_LEN: usize = IpHeader::V4_LEN as usize;
const V6_LEN: usize = IpHeader::V6_LEN as usize;
/// Where the IPv4 header checksum is.
const V4_CHECKSUM_AT: usize = 10;

impl IpHeader {
    /// Length of an IPv4 header without options, in bytes.
    pub const V4_LEN: u32 = 20;
    /// Length of the fixed IPv6 header, in bytes.
    pub const V6_LEN: u32 = 40;
    /// The TTL that Linux and RFC 1700 give a packet.
    pub const DEFAULT_TTL: u8 = 64;

    /// The header of a whole packet as Linux sends them: path MTU discovery forbids to fragment it, and hence
    /// it needs no identification (RFC 6864 section 4.1).
    ///
    /// Panics if the addresses are of different families.
    pub fn new(src: IpAddr, dst: IpAddr, protocol: Protocol) -> Self {
        assert_eq!(src.is_ipv4(), dst.is_ipv4(), "both addresses of a packet are of one family");
        Self {
            src,
            dst,
            protocol,
            ttl: Self::DEFAULT_TTL,
            dscp: 0,
            ecn: Ecn::NotEct,
            identification: 0,
            fragmentation: Fragmentation { dont_fragment: src.is_ipv4(), ..Fragmentation::default() },
            flow_label: 0,
        }
    }

    /// Length on the wire, in bytes.
    pub const fn wire_len(&self) -> u32 {
        match self.src {
            IpAddr::V4(_) => Self::V4_LEN,
            IpAddr::V6(_) => Self::V6_LEN,
        }
    }

    /// Reads the header at the start of `bytes` and says where its payload is.
    ///
    /// The IPv4 header checksum is verified, IPv4 options are skipped. The payload ends where the length field
    /// says; bytes behind it are padding of the link. A packet longer than `bytes` is an error.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Range<usize>), WireError> {
        let (header, header_len, total) = Self::parse_lengths(bytes)?;
        if total > bytes.len() {
            let version = if header.src.is_ipv4() { Header::Ipv4 } else { Header::Ipv6 };
            return Err(WireError::truncated(version, 0, total, bytes.len()));
        }
        Ok((header, header_len..total))
    }

    /// Reads the header of a packet of which the end may be missing, and says where its payload begins.
    pub(crate) fn parse_beginning(bytes: &[u8]) -> Result<(Self, usize), WireError> {
        Self::parse_lengths(bytes).map(|(header, header_len, _)| (header, header_len))
    }

    /// The header, its length, and the packet's.
    fn parse_lengths(bytes: &[u8]) -> Result<(Self, usize, usize), WireError> {
        let first = bytes.first().ok_or(WireError::truncated(Header::Ip, 0, 1, 0))?;
        match first >> 4 {
            4 => Self::parse_v4(bytes),
            6 => Self::parse_v6(bytes),
            version => {
                Err(WireError { header: Header::Ip, offset: 0, kind: WireErrorKind::BadVersion { version } })
            }
        }
    }

    /// Appends the header of a packet with `payload_len` bytes of payload to `out`.
    ///
    /// Panics if the header is not one that a packet can have: addresses of different families, a field beyond
    /// its range, a packet longer than the length field can say (65,535 bytes, the IPv6 header not counted).
    pub fn emit(&self, payload_len: u32, out: &mut Vec<u8>) {
        assert!(self.dscp < 1 << 6, "a DSCP has 6 bits");
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => self.emit_v4(src, dst, payload_len, out),
            (IpAddr::V6(src), IpAddr::V6(dst)) => self.emit_v6(src, dst, payload_len, out),
            _ => panic!("both addresses of a packet are of one family"),
        }
    }

    /// RFC 791 section 3.1.
    fn parse_v4(bytes: &[u8]) -> Result<(Self, usize, usize), WireError> {
        let error = |offset, kind| WireError { header: Header::Ipv4, offset, kind };
        let truncated = |needed| WireError::truncated(Header::Ipv4, 0, needed, bytes.len());
        let fixed = bytes.first_chunk::<V4_LEN>().ok_or_else(|| truncated(V4_LEN))?;
        let header_len = usize::from(fixed[0] & 0x0f) * 4;
        if header_len < V4_LEN {
            return Err(error(0, WireErrorKind::BadLength { stated: header_len, least: V4_LEN }));
        }
        let header = bytes.get(..header_len).ok_or_else(|| truncated(header_len))?;
        let stated = be16(fixed, V4_CHECKSUM_AT);
        let residue = checksum::internet(header);
        if residue != 0 {
            let computed = checksum::update(residue, stated, 0);
            return Err(error(V4_CHECKSUM_AT, WireErrorKind::BadChecksum { stated, computed }));
        }
        let total = usize::from(be16(fixed, 2));
        if total < header_len {
            return Err(error(2, WireErrorKind::BadLength { stated: total, least: header_len }));
        }
        let header = Self {
            src: Ipv4Addr::from_bits(be32(fixed, 12)).into(),
            dst: Ipv4Addr::from_bits(be32(fixed, 16)).into(),
            protocol: Protocol::from(fixed[9]),
            ttl: fixed[8],
            dscp: fixed[1] >> 2,
            ecn: Ecn::from_bits(fixed[1]),
            identification: be16(fixed, 4),
            fragmentation: Fragmentation::from_bits(be16(fixed, 6)),
            flow_label: 0,
        };
        Ok((header, header_len, total))
    }

    /// RFC 8200 section 3. Jumbograms (RFC 2675) are not spoken: they look like an empty packet.
    fn parse_v6(bytes: &[u8]) -> Result<(Self, usize, usize), WireError> {
        let truncated = |needed| WireError::truncated(Header::Ipv6, 0, needed, bytes.len());
        let fixed = bytes.first_chunk::<V6_LEN>().ok_or_else(|| truncated(V6_LEN))?;
        let total = V6_LEN + usize::from(be16(fixed, 4));
        let (version_class_flow, class) = (be32(fixed, 0), (be16(fixed, 0) >> 4) as u8);
        let segments = |at| Ipv6Addr::from_segments(core::array::from_fn(|i| be16(fixed, at + 2 * i)));
        let header = Self {
            src: segments(8).into(),
            dst: segments(24).into(),
            protocol: Protocol::from(fixed[6]),
            ttl: fixed[7],
            dscp: class >> 2,
            ecn: Ecn::from_bits(class),
            identification: 0,
            fragmentation: Fragmentation::default(),
            flow_label: version_class_flow & 0x000f_ffff,
        };
        Ok((header, V6_LEN, total))
    }

    fn emit_v4(&self, src: Ipv4Addr, dst: Ipv4Addr, payload_len: u32, out: &mut Vec<u8>) {
        let total = u16::try_from(u64::from(Self::V4_LEN) + u64::from(payload_len))
            .expect("an IPv4 packet is at most 65535 bytes");
        let start = out.len();
        out.extend_from_slice(&[0x45, self.traffic_class()]);
        out.extend_from_slice(&total.to_be_bytes());
        out.extend_from_slice(&self.identification.to_be_bytes());
        out.extend_from_slice(&self.fragmentation.bits().to_be_bytes());
        out.extend_from_slice(&[self.ttl, self.protocol.into(), 0, 0]);
        out.extend_from_slice(&src.octets());
        out.extend_from_slice(&dst.octets());
        let checksum = checksum::internet(&out[start..]);
        out[start + V4_CHECKSUM_AT..][..2].copy_from_slice(&checksum.to_be_bytes());
    }

    fn emit_v6(&self, src: Ipv6Addr, dst: Ipv6Addr, payload_len: u32, out: &mut Vec<u8>) {
        assert!(self.flow_label < 1 << 20, "a flow label has 20 bits");
        let length =
            u16::try_from(payload_len).expect("the payload of an IPv6 packet is at most 65535 bytes");
        let version_class_flow = 6 << 28 | u32::from(self.traffic_class()) << 20 | self.flow_label;
        out.extend_from_slice(&version_class_flow.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&[self.protocol.into(), self.ttl]);
        out.extend_from_slice(&src.octets());
        out.extend_from_slice(&dst.octets());
    }

    /// DSCP and ECN share a byte: the type of service of IPv4, the traffic class of IPv6 (RFC 3168 section 5).
    const fn traffic_class(&self) -> u8 {
        self.dscp << 2 | self.ecn.bits()
    }
}

impl From<u8> for Protocol {
    fn from(number: u8) -> Self {
        match number {
            6 => Self::Tcp,
            17 => Self::Udp,
            1 => Self::Icmp,
            58 => Self::Icmpv6,
            other => Self::Other(other),
        }
    }
}

impl From<Protocol> for u8 {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
            Protocol::Icmp => 1,
            Protocol::Icmpv6 => 58,
            Protocol::Other(other) => other,
        }
    }
}

impl Ecn {
    /// The code point in the two low bits of `byte`; the others are the DSCP's.
    pub const fn from_bits(byte: u8) -> Self {
        match byte & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The code point as two bits.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }

    /// Whether a queue may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

impl Fragmentation {
    const DONT_FRAGMENT: u16 = 1 << 14;
    const MORE_FRAGMENTS: u16 = 1 << 13;

    /// Whether the packet is a part of a datagram and not a whole one.
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.offset != 0
    }

    /// The reserved bit is ignored.
    const fn from_bits(bits: u16) -> Self {
        Self {
            dont_fragment: bits & Self::DONT_FRAGMENT != 0,
            more_fragments: bits & Self::MORE_FRAGMENTS != 0,
            offset: bits & 0x1fff,
        }
    }

    fn bits(self) -> u16 {
        assert!(self.offset < 1 << 13, "a fragment offset has 13 bits");
        let flag = |set, bit| if set { bit } else { 0 };
        flag(self.dont_fragment, Self::DONT_FRAGMENT)
            | flag(self.more_fragments, Self::MORE_FRAGMENTS)
            | self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by hand: DSCP 46 (EF), ECT(0), DF, TTL 64, UDP.
    const V4: [u8; 20] =
        [0x45, 0xba, 0x00, 0x14, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0x13, 0xe9, 10, 0, 0, 1, 10, 0, 0, 2];

    fn v4_header() -> IpHeader {
        IpHeader {
            dscp: 46,
            ecn: Ecn::Ect0,
            identification: 0x1234,
            ..IpHeader::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), Protocol::Udp)
        }
    }

    #[test]
    fn every_ipv4_field_has_its_place() {
        let mut bytes = Vec::new();
        v4_header().emit(0, &mut bytes);
        assert_eq!(bytes, V4);
        assert_eq!(IpHeader::parse(&V4), Ok((v4_header(), 20..20)));
    }

    #[test]
    fn every_ipv6_field_has_its_place() {
        let src = Ipv6Addr::new(0xfd00, 1, 2, 3, 4, 5, 6, 7);
        let dst = Ipv6Addr::new(0xfd00, 8, 9, 10, 11, 12, 13, 14);
        let header = IpHeader {
            ttl: 3,
            dscp: 0b10_1110,
            ecn: Ecn::Ce,
            flow_label: 0x12345,
            ..IpHeader::new(src.into(), dst.into(), Protocol::Tcp)
        };
        let mut bytes = Vec::new();
        header.emit(2, &mut bytes);
        assert_eq!(bytes[..8], [0x6b, 0xb1, 0x23, 0x45, 0x00, 0x02, 6, 3]);
        assert_eq!(bytes[8..24], src.octets());
        assert_eq!(bytes[24..], dst.octets());
        bytes.extend_from_slice(&[1, 2, 0xff]);
        assert_eq!(IpHeader::parse(&bytes), Ok((header, 40..42)), "the last byte is padding of the link");
    }

    #[test]
    fn ipv4_options_are_skipped() {
        let mut bytes = V4.to_vec();
        bytes[0] = 0x46;
        bytes[3] = 25;
        bytes.extend_from_slice(&[0x94, 0x04, 0, 0, 0xaa]); // router alert, one byte of payload
        bytes[10..12].fill(0);
        let checksum = checksum::internet(&bytes[..24]);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        assert_eq!(IpHeader::parse(&bytes), Ok((v4_header(), 24..25)));
    }

    #[test]
    fn a_damaged_ipv4_header_is_an_error_that_knows_the_right_checksum() {
        let mut bytes = V4;
        bytes[10] ^= 1;
        let kind = WireErrorKind::BadChecksum { stated: 0x12e9, computed: 0x13e9 };
        assert_eq!(IpHeader::parse(&bytes), Err(WireError { header: Header::Ipv4, offset: 10, kind }));
    }

    #[test]
    fn impossible_lengths_and_versions_are_errors() {
        let kind_of = |bytes: &[u8]| IpHeader::parse(bytes).expect_err("the header is malformed").kind;
        assert_eq!(kind_of(&[]), WireErrorKind::Truncated { needed: 1, available: 0 });
        assert_eq!(kind_of(&[0x50]), WireErrorKind::BadVersion { version: 5 });
        assert_eq!(kind_of(&V4[..19]), WireErrorKind::Truncated { needed: 20, available: 19 });
        assert_eq!(kind_of(&[0x60; 39]), WireErrorKind::Truncated { needed: 40, available: 39 });
        let with = |at: usize, byte: u8| {
            let mut bytes = V4;
            bytes[at] = byte;
            bytes
        };
        assert_eq!(kind_of(&with(0, 0x44)), WireErrorKind::BadLength { stated: 16, least: 20 });
        assert_eq!(kind_of(&with(0, 0x46)), WireErrorKind::Truncated { needed: 24, available: 20 });
        let mut short = with(3, 19);
        short[11] += 1; // the checksum, for one less in the length
        assert_eq!(kind_of(&short), WireErrorKind::BadLength { stated: 19, least: 20 });
    }
}
