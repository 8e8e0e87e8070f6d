//! Subflows that make no progress, as Linux has it (`__mptcp_retrans()` and mptcp_subflow_get_retrans() in net/mptcp/protocol.c,
//! mptcp_pm_subflow_chk_stale() in net/mptcp/pm.c).
//!
//! A timeout of a subflow moves none of its data. The data level has a timer, which each new data ACK sets anew. When it expires, the piece that
//! is missing first goes by a subflow that has nothing to send. A subflow that nothing was heard of at five expiries in a row is stale: all that
//! is not acknowledged is given out anew, to the others. It is when a subflow ends, too.

use super::schedule::MIN_TIMEOUT;
use super::{Connection, SubflowId};
use voxpath_units::Time;

/// Expiries without progress that a subflow is forgiven (`net.mptcp.stale_loss_cnt`).
const FORGIVEN: u32 = 4;
/// Who stands in for a stale subflow has seen fewer of them (`active_max_loss_cnt`).
const HEALTHY: u32 = FORGIVEN - 1;
/// A backup retransmits once no subflow with data is better than that (`min_stale_count`).
const BACKUPS_FROM: u32 = 2;

impl Connection {
    /// The timer runs until the last of the subflows' own timers, without those of subflows that were seen to stand still (mptcp_set_timeout()).
    pub(super) fn measure_interval(&mut self, now: Time) {
        let moving =
            self.subflows.iter().filter(|subflow| subflow.is_ready() && subflow.staleness.expiries == 0);
        let due = moving.filter_map(|subflow| subflow.tcp.retransmission_due()).max();
        self.interval = due.filter(|&due| due > now).map_or(MIN_TIMEOUT, |due| due - now);
    }

    /// The timer of the data level has expired, and data is missing.
    pub(super) fn retransmit_first(&mut self, now: Time) {
        self.counters.timeouts += 1;
        self.retransmit = Some(self.subflows[0].tcp.expiry(now, self.interval));
        let Some(id) = self.idle(now) else { return };
        let (una, nxt) = (self.snd.una, self.snd.nxt);
        // What is given out anew goes before it, and is not sent twice.
        let is_due = self.snd.first_reinjection().is_some_and(|(from, ..)| from <= una);
        let Some(end) = self.snd.pieces.first_end().filter(|_| !is_due) else { return };
        self.counters.octets_reinjected += self.give(id, una, end.min(nxt) - una);
    }

    /// Who has nothing to send: the first such subflow, or a backup if none of the others moves. Those that have are looked at.
    fn idle(&mut self, now: Time) -> Option<SubflowId> {
        let (mut first, mut backup, mut least) = (None, None, u32::MAX);
        for id in 0..self.subflows.len() {
            let subflow = &self.subflows[id];
            if !subflow.is_ready() {
                continue;
            }
            if subflow.tcp.unacknowledged() > 0 {
                self.look_at(now, id);
                least = least.min(self.subflows[id].staleness.expiries);
            } else if subflow.is_backup() {
                backup = backup.or(Some(id));
            } else {
                first = first.or(Some(id));
            }
        }
        first.or(backup.filter(|_| least >= BACKUPS_FROM))
    }

    /// Counts an expiry for a subflow that has data; it may be stale then, if another one moves.
    fn look_at(&mut self, now: Time, id: SubflowId) {
        let subflow = &mut self.subflows[id];
        let heard = subflow.last_heard;
        let staleness = &mut subflow.staleness;
        if staleness.expiries == 0 {
            (staleness.expiries, staleness.heard) = (1, heard);
            return;
        }
        if staleness.heard != heard {
            staleness.expiries = 0;
            return;
        }
        staleness.expiries += 1;
        if staleness.is_stale || staleness.expiries <= FORGIVEN {
            return;
        }
        let moves = self.subflows.iter().enumerate().any(|(other, one)| {
            other != id && one.is_ready() && !one.staleness.is_stale && one.staleness.expiries < HEALTHY
        });
        if moves {
            self.subflows[id].staleness.is_stale = true;
            self.hand_over_all();
            self.schedule(now);
        }
    }

    /// All that is not acknowledged is given out anew, whoever has carried it (`__mptcp_retransmit_pending_data()`).
    pub(super) fn hand_over_all(&mut self) {
        self.snd.reinject(self.snd.una, self.snd.nxt, 0);
    }
}
