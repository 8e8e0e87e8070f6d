//! What came on all subflows, put in the order of the data sequence (RFC 8684 section 3.3.5).

use alloc::collections::VecDeque;
use voxpath_tcp::partition_point_near_end;
use voxpath_wire::{Payload, PayloadQueue};

/// The receive queue of a connection. Octets that come more than once, on one subflow or on several, are kept once.
#[derive(Debug)]
pub struct DataReassembly {
    /// The first octet that is missing.
    next: u64,
    /// In order, not yet read.
    ready: PayloadQueue,
    /// Beyond a gap, with the first octet of each: ascending, disjoint.
    waiting: VecDeque<(u64, Payload)>,
    waiting_len: u64,
    /// Where the DATA_FIN is, once that is known.
    fin: Option<u64>,
}

impl DataReassembly {
    /// An empty queue that expects the octet `next`.
    pub fn new(next: u64) -> Self {
        Self { next, ready: PayloadQueue::new(), waiting: VecDeque::new(), waiting_len: 0, fin: None }
    }

    /// What is acknowledged at the data level: the first octet that is missing, the DATA_FIN being one (section 3.3.3).
    pub fn data_ack(&self) -> u64 {
        self.next + u64::from(self.is_finished())
    }

    /// Octets that can be read.
    pub fn readable(&self) -> u64 {
        self.ready.len()
    }

    /// Octets that are held, to be read or beyond a gap.
    pub fn held(&self) -> u64 {
        self.ready.len() + self.waiting_len
    }

    /// Takes in the octets of `data`, which begin at `start`; how many of them were not here.
    pub fn insert(&mut self, start: u64, data: &Payload) -> u64 {
        let end = start + u64::from(data.len());
        if start == self.next && self.waiting.front().is_none_or(|&(at, _)| at >= end) {
            // The usual case: the next octets, of which none are here.
            self.next = end;
            self.ready.push(data.clone());
            self.deliver();
            return u64::from(data.len());
        }
        let mut from = start.max(self.next);
        let before = self.held();
        let mut place = partition_point_near_end(&self.waiting, |known| end_of(known) <= from);
        while from < end {
            let next = self.waiting.get(place);
            if let Some(known) = next.filter(|(at, _)| *at <= from) {
                from = end_of(known);
                place += 1;
                continue;
            }
            let to = next.map_or(end, |&(at, _)| at.min(end));
            place = self.store(place, from, data.slice((from - start) as u32, (to - from) as u32));
            from = to;
        }
        let new = self.held() - before;
        self.deliver();
        new
    }

    /// The peer's last octet is before `at`, where its DATA_FIN is (section 3.3.3).
    pub fn note_fin(&mut self, at: u64) {
        self.fin.get_or_insert(at);
    }

    /// Whether the peer has closed.
    pub fn has_fin(&self) -> bool {
        self.fin.is_some()
    }

    /// Whether all that the peer has sent is here, its DATA_FIN included.
    pub fn is_finished(&self) -> bool {
        self.fin == Some(self.next)
    }

    /// Gives out at most `max` octets, one run of them; empty if there are none in order.
    pub fn read(&mut self, max: u32) -> Payload {
        self.ready.read(max)
    }

    /// Keeps octets that are not here yet, before those that wait at `place`; where these are then.
    fn store(&mut self, place: usize, at: u64, part: Payload) -> usize {
        self.waiting_len += u64::from(part.len());
        let before = place.checked_sub(1).and_then(|before| self.waiting.get_mut(before));
        if before.is_some_and(|before| end_of(before) == at && before.1.try_extend(&part)) {
            return place;
        }
        self.waiting.insert(place, (at, part));
        place + 1
    }

    /// What continues the sequence is ready.
    fn deliver(&mut self) {
        while let Some((_, part)) = self.waiting.pop_front_if(|first| first.0 == self.next) {
            let len = u64::from(part.len());
            self.next += len;
            self.waiting_len -= len;
            self.ready.push(part);
        }
    }
}

/// The octet after the last.
fn end_of((start, part): &(u64, Payload)) -> u64 {
    start + u64::from(part.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn two_subflows_fill_each_others_gaps() {
        let mut queue = DataReassembly::new(1);
        let piece = |at: u64| Payload::pattern(4, at - 1, 100);
        for at in [101, 301, 501] {
            assert_eq!(queue.insert(at, &piece(at)), 100);
        }
        assert_eq!((queue.data_ack(), queue.readable(), queue.held()), (1, 0, 300));
        assert_eq!(queue.insert(1, &piece(1)), 100);
        assert_eq!((queue.data_ack(), queue.readable()), (201, 200));
        // Sent again on the other subflow, and more of it.
        assert_eq!(queue.insert(151, &Payload::pattern(4, 150, 400)), 200);
        assert_eq!((queue.data_ack(), queue.held()), (601, 600));
        assert_eq!(queue.read(1000), Payload::pattern(4, 0, 600));
        assert_eq!((queue.held(), queue.read(1000)), (0, Payload::Empty));
    }

    #[test]
    fn the_data_fin_is_acknowledged_once_all_before_it_is_here() {
        let mut queue = DataReassembly::new(1);
        queue.note_fin(201);
        queue.insert(101, &Payload::pattern(0, 100, 100));
        assert_eq!((queue.is_finished(), queue.data_ack()), (false, 1));
        queue.insert(1, &Payload::pattern(0, 0, 100));
        assert_eq!((queue.is_finished(), queue.data_ack()), (true, 202));
    }

    proptest! {
        /// Any overlapping pieces in any order come out as the stream, each octet once.
        #[test]
        fn what_is_read_is_what_was_sent(
            pieces in prop::collection::vec((0_u64..300, 1_u32..60, any::<bool>()), 1..60),
            first in prop::sample::select(vec![0, 1, u64::from(u32::MAX) - 100]),
        ) {
            let mut queue = DataReassembly::new(first);
            let (mut here, mut read) = ([false; 400], Vec::new());
            for (at, len, real) in pieces {
                let mut data = Payload::pattern(5, at, len);
                if real {
                    let mut bytes = Vec::new();
                    data.write_to(&mut bytes);
                    data = Payload::bytes(bytes.into());
                }
                let octets = &mut here[at as usize..at as usize + len as usize];
                let new = octets.iter().filter(|here| !**here).count() as u64;
                octets.fill(true);
                prop_assert_eq!(queue.insert(first + at, &data), new);
                let in_order = here.iter().take_while(|here| **here).count() as u64;
                prop_assert_eq!(queue.data_ack(), first + in_order);
                prop_assert_eq!(queue.readable(), in_order - read.len() as u64);
                let all = here.iter().filter(|here| **here).count() as u64;
                prop_assert_eq!(queue.held(), all - read.len() as u64);
                while at % 3 == 0 && queue.readable() > 0 {
                    queue.read(17).write_to(&mut read);
                }
            }
            while queue.readable() > 0 {
                queue.read(17).write_to(&mut read);
            }
            let mut sent = Vec::new();
            Payload::pattern(5, 0, (queue.data_ack() - first) as u32).write_to(&mut sent);
            prop_assert_eq!(read, sent);
        }
    }
}
