//! A segment as octets that can be changed, whoever sent it.

use crate::packet::{AddressId, Frame, Packet, Transport};
use alloc::vec::Vec;
use bytes::Bytes;
use core::net::IpAddr;
use core::ops::Range;
use voxpath_wire::Payload;
use voxpath_wire::ip::{Ecn, IpHeader, patch};
use voxpath_wire::packet::{parse_packet, set_checksum};
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};

/// Option kinds that a middlebox has to know of itself (IANA, TCP parameters).
pub(super) mod kind {
    pub(crate) const END: u8 = 0;
    pub(crate) const NO_OPERATION: u8 = 1;
    pub(crate) const MSS: u8 = 2;
    pub(crate) const WINDOW_SCALE: u8 = 3;
    pub(crate) const SACK_PERMITTED: u8 = 4;
    pub(crate) const SACK: u8 = 5;
    pub(crate) const TIMESTAMPS: u8 = 8;

    /// Those of plain TCP.
    pub(crate) const PLAIN: [u8; 7] =
        [END, NO_OPERATION, MSS, WINDOW_SCALE, SACK_PERMITTED, SACK, TIMESTAMPS];
}

/// The most octets of data that a segment has.
pub(super) const MOST_DATA: u32 = 60_000;

const BASE_LEN: usize = TcpHeader::BASE_LEN as usize;
const INSIDE: &str = "what was parsed and changed as allowed can be parsed again";

/// An undamaged segment: its packet, and the octets of its TCP header apart.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    packet: Packet,
    /// The TCP header, options included; its checksum follows at the end.
    head: Vec<u8>,
    /// Octets in front of it.
    ip_len: u32,
}

impl Segment {
    /// Of a packet that has a TCP header.
    pub(super) fn open(packet: Packet) -> Self {
        let (mut head, ip_len);
        match &packet.transport {
            Transport::Tcp(header) => {
                head = Vec::with_capacity(60);
                header.emit(&mut head);
                ip_len = packet.len - header.wire_len() - packet.payload.len();
            }
            Transport::Frame(frame) => {
                let carried = carried(&frame.bytes);
                let end = carried.start + usize::from(frame.bytes[carried.start + 12] >> 4) * 4;
                head = frame.bytes[carried.start..end].to_vec();
                ip_len = carried.start as u32;
            }
            Transport::Udp(_) | Transport::Icmp(_) => unreachable!("a segment is of TCP"),
        }
        Self { packet, head, ip_len }
    }

    /// The packet with what was changed.
    pub(super) fn close(mut self) -> Packet {
        let Self { packet, head, ip_len } = &mut self;
        let carried = head.len() as u32 + packet.payload.len();
        packet.len = *ip_len + carried;
        match &mut packet.transport {
            Transport::Tcp(header) => {
                *header = parsed(head);
                // Values lie in a header as ours do, whatever the octets between options were.
                packet.len = *ip_len + header.wire_len() + packet.payload.len();
            }
            Transport::Frame(frame) => {
                let mut bytes = Vec::with_capacity(packet.len as usize);
                bytes.extend_from_slice(&frame.bytes[..*ip_len as usize]);
                bytes.extend_from_slice(head);
                packet.payload.write_to(&mut bytes);
                patch::set_payload_len(&mut bytes, carried).expect(INSIDE);
                (**frame, packet.payload) = complete(bytes);
            }
            Transport::Udp(_) | Transport::Icmp(_) => unreachable!("a segment is of TCP"),
        }
        self.packet
    }

    pub(super) fn header(&self) -> TcpHeader {
        parsed(&self.head)
    }

    pub(super) const fn flags(&self) -> TcpFlags {
        TcpFlags(self.head.as_slice()[13])
    }

    pub(super) fn set_flags(&mut self, flags: TcpFlags) {
        self.head[13] = flags.0;
    }

    pub(super) const fn ecn(&self) -> Ecn {
        self.packet.ecn
    }

    pub(super) fn payload(&self) -> &Payload {
        &self.packet.payload
    }

    pub(super) fn set_payload(&mut self, payload: Payload) {
        self.packet.payload = payload;
    }

    pub(super) fn set_seq(&mut self, seq: Seq) {
        self.head[4..8].copy_from_slice(&seq.0.to_be_bytes());
    }

    pub(super) fn set_ack(&mut self, ack: Seq) {
        self.head[8..12].copy_from_slice(&ack.0.to_be_bytes());
    }

    pub(super) fn set_window(&mut self, window: u16) {
        self.head[14..16].copy_from_slice(&window.to_be_bytes());
    }

    /// Moves the numbers of all SACK blocks.
    pub(super) fn move_sack(&mut self, by: u32) {
        for option in self.options() {
            if self.head[option.start] == kind::SACK {
                for number in self.head[option].get_mut(2..).unwrap_or_default().as_chunks_mut::<4>().0 {
                    *number = u32::from_be_bytes(*number).wrapping_add(by).to_be_bytes();
                }
            }
        }
    }

