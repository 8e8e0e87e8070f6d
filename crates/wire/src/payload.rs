//! What packets and sockets carry.
//!
//! Simulated applications send a *pattern*: bytes that are a function of (stream, offset), never stored.
//! A receiver that is handed `Pattern { stream, offset, len }` knows exactly which bytes it got, so
//! reassembly is verified without moving data; where real bytes are needed (a device, a capture),
//! [`Payload::write_to`] materialises the same bytes each time. Applications with real content send
//! shared slices instead. A header before a pattern is a rope of both, and so is a segment that
//! spans two writes. Neither is materialised.

use alloc::boxed::Box;
use alloc::vec::Vec;
use bytes::Bytes;

/// A run of bytes, described or held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Payload {
    /// No bytes.
    #[default]
    Empty,
    /// `len` bytes of the pattern `stream`, beginning at `offset`; see [`pattern_byte`].
    Pattern {
        /// Which of the 2^32 patterns.
        stream: u32,
        /// Where in the pattern the run begins, in bytes.
        offset: u64,
        /// How many bytes the run has; never zero.
        len: u32,
    },
    /// Real bytes, or several runs. Boxed, because few of a simulation's payloads are so, and together, so that the
    /// others are dropped at the price of one comparison; where hosts are real, each frame pays an allocation for it.
    Held(Box<Held>),
}

/// What a payload has on the heap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// A shared slice of real bytes; never empty.
    Bytes(Bytes),
    /// Several runs, one after the other.
    Rope(Rope),
}

/// At least two runs, none of them empty or a rope; neighbours are no run of one pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rope {
    parts: Vec<Payload>,
    len: u32,
}

/// The byte at `offset` of pattern `stream`.
pub fn pattern_byte(stream: u32, offset: u64) -> u8 {
    pattern_block(stream, offset / 8)[(offset % 8) as usize]
}

/// Eight bytes of the pattern: SplitMix64's output function over (stream, block).
fn pattern_block(stream: u32, block: u64) -> [u8; 8] {
    let mut z = block.wrapping_add(u64::from(stream) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).to_le_bytes()
}

/// The offset in pattern `stream` at which these eight bytes are a block; other bytes have one too, which has to
/// be compared with the pattern there.
pub fn pattern_offset(stream: u32, block: [u8; 8]) -> Option<u64> {
    unmixed(block).wrapping_sub(u64::from(stream) << 32).checked_mul(8)
}

/// A pattern in which these eight bytes are a block, and the block's offset there.
pub fn pattern_with(block: [u8; 8]) -> (u32, u64) {
    let place = unmixed(block);
    ((place >> 32) as u32, (place & u64::from(u32::MAX)) * 8)
}

/// Of which sum of stream and block these bytes are the block.
fn unmixed(block: [u8; 8]) -> u64 {
    // Each step of SplitMix64 can be undone.
    let mut z = u64::from_le_bytes(block);
    z = (z ^ (z >> 31) ^ (z >> 62)).wrapping_mul(inverse(0x94d0_49bb_1331_11eb));
    z = (z ^ (z >> 27) ^ (z >> 54)).wrapping_mul(inverse(0xbf58_476d_1ce4_e5b9));
    (z ^ (z >> 30) ^ (z >> 60)).wrapping_mul(inverse(0x9e37_79b9_7f4a_7c15))
}

/// The number whose product with `odd` is 1 modulo 2^64, by Newton's iteration.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd;
    let mut exact_bits = 3;
    while exact_bits < 64 {
        x = x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)));
        exact_bits *= 2;
    }
    x
}

impl Payload {
    /// The run of `len` bytes at `offset` of pattern `stream`; empty if `len` is zero.
    pub fn pattern(stream: u32, offset: u64, len: u32) -> Self {
        match len {
            0 => Self::Empty,
            _ => Self::Pattern { stream, offset, len },
        }
    }

