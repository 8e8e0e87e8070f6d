//! Reductions of the window that turn out to have been for nothing, and their undoing.
//!
//! Two proofs serve: every repetition was reported as a duplicate (RFC 2883, RFC 3708), or an acknowledgment echoes a timestamp older than
//! the first repetition, so that the original has arrived (the Eifel detection of RFC 3522). F-RTO has a third (`frto.rs`). What follows
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
    marker: Option<u64>,
    /// Octets sent again since and not yet reported as duplicates; none if nothing was sent again.
    repeated: Option<u64>,
    /// The timestamp of the first repetition.
    stamp: Option<u32>,
    cwnd: u64,
    ssthresh: u64,
}

impl Undo {
    /// Octets were sent again.
    pub(super) fn note_repetition(&mut self, octets: u64, stamp: Option<u32>) {
        self.repeated = Some(self.repeated.unwrap_or(0) + octets);
        self.stamp = self.stamp.or(stamp);
    }

    /// A D-SACK reported `octets` that end with `end`.
    fn note_duplicate(&mut self, octets: u64, end: u64) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(repeated) = &mut self.repeated
        {
            *repeated = repeated.saturating_sub(octets);
        }
    }

    /// Whether an acknowledgment that echoes this stamp answers the original (Linux' tcp_packet_delayed()).
    fn answers_original(&self, echo: Option<u32>) -> bool {
        let (Some(stamp), Some(echo)) = (self.stamp, echo) else { return false };
        self.marker.is_some() && echo != 0 && echo.wrapping_sub(stamp).cast_signed() < 0
    }

    /// Whether every repetition was reported as a duplicate.
    fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.repeated == Some(0)
    }
}

impl LossRecovery {
    /// The window is about to be reduced.
    pub(super) fn prepare_undo(&mut self, snd: &Sender) {
        let ssthresh = match self.episode.phase {
            Phase::Recovery | Phase::Reduction => snd.window.ssthresh,
            // Linux' tcp_current_ssthresh()
            Phase::Open | Phase::Loss => snd.window.ssthresh.max(snd.window.cwnd / 4 * 3),
        };
        // What an earlier reduction sent again may still be reported as a duplicate, or be answered (tcp_init_undo()).
        let under_way = snd.sent.repeated();
        let is_answered = under_way == 0 && !snd.sent.has_repeated_first();
        let undo = self.undo.get_or_insert_default();
        **undo = Undo {
            marker: Some(snd.una),
            repeated: (under_way > 0).then_some(under_way),
            stamp: undo.stamp.filter(|_| !is_answered),
            cwnd: snd.window.cwnd,
            ssthresh,
        };
    }

    /// Octets are sent again to repair a loss.
    pub(crate) fn note_retransmission(&mut self, cx: &Shared, now: Time, octets: u64) {
        if let Some(undo) = &mut self.undo {
            undo.note_repetition(octets, cx.options.timestamps.then(|| timestamp(now)));
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

    /// Whether the last reduction was for nothing, as far as this acknowledgment tells.
    pub(super) fn may_undo(&self, cx: &Shared, echo: Option<Timestamps>) -> bool {
        cx.config.undo
            && self.undo.as_ref().is_some_and(|undo| {
                undo.all_were_duplicates() || undo.answers_original(echo.map(|stamps| stamps.echo))
            })
    }

    /// Whether a hole was filled by the original, late.
    pub(super) fn was_late(&self, cx: &Shared, echo: Option<Timestamps>) -> bool {
        let answers = |undo: &Undo| undo.answers_original(echo.map(|stamps| stamps.echo));
        cx.config.undo && self.undo.as_deref().is_some_and(answers)
    }

    /// Takes the reduction back (Linux' tcp_undo_cwnd_reduction()).
    pub(super) fn undo(&mut self, cx: &mut Shared, snd: &mut Sender) {
        let (cwnd, ssthresh) = self.undo.as_deref_mut().map_or((0, 0), |undo| {
            let before = (undo.cwnd, undo.ssthresh);
            *undo = Undo { stamp: undo.stamp, ..Undo::default() };
            before
        });
        cx.counters.undone += 1;
        snd.window.cwnd = snd.cc.undo_cwnd(&snd.window, cwnd);
        snd.window.ssthresh = snd.window.ssthresh.max(ssthresh);
    }

    /// Nothing outstanding counts as lost any more. Not where a recovery has ended or every repetition was reported: what lies above
    /// may be lost all the same.
    pub(super) fn forget_losses(&mut self, snd: &mut Sender) {
        snd.scoreboard.forget_losses(snd.una);
        snd.sent.forget_losses();
    }
}
