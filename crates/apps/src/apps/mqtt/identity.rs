//! Which message it is: what a body is a part of tells that, so no number has to travel beside it.

use alloc::vec::Vec;
use voxpath_wire::Payload;
use voxpath_wire::payload::{pattern_byte, pattern_offset};

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
/// A body has to be this long for its octets to tell which message it is.
pub(crate) const LEAST_REAL: u32 = BLOCK as u32;

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

    fn of_offset(offset: u64) -> Option<Self> {
        let block = offset / BLOCK;
        let client = block >> NUMBER_BITS;
        Some(Self {
            process: u16::try_from(client >> CLIENT_BITS).ok()?,
            client: client as u32 & (MOST_CLIENTS - 1),
            number: block as u32 & (MOST_MESSAGES - 1),
        })
        .filter(|_| offset.is_multiple_of(BLOCK))
    }

    /// The body of the message, of so many octets.
    pub(crate) fn body(self, len: u32) -> Payload {
        Payload::pattern(STREAM, self.block() * BLOCK, len)
    }

    /// Which message a body is of, if it is of one, unaltered. Real octets tell that from eight on.
    pub(crate) fn of(body: &Payload) -> Option<Self> {
        match body {
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

#[cfg(test)]
mod tests {
    use super::*;

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
