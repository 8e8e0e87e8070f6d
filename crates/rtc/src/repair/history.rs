//! Packets that were sent and may be asked for.

use super::by_sequence::BySequence;
use voxpath_units::{Span, Time};

/// Packets that are kept at most.
const MOST: usize = 1000;

/// How much later than a round trip it may be asked for once more, for the other end's sake (`RTPSender::OnReceivedNack`).
const MARGIN: Span = Span::from_millis(5);

/// Packets of one source by their sequence numbers.
#[derive(Debug)]
pub struct Sent<T>(BySequence<Kept<T>>);

#[derive(Debug)]
struct Kept<T> {
    packet: T,
    /// It is in the send queue again.
    waits: bool,
    /// When it last left again.
    left: Option<Time>,
}

impl<T: Copy> Sent<T> {
    /// The first one will have this sequence number.
    pub const fn new(first: u16) -> Self {
        Self(BySequence::new(first, MOST))
    }

    /// A packet was sent for the first time.
    pub fn put(&mut self, sequence: u16, packet: T) {
        self.0.put(sequence, Kept { packet, waits: false, left: None });
    }

    /// A packet that is asked for, which waits to leave again from now on: none if it is not kept, waits already, or left again within a round
    /// trip and a margin (`RtpPacketHistory::GetPacketAndMarkAsPending`).
    pub fn again(&mut self, now: Time, sequence: u16, round_trip: Span) -> Option<T> {
        let kept = self.0.get_mut(sequence)?;
        let is_under_way = kept.left.is_some_and(|left| now.since(left) < round_trip + MARGIN);
        if kept.waits || is_under_way {
            return None;
        }
        kept.waits = true;
        Some(kept.packet)
    }

    /// A packet left again.
    pub fn left_again(&mut self, now: Time, sequence: u16) {
        if let Some(kept) = self.0.get_mut(sequence) {
            (kept.waits, kept.left) = (false, Some(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thousand_are_kept() {
        let mut sent = Sent::new(65_000);
        (0..2_000_u32).for_each(|number| sent.put(65_000_u16.wrapping_add(number as u16), number));
        let now = Time::ZERO + Span::from_secs(1);
        assert_eq!(sent.again(now, 65_000, Span::ZERO), None, "too old");
        assert_eq!(sent.again(now, 1_463, Span::ZERO), Some(1_999));
        assert_eq!(sent.again(now, 1_464, Span::ZERO), None, "never sent");
    }

    #[test]
    fn a_packet_waits_once_and_is_asked_for_in_vain_for_a_round_trip() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let trip = Span::from_millis(100);
        let mut sent = Sent::new(7);
        sent.put(7, 'a');
        assert_eq!(sent.again(at(0), 7, trip), Some('a'));
        assert_eq!(sent.again(at(900), 7, trip), None, "it has not left the queue yet");
        sent.left_again(at(1_000), 7);
        assert_eq!(sent.again(at(1_104), 7, trip), None);
        assert_eq!(sent.again(at(1_105), 7, trip), Some('a'));
    }
}
