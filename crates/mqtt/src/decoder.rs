//! Packets in a stream.

use crate::packet::{Packet, Version};
use crate::{Malformed, Reason};
use voxpath_wire::{Payload, PayloadQueue};

/// What was found at the beginning of the stream.
#[derive(Debug, Clone, Copy)]
struct FixedHeader {
    first: u8,
    /// Of the fixed header.
    len: u32,
    /// Of what follows.
    content: u32,
}

/// Cuts a stream into packets. What is not a whole packet yet is held as it came: described, or as shared bytes.
#[derive(Debug)]
pub struct Decoder {
    came: PayloadQueue,
    most: u32,
    /// Of the packet that is awaited.
    header: Option<FixedHeader>,
}

impl Decoder {
    /// Refuses packets of more than `most` bytes, fixed header included.
    pub const fn new(most: u32) -> Self {
        Self { came: PayloadQueue::new(), most, header: None }
    }

    /// Takes in what has come.
    pub fn push(&mut self, data: Payload) {
        self.came.push(data);
    }

    /// Bytes that are held.
    pub const fn octets(&self) -> u32 {
        self.came.len() as u32
    }

    /// How many more bytes could be taken in before the packet that is awaited is whole, or known to be too large.
    pub fn wanted(&self) -> u32 {
        self.most.saturating_sub(self.octets()).max(1)
    }

    /// The next packet, if it is there, and how many bytes it has. After an error there is no next packet.
    pub fn next(&mut self, version: Version) -> Result<Option<(Packet, u32)>, Malformed> {
        let header = match self.header {
            Some(header) => header,
            None => match self.fixed_header()? {
                Some(header) => *self.header.insert(header),
                None => return Ok(None),
            },
        };
        let len = header.len + header.content;
        if len > self.most {
            return Err(Malformed(Reason::PACKET_TOO_LARGE));
        }
        if self.octets() < len {
            return Ok(None);
        }
        self.header = None;
        let whole = self.came.take(len);
        let content = whole.slice(header.len, header.content);
        Packet::parse(header.first, &content, version).map(|packet| Some((packet, len)))
    }

    fn fixed_header(&self) -> Result<Option<FixedHeader>, Malformed> {
        let (seen, count) = self.came.peek::<5>();
        let Some((&first, rest)) = seen[..count].split_first() else { return Ok(None) };
        let mut content = 0;
        for (place, &byte) in rest.iter().enumerate() {
            content |= u32::from(byte & 0x7F) << (7 * place);
            if byte & 0x80 == 0 {
                if place > 0 && byte == 0 {
                    return Err(Malformed(Reason::MALFORMED));
                }
                return Ok(Some(FixedHeader { first, len: 2 + place as u32, content }));
            }
        }
        if rest.len() == 4 { Err(Malformed(Reason::MALFORMED)) } else { Ok(None) }
    }
}
