//! Which message it is: the body tells that, so no number has to travel beside it.
//!
//! A body of eight octets or more is a part of one pattern, and where it begins there is the message's identity. A shorter one
//! has the first octets of the identity: the low ones of the message's number, which with its topic and the order of messages
//! tell the rest (`order.rs`).

use alloc::vec::Vec;
use voxpath_wire::Payload;
use voxpath_wire::payload::{pattern_byte, pattern_offset, pattern_with};

/// The pattern of which all bodies are parts; flows have those from 0 on.
const STREAM: u32 = u32::MAX;
/// Octets of a block of the pattern, which tells where in the pattern it is.
const BLOCK: u64 = 8;
const CLIENT_BITS: u32 = 20;
/// One bit less than there are, so that no body reaches the end of the pattern.
const NUMBER_BITS: u32 = 28;

/// Publishers, clients of one, and messages of one of these, at most.
pub(crate) const MOST_CLIENTS: u32 = 1 << CLIENT_BITS;
pub(crate) const MOST_MESSAGES: u32 = 1 << NUMBER_BITS;
/// A body has to be this long for its octets alone to tell which message it is.
pub(crate) const LEAST_TELLING: u32 = BLOCK as u32;

/// A message of a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageId {
    /// Number of the process.
    pub process: u16,
    /// Number of the client in it.
    pub client: u32,
    /// Number of the message, from 0.
    pub number: u32,
}

impl MessageId {
    fn block(self) -> u64 {
        let client = u64::from(self.process) << CLIENT_BITS | u64::from(self.client);
        client << NUMBER_BITS | u64::from(self.number)
    }

    fn of_block(block: u64) -> Self {
        let client = block >> NUMBER_BITS;
        Self {
            process: (client >> CLIENT_BITS) as u16,
            client: client as u32 & (MOST_CLIENTS - 1),
            number: block as u32 & (MOST_MESSAGES - 1),
        }
    }

    fn of_offset(offset: u64) -> Option<Self> {
        offset.is_multiple_of(BLOCK).then(|| Self::of_block(offset / BLOCK))
    }

    /// The body of the message, of so many octets.
    pub(crate) fn body(self, len: u32) -> Payload {
        if len >= LEAST_TELLING {
            return Payload::pattern(STREAM, self.block() * BLOCK, len);
        }
        let (stream, offset) = pattern_with(self.block().to_le_bytes());
        Payload::pattern(stream, offset, len)
    }

    /// Which message a body is of, if it is of one, unaltered. Real octets tell that from eight on.
    pub(crate) fn of(body: &Payload) -> Option<Self> {
        match body {
            Payload::Pattern { stream, offset, len } if *len < LEAST_TELLING => {
                let block = core::array::from_fn(|at| pattern_byte(*stream, offset + at as u64));
                offset.is_multiple_of(BLOCK).then(|| Self::of_block(u64::from_le_bytes(block)))
            }
            Payload::Pattern { stream: STREAM, offset, .. } => Self::of_offset(*offset),
            Payload::Pattern { .. } | Payload::Empty => None,
            Payload::Held(_) => {
                let mut copied = Vec::new();
                let bytes = match body.as_bytes() {
                    Some(bytes) => &bytes[..],
                    None => {
                        body.write_to(&mut copied);
                        &copied
                    }
                };
                let offset = pattern_offset(STREAM, *bytes.first_chunk()?)?;
                let id = Self::of_offset(offset)?;
                let mut rest = (offset..).zip(bytes).skip(BLOCK as usize);
                rest.all(|(at, &byte)| byte == pattern_byte(STREAM, at)).then_some(id)
            }
        }
    }
}

/// The octets of a body that is too short to tell which message it is: the first ones of the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Short {
    octets: [u8; BLOCK as usize],
    len: u32,
}

impl Short {
    /// Those of a body.
    pub(crate) fn of(body: &Payload) -> Option<Self> {
        let len = body.len();
        if len >= LEAST_TELLING {
            return None;
        }
        let mut copied = Vec::new();
        body.write_to(&mut copied);
        let mut octets = [0; BLOCK as usize];
        octets[..copied.len()].copy_from_slice(&copied);
        Some(Self { octets, len })
    }

    pub(crate) const fn len(self) -> u32 {
        self.len
    }

    /// Whether it is the body of this message.
    pub(crate) fn is_of(self, id: MessageId) -> bool {
        let len = self.len as usize;
        id.block().to_le_bytes()[..len] == self.octets[..len]
    }

    /// After how many messages of a client its octets come again.
    pub(crate) fn turn(self) -> u32 {
        1 << (8 * self.len).min(NUMBER_BITS)
    }

    /// The low octets of the number, below [`Self::turn`].
    pub(crate) fn low(self) -> u32 {
        u64::from_le_bytes(self.octets) as u32 & (self.turn() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_body_tells_its_message_where_it_is_described_and_its_low_octets_else() {
        for id in [
            MessageId { process: 0, client: 0, number: 0 },
            MessageId { process: 7, client: 9_999, number: 0x12_34_56 },
            MessageId { process: 4095, client: MOST_CLIENTS - 1, number: MOST_MESSAGES - 1 },
        ] {
            for len in 1..LEAST_TELLING {
                let body = id.body(len);
                assert_eq!((body.len(), MessageId::of(&body)), (len, Some(id)));
                let mut bytes = Vec::new();
                body.write_to(&mut bytes);
                let body = Payload::bytes(bytes.into());
                assert_eq!(MessageId::of(&body), None);
                let short = Short::of(&body).unwrap();
                assert!(short.is_of(id) && short.len() == len);
                assert!(!short.is_of(MessageId { number: id.number ^ 1, ..id }));
                assert_eq!(short.low(), id.number % short.turn());
            }
            assert_eq!(Short::of(&id.body(LEAST_TELLING)), None);
        }
    }

    #[test]
    fn a_body_tells_its_message_described_or_in_octets() {
        for id in [
            MessageId { process: 0, client: 0, number: 0 },
            MessageId { process: 7, client: 9_999, number: 123_456 },
            MessageId { process: 4095, client: MOST_CLIENTS - 1, number: MOST_MESSAGES - 1 },
        ] {
            for len in [8, 9, 100, 4000] {
                let body = id.body(len);
                assert_eq!(MessageId::of(&body), Some(id));
                let mut bytes = Vec::new();
                body.write_to(&mut bytes);
                assert_eq!(MessageId::of(&Payload::bytes(bytes.clone().into())), Some(id));
                bytes[len as usize - 1] ^= 1;
                assert_eq!(MessageId::of(&Payload::bytes(bytes.into())), None);
            }
        }
    }
}
