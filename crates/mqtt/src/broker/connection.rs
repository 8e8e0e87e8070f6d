//! A connection of a broker.

use super::SessionId;
use crate::decoder::Decoder;
use crate::packet::{Packet, Text, Version};
use alloc::collections::{BTreeMap, VecDeque};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// No CONNECT has come.
    New,
    /// A CONNECT was accepted.
    Open(SessionId),
    /// It is to be closed when all is written.
    Closing,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) state: State,
    pub(crate) version: Version,
    pub(crate) decoder: Decoder,
    pub(crate) out: VecDeque<Payload>,
    /// Octets of packets made, and taken by the connection below.
    pub(crate) made: u64,
    pub(crate) given: u64,
    pub(crate) written: u64,
    /// Longest silence; zero is off.
    pub(crate) patience: Span,
    pub(crate) last_heard: Time,
    /// When its timer is.
    pub(crate) timer: Option<Time>,
    pub(crate) aliases_in: BTreeMap<u16, Text>,
    pub(crate) aliases_out: BTreeMap<Text, u16>,
    pub(crate) most_aliases_out: u16,
    pub(crate) maximum_packet_out: u32,
    /// It is among those that have something to write.
    pub(crate) is_ready: bool,
}

impl Connection {
    pub(crate) fn new(now: Time, maximum_packet: u32, patience: Span) -> Self {
        Self {
            state: State::New,
            version: Version::V311,
            decoder: Decoder::new(maximum_packet),
            out: VecDeque::new(),
            made: 0,
            given: 0,
            written: 0,
            patience,
            last_heard: now,
            timer: None,
            aliases_in: BTreeMap::new(),
            aliases_out: BTreeMap::new(),
            most_aliases_out: 0,
            maximum_packet_out: u32::MAX,
            is_ready: false,
        }
    }

    /// Octets that the connection below has not taken.
    pub(crate) const fn backlog(&self) -> u64 {
        self.made - self.written
    }

    pub(crate) fn send(&mut self, packet: &Packet) {
        self.send_payload(packet.emit(self.version));
    }

    pub(crate) fn send_payload(&mut self, payload: Payload) {
        self.made += u64::from(payload.len());
        self.out.push_back(payload);
    }

    /// The number that stands for a topic, if one can, and whether the client knows that already.
    pub(crate) fn alias(&mut self, topic: &Text) -> (Option<u16>, bool) {
        if self.most_aliases_out == 0 {
            return (None, false);
        }
        if let Some(&alias) = self.aliases_out.get(topic) {
            return (Some(alias), true);
        }
        let next = self.aliases_out.len() + 1;
        if next > usize::from(self.most_aliases_out) {
            return (None, false);
        }
        self.aliases_out.insert(topic.clone(), next as u16);
        (Some(next as u16), false)
    }
}
