//! Data that the application has written and the peer has not acknowledged.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use voxpath_wire::Payload;

/// A queue of payloads, addressed by stream offset.
///
/// Consecutive runs of a pattern merge: a bulk transfer is one entry, whatever its window.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    capacity: u32,
    /// Offset of the first octet held.
    start: u64,
    len: u64,
    chunks: VecDeque<Payload>,
}

impl SendBuffer {
    /// An empty buffer whose first octet will have the offset `start`.
    pub(crate) fn new(capacity: u32, start: u64) -> Self {
        Self { capacity, start, len: 0, chunks: VecDeque::new() }
    }

    /// The offset after the last octet written.
    pub(crate) const fn end(&self) -> u64 {
        self.start + self.len
    }

    /// Octets that still fit.
    pub(crate) fn room(&self) -> u32 {
        // At most `capacity`, hence u32.
        u64::from(self.capacity).saturating_sub(self.len) as u32
    }

    /// Takes in as much of `data` as fits; how many octets that is.
    pub(crate) fn write(&mut self, data: &Payload) -> u32 {
        let taken = data.len().min(self.room());
        if taken == 0 {
            return 0;
        }
        let data = data.slice(0, taken);
        self.len += u64::from(taken);
        if !self.chunks.back_mut().is_some_and(|last| last.try_extend(&data)) {
            self.chunks.push_back(data);
        }
        taken
    }

    /// The `len` octets at `offset`, which must be held.
    pub(crate) fn read(&self, offset: u64, len: u32) -> Payload {
        let mut skip = offset.checked_sub(self.start).expect("acknowledged data is not sent again");
        let mut chunks = self.chunks.iter();
        let first = loop {
            let chunk = chunks.next().expect("what is sent was written");
            match skip.checked_sub(u64::from(chunk.len())) {
                Some(rest) => skip = rest,
                None => break chunk,
            }
        };
        let (skip, available) = (skip as u32, first.len() - skip as u32);
        if available >= len {
            return first.slice(skip, len);
        }
        // Across the border of two writes: the segment gets a copy.
        let mut bytes = Vec::with_capacity(len as usize);
        first.slice(skip, available).write_to(&mut bytes);
        while bytes.len() < len as usize {
            let chunk = chunks.next().expect("what is sent was written");
            let missing = len - bytes.len() as u32;
            chunk.slice(0, chunk.len().min(missing)).write_to(&mut bytes);
        }
        Payload::bytes(bytes.into())
    }

    /// Forgets everything below `offset`.
    pub(crate) fn acknowledge(&mut self, offset: u64) {
        let mut gone = offset.saturating_sub(self.start).min(self.len);
        self.start += gone;
        self.len -= gone;
        while gone > 0 {
            let first = self.chunks.front_mut().expect("what is acknowledged was written");
            let len = u64::from(first.len());
            if len <= gone {
                gone -= len;
                self.chunks.pop_front();
            } else {
                *first = first.slice(gone as u32, (len - gone) as u32);
                gone = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn a_pattern_written_in_pieces_is_one_chunk() {
        let mut buffer = SendBuffer::new(1000, 1);
        for offset in (0..1000).step_by(100) {
            assert_eq!(buffer.write(&Payload::pattern(3, offset, 100)), 100);
        }
        assert_eq!(buffer.write(&Payload::pattern(3, 1000, 1)), 0, "full");
        assert_eq!(buffer.chunks.len(), 1);
        assert_eq!(buffer.read(501, 400), Payload::pattern(3, 500, 400));
        buffer.acknowledge(801);
        assert_eq!(buffer.room(), 800);
        assert_eq!(buffer.read(801, 200), Payload::pattern(3, 800, 200));
    }

    #[test]
    fn a_segment_across_two_writes_has_the_bytes_of_both() {
        let mut buffer = SendBuffer::new(100, 1);
        buffer.write(&Payload::bytes(Bytes::from_static(b"hello ")));
        buffer.write(&Payload::bytes(Bytes::from_static(b"world")));
        assert_eq!(buffer.read(4, 5), Payload::bytes(Bytes::from_static(b"lo wo")));
        buffer.acknowledge(8);
        assert_eq!(buffer.read(8, 4), Payload::bytes(Bytes::from_static(b"orld")));
    }
}
