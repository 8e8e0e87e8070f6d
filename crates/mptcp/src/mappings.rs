//! Where the octets of a subflow belong in the data sequence (RFC 8684 section 3.3.1).

use alloc::collections::BTreeMap;

/// The mappings that have come on one subflow, of octets that were not read from it.
///
/// They come with segments, so in any order, and each with every segment that it maps.
#[derive(Debug, Default)]
pub struct Mappings {
    /// By the subflow's octet with which each begins: how many, and the first one's place in the data sequence. Disjoint.
    known: BTreeMap<u64, (u64, u64)>,
}

/// Why a mapping is refused: it says of octets that they belong elsewhere than an earlier one has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmapped;

impl Mappings {
    /// Takes a mapping in: `len` octets of the subflow from `start` on are those of the data sequence from `data` on.
    ///
    /// # Errors
    /// If it contradicts another: mappings are fixed once they were sent (section 3.3.1).
    pub fn learn(&mut self, start: u64, len: u32, data: u64) -> Result<(), Unmapped> {
        let (mut from, mut to) = (start, start + u64::from(len));
        for (known, (len, known_data)) in self.overlapping(from, to) {
            // The same distance from one sequence to the other.
            if data.wrapping_sub(start) != known_data.wrapping_sub(known) {
                return Err(Unmapped);
            }
            (from, to) = (from.min(known), to.max(known + len));
        }
        if len > 0 {
            while let Some(known) = self.known.range(from..to).next().map(|(&known, _)| known) {
                self.known.remove(&known);
            }
            self.known.insert(from, (to - from, data.wrapping_sub(start - from)));
        }
        Ok(())
    }

    /// Those that have octets of `from..to`, the last one first.
    fn overlapping(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, (u64, u64))> {
        let below = self.known.range(..to).rev().map(|(&known, &mapping)| (known, mapping));
        below.take_while(move |(known, (len, _))| known + len > from)
    }

    /// Where the subflow's octet `at` belongs, and for how many octets from there on that holds; none if no mapping is known.
    pub fn map(&self, at: u64) -> Option<(u64, u64)> {
        let (&start, &(len, data)) = self.known.range(..=at).next_back()?;
        let into = at - start;
        (into < len).then(|| (data + into, len - into))
    }

    /// Forgets what lies before the subflow's octet `at`: it was read.
    pub fn forget(&mut self, at: u64) {
        while let Some(first) = self.known.first_entry() {
            if first.key() + first.get().0 > at {
                break;
            }
            first.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_come_in_any_order_and_more_than_once() {
        let mut mappings = Mappings::default();
        for (start, len, data) in [(301, 50, 9000), (1, 200, 100), (201, 100, 7000), (1, 200, 100)] {
            assert_eq!(mappings.learn(start, len, data), Ok(()));
        }
        assert_eq!(mappings.map(1), Some((100, 200)));
        assert_eq!(mappings.map(200), Some((299, 1)));
        assert_eq!(mappings.map(201), Some((7000, 100)));
        assert_eq!(mappings.map(350), Some((9049, 1)));
        assert_eq!((mappings.map(0), mappings.map(351)), (None, None));
        mappings.forget(201);
        assert_eq!((mappings.map(200), mappings.map(201)), (None, Some((7000, 100))));
        mappings.forget(1000);
        assert!(mappings.known.is_empty());
    }

    #[test]
    fn a_mapping_that_says_otherwise_is_refused() {
        let mut mappings = Mappings::default();
        assert_eq!(mappings.learn(100, 100, 1000), Ok(()));
        for (start, len, data) in [(100, 100, 1001), (150, 10, 1051), (50, 51, 951), (0, 1000, 0)] {
            assert_eq!(mappings.learn(start, len, data), Err(Unmapped), "{start}");
        }
        // A part of it, and what it is a part of.
        assert_eq!(mappings.learn(150, 10, 1050), Ok(()));
        assert_eq!(mappings.map(120), Some((1020, 80)));
        assert_eq!(mappings.learn(90, 310, 990), Ok(()));
        assert_eq!((mappings.map(89), mappings.map(170)), (None, Some((1070, 230))));
        assert_eq!(mappings.learn(300, 50, 1), Err(Unmapped));
    }

    #[test]
    fn an_empty_mapping_maps_nothing() {
        let mut mappings = Mappings::default();
        assert_eq!((mappings.learn(0, 0, 77), mappings.map(0)), (Ok(()), None));
    }
}
