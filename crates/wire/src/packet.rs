//! Whole IP packets: headers and payload to bytes, and bytes to where everything is.
//!
//! This is the edge at which packets stop being values. What comes in is untrusted: parsing answers with an
//! error, never with a panic.

use crate::checksum;
use crate::error::WireError;
use crate::field::be16;
use crate::icmp::{IcmpHeader, icmp_checksum};
use crate::ip::{IpHeader, Protocol};
use crate::payload::Payload;
use crate::tcp::TcpHeader;
use crate::udp::UdpHeader;
use alloc::vec::Vec;
use core::ops::Range;

/// What a packet's bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The IP header.
    pub ip: IpHeader,
    /// The header behind it.
    pub transport: Transport,
    /// Where in the packet's bytes the payload is: what the transport carries, or all behind the IP header
    /// where the transport is not known.
    pub payload: Range<usize>,
    /// Whether the transport's checksum holds.
    pub checksum: ChecksumStatus,
}

/// The header behind the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp(TcpHeader),
    /// UDP.
    Udp(UdpHeader),
    /// ICMP, of the version that the addresses say.
    Icmp(IcmpHeader),
    /// Another protocol, or a fragment: only the first one has the transport's header, and none its checksum.
    Other,
}

/// What the transport's checksum says.
///
/// A value and not an error: a link that delivers damaged packets is something to simulate, and a kernel hands
/// a device with checksum offload packets whose checksum is still to be completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumStatus {
    /// It holds.
    Good,
    /// It does not hold. Also a UDP datagram without one over IPv6, which forbids that (RFC 8200 section 8.1).
    Bad,
    /// The sender gave none: UDP over IPv4 (RFC 768).
    Absent,
    /// There is none that could be verified: [`Transport::Other`].
    Unverified,
}

/// Appends a whole TCP packet to `out`, with its lengths and checksums.
///
/// Panics where [`IpHeader::emit`] and [`TcpHeader::emit`] do, and if `ip` does not announce TCP.
pub fn emit_tcp(ip: &IpHeader, tcp: &TcpHeader, payload: &Payload, out: &mut Vec<u8>) {
    assert_eq!(ip.protocol, Protocol::Tcp, "the IP header announces what it carries");
    let segment_len = tcp.wire_len().saturating_add(payload.len());
    ip.emit(segment_len, out);
    out.reserve(segment_len as usize);
    let segment = out.len();
    tcp.emit(out);
    payload.write_to(out);
    let checksum = transport_checksum(ip, &out[segment..]);
    put_checksum(out, segment + TcpHeader::CHECKSUM_AT, checksum);
}

/// Appends a whole UDP packet to `out`, with its lengths and checksums.
///
/// Panics where [`IpHeader::emit`] and [`UdpHeader::emit`] do, and if `ip` does not announce UDP.
pub fn emit_udp(ip: &IpHeader, udp: &UdpHeader, payload: &Payload, out: &mut Vec<u8>) {
    assert_eq!(ip.protocol, Protocol::Udp, "the IP header announces what it carries");
    let datagram_len = UdpHeader::LEN.saturating_add(payload.len());
    ip.emit(datagram_len, out);
    out.reserve(datagram_len as usize);
    let datagram = out.len();
    udp.emit(payload.len(), out);
    payload.write_to(out);
    // Zero would say "none" (RFC 768); in ones' complement 0xffff is the same number.
    let checksum = match transport_checksum(ip, &out[datagram..]) {
        0 => 0xffff,
        checksum => checksum,
    };
    put_checksum(out, datagram + UdpHeader::CHECKSUM_AT, checksum);
}

/// Appends a whole ICMP packet to `out`, with its lengths and checksums.
///
/// Panics where [`IpHeader::emit`] does, and if `ip` does not announce ICMP of its version.
pub fn emit_icmp(ip: &IpHeader, icmp: &IcmpHeader, payload: &Payload, out: &mut Vec<u8>) {
    assert_eq!(ip.protocol, IcmpHeader::protocol(ip.src), "the IP header announces what it carries");
    ip.emit(IcmpHeader::LEN.saturating_add(payload.len()), out);
    let message = out.len();
    icmp.emit(ip.src.is_ipv6(), out);
    payload.write_to(out);
    let checksum = icmp_checksum(ip, &out[message..]);
    put_checksum(out, message + IcmpHeader::CHECKSUM_AT, checksum);
}

