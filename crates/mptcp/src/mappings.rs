//! Where the octets of a subflow belong in the data sequence (RFC 8684 section 3.3.1).

use alloc::collections::VecDeque;
use voxpath_tcp::partition_point_near_end;

/// The mappings that have come on one subflow, of octets that were not read from it.
///
/// They come with segments, so mostly in order, and each with every segment that it maps.
#[derive(Debug, Default)]
pub struct Mappings {
    /// In the order of the subflow's octets; disjoint.
    known: VecDeque<Known>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    /// The subflow's octets.
    start: u64,
    end: u64,
    /// The first one's place in the data sequence.
    data: u64,
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
        let mut new = Known { start, end: start + u64::from(len), data };
        let first = self.place_of(start);
        if self.known.get(first).is_none_or(|known| known.start >= new.end) {
            // The usual case: nothing was said of these octets.
            if len > 0 {
                self.known.insert(first, new);
            }
            return Ok(());
        }
        let behind = first + self.known.range(first..).take_while(|known| known.start < new.end).count();
        for known in self.known.range(first..behind) {
            // The same distance from one sequence to the other.
            if data.wrapping_sub(start) != known.data.wrapping_sub(known.start) {
                return Err(Unmapped);
            }
            if known.start < new.start {
                (new.start, new.data) = (known.start, known.data);
            }
            new.end = new.end.max(known.end);
        }
        if len > 0 {
            self.known.drain(first..behind);
            self.known.insert(first, new);
        }
        Ok(())
    }

    /// The place of the first mapping that ends behind the subflow's octet `at`.
    fn place_of(&self, at: u64) -> usize {
        partition_point_near_end(&self.known, |known| known.end <= at)
    }

    /// Where the subflow's octet `at` belongs, and for how many octets from there on that holds; none if no mapping is known.
    pub fn map(&self, at: u64) -> Option<(u64, u64)> {
        let known = self.known.get(self.place_of(at)).filter(|known| known.start <= at)?;
        Some((known.data + (at - known.start), known.end - at))
    }

    /// Forgets what lies before the subflow's octet `at`: it was read.
    pub fn forget(&mut self, at: u64) {
        while self.known.pop_front_if(|known| known.end <= at).is_some() {}
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
