//! What an application saw.

use crate::entity::EntityOf;
use crate::socket::Stream;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_units::Time;
use voxpath_wire::Payload;

/// An application's own account of what it received.
#[derive(Debug, Default)]
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
#[derive(Debug, Default)]
pub(crate) struct Details {
    pub(crate) messages: Vec<Message>,
    pub(crate) pages: Vec<Page>,
    /// What one kind of application alone sees.
    own: Option<Box<dyn Account>>,
}

/// What one kind of application alone sees, and no other file has to know.
pub trait Account: Any + fmt::Debug + Send + Sync {
    /// Bytes that it holds beside itself.
    fn memory(&self) -> usize {
        0
    }
}

impl Record {
    /// Bytes that it holds.
    pub fn memory(&self) -> usize {
        let details = self.details.as_ref().map_or(0, |details| {
            let messages = details.messages.capacity() * size_of::<Message>();
            let pages = details.pages.capacity() * size_of::<Page>();
            let own = details.own.as_ref().map_or(0, |own| size_of_val(&**own) + own.memory());
            size_of::<Details>() + messages + pages + own
        });
        self.requests.capacity() * size_of::<Request>() + details
    }

    /// Messages that the other end had for this one.
    pub fn messages(&self) -> &[Message] {
        self.details.as_ref().map_or(&[], |details| &details.messages)
    }

    /// Pages loaded whole; at the end that asks.
    pub fn pages(&self) -> &[Page] {
        self.details.as_ref().map_or(&[], |details| &details.pages)
    }

    /// What this kind of application alone saw; none as long as it has not seen anything.
    pub fn account<T: Account>(&self) -> Option<&T> {
        let own: &dyn Any = &**self.details.as_ref()?.own.as_ref()?;
        own.downcast_ref()
    }

    /// Where to note it.
    pub(crate) fn account_mut<T: Account + Default>(&mut self) -> &mut T {
        let own: &mut dyn Any = &mut **self.details().own.get_or_insert_with(|| Box::new(T::default()));
        own.downcast_mut().expect("an application has one account")
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
}

/// The table of requests.
pub(crate) static REQUESTS: EntityOf<(u32, u64, Request)> = EntityOf {
    is_of: |told| told.saw::<Record>(),
    table: TableOf {
        name: "requests",
        about: "One row per request of a flow, as the client's application sees it.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.0)),
            (
                "request",
                Meaning::count("client application", "Number of the request in its flow, from 0."),
                Of::U64(|row| row.1),
            ),
            (
                "page",
                Meaning::count(
                    "client application",
                    "Number of the page that the request is for an object of, from 0; its first request is for the main object.",
                ),
                Of::OptU64(|row| row.2.page.map(u64::from)),
            ),
            (
                "sent_ns",
                Meaning::time(
                    "client application",
                    "When the request, or its first block, is written to the socket.",
                ),
                Of::U64(|row| row.2.sent_at.as_nanos()),
            ),
            (
                "last_byte_sent_ns",
                Meaning::time(
                    "client application",
                    "When the socket has taken the last byte of the request; what it cannot take at once waits in the application.",
                ),
                Of::OptU64(|row| row.2.last_sent_at.map(Time::as_nanos)),
            ),
            (
                "first_byte_ns",
                Meaning::time(
                    "client application",
                    "When the first byte of an answer, partial or not, is delivered.",
                ),
                Of::OptU64(|row| row.2.first_at.map(Time::as_nanos)),
            ),
            (
                "completed_ns",
                Meaning::time("client application", "When the last byte of the answer is delivered."),
                Of::OptU64(|row| row.2.completed_at.map(Time::as_nanos)),
            ),
            (
                "partials_in_time",
                Meaning::count(
                    "client application",
                    "Partial answers delivered whole by last_byte_sent_ns; no value where there are none to come.",
                ),
                Of::OptU64(|row| row.2.partials_in_time),
            ),
            (
                "bytes_delivered",
                Meaning::bytes("client application", "Bytes of the answer delivered, partial ones too."),
                Of::U64(|row| row.2.octets),
            ),
        ],
    },
    rows: |told, rows| {
        let requests = told.seen::<Record>().into_iter().flat_map(|[asks, _]| &asks.requests);
        rows.extend((0..).zip(requests).map(|(number, request)| (told.flow, number, *request)));
    },
};

/// What one end has for the other without being asked for just that: an update, a partial answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// When the other end had it; of a partial answer when the socket had taken what it answers.
    pub ready_at: Time,
    /// When its last octet was read.
    pub received_at: Option<Time>,
    /// Its octets, without what the way of telling it adds.
    pub octets: u64,
}

/// The table of messages.
pub(crate) static MESSAGES: EntityOf<(u32, u64, Message)> = EntityOf {
    is_of: |told| told.saw::<Record>(),
    table: TableOf {
        name: "messages",
        about: "One row per message that a server has for a client: an update (`push`), or a partial answer (`voice`).",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.0)),
            (
                "message",
                Meaning::count("scenario", "Number of the message in its flow, from 0."),
                Of::U64(|row| row.1),
            ),
            (
                "bytes",
                Meaning::bytes("scenario", "Its length, without what the way of telling adds."),
                Of::U64(|row| row.2.octets),
            ),
            (
                "ready_ns",
                Meaning::time(
                    "scenario",
                    "When the server has it; of a partial answer, when the client's socket has taken the last byte of the block that it answers.",
                ),
                Of::U64(|row| row.2.ready_at.as_nanos()),
            ),
            (
                "received_ns",
                Meaning::time("client application", "When it is read whole."),
                Of::OptU64(|row| row.2.received_at.map(Time::as_nanos)),
            ),
        ],
    },
    rows: |told, rows| {
        let messages = told.seen::<Record>().into_iter().flat_map(|[client, _]| client.messages());
        rows.extend((0..).zip(messages).map(|(number, message)| (told.flow, number, *message)));
    },
};

/// A page that was loaded whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// When its main object was asked for.
    pub sent_at: Time,
    /// When the last octet of its last object was read.
    pub completed_at: Time,
}

/// The table of pages.
pub(crate) static PAGES: EntityOf<(u32, u64, Page)> = EntityOf {
    is_of: |told| told.saw::<Record>(),
    table: TableOf {
        name: "pages",
        about: "One row per page that was loaded whole (`web`).",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.0)),
            (
                "page",
                Meaning::count("client application", "Number of the page in its flow, from 0."),
                Of::U64(|row| row.1),
            ),
            (
                "sent_ns",
                Meaning::time(
                    "client application",
                    "When the request for its main object is written to the socket.",
                ),
                Of::U64(|row| row.2.sent_at.as_nanos()),
            ),
            (
                "completed_ns",
                Meaning::time("client application", "When the last byte of its last object is delivered."),
                Of::U64(|row| row.2.completed_at.as_nanos()),
            ),
        ],
    },
    rows: |told, rows| {
        let pages = told.seen::<Record>().into_iter().flat_map(|[client, _]| client.pages());
        rows.extend((0..).zip(pages).map(|(number, page)| (told.flow, number, *page)));
    },
};

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