/// Reads the packet at the start of `packet`.
///
/// If only the transport is malformed, [`IpHeader::parse`] still says where the packet is bound for.
pub fn parse_packet(packet: &[u8]) -> Result<Parsed, WireError> {
    let (ip, carried) = IpHeader::parse(packet)?;
    let start = carried.start;
    let segment = &packet[carried.clone()];
    let moved = |error: WireError| error.moved_by(start);
    Ok(match ip.protocol {
        Protocol::Tcp if !ip.fragmentation.is_fragment() => {
            let (tcp, header_len) = TcpHeader::parse(segment).map_err(moved)?;
            let payload = start + header_len..carried.end;
            Parsed { ip, transport: Transport::Tcp(tcp), payload, checksum: verify(&ip, segment) }
        }
        Protocol::Udp if !ip.fragmentation.is_fragment() => {
            let (udp, body) = UdpHeader::parse(segment).map_err(moved)?;
            let checksum = verify_udp(&ip, &segment[..body.end]);
            let payload = start + body.start..start + body.end;
            Parsed { ip, transport: Transport::Udp(udp), payload, checksum }
        }
        Protocol::Icmp | Protocol::Icmpv6
            if !ip.fragmentation.is_fragment() && ip.protocol == IcmpHeader::protocol(ip.src) =>
        {
            let icmp = IcmpHeader::parse(segment, ip.src.is_ipv6()).map_err(moved)?;
            let checksum = match icmp_checksum(&ip, segment) {
                0 => ChecksumStatus::Good,
                _ => ChecksumStatus::Bad,
            };
            let payload = start + IcmpHeader::LEN as usize..carried.end;
            Parsed { ip, transport: Transport::Icmp(icmp), payload, checksum }
        }
        _ => {
            Parsed { ip, transport: Transport::Other, payload: carried, checksum: ChecksumStatus::Unverified }
        }
    })
}

/// Puts the checksum of TCP or UDP right in the packet that `packet` begins with; a UDP datagram that has none keeps none.
///
/// # Errors
/// As [`parse_packet`]; then nothing is changed.
pub fn set_checksum(packet: &mut [u8]) -> Result<(), WireError> {
    let Parsed { ip, transport, payload, checksum } = parse_packet(packet)?;
    let (_, carried) = IpHeader::parse(packet)?;
    let (at, end) = match transport {
        Transport::Tcp(_) => (TcpHeader::CHECKSUM_AT, carried.end),
        Transport::Udp(_) if checksum != ChecksumStatus::Absent => (UdpHeader::CHECKSUM_AT, payload.end),
        Transport::Udp(_) | Transport::Icmp(_) | Transport::Other => return Ok(()),
    };
    let segment = &mut packet[carried.start..end];
    put_checksum(segment, at, 0);
    let sum = match (transport_checksum(&ip, segment), transport) {
        (0, Transport::Udp(_)) => 0xffff,
        (sum, _) => sum,
    };
    put_checksum(segment, at, sum);
    Ok(())
}

fn verify(ip: &IpHeader, segment: &[u8]) -> ChecksumStatus {
    match transport_checksum(ip, segment) {
        0 => ChecksumStatus::Good,
        _ => ChecksumStatus::Bad,
    }
}

fn verify_udp(ip: &IpHeader, datagram: &[u8]) -> ChecksumStatus {
    let stated = datagram.first_chunk::<8>().map_or(0, |header| be16(header, UdpHeader::CHECKSUM_AT));
    match stated {
        0 if ip.src.is_ipv4() => ChecksumStatus::Absent,
        0 => ChecksumStatus::Bad,
        _ => verify(ip, datagram),
    }
}

fn transport_checksum(ip: &IpHeader, segment: &[u8]) -> u16 {
    checksum::transport(ip.src, ip.dst, ip.protocol.into(), segment)
}