    /// The kinds of its options, without padding.
    pub(super) fn kinds(&self) -> impl Iterator<Item = u8> {
        self.options().into_iter().map(|option| self.head[option.start])
    }

    /// Where its options are, without padding.
    fn options(&self) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = BASE_LEN;
        while let Some(&kind) = self.head.get(at) {
            match kind {
                kind::END => break,
                kind::NO_OPERATION => at += 1,
                _ => {
                    // A header whose options are none cannot be parsed.
                    let len = usize::from(self.head[at + 1]);
                    found.push(at..at + len);
                    at += len;
                }
            }
        }
        found
    }

    /// Takes these options off, with what pads them; whether there were any.
    pub(super) fn strip(&mut self, takes: impl Fn(u8) -> bool) -> bool {
        let options = self.options();
        if !options.iter().any(|option| takes(self.head[option.start])) {
            return false;
        }
        let mut kept = Vec::with_capacity(40);
        let mut at = BASE_LEN;
        for option in options {
            let padding = at..option.start;
            at = option.end;
            if takes(self.head[option.start]) {
                // What stands before it lay before it alone; what fills its last word is of no use either.
                while !at.is_multiple_of(4) && self.head.get(at) == Some(&kind::NO_OPERATION) {
                    at += 1;
                }
            } else {
                kept.extend_from_slice(&self.head[padding]);
                kept.extend_from_slice(&self.head[option]);
            }
        }
        while !kept.len().is_multiple_of(4) {
            kept.push(kind::NO_OPERATION);
        }
        self.head.truncate(BASE_LEN);
        self.head.extend_from_slice(&kept);
        self.head[12] = ((self.head.len() / 4) as u8) << 4 | self.head[12] & 0x0f;
        true
    }

    /// Cuts it into pieces of at most `most` octets of data; those behind the first without these options.
    pub(super) fn split(self, most: u32, strips: impl Fn(u8) -> bool) -> Vec<Packet> {
        let (flags, seq, len) = (self.flags(), self.header().seq, self.payload().len());
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < len {
            let part = most.min(len - at);
            let mut piece = self.clone();
            piece.set_payload(self.payload().slice(at, part));
            piece.set_seq(Seq(seq.0.wrapping_add(at)));
            let mut own = flags;
            if at > 0 {
                own.0 &= !TcpFlags::CWR.0;
                piece.strip(&strips);
            }
            if at + part < len {
                own.0 &= !(TcpFlags::FIN.0 | TcpFlags::PSH.0);
            }
            piece.set_flags(own);
            pieces.push(piece.close());
            at += part;
        }
        pieces
    }
}

/// An address as the world and as octets have it.
pub(super) type Known = (AddressId, IpAddr);

/// Gives a packet of TCP or UDP another source, or another destination.
pub(super) fn readdress(packet: &mut Packet, is_source: bool, (id, ip): Known, port: u16) {
    let at = if is_source { 0 } else { 2 };
    if is_source {
        packet.src = id;
    } else {
        packet.dst = id;
    }
    let header = match &mut packet.transport {
        Transport::Tcp(header) => [&mut header.src_port, &mut header.dst_port],
        Transport::Udp(header) => [&mut header.src_port, &mut header.dst_port],
        Transport::Icmp(_) => return,
        Transport::Frame(frame) => {
            let mut bytes = frame.bytes.to_vec();
            let start = carried(&bytes).start + at;
            bytes[start..start + 2].copy_from_slice(&port.to_be_bytes());
            patch::set_address(&mut bytes, is_source, ip).expect(INSIDE);
            (**frame, packet.payload) = complete(bytes);
            return;
        }
    };
    *header[usize::from(!is_source)] = port;
}

/// The address of a packet's end.
pub(super) fn address_of(packet: &Packet, is_source: bool, addresses: &[IpAddr]) -> Option<Known> {
    let id = if is_source { packet.src } else { packet.dst };
    let ip = match &packet.transport {
        Transport::Frame(frame) => {
            let (ip, _) = IpHeader::parse(&frame.bytes).ok()?;
            if is_source { ip.src } else { ip.dst }
        }
        _ => *addresses.get(id.0 as usize)?,
    };
    Some((id, ip))
}

fn parsed(head: &[u8]) -> TcpHeader {
    TcpHeader::parse(head).expect(INSIDE).0
}

/// Where what an IP packet carries is.
fn carried(packet: &[u8]) -> Range<usize> {
    IpHeader::parse(packet).expect("a frame was parsed when it came").1
}

/// The frame of these octets, whose checksum is put right, and its payload.
fn complete(mut bytes: Vec<u8>) -> (Frame, Payload) {
    set_checksum(&mut bytes).expect(INSIDE);
    let parsed = parse_packet(&bytes).expect(INSIDE);
    let bytes = Bytes::from(bytes);
    let payload = Payload::bytes(bytes.slice(parsed.payload));
    (Frame { bytes, transport: parsed.transport }, payload)
}
