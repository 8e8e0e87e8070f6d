//! Sets of octets, as disjoint ranges in ascending order.

use alloc::vec::Vec;
use core::ops::Range;

/// A set of stream offsets. Holds as many ranges as there are holes, which is few; hence a plain vector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: Vec<Range<u64>>,
    /// Octets in all of them.
    octets: u64,
}

impl RangeSet {
    /// The set without octets.
    pub(crate) const EMPTY: Self = Self { ranges: Vec::new(), octets: 0 };

    /// The ranges, ascending, disjoint and not adjacent.
    pub(crate) fn as_slice(&self) -> &[Range<u64>] {
        &self.ranges
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.octets = 0;
    }

    /// How many octets are in the set.
    pub(crate) const fn octets(&self) -> u64 {
        self.octets
    }

    /// Adds `new`; how many octets were not in the set.
    pub(crate) fn insert(&mut self, new: Range<u64>) -> u64 {
        if new.is_empty() {
            return 0;
        }
        // All ranges that overlap or touch the new one become one with it.
        let first = self.ranges.partition_point(|range| range.end < new.start);
        let last = self.ranges.partition_point(|range| range.start <= new.end);
        if first == last {
            let added = new.end - new.start;
            self.octets += added;
            self.ranges.insert(first, new);
            return added;
        }
        let merged = self.ranges[first].start.min(new.start)..self.ranges[last - 1].end.max(new.end);
        let before: u64 = self.ranges[first..last].iter().map(|range| range.end - range.start).sum();
        let added = (merged.end - merged.start) - before;
        self.ranges[first] = merged;
        self.ranges.drain(first + 1..last);
        self.octets += added;
        added
    }

    /// Removes everything below `offset`.
    pub(crate) fn remove_below(&mut self, offset: u64) {
        let start = self.ranges.first().map_or(offset, |first| first.start);
        self.remove(start..offset);
    }

    /// Removes `old`.
    pub(crate) fn remove(&mut self, old: Range<u64>) {
        if old.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|range| range.end <= old.start);
        let last = self.ranges.partition_point(|range| range.start < old.end);
        let Some((head, tail)) =
            self.ranges.get(first..last).and_then(|hit| Some((hit.first()?, hit.last()?)))
        else {
            return;
        };
        let (before, after) = (head.start..old.start, old.end..tail.end);
        let hit: u64 = self.ranges[first..last].iter().map(|range| range.end - range.start).sum();
        let kept = [before, after].map(|part| if part.is_empty() { 0 } else { part.end - part.start });
        self.octets -= hit - kept[0] - kept[1];
        let (head_start, tail_end) = (head.start, tail.end);
        match (kept[0] > 0, kept[1] > 0) {
            (false, false) => drop(self.ranges.drain(first..last)),
            (true, false) => {
                self.ranges[first].end = old.start;
                self.ranges.drain(first + 1..last);
            }
            (false, true) => {
                self.ranges[last - 1].start = old.end;
                self.ranges.drain(first..last - 1);
            }
            (true, true) if last - first == 1 => {
                self.ranges[first].end = old.start;
                self.ranges.insert(last, old.end..tail_end);
            }
            (true, true) => {
                self.ranges[first] = head_start..old.start;
                self.ranges[last - 1].start = old.end;
                self.ranges.drain(first + 1..last - 1);
            }
        }
    }

    /// The range that `octet` belongs to.
    pub(crate) fn containing(&self, octet: u64) -> Option<Range<u64>> {
        let at = self.ranges.partition_point(|range| range.end <= octet);
        self.ranges.get(at).filter(|range| range.start <= octet).cloned()
    }

    /// How many octets of `within` are in the set.
    pub(crate) fn count_within(&self, within: Range<u64>) -> u64 {
        // Mostly nothing is missing.
        if self.octets == 0 || within.is_empty() {
            return 0;
        }
        let first = self.ranges.partition_point(|range| range.end <= within.start);
        self.ranges[first..]
            .iter()
            .take_while(|range| range.start < within.end)
            .map(|range| range.end.min(within.end) - range.start.max(within.start))
            .sum()
    }

    /// The first run of octets at or after `from` and below `end` that are not in the set.
    pub(crate) fn first_gap(&self, from: u64, end: u64) -> Option<Range<u64>> {
        let at = self.ranges.partition_point(|range| range.end <= from);
        let (start, stop) = match self.ranges.get(at) {
            Some(range) if range.start <= from => {
                (range.end, self.ranges.get(at + 1).map_or(end, |next| next.start))
            }
            Some(range) => (from, range.start),
            None => (from, end),
        };
        let stop = stop.min(end);
        (start < stop).then_some(start..stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_set_of_octets(
            inserts in prop::collection::vec((0_u64..60, 0_u64..12), 1..20),
            removed in (0_u64..60, 0_u64..30), floor in 0_u64..60, from in 0_u64..60, len in 0_u64..30,
        ) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len) in inserts {
                let before = model.len();
                model.extend(start..start + len);
                prop_assert_eq!(set.insert(start..start + len), (model.len() - before) as u64);
            }
            let (start, end) = (removed.0, removed.0 + removed.1);
            set.remove(start..end);
            model.retain(|octet| !(start..end).contains(octet));
            set.remove_below(floor);
            model.retain(|&octet| octet >= floor);
            let members: Vec<u64> = set.as_slice().iter().cloned().flatten().collect();
            prop_assert_eq!(&members, &model.iter().copied().collect::<Vec<_>>());
            prop_assert!(set.as_slice().windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert_eq!(set.octets(), model.len() as u64);
            prop_assert_eq!(set.count_within(from..from + len), model.range(from..from + len).count() as u64);
            let run = set.as_slice().iter().find(|range| range.contains(&from)).cloned();
            prop_assert_eq!(set.containing(from), run);
            let gap = (from..from + len).find(|octet| !model.contains(octet));
            let gap_end = gap.map(|start| (start..from + len).find(|o| model.contains(o)).unwrap_or(from + len));
            prop_assert_eq!(set.first_gap(from, from + len), gap.zip(gap_end).map(|(a, b)| a..b));
        }
    }
}
