//! Duplicate acknowledgments without SACK, as Linux counts them: each is a segment that has left the network, and more of them than a single
//! loss can explain mean that packets overtake each other (`tcp_add_reno_sack()`, `tcp_check_reno_reordering()`).

use super::LossRecovery;
use crate::config::Recovery;
use crate::sender::Sender;
use crate::shared::Shared;

#[derive(Debug)]
pub(super) struct DuplicateAcks {
    /// Segments that duplicates have told of and no acknowledgment has covered (`sacked_out`).
    sacked_out: u64,
    /// Duplicates that signal a loss (`reordering`).
    reordering: u32,
}

impl DuplicateAcks {
    pub(super) const fn new(threshold: u32) -> Self {
        Self { sacked_out: 0, reordering: threshold }
    }

    /// A timeout: what was counted is void. If duplicates enough for the usual threshold had come, the one in use is too high.
    pub(super) fn on_timeout(&mut self, usual: u32) {
        if self.sacked_out >= u64::from(usual) {
            self.reordering = self.reordering.min(usual);
        }
        self.sacked_out = 0;
    }

    pub(super) const fn clear(&mut self) {
        self.sacked_out = 0;
    }

    /// Whether so many have come that a segment counts as lost.
    pub(super) const fn suffice(&self) -> bool {
        self.sacked_out >= self.reordering as u64
    }
}

impl LossRecovery {
    /// Whether duplicates count as segments that have left the network.
    pub(super) fn counts_dupacks(&self, cx: &Shared) -> bool {
        cx.config.recovery == Recovery::Linux && !cx.options.sack
    }

    /// Octets that duplicates say have left the network, without SACK.
    pub(crate) fn reno_sacked(&self, cx: &Shared, snd: &Sender) -> u64 {
        if self.counts_dupacks(cx) { self.dupacks.sacked_out * snd.window.smss } else { 0 }
    }

    /// A duplicate; the octets delivered.
    pub(super) fn add_reno_sack(&mut self, cx: &Shared, snd: &Sender) -> u64 {
        if !self.counts_dupacks(cx) {
            return 0;
        }
        self.dupacks.sacked_out += 1;
        let more_than_possible = self.limit_reno_sacked(cx, snd, 0);
        if more_than_possible { 0 } else { snd.window.smss }
    }

    /// `octets` were acknowledged; those that were delivered now and not before.
    pub(crate) fn remove_reno_sacks(&mut self, cx: &Shared, snd: &Sender, octets: u64) -> u64 {
        if !self.counts_dupacks(cx) {
            return octets;
        }
        let segments = octets.div_ceil(snd.window.smss);
        let delivered = segments.saturating_sub(self.dupacks.sacked_out).max(1) * snd.window.smss;
        // One of them filled the hole, the others had been told of.
        self.dupacks.sacked_out = self.dupacks.sacked_out.saturating_sub(segments.saturating_sub(1));
        self.limit_reno_sacked(cx, snd, segments);
        delivered.min(octets)
    }

    /// Duplicates cannot tell of more segments than are outstanding, less the one that is missing: if they do, nothing was missing.
    fn limit_reno_sacked(&mut self, cx: &Shared, snd: &Sender, acked: u64) -> bool {
        let outstanding = snd.rtx_queue.len() as u64;
        let most = outstanding.saturating_sub(1);
        let more = self.dupacks.sacked_out > most;
        if more {
            self.dupacks.sacked_out = most;
            let seen = u32::try_from(outstanding + acked).unwrap_or(u32::MAX);
            self.dupacks.reordering = self.dupacks.reordering.max(seen.min(cx.config.max_reordering));
        }
        more
    }
}
