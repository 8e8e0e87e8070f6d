//! Where Multipath TCP ends and TCP goes on (RFC 8684 section 3.7), and the checksums that can lead there.

use super::arrival::reason;
use super::{Connection, Counters, Mode, SubflowId};
use crate::checksum::data_checksum;
use crate::subflow::{Handshake, Subflow};
use alloc::vec::Vec;
use voxpath_tcp::Received;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::TcpFlags;
use voxpath_wire::tcp::mptcp::MptcpOption;

/// Segments in a row without an option after which none is expected any more.
const PLAIN: u32 = 3;

impl Connection {
    /// From now on the connection is TCP on this subflow: what was written to it stays, what follows has no mappings.
    pub(super) fn fall_back(&mut self, id: SubflowId) {
        if matches!(self.mode, Mode::Fallback(_)) {
            return;
        }
        self.mode = Mode::Fallback(id);
        self.subflows[id].outbox.retain(|option| matches!(option, MptcpOption::Fail { .. }));
        self.part(id);
        for (other, subflow) in self.subflows.iter_mut().enumerate() {
            if other == id {
                subflow.handshake = Handshake::Done;
            } else {
                subflow.tcp.abort();
            }
        }
        self.retransmit = None;
    }

    /// The subflow is TCP, whose segments leave room for what is still to be said.
    pub(super) fn part(&mut self, id: SubflowId) {
        let Subflow { outbox, is_infinite, acknowledges, .. } = &self.subflows[id];
        let told = outbox.front().map_or(0, |option| option.emit().padded_len());
        let mapped = if *is_infinite { self.data_len() } else { 0 };
        let acknowledged = if *acknowledges { self.ack_len() } else { 0 };
        match told.max(mapped).max(acknowledged) {
            0 => self.subflows[id].tcp.release(),
            options => self.subflows[id].tcp.part(options),
        }
    }

    /// A segment came while this end goes on as TCP: once the other one does too, it needs no data ACKs (section 3.7).
    pub(super) fn hear_parting(&mut self, id: SubflowId, received: &Received) {
        let is_infinite = |option| match MptcpOption::parse(option) {
            Ok(MptcpOption::Dss(dss)) => dss.mapping.is_some_and(|mapping| mapping.len == 0),
            _ => false,
        };
        if self.subflows[id].acknowledges && received.options.iter().any(is_infinite) {
            self.subflows[id].acknowledges = false;
            self.part(id);
        }
    }

    /// Whether this subflow alone can have carried data, in the order of the data sequence: so that the connection can go on without
    /// mappings (section 3.7). Another one that was tried is enough to doubt that: the other end may believe that it stands.
    fn is_alone(&self, id: SubflowId) -> bool {
        let Counters { octets_reinjected, octets_duplicate, .. } = self.counters;
        id == 0 && self.subflows.len() == 1 && octets_reinjected == 0 && octets_duplicate == 0
    }

    /// A segment without an option of Multipath TCP.
    pub(super) fn hear_plain(&mut self, id: SubflowId, received: &Received) {
        let subflow = &mut self.subflows[id];
        let syn = received.flags.contains(TcpFlags::SYN);
        let acknowledges = subflow.tcp.counters().octets_acknowledged > 0;
        match subflow.handshake {
            // The SYN|ACK has no MP_CAPABLE; or the third segment has none, as the server sees it; or the option did not pass
            // with the first data, as the client sees it.
            Handshake::Capable if syn == self.is_client => self.fall_back(id),
            Handshake::CapableAnswered if !syn && (received.len > 0 || acknowledges) => {
                self.fall_back(id);
            }
            // Section 3.2: a further subflow without options is none.
            Handshake::Join { .. } if syn => self.reset(id, reason::SPECIFIC),
            Handshake::JoinExpected { .. } => self.reset(id, reason::SPECIFIC),
            Handshake::Done if self.ended.is_none() => {
                // Options do not pass any more. One that misses is none: answers from TIME-WAIT have none either. Data tells by its mapping, which
                // may have come with the first of several pieces of a segment.
                let fin = received.flags.contains(TcpFlags::FIN);
                if received.len > 0 && !fin {
                    return;
                }
                subflow.plain += 1;
                if self.is_alone(id) {
                    if fin || self.subflows[id].plain >= PLAIN {
                        self.fall_back(id);
                    }
                } else if self.subflows[id].plain >= PLAIN {
                    self.reset(id, reason::INTERFERENCE);
                }
            }
            _ => {}
        }
    }

    /// Data was acknowledged by the subflow that carried it, and never at the data level, while what comes has no options: they do not pass any more
    /// (section 3.7). The other end may have gone on as TCP. It would take what is sent again for new octets, so this end goes on as TCP too,
    /// or does without the subflow. Whether it does.
    pub(super) fn leave_plain_subflows(&mut self) -> bool {
        let head = self.snd.una;
        if head >= self.snd.nxt || (0..self.subflows.len()).any(|id| self.head_len(id, head) > 0) {
            return false;
        }
        let plain = |one: &Subflow| one.is_ready() && one.handshake == Handshake::Done && one.is_plain;
        let mut any = false;
        while let Some(id) = self.subflows.iter().position(plain) {
            any = true;
            if self.is_alone(id) {
                self.fall_back(id);
                break;
            }
            self.reset(id, reason::INTERFERENCE);
        }
        any
    }

    /// The other end says that its data follows without mappings.
    pub(super) fn hear_infinite(&mut self, id: SubflowId) {
        if self.may_follow(id) { self.fall_back(id) } else { self.reset(id, reason::INTERFERENCE) }
    }

