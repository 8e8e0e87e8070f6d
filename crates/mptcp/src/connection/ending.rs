//! Subflows that end, and the end of it all (RFC 8684 sections 3.3.3, 3.5).

use super::arrival::reason;
use super::{Connection, Mode, SubflowId};
use crate::subflow::Handshake;
use voxpath_tcp::Ended;
use voxpath_units::Time;
use voxpath_wire::tcp::mptcp::MptcpOption;

impl Connection {
    /// Ends the connection at once: MP_FASTCLOSE on one subflow, resets on all (section 3.5).
    pub fn abort(&mut self) {
        if self.ended.is_some() {
            return;
        }
        self.polled = 0;
        let key = self.their_key.filter(|_| self.mode == Mode::Multipath);
        for subflow in &mut self.subflows {
            subflow.reset = key.map(|key| MptcpOption::FastClose { key: key.0 });
            subflow.tcp.abort();
        }
        self.end(Ended::Aborted);
    }

    /// Resets a subflow and says why (section 3.6).
    pub(super) fn reset(&mut self, id: SubflowId, reason: u8) {
        let subflow = &mut self.subflows[id];
        subflow.reset = Some(MptcpOption::Reset { transient: false, reason });
        subflow.may_return = false;
        subflow.tcp.abort();
    }

    /// It is over, whatever the subflows still do.
    pub(super) fn end(&mut self, how: Ended) {
        self.ended.get_or_insert(how);
        (self.retransmit, self.abandoned) = (None, None);
    }

    /// What subflows carry that ended, or whose timer expired, goes to the others.
    pub(super) fn reap(&mut self, now: Time) {
        if let Mode::Fallback(id) = self.mode {
            self.collect(now, id);
            if let Some(how) = self.subflows[id].tcp.ended() {
                self.end(how);
            }
            return;
        }
        for id in 0..self.subflows.len() {
            let subflow = &mut self.subflows[id];
            if subflow.is_over() {
                if !core::mem::replace(&mut subflow.is_reaped, true) {
                    let (ends, stood) =
                        ([subflow.local, subflow.remote], subflow.handshake == Handshake::Done);
                    let may = subflow.may_return && subflow.tcp.ended() != Some(Ended::Closed);
                    self.paths.failed(now, ends, stood, may);
                    self.couplings.leave(id);
                    if self.scheduler.waits_until_stale() {
                        self.hand_over_all();
                    } else {
                        self.hand_over(id, 0);
                    }
                }
                continue;
            }
            let timeouts = subflow.tcp.counters().timeouts;
            if subflow.timeouts < timeouts {
                (subflow.timeouts, subflow.silent) = (timeouts, true);
                if self.scheduler.waits_until_stale() {
                    continue;
                }
                if !self.subflows.iter().enumerate().any(|(other, one)| other != id && one.is_ready()) {
                    // It repeats by itself what nobody else could carry.
                    continue;
                }
                let subflow = &mut self.subflows[id];
                let from = subflow.reinjected;
                subflow.reinjected = subflow.tcp.write_offset();
                self.hand_over(id, from);
            }
        }
        self.look_for_subflows(now);
    }

    /// What a subflow carries from its octet `from` on is to be sent again by others.
    fn hand_over(&mut self, id: SubflowId, from: u64) {
        let carried = crate::scheduler::bit(id);
        let Self { subflows, snd, .. } = self;
        for mapping in subflows[id].tcp.mappings().filter(|mapping| mapping.start >= from) {
            snd.reinject(mapping.value, mapping.value + u64::from(mapping.len), carried);
        }
    }

    /// Without a subflow the connection ends: at once if it never had one that stood, else when its time is over.
    fn look_for_subflows(&mut self, now: Time) {
        if self.ended.is_some() {
            return;
        }
        if self.subflows.iter().any(|subflow| !subflow.is_over()) {
            self.abandoned = None;
            return;
        }
        let last = self.subflows.last().and_then(|subflow| subflow.tcp.ended()).unwrap_or(Ended::Closed);
        let first = self.subflows.first().and_then(|subflow| subflow.tcp.ended());
        if self.mode == Mode::Opening {
            self.end(first.unwrap_or(last));
            return;
        }
        match self.abandoned {
            None => self.abandoned = Some(now + self.config.close_timeout),
            Some(due) if due <= now => self.end(if last == Ended::Closed { Ended::Reset } else { last }),
            Some(_) => {}
        }
    }

    /// Sends the DATA_FIN once everything else has been given to a subflow, and closes subflows when both directions are done.
    pub(super) fn close_when_done(&mut self) {
        if self.mode != Mode::Multipath {
            return;
        }
        if self.snd.buffer.is_closed() && !self.snd.fin_sent && self.snd.nxt == self.snd.buffer.end() {
            self.snd.fin_sent = true;
            for subflow in self.subflows.iter_mut().filter(|subflow| subflow.is_ready()) {
                subflow.tcp.acknowledge_now();
            }
        }
        if self.snd.is_finished() && self.rcv.queue.is_finished() {
            for subflow in &mut self.subflows {
                subflow.tcp.close();
            }
            self.end(Ended::Closed);
        }
    }

    /// An address of this end is gone, or there again; the other end is told by a subflow that is left, or by the next one (section 3.4.2).
    pub fn set_address(&mut self, ip: core::net::IpAddr, is_up: bool) {
        let Some(first) = self.subflows.first().map(|first| first.local.ip()) else { return };
        // TCP does not end with its address.
        if !self.paths.set_up(ip, is_up, first) || self.mode != Mode::Multipath {
            return;
        }
        self.touched = true;
        if !is_up {
            for subflow in self.subflows.iter_mut().filter(|subflow| subflow.local.ip() == ip) {
                subflow.tcp.abort();
            }
        }
    }

    /// Closes a subflow of this end's own accord.
    pub fn close_subflow(&mut self, id: SubflowId) {
        if !self.subflows[id].is_over() {
            self.reset(id, reason::SPECIFIC);
            self.paths.note_closed();
            self.touched = true;
        }
    }

    /// Asks the other end to use the first subflow as a backup if its address is one: MP_CAPABLE has no flag for that, as MP_JOIN has.
    pub(super) fn ask_for_backup(&mut self, id: SubflowId) {
        if self.paths.is_backup(self.subflows[id].local.ip()) {
            self.set_backup(id, true);
        }
    }

    /// Asks the other end to use a subflow only if no other is there, or no longer (MP_PRIO, section 3.3.8).
    pub fn set_backup(&mut self, id: SubflowId, backup: bool) {
        let subflow = &mut self.subflows[id];
        if subflow.is_ready() && subflow.asked_backup != backup {
            subflow.asked_backup = backup;
            subflow.outbox.push_back(MptcpOption::Prio { backup });
            subflow.tcp.acknowledge_now();
            self.touched = true;
        }
    }
}
