//! Duplicate acknowledgments without SACK, as Linux counts them: each is a segment that has left the network, and more of them than a single
//! loss can explain mean that packets overtake each other (`tcp_add_reno_sack()`, `tcp_check_reno_reordering()`).

use super::Connection;
use crate::config::Recovery;

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

impl Connection {
    /// Whether duplicates count as segments that have left the network.
    pub(super) fn counts_duplicates(&self) -> bool {
        self.shared.config.recovery == Recovery::Linux && !self.shared.options.sack
    }

    /// Octets that duplicates say have left the network, without SACK.
    pub(super) fn departed(&self) -> u64 {
        if self.counts_duplicates() { self.dupacks.out * self.window.smss } else { 0 }
    }

    /// A duplicate; the octets delivered.
    pub(super) fn count_duplicate(&mut self) -> u64 {
        if !self.counts_duplicates() {
            return 0;
        }
        self.dupacks.out += 1;
        let more_than_possible = self.limit_duplicates(0);
        if more_than_possible { 0 } else { self.window.smss }
    }

    /// `octets` were acknowledged; those that were delivered now and not before.
    pub(super) fn uncount_duplicates(&mut self, octets: u64) -> u64 {
        if !self.counts_duplicates() {
            return octets;
        }
        let segments = octets.div_ceil(self.window.smss);
        let delivered = segments.saturating_sub(self.dupacks.out).max(1) * self.window.smss;
        // One of them filled the hole, the others had been told of.
        self.dupacks.out = self.dupacks.out.saturating_sub(segments.saturating_sub(1));
        self.limit_duplicates(segments);
        delivered.min(octets)
    }

    /// Duplicates cannot tell of more segments than are outstanding, less the one that is missing: if they do, nothing was missing.
    fn limit_duplicates(&mut self, acked: u64) -> bool {
        let outstanding = self.sent.len() as u64;
        let most = outstanding.saturating_sub(1);
        let more = self.dupacks.out > most;
        if more {
            self.dupacks.out = most;
            let seen = u32::try_from(outstanding + acked).unwrap_or(u32::MAX);
            self.dupacks.threshold = self.dupacks.threshold.max(seen.min(self.shared.config.max_reordering));
        }
        more
    }
}
