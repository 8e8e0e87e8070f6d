//! When each outstanding octet was sent, for round-trip times and for losses seen by time.

use super::rate::Snapshot;
use crate::lean::push_back;
use crate::ranges::RangeSet;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::ops::Range;
use voxpath_units::{Span, Time};

/// Outstanding segments, oldest first; together they are SND.UNA..SND.NXT.
#[derive(Debug, Default)]
pub(crate) struct RetransmissionQueue {
    segments: VecDeque<Segment>,
    /// The end of the last segment acknowledged: where the first outstanding one begins.
    start: u64,
    /// What few connections need, once it was needed.
    more: Option<Box<More>>,
    /// Originals below this are delivered, lost or retransmitted: no more to be judged by time.
    first_undecided: u64,
    sums: Sums,
}

/// What is counted of the segments, kept as they change.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    /// By how much those that are in flight fall short of what they are charged, in octets.
    short: u64,
    /// How many are SACKed (`sacked_out`).
    sacked_out: u32,
    /// How many are marked lost, retransmitted or not, and have not arrived (`lost_out`).
    lost_out: u32,
    /// In how many buffers they are.
    buffers: u32,
}

impl Sums {
    /// A segment is marked lost; by how much it had fallen short of its charge.
    fn mark_lost(&mut self, sent: &mut Segment) -> u64 {
        let short = sent.short_in_flight();
        self.short -= short;
        self.lost_out += u32::from(!sent.marked_lost);
        (sent.lost, sent.marked_lost) = (true, true);
        short
    }

    /// A segment is in one buffer with the one before it from now on, or begins one.
    fn set_continues(&mut self, sent: &mut Segment, continues: bool) {
        self.buffers = self.buffers + u32::from(sent.continues) - u32::from(continues);
        sent.continues = continues;
    }
}

/// What is kept where a rate of delivery is asked for, or something was retransmitted.
#[derive(Debug, Default)]
struct More {
    /// What each segment remembers, in step with them; empty where no rate of delivery is asked for.
    snapshots: VecDeque<Snapshot>,
    /// Segments retransmitted, in the order of time; some may have been delivered, or retransmitted, since.
    retransmissions: VecDeque<Retransmission>,
    /// Where a retransmission last divided a buffer, and when.
    divided: Option<(u64, Time)>,
}

/// When a segment was sent last, as what tells which of two was sent later (RACK_sent_after(), RFC 8985 section 6.2).
///
/// The RFC tells what was sent at the same time by where it ends. In virtual time much is: then a retransmission is not older than all
/// that was new before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    /// SND.NXT then, itself included.
    nxt: u64,
    /// Where it ends, if it had been sent before; else zero.
    again: u64,
}

impl Sent {
    pub(crate) const fn is_retransmission(self) -> bool {
        self.again > 0
    }
}

#[derive(Debug)]
struct Segment {
    end: u64,
    /// When it was sent last.
    at: Time,
    /// SND.NXT then, itself included.
    nxt: u64,
    /// By how many octets it falls short of what it is charged.
    short: u16,
    /// In one buffer with the segment before it.
    continues: bool,
    retransmitted: bool,
    sacked: bool,
    /// SACKed, and sent once before or to repair a loss: becomes one buffer with such segments beside it.
    merges: bool,
    /// Marked lost, and not retransmitted since.
    lost: bool,
    /// Marked lost, and not known to have arrived since.
    marked_lost: bool,
}

impl Segment {
    const fn sent(&self) -> Sent {
        Sent { at: self.at, nxt: self.nxt, again: if self.retransmitted { self.end } else { 0 } }
    }

    /// What it adds to what is charged of those in flight.
    const fn short_in_flight(&self) -> u64 {
        if self.sacked || self.lost { 0 } else { self.short as u64 }
    }
}

#[derive(Debug)]
struct Retransmission {
    end: u64,
    sent: Sent,
}

