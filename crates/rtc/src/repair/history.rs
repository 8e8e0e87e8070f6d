//! Packets that were sent and may be asked for.

use super::by_sequence::BySequence;
use voxpath_units::{Span, Time};

/// Packets that are kept at most.
const MOST: usize = 1000;

/// Packets of one source by their sequence numbers.
#[derive(Debug)]
pub struct Sent<T>(BySequence<(T, Option<Time>)>);

impl<T: Copy> Sent<T> {
    /// The first one will have this sequence number.
    pub const fn new(first: u16) -> Self {
        Self(BySequence::new(first, MOST))
    }

    /// A packet was sent for the first time.
    pub fn put(&mut self, sequence: u16, packet: T) {
        self.0.put(sequence, (packet, None));
    }

    /// A packet that is asked for, if it is kept and was not sent again within a round trip.
    pub fn again(&mut self, now: Time, sequence: u16, round_trip: Span) -> Option<T> {
        let (packet, last) = self.0.get_mut(sequence)?;
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
        (0..2_000_u32).for_each(|number| sent.put(65_000_u16.wrapping_add(number as u16), number));
        let (now, trip) = (Time::ZERO + Span::from_secs(1), Span::from_millis(100));
        assert_eq!(sent.again(now, 65_000, trip), None, "too old");
        assert_eq!(sent.again(now, 1_463, trip), Some(1_999));
        assert_eq!(sent.again(now, 1_464, trip), None, "never sent");
        assert_eq!(sent.again(now + Span::from_millis(99), 1_463, trip), None);
        assert_eq!(sent.again(now + Span::from_millis(100), 1_463, trip), Some(1_999));
    }
}
