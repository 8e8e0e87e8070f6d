//! Audio packets that hold earlier frames too (RFC 2198).

use alloc::vec::Vec;

/// An earlier frame in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Block {
    /// How much earlier it was captured, by the media's clock: 14 bits.
    pub offset: u16,
    /// Its octets: 10 bits.
    pub len: u16,
}

/// The largest offset and length that a block can have.
pub const MOST: Block = Block { offset: 0x3fff, len: 0x3ff };

/// Octets of the headers of so many earlier frames and of the one that the packet is for.
pub const fn header_octets(blocks: usize) -> usize {
    4 * blocks + 1
}

/// Appends the headers; the frames follow in the same order.
pub fn emit(payload_type: u8, blocks: &[Block], out: &mut Vec<u8>) {
    for block in blocks {
        let word = 1 << 31
            | u32::from(payload_type & 0x7f) << 24
            | u32::from(block.offset & MOST.offset) << 10
            | u32::from(block.len & MOST.len);
        out.extend_from_slice(&word.to_be_bytes());
    }
    out.push(payload_type & 0x7f);
}

/// The earlier frames that headers tell of, and the octets that the headers have; none if they are malformed.
pub fn parse(mut bytes: &[u8]) -> Option<(Vec<Block>, usize)> {
    let mut blocks = Vec::new();
    loop {
        match *bytes {
            [last, ..] if last & 0x80 == 0 => return Some((blocks.clone(), header_octets(blocks.len()))),
            [a, b, c, d, ref rest @ ..] => {
                let word = u32::from_be_bytes([a, b, c, d]);
                blocks.push(Block { offset: (word >> 10 & 0x3fff) as u16, len: (word & 0x3ff) as u16 });
                bytes = rest;
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back() {
        let blocks = [Block { offset: 1920, len: 50 }, Block { offset: 960, len: 1023 }];
        for count in 0..=2 {
            let mut bytes = Vec::new();
            emit(111, &blocks[..count], &mut bytes);
            assert_eq!(parse(&bytes), Some((blocks[..count].to_vec(), header_octets(count))));
            assert_eq!(parse(&bytes[..bytes.len() - 1]), None);
        }
    }
}
