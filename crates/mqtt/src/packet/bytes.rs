//! The data representations of section 1.5, read and written.

use super::Text;
use crate::{Malformed, Reason};
use alloc::vec::Vec;
use bytes::Bytes;

/// The largest variable byte integer.
pub(crate) const MOST: u32 = 268_435_455;

pub(crate) const MALFORMED: Malformed = Malformed(Reason::MALFORMED);
pub(crate) const PROTOCOL_ERROR: Malformed = Malformed(Reason::PROTOCOL_ERROR);

/// Reads from a packet that is there as a whole.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) const fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or(MALFORMED)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// A reader of the next `len` bytes alone.
    pub(crate) fn part(&mut self, len: usize) -> Result<Self, Malformed> {
        self.take(len).map(Self::new)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(MALFORMED)?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    /// A variable byte integer: at most four bytes, and no more than it needs (section 1.5.5).
    pub(crate) fn varint(&mut self) -> Result<u32, Malformed> {
        let mut value = 0;
        for place in 0..4 {
            let byte = self.u8()?;
            value |= u32::from(byte & 0x7F) << (7 * place);
            if byte & 0x80 == 0 {
                let is_shortest = place == 0 || byte != 0;
                return is_shortest.then_some(value).ok_or(MALFORMED);
            }
        }
        Err(MALFORMED)
    }

    /// Binary data: two bytes of length, and as many bytes.
    pub(crate) fn binary(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.u16()?;
        self.take(len.into())
    }

    pub(crate) fn owned(&mut self) -> Result<Bytes, Malformed> {
        self.binary().map(Bytes::copy_from_slice)
    }

    /// A UTF-8 string without U+0000 (section 1.5.4).
    pub(crate) fn text(&mut self) -> Result<Text, Malformed> {
        let text = core::str::from_utf8(self.binary()?).map_err(|_| MALFORMED)?;
        if text.contains('\0') { Err(MALFORMED) } else { Ok(text.into()) }
    }

    /// An identifier of a packet, which is not zero.
    pub(crate) fn id(&mut self) -> Result<u16, Malformed> {
        match self.u16()? {
            0 => Err(PROTOCOL_ERROR),
            id => Ok(id),
        }
    }

    /// Nothing may follow.
    pub(crate) const fn end(&self) -> Result<(), Malformed> {
        if self.is_empty() { Ok(()) } else { Err(MALFORMED) }
    }
}

pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Writes what [`Reader::varint`] reads; `value` is at most [`MOST`].
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    debug_assert!(value <= MOST);
    loop {
        let byte = (value & 0x7F) as u8;
        value >>= 7;
        if value == 0 {
            return out.push(byte);
        }
        out.push(byte | 0x80);
    }
}

/// Writes binary data, or the bytes of a text, of at most 65 535 bytes.
pub(crate) fn put_binary(out: &mut Vec<u8>, data: &[u8]) {
    debug_assert!(data.len() <= usize::from(u16::MAX));
    put_u16(out, data.len() as u16);
    out.extend_from_slice(data);
}

/// How many bytes [`put_varint`] writes.
pub(crate) const fn varint_len(value: u32) -> u32 {
    match value {
        0..=127 => 1,
        128..=16_383 => 2,
        16_384..=2_097_151 => 3,
        _ => 4,
    }
}
