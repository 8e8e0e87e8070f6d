//! How a call is set up: a connectivity check (RFC 8445), then DTLS 1.2 for SRTP (RFC 5764), by their octets and round trips.
//!
//! The end that opens sends a flight and repeats it until the next one comes; the other end answers each flight.

use alloc::vec::Vec;
use bytes::Bytes;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// Octets of each flight, in turn of the end that opens and of the one that answers.
///
/// Binding request: header, USERNAME of 9 octets, PRIORITY, ICE-CONTROLLING, USE-CANDIDATE, MESSAGE-INTEGRITY, FINGERPRINT; its
/// response: header, XOR-MAPPED-ADDRESS, MESSAGE-INTEGRITY, FINGERPRINT (RFC 8489). Then DTLS with certificates of P-256, as OpenSSL 3.0.19 sends
/// it, without cookies, as browsers go without them.
const FLIGHTS: [u32; 6] = [20 + 16 + 8 + 12 + 4 + 24 + 8, 20 + 12 + 24 + 8, 214, 738, 643, 666];
const FIRST_OF_DTLS: usize = 2;
/// First wait for a response (RFC 8489 section 6.2.1), and for a flight of DTLS (libwebrtc's 50 ms); each further one is twice as long.
const RESPONSE: Span = Span::from_millis(500);
const FLIGHT: Span = Span::from_millis(50);
/// An attempt lasts so long.
const PATIENCE: Span = Span::from_secs(30);
const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
/// Octets of a header of STUN with that of an attribute, and of a record of DTLS.
const STUN: usize = 24;
const RECORD: usize = 13;

/// The state of the end that opens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    /// The flight that was sent last.
    flight: usize,
    next_at: Time,
    wait: Span,
    until: Time,
}

impl Setup {
    /// Begins; its first flight is to be sent.
    pub(crate) fn new(now: Time) -> Self {
        Self { flight: 0, next_at: now + RESPONSE, wait: RESPONSE, until: now + PATIENCE }
    }

    pub(crate) fn poll_timeout(&self) -> Time {
        self.next_at.min(self.until)
    }

    /// Whether it has taken too long.
    pub(crate) fn is_over(&self, now: Time) -> bool {
        now >= self.until
    }

    /// The flight that is to be repeated at `now`.
    pub(crate) fn poll(&mut self, now: Time) -> Option<usize> {
        if now < self.next_at {
            return None;
        }
        self.wait = self.wait * 2;
        self.next_at = now + self.wait;
        Some(self.flight)
    }

    /// A flight of the other end came: the one to send now, or that the call is set up.
    pub(crate) fn take(&mut self, now: Time, flight: usize) -> Step {
        if flight != self.flight + 1 {
            return Step::Nothing;
        }
        if flight + 1 == FLIGHTS.len() {
            return Step::Done;
        }
        (self.flight, self.wait) = (flight + 1, FLIGHT);
        self.next_at = now + FLIGHT;
        Step::Send(flight + 1)
    }
}

/// What follows from a flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It was there before.
    Nothing,
    /// This flight is to be sent.
    Send(usize),
    /// The call is set up.
    Done,
}

/// What the end that answers sends for a flight, and whether the call is set up for it.
pub(crate) const fn answer(flight: usize) -> (usize, bool) {
    (flight + 1, flight + 2 == FLIGHTS.len())
}

/// The datagram of a flight.
pub(crate) fn emit(flight: usize, pattern: u32) -> Payload {
    let octets = FLIGHTS[flight];
    let mut head = Vec::with_capacity(STUN);
    if flight < FIRST_OF_DTLS {
        head.extend_from_slice(&[flight as u8, 1]);
        head.extend_from_slice(&(octets as u16 - 20).to_be_bytes());
        head.extend_from_slice(&COOKIE);
        head.extend_from_slice(&[0; 12]);
        // One attribute that may be ignored (SOFTWARE) stands for all.
        head.extend_from_slice(&[0x80, 0x22]);
        head.extend_from_slice(&(octets as u16 - STUN as u16).to_be_bytes());
    } else {
        // A handshake record of epoch 1, whose content nobody can read.
        head.extend_from_slice(&[22, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, flight as u8]);
        head.extend_from_slice(&(octets as u16 - RECORD as u16).to_be_bytes());
    }
    let rest = octets - head.len() as u32;
    Payload::rope([Payload::bytes(Bytes::from(head)), Payload::pattern(pattern, 0, rest)])
}

/// Which flight of the end with this number a datagram is.
pub(crate) fn parse(datagram: &Payload, end: usize) -> Option<usize> {
    let flight = match *datagram.front() {
        [kind @ (0 | 1), 1, _, _, a, b, c, d, ..] if [a, b, c, d] == COOKIE => usize::from(kind),
        [22, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, flight, ..] => usize::from(flight),
        _ => return None,
    };
    (flight % 2 == end && FLIGHTS.get(flight) == Some(&datagram.len())).then_some(flight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flight_is_recognised_at_the_other_end_alone() {
        for (flight, octets) in FLIGHTS.into_iter().enumerate() {
            let datagram = emit(flight, 7);
            assert_eq!(datagram.len(), octets);
            assert_eq!(parse(&datagram, flight % 2), Some(flight));
            assert_eq!(parse(&datagram, 1 - flight % 2), None);
            assert_eq!(parse(&datagram.slice(0, datagram.len() - 1), flight % 2), None);
        }
    }

    #[test]
    fn what_is_lost_is_repeated_with_longer_waits() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut setup = Setup::new(at(0));
        assert_eq!(
            (setup.poll(at(499)), setup.poll(at(500)), setup.poll_timeout()),
            (None, Some(0), at(1_500))
        );
        assert_eq!(setup.take(at(600), 1), Step::Send(2));
        assert_eq!((setup.poll(at(650)), setup.poll_timeout()), (Some(2), at(750)));
        assert_eq!(setup.take(at(700), 1), Step::Nothing, "it came before");
        assert_eq!((setup.take(at(700), 3), setup.take(at(800), 5)), (Step::Send(4), Step::Done));
        assert_eq!((answer(0), answer(4)), ((1, false), (5, true)));
    }
}