/// What one acknowledgment said of the segments that it delivered, cumulatively or selectively.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    /// Octets, each counted once in its life.
    pub(crate) octets: u64,
    /// By how much its segments fall short of what they were charged.
    short: u64,
    /// When the delivered segment was sent that was sent last.
    pub(crate) newest: Option<Sent>,
    /// The one that was sent last of those sent once.
    pub(crate) newest_once: Option<Sent>,
    /// The one that was taken in last: of what was acknowledged in order the last, else of what was SACKed.
    pub(crate) last: Option<Sent>,
    /// The send times of the last segment and of the first one acknowledged that were neither sent twice nor SACKed before, in the order of
    /// octets.
    newest_original: Option<Time>,
    oldest_original: Option<Time>,
    /// That of the first one that was SACKed, in the order of octets, and of the last one.
    first_sacked: Option<Time>,
    last_sacked: Option<Time>,
    /// A segment among those acknowledged had been sent twice.
    pub(crate) ambiguous: bool,
    /// The round-trip time by the echo of a timestamp, where nothing else tells it.
    pub(crate) echoed: Option<Span>,
    /// The lowest octet of a segment sent once.
    pub(crate) lowest_original: Option<u64>,
    /// The lowest end of a segment sent once.
    pub(crate) lowest_original_end: Option<u64>,
    /// What the segment in `newest` remembers.
    pub(crate) snapshot: Snapshot,
}

impl Delivered {
    /// What was charged of the congestion window for what is delivered.
    pub(crate) const fn charged(&self) -> u64 {
        self.octets + self.short
    }

    fn take(&mut self, sent: &Segment, start: u64, snapshot: Option<Snapshot>) {
        self.short += u64::from(sent.short);
        let order = sent.sent();
        self.last = Some(order);
        if self.newest.is_none_or(|newest| newest < order) {
            self.newest = Some(order);
            self.snapshot = snapshot.unwrap_or_default();
        }
        if !sent.retransmitted {
            self.newest_once = self.newest_once.max(Some(order));
            self.lowest_original = Some(self.lowest_original.map_or(start, |lowest| lowest.min(start)));
            let end = self.lowest_original_end.map_or(sent.end, |lowest| lowest.min(sent.end));
            self.lowest_original_end = Some(end);
        }
    }

    /// The round-trip time that the cumulative acknowledgment shows.
    ///
    /// None if a segment among those acknowledged had been sent twice (Karn's rule, RFC 6298 section 3): then the
    /// acknowledgment may answer the repair, and the segments behind it have waited at the receiver.
    pub(crate) fn rtt(&self, now: Time) -> Option<Span> {
        self.newest_original.filter(|_| !self.ambiguous).map(|at| now - at)
    }

    /// The longest round-trip time that the cumulative acknowledgment shows, a delay of the receiver's included; under Karn's rule likewise.
    pub(crate) fn longest_rtt(&self, now: Time) -> Option<Span> {
        self.oldest_original.filter(|_| !self.ambiguous).map(|at| now - at)
    }

    /// Whether what was SACKed first had been sent before `at`.
    pub(crate) fn is_older_than(&self, at: Option<Time>) -> bool {
        self.first_sacked.zip(at).is_some_and(|(sacked, at)| sacked < at)
    }

    /// The round-trip time of what was SACKed.
    pub(crate) fn sack_rtt(&self, now: Time) -> Option<Span> {
        self.first_sacked.map(|at| now - at)
    }

    /// The round-trip time of what was delivered last, for congestion control: selectively, if anything was (`ca_rtt_us` of Linux'
    /// tcp_clean_rtx_queue()), or else by the timestamp's echo, in whole milliseconds (tcp_ack_update_rtt()).
    pub(crate) fn latest_rtt(&self, now: Time) -> Option<Span> {
        self.last_sacked.map(|at| now - at).or_else(|| self.rtt(now)).or(self.echoed)
    }
}

impl RetransmissionQueue {
    /// When the first outstanding segment was sent last.
    pub(crate) fn first_sent(&self) -> Option<Time> {
        self.segments.front().map(|sent| sent.at)
    }

    /// New octets up to `end` were sent, for which `short` more are charged of the congestion window.
    pub(crate) fn push(&mut self, end: u64, short: u16, now: Time, snapshot: Option<Snapshot>) {
        self.sums.short += u64::from(short);
        self.sums.buffers += 1;
        let sent = Segment {
            end,
            at: now,
            nxt: end,
            short,
            continues: false,
            retransmitted: false,
            sacked: false,
            merges: false,
            lost: false,
            marked_lost: false,
        };
        push_back(&mut self.segments, sent);
        if let Some(snapshot) = snapshot {
            self.more.get_or_insert_default().snapshots.push_back(snapshot);
        }
    }

