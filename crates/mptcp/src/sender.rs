//! The sending half of the data level: what was written, what is acknowledged, what has to be sent again on another subflow.

use crate::pieces::Pieces;
use crate::sequence::DataSequence;
use alloc::collections::BTreeMap;
use voxpath_tcp::{SendBuffer, is_writeable};

/// One direction's data, by its place in the data sequence; the first octet is 1.
#[derive(Debug)]
pub(crate) struct DataSender {
    pub(crate) sequence: DataSequence,
    pub(crate) buffer: SendBuffer,
    /// The first octet that is not acknowledged; the DATA_FIN is one.
    pub(crate) una: u64,
    /// The first octet that no subflow has carried.
    pub(crate) nxt: u64,
    /// The right edge of the other end's window, which never moves back (RFC 8684 section 3.3.1).
    pub(crate) edge: u64,
    /// What is to be sent again, by its first octet: disjoint.
    reinjections: BTreeMap<u64, Reinjection>,
    /// How it was written, where retransmissions depend on that.
    pub(crate) pieces: Pieces,
    /// The DATA_FIN was sent.
    pub(crate) fin_sent: bool,
}

#[derive(Debug, Clone, Copy)]
struct Reinjection {
    end: u64,
    /// Subflows that have carried it, by bit.
    carried: u64,
}

impl DataSender {
    pub(crate) fn new(sequence: DataSequence, capacity: u32) -> Self {
        Self {
            sequence,
            buffer: SendBuffer::new(capacity, 1),
            una: 1,
            nxt: 1,
            edge: 1,
            reinjections: BTreeMap::new(),
            pieces: Pieces::default(),
            fin_sent: false,
        }
    }

    /// Where the DATA_FIN is, once this end has closed.
    pub(crate) fn fin(&self) -> Option<u64> {
        self.buffer.is_closed().then(|| self.buffer.end())
    }

    /// Whether all is acknowledged, the DATA_FIN included.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin().is_some_and(|fin| self.una > fin)
    }

    /// Whether something is sent and not acknowledged.
    pub(crate) fn is_outstanding(&self) -> bool {
        self.una < self.nxt || (self.fin_sent && !self.is_finished())
    }

    /// A data ACK came; whether it was new. What acknowledges what was never sent is ignored.
    pub(crate) fn acknowledge(&mut self, ack: u64) -> bool {
        let most = self.nxt + u64::from(self.fin_sent);
        if ack <= self.una || ack > most {
            return false;
        }
        self.una = ack;
        self.buffer.acknowledge(ack.min(self.buffer.end()));
        self.pieces.acknowledge(ack);
        while let Some(first) = self.reinjections.first_entry().filter(|first| *first.key() < ack) {
            let rest = first.remove();
            if rest.end > ack {
                self.reinjections.insert(ack, rest);
            }
        }
        true
    }

    /// Octets that fit into so much `memory`, of which what is held takes its part (mptcp_sendmsg()). An application that has filled it is woken up when a
    /// third is free.
    pub(crate) fn room_of(&self, memory: u64) -> u32 {
        let taken = self.buffer.len() + self.pieces.beside();
        if self.buffer.is_awaited() && !is_writeable(memory, taken) {
            return 0;
        }
        let waits = self.nxt < self.buffer.end();
        u32::try_from(self.pieces.room(memory.saturating_sub(taken), waits)).unwrap_or(u32::MAX)
    }

    /// These octets, which the subflows of the bits `carried` have carried, are to be sent again by another.
    pub(crate) fn reinject(&mut self, from: u64, end: u64, carried: u64) {
        let (mut from, end) = (from.max(self.una), end.min(self.nxt));
        while from < end {
            let before = self.reinjections.range_mut(..=from).next_back();
            if let Some((_, known)) = before.filter(|(_, known)| known.end > from) {
                known.carried |= carried;
                from = known.end;
                continue;
            }
            let next = self.reinjections.range(from..).next().map_or(end, |(&next, _)| next.min(end));
            self.reinjections.insert(from, Reinjection { end: next, carried });
            from = next;
        }
    }

    /// The first of what is to be sent again: from where, how many octets, and who has carried it.
    pub(crate) fn first_reinjection(&self) -> Option<(u64, u64, u64)> {
        let (&from, known) = self.reinjections.first_key_value()?;
        Some((from, known.end - from, known.carried))
    }

    /// The first octets of [`DataSender::first_reinjection`] were given to a subflow.
    pub(crate) fn take_reinjection(&mut self, len: u64) {
        if let Some((from, rest)) = self.reinjections.pop_first()
            && from + len < rest.end
        {
            self.reinjections.insert(from + len, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_wire::Payload;

    fn sent(octets: u32) -> DataSender {
        let mut sender = DataSender::new(DataSequence::new(7), 10_000);
        sender.buffer.write(&Payload::pattern(0, 0, octets));
        sender.nxt = 1 + u64::from(octets);
        sender
    }

    #[test]
    fn what_is_sent_again_is_kept_once_and_remembers_who_carried_it() {
        let mut sender = sent(1000);
        sender.reinject(101, 201, 1);
        sender.reinject(51, 301, 2);
        let all = || sender.reinjections.iter().map(|(&from, of)| (from, of.end, of.carried));
        assert!(all().eq([(51, 101, 2), (101, 201, 3), (201, 301, 2)]));
        assert!(sender.acknowledge(151));
        assert_eq!(sender.first_reinjection(), Some((151, 50, 3)));
        sender.take_reinjection(20);
        assert_eq!(sender.first_reinjection(), Some((171, 30, 3)));
    }

    #[test]
    fn an_acknowledgment_of_what_was_never_sent_is_ignored() {
        let mut sender = sent(100);
        assert!(!sender.acknowledge(102));
        assert!(sender.acknowledge(101));
        sender.buffer.close();
        assert!(!sender.acknowledge(102), "the DATA_FIN was not sent");
        sender.fin_sent = true;
        assert!(sender.acknowledge(102) && sender.is_finished());
    }

    #[test]
    fn an_application_that_has_filled_memory_waits_until_a_third_is_free() {
        const MEMORY: u64 = 90_000;
        let mut sender = DataSender::new(DataSequence::new(7), 1 << 20);
        let room = sender.room_of(MEMORY);
        assert_eq!(room, 3 * (32_768 - 40), "pieces are whole");
        assert_eq!(sender.buffer.write_into(room, &Payload::pattern(0, 0, room)), room);
        sender.pieces.write(1, room, false);
        sender.nxt = 1 + u64::from(room);
        // Two thirds of the memory hold a piece, its description, and so much of another one.
        let held = MEMORY * 2 / 3;
        assert!(sender.acknowledge(sender.nxt - (held - 2 * 40) - 1));
        assert_eq!(sender.room_of(MEMORY), 0, "an octet too many");
        assert!(sender.acknowledge(sender.una + 1));
        assert!(sender.room_of(MEMORY) > 0);
        // One that has written less than there was room for is not asleep.
        sender.buffer.write_into(1000, &Payload::pattern(0, 0, 1));
        assert!(sender.room_of(held + 2000) > 0);
    }
}
