//! Updates that a server has for a client, by the ways of HTTP/1.1 to tell them (RFC 6202).
//!
//! | way | the server answers | the client asks |
//! | --- | --- | --- |
//! | streaming | one request, and then tells each update as it is ready | once |
//! | long polling | a request once there is an update, with all that there are | again as soon as it has an answer |
//! | polling | a request at once, with all that there are, or none | at multiples of a time, one request after the other |
//!
//! Sizes are known to both ends, but not how many updates an answer has. As a `Content-Length` does, its first octets
//! ([`LENGTH`]) say how long its updates are together; that is real content, and the rest is a pattern.

use crate::apps::bulk::write_pattern;
use crate::entity::Entity;
use crate::machine::{Machine, StreamMachine};
use crate::record::{MESSAGES, Message, Record, Verifier};
use crate::settings::{FlowContext, Over, Settings};
use crate::socket::Stream;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// Octets that say how long an answer's body is; the least that comes before an update.
pub const LENGTH: u64 = 4;
/// When each of them came is kept.
const MOST_UPDATES: usize = 1_000_000;
/// An answer is held in memory, and may have all of them.
const MOST_BYTES: u64 = 1 << 26;

/// How updates reach the client that wants to know them (RFC 6202).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PushWay {
    /// The answer to one request never ends (RFC 6202 section 3).
    Streaming {
        /// Bytes around each update; at least [`LENGTH`].
        event_bytes: u64,
    },
    /// The answer to each request is held back until there is an update (RFC 6202 section 2).
    LongPolling,
    /// Requests are made at multiples of a time, and answered at once.
    Polling {
        /// From one request to the next, counted from the first; above zero.
        every_ns: u64,
    },
}

/// `to` has updates for `from` and tells them by one of HTTP's ways; then `to` closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Push {
    /// How they are told.
    pub way: PushWay,
    /// Bytes of each request.
    pub request_bytes: u64,
    /// Bytes of the head of each answer; at least [`LENGTH`].
    pub head_bytes: u64,
    /// When each update is ready, from the flow's start, and its bytes.
    pub updates: Vec<(u64, u32)>,
}

impl Settings for Push {
    const TRANSPORTS: &'static [Over] = &[Over::Stream];
    const RECEIVER: usize = 0;
    const TABLES: &'static [&'static dyn Entity] = &[&MESSAGES];

    fn check(&self, check: &mut Check<'_>) {
        let request_fits = (1..=MOST_BYTES).contains(&self.request_bytes);
        check.at("request_bytes").need(request_fits, "a request has 1 byte to 64 MiB");
        let around = |mut check: Check<'_>, bytes| {
            let message = format_args!("has {LENGTH} bytes, which tell a length, to 64 MiB");
            check.need((LENGTH..=MOST_BYTES).contains(&bytes), message);
        };
        around(check.at("head_bytes"), self.head_bytes);
        match self.way {
            PushWay::Streaming { event_bytes } => around(check.at("way").at("event_bytes"), event_bytes),
            PushWay::LongPolling => {}
            PushWay::Polling { every_ns } => {
                check.at("way").at("every_ns").span(every_ns);
                check.at("way").at("every_ns").need(every_ns > 0, "is above zero");
            }
        }
        let updates = &self.updates;
        let message = format_args!("has 1 to {MOST_UPDATES} updates");
        check.at("updates").need((1..=MOST_UPDATES).contains(&updates.len()), message);
        check.at("updates").need(updates.iter().all(|&(_, bytes)| bytes > 0), "each has a byte at least");
        let together = updates.iter().map(|&(_, bytes)| u64::from(bytes)).sum::<u64>();
        check.at("updates").need(together <= MOST_BYTES, "have 64 MiB together at most");
        for (i, pair) in updates.windows(2).enumerate() {
            let is_later = pair[0].0 <= pair[1].0;
            check.at("updates").at(i + 1).need(is_later, "comes before the one before it");
        }
        if let Some(&(at, _)) = updates.last() {
            check.at("updates").span(at);
        }
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let (push, [there, back]) = (Arc::new(self.clone()), flow.patterns());
        let client = Client::new(Arc::clone(&push), flow.start, there, back);
        [Box::new(client).into(), Box::new(Server::new(push, flow.start, there, back)).into()]
    }

    fn sample(draw: &mut dyn Draw, _may_be_endless: bool) -> Self {
        let way = match draw.below(3) {
            0 => PushWay::Streaming { event_bytes: LENGTH + draw.below(96) },
            1 => PushWay::LongPolling,
            _ => PushWay::Polling { every_ns: 1_000_000 + 3 * draw.span() },
        };
        let mut updates = Vec::new();
        let mut at = 0;
        for _ in 0..=draw.below(10) {
            at += draw.span();
            updates.push((at, 1 + draw.below(5_000) as u32));
        }
        Self { way, request_bytes: 1 + draw.below(3_000), head_bytes: LENGTH + draw.below(3_000), updates }
    }
}

