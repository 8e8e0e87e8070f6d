//! Requests and answers in turn: FTP's and HTTP/1's way of talking, and a speaker's with a recogniser.
//!
//! The client sends a request in blocks at a constant interval, as a microphone gives them; the server answers each
//! block but the last with a partial answer, and the last with the answer. Then the client pauses and asks again. A
//! download is the case of one block. The server closes after the last answer, the client after reading to the end.
//!
//! Both ends know how long everything is and count octets: how the stream is cut on its way cannot deceive them.

use crate::apps::bulk::write_pattern;
use crate::entity::Entity;
use crate::machine::{Machine, StreamMachine};
use crate::record::{MESSAGES, Message, REQUESTS, Record, Request, Verifier};
use crate::settings::{FlowContext, Over, Settings, at_least_one, transfer};
use crate::socket::Stream;
use core::iter::repeat_n;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// `from` asks, `to` answers, as often as said, one after the other; then `to` closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Download {
    /// Bytes of each request.
    pub request_bytes: u64,
    /// Bytes of each response.
    pub response_bytes: u64,
    /// How many requests.
    pub requests: u32,
    /// Pause between the end of a response and the next request.
    pub pause_ns: u64,
}

impl Settings for Download {
    const TRANSPORTS: &'static [Over] = &[Over::Stream];
    const RECEIVER: usize = 0;
    const TABLES: &'static [&'static dyn Entity] = &[&REQUESTS];

    fn check(&self, check: &mut Check<'_>) {
        let &Self { request_bytes, response_bytes, requests, pause_ns } = self;
        check.at("pause_ns").span(pause_ns);
        transfer(&mut check.at("request_bytes"), request_bytes, requests.into());
        transfer(&mut check.at("response_bytes"), response_bytes, requests.into());
        at_least_one(
            check,
            [
                ("request_bytes", request_bytes),
                ("response_bytes", response_bytes),
                ("requests", requests.into()),
            ],
        );
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let &Self { request_bytes, response_bytes, requests, pause_ns } = self;
        Dialogue::download(request_bytes, response_bytes, requests, Span::from_nanos(pause_ns)).ends(flow)
    }

    fn sample(draw: &mut dyn Draw, _may_be_endless: bool) -> Self {
        Self {
            request_bytes: 1 + draw.below(3_000),
            response_bytes: 1 + draw.below(100_000),
            requests: 1 + draw.below(4) as u32,
            pause_ns: 3 * draw.span(),
        }
    }
}

/// `from` speaks in blocks at a constant interval, `to` answers each block but the last in part, and the last for good;
/// then `from` pauses and speaks again. At last `to` closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Voice {
    /// Blocks of each request.
    pub blocks: u32,
    /// Bytes of each block.
    pub block_bytes: u64,
    /// Time from one block to the next.
    pub interval_ns: u64,
    /// Bytes of each partial answer; zero for none.
    pub partial_bytes: u64,
    /// Bytes of the answer to the last block.
    pub answer_bytes: u64,
    /// Time from reading the last byte of a request to answering it.
    pub processing_ns: u64,
    /// How many requests.
    pub requests: u32,
    /// Pause between the end of an answer and the next request.
    pub pause_ns: u64,
}

impl Voice {
    /// Whether there are partial answers.
    pub const fn answers_in_part(&self) -> bool {
        self.blocks > 1 && self.partial_bytes > 0
    }
}

