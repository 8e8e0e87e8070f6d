//! Duplicate acknowledgments without SACK, as Linux counts them: each is a segment that has left the network, and more of them than a single
//! loss can explain mean that packets overtake each other (`tcp_add_reno_sack()`, `tcp_check_reno_reordering()`).

use super::LossRecovery;
use crate::config::Recovery;
use crate::sender::Sender;
use crate::shared::Shared;

#[derive(Debug)]
pub(super) struct DuplicateAcks {
    /// Segments that duplicates have told of and no acknowledgment has covered (`sacked_out`).
    out: u64,
    /// Duplicates that signal a loss (`reordering`).
    threshold: u32,
}

impl DuplicateAcks {
    pub(super) const fn new(threshold: u32) -> Self {
        Self { out: 0, threshold }
    }

    /// A timeout: what was counted is void. If duplicates enough for the usual threshold had come, the one in use is too high.
    pub(super) fn on_timeout(&mut self, usual: u32) {
        if self.out >= u64::from(usual) {
            self.threshold = self.threshold.min(usual);
        }
        self.out = 0;
    }

    pub(super) const fn clear(&mut self) {
        self.out = 0;
    }

    /// Whether so many have come that a segment counts as lost.
    pub(super) const fn suffice(&self) -> bool {
        self.out >= self.threshold as u64
    }
}

impl LossRecovery {
    /// Whether duplicates count as segments that have left the network.
    pub(super) fn counts_duplicates(&self, cx: &Shared) -> bool {
        cx.config.recovery == Recovery::Linux && !cx.options.sack
    }

    /// Octets that duplicates say have left the network, without SACK.
    pub(crate) fn departed(&self, cx: &Shared, snd: &Sender) -> u64 {
        if self.counts_duplicates(cx) { self.dupacks.out * snd.window.smss } else { 0 }
    }

    /// A duplicate; the octets delivered.
    pub(super) fn count_duplicate(&mut self, cx: &Shared, snd: &Sender) -> u64 {
        if !self.counts_duplicates(cx) {
            return 0;
        }
        self.dupacks.out += 1;
        let more_than_possible = self.limit_duplicates(cx, snd, 0);
        if more_than_possible { 0 } else { snd.window.smss }
    }

    /// `octets` were acknowledged; those that were delivered now and not before.
    pub(crate) fn uncount_duplicates(&mut self, cx: &Shared, snd: &Sender, octets: u64) -> u64 {
        if !self.counts_duplicates(cx) {
            return octets;
        }
        let segments = octets.div_ceil(snd.window.smss);
        let delivered = segments.saturating_sub(self.dupacks.out).max(1) * snd.window.smss;
        // One of them filled the hole, the others had been told of.
        self.dupacks.out = self.dupacks.out.saturating_sub(segments.saturating_sub(1));
        self.limit_duplicates(cx, snd, segments);
        delivered.min(octets)
    }

    /// Duplicates cannot tell of more segments than are outstanding, less the one that is missing: if they do, nothing was missing.
    fn limit_duplicates(&mut self, cx: &Shared, snd: &Sender, acked: u64) -> bool {
        let outstanding = snd.sent.len() as u64;
        let most = outstanding.saturating_sub(1);
        let more = self.dupacks.out > most;
        if more {
            self.dupacks.out = most;
            let seen = u32::try_from(outstanding + acked).unwrap_or(u32::MAX);
            self.dupacks.threshold = self.dupacks.threshold.max(seen.min(cx.config.max_reordering));
        }
        more
    }
}
