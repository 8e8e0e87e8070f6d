//! What is known of the octets between SND.UNA and SND.NXT: selectively acknowledged, lost, retransmitted.
//!
//! The names are those of RFC 6675 section 2. Everything is derived from three things: the set of octets
//! that were SACKed, an edge below which what is not SACKed counts as lost, and `HighRxt`. The same three serve
//! a sender without SACK: a timeout moves the edge to SND.NXT, which is "go back N".
//!
//! Where losses are seen by time (RFC 8985) there is no such edge: a segment may be lost, retransmitted and lost again, whatever lies
//! around it. Then a second set holds what is lost and was not retransmitted since.

use crate::ranges::RangeSet;
use alloc::boxed::Box;
use core::ops::Range;

/// RFC 6675's scoreboard.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: RangeSet,
    /// Octets below this that are not SACKed are lost.
    lost_below: u64,
    /// HighRxt: octets below this have been retransmitted, unless they were SACKed.
    high_rxt: u64,
    /// Losses are seen by time: `lost` in place of the two edges.
    by_time: bool,
    /// Octets lost and not retransmitted since; none as long as nothing was lost.
    lost: Option<Box<RangeSet>>,
    /// What was charged for the octets ever marked lost by time, for some of them more than once.
    lost_ever: u64,
}

impl Scoreboard {
    /// From now on losses are told by [`Scoreboard::mark_lost`].
    pub(crate) fn see_losses_by_time(&mut self) {
        self.by_time = true;
    }

    /// Takes the octets of a SACK block in.
    pub(crate) fn sack(&mut self, block: Range<u64>) {
        self.forget_lost(block.clone());
        self.sacked.insert(block);
    }

    /// What was SACKed.
    pub(crate) const fn sacked(&self) -> &RangeSet {
        &self.sacked
    }

    /// These octets are lost, but for those of them that were SACKed; `short` more were charged for them.
    pub(crate) fn mark_lost(&mut self, range: Range<u64>, short: u64) {
        self.lost_ever += short;
        let mut from = range.start;
        while let Some(gap) = self.sacked.first_gap(from, range.end) {
            from = gap.end;
            self.lost_ever += self.lost.get_or_insert_default().insert(gap);
        }
    }

    /// What was charged for the octets ever marked lost by time.
    pub(crate) const fn lost_ever(&self) -> u64 {
        self.lost_ever
    }