impl Settings for Voice {
    const TRANSPORTS: &'static [Over] = &[Over::Stream];
    const RECEIVER: usize = 0;
    const TABLES: &'static [&'static dyn Entity] = &[&REQUESTS, &MESSAGES];

    fn check(&self, check: &mut Check<'_>) {
        check.at("interval_ns").span(self.interval_ns);
        check.at("processing_ns").span(self.processing_ns);
        check.at("pause_ns").span(self.pause_ns);
        let (blocks, requests) = (u64::from(self.blocks), u64::from(self.requests));
        transfer(&mut check.at("block_bytes"), self.block_bytes, blocks * requests);
        transfer(&mut check.at("partial_bytes"), self.partial_bytes, blocks.saturating_sub(1) * requests);
        transfer(&mut check.at("answer_bytes"), self.answer_bytes, requests);
        at_least_one(
            check,
            [
                ("blocks", blocks),
                ("block_bytes", self.block_bytes),
                ("interval_ns", self.interval_ns),
                ("answer_bytes", self.answer_bytes),
                ("requests", requests),
            ],
        );
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let dialogue = Dialogue {
            blocks: self.blocks,
            block: self.block_bytes,
            interval: Span::from_nanos(self.interval_ns),
            partial: self.partial_bytes,
            answer: self.answer_bytes,
            processing: Span::from_nanos(self.processing_ns),
            requests: self.requests,
            pause: Span::from_nanos(self.pause_ns),
        };
        dialogue.ends(flow)
    }

    fn sample(draw: &mut dyn Draw, _may_be_endless: bool) -> Self {
        Self {
            blocks: 1 + draw.below(7) as u32,
            block_bytes: 1 + draw.below(4_000),
            interval_ns: 1_000_000 + draw.span(),
            partial_bytes: draw.below(500),
            answer_bytes: 1 + draw.below(3_000),
            processing_ns: 3 * draw.span(),
            requests: 1 + draw.below(3) as u32,
            pause_ns: 3 * draw.span(),
        }
    }
}

/// What both ends have to know.
#[derive(Debug, Clone, Copy)]
pub struct Dialogue {
    /// Blocks of each request; at least one.
    pub blocks: u32,
    /// Octets of each block; at least one, or the server would not notice it.
    pub block: u64,
    /// From one block to the next, counted from when they are due, not from when the socket took them.
    pub interval: Span,
    /// Octets of the answer to each block but the last; none is not to answer these.
    pub partial: u64,
    /// Octets of the answer to the last block; at least one.
    pub answer: u64,
    /// From reading the last octet of a request to answering it.
    pub processing: Span,
    /// How many requests; at least one.
    pub requests: u32,
    /// From the end of an answer to the next request.
    pub pause: Span,
}

impl Dialogue {
    /// Requests of `request` octets that are written at once and answered at once by `response` octets.
    pub const fn download(request: u64, response: u64, requests: u32, pause: Span) -> Self {
        Self {
            blocks: 1,
            block: request,
            interval: Span::ZERO,
            partial: 0,
            answer: response,
            processing: Span::ZERO,
            requests,
            pause,
        }
    }

    fn ends(self, flow: &FlowContext<'_>) -> [Machine; 2] {
        let [there, back] = flow.patterns();
        [Client::new(self, there, back).into(), Server::new(self, there, back).into()]
    }

    /// Partial answers to each request.
    const fn partials(&self) -> u64 {
        if self.partial == 0 { 0 } else { self.blocks as u64 - 1 }
    }

    /// Octets of all that answers one request.
    const fn answers(&self) -> u64 {
        self.partials() * self.partial + self.answer
    }

    /// Partial answers that are whole once so many octets of what answers a request were read.
    fn whole_partials(&self, octets: u64) -> u64 {
        octets.checked_div(self.partial).unwrap_or_default().min(self.partials())
    }
}

/// The end that asks.
#[derive(Debug)]
pub struct Client {
    dialogue: Dialogue,
    stream: u32,
    /// Blocks that were due so far, of all requests; the socket may not have taken them yet.
    due: u64,
    written: u64,
    /// When the next block is due; none before the connection stands, while an answer is awaited, and in the end.
    next_at: Option<Time>,
    /// Partial answers that are whole.
    answered: usize,
    /// The speaker has gone.
    is_leaving: bool,
    verifier: Verifier,
    record: Record,
}

impl Client {
    /// Asks with pattern `stream` and expects pattern `answer`.
    pub fn new(dialogue: Dialogue, stream: u32, answer: u32) -> Self {
        Self {
            dialogue,
            stream,
            due: 0,
            written: 0,
            next_at: None,
            answered: 0,
            is_leaving: false,
            verifier: Verifier::new(answer),
            record: Record::default(),
        }
    }

