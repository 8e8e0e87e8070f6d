//! Received data: in order for the application, out of order until the gap is filled.

use crate::ranges::RangeSet;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use voxpath_wire::{Payload, PayloadQueue};

/// What a segment's data turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It continues the stream, and nothing was waiting behind it.
    InOrder,
    /// It fills a gap, wholly or in part (RFC 5681 section 4.2: acknowledge at once).
    FillsGap,
    /// It lies beyond a gap.
    OutOfOrder,
    /// Every octet was here before.
    Duplicate,
}

/// The receive buffer.
#[derive(Debug)]
pub(crate) struct Reassembly {
    capacity: u32,
    /// RCV.NXT as far as data goes: the offset of the first octet not received.
    next: u64,
    /// Received in order, not yet read.
    ready: PayloadQueue,
    /// What lies beyond a gap, once there was one.
    beyond: Option<Box<Beyond>>,
}

/// What came beyond a gap.
#[derive(Debug, Default)]
struct Beyond {
    /// Ascending, disjoint, all above the gap; empty if there is none.
    waiting: Vec<(u64, Payload)>,
    /// The octets of `waiting`.
    ranges: RangeSet,
    /// First octets of segments out of order, latest last: the order of SACK blocks.
    recent: VecDeque<u64>,
    /// What is told once more as it was before the latest arrival; else empty.
    before: Vec<Range<u64>>,
}

/// As long as there was no gap.
static NOTHING: Beyond =
    Beyond { waiting: Vec::new(), ranges: RangeSet::EMPTY, recent: VecDeque::new(), before: Vec::new() };

/// How many arrivals out of order the report of SACK blocks can tell apart: as many as it has blocks.
const RECENT: usize = voxpath_wire::tcp::SackBlocks::MAX;

/// How many of them an acknowledgment is expected to carry, since some are lost (TCP_SACK_BLOCKS_EXPECTED).
const EXPECTED: usize = 2;

impl Reassembly {
    /// An empty buffer that expects the octet `next`.
    pub(crate) fn new(capacity: u32, next: u64) -> Self {
        Self { capacity, next, ready: PayloadQueue::new(), beyond: None }
    }

    /// The offset of the first octet not received.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Octets ready to be read.
    pub(crate) const fn readable(&self) -> u64 {
        self.ready.len()
    }

    /// Octets that are here: ready, or beyond a gap.
    pub(crate) fn held(&self) -> u64 {
        self.ready.len() + self.beyond.as_ref().map_or(0, |beyond| beyond.ranges.octets())
    }

    /// Octets that may still come: the largest window that can be announced.
    pub(crate) fn room(&self) -> u32 {
        u64::from(self.capacity).saturating_sub(self.ready.len()) as u32
    }

    /// Octets from the first one not received to the last one here.
    pub(crate) fn beyond(&self) -> u64 {
        let ranges = self.beyond.as_ref().map_or(&[][..], |beyond| beyond.ranges.as_slice());
        ranges.last().map_or(0, |last| last.end - self.next)
    }

    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Takes in more from now on; never less.
    pub(crate) fn grow(&mut self, capacity: u32) {
        self.capacity = self.capacity.max(capacity);
    }

    /// The first octets of `from..to` beyond the gap that are here already.
    pub(crate) fn first_known(&self, from: u64, to: u64) -> Option<Range<u64>> {
        let ranges = self.beyond.as_ref()?.ranges.as_slice();
        let next = ranges.get(ranges.partition_point(|range| range.end <= from))?;
        let known = next.start.max(from)..next.end.min(to);
        (!known.is_empty()).then_some(known)
    }

