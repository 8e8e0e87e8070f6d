//! Something for each of a source's last packets, by their sequence numbers.

use alloc::collections::VecDeque;

/// The last numbers of a source, whichever of them there are.
#[derive(Debug)]
pub struct BySequence<T> {
    places: VecDeque<Option<T>>,
    /// The sequence number of the first place.
    first: u16,
    most: usize,
}

impl<T> BySequence<T> {
    /// Of a source whose first packet will have this number; it keeps `most` numbers, fewer than half of the cycle.
    pub const fn new(first: u16, most: usize) -> Self {
        assert!(most < 1 << 15, "numbers before the first one are told from those behind it");
        Self { places: VecDeque::new(), first, most }
    }

    /// Keeps something for a number; not if it is older than all that are kept.
    pub fn put(&mut self, sequence: u16, value: T) {
        let index = usize::from(sequence.wrapping_sub(self.first));
        if index >= 1 << 15 {
            return;
        }
        if self.places.len() <= index {
            self.places.resize_with(index + 1, || None);
        }
        self.places[index] = Some(value);
        let over = self.places.len().saturating_sub(self.most);
        self.places.drain(..over);
        self.first = self.first.wrapping_add(over as u16);
    }

    /// What is kept for a number.
    pub fn get(&self, sequence: u16) -> Option<&T> {
        self.places.get(usize::from(sequence.wrapping_sub(self.first)))?.as_ref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, sequence: u16) -> Option<&mut T> {
        self.places.get_mut(usize::from(sequence.wrapping_sub(self.first)))?.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_missing_and_come_late_and_wrap() {
        let mut kept = BySequence::new(65_530, 10);
        kept.put(65_530, 'a');
        kept.put(2, 'c');
        kept.put(65_535, 'b');
        assert_eq!(
            [65_530, 65_535, 1, 2].map(|it| kept.get(it).copied()),
            [Some('a'), Some('b'), None, Some('c')]
        );
        kept.put(4, 'd');
        assert_eq!((kept.get(65_530), kept.get(65_535)), (None, Some(&'b')), "the last ten are kept");
        kept.put(65_530, 'e');
        assert_eq!(kept.get(65_530), None, "it is too old");
    }
}
