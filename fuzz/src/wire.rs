//! Bytes as a wire would bring them: parsing never panics, what was parsed can be emitted and is then parsed alike, and a
//! patch changes what it says and nothing else.

use crate::source::Source;
use voxpath_wire::Payload;
use voxpath_wire::ethernet::{Arp, EthernetHeader, HEADER_LEN};
use voxpath_wire::icmp::Quote;
use voxpath_wire::ip::{Ecn, IpHeader, Protocol, patch};
use voxpath_wire::packet::{ChecksumStatus, Parsed, Transport, emit_icmp, emit_tcp, emit_udp, parse_packet};
use voxpath_wire::tcp::TcpHeader;
use voxpath_wire::tcp::mptcp::MptcpOption;

/// Addresses that a packet made here may have.
const V4: [[u8; 4]; 2] = [[10, 0, 0, 1], [10, 0, 0, 2]];

/// Panics if something does not hold. The first byte says at which layer the rest begins.
pub fn run(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    let layer = source.below(6);
    let numbers = (source.u8(), Ecn::from_bits(source.u8()));
    let rest = source.take(bytes.len());
    match layer {
        0 => packet(rest, numbers),
        1 => frame(rest, numbers),
        2 => {
            tcp(rest);
            mptcp(rest);
        }
        3 => packet(&behind(Protocol::Tcp, rest), numbers),
        4 => packet(&behind(Protocol::Udp, rest), numbers),
        _ => packet(&behind(Protocol::Icmp, rest), numbers),
    }
}

/// Bytes behind an IP header that announces them: arbitrary ones hardly ever have its checksum.
fn behind(protocol: Protocol, bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.len().min(usize::from(u16::MAX) - IpHeader::V4_LEN as usize)];
    let mut packet = Vec::new();
    IpHeader::new(V4[0].into(), V4[1].into(), protocol).emit(bytes.len() as u32, &mut packet);
    packet.extend_from_slice(bytes);
    packet
}

fn frame(bytes: &[u8], numbers: (u8, Ecn)) {
    if let Ok(header) = EthernetHeader::parse(bytes) {
        assert_eq!(header.emit(), bytes[..HEADER_LEN]);
        packet(&bytes[HEADER_LEN..], numbers);
    }
    if let Ok(arp) = Arp::parse(bytes) {
        let mut again = Vec::new();
        arp.emit(&mut again);
        assert_eq!(again, bytes[..again.len()]);
    }
}

fn tcp(bytes: &[u8]) {
    let Ok((header, len)) = TcpHeader::parse(bytes) else { return };
    assert!(len <= bytes.len(), "the header is inside of its bytes");
    let mut again = Vec::new();
    header.emit(&mut again);
    assert_eq!(again.len(), header.wire_len() as usize);
    assert_eq!(TcpHeader::parse(&again), Ok((header, again.len())));
    for option in header.options.mptcp().flatten() {
        assert_eq!(MptcpOption::parse(option.emit().as_slice()), Ok(option));
    }
}

/// An option of Multipath TCP, of any subtype and flags.
fn mptcp(bytes: &[u8]) {
    let mut option = vec![30, bytes.len().min(38) as u8 + 2];
    option.extend_from_slice(&bytes[..bytes.len().min(38)]);
    if let Ok(parsed) = MptcpOption::parse(&option) {
        assert_eq!(MptcpOption::parse(parsed.emit().as_slice()), Ok(parsed));
        assert_eq!(parsed.emit().as_slice().len(), option.len(), "what is emitted is as long");
    }
}

fn packet(bytes: &[u8], (ttl, ecn): (u8, Ecn)) {
    let parsed = parse_packet(bytes);
    let mut patched = bytes.to_vec();
    let results = [patch::set_ttl(&mut patched, ttl), patch::set_ecn(&mut patched, ecn)];
    let Ok(parsed) = parsed else { return };
    assert_eq!(results, [Ok(()), Ok(())], "a whole header can be patched");
    let mut expected = parsed.clone();
    (expected.ip.ttl, expected.ip.ecn) = (ttl, ecn);
    assert_eq!(parse_packet(&patched), Ok(expected));
    let payload = bytes.get(parsed.payload.clone()).expect("the payload is inside of the packet");
    emitted(&parsed, payload);
    if let Transport::Icmp(icmp) = parsed.transport
        && icmp.is_error()
        && let Some(quote) = Quote::parse(payload)
    {
        let _ = (quote.ports(), quote.seq());
        assert_eq!(quote.src.is_ipv4(), quote.dst.is_ipv4());
    }
}

/// What was parsed is emitted, and parsed again.
fn emitted(parsed: &Parsed, payload: &[u8]) {
    let Parsed { ip, transport, .. } = parsed;
    let data = Payload::bytes(payload.to_vec().into());
    let mut again = Vec::new();
    match transport {
        Transport::Tcp(tcp) => emit_tcp(ip, tcp, &data, &mut again),
        Transport::Udp(udp) => emit_udp(ip, udp, &data, &mut again),
        Transport::Icmp(icmp) => emit_icmp(ip, icmp, &data, &mut again),
        Transport::Other => {
            ip.emit(data.len(), &mut again);
            data.write_to(&mut again);
        }
    }
    let second = parse_packet(&again).expect("what was emitted is well-formed");
    assert_eq!((second.ip, second.transport), (*ip, *transport));
    assert_eq!(&again[second.payload], payload);
    let checksum = match transport {
        Transport::Other => ChecksumStatus::Unverified,
        _ => ChecksumStatus::Good,
    };
    assert_eq!(second.checksum, checksum);
}