    /// Takes in the data at `offset`, which must lie inside the announced window.
    pub(crate) fn insert(&mut self, offset: u64, data: &Payload) -> Arrival {
        let end = offset + u64::from(data.len());
        if end <= self.next {
            return Arrival::Duplicate;
        }
        let from = offset.max(self.next);
        if let Some(beyond) =
            self.beyond.as_mut().filter(|beyond| beyond.ranges.first_gap(from, end).is_none())
        {
            beyond.note_recent(from);
            return Arrival::Duplicate;
        }
        if offset > self.next {
            let beyond = self.beyond.get_or_insert_default();
            beyond.store(offset, data);
            beyond.note_recent(offset);
            return Arrival::OutOfOrder;
        }
        let skip = (self.next - offset) as u32;
        self.deliver(data.slice(skip, data.len() - skip));
        if !self.has_holes() {
            return Arrival::InOrder;
        }
        self.deliver_waiting();
        Arrival::FillsGap
    }

    /// Gives out at most `max` octets, one run of them; empty if nothing is ready.
    pub(crate) fn read(&mut self, max: u32) -> Payload {
        self.ready.read(max)
    }

    /// Whether something waits beyond a gap.
    pub(crate) fn has_holes(&self) -> bool {
        self.beyond.as_ref().is_some_and(|beyond| !beyond.waiting.is_empty())
    }

    /// The ranges beyond the gap, the one with the latest arrival first (RFC 2018 section 4).
    pub(crate) fn sack_blocks(&self) -> impl Iterator<Item = Range<u64>> {
        let beyond = self.beyond.as_deref().unwrap_or(&NOTHING);
        let present = beyond.before.is_empty().then(|| beyond.blocks());
        beyond.before.iter().cloned().chain(present.into_iter().flatten())
    }

    /// Whether octets that are about to come beyond the gap belong to neither of the two blocks told first. Where they belong to none of them, the
    /// report is kept as it is for the next time it is told.
    pub(crate) fn keep_report(&mut self, from: u64, to: u64) -> bool {
        let Some(beyond) = self.beyond.as_mut().filter(|_| from > self.next) else { return false };
        let touches = |block: Range<u64>| from <= block.end && block.start <= to;
        let (at, told) = (beyond.blocks().position(touches), beyond.blocks().count());
        if at.is_none() && told >= EXPECTED {
            beyond.before = beyond.blocks().collect();
        }
        at.unwrap_or(told) >= EXPECTED
    }

    /// The report was told.
    pub(crate) fn note_told(&mut self) {
        if let Some(beyond) = &mut self.beyond {
            beyond.before.clear();
        }
    }

    fn deliver(&mut self, data: Payload) {
        self.next += u64::from(data.len());
        self.ready.push(data);
    }

    /// Delivers what continues the stream, and keeps the rest.
    fn deliver_waiting(&mut self) {
        let Some(mut beyond) = self.beyond.take() else { return };
        let mut taken = 0;
        while let Some((offset, data)) = beyond.waiting.get_mut(taken) {
            if *offset > self.next {
                break;
            }
            let (offset, data) = (*offset, core::mem::take(data));
            let skip = self.next - offset;
            if skip < u64::from(data.len()) {
                self.deliver(data.slice(skip as u32, data.len() - skip as u32));
            }
            taken += 1;
        }
        beyond.waiting.drain(..taken);
        beyond.ranges.remove_below(self.next);
        beyond.recent.retain(|&octet| octet >= self.next);
        self.beyond = Some(beyond);
    }
}

impl Beyond {
    /// The ranges, the one with the latest arrival first.
    fn blocks(&self) -> impl Iterator<Item = Range<u64>> {
        let of = |octet: &u64| self.ranges.containing(*octet);
        let mut told: [u64; RECENT] = [u64::MAX; RECENT];
        self.recent.iter().rev().filter_map(of).enumerate().filter_map(move |(i, range)| {
            let new = !told.contains(&range.start);
            told[i] = range.start;
            new.then_some(range)
        })
    }

