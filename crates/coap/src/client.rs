//! A client of one server: one exchange at a time (NSTART of RFC 7252 section 4.7).

use crate::block::Block;
use crate::message::{Code, Kind, Message};
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// What a client does.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// Whether requests are confirmable.
    pub confirmable: bool,
    /// Where bodies are put: segments of Uri-Path.
    pub path: Vec<String>,
    /// Octets of a block; larger bodies are sent block by block.
    pub block: Block,
    /// ACK_TIMEOUT; also how long a response is waited for that nothing acknowledges.
    pub ack_timeout: Span,
    /// MAX_RETRANSMIT.
    pub max_retransmit: u8,
    /// The first message identifier; tokens are counted from there, too.
    pub first_id: u16,
}

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server has the body.
    Done,
    /// Nothing was heard.
    TimedOut,
    /// The server refused it.
    Refused(Code),
}

/// An exchange that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// As it was handed over.
    pub key: u32,
    /// How.
    pub outcome: Outcome,
}

/// What was sent and came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams sent, retransmissions too.
    pub sent: u64,
    /// Datagrams that came, whatever they were.
    pub received: u64,
    /// Octets of those sent.
    pub octets_sent: u64,
    /// Octets of those that came.
    pub octets_received: u64,
    /// Requests sent again.
    pub retransmissions: u64,
}

#[derive(Debug)]
struct Exchange {
    key: u32,
    body: Payload,
    block: Block,
    /// The request, to be sent again.
    request: Payload,
    id: u16,
    token: Vec<u8>,
    /// When it is sent again, or given up.
    due: Time,
    timeout: Span,
    retransmitted: u8,
    /// The server has it, and answers later.
    is_acknowledged: bool,
}

/// A client.
#[derive(Debug)]
pub struct Client {
    settings: ClientSettings,
    next_id: u16,
    waiting: VecDeque<(u32, Payload)>,
    current: Option<Exchange>,
    outgoing: VecDeque<Payload>,
    ended: VecDeque<Ended>,
    counts: Counts,
}

impl Client {
    /// Has not sent anything yet.
    pub fn new(settings: ClientSettings) -> Self {
        let next_id = settings.first_id;
        let (waiting, outgoing, ended) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Self { settings, next_id, waiting, current: None, outgoing, ended, counts: Counts::default() }
    }

    /// Hands over a body; it is sent when those before it are done. `below` draws a span below a limit.
    pub fn submit(&mut self, now: Time, key: u32, body: Payload, below: &mut impl FnMut(Span) -> Span) {
        self.waiting.push_back((key, body));
        // Nothing more is sent of a non-confirmable request: what comes next need not wait for its response.
        if self.current.as_ref().is_some_and(|it| !self.settings.confirmable && !it.block.more) {
            self.end(Outcome::TimedOut);
        }
        self.begin(now, below);
    }

    /// Takes in a datagram of the server.
    pub fn receive(&mut self, now: Time, datagram: &Payload, below: &mut impl FnMut(Span) -> Span) {
        self.counts.received += 1;
        self.counts.octets_received += u64::from(datagram.len());
        let Some(message) = Message::parse(datagram) else { return };
        let acknowledges = matches!(message.kind, Kind::Acknowledgement | Kind::Reset);
        let Some(current) = &mut self.current else {
            // A response whose request was given up: it is late, and known.
            if message.kind == Kind::Confirmable {
                self.answer(Kind::Reset, message.id);
            }
            return;
        };
        if acknowledges && message.id != current.id {
            return;
        }
        if message.code == Code::EMPTY {
            match message.kind {
                Kind::Acknowledgement => current.is_acknowledged = true,
                Kind::Reset => self.end(Outcome::Refused(Code::EMPTY)),
                Kind::Confirmable => self.answer(Kind::Reset, message.id),
                Kind::NonConfirmable => {}
            }
            return self.begin(now, below);
        }
        if message.token != current.token || message.code.is_request() {
            if message.kind == Kind::Confirmable {
                self.answer(Kind::Reset, message.id);
            }
            return;
        }
        if message.kind == Kind::Confirmable {
            self.answer(Kind::Acknowledgement, message.id);
        }
        self.respond(now, &message, below);
        self.begin(now, below);
    }

