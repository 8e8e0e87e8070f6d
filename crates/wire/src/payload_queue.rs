//! Payloads that wait to be read, in their order.

use crate::payload::Payload;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Runs of bytes, one after the other. Runs of one pattern merge, so a bulk transfer is one entry.
#[derive(Debug, Default)]
pub struct PayloadQueue {
    runs: VecDeque<Payload>,
    len: u64,
}

impl PayloadQueue {
    /// A queue without bytes.
    pub const fn new() -> Self {
        Self { runs: VecDeque::new(), len: 0 }
    }

    /// Bytes that can be read.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `payload`.
    pub fn push(&mut self, payload: Payload) {
        self.len += u64::from(payload.len());
        payload.into_parts(|run| {
            if self.runs.back_mut().is_some_and(|last| last.try_extend(&run)) {
                return;
            }
            if self.runs.capacity() == 0 {
                // Of ten thousand queues most have one run; the library would take memory for four.
                self.runs.reserve_exact(1);
            }
            self.runs.push_back(run);
        });
    }

    /// The first bytes, at most `N`, and how many these are; they stay.
    pub fn peek<const N: usize>(&self) -> ([u8; N], usize) {
        let (mut seen, mut count) = ([0; N], 0);
        for run in &self.runs {
            let taken = (N - count).min(run.len() as usize);
            if taken == 0 {
                break;
            }
            let place = &mut seen[count..count + taken];
            if let Some(bytes) = run.front().get(..taken) {
                place.copy_from_slice(bytes);
            } else {
                let mut bytes = Vec::with_capacity(taken);
                run.slice(0, taken as u32).write_to(&mut bytes);
                place.copy_from_slice(&bytes);
            }
            count += taken;
        }
        (seen, count)
    }

    /// Gives out exactly `len` bytes.
    ///
    /// Panics if there are not as many.
    pub fn take(&mut self, len: u32) -> Payload {
        assert!(u64::from(len) <= self.len, "as many bytes are taken as there are");
        let first = self.read(len);
        if first.len() == len {
            return first;
        }
        let mut left = len - first.len();
        let rest = core::iter::from_fn(|| {
            let next = (left > 0).then(|| self.read(left))?;
            left -= next.len();
            Some(next)
        });
        Payload::rope(core::iter::once(first).chain(rest))
    }

    /// Gives out at most `max` bytes, of one run; empty if there are none.
    pub fn read(&mut self, max: u32) -> Payload {
        let Some(first) = self.runs.front_mut() else { return Payload::Empty };
        let len = first.len().min(max);
        self.len -= u64::from(len);
        if len == first.len() {
            return self.runs.pop_front().unwrap_or_default();
        }
        let out = first.slice(0, len);
        *first = first.slice(len, first.len() - len);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn runs_of_one_pattern_are_read_as_one() {
        let mut queue = PayloadQueue::new();
        queue.push(Payload::pattern(1, 0, 100));
        queue.push(Payload::rope([Payload::pattern(1, 100, 50), Payload::bytes(Bytes::from_static(b"end"))]));
        assert_eq!(queue.len(), 153);
        assert_eq!(queue.read(40), Payload::pattern(1, 0, 40));
        assert_eq!(queue.read(1000), Payload::pattern(1, 40, 110));
        assert_eq!(queue.read(1000), Payload::bytes(Bytes::from_static(b"end")));
        assert_eq!((queue.read(1000), queue.is_empty()), (Payload::Empty, true));
    }

    #[test]
    fn bytes_are_seen_and_taken_across_runs() {
        let mut queue = PayloadQueue::new();
        queue.push(Payload::bytes(Bytes::from_static(b"ab")));
        queue.push(Payload::pattern(1, 0, 3));
        let mut whole = b"ab".to_vec();
        Payload::pattern(1, 0, 3).write_to(&mut whole);
        assert_eq!(queue.peek::<1>(), (*b"a", 1));
        assert_eq!(queue.peek::<4>(), (whole[..4].try_into().expect("four"), 4));
        assert_eq!(queue.peek::<8>().1, 5);
        let mut taken = Vec::new();
        queue.take(4).write_to(&mut taken);
        assert_eq!((&taken[..], queue.len()), (&whole[..4], 1));
        assert_eq!((queue.take(0), queue.take(1)), (Payload::Empty, Payload::pattern(1, 2, 1)));
    }
}