    /// The last segment is in one buffer with the one before it, if that is outstanding.
    pub(crate) fn continue_buffer(&mut self) {
        let is_first = self.segments.len() == 1;
        if let Some(last) = self.segments.back_mut().filter(|_| !is_first) {
            self.sums.set_continues(last, true);
        }
    }

    /// How many buffers outstanding segments are in. Each is as many segments as left at once, divided where a part is SACKed or retransmitted; what
    /// was SACKed side by side is one (tcp_fragment(), tcp_shift_skb_data()).
    pub(crate) const fn buffers(&self) -> u32 {
        self.sums.buffers
    }

    /// How many segments from `start` on are lost, in one buffer with the segment that ends there; no more than `most`.
    pub(crate) fn lost_of_buffer(&self, start: u64, most: u64) -> u16 {
        let behind = self.segments.range(self.index_of(start)..);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        behind.take(most).take_while(|sent| sent.continues && sent.lost).count() as u16
    }

    /// These octets were retransmitted in one segment, for which `short` more are charged of the congestion window. What leaves at one time of a buffer stays
    /// one.
    pub(crate) fn mark_retransmitted(
        &mut self,
        range: Range<u64>,
        mut short: u16,
        now: Time,
        snapshot: Option<Snapshot>,
    ) {
        let (first, behind) = (self.index_of(range.start), self.index_of(range.end - 1) + 1);
        let nxt = self.segments.back().map_or(range.end, |last| last.end);
        // A part of a segment that leaves later changes no borders.
        let (begins, ends) = (range.start == self.start_of(first), range.end == self.start_of(behind));
        let is_divided = ends && self.segments.get(behind).is_some_and(|next| next.continues);
        let more = self.more.get_or_insert_default();
        let divided = core::mem::replace(&mut more.divided, is_divided.then_some((range.end, now)));
        let follows = first > 0 && divided == Some((range.start, now));
        for (index, sent) in (first..behind).zip(self.segments.range_mut(first..)) {
            if index > first || begins {
                self.sums.set_continues(sent, index > first || follows);
            }
            self.sums.short -= sent.short_in_flight();
            (sent.at, sent.nxt, sent.retransmitted, sent.lost) = (now, nxt, true, false);
            sent.short = core::mem::take(&mut short);
            self.sums.short += sent.short_in_flight();
            if let (Some(known), Some(snapshot)) = (more.snapshots.get_mut(index), snapshot) {
                *known = snapshot;
            }
            more.retransmissions.push_back(Retransmission { end: sent.end, sent: sent.sent() });
        }
        if let Some(next) = self.segments.get_mut(behind).filter(|_| ends) {
            self.sums.set_continues(next, false);
        }
    }

    /// Everything below `una` is acknowledged.
    pub(crate) fn acknowledge(&mut self, una: u64, delivered: &mut Delivered) {
        let Self { segments, sums, .. } = self;
        while let Some(sent) = segments.pop_front_if(|sent| sent.end <= una) {
            delivered.ambiguous |= sent.retransmitted;
            let snapshot = self.more.as_mut().and_then(|more| more.snapshots.pop_front());
            sums.short -= sent.short_in_flight();
            sums.sacked_out -= u32::from(sent.sacked);
            sums.lost_out -= u32::from(sent.marked_lost);
            match segments.front_mut() {
                // What is left of its buffer is still one.
                Some(next) if next.continues => next.continues = false,
                _ => sums.buffers -= 1,
            }
            if !sent.sacked {
                delivered.take(&sent, self.start, snapshot);
                if !sent.retransmitted {
                    delivered.oldest_original.get_or_insert(sent.at);
                    delivered.newest_original = Some(sent.at);
                }
            }
            self.start = sent.end;
        }
        if let Some(first) = segments.front_mut().filter(|_| self.start < una) {
            // A part arrived of what was sent in one piece, or again in several: that had the charge, what is left is free.
            sums.short -= first.short_in_flight();
            delivered.short += if first.sacked { 0 } else { u64::from(first.short) };
            first.short = 0;
        }
        if let Some(more) = &mut self.more {
            while more.retransmissions.pop_front_if(|sent| sent.end <= una).is_some() {}
        }
    }