impl Push {
    /// Octets before the updates of an answer; streamed events are answers of their own after the first.
    const fn head_of(&self, answer: u64) -> u64 {
        match self.way {
            PushWay::Streaming { event_bytes } if answer > 0 => event_bytes,
            _ => self.head_bytes,
        }
    }

    /// Updates that the next answer has, if it may be given now.
    ///
    /// Arguments: the time since the flow's start, answers that were given, updates that were told in them, requests that were read.
    fn answer(&self, since: Span, answers: u64, told: usize, asked: u64) -> Option<usize> {
        let since = since.as_nanos();
        let mut ready = self.updates[told..].iter().take_while(|(at, _)| *at <= since);
        match self.way {
            PushWay::Streaming { .. } if answers == 0 => (asked > 0).then_some(0),
            PushWay::Streaming { .. } => ready.next().map(|_| 1),
            _ if asked <= answers => None,
            PushWay::LongPolling => Some(ready.count()).filter(|&ready| ready > 0),
            PushWay::Polling { .. } => Some(ready.count()),
        }
    }
}

/// The end that wants to know.
#[derive(Debug)]
pub struct Client {
    push: Arc<Push>,
    stream: u32,
    /// Requests that were begun.
    asked: u64,
    written: u64,
    /// When the first and the last of them were; polls are counted from the first.
    began_at: Option<Time>,
    asked_at: Time,
    /// When the next one is due.
    next_at: Option<Time>,
    /// Answers that were read whole.
    answers: u64,
    /// What was read of the next one: the octets that say its length, and how many more.
    length: Vec<u8>,
    taken: u64,
    /// Octets of updates that were read, and up to the end of the last one that is whole.
    told: u64,
    whole: u64,
    /// Updates that were read whole.
    received: usize,
    /// The user has gone.
    is_leaving: bool,
    verifier: Verifier,
    record: Record,
}

impl Client {
    /// Asks by pattern `stream` and expects pattern `answer`; updates are ready as counted from `start`.
    pub fn new(push: Arc<Push>, start: Time, stream: u32, answer: u32) -> Self {
        let mut record = Record::default();
        record.details().messages = push
            .updates
            .iter()
            .map(|&(after_ns, bytes)| Message {
                ready_at: start + Span::from_nanos(after_ns),
                received_at: None,
                octets: bytes.into(),
            })
            .collect();
        Self {
            push,
            stream,
            asked: 0,
            written: 0,
            began_at: None,
            asked_at: Time::ZERO,
            next_at: None,
            answers: 0,
            length: Vec::new(),
            taken: 0,
            told: 0,
            whole: 0,
            received: 0,
            is_leaving: false,
            verifier: Verifier::new(answer),
            record,
        }
    }

    fn read(&mut self, now: Time, socket: &mut impl Stream) {
        loop {
            let missing = LENGTH - self.length.len() as u64;
            let wanted = if missing > 0 { missing } else { self.rest() - self.taken };
            let data = socket.read(u32::try_from(wanted).unwrap_or(u32::MAX));
            if data.is_empty() {
                return;
            }
            self.record.first_at.get_or_insert(now);
            self.record.octets += u64::from(data.len());
            if missing > 0 {
                data.write_to(&mut self.length);
                self.verifier.skip(data.len());
            } else {
                self.take(now, &data);
            }
            if self.length.len() as u64 == LENGTH && self.taken == self.rest() {
                self.is_answered(now);
            }
        }
    }

    /// Octets between those that say an answer's length and its updates.
    fn padding(&self) -> u64 {
        self.push.head_of(self.answers) - LENGTH
    }

    /// Octets of the answer that is read, behind those that say its length.
    fn rest(&self) -> u64 {
        let body = self.length.iter().fold(0, |length, &octet| length << 8 | u64::from(octet));
        self.padding() + body
    }

    /// Takes the next octets of an answer, and notes which updates they complete.
    fn take(&mut self, now: Time, data: &Payload) {
        let updates_before = self.taken.saturating_sub(self.padding());
        self.taken += u64::from(data.len());
        self.record.wrong_octets += self.verifier.take(data);
        self.told += self.taken.saturating_sub(self.padding()) - updates_before;
        for update in &mut self.record.details().messages[self.received..] {
            let end = self.whole + update.octets;
            if end > self.told {
                break;
            }
            self.whole = end;
            self.received += 1;
            update.received_at = Some(now);
        }
    }

    /// An answer is whole.
    fn is_answered(&mut self, now: Time) {
        self.length.clear();
        self.taken = 0;
        self.answers += 1;
        if self.received == self.push.updates.len() {
            self.record.completed_at = Some(now);
            return;
        }
        self.next_at = match self.push.way {
            PushWay::Streaming { .. } => None,
            PushWay::LongPolling => Some(now),
            PushWay::Polling { every_ns } => self.next_poll(now, Span::from_nanos(every_ns)),
        };
    }

