//! How Linux lays out in memory what was written: in pieces, each of which is retransmitted at the data level at once (`struct
//! mptcp_data_frag` and mptcp_sendmsg() in net/mptcp/protocol.c).

use alloc::collections::VecDeque;

/// The memory that pieces are cut from (`SKB_FRAG_PAGE_ORDER`), what describes a piece there, and how it is aligned.
const PAGE: u64 = 32_768;
const DESCRIPTION: u64 = 40;
const ALIGNMENT: u64 = 8;
/// A piece begins only where so many octets are left for it, its description among them (mptcp_page_frag_refill()).
const LEAST: u64 = 32 + DESCRIPTION;

/// The pieces of what is not acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Behind the last octet of each, by their places in the data sequence.
    ends: VecDeque<u64>,
    /// What is used of the page that the last one is in.
    used: u64,
}

impl Pieces {
    /// `len` octets were written from `from` on. `waits` if others before them have not been sent: then they lengthen the last piece.
    pub(crate) fn write(&mut self, from: u64, len: u32, waits: bool) {
        let end = from + u64::from(len);
        let (mut at, mut lengthens) = (from, waits);
        while at < end {
            if self.ends.is_empty() {
                // Nothing refers to the page any more, so it is used from its beginning.
                self.used = 0;
            }
            if !lengthens || self.ends.is_empty() || self.used == PAGE {
                if PAGE - self.used < LEAST {
                    self.used = 0;
                }
                self.used = self.used.next_multiple_of(ALIGNMENT) + DESCRIPTION;
                self.ends.push_back(at);
            }
            let taken = (PAGE - self.used).min(end - at);
            at += taken;
            self.used += taken;
            if let Some(last) = self.ends.back_mut() {
                *last = at;
            }
            lengthens = true;
        }
    }

    /// What lies before `una` has arrived.
    pub(crate) fn acknowledge(&mut self, una: u64) {
        while self.ends.pop_front_if(|end| *end <= una).is_some() {}
    }

    /// Where the piece ends that this octet is in; none if no piece has it.
    pub(crate) fn end_of(&self, octet: u64) -> Option<u64> {
        self.ends.get(self.ends.partition_point(|end| *end <= octet)).copied()
    }

    /// What the pieces take of memory beside their octets, but for what aligns them.
    pub(crate) fn beside(&self) -> u64 {
        self.ends.len() as u64 * DESCRIPTION
    }

    /// Octets that can be written while there is so much `memory`: a piece is begun, or lengthened, where any of it is left, and takes all that fits its
    /// page (mptcp_send_limit()). `waits` as for [`Pieces::write`].
    pub(crate) fn room(&self, memory: u64, waits: bool) -> u64 {
        if memory == 0 {
            return 0;
        }
        let (first, beside) = match PAGE - self.used {
            _ if self.ends.is_empty() => (PAGE - DESCRIPTION, DESCRIPTION),
            left if waits && left > 0 => (left, 0),
            left if left >= LEAST => {
                (PAGE - self.used.next_multiple_of(ALIGNMENT) - DESCRIPTION, DESCRIPTION)
            }
            _ => (PAGE - DESCRIPTION, DESCRIPTION),
        };
        first + memory.saturating_sub(first + beside).div_ceil(PAGE) * (PAGE - DESCRIPTION)
    }

    /// Where the first piece ends; none if all has arrived.
    pub(crate) fn first_end(&self) -> Option<u64> {
        self.ends.front().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_with_a_write_or_with_its_page() {
        let mut pieces = Pieces::default();
        pieces.write(1, 20_000, false);
        pieces.write(20_001, 20_000, false);
        // 20 040 octets are used, and the next description takes 40.
        let rest = PAGE - 20_080;
        assert!(pieces.ends.iter().eq(&[20_001, 20_001 + rest, 40_001]));
        pieces.acknowledge(20_000);
        assert_eq!(pieces.first_end(), Some(20_001));
        pieces.acknowledge(20_001);
        assert_eq!(pieces.first_end(), Some(20_001 + rest));
        pieces.acknowledge(40_001);
        assert_eq!(pieces.first_end(), None);
        pieces.write(40_001, 40_000, false);
        assert_eq!(pieces.first_end(), Some(40_001 + PAGE - DESCRIPTION), "the page is used anew");
    }

    #[test]
    fn pieces_are_begun_while_memory_is_left() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.room(0, false), 0);
        assert_eq!(pieces.room(1, false), PAGE - DESCRIPTION);
        assert_eq!(pieces.room(PAGE, false), PAGE - DESCRIPTION);
        assert_eq!(pieces.room(PAGE + 1, false), 2 * (PAGE - DESCRIPTION));
        pieces.write(1, 20_000, false);
        assert_eq!(pieces.room(1, true), PAGE - 20_040, "the last one is lengthened");
        assert_eq!(pieces.room(1, false), PAGE - 20_080, "another one is in the same page");
        assert_eq!((pieces.beside(), pieces.end_of(20_000), pieces.end_of(20_001)), (40, Some(20_001), None));
        // What there is room for takes the memory, and less than a page more.
        for memory in [1, 12_688, 12_689, 100_000] {
            let room = pieces.room(memory, false);
            let mut filled = Pieces { ends: pieces.ends.clone(), ..pieces };
            filled.write(20_001, room as u32, false);
            let taken = room + filled.beside() - pieces.beside();
            assert!((memory..memory + PAGE).contains(&taken), "{taken} of {memory}");
        }
    }

    #[test]
    fn what_waits_for_room_is_lengthened_by_the_next_write() {
        let mut pieces = Pieces::default();
        pieces.write(1, 1000, false);
        pieces.write(1001, 500, true);
        pieces.write(1501, 500, false);
        assert!(pieces.ends.iter().eq(&[1501, 2001]));
    }
}
