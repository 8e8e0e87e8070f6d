//! A parity packet stands for any one packet of a group (RFC 8627, flexible mask, at most 15 packets of one source).
//!
//! Its header has the sums modulo 2 of what differs in the headers, and its payload those of the payloads. Of media no octets
//! exist, so payload descriptors are summed, and a pattern stands for the rest. Header extensions are not protected, and the
//! source of the packets is agreed on, not listed among the contributing ones.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Packets of a group at most.
pub const MOST: u32 = 15;
/// Octets of the FEC header.
pub const HEADER: usize = 12;
/// Octets of a payload that exist: descriptor and payload header of VP8.
pub const HEAD: usize = 5;
/// Packets that are remembered to recover others from.
const REMEMBERED: usize = 512;
/// Parity packets that wait for packets of their groups.
const WAITING: usize = 64;

/// What a parity packet protects of a packet, or the sum of several of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Protected {
    /// The marker bit.
    pub marker: bool,
    /// The payload type.
    pub payload_type: u8,
    /// The timestamp.
    pub timestamp: u32,
    /// Octets of the payload.
    pub len: u16,
    /// The first of them.
    pub head: [u8; HEAD],
}

impl Protected {
    /// The sum modulo 2.
    pub fn plus(mut self, other: &Self) -> Self {
        self.marker ^= other.marker;
        self.payload_type ^= other.payload_type;
        self.timestamp ^= other.timestamp;
        self.len ^= other.len;
        self.head.iter_mut().zip(other.head).for_each(|(sum, octet)| *sum ^= octet);
        self
    }
}

/// A group as its parity packet tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The sequence number of its first packet.
    pub base: u16,
    /// Bit `i` says that packet `base + i` belongs to it.
    pub mask: u16,
    /// The sum.
    pub sum: Protected,
}

impl Group {
    /// Appends header and the octets of the payload that exist.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let Protected { marker, payload_type, timestamp, len, head } = self.sum;
        out.extend_from_slice(&[0, u8::from(marker) << 7 | payload_type & 0x7f]);
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(&timestamp.to_be_bytes());
        out.extend_from_slice(&self.base.to_be_bytes());
        // The k bit says that no longer mask follows; bit 14 stands for the first packet.
        let mask =
            (0..15).filter(|i| self.mask & 1 << i != 0).fold(0x8000_u16, |mask, i| mask | 1 << (14 - i));
        out.extend_from_slice(&mask.to_be_bytes());
        out.extend_from_slice(&head);
    }

    /// Reads what [`Group::emit`] writes; none if it is something else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let &[0, second, a, b, c, d, e, f, g, h, i, j, ref rest @ ..] = bytes else { return None };
        let head = *rest.first_chunk()?;
        let mask = u16::from_be_bytes([i, j]);
        if mask & 0x8000 == 0 {
            return None;
        }
        let mask = (0..15).filter(|i| mask & 1 << (14 - i) != 0).fold(0, |bits, i| bits | 1 << i);
        let sum = Protected {
            marker: second & 0x80 != 0,
            payload_type: second & 0x7f,
            timestamp: u32::from_be_bytes([c, d, e, f]),
            len: u16::from_be_bytes([a, b]),
            head,
        };
        Some(Self { base: u16::from_be_bytes([g, h]), mask, sum })
    }

    fn sequences(self) -> impl Iterator<Item = u16> {
        (0..15).filter(move |i| self.mask & 1 << i != 0).map(move |i| self.base.wrapping_add(i))
    }
}

/// Recovers what is missing.
#[derive(Debug, Default)]
pub struct Recovery {
    packets: VecDeque<(u16, Protected)>,
    waiting: VecDeque<Group>,
}

impl Recovery {
    /// A packet came, or was recovered.
    pub fn take(&mut self, sequence: u16, packet: Protected) {
        if self.packets.len() == REMEMBERED {
            self.packets.pop_front();
        }
        self.packets.push_back((sequence, packet));
    }

    /// A parity packet came.
    pub fn wait(&mut self, group: Group) {
        if self.waiting.len() == WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(group);
    }

    /// A packet that can be recovered now.
    pub fn poll(&mut self) -> Option<(u16, Protected)> {
        let Self { packets, waiting } = self;
        let known =
            |sequence| packets.iter().rev().find(|&&(known, _)| known == sequence).map(|(_, packet)| packet);
        let mut found = None;
        waiting.retain(|group| {
            let mut missing = group.sequences().filter(|&sequence| known(sequence).is_none());
            match (missing.next(), missing.next()) {
                // All of it is there.
                (None, _) => false,
                (Some(sequence), None) if found.is_none() => {
                    let others = group.sequences().filter_map(known);
                    found = Some((sequence, others.fold(group.sum, |sum, packet| sum.plus(packet))));
                    false
                }
                _ => true,
            }
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u16) -> Protected {
        Protected {
            marker: number.is_multiple_of(3),
            payload_type: 96,
            timestamp: 1_000 * u32::from(number),
            len: 1_000 + number % 100,
            head: [0x90, 0x80, 0x80, number as u8, 1],
        }
    }

    fn group(base: u16, packets: u16) -> Group {
        let sum = (0..packets)
            .map(|i| packet(base.wrapping_add(i)))
            .fold(Protected::default(), |sum, it| sum.plus(&it));
        Group { base, mask: (1 << packets) - 1, sum }
    }

    #[test]
    fn any_one_packet_of_a_group_is_recovered_and_two_are_not() {
        let group = group(65_530, 10);
        let mut bytes = Vec::new();
        group.emit(&mut bytes);
        assert_eq!((bytes.len(), Group::parse(&bytes)), (HEADER + HEAD, Some(group)));
        for lost in 0..10 {
            let mut recovery = Recovery::default();
            recovery.wait(group);
            let sequences = (0..10).map(|i| 65_530_u16.wrapping_add(i));
            for (i, sequence) in sequences.enumerate().filter(|&(i, _)| i != lost) {
                assert_eq!(recovery.poll(), None, "{i}");
                recovery.take(sequence, packet(sequence));
            }
            let missing = 65_530_u16.wrapping_add(lost as u16);
            assert_eq!(recovery.poll(), Some((missing, packet(missing))));
            assert_eq!(recovery.poll(), None);
        }
    }

    #[test]
    fn what_is_no_parity_packet_is_refused() {
        let mut bytes = Vec::new();
        group(7, 3).emit(&mut bytes);
        for end in 0..bytes.len() {
            assert_eq!(Group::parse(&bytes[..end]), None, "{end} octets");
        }
        bytes[10] &= 0x7f;
        assert_eq!(Group::parse(&bytes), None, "a longer mask");
    }
}