    /// Whether the other end can have gone on without mappings: it has, once it says so on a subflow that it does not reset. Then this end has to
    /// follow, though it has begun to open others: one that the other end had known would have kept it from doing so.
    fn may_follow(&self, id: SubflowId) -> bool {
        let Counters { octets_reinjected, octets_duplicate, .. } = self.counters;
        let unanswered =
            |other: &Subflow| other.is_over() || matches!(other.handshake, Handshake::Join { .. });
        id == 0
            && self.subflows[1..].iter().all(unanswered)
            && octets_reinjected == 0
            && octets_duplicate == 0
    }

    /// The other end found a wrong checksum, or data without a mapping (MP_FAIL).
    pub(super) fn hear_failure(&mut self, id: SubflowId) {
        if self.may_follow(id) {
            self.fail_alone(id, self.rcv.queue.data_ack());
        } else {
            self.subflows[id].tcp.abort();
        }
    }

    /// The only subflow goes on as TCP: MP_FAIL says so, or that this was heard (mptcp_pm_mp_fail_received()), and what this end sends next begins an infinite
    /// mapping.
    fn fail_alone(&mut self, id: SubflowId, data: u64) {
        let fail = self.failure(data);
        let subflow = &mut self.subflows[id];
        subflow.outbox.push_back(fail);
        subflow.is_infinite = true;
        subflow.tcp.acknowledge_now();
        self.fall_back(id);
    }

    fn failure(&self, data: u64) -> MptcpOption {
        MptcpOption::Fail { dsn: self.rcv.sequence.map_or(0, |sequence| sequence.number(data)) }
    }

    /// Takes the octets of a subflow in, each by its mapping.
    pub(super) fn collect(&mut self, now: Time, id: SubflowId) {
        loop {
            if let Mode::Fallback(alone) = self.mode {
                if alone == id {
                    self.collect_plain(id, 0);
                }
                return;
            }
            let subflow = &mut self.subflows[id];
            let readable = subflow.tcp.readable();
            if readable == 0 || self.mode == Mode::Opening || subflow.reset.is_some() {
                return;
            }
            let at = subflow.tcp.read_offset();
            let Some((data, len)) = subflow.mappings.map(at) else {
                // Data without a mapping: the options were taken off after they had passed.
                self.fail(id, self.rcv.queue.data_ack());
                continue;
            };
            if self.checksum {
                if !self.collect_checked(now, id) {
                    return;
                }
                continue;
            }
            let payload = subflow.tcp.read(len.min(u64::from(u32::MAX)) as u32);
            subflow.mappings.forget(at + u64::from(payload.len()));
            self.take_data(now, id, data, &payload);
        }
    }

    /// Octets for the connection.
    fn take_data(&mut self, now: Time, id: SubflowId, data: u64, payload: &Payload) {
        let new = self.rcv.take(data, payload);
        let subflow = &mut self.subflows[id];
        subflow.new_octets += new;
        if new > 0 {
            subflow.last_news = Some(now);
        }
        self.counters.octets_duplicate += u64::from(payload.len()) - new.min(u64::from(payload.len()));
    }

    /// A whole mapping, once it is here; whether there was one.
    fn collect_checked(&mut self, now: Time, id: SubflowId) -> bool {
        let subflow = &mut self.subflows[id];
        let at = subflow.tcp.read_offset();
        let Some(checked) = subflow.checksums.get(&at).copied() else {
            self.fail(id, self.rcv.queue.data_ack());
            return true;
        };
        if subflow.tcp.readable() < u64::from(checked.len) {
            return false;
        }
        subflow.checksums.remove(&at);
        let mut left = checked.len;
        let mut parts = Vec::new();
        while left > 0 {
            let part = subflow.tcp.read(left);
            left -= part.len();
            parts.push(part);
        }
        subflow.mappings.forget(at + u64::from(checked.len));
        let whole = Payload::rope(parts);
        let sum = data_checksum(checked.dsn, checked.ssn, checked.wire_len, &whole);
        if sum == checked.checksum {
            self.take_data(now, id, checked.data, &whole);
        } else {
            self.counters.bad_checksums += 1;
            let is_alone = self.is_alone(id);
            self.fail(id, checked.data);
            if is_alone {
                // Section 3.7: what came is kept, as TCP would.
                self.take_data(now, id, checked.data, &whole);
            }
        }
        true
    }

    /// Something on the way changes what this subflow carries.
    fn fail(&mut self, id: SubflowId, data: u64) {
        if self.is_alone(id) {
            // Until an infinite mapping comes, the other end counts on data ACKs.
            self.subflows[id].acknowledges = true;
            self.fail_alone(id, data);
        } else {
            // MP_FAIL leaves with the reset.
            self.subflows[id].reset = Some(self.failure(data));
            self.subflows[id].tcp.abort();
            self.subflows[id].mappings = Default::default();
        }
    }

    /// As TCP: octets are in order. What the application has not read stays there, so that its window closes.
    pub(super) fn collect_plain(&mut self, id: SubflowId, max: u32) {
        let subflow = &mut self.subflows[id];
        if max > 0 {
            let payload = subflow.tcp.read(max);
            subflow.new_octets += u64::from(payload.len());
            self.rcv.take_plain(self.rcv.queue.data_ack(), &payload);
        }
        if subflow.tcp.is_at_end() {
            let end = self.rcv.queue.data_ack();
            self.rcv.note_fin(end);
        }
    }

    /// Octets in order that wait in the subflow, where the connection is TCP.
    pub(super) fn plain(&self) -> u64 {
        match self.mode {
            Mode::Fallback(id) => self.subflows[id].tcp.readable(),
            _ => 0,
        }
    }
}
