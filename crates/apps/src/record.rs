//! What an application saw.

use alloc::vec::Vec;
use voxpath_units::Time;
use voxpath_wire::Payload;

/// An application's own account of what it received.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Octets received.
    pub octets: u64,
    /// When the first of them came.
    pub first_at: Option<Time>,
    /// When the last of those expected came.
    pub completed_at: Option<Time>,
    /// Whether the application has nothing left to do.
    pub finished: bool,
    /// Octets that were not what was sent, or not where they belong.
    pub wrong_octets: u64,
    /// Requests and their responses, at the end that asks.
    pub requests: Vec<Request>,
}

/// A request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When the request was written.
    pub sent_at: Time,
    /// When the first octet of the response was read.
    pub first_at: Option<Time>,
    /// When the last octet of the response was read.
    pub completed_at: Option<Time>,
    /// Octets of the response that were read.
    pub octets: u64,
}

/// Holds what is received against the pattern that was sent.
#[derive(Debug, Clone)]
pub struct Verifier {
    stream: u32,
    next: u64,
}

impl Verifier {
    /// Expects the pattern `stream` from its beginning.
    pub const fn new(stream: u32) -> Self {
        Self { stream, next: 0 }
    }

    /// Octets taken in so far.
    pub const fn octets(&self) -> u64 {
        self.next
    }

    /// Takes the next octets in; how many of them are wrong.
    pub fn take(&mut self, data: &Payload) -> u64 {
        let len = data.len();
        let expected = Payload::pattern(self.stream, self.next, len);
        self.next += u64::from(len);
        if *data == expected {
            return 0;
        }
        let (mut got, mut wanted) = (Vec::new(), Vec::new());
        data.write_to(&mut got);
        expected.write_to(&mut wanted);
        got.iter().zip(&wanted).filter(|(a, b)| a != b).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_bytes_are_held_against_the_pattern_too() {
        let mut bytes = Vec::new();
        Payload::pattern(4, 0, 100).write_to(&mut bytes);
        bytes[17] ^= 1;
        let mut verifier = Verifier::new(4);
        assert_eq!(verifier.take(&Payload::bytes(bytes.into())), 1);
        assert_eq!(verifier.take(&Payload::pattern(4, 100, 50)), 0);
        assert_ne!(verifier.take(&Payload::pattern(4, 151, 50)), 0, "an octet is missing");
    }
}