    fn note_recent(&mut self, octet: u64) {
        // A range that grew keeps one entry, so that older ranges are not forgotten for it.
        if let Some(range) = self.ranges.containing(octet) {
            self.recent.retain(|other| !range.contains(other));
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(octet);
    }

    /// Stores those octets of `data` that are not here yet.
    fn store(&mut self, offset: u64, data: &Payload) {
        let end = offset + u64::from(data.len());
        let mut from = offset;
        while let Some(gap) = self.ranges.first_gap(from, end) {
            let part = data.slice((gap.start - offset) as u32, (gap.end - gap.start) as u32);
            let at = self.waiting.partition_point(|(start, _)| *start < gap.start);
            from = gap.end;
            self.ranges.insert(gap.clone());
            let extended = at.checked_sub(1).is_some_and(|before| {
                let (start, data) = &mut self.waiting[before];
                *start + u64::from(data.len()) == gap.start && data.try_extend(&part)
            });
            if !extended {
                self.waiting.insert(at, (gap.start, part));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(buffer: &Reassembly) -> Vec<(u64, u64)> {
        buffer.sack_blocks().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn the_block_with_the_latest_segment_is_told_first() {
        // The example of RFC 2018 section 4, case 3: segments of 500, every second one lost.
        let mut buffer = Reassembly::new(100_000, 5_500);
        for offset in [6_000, 7_000, 8_000, 9_000] {
            assert_eq!(buffer.insert(offset, &Payload::pattern(0, offset, 500)), Arrival::OutOfOrder);
        }
        assert_eq!(blocks(&buffer), [(9_000, 9_500), (8_000, 8_500), (7_000, 7_500), (6_000, 6_500)]);
        assert_eq!(buffer.insert(6_500, &Payload::pattern(0, 6_500, 500)), Arrival::OutOfOrder);
        assert_eq!(blocks(&buffer), [(6_000, 7_500), (9_000, 9_500), (8_000, 8_500)]);
        assert_eq!(buffer.insert(5_500, &Payload::pattern(0, 5_500, 500)), Arrival::FillsGap);
        assert_eq!(buffer.next(), 7_500);
        assert_eq!(blocks(&buffer), [(9_000, 9_500), (8_000, 8_500)]);
    }

    #[test]
    fn a_pattern_received_is_one_run_however_it_came() {
        let mut buffer = Reassembly::new(100_000, 1);
        for offset in [401, 101, 301, 201, 1] {
            buffer.insert(offset, &Payload::pattern(9, offset - 1, 100));
        }
        assert_eq!(buffer.read(1000), Payload::pattern(9, 0, 500));
        assert_eq!(buffer.read(1000), Payload::Empty);
    }

    proptest! {
        /// Any overlapping pieces in any order come out as the stream, each octet once.
        #[test]
        fn what_is_read_is_what_was_sent(pieces in prop::collection::vec((0_u64..200, 1_u32..40, 0_u32..40), 1..60), real in any::<bool>()) {
            let mut buffer = Reassembly::new(1_000, 0);
            let mut model = RangeSet::default();
            let mut read = Vec::new();
            for (offset, len, border) in pieces {
                let mut data = Payload::pattern(5, offset, len);
                if real {
                    let mut bytes = Vec::new();
                    data.write_to(&mut bytes);
                    // As much as a header, or as a write before, of real bytes.
                    let border = border.min(len);
                    let rest = data.slice(border, len - border);
                    bytes.truncate(border as usize);
                    data = Payload::rope([Payload::bytes(bytes.into()), rest]);
                }
                buffer.insert(offset, &data);
                model.insert(offset..offset + u64::from(len));
                let next = model.as_slice().first().filter(|range| range.start == 0).map_or(0, |range| range.end);
                prop_assert_eq!(buffer.next(), next);
                let mut told = blocks(&buffer);
                told.sort_unstable();
                for (start, end) in told {
                    prop_assert!(model.as_slice().contains(&(start..end)));
                }
                loop {
                    let part = buffer.read(17);
                    if part.is_empty() { break }
                    part.write_to(&mut read);
                }
            }
            let mut sent = Vec::new();
            Payload::pattern(5, 0, buffer.next() as u32).write_to(&mut sent);
            prop_assert_eq!(read, sent);
        }
    }
}
