//! Packets that were sent and may be asked for.

use alloc::collections::VecDeque;
use voxpath_units::{Span, Time};

/// Packets that are kept at most.
const MOST: usize = 1000;

/// Packets of one source by their sequence numbers, without a gap.
#[derive(Debug)]
pub struct Sent<T> {
    packets: VecDeque<(T, Option<Time>)>,
    first: u16,
}

impl<T: Copy> Sent<T> {
    /// The first one will have this sequence number.
    pub const fn new(first: u16) -> Self {
        Self { packets: VecDeque::new(), first }
    }

    /// The next packet was sent.
    pub fn push(&mut self, packet: T) {
        if self.packets.len() == MOST {
            self.packets.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        self.packets.push_back((packet, None));
    }

    /// A packet that is asked for, if it is kept and was not sent again within a round trip.
    pub fn again(&mut self, now: Time, sequence: u16, round_trip: Span) -> Option<T> {
        let (packet, last) = self.packets.get_mut(usize::from(sequence.wrapping_sub(self.first)))?;
        if last.is_some_and(|last| now.since(last) < round_trip) {
            return None;
        }
        *last = Some(now);
        Some(*packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thousand_are_kept_and_sent_again_once_a_round_trip() {
        let mut sent = Sent::new(65_000);
        (0..2_000_u32).for_each(|number| sent.push(number));
        let (now, trip) = (Time::ZERO + Span::from_secs(1), Span::from_millis(100));
        assert_eq!(sent.again(now, 65_000, trip), None, "too old");
        assert_eq!(sent.again(now, 1_463, trip), Some(1_999));
        assert_eq!(sent.again(now, 1_464, trip), None, "never sent");
        assert_eq!(sent.again(now + Span::from_millis(99), 1_463, trip), None);
        assert_eq!(sent.again(now + Span::from_millis(100), 1_463, trip), Some(1_999));
    }
}