    /// `gap`, now in `sacked`, was SACKed: segments that are covered with it are delivered.
    pub(crate) fn sack(&mut self, gap: Range<u64>, sacked: &RangeSet, delivered: &mut Delivered) {
        let first = self.index_of(gap.start);
        let mut start = self.start_of(first);
        let snapshots = self.more.as_ref().map(|more| &more.snapshots);
        for (index, sent) in (first..).zip(self.segments.range_mut(first..)) {
            if start >= gap.end {
                break;
            }
            let covered = gap.start <= start && sent.end <= gap.end
                || sacked.containing(start).is_some_and(|range| sent.end <= range.end);
            if covered && !sent.sacked {
                self.sums.short -= sent.short_in_flight();
                self.sums.sacked_out += 1;
                self.sums.lost_out -= u32::from(sent.marked_lost);
                // What a loss probe sent again was not lost.
                sent.merges = !sent.retransmitted || sent.marked_lost;
                (sent.sacked, sent.lost, sent.marked_lost) = (true, false, false);
                delivered.take(sent, start, snapshots.and_then(|known| known.get(index)).copied());
                if !sent.retransmitted {
                    delivered.first_sacked.get_or_insert(sent.at);
                    delivered.last_sacked = Some(sent.at);
                }
            }
            start = sent.end;
        }
        self.divide_by_sacks(first..self.index_of(gap.end - 1) + 2);
    }

    /// Divides buffers of which a part is SACKed (tcp_match_skb_to_sack()), and makes one of segments of one length that are SACKed side by side. What lies
    /// behind the last of them is joined only if that was joined to what is before it (tcp_shift_skb_data()).
    fn divide_by_sacks(&mut self, segments: Range<usize>) {
        let (mut joined, behind) = (false, segments.end - 1);
        for index in segments.start.max(1)..segments.end.min(self.segments.len()) {
            let (start, middle) = (self.start_of(index - 1), self.start_of(index));
            let before = &self.segments[index - 1];
            let (sacked, merges) = (before.sacked, before.merges);
            let sent = &mut self.segments[index];
            if merges && sent.merges && sent.end - middle == middle - start && (index < behind || joined) {
                joined |= !sent.continues;
                self.sums.set_continues(sent, true);
            } else {
                joined = false;
                if sacked != sent.sacked {
                    self.sums.set_continues(sent, false);
                }
            }
        }
    }

    /// Looks for losses among segments in the order of time: `verdict(sent)` of each one in flight is whether it is lost, or none for it and
    /// all that were sent later. Those lost are given to `lose`, with what they fall short of their charge. Whether any was a
    /// retransmission.
    pub(crate) fn detect_lost(
        &mut self,
        mut verdict: impl FnMut(Sent) -> Option<bool>,
        mut lose: impl FnMut(Range<u64>, u64),
    ) -> bool {
        let mut more = self.more.take();
        let again = more.as_mut().is_some_and(|more| {
            self.detect_lost_retransmissions(&mut more.retransmissions, &mut verdict, &mut lose)
        });
        self.more = more;
        // Originals, by their number.
        let first = self.index_of(self.first_undecided);
        let mut start = self.start_of(first);
        let mut undecided = None;
        for sent in self.segments.range_mut(first..) {
            if !(sent.sacked || sent.lost || sent.retransmitted) {
                match verdict(sent.sent()) {
                    None => {
                        undecided.get_or_insert(start);
                        break;
                    }
                    Some(true) => {
                        let short = self.sums.mark_lost(sent);
                        lose(start..sent.end, short);
                    }
                    Some(false) => {
                        undecided.get_or_insert(start);
                    }
                }
            }
            start = sent.end;
        }
        self.first_undecided = undecided.unwrap_or(start);
        again
    }

    /// Looks for losses among what was retransmitted, of which the front is the oldest; whether there are any.
    fn detect_lost_retransmissions(
        &mut self,
        retransmissions: &mut VecDeque<Retransmission>,
        mut verdict: impl FnMut(Sent) -> Option<bool>,
        mut lose: impl FnMut(Range<u64>, u64),
    ) -> bool {
        let (mut at, mut any) = (0, false);
        while let Some(retransmission) = retransmissions.get(at) {
            if let Some(index) = self.in_flight(retransmission) {
                match verdict(retransmission.sent) {
                    None => break,
                    Some(false) => {
                        at += 1;
                        continue;
                    }
                    Some(true) => {
                        let short = self.sums.mark_lost(&mut self.segments[index]);
                        lose(self.start_of(index)..retransmission.end, short);
                        any = true;
                    }
                }
            }
            retransmissions.remove(at);
        }
        any
    }