    /// Whether octets are lost and not retransmitted.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost_octets() > 0
    }

    fn lost_octets(&self) -> u64 {
        self.lost.as_ref().map_or(0, |lost| lost.octets())
    }

    /// These octets are lost no more.
    fn forget_lost(&mut self, range: Range<u64>) {
        if let Some(lost) = &mut self.lost {
            lost.remove(range);
        }
    }

    /// Nothing was lost: what seemed so was late.
    pub(crate) fn unmark_lost(&mut self, una: u64) {
        if let Some(lost) = &mut self.lost {
            lost.clear();
        }
        self.lost_below = una;
        self.high_rxt = una;
    }

    /// SND.UNA advanced.
    pub(crate) fn acknowledge(&mut self, una: u64) {
        self.sacked.remove_below(una);
        if let Some(lost) = &mut self.lost {
            lost.remove_below(una);
        }
        self.lost_below = self.lost_below.max(una);
        self.high_rxt = self.high_rxt.max(una);
    }

    /// Update(): moves the edge of loss up to where IsLost() holds, `dupack_threshold` discontiguous SACKed
    /// runs above or more than `dupack_threshold - 1` segments' worth of octets.
    pub(crate) fn update_lost(&mut self, dupack_threshold: u32, smss: u64) {
        let (mut runs, mut octets) = (0, 0);
        for range in self.sacked.as_slice().iter().rev() {
            runs += 1;
            octets += range.end - range.start;
            if runs >= dupack_threshold || octets > u64::from(dupack_threshold - 1) * smss {
                self.lost_below = self.lost_below.max(range.start);
                return;
            }
        }
    }

    /// Whether the first outstanding octet counts as lost.
    pub(crate) fn is_lost(&self, octet: u64) -> bool {
        if self.by_time {
            return self.lost.as_ref().is_some_and(|lost| lost.containing(octet).is_some());
        }
        octet < self.lost_below && self.sacked.count_within(octet..octet + 1) == 0
    }

    /// A timeout: everything that was not SACKed counts as lost, nothing as retransmitted.
    ///
    /// What was SACKed is kept (RFC 6675 section 5.1), unless the first outstanding octet is among it: a receiver that
    /// does not acknowledge what it reported has reneged (RFC 2018 section 8).
    pub(crate) fn mark_all_lost(&mut self, una: u64, nxt: u64) {
        self.clear_if_reneged(una);
        self.lost_below = nxt;
        self.high_rxt = una;
        if self.by_time {
            self.mark_lost(una..nxt, 0);
        }
    }

    /// Forgets what was SACKed if the first outstanding octet is among it; whether it was.
    pub(crate) fn clear_if_reneged(&mut self, una: u64) -> bool {
        let reneged = self.sacked.count_within(una..una + 1) > 0;
        if reneged {
            self.sacked.clear();
        }
        reneged
    }

    /// A new episode of recovery: nothing was retransmitted yet.
    pub(crate) fn start_recovery(&mut self, una: u64) {
        self.high_rxt = una;
    }

    /// The next octets to send again, at most `max`: NextSeg() rule (1).
    pub(crate) fn next_lost(&self, max: u32) -> Option<Range<u64>> {
        let gap = if self.by_time {
            self.lost.as_ref()?.as_slice().first()?.clone()
        } else {
            self.sacked.first_gap(self.high_rxt, self.lost_below)?
        };
        Some(gap.start..gap.end.min(gap.start + u64::from(max)))
    }

    /// The first octets not SACKed below the highest SACKed one that were not retransmitted: NextSeg() rule (3).
    pub(crate) fn next_unsacked(&self, max: u32) -> Option<Range<u64>> {
        let highest = self.sacked.as_slice().last()?.end;
        let gap = self.sacked.first_gap(self.high_rxt.max(self.lost_below), highest)?;
        Some(gap.start..gap.end.min(gap.start + u64::from(max)))
    }

    /// Octets were retransmitted.
    pub(crate) fn retransmitted(&mut self, range: &Range<u64>) {
        self.high_rxt = self.high_rxt.max(range.end);
        self.forget_lost(range.clone());
    }

    /// Octets SACKed.
    pub(crate) fn sacked_octets(&self, una: u64, nxt: u64) -> u64 {
        self.sacked.count_within(una..nxt)
    }

    /// The first octet SACKed.
    pub(crate) fn first_sacked(&self) -> Option<u64> {
        self.sacked.as_slice().first().map(|range| range.start)
    }

    /// At most `max` octets that end with the highest outstanding one not SACKed: NextSeg() rule (4). None if that one
    /// was retransmitted in this recovery: it is in flight, and a copy of the copy rescues nothing.
    pub(crate) fn last_unsacked(&self, nxt: u64, max: u32) -> Option<Range<u64>> {
        let ranges = self.sacked.as_slice();
        let (end, below) = match ranges.split_last() {
            Some((last, below)) if last.end >= nxt => (last.start, below.last()),
            last => (nxt, last.map(|(last, _)| last)),
        };
        let floor = below.map_or(0, |range| range.end).max(self.high_rxt);
        let start = end.saturating_sub(u64::from(max)).max(floor);
        (start < end).then_some(start..end)
    }

    /// SetPipe(): an estimate of the octets on their way.
    pub(crate) fn pipe(&self, una: u64, nxt: u64) -> u64 {
        if self.by_time {
            return nxt - una - self.sacked.octets() - self.lost_octets();
        }
        let unsacked = |range: Range<u64>| (range.end - range.start) - self.sacked.count_within(range);
        let not_lost = unsacked(self.lost_below.clamp(una, nxt)..nxt);
        let sent_again = unsacked(una..self.high_rxt.clamp(una, nxt));
        not_lost + sent_again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 100;

    /// Ten segments outstanding, these of them SACKed (counted from 0).
    fn board(sacked: &[u64]) -> Scoreboard {
        let mut board = Scoreboard::default();
        board.acknowledge(1000);
        for &i in sacked {
            board.sack(1000 + i * SMSS..1000 + (i + 1) * SMSS);
        }
        board.update_lost(3, SMSS);
        board
    }

    #[test]
    fn a_segment_is_lost_when_three_segments_above_it_are_sacked() {
        assert!(!board(&[1, 2]).is_lost(1000));
        assert!(board(&[1, 2, 3]).is_lost(1000));
        assert!(board(&[1, 3, 5]).is_lost(1000));
        let two_holes = board(&[1, 3, 4, 5]);
        assert!(two_holes.is_lost(1000) && two_holes.is_lost(1200));
        assert!(!two_holes.is_lost(1100), "what is SACKed is not lost");
        assert!(!two_holes.is_lost(1600), "nothing is known above the highest SACK");
    }

    #[test]
    fn the_pipe_has_what_is_neither_sacked_nor_lost_and_what_was_sent_again() {
        let mut board = board(&[1, 2, 3]);
        assert_eq!(board.pipe(1000, 2000), 600);
        assert_eq!(board.next_lost(1460), Some(1000..1100));
        board.retransmitted(&(1000..1100));
        assert_eq!(board.pipe(1000, 2000), 700);
        assert_eq!(board.next_lost(1460), None);
    }

    #[test]
    fn after_a_timeout_everything_is_sent_again_in_order() {
        let mut board = board(&[1, 2, 3]);
        board.mark_all_lost(1000, 2000);
        assert_eq!(board.pipe(1000, 2000), 0);
        assert_eq!(board.next_lost(100), Some(1000..1100));
        board.retransmitted(&(1000..1100));
        board.acknowledge(1400);
        assert_eq!(board.next_lost(100), Some(1400..1500));
        assert_eq!(board.pipe(1400, 2000), 0);
    }

    #[test]
    fn rule_3_offers_what_is_not_sacked_below_the_highest_sack() {
        let board = board(&[2]);
        assert_eq!(board.next_lost(100), None);
        assert_eq!(board.next_unsacked(100), Some(1000..1100));
    }
}
