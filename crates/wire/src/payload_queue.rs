//! Payloads that wait to be read, in their order.

use crate::payload::Payload;
use alloc::collections::VecDeque;

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
}