    /// The segment that was retransmitted, if nothing is known of that yet.
    fn in_flight(&self, retransmission: &Retransmission) -> Option<usize> {
        let index = self.index_of(retransmission.end - 1);
        let sent = self.segments.get(index)?;
        (sent.end == retransmission.end && sent.at == retransmission.sent.at && !sent.sacked && !sent.lost)
            .then_some(index)
    }

    /// Octets that were retransmitted and are in flight.
    pub(crate) fn retransmitted_in_flight(&self) -> u64 {
        let retransmissions = self.more.iter().flat_map(|more| &more.retransmissions);
        retransmissions.filter_map(|sent| Some(sent.end - self.start_of(self.in_flight(sent)?))).sum()
    }

    /// Whether the first outstanding segment was retransmitted.
    pub(crate) fn is_first_retransmitted(&self) -> bool {
        self.segments.front().is_some_and(|sent| sent.retransmitted)
    }

    /// A timeout: marks lost what is in flight and `hopeless(sent at, start)`, telling `lose`.
    pub(crate) fn mark_lost(
        &mut self,
        mut hopeless: impl FnMut(Time, u64) -> bool,
        mut lose: impl FnMut(Range<u64>, u64),
    ) {
        let mut start = self.start;
        for sent in &mut self.segments {
            if !sent.sacked && hopeless(sent.at, start) {
                let short = self.sums.mark_lost(sent);
                lose(start..sent.end, short);
            }
            start = sent.end;
        }
    }

    /// All of it has to be retransmitted, though the network lost nothing: whom it was for has refused it.
    pub(crate) fn mark_all_refused(&mut self) {
        for sent in &mut self.segments {
            self.sums.short -= sent.short_in_flight();
            sent.lost |= !sent.sacked;
        }
    }

    /// Forgets that anything was SACKed: the receiver reneged (RFC 2018 section 8).
    pub(crate) fn clear_sacks(&mut self) {
        for sent in &mut self.segments {
            self.sums.short -= sent.short_in_flight();
            (sent.sacked, sent.merges) = (false, false);
            self.sums.short += sent.short_in_flight();
        }
        (self.first_undecided, self.sums.sacked_out) = (0, 0);
    }

    /// Forgets that anything was lost: it was not, as far as is known now.
    pub(crate) fn unmark_lost(&mut self) {
        for sent in &mut self.segments {
            self.sums.short -= sent.short_in_flight();
            (sent.lost, sent.marked_lost) = (false, false);
            self.sums.short += sent.short_in_flight();
        }
        (self.first_undecided, self.sums.lost_out) = (0, 0);
    }

    /// Whether something was marked lost that is not known to have arrived, retransmitted or not.
    pub(crate) const fn has_lost_out(&self) -> bool {
        self.sums.lost_out > 0
    }

    /// By how much the segments in flight fall short of what they are charged of the congestion window.
    pub(crate) const fn short(&self) -> u64 {
        self.sums.short
    }

    /// How many segments are SACKed.
    pub(crate) const fn sacked_out(&self) -> u32 {
        self.sums.sacked_out
    }

    /// The whole segments with which `range` begins; all of it where it ends within the first one.
    pub(crate) fn first_whole(&self, range: Range<u64>) -> Range<u64> {
        let end = self.start_of(self.index_of(range.end));
        range.start..if end > range.start { end } else { range.end }
    }

    /// How many segments are outstanding.
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// The last segment.
    pub(crate) fn last(&self) -> Option<Range<u64>> {
        let index = self.segments.len().checked_sub(1)?;
        Some(self.start_of(index)..self.segments[index].end)
    }

    /// The segment that holds `octet`.
    fn index_of(&self, octet: u64) -> usize {
        self.segments.partition_point(|sent| sent.end <= octet)
    }

