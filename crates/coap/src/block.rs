//! The option Block1 (RFC 7959 section 2.2): which part of a body a request carries.

use alloc::vec::Vec;

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

    /// The value of the option, as short as it can be (RFC 7252 section 3.2).
    pub(crate) fn emit(self) -> Vec<u8> {
        let value = self.number << 4 | u32::from(self.more) << 3 | u32::from(self.exponent);
        let bytes = value.to_be_bytes();
        bytes.into_iter().skip_while(|&byte| byte == 0).collect()
    }

    /// The block that a value means; SZX 7 is reserved.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        if value.len() > 3 {
            return None;
        }
        let value = value.iter().fold(0, |value, &byte| value << 8 | u32::from(byte));
        let exponent = (value & 7) as u8;
        (exponent < 7).then_some(Self { number: value >> 4, more: value & 8 != 0, exponent })
    }
}
