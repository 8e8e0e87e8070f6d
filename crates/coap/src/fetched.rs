//! A representation that comes block by block (RFC 7959 section 2.4).

use crate::block::{Assembly, Block};
use crate::message::{Code, Message};
use alloc::vec::Vec;
use voxpath_wire::Payload;

/// What is there of a representation that comes block by block.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    /// The block that comes next.
    pub(crate) next: Option<Block>,
    assembly: Assembly,
    etag: Option<Vec<u8>>,
}

/// What a response made of a representation.
pub(crate) enum Took {
    More,
    Whole(Payload),
    /// It is another one by now.
    Changed,
    Refused(Code),
}

impl Fetched {
    /// Takes in a response, which has a block or the whole.
    pub(crate) fn take(&mut self, message: &Message, most: u32) -> Took {
        if message.code != Code::CONTENT {
            // A block that is there no more was one of another representation.
            return if self.next.is_some() { Took::Changed } else { Took::Refused(message.code) };
        }
        let block = message.block2;
        // Who asks for a later block and gets the first one again has another representation before it.
        if self.next.is_some() && block.is_some_and(|block| block.number == 0) {
            return Took::Changed;
        }
        if block.is_none_or(|block| block.number == 0) {
            *self = Self { etag: message.etag.clone(), ..Self::default() };
        } else if message.etag != self.etag {
            return Took::Changed;
        }
        let octets = u64::from(self.assembly.octets()) + u64::from(message.payload.len());
        if octets > u64::from(most)
            || block.is_some_and(|block| block.number + 1 == Block::MOST && block.more)
        {
            return Took::Refused(Code::REQUEST_ENTITY_TOO_LARGE);
        }
        if block.is_some_and(|block| !self.assembly.takes(block, &message.payload)) {
            return Took::Refused(Code::REQUEST_ENTITY_INCOMPLETE);
        }
        self.assembly.push(&message.payload);
        match block.filter(|block| block.more) {
            Some(block) => {
                self.next = Some(Block { number: block.number + 1, more: false, ..block });
                Took::More
            }
            None => Took::Whole(core::mem::take(&mut self.assembly).whole()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Kind;

    #[test]
    fn the_first_block_again_is_a_change_and_no_progress() {
        let first = Message {
            block2: Some(Block { number: 0, more: true, exponent: 0 }),
            payload: Payload::pattern(1, 0, 16),
            ..Message::new(Kind::Acknowledgement, Code::CONTENT, 1, Vec::new())
        };
        let mut fetched = Fetched::default();
        assert!(matches!(fetched.take(&first, 1 << 20), Took::More));
        assert!(matches!(fetched.take(&first, 1 << 20), Took::Changed));
    }
}