    fn start_of(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(self.start, |before| self.segments[before].end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// What happens to segments, by numbers that are taken modulo what there is.
    #[derive(Debug, Clone)]
    enum Step {
        Send { len: u64, short: u16, continues: bool },
        Retransmit { from: u64, len: u64, short: u16 },
        Acknowledge { octets: u64 },
        Sack { from: u64, len: u64 },
        DetectLost { since: u64 },
        MarkLost { since: u64 },
        ClearSacks,
        UnmarkLost,
        MarkAllRefused,
    }

    fn step() -> impl Strategy<Value = Step> {
        let len = 1..300_u64;
        prop_oneof![
            4 => (len.clone(), 0..100_u16, any::<bool>())
                .prop_map(|(len, short, continues)| Step::Send { len, short, continues }),
            3 => (any::<u64>(), len.clone(), 0..100_u16).prop_map(|(from, len, short)| Step::Retransmit { from, len, short }),
            2 => len.clone().prop_map(|octets| Step::Acknowledge { octets }),
            3 => (any::<u64>(), len).prop_map(|(from, len)| Step::Sack { from, len }),
            2 => any::<u64>().prop_map(|since| Step::DetectLost { since }),
            1 => any::<u64>().prop_map(|since| Step::MarkLost { since }),
            1 => Just(Step::ClearSacks),
            1 => Just(Step::UnmarkLost),
            1 => Just(Step::MarkAllRefused),
        ]
    }

    fn counted(sent: &RetransmissionQueue) -> Sums {
        let count = |what: fn(&Segment) -> bool| sent.segments.iter().filter(|one| what(one)).count() as u32;
        Sums {
            short: sent.segments.iter().map(Segment::short_in_flight).sum(),
            sacked_out: count(|one| one.sacked),
            lost_out: count(|one| one.marked_lost),
            buffers: count(|one| !one.continues),
        }
    }

    #[test]
    fn buffers_are_divided_by_what_is_sacked_or_sent_again_and_merged_where_it_is_sacked_side_by_side() {
        let (mut sent, mut sacked) = (RetransmissionQueue::default(), RangeSet::default());
        for buffer in 0..4 {
            sent.push(200 * buffer + 100, 0, Time::ZERO, None);
            sent.push(200 * buffer + 200, 0, Time::ZERO, None);
            sent.continue_buffer();
        }
        assert_eq!(sent.buffers(), 4);
        let mut sack = |sent: &mut RetransmissionQueue, range: Range<u64>| {
            sacked.insert(range.clone());
            sent.sack(range, &sacked, &mut Delivered::default());
            sent.buffers()
        };
        assert_eq!(sack(&mut sent, 100..200), 5, "half of the first");
        assert_eq!(sack(&mut sent, 300..400), 6, "half of the second");
        assert_eq!(sack(&mut sent, 400..600), 5, "the third, beside it");
        let now = Time::ZERO + Span::from_millis(1);
        sent.mark_retransmitted(600..700, 0, now, None);
        assert_eq!(sent.buffers(), 6, "one of the last two");
        sent.mark_retransmitted(700..800, 0, now, None);
        assert_eq!(sent.buffers(), 5, "both, at one time");
        assert_eq!(sack(&mut sent, 600..700), 6, "what a probe had sent twice stays what it is");
        sent.acknowledge(350, &mut Delivered::default());
        assert_eq!(sent.buffers(), 3, "what is left of a buffer is one");
    }

    #[test]
    fn what_repaired_a_loss_is_merged_where_it_is_as_long_as_what_is_beside_it() {
        let (mut sent, mut sacked) = (RetransmissionQueue::default(), RangeSet::default());
        for end in [100, 200, 300, 400, 500, 537] {
            sent.push(end, 0, Time::ZERO, None);
        }
        let mut sack = |sent: &mut RetransmissionQueue, range: Range<u64>| {
            sacked.insert(range.clone());
            sent.sack(range, &sacked, &mut Delivered::default());
            sent.buffers()
        };
        assert_eq!(sack(&mut sent, 100..200), 6);
        assert_eq!(sack(&mut sent, 300..400), 6);
        let mut lost = Vec::new();
        sent.mark_lost(|_, start| start == 200, |range, _| lost.push((range.start, range.end)));
        assert_eq!(lost, [(200, 300)]);
        sent.mark_retransmitted(200..300, 0, Time::ZERO + Span::from_millis(1), None);
        assert_eq!(sack(&mut sent, 200..300), 4);
        assert_eq!(sack(&mut sent, 400..537), 3, "the last one is shorter");
        sent.clear_sacks();
        sent.mark_retransmitted(0..537, 0, Time::ZERO + Span::from_millis(2), None);
        assert_eq!(sent.buffers(), 1, "collapsed into one segment");
    }

    #[test]
    fn what_is_sacked_is_not_merged_with_what_lies_behind_it_alone() {
        let (mut sent, mut sacked) = (RetransmissionQueue::default(), RangeSet::default());
        for end in [100, 200, 300] {
            sent.push(end, 0, Time::ZERO, None);
        }
        for range in [200..300, 100..200] {
            sacked.insert(range.clone());
            sent.sack(range, &sacked, &mut Delivered::default());
            assert_eq!(sent.buffers(), 3);
        }
    }

    /// As where the path's MTU has become smaller.
    #[test]
    fn parts_of_a_segment_leave_the_borders_of_buffers() {
        let mut sent = RetransmissionQueue::default();
        for end in [1000, 2000, 3000] {
            sent.push(end, 0, Time::ZERO, None);
        }
        sent.continue_buffer();
        let now = Time::ZERO + Span::from_millis(1);
        sent.mark_retransmitted(1000..1500, 0, now, None);
        assert_eq!(sent.buffers(), 2);
        sent.mark_retransmitted(1500..2000, 0, now, None);
        assert_eq!(sent.buffers(), 3);
    }

    /// It was measured then: since, it has waited for what was missing below.
    #[test]
    fn what_was_sacked_before_measures_no_round_trip_again() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let (mut sent, mut sacked) = (RetransmissionQueue::default(), RangeSet::default());
        sent.push(100, 0, at(0), None);
        sent.push(200, 0, at(30), None);
        sacked.insert(100..200);
        let (mut first, mut second) = (Delivered::default(), Delivered::default());
        sent.sack(100..200, &sacked, &mut first);
        assert_eq!(first.latest_rtt(at(130)), Some(Span::from_millis(100)));
        sent.acknowledge(200, &mut second);
        assert_eq!(second.latest_rtt(at(140)), Some(Span::from_millis(140)));
    }

    proptest! {
        #[test]
        fn the_sums_are_those_of_the_segments(steps in prop::collection::vec(step(), 1..120)) {
            let (mut sent, mut sacked) = (RetransmissionQueue::default(), RangeSet::default());
            let (mut una, mut nxt) = (0, 0);
            for (at, step) in steps.into_iter().enumerate() {
                let now = Time::from_nanos(at as u64);
                let within = |from: u64, len: u64| {
                    let start = una + from % (nxt - una);
                    start..nxt.min(start + len)
                };
                let old = |since: u64, at: Time| at.as_nanos() <= since % now.as_nanos().max(1);
                let mut delivered = Delivered::default();
                match step {
                    Step::Send { len, short, continues } => {
                        nxt += len;
                        sent.push(nxt, short, now, None);
                        if continues {
                            sent.continue_buffer();
                        }
                    }
                    _ if una == nxt => {}
                    Step::Retransmit { from, len, short } => sent.mark_retransmitted(within(from, len), short, now, None),
                    Step::Acknowledge { octets } => {
                        una = nxt.min(una + octets);
                        sacked.remove_below(una);
                        sent.acknowledge(una, &mut delivered);
                    }
                    Step::Sack { from, len } => {
                        let range = within(from, len);
                        if range.start > una {
                            sacked.insert(range.clone());
                            sent.sack(range, &sacked, &mut delivered);
                        }
                    }
                    Step::DetectLost { since } => {
                        sent.detect_lost(|one| Some(old(since, one.at)), |_, _| ());
                    }
                    Step::MarkLost { since } => sent.mark_lost(|at, _| old(since, at), |_, _| ()),
                    Step::ClearSacks => {
                        sacked.clear();
                        sent.clear_sacks();
                    }
                    Step::UnmarkLost => sent.unmark_lost(),
                    Step::MarkAllRefused => sent.mark_all_refused(),
                }
                prop_assert_eq!(&sent.sums, &counted(&sent));
                prop_assert!(sent.segments.front().is_none_or(|first| first.end > una));
            }
            sent.acknowledge(nxt, &mut Delivered::default());
            prop_assert_eq!(&sent.sums, &Sums::default());
        }
    }
}