    fn respond(&mut self, now: Time, message: &Message, below: &mut impl FnMut(Span) -> Span) {
        let Some(current) = &mut self.current else { return };
        let more = current.block.more;
        match message.code {
            Code::CONTINUE if more => {
                // A server that wants smaller blocks says so; the number counts in the new size (section 2.3).
                let had = current.block;
                let exponent = message.block.map_or(had.exponent, |block| block.exponent.min(had.exponent));
                let smaller = Block { exponent, ..had };
                let next = (had.offset() + u64::from(had.size())) / u64::from(smaller.size());
                current.block = Block { number: next as u32, ..smaller };
                self.send(now, below);
            }
            // A server that takes one block for the whole body has not understood Block1.
            code if code.class() == 2 && !more => self.end(Outcome::Done),
            code => self.end(Outcome::Refused(code)),
        }
    }

    /// Does what is due at `now`.
    pub fn advance(&mut self, now: Time, below: &mut impl FnMut(Span) -> Span) {
        let Some(current) = self.current.as_mut().filter(|current| current.due <= now) else { return };
        let again = self.settings.confirmable
            && !current.is_acknowledged
            && current.retransmitted < self.settings.max_retransmit;
        if again {
            current.retransmitted += 1;
            current.timeout = current.timeout * 2;
            current.due = now + current.timeout;
            self.counts.retransmissions += 1;
            let request = current.request.clone();
            self.put_out(request);
        } else {
            self.end(Outcome::TimedOut);
            self.begin(now, below);
        }
    }

    /// When to call [`Client::advance`].
    pub fn poll_timeout(&self) -> Option<Time> {
        self.current.as_ref().map(|current| current.due)
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Payload> {
        self.outgoing.pop_front()
    }

    /// The next exchange that has ended.
    pub fn poll_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    /// Whether something is under way, or waits.
    pub fn is_busy(&self) -> bool {
        self.current.is_some() || !self.waiting.is_empty()
    }

    /// What was sent and came.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    fn begin(&mut self, now: Time, below: &mut impl FnMut(Span) -> Span) {
        if self.current.is_some() {
            return;
        }
        let Some((key, body)) = self.waiting.pop_front() else { return };
        self.current = Some(Exchange {
            key,
            body,
            block: Block { number: 0, ..self.settings.block },
            request: Payload::Empty,
            id: 0,
            token: Vec::new(),
            due: now,
            timeout: Span::ZERO,
            retransmitted: 0,
            is_acknowledged: false,
        });
        self.send(now, below);
    }

    /// Sends the block that is next.
    fn send(&mut self, now: Time, below: &mut impl FnMut(Span) -> Span) {
        let Self { settings, current: Some(current), next_id, .. } = self else { return };
        let id = *next_id;
        *next_id = next_id.wrapping_add(1);
        let kind = if settings.confirmable { Kind::Confirmable } else { Kind::NonConfirmable };
        let mut request = Message::new(kind, Code::PUT, id, id.to_be_bytes().to_vec());
        request.path.clone_from(&settings.path);
        let (offset, size) = (current.block.offset() as u32, current.block.size());
        let left = current.body.len().saturating_sub(offset);
        current.block.more = left > size;
        let is_whole = offset == 0 && !current.block.more;
        request.block = (!is_whole).then_some(current.block);
        request.payload = current.body.slice(offset, left.min(size));
        // ACK_RANDOM_FACTOR is 1.5 (section 4.2).
        let half = Span::from_nanos(settings.ack_timeout.as_nanos() / 2);
        let timeout =
            if settings.confirmable { settings.ack_timeout + below(half) } else { settings.ack_timeout };
        (current.id, current.token) = (id, request.token.clone());
        (current.timeout, current.due) = (timeout, now + timeout);
        (current.retransmitted, current.is_acknowledged) = (0, false);
        current.request = request.emit();
        let datagram = current.request.clone();
        self.put_out(datagram);
    }

    fn answer(&mut self, kind: Kind, id: u16) {
        self.put_out(Message::new(kind, Code::EMPTY, id, Vec::new()).emit());
    }

    fn put_out(&mut self, datagram: Payload) {
        self.counts.sent += 1;
        self.counts.octets_sent += u64::from(datagram.len());
        self.outgoing.push_back(datagram);
    }

    fn end(&mut self, outcome: Outcome) {
        if let Some(Exchange { key, .. }) = self.current.take() {
            self.ended.push_back(Ended { key, outcome });
        }
    }
}
