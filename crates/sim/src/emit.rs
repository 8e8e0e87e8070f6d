//! From a packet to the bytes that a wire would carry.

use crate::address::Address;
use alloc::vec::Vec;
use voxpath_net::packet::{Packet, Transport};
use voxpath_units::Time;
use voxpath_wire::icmp::IcmpHeader;
use voxpath_wire::ip::{IpHeader, Protocol, patch};
use voxpath_wire::packet::{ChecksumStatus, emit_icmp, emit_tcp, emit_udp, parse_packet};

/// Appends the packet's bytes to `out`.
///
/// A frame keeps its own, but for what routers change. `identification` is that of simulated packets. One that was
/// damaged has a wrong bit behind its IP header, which its checksum does not miss.
pub(crate) fn emit(packet: &Packet, addresses: &[Address], identification: u16, out: &mut Vec<u8>) {
    let header = |protocol| IpHeader {
        ttl: packet.ttl,
        dscp: packet.dscp,
        ecn: packet.ecn,
        identification,
        ..IpHeader::new(addresses[packet.src.0 as usize].ip, addresses[packet.dst.0 as usize].ip, protocol)
    };
    let start = out.len();
    match &packet.transport {
        Transport::Tcp(tcp) => emit_tcp(&header(Protocol::Tcp), tcp, &packet.payload, out),
        Transport::Udp(udp) => emit_udp(&header(Protocol::Udp), udp, &packet.payload, out),
        Transport::Icmp(icmp) => {
            let version = IcmpHeader::protocol(addresses[packet.src.0 as usize].ip);
            emit_icmp(&header(version), icmp, &packet.payload, out);
        }
        Transport::Frame(frame) => {
            out.extend_from_slice(&frame.bytes);
            let parsed = "a frame was parsed when it came";
            patch::set_ttl(&mut out[start..], packet.ttl).expect(parsed);
            patch::set_ecn(&mut out[start..], packet.ecn).expect(parsed);
        }
    }
    if packet.corrupted {
        damage(&mut out[start..], packet.enqueued);
    }
}

/// Turns a bit over, unless the packet came damaged: two errors could make up for each other.
fn damage(bytes: &mut [u8], when: Time) {
    let Ok(parsed) = parse_packet(bytes) else { return };
    let Ok((_, carried)) = IpHeader::parse(bytes) else { return };
    if parsed.checksum == ChecksumStatus::Bad || carried.is_empty() {
        return;
    }
    // Of the data, or else of the ports: a wrong length could make a datagram look whole.
    let ports = carried.start..carried.end.min(carried.start + 4);
    let range = if parsed.payload.is_empty() { ports } else { parsed.payload };
    // Which one it is does not matter, only that it is another one each time, and the same in each run.
    let bit = when.as_nanos() % (8 * range.len() as u64);
    bytes[range.start + (bit / 8) as usize] ^= 1 << (bit % 8);
}
