//! From a packet to the bytes that a wire would carry.

use crate::network::Address;
use alloc::vec::Vec;
use voxpath_net::packet::{Packet, Transport};
use voxpath_wire::icmp::IcmpHeader;
use voxpath_wire::ip::{IpHeader, Protocol, patch};
use voxpath_wire::packet::{emit_icmp, emit_tcp, emit_udp};

/// Appends the packet's bytes to `out`.
///
/// A frame keeps its own, but for what routers change. `identification` is that of simulated packets.
pub(crate) fn emit(packet: &Packet, addresses: &[Address], identification: u16, out: &mut Vec<u8>) {
    let header = |protocol| IpHeader {
        ttl: packet.ttl,
        dscp: packet.dscp,
        ecn: packet.ecn,
        identification,
        ..IpHeader::new(addresses[packet.src.0 as usize].ip, addresses[packet.dst.0 as usize].ip, protocol)
    };
    match &packet.transport {
        Transport::Tcp(tcp) => emit_tcp(&header(Protocol::Tcp), tcp, &packet.payload, out),
        Transport::Udp(udp) => emit_udp(&header(Protocol::Udp), udp, &packet.payload, out),
        Transport::Icmp(icmp) => {
            let version = IcmpHeader::protocol(addresses[packet.src.0 as usize].ip);
            emit_icmp(&header(version), icmp, &packet.payload, out);
        }
        Transport::Frame(frame) => {
            let start = out.len();
            out.extend_from_slice(&frame.bytes);
            let parsed = "a frame was parsed when it came";
            patch::set_ttl(&mut out[start..], packet.ttl).expect(parsed);
            patch::set_ecn(&mut out[start..], packet.ecn).expect(parsed);
        }
    }
}
