//! What the owner of a connection adds to it: Multipath TCP (RFC 8684), whose subflows are TCP connections.
//!
//! An owner announces the window, keeps octets of each segment for options of its own, and maps what it writes to a sequence of its own. It
//! is no callback: a connection is told what it has to know ([`Owner`]), and asked for the rest. So who owns several needs to share
//! nothing with them. The steps of a [driver](crate::Connection) become, for one that owns:
//!
//! 1. input as ever, but for [`write_mapped`](crate::Connection::write_mapped) in place of `write`;
//! 2. [`poll_received`](crate::Connection::poll_received) until it has nothing more, then reading;
//! 3. [`set_owner`](crate::Connection::set_owner) with the window of now;
//! 4. `poll_transmit`, and to each segment its options: by its flags, and by the [mapping](crate::Connection::mapping) of its first octet.
//!
//! A connection without an owner pays a null pointer for all of this.

use crate::lean::partition_point_near_end;
use crate::receiver::Packets;
use crate::recovery::Phase;
use alloc::collections::VecDeque;
use voxpath_units::Span;
use voxpath_wire::tcp::{ForeignOptions, TcpFlags, TcpHeader};

/// What an owner asks of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owner {
    /// The window to announce in octets, whatever the connection itself has room for. What was announced stays acceptable, also where the
    /// window becomes smaller: RFC 8684 section 3.3.1 counts it from the data ACK, of which a subflow knows nothing.
    pub window: u32,
    /// Octets that the owner's options take of a segment without data, padding included: SACK blocks leave them free.
    pub ack_options: u32,
    /// Likewise of a segment with data: a segment carries less for them (RFC 6691 section 2).
    pub data_options: u32,
}

/// What an owner has to know to choose the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiving {
    /// Octets that the window announced last still has.
    pub announced: u32,
    /// The largest window that full segments have shown that this connection has room for (`rcv_ssthresh`).
    pub limit: u32,
    /// The round trip as the receiver sees it, once it has (`rcv_rtt_est`).
    pub round_trip: Option<Span>,
    /// What full segments come in, once one came.
    pub packets: Option<Packets>,
}

/// What an owner of several has to know to choose which of them carries what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Smoothed round-trip time, once it was measured.
    pub srtt: Option<Span>,
    /// Its variation.
    pub rttvar: Option<Span>,
    /// Congestion window, octets.
    pub cwnd: u64,
    /// Slow start threshold, octets; none before the first loss.
    pub ssthresh: Option<u64>,
    /// What loss recovery does.
    pub phase: Phase,
    /// The rate in bytes a second at which it would be paced (`sk_pacing_rate`); none before there was a round trip.
    pub pacing_rate: Option<u64>,
    /// Octets that the congestion window lets out beyond what was written: for an owner that decides late what goes this way.
    pub room: u64,
}

/// The most octets that become one mapping by and by: its length has 16 bits (RFC 8684 section 3.3.1).
const MOST_MAPPED: u32 = 65_535;

/// Octets that were written in one piece, and what their owner calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Where they begin, counted from the SYN.
    pub start: u64,
    /// How many they are.
    pub len: u32,
    /// What the owner has given with them: in Multipath TCP the data sequence number of the first.
    pub value: u64,
}

impl Mapping {
    /// The octet after the last.
    pub const fn end(&self) -> u64 {
        self.start + self.len as u64
    }
}

/// A segment that was taken in, as far as its owner has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Its flags.
    pub flags: TcpFlags,
    /// The place of its first octet, counted from the peer's SYN. Segments are told of as they arrive: octets before it may be missing, and some of
    /// its own may have been here before.
    pub start: u64,
    /// Octets of data that it brought.
    pub len: u32,
    /// The window that it announces in octets, scaled.
    pub window: u32,
    /// Its options that are not TCP's own.
    pub options: ForeignOptions,
}

/// What a connection remembers for its owner.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    pub(crate) owner: Owner,
    /// The owner has gone, but hears of segments and adds options.
    pub(crate) is_parting: bool,
    /// What is mapped of the octets not acknowledged, in their order.
    mappings: VecDeque<Mapping>,
    /// Segments of which the owner has not been told.
    pub(crate) received: VecDeque<Received>,
}

impl Owned {
    pub(crate) fn new(owner: Owner) -> Self {
        Self { owner, ..Self::default() }
    }

    /// The owner goes: nothing is mapped any more, and so many octets of each segment are left for its last options.
    pub(crate) fn part(&mut self, options: u32) {
        self.is_parting = true;
        self.mappings.clear();
        self.owner = Owner { window: 0, ack_options: options, data_options: options };
    }

    /// A segment was taken in; windows that arrive are shifted so far.
    pub(crate) fn note_received(&mut self, header: &TcpHeader, start: u64, len: u32, shift: u8) {
        let (flags, options) = (header.flags, header.options.foreign());
        let shift = if flags.contains(TcpFlags::SYN) { 0 } else { shift };
        let window = u32::from(header.window) << shift;
        self.received.push_back(Received { flags, start, len, window, options });
    }

    /// The octets from `start` on were written in one piece.
    pub(crate) fn map(&mut self, mapping: Mapping) {
        self.mappings.push_back(mapping);
    }

    /// Likewise, and they are of one mapping with those before them if these follow in the owner's sequence too and none of them was sent: the mapping
    /// begins at `unsent` or later.
    pub(crate) fn map_on(&mut self, mapping: Mapping, unsent: u64) {
        if let Some(last) = self.mappings.back_mut()
            && last.start >= unsent
            && last.end() == mapping.start
            && last.value + u64::from(last.len) == mapping.value
            && last.len + mapping.len <= MOST_MAPPED
        {
            last.len += mapping.len;
        } else {
            self.map(mapping);
        }
    }

    /// The mapping of an octet, or the next one behind it.
    pub(crate) fn mapping_from(&self, octet: u64) -> Option<&Mapping> {
        // Mostly it is one of the last: who has room is written to, and sends at once.
        self.mappings.get(partition_point_near_end(&self.mappings, |mapping| mapping.end() <= octet))
    }

    /// The mapping of an octet.
    pub(crate) fn mapping(&self, octet: u64) -> Option<&Mapping> {
        self.mapping_from(octet).filter(|mapping| mapping.start <= octet)
    }

    /// What is mapped of the octets not acknowledged, in their order.
    pub(crate) fn mappings(&self) -> impl Iterator<Item = &Mapping> {
        self.mappings.iter()
    }

    /// Everything below is acknowledged.
    pub(crate) fn acknowledge(&mut self, una: u64) {
        while self.mappings.pop_front_if(|mapping| mapping.end() <= una).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_lengthens_a_mapping_of_which_nothing_was_sent() {
        let mut owned = Owned::default();
        let piece = |start, value| Mapping { start, len: 30_000, value };
        owned.map_on(piece(1, 501), 1);
        owned.map_on(piece(30_001, 30_501), 1);
        // 16 bits are full; other data; what is on its way.
        owned.map_on(piece(60_001, 60_501), 1);
        owned.map_on(piece(90_001, 1), 1);
        owned.map_on(piece(120_001, 30_001), 90_002);
        let both = Mapping { len: 60_000, ..piece(1, 501) };
        let all = [both, piece(60_001, 60_501), piece(90_001, 1), piece(120_001, 30_001)];
        assert!(owned.mappings().eq(&all));
    }
}
