//! Reductions of the window that turn out to have been spurious, and their undoing.
//!
//! Two proofs serve: every retransmission was reported as a duplicate (RFC 2883, RFC 3708), or an acknowledgment echoes a timestamp older than
//! the first retransmission, so that the original has arrived (the Eifel detection of RFC 3522). F-RTO has a third (`frto.rs`). What follows
//! is Linux' response: the window and the threshold of before.

use super::{LossRecovery, Phase};
use crate::sender::Sender;
use crate::shared::{Shared, timestamp};
use voxpath_units::Time;
use voxpath_wire::tcp::Timestamps;

/// What has to be known to undo a reduction (`undo_marker`, `undo_retrans`, `retrans_stamp`, `prior_ssthresh` of Linux).
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// SND.UNA when the window was reduced; none if there is nothing to undo.
    undo_marker: Option<u64>,
    /// Octets retransmitted since and not yet reported as duplicates; none if nothing was retransmitted.
    undo_retrans: Option<u64>,
    /// The timestamp of the first retransmission.
    retrans_stamp: Option<u32>,
    prior_cwnd: u64,
    prior_ssthresh: u64,
}

impl Undo {
    /// Octets were retransmitted.
    pub(super) fn note_retransmission(&mut self, octets: u64, stamp: Option<u32>) {
        self.undo_retrans = Some(self.undo_retrans.unwrap_or(0) + octets);
        self.retrans_stamp = self.retrans_stamp.or(stamp);
    }

    /// A D-SACK reported `octets` that end with `end`.
    fn note_duplicate(&mut self, octets: u64, end: u64) {
        if self.undo_marker.is_some_and(|marker| end > marker)
            && let Some(undo_retrans) = &mut self.undo_retrans
        {
            *undo_retrans = undo_retrans.saturating_sub(octets);
        }
    }

    /// Whether an acknowledgment that echoes this stamp answers the original (Linux' tcp_packet_delayed()).
    fn answers_original(&self, echo: Option<u32>) -> bool {
        let (Some(stamp), Some(echo)) = (self.retrans_stamp, echo) else { return false };
        self.undo_marker.is_some() && echo != 0 && echo.wrapping_sub(stamp).cast_signed() < 0
    }

    /// Whether every retransmission was reported as a duplicate.
    fn are_all_retransmissions_spurious(&self) -> bool {
        self.undo_marker.is_some() && self.undo_retrans == Some(0)
    }
}

impl LossRecovery {
    /// The window is about to be reduced.
    pub(super) fn init_undo(&mut self, snd: &Sender) {
        let ssthresh = match self.episode.phase {
            Phase::Recovery | Phase::Reduction => snd.window.ssthresh,
            // Linux' tcp_current_ssthresh()
            Phase::Open | Phase::Loss => snd.window.ssthresh.max(snd.window.cwnd / 4 * 3),
        };
        // What an earlier reduction retransmitted may still be reported as a duplicate, or be answered (tcp_init_undo()).
        let in_flight = snd.rtx_queue.retransmitted_in_flight();
        let is_answered = in_flight == 0 && !snd.rtx_queue.is_first_retransmitted();
        let undo = self.undo.get_or_insert_default();
        **undo = Undo {
            undo_marker: Some(snd.una),
            undo_retrans: (in_flight > 0).then_some(in_flight),
            retrans_stamp: undo.retrans_stamp.filter(|_| !is_answered),
            prior_cwnd: snd.window.cwnd,
            prior_ssthresh: ssthresh,
        };
    }

    /// Octets are retransmitted to repair a loss.
    pub(crate) fn note_retransmission(&mut self, cx: &Shared, now: Time, octets: u64) {
        if let Some(undo) = &mut self.undo {
            undo.note_retransmission(octets, cx.options.timestamps.then(|| timestamp(now)));
        }
    }

    /// A D-SACK arrived.
    pub(super) fn on_dsack(&mut self, snd: &Sender, octets: u64, end: u64) {
        if let Some(undo) = &mut self.undo {
            undo.note_duplicate(octets, end);
        }
        // A probe is a segment (tcp_dsack_seen()).
        let is_probe = octets <= snd.window.smss && self.is_probe(end);
        if !is_probe {
            self.rack.on_dsack(snd.una, snd.nxt);
        }
    }

    /// Whether the last reduction was spurious, as far as this acknowledgment tells.
    pub(super) fn may_undo(&self, cx: &Shared, echo: Option<Timestamps>) -> bool {
        cx.config.undo
            && self.undo.as_ref().is_some_and(|undo| {
                undo.are_all_retransmissions_spurious()
                    || undo.answers_original(echo.map(|stamps| stamps.echo))
            })
    }

    /// Whether a hole was filled by the original, late.
    pub(super) fn is_packet_delayed(&self, cx: &Shared, echo: Option<Timestamps>) -> bool {
        let answers = |undo: &Undo| undo.answers_original(echo.map(|stamps| stamps.echo));
        cx.config.undo && self.undo.as_deref().is_some_and(answers)
    }

    /// Takes the reduction back (Linux' tcp_undo_cwnd_reduction()).
    pub(super) fn undo_cwnd_reduction(&mut self, cx: &mut Shared, snd: &mut Sender) {
        let (cwnd, ssthresh) = self.undo.as_deref_mut().map_or((0, 0), |undo| {
            let before = (undo.prior_cwnd, undo.prior_ssthresh);
            *undo = Undo { retrans_stamp: undo.retrans_stamp, ..Undo::default() };
            before
        });
        cx.counters.undone += 1;
        snd.window.cwnd = snd.cc.undo_cwnd(&snd.window, cwnd);
        snd.window.ssthresh = snd.window.ssthresh.max(ssthresh);
    }

    /// Nothing outstanding counts as lost any more. Not where a recovery has ended or every retransmission was reported: what lies above
    /// may be lost all the same.
    pub(super) fn unmark_lost(&mut self, snd: &mut Sender) {
        snd.scoreboard.unmark_lost(snd.una);
        snd.rtx_queue.unmark_lost();
    }
}
