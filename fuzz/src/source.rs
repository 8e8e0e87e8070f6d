//! Bytes read as decisions.
//!
//! Every decision takes bytes from the front, and where there are none left it is the first of its choices; so each
//! input means something, a change in its middle leaves what came before as it was, and an input that is cut is
//! the beginning of the same story.

/// What is left of an input.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// An input from its beginning.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether nothing is left.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes that are left.
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// At most `len` bytes as they are.
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(len.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// One byte.
    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// Two bytes, the low one first.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// Four bytes, the low one first.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// Eight bytes, the low one first.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// A bit.
    pub fn bit(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// True once in `times`; false where nothing is left.
    pub fn once_in(&mut self, times: u8) -> bool {
        self.u8() % times == times - 1
    }

    /// A number below `limit`, which is above zero.
    pub fn below(&mut self, limit: usize) -> usize {
        let number = if limit <= 256 { usize::from(self.u8()) } else { self.u32() as usize };
        number % limit
    }

    /// One of these.
    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.take(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }
}