fn put_checksum(out: &mut [u8], at: usize, checksum: u16) {
    out[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::icmp::{Echo, Quote};
    use crate::tcp::{Seq, TcpFlags, TcpOptions, Timestamps};
    use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    /// The bytes of `hex`, which may contain spaces.
    fn bytes_of(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    /// What Linux 6.18 sent over its loopback interface, which leaves transport checksums to be completed:
    /// the checksum status of both is `Bad`, everything else is to be reproduced.
    const LINUX_TCP_DATA: &str = "45000036 8a164000 4006b2a9 7f000001 7f000001 \
         ad0cd043 2d9e6429 f2d5bb05 80180040 fe2a0000 0101080a 0ab0a319 d35d6de6 6869";
    const LINUX_UDP_OVER_V6: &str = "600eddb0 000b1140 00000000000000000000000000000001 \
         00000000000000000000000000000001 ec310009 000b001e 78797a";

    #[test]
    fn a_tcp_packet_of_linux_is_reproduced_but_for_its_unfinished_checksum() {
        let mut captured = bytes_of(LINUX_TCP_DATA);
        let ip = IpHeader { identification: 0x8a16, ..IpHeader::new(V4, V4, Protocol::Tcp) };
        let timestamps = Timestamps { value: 0x0ab0_a319, echo: 0xd35d_6de6 };
        let tcp = TcpHeader {
            src_port: 0xad0c,
            dst_port: 0xd043,
            seq: Seq(0x2d9e_6429),
            ack: Seq(0xf2d5_bb05),
            flags: TcpFlags::ACK | TcpFlags::PSH,
            window: 64,
            options: TcpOptions { timestamps: Some(timestamps), ..TcpOptions::default() },
        };
        let expected =
            Parsed { ip, transport: Transport::Tcp(tcp), payload: 52..54, checksum: ChecksumStatus::Bad };
        assert_eq!(parse_packet(&captured), Ok(expected));
        let mut ours = Vec::new();
        emit_tcp(&ip, &tcp, &Payload::bytes(bytes::Bytes::from_static(b"hi")), &mut ours);
        captured[36..38].copy_from_slice(&ours[36..38]);
        assert_eq!(ours, captured);
    }

    #[test]
    fn a_udp_packet_of_linux_is_reproduced_but_for_its_unfinished_checksum() {
        let mut captured = bytes_of(LINUX_UDP_OVER_V6);
        let ip = IpHeader { flow_label: 0xe_ddb0, ..IpHeader::new(V6, V6, Protocol::Udp) };
        let udp = UdpHeader { src_port: 0xec31, dst_port: 9 };
        let expected =
            Parsed { ip, transport: Transport::Udp(udp), payload: 48..51, checksum: ChecksumStatus::Bad };
        assert_eq!(parse_packet(&captured), Ok(expected));
        let mut ours = Vec::new();
        emit_udp(&ip, &udp, &Payload::bytes(bytes::Bytes::from_static(b"xyz")), &mut ours);
        captured[46..48].copy_from_slice(&ours[46..48]);
        assert_eq!(ours, captured);
    }

    /// An empty datagram whose checksum comes out as `0xffff` because its sum is zero.
    fn datagram_with_sum_zero(address: IpAddr) -> Vec<u8> {
        let ip = IpHeader::new(address, address, Protocol::Udp);
        let mut probe = Vec::new();
        emit_udp(&ip, &UdpHeader { src_port: 0, dst_port: 0 }, &Payload::Empty, &mut probe);
        let missing = be16(probe.last_chunk::<2>().expect("the checksum is last"), 0);
        let mut bytes = Vec::new();
        emit_udp(&ip, &UdpHeader { src_port: missing, dst_port: 0 }, &Payload::Empty, &mut bytes);
        bytes
    }

    #[test]
    fn a_udp_checksum_of_zero_is_sent_as_all_ones() {
        for address in [V4, V6] {
            let bytes = datagram_with_sum_zero(address);
            assert_eq!(bytes.last_chunk(), Some(&[0xff, 0xff]));
            assert_eq!(parse_packet(&bytes).map(|parsed| parsed.checksum), Ok(ChecksumStatus::Good));
        }
    }

    #[test]
    fn a_missing_udp_checksum_is_allowed_in_ipv4_only() {
        for (address, status) in [(V4, ChecksumStatus::Absent), (V6, ChecksumStatus::Bad)] {
            let mut bytes = datagram_with_sum_zero(address);
            let end = bytes.len();
            bytes[end - 2..].fill(0);
            assert_eq!(parse_packet(&bytes).map(|parsed| parsed.checksum), Ok(status));
        }
    }

    /// What Linux 6.18 answered to an echo request with the data 1 2 3 4 over its loopback interface.
    const LINUX_ECHO_REPLY: &str = "45000020 1fec0000 40015cef 7f000001 7f000001 0000aeaa 4d4e0001 01020304";

    #[test]
    fn an_echo_is_read_and_written_and_its_checksum_holds() {
        let bytes = bytes_of(LINUX_ECHO_REPLY);
        let parsed = parse_packet(&bytes).expect("an echo reply");
        assert_eq!(parsed.checksum, ChecksumStatus::Good);
        let echo = IcmpHeader::EchoReply(Echo { identifier: 0x4d4e, sequence: 1 });
        assert_eq!((parsed.transport, parsed.payload.clone()), (Transport::Icmp(echo), 28..32));
        for address in [V4, V6] {
            let ip = IpHeader::new(address, address, IcmpHeader::protocol(address));
            let mut ours = Vec::new();
            emit_icmp(&ip, &echo, &Payload::bytes(bytes[28..].to_vec().into()), &mut ours);
            let parsed = parse_packet(&ours).expect("an echo reply");
            assert_eq!((parsed.transport, parsed.checksum), (Transport::Icmp(echo), ChecksumStatus::Good));
            *ours.last_mut().expect("data") ^= 1;
            let damaged = parse_packet(&ours).expect("an echo reply");
            assert_eq!(damaged.checksum, ChecksumStatus::Bad);
        }
    }

    #[test]
    fn a_quote_is_read_wherever_it_is_cut_behind_eight_bytes_of_transport() {
        let packet = bytes_of(LINUX_TCP_DATA);
        for len in 0..packet.len() {
            match Quote::parse(&packet[..len]) {
                None => assert!(len < 28, "{len} bytes are enough"),
                Some(quote) => {
                    assert!(len >= 28, "{len} bytes are too few");
                    assert_eq!((quote.src, quote.dst, quote.protocol), (V4, V4, Protocol::Tcp));
                    assert_eq!((quote.ports(), quote.seq()), ((0xad0c, 0xd043), Seq(0x2d9e_6429)));
                }
            }
        }
    }

    #[test]
    fn a_checksum_is_put_right_where_there_is_one() {
        for hex in [LINUX_TCP_DATA, LINUX_UDP_OVER_V6] {
            let mut bytes = bytes_of(hex);
            let before = parse_packet(&bytes).expect("a packet");
            set_checksum(&mut bytes).expect("a packet");
            assert_eq!(parse_packet(&bytes), Ok(Parsed { checksum: ChecksumStatus::Good, ..before }));
        }
        let mut without = Vec::new();
        emit_udp(
            &IpHeader::new(V4, V4, Protocol::Udp),
            &UdpHeader::default(),
            &Payload::pattern(1, 0, 3),
            &mut without,
        );
        without[26..28].fill(0);
        let before = without.clone();
        set_checksum(&mut without).expect("a packet");
        assert_eq!(without, before);
    }

    #[test]
    fn a_fragment_has_no_transport() {
        for protocol in [Protocol::Tcp, Protocol::Udp] {
            let mut ip = IpHeader::new(V4, V4, protocol);
            ip.fragmentation.more_fragments = true;
            let mut bytes = Vec::new();
            ip.emit(3, &mut bytes);
            bytes.extend_from_slice(&[1, 2, 3]);
            let (transport, checksum) = (Transport::Other, ChecksumStatus::Unverified);
            assert_eq!(parse_packet(&bytes), Ok(Parsed { ip, transport, payload: 20..23, checksum }));
        }
    }

    #[test]
    fn what_follows_a_datagram_in_its_packet_is_neither_payload_nor_summed() {
        let mut whole = Vec::new();
        let ip = IpHeader::new(V4, V4, Protocol::Udp);
        emit_udp(&ip, &UdpHeader::default(), &Payload::pattern(1, 0, 10), &mut whole);
        let mut bytes = Vec::new();
        ip.emit(18 + 2, &mut bytes);
        bytes.extend_from_slice(&whole[20..]);
        bytes.extend_from_slice(&[0xaa, 0xbb]);
        let parsed = parse_packet(&bytes).expect("a datagram may be shorter than its packet");
        assert_eq!((parsed.payload, parsed.checksum), (28..38, ChecksumStatus::Good));
    }

    #[test]
    fn an_error_in_the_transport_counts_from_the_start_of_the_packet() {
        let mut bytes = bytes_of(LINUX_TCP_DATA);
        bytes[20 + 12] = 0x40;
        let error = parse_packet(&bytes).expect_err("the data offset is inside the fixed header");
        assert_eq!(error.offset, 32);
    }
}
