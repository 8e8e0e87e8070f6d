//! Packets in a stream.

use crate::packet::{Packet, Version};
use crate::{Malformed, Reason};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use voxpath_wire::Payload;

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
    pieces: VecDeque<Payload>,
    octets: u32,
    most: u32,
    /// Of the packet that is awaited.
    header: Option<FixedHeader>,
}

impl Decoder {
    /// Refuses packets of more than `most` bytes, fixed header included.
    pub const fn new(most: u32) -> Self {
        Self { pieces: VecDeque::new(), octets: 0, most, header: None }
    }

    /// Takes in what has come.
    pub fn push(&mut self, data: Payload) {
        self.octets += data.len();
        if !data.is_empty() && !self.pieces.back_mut().is_some_and(|last| last.try_extend(&data)) {
            self.pieces.push_back(data);
        }
    }

    /// Bytes that are held.
    pub const fn octets(&self) -> u32 {
        self.octets
    }

    /// How many more bytes could be taken in before the packet that is awaited is whole, or known to be too large.
    pub fn wanted(&self) -> u32 {
        self.most.saturating_sub(self.octets).max(1)
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
        if self.octets < len {
            return Ok(None);
        }
        self.header = None;
        let whole = self.take(len);
        let content = whole.slice(header.len, header.content);
        Packet::parse(header.first, &content, version).map(|packet| Some((packet, len)))
    }

    fn fixed_header(&self) -> Result<Option<FixedHeader>, Malformed> {
        let mut seen = Vec::with_capacity(8);
        for piece in &self.pieces {
            piece.slice(0, piece.len().min(5 - seen.len() as u32)).write_to(&mut seen);
            if seen.len() >= 5 {
                break;
            }
        }
        let Some((&first, rest)) = seen.split_first() else { return Ok(None) };
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

    /// Takes the first `len` bytes out, which are there.
    fn take(&mut self, len: u32) -> Payload {
        self.octets -= len;
        let mut taken = Vec::new();
        let mut left = len;
        while left > 0 {
            let piece = self.pieces.pop_front().expect("as many bytes are held as were counted");
            if piece.len() > left {
                self.pieces.push_front(piece.slice(left, piece.len() - left));
                taken.push(piece.slice(0, left));
                break;
            }
            left -= piece.len();
            taken.push(piece);
        }
        match taken.len() {
            1 => taken.pop().expect("there is one"),
            _ => Payload::rope(taken),
        }
    }
}