    /// Shared bytes; empty if there are none.
    pub fn bytes(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::Empty } else { Self::Held(Box::new(Held::Bytes(bytes))) }
    }

    /// The real bytes, of a payload that is nothing else.
    pub fn as_bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Held(held) => match &**held {
                Held::Bytes(bytes) => Some(bytes),
                Held::Rope(_) => None,
            },
            Self::Empty | Self::Pattern { .. } => None,
        }
    }

    /// The real bytes that it begins with; none where a pattern comes first.
    pub fn front(&self) -> &[u8] {
        match self {
            Self::Held(held) => held.front(),
            Self::Empty | Self::Pattern { .. } => &[],
        }
    }

    /// Several payloads, one after the other, without copying.
    ///
    /// Panics if together they have 4 GiB or more.
    pub fn rope(payloads: impl IntoIterator<Item = Self>) -> Self {
        // Mostly one run or two: what is one needs no list.
        let (mut first, mut parts, mut len) = (Self::Empty, Vec::new(), 0_u32);
        for payload in payloads {
            len = len.checked_add(payload.len()).expect("a payload is shorter than 4 GiB");
            payload.into_parts(|part| {
                let last = parts.last_mut().unwrap_or(&mut first);
                if last.is_empty() {
                    *last = part;
                } else if !last.try_extend(&part) {
                    if parts.is_empty() {
                        parts.reserve_exact(2);
                        parts.push(core::mem::take(&mut first));
                    }
                    parts.push(part);
                }
            });
        }
        if parts.is_empty() { first } else { Self::Held(Box::new(Held::Rope(Rope { parts, len }))) }
    }

    /// Hands out its runs in their order, none of which is empty or a rope.
    pub fn into_parts(self, mut take: impl FnMut(Self)) {
        match self {
            Self::Empty => {}
            Self::Held(held) if held.is_rope() => held.into_parts(take),
            part => take(part),
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> u32 {
        match self {
            Self::Empty => 0,
            Self::Pattern { len, .. } => *len,
            Self::Held(held) => held.len(),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// The sub-run of `len` bytes that begins `start` bytes into this one, without copying.
    ///
    /// Panics if the sub-run reaches beyond this one.
    pub fn slice(&self, start: u32, len: u32) -> Self {
        assert!(
            u64::from(start) + u64::from(len) <= u64::from(self.len()),
            "a slice stays inside its payload"
        );
        match self {
            _ if len == 0 => Self::Empty,
            Self::Empty => Self::Empty,
            Self::Pattern { stream, offset, .. } => Self::pattern(*stream, offset + u64::from(start), len),
            Self::Held(held) => held.slice(start, len),
        }
    }

    /// Extends this run by `next` if together they are one run of the same pattern and fit `u32`.
    pub fn try_extend(&mut self, next: &Self) -> bool {
        let (Self::Pattern { stream, offset, len }, Self::Pattern { stream: s, offset: o, len: l }) =
            (&mut *self, next)
        else {
            return false;
        };
        if *stream != *s || *offset + u64::from(*len) != *o {
            return false;
        }
        let Some(sum) = len.checked_add(*l) else { return false };
        *len = sum;
        true
    }

    /// Appends the bytes themselves to `out`.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Empty => {}
            Self::Held(held) => held.write_to(out),
            Self::Pattern { stream, offset, len } => {
                // Whole blocks, and of them what was asked for: a step for each block alone is fast.
                let (start, begun) = (out.len(), (*offset % 8) as usize);
                let blocks = *offset / 8..(*offset + u64::from(*len)).div_ceil(8);
                out.reserve(*len as usize + 16);
                for block in blocks {
                    out.extend_from_slice(&pattern_block(*stream, block));
                }
                out.copy_within(start + begun.., start);
                out.truncate(start + *len as usize);
            }
        }
    }
}

// Out of the way of patterns, which are nearly all.
impl Held {
    fn is_rope(&self) -> bool {
        matches!(self, Self::Rope(_))
    }

    /// The runs of a rope.
    fn into_parts(self, take: impl FnMut(Payload)) {
        if let Self::Rope(rope) = self {
            rope.parts.into_iter().for_each(take);
        }
    }

    fn front(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Rope(rope) => rope.parts[0].front(),
        }
    }

    #[cold]
    fn len(&self) -> u32 {
        match self {
            Self::Bytes(bytes) => u32::try_from(bytes.len()).expect("a payload is shorter than 4 GiB"),
            Self::Rope(rope) => rope.len,
        }
    }

    #[cold]
    fn slice(&self, start: u32, len: u32) -> Payload {
        match self {
            Self::Bytes(bytes) => Payload::bytes(bytes.slice(start as usize..(start + len) as usize)),
            Self::Rope(rope) => rope.slice(start, len),
        }
    }

    #[cold]
    fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(bytes) => out.extend_from_slice(bytes),
            Self::Rope(rope) => rope.parts.iter().for_each(|part| part.write_to(out)),
        }
    }
}