    /// When to poll again: multiples of the time that pass while an answer is awaited are left out.
    fn next_poll(&self, now: Time, every: Span) -> Option<Time> {
        let began_at = self.began_at?;
        let (now, last) = (now.since(began_at).as_nanos(), self.asked_at.since(began_at).as_nanos());
        let polls = now.div_ceil(every.as_nanos()).max(last / every.as_nanos() + 1);
        Some(began_at + Span::from_nanos(polls.saturating_mul(every.as_nanos())))
    }
}

impl StreamMachine for Client {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        if !socket.is_connected() || self.record.finished {
            return;
        }
        if self.began_at.is_none() {
            self.began_at = Some(now);
            self.next_at = Some(now);
        }
        self.read(now, socket);
        if !self.is_leaving {
            if self.next_at.take_if(|at| *at <= now).is_some() {
                self.asked += 1;
                self.asked_at = now;
            }
            write_pattern(socket, self.stream, &mut self.written, Some(self.asked * self.push.request_bytes));
        }
        if self.is_leaving || self.record.completed_at.is_some() || socket.is_at_end() {
            self.next_at = None;
            socket.close();
            self.record.finished = socket.is_at_end();
        }
    }

    fn stop(&mut self) {
        self.is_leaving = true;
        self.next_at = None;
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_at
    }

    fn record(&self) -> &Record {
        &self.record
    }
}

/// The end that knows.
#[derive(Debug)]
pub struct Server {
    push: Arc<Push>,
    /// When the flow started.
    start: Time,
    stream: u32,
    /// Octets that were given to `outgoing`, where the pattern goes on.
    offset: u64,
    /// What the socket has not taken yet of the last answer; the next one is made once there is none, so that one at most is held.
    outgoing: Option<Payload>,
    /// Answers that were given, and updates in them.
    answers: u64,
    told: usize,
    verifier: Verifier,
    record: Record,
}

impl Server {
    /// Expects pattern `stream` and answers by pattern `answer`; updates are counted from `start`.
    pub fn new(push: Arc<Push>, start: Time, stream: u32, answer: u32) -> Self {
        Self {
            push,
            start,
            stream: answer,
            offset: 0,
            outgoing: None,
            answers: 0,
            told: 0,
            verifier: Verifier::new(stream),
            record: Record::default(),
        }
    }

    /// Requests that have come whole.
    fn asked(&self) -> u64 {
        self.record.octets / self.push.request_bytes
    }

    fn has_told_all(&self) -> bool {
        self.answers > 0 && self.told == self.push.updates.len()
    }

    /// Gives an answer with the next so many updates.
    fn answer(&mut self, updates: usize) {
        let told = self.told + updates;
        // Both bounded by the plan's check.
        let body: u32 = self.push.updates[self.told..told].iter().map(|(_, octets)| octets).sum();
        let rest = self.push.head_of(self.answers) - LENGTH + u64::from(body);
        // In one piece, as programs write an answer: the kernel would send two in two segments.
        self.outgoing = Some(Payload::rope([
            Payload::bytes(body.to_be_bytes().to_vec().into()),
            Payload::pattern(self.stream, self.offset + LENGTH, rest as u32),
        ]));
        self.offset += LENGTH + rest;
        self.answers += 1;
        self.told = told;
    }

    fn write(&mut self, socket: &mut impl Stream) {
        if let Some(answer) = self.outgoing.take() {
            let taken = socket.write(&answer);
            let left = answer.len() - taken;
            self.outgoing = (left > 0).then(|| answer.slice(taken, left));
        }
    }
}

impl StreamMachine for Server {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        self.record.read(now, socket, &mut self.verifier);
        if self.record.finished {
            return;
        }
        self.write(socket);
        while self.outgoing.is_none()
            && !self.has_told_all()
            && let Some(updates) =
                self.push.answer(now.since(self.start), self.answers, self.told, self.asked())
        {
            self.answer(updates);
            self.write(socket);
        }
        let has_said_all = self.has_told_all() && self.outgoing.is_none();
        if has_said_all || socket.is_at_end() {
            self.record.finished = true;
            self.record.completed_at = has_said_all.then_some(now);
            socket.close();
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        // Who waits for room in the socket is woken by it.
        if self.record.finished || self.outgoing.is_some() {
            return None;
        }
        let (next, _) = *self.push.updates.get(self.told)?;
        let is_held_back = match self.push.way {
            PushWay::Streaming { .. } => self.answers > 0,
            PushWay::LongPolling => self.asked() > self.answers,
            PushWay::Polling { .. } => false,
        };
        is_held_back.then_some(self.start + Span::from_nanos(next))
    }

    fn record(&self) -> &Record {
        &self.record
    }
}
