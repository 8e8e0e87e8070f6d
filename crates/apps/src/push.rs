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

use crate::bulk::write_pattern;
use crate::record::{Record, Verifier};
use crate::socket::Stream;
use alloc::sync::Arc;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// Octets that say how long an answer's body is; the least that comes before an update.
pub const LENGTH: u64 = 4;

/// How updates reach the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The answer to one request never ends (RFC 6202 section 3).
    Streaming {
        /// Octets around each update; at least [`LENGTH`].
        event: u64,
    },
    /// An answer is held back until there is an update (RFC 6202 section 2).
    LongPolling,
    /// Answers are never held back.
    Polling {
        /// From one request to the next, counted from the first; above zero.
        every: Span,
    },
}

/// What both ends have to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// How updates are told.
    pub way: Way,
    /// Octets of each request; at least one.
    pub request: u64,
    /// Octets of the head of each answer; at least [`LENGTH`].
    pub head: u64,
    /// When each update is ready, ascending, and its octets, at least one.
    pub updates: Vec<(Time, u32)>,
}

impl Push {
    /// Octets before the updates of an answer; streamed events are answers of their own after the first.
    const fn head_of(&self, answer: u64) -> u64 {
        match self.way {
            Way::Streaming { event } if answer > 0 => event,
            _ => self.head,
        }
    }

    /// Updates that the next answer has, if it may be given now.
    ///
    /// Arguments: answers that were given, updates that were told in them, requests that were read.
    fn answer(&self, now: Time, answers: u64, told: usize, asked: u64) -> Option<usize> {
        let mut ready = self.updates[told..].iter().take_while(|(at, _)| *at <= now);
        match self.way {
            Way::Streaming { .. } if answers == 0 => (asked > 0).then_some(0),
            Way::Streaming { .. } => ready.next().map(|_| 1),
            _ if asked <= answers => None,
            Way::LongPolling => Some(ready.count()).filter(|&ready| ready > 0),
            Way::Polling { .. } => Some(ready.count()),
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
    /// The user has gone.
    is_leaving: bool,
    verifier: Verifier,
    record: Record,
}

impl Client {
    /// Asks by pattern `stream` and expects pattern `answer`.
    pub fn new(push: Arc<Push>, stream: u32, answer: u32) -> Self {
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
            is_leaving: false,
            verifier: Verifier::new(answer),
            record: Record::default(),
        }
    }

    pub(crate) fn drive(&mut self, now: Time, socket: &mut impl Stream) {
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
            write_pattern(socket, self.stream, &mut self.written, Some(self.asked * self.push.request));
        }
        if self.is_leaving || self.record.completed_at.is_some() || socket.is_at_end() {
            self.next_at = None;
            socket.close();
            self.record.finished = socket.is_at_end();
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
        let known = self.record.updates().len();
        for &(_, octets) in &self.push.updates[known..] {
            let end = self.whole + u64::from(octets);
            if end > self.told {
                break;
            }
            self.whole = end;
            self.record.details().updates.push(now);
        }
    }

    /// An answer is whole.
    fn is_answered(&mut self, now: Time) {
        self.length.clear();
        self.taken = 0;
        self.answers += 1;
        if self.record.updates().len() == self.push.updates.len() {
            self.record.completed_at = Some(now);
            return;
        }
        self.next_at = match self.push.way {
            Way::Streaming { .. } => None,
            Way::LongPolling => Some(now),
            Way::Polling { every } => self.next_poll(now, every),
        };
    }

    /// When to poll again: multiples of the time that pass while an answer is awaited are left out.
    fn next_poll(&self, now: Time, every: Span) -> Option<Time> {
        let began_at = self.began_at?;
        let (now, last) = (now.since(began_at).as_nanos(), self.asked_at.since(began_at).as_nanos());
        let polls = now.div_ceil(every.as_nanos()).max(last / every.as_nanos() + 1);
        Some(began_at + Span::from_nanos(polls.saturating_mul(every.as_nanos())))
    }

    pub(crate) const fn stop(&mut self) {
        self.is_leaving = true;
        self.next_at = None;
    }

    pub(crate) const fn poll_timeout(&self) -> Option<Time> {
        self.next_at
    }

    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }
}

/// The end that knows.
#[derive(Debug)]
pub struct Server {
    push: Arc<Push>,
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
    /// Expects pattern `stream` and answers by pattern `answer`.
    pub fn new(push: Arc<Push>, stream: u32, answer: u32) -> Self {
        Self {
            push,
            stream: answer,
            offset: 0,
            outgoing: None,
            answers: 0,
            told: 0,
            verifier: Verifier::new(stream),
            record: Record::default(),
        }
    }

    pub(crate) fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        self.record.read(now, socket, &mut self.verifier);
        if self.record.finished {
            return;
        }
        self.write(socket);
        while self.outgoing.is_none()
            && !self.has_told_all()
            && let Some(updates) = self.push.answer(now, self.answers, self.told, self.asked())
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

    /// Requests that have come whole.
    fn asked(&self) -> u64 {
        self.record.octets / self.push.request
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
        let mut answer = Vec::with_capacity((LENGTH + rest) as usize);
        answer.extend(body.to_be_bytes());
        Payload::pattern(self.stream, self.offset + LENGTH, rest as u32).write_to(&mut answer);
        self.offset += LENGTH + rest;
        self.outgoing = Some(Payload::bytes(answer.into()));
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

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        // Who waits for room in the socket is woken by it.
        if self.record.finished || self.outgoing.is_some() {
            return None;
        }
        let (next, _) = *self.push.updates.get(self.told)?;
        let is_held_back = match self.push.way {
            Way::Streaming { .. } => self.answers > 0,
            Way::LongPolling => self.asked() > self.answers,
            Way::Polling { .. } => false,
        };
        is_held_back.then_some(next)
    }

    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }
}
