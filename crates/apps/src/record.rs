//! What an application saw.

use crate::socket::Stream;
use crate::speech::Account;
use alloc::boxed::Box;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};
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
    /// Requests and their answers, at the end that asks.
    pub requests: Vec<Request>,
    /// What only some applications see; none as long as they have not.
    details: Option<Box<Details>>,
}

/// What only some applications see.
#[derive(Debug, Clone, Default)]
pub(crate) struct Details {
    pub(crate) partials: Vec<Span>,
    pub(crate) pages: Vec<Span>,
    pub(crate) updates: Vec<Time>,
    pub(crate) speech: Account,
}

impl Record {
    /// Bytes that it holds.
    pub fn memory(&self) -> usize {
        let details = self.details.as_ref().map_or(0, |details| {
            let spans = details.partials.capacity() + details.pages.capacity();
            let updates = details.updates.capacity() * size_of::<Time>();
            size_of::<Details>() + spans * size_of::<Span>() + updates + details.speech.memory()
        });
        self.requests.capacity() * size_of::<Request>() + details
    }

    /// How long each partial answer took, from the last octet of what it answers, taken by the socket, to its own
    /// last octet; at the end that asks.
    pub fn partials(&self) -> &[Span] {
        self.details.as_ref().map_or(&[], |details| &details.partials)
    }

    /// How long each page took, from the request for its main object to the last octet of its last one; at the end
    /// that asks.
    pub fn pages(&self) -> &[Span] {
        self.details.as_ref().map_or(&[], |details| &details.pages)
    }

    /// When each update had come whole; at the end that wants to know.
    pub fn updates(&self) -> &[Time] {
        self.details.as_ref().map_or(&[], |details| &details.updates)
    }

    /// What an end of a speech session saw; none, or nothing in it, as long as it has not seen anything.
    pub fn speech(&self) -> Option<&Account> {
        self.details.as_ref().map(|details| &details.speech)
    }

    /// Where to note what only some applications see.
    pub(crate) fn details(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }

    /// Notes a request. The first takes memory for itself alone: there may be ten thousand who ask once.
    pub(crate) fn begin(&mut self, request: Request) {
        if self.requests.capacity() == 0 {
            self.requests.reserve_exact(1);
        }
        self.requests.push(request);
    }

    /// Reads all that has come, which `verifier` holds against what was sent; how many octets that is.
    pub(crate) fn read(&mut self, now: Time, socket: &mut impl Stream, verifier: &mut Verifier) -> u64 {
        let before = self.octets;
        loop {
            let data = socket.read(u32::MAX);
            if data.is_empty() {
                return self.octets - before;
            }
            self.first_at.get_or_insert(now);
            self.wrong_octets += verifier.take(&data);
            self.octets = verifier.octets();
        }
    }
}

/// A request and what answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When it began: when its first octets were given to the socket.
    pub sent_at: Time,
    /// When the socket had taken its last octet.
    pub last_sent_at: Option<Time>,
    /// When the first octet of an answer, partial or not, was read.
    pub first_at: Option<Time>,
    /// When the last octet of the answer was read.
    pub completed_at: Option<Time>,
    /// Partial answers that were whole when the socket had taken the last octet; none where there are none.
    pub partials_in_time: Option<u64>,
    /// Octets of answers that were read, partial ones too.
    pub octets: u64,
    /// The page that it belongs to, from 0; none where there are no pages.
    pub page: Option<u32>,
}

impl Request {
    /// A request that begins at `now`.
    pub(crate) const fn new(now: Time) -> Self {
        Self {
            sent_at: now,
            last_sent_at: None,
            first_at: None,
            completed_at: None,
            partials_in_time: None,
            octets: 0,
            page: None,
        }
    }

    /// How long the answer took after the request's last octet.
    pub fn response(&self) -> Option<Span> {
        Some(self.completed_at?.since(self.last_sent_at?))
    }
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

    /// Goes on behind the next octets, which are none of the pattern.
    pub const fn skip(&mut self, octets: u32) {
        self.next += octets as u64;
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
