//! Sets of octets, as disjoint ranges in ascending order.

use alloc::vec::Vec;
use core::ops::Range;

/// A set of stream offsets. Holds as many ranges as there are holes, which is few; hence a plain vector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: Vec<Range<u64>>,
}

impl RangeSet {
    /// The ranges, ascending, disjoint and not adjacent.
    pub(crate) fn as_slice(&self) -> &[Range<u64>] {
        &self.ranges
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
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
            self.ranges.insert(first, new);
            return added;
        }
        let merged = self.ranges[first].start.min(new.start)..self.ranges[last - 1].end.max(new.end);
        let before: u64 = self.ranges[first..last].iter().map(|range| range.end - range.start).sum();
        let added = (merged.end - merged.start) - before;
        self.ranges[first] = merged;
        self.ranges.drain(first + 1..last);
        added
    }

    /// Removes everything below `offset`.
    pub(crate) fn remove_below(&mut self, offset: u64) {
        let gone = self.ranges.partition_point(|range| range.end <= offset);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(offset);
        }
    }

    /// The range that `octet` belongs to.
    pub(crate) fn containing(&self, octet: u64) -> Option<Range<u64>> {
        let at = self.ranges.partition_point(|range| range.end <= octet);
        self.ranges.get(at).filter(|range| range.start <= octet).cloned()
    }

    /// How many octets of `within` are in the set.
    pub(crate) fn count_within(&self, within: Range<u64>) -> u64 {
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
            floor in 0_u64..60, from in 0_u64..60, len in 0_u64..30,
        ) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len) in inserts {
                let before = model.len();
                model.extend(start..start + len);
                prop_assert_eq!(set.insert(start..start + len), (model.len() - before) as u64);
            }
            set.remove_below(floor);
            model.retain(|&octet| octet >= floor);
            let members: Vec<u64> = set.as_slice().iter().cloned().flatten().collect();
            prop_assert_eq!(&members, &model.iter().copied().collect::<Vec<_>>());
            prop_assert!(set.as_slice().windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert_eq!(set.count_within(from..from + len), model.range(from..from + len).count() as u64);
            let run = set.as_slice().iter().find(|range| range.contains(&from)).cloned();
            prop_assert_eq!(set.containing(from), run);
            let gap = (from..from + len).find(|octet| !model.contains(octet));
            let gap_end = gap.map(|start| (start..from + len).find(|o| model.contains(o)).unwrap_or(from + len));
            prop_assert_eq!(set.first_gap(from, from + len), gap.zip(gap_end).map(|(a, b)| a..b));
        }
    }
}
