//! What nodes answer by themselves: errors about packets that they cannot pass on or deliver, echoes, and resets.

use crate::address::Address;
use crate::emit::emit;
use crate::network::Network;
use alloc::vec::Vec;
use voxpath_mptcp::reset_for;
use voxpath_net::AddressId;
use voxpath_net::packet::{Packet, Transport};
use voxpath_net::tap::{Action, Place};
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::icmp::{IcmpHeader, Quote, Unreachable};
use voxpath_wire::ip::IpHeader;
use voxpath_wire::tcp::TcpHeader;

impl Network {
    /// Ends the way of a packet at `at`, and tells its sender why.
    pub(crate) fn refuse(&mut self, now: Time, at: u32, packet: &Packet, why: IcmpHeader) {
        self.nodes[at as usize].discarded += 1;
        // RFC 1122 section 3.2.2: never about an error, so that none brings forth the next.
        if packet.icmp().is_some_and(IcmpHeader::is_error) || packet.corrupted {
            return;
        }
        let is_too_big = matches!(why, IcmpHeader::TooBig { .. });
        if !is_too_big && !self.nodes[at as usize].errors.take(now) {
            return;
        }
        let Some(src) = self.own_address(at, packet.src) else { return };
        let mut quote = Vec::new();
        emit(packet, &self.addresses, 0, &mut quote);
        quote.truncate(Quote::most(self.addresses[src.0 as usize].ip));
        self.answer(now, at, src, packet, Transport::Icmp(why), Payload::bytes(quote.into()));
    }

    /// A packet for `at` itself that no socket waits for; whether it was answered.
    pub(crate) fn answer_unclaimed(&mut self, now: Time, at: u32, packet: &Packet) {
        if let Some(IcmpHeader::EchoRequest(echo)) = packet.icmp() {
            self.nodes[at as usize].delivered += 1;
            let reply = Transport::Icmp(IcmpHeader::EchoReply(*echo));
            self.answer(now, at, packet.dst, packet, reply, packet.payload.clone());
        } else if let Some(header) = packet.tcp() {
            self.nodes[at as usize].discarded += 1;
            if let Some(reset) = reset_of(header, &packet.payload) {
                self.answer(now, at, packet.dst, packet, Transport::Tcp(reset), Payload::Empty);
            }
        } else if packet.is_udp() {
            self.refuse(now, at, packet, IcmpHeader::Unreachable(Unreachable::Port));
        } else {
            self.nodes[at as usize].discarded += 1;
        }
    }

    /// The first address of a node that is of the family of another address.
    pub(crate) fn own_address(&self, at: u32, other: AddressId) -> Option<AddressId> {
        let is_v4 = |address: &Address| address.ip.is_ipv4();
        let family = is_v4(&self.addresses[other.0 as usize]);
        let own = self.nodes[at as usize].addresses.clone();
        own.map(AddressId).find(|id| is_v4(&self.addresses[id.0 as usize]) == family)
    }

    /// Sends the sender of `packet` something from `src`, an address of `at`.
    fn answer(
        &mut self,
        now: Time,
        at: u32,
        src: AddressId,
        packet: &Packet,
        transport: Transport,
        payload: Payload,
    ) {
        let ip_len = match self.addresses[src.0 as usize].ip.is_ipv4() {
            true => IpHeader::V4_LEN,
            false => IpHeader::V6_LEN,
        };
        let header_len = match &transport {
            Transport::Tcp(header) => header.wire_len(),
            _ => IcmpHeader::LEN,
        };
        let len = ip_len + header_len + payload.len();
        let answer = Packet::new(now, src, packet.src, packet.flow, len, transport, payload);
        if self.addresses[packet.src.0 as usize].node == at {
            // Its own packet was too big for its own link: what it is told does not leave it.
            self.nodes[at as usize].sent += 1;
            self.own.push_back((at, answer));
            return;
        }
        self.tap.packet(now, Place::Host(at), Action::Sent, &answer);
        self.enter(now, at, answer);
    }
}

/// The reset that answers a segment for which there is no connection.
fn reset_of(header: &TcpHeader, payload: &Payload) -> Option<TcpHeader> {
    let reset = reset_for(header, payload)?;
    Some(TcpHeader { src_port: header.dst_port, dst_port: header.src_port, ..reset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_wire::tcp::{Seq, TcpFlags};

    #[test]
    fn a_reset_fits_what_it_answers() {
        let syn =
            TcpHeader { seq: Seq(7), src_port: 1, dst_port: 2, flags: TcpFlags::SYN, ..TcpHeader::default() };
        let reset = reset_of(&syn, &Payload::Empty).expect("a SYN is answered");
        assert_eq!((reset.seq, reset.ack, reset.flags), (Seq(0), Seq(8), TcpFlags::RST | TcpFlags::ACK));
        assert_eq!((reset.src_port, reset.dst_port), (2, 1));
        let data = TcpHeader { ack: Seq(9), flags: TcpFlags::ACK, ..syn };
        let reset = reset_of(&data, &Payload::pattern(0, 0, 5)).expect("data is answered");
        assert_eq!((reset.seq, reset.flags), (Seq(9), TcpFlags::RST));
        assert_eq!(reset_of(&TcpHeader { flags: TcpFlags::RST, ..syn }, &Payload::Empty), None);
    }
}