impl Rope {
    fn slice(&self, start: u32, len: u32) -> Payload {
        let (mut skip, mut left) = (start, len);
        Payload::rope(self.parts.iter().map_while(|part| {
            let from = skip.min(part.len());
            skip -= from;
            let taken = left.min(part.len() - from);
            left -= taken;
            (taken > 0 || left > 0).then(|| part.slice(from, taken))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_materialises_alike_from_any_offset() {
        let mut whole = Vec::new();
        Payload::pattern(7, 0, 100).write_to(&mut whole);
        for start in 0..40_u32 {
            let mut part = Vec::new();
            Payload::pattern(7, 0, 100).slice(start, 60).write_to(&mut part);
            assert_eq!(part, whole[start as usize..start as usize + 60]);
            assert_eq!(part[0], pattern_byte(7, u64::from(start)));
        }
    }

    #[test]
    fn the_bytes_of_a_block_tell_where_it_is() {
        for stream in [0, 1, u32::MAX] {
            for offset in [0, 8, 80_000, 8 * (u64::from(u32::MAX) + 7)] {
                let block = core::array::from_fn(|i| pattern_byte(stream, offset + i as u64));
                assert_eq!(pattern_offset(stream, block), Some(offset));
            }
        }
    }

    #[test]
    fn any_eight_bytes_are_a_block_of_some_pattern() {
        for block in [[0; 8], [255; 8], [1, 2, 3, 4, 5, 6, 7, 8], 0x0123_4567_89ab_cdef_u64.to_be_bytes()] {
            let (stream, offset) = pattern_with(block);
            assert_eq!(core::array::from_fn(|i| pattern_byte(stream, offset + i as u64)), block);
        }
    }

    #[test]
    fn a_rope_of_one_run_is_that_run() {
        let halves = [Payload::pattern(1, 10, 5), Payload::Empty, Payload::pattern(1, 15, 5)];
        assert_eq!(Payload::rope(halves), Payload::pattern(1, 10, 10));
        assert_eq!(Payload::rope([Payload::Empty]), Payload::Empty);
        let header = Payload::bytes(Bytes::from_static(b"head"));
        let message = Payload::rope([header.clone(), Payload::pattern(1, 0, 6)]);
        assert_eq!(Payload::rope([message.clone(), Payload::pattern(1, 6, 4)]), {
            Payload::rope([header.clone(), Payload::pattern(1, 0, 10)])
        });
        assert_eq!(message.slice(0, 4), header);
        assert_eq!(message.slice(6, 3), Payload::pattern(1, 2, 3));
    }

    #[test]
    fn any_slice_of_a_rope_has_its_bytes() {
        let parts = [
            Payload::bytes(Bytes::from_static(b"abc")),
            Payload::pattern(3, 40, 9),
            Payload::bytes(Bytes::from_static(b"d")),
            Payload::pattern(4, 0, 5),
        ];
        let rope = Payload::rope(parts);
        let mut whole = Vec::new();
        rope.write_to(&mut whole);
        assert_eq!(whole.len(), rope.len() as usize);
        for start in 0..=rope.len() {
            for len in 0..=rope.len() - start {
                let (mut bytes, slice) = (Vec::new(), rope.slice(start, len));
                slice.write_to(&mut bytes);
                assert_eq!(bytes, whole[start as usize..(start + len) as usize]);
                assert_eq!(slice.len(), len);
            }
        }
    }

    #[test]
    fn only_consecutive_runs_of_one_pattern_merge() {
        let mut run = Payload::pattern(1, 10, 5);
        assert!(run.try_extend(&Payload::pattern(1, 15, 5)));
        assert_eq!(run, Payload::pattern(1, 10, 10));
        assert!(!run.try_extend(&Payload::pattern(1, 21, 1)));
        assert!(!run.try_extend(&Payload::pattern(2, 20, 1)));
        assert!(!run.try_extend(&Payload::bytes(Bytes::from_static(b"x"))));
    }
}
