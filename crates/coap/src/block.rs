//! The options Block1 and Block2 (RFC 7959 section 2.2): which part of a body a request or a response carries.

use crate::uint::{emit_uint, parse_uint};
use alloc::vec::Vec;
use voxpath_wire::Payload;

/// A block: its number, whether more follow, and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// NUM, below 2^20.
    pub number: u32,
    /// M.
    pub more: bool,
    /// SZX: the size is 2^(SZX + 4), 16 to 1024.
    pub exponent: u8,
}

impl Block {
    /// SZX of 1024 octets.
    pub const LARGEST: u8 = 6;
    /// Numbers are below this.
    pub const MOST: u32 = 1 << 20;

    /// SZX of a size, if blocks can have it.
    pub const fn exponent_of(size: u32) -> Option<u8> {
        if size.is_power_of_two() && size >= 16 && size <= 1024 { Some(size.ilog2() as u8 - 4) } else { None }
    }

    /// Octets of a block that is not the last.
    pub const fn size(self) -> u32 {
        16 << self.exponent
    }

    /// Where in the body it begins.
    pub const fn offset(self) -> u64 {
        self.number as u64 * self.size() as u64
    }

    /// As large, or as small as whoever takes it wants it.
    pub(crate) fn at_most(self, exponent: u8) -> Self {
        Self { exponent: self.exponent.min(exponent), ..self }
    }

    /// The part of a body that it is, and the block as it is told: whether more follow.
    pub(crate) fn cut(self, body: &Payload) -> (Self, Payload) {
        let offset = u32::try_from(self.offset()).unwrap_or(u32::MAX).min(body.len());
        let left = body.len() - offset;
        (Self { more: left > self.size(), ..self }, body.slice(offset, left.min(self.size())))
    }

    /// The value of the option.
    pub(crate) fn emit(self) -> Vec<u8> {
        emit_uint(self.number << 4 | u32::from(self.more) << 3 | u32::from(self.exponent))
    }

    /// The block that a value means; SZX 7 is reserved.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let value = parse_uint(value, 3)?;
        let exponent = (value & 7) as u8;
        (exponent < 7).then_some(Self { number: value >> 4, more: value & 8 != 0, exponent })
    }
}

/// A body of which blocks come one after the other.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    parts: Vec<Payload>,
    octets: u32,
}

impl Assembly {
    /// Octets that are there.
    pub(crate) const fn octets(&self) -> u32 {
        self.octets
    }

    /// Whether a block is the next one, and full unless it is the last (section 2.4).
    pub(crate) fn takes(&self, block: Block, payload: &Payload) -> bool {
        let is_full = payload.len() == block.size();
        u64::from(self.octets) == block.offset() && (is_full || !block.more && payload.len() < block.size())
    }

    /// Takes the next block.
    pub(crate) fn push(&mut self, payload: &Payload) {
        self.octets += payload.len();
        if !self.parts.last_mut().is_some_and(|last| last.try_extend(payload)) {
            self.parts.push(payload.clone());
        }
    }

    /// The body.
    pub(crate) fn whole(self) -> Payload {
        Payload::rope(self.parts)
    }
}