    fn read(&mut self, now: Time, socket: &mut impl Stream) {
        let read = self.record.read(now, socket, &mut self.verifier);
        // The server answers one request after the other, so all that comes belongs to the last.
        let Some(request) = self.record.requests.last_mut().filter(|_| read > 0) else { return };
        request.first_at.get_or_insert(now);
        let before = self.dialogue.whole_partials(request.octets);
        request.octets += read;
        let whole = self.dialogue.whole_partials(request.octets) - before;
        if request.octets == self.dialogue.answers() {
            request.completed_at = Some(now);
            if self.record.requests.len() as u32 == self.dialogue.requests {
                self.record.completed_at = Some(now);
            } else {
                self.next_at = Some(now + self.dialogue.pause);
            }
        }
        if whole > 0 {
            let awaited = &mut self.record.details().messages[self.answered..];
            let answered = awaited.iter_mut().take(whole as usize);
            self.answered += answered.len();
            answered.for_each(|partial| partial.received_at = Some(now));
        }
    }

    /// Notes which blocks are due.
    fn speak(&mut self, now: Time) {
        while let Some(at) = self.next_at.filter(|&at| at <= now) {
            let blocks = u64::from(self.dialogue.blocks);
            if self.due.is_multiple_of(blocks) {
                self.record.begin(Request::new(now));
            }
            self.due += 1;
            let last = self.due.is_multiple_of(blocks);
            self.next_at = (!last).then(|| at + self.dialogue.interval);
        }
    }

    fn write(&mut self, now: Time, socket: &mut impl Stream) {
        let Dialogue { blocks, block, .. } = self.dialogue;
        let before = self.written / block;
        write_pattern(socket, self.stream, &mut self.written, Some(self.due * block));
        let Some(request) = self.record.requests.last_mut() else { return };
        let mut awaited = 0;
        for taken in before + 1..=self.written / block {
            if taken.is_multiple_of(blocks.into()) {
                request.last_sent_at = Some(now);
                let whole = self.dialogue.whole_partials(request.octets);
                request.partials_in_time = (self.dialogue.partials() > 0).then_some(whole);
            } else if self.dialogue.partials() > 0 {
                awaited += 1;
            }
        }
        if awaited > 0 {
            let partial = Message { ready_at: now, received_at: None, octets: self.dialogue.partial };
            self.record.details().messages.extend(repeat_n(partial, awaited));
        }
    }
}

impl StreamMachine for Client {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        if !socket.is_connected() || self.record.finished {
            return;
        }
        self.read(now, socket);
        if self.is_leaving {
            self.next_at = None;
            socket.close();
        } else {
            if self.record.requests.is_empty() {
                self.next_at = Some(now);
            }
            self.speak(now);
            self.write(now, socket);
        }
        if socket.is_at_end() {
            self.record.finished = true;
            self.next_at = None;
            socket.close();
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

/// The end that answers.
#[derive(Debug)]
pub struct Server {
    dialogue: Dialogue,
    verifier: Verifier,
    stream: u32,
    written: u64,
    /// Requests whose answer is due; the socket may not have taken it yet.
    answered: u64,
    /// When the answer to a request that was read is due.
    answer_at: Option<Time>,
    record: Record,
}

impl Server {
    /// Expects pattern `stream` and answers with pattern `answer`.
    pub fn new(dialogue: Dialogue, stream: u32, answer: u32) -> Self {
        Self {
            dialogue,
            verifier: Verifier::new(stream),
            stream: answer,
            written: 0,
            answered: 0,
            answer_at: None,
            record: Record::default(),
        }
    }

    /// Octets that are due so far, of all answers.
    fn due(&mut self, now: Time) -> u64 {
        let Dialogue { blocks, block, partial, answer, processing, requests, .. } = self.dialogue;
        let (per_request, requests) = (u64::from(blocks), u64::from(requests));
        let heard = (self.record.octets / block).min(per_request * requests);
        let asked = heard / per_request;
        while self.answered < asked {
            let at = *self.answer_at.get_or_insert(now + processing);
            if at > now {
                break;
            }
            self.answer_at = None;
            self.answered += 1;
        }
        (heard - asked) * partial + self.answered * answer
    }
}

impl StreamMachine for Server {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        self.record.read(now, socket, &mut self.verifier);
        if self.record.finished {
            return;
        }
        let due = self.due(now);
        write_pattern(socket, self.stream, &mut self.written, Some(due));
        let all_answered = self.answered == u64::from(self.dialogue.requests) && self.written == due;
        if all_answered || socket.is_at_end() {
            self.record.finished = true;
            self.record.completed_at = all_answered.then_some(now);
            self.answer_at = None;
            socket.close();
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.answer_at
    }

    fn record(&self) -> &Record {
        &self.record
    }
}
