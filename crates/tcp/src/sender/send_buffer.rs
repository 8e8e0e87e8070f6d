//! Data that the application has written and the peer has not acknowledged: of a connection, or of the data sequence of Multipath TCP.

use crate::lean::{partition_point_near_end, push_back};
use alloc::collections::VecDeque;
use core::iter;
use voxpath_wire::Payload;

/// A queue of payloads, addressed by stream offset.
///
/// Consecutive runs of a pattern merge: a bulk transfer is one entry, whatever its window.
#[derive(Debug)]
pub struct SendBuffer {
    /// Octets that it holds, or of memory, where that is what Linux counts (`send_space.rs`).
    capacity: u32,
    /// The application has more to write, and waits for room.
    awaited: bool,
    /// Whoever waits at the socket, be it for data, found no room (SOCK_NOSPACE).
    watched: bool,
    /// The application closed: a FIN follows the last octet.
    closed: bool,
    /// Offset of the first octet held.
    start: u64,
    len: u64,
    /// What was written, by the offset of its first octet: ascending, so that a place in a long queue of small writes
    /// is found without walking along it.
    chunks: VecDeque<(u64, Payload)>,
}

impl SendBuffer {
    /// An empty buffer whose first octet will have the offset `start`.
    pub fn new(capacity: u32, start: u64) -> Self {
        Self {
            capacity,
            awaited: false,
            watched: false,
            closed: false,
            start,
            len: 0,
            chunks: VecDeque::new(),
        }
    }

    /// The offset after the last octet written.
    pub const fn end(&self) -> u64 {
        self.start + self.len
    }

    /// Octets held.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Nothing more is written: a FIN follows.
    pub const fn close(&mut self) {
        self.closed = true;
    }

    /// Whether nothing more is written.
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether all that was written is acknowledged.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Holds more from now on; never less.
    pub(crate) fn grow(&mut self, capacity: u32) {
        self.capacity = self.capacity.max(capacity);
    }

    /// Holds so much from now on; what is held already stays, though it be more.
    pub(super) const fn begin_anew(&mut self, capacity: u32) {
        self.capacity = capacity;
    }

    /// Whether the application has filled all the room that there was, and waits for more.
    pub const fn is_awaited(&self) -> bool {
        self.awaited
    }

    pub(super) const fn is_watched(&self) -> bool {
        self.watched
    }

    pub(super) const fn watch(&mut self, watched: bool) {
        self.watched = watched;
    }

    /// Octets that still fit.
    pub fn room(&self) -> u32 {
        // At most `capacity`, hence u32.
        u64::from(self.capacity).saturating_sub(self.len) as u32
    }

    /// Takes in as much of `data` as fits; how many octets that is.
    pub fn write(&mut self, data: &Payload) -> u32 {
        self.write_into(self.room(), data)
    }

    /// As [`SendBuffer::write`], where so many octets fit; an application that has filled that waits for more.
    pub fn write_into(&mut self, room: u32, data: &Payload) -> u32 {
        let taken = data.len().min(room);
        self.awaited = taken == room;
        if taken == 0 {
            return 0;
        }
        data.slice(0, taken).into_parts(|part| {
            let start = self.end();
            self.len += u64::from(part.len());
            if !self.chunks.back_mut().is_some_and(|(_, last)| last.try_extend(&part)) {
                push_back(&mut self.chunks, (start, part));
            }
        });
        taken
    }

    /// The `len` octets at `offset`, which must be held.
    pub fn read(&self, offset: u64, len: u32) -> Payload {
        // Mostly it is all one run, or in the first.
        if let Some((start, first)) = self.chunks.front()
            && let Some(skip) = offset.checked_sub(*start)
            && skip + u64::from(len) <= u64::from(first.len())
        {
            return first.slice(skip as u32, len);
        }
        self.read_behind(offset, len)
    }

    /// The same, wherever they are.
    fn read_behind(&self, offset: u64, len: u32) -> Payload {
        // What is sent the first time was written last.
        let after = partition_point_near_end(&self.chunks, |(start, _)| *start <= offset);
        let at = after.checked_sub(1).expect("acknowledged data is not sent again");
        let mut chunks = self.chunks.range(at..);
        let (start, first) = chunks.next().expect("the place is inside the queue");
        let skip = (offset - start) as u32;
        let available = first.len().checked_sub(skip).expect("what is sent was written");
        if available >= len {
            return first.slice(skip, len);
        }
        // Across the border of two writes.
        let mut missing = len - available;
        let rest = iter::from_fn(|| {
            if missing == 0 {
                return None;
            }
            let (_, chunk) = chunks.next().expect("what is sent was written");
            let taken = chunk.len().min(missing);
            missing -= taken;
            Some(chunk.slice(0, taken))
        });
        Payload::rope(iter::once(first.slice(skip, available)).chain(rest))
    }

    /// Forgets everything below `offset`.
    pub fn acknowledge(&mut self, offset: u64) {
        let gone = offset.saturating_sub(self.start).min(self.len);
        self.start += gone;
        self.len -= gone;
        while let Some((start, first)) = self.chunks.front_mut().filter(|(start, _)| *start < self.start) {
            let (skip, len) = (self.start - *start, first.len());
            if skip >= u64::from(len) {
                self.chunks.pop_front();
            } else {
                *first = first.slice(skip as u32, len - skip as u32);
                *start = self.start;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use bytes::Bytes;

    fn octets(payload: &Payload) -> Vec<u8> {
        let mut octets = Vec::new();
        payload.write_to(&mut octets);
        octets
    }

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

    /// Seven octets at a time, read and acknowledged by thirteen.
    #[test]
    fn any_place_in_a_queue_of_small_writes_is_found() {
        let mut buffer = SendBuffer::new(1000, 1);
        let all: Vec<u8> = (0..100).collect();
        all.chunks(7).for_each(|part| {
            buffer.write(&Payload::bytes(Bytes::copy_from_slice(part)));
        });
        for from in (0..100).step_by(13) {
            buffer.acknowledge(1 + from as u64);
            for at in from..100 {
                let len = 20.min(100 - at);
                assert_eq!(octets(&buffer.read(1 + at as u64, len as u32)), all[at..at + len]);
            }
        }
        buffer.acknowledge(101);
        assert_eq!((buffer.room(), buffer.chunks.len(), buffer.end()), (1000, 0, 101));
    }

    #[test]
    fn a_header_and_a_pattern_are_sent_as_what_they_are() {
        let mut buffer = SendBuffer::new(100, 1);
        let header = Payload::bytes(Bytes::from_static(b"head"));
        assert_eq!(buffer.write(&Payload::rope([header.clone(), Payload::pattern(1, 0, 50)])), 54);
        assert_eq!(buffer.write(&Payload::rope([header.clone(), Payload::pattern(1, 50, 50)])), 46);
        assert_eq!(buffer.read(1, 4), header);
        assert_eq!(buffer.read(5, 50), Payload::pattern(1, 0, 50));
        let across = [Payload::pattern(1, 48, 2), header, Payload::pattern(1, 50, 3)];
        assert_eq!(buffer.read(53, 9), Payload::rope(across));
    }

    #[test]
    fn a_segment_across_two_writes_has_the_bytes_of_both() {
        let mut buffer = SendBuffer::new(100, 1);
        buffer.write(&Payload::bytes(Bytes::from_static(b"hello ")));
        buffer.write(&Payload::bytes(Bytes::from_static(b"world")));
        assert_eq!(octets(&buffer.read(4, 5)), b"lo wo");
        buffer.acknowledge(8);
        assert_eq!(octets(&buffer.read(8, 4)), b"orld");
    }
}
