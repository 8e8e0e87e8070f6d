//! Request and response, as often as wanted: FTP's and HTTP/1's way of talking.
//!
//! The client writes a request, reads the response, pauses, and asks again. The server closes after the last
//! response, the client after reading to the end.

use crate::bulk::write_pattern;
use crate::record::{Record, Request, Verifier};
use crate::socket::Stream;
use voxpath_units::{Span, Time};

/// What both ends have to know.
#[derive(Debug, Clone, Copy)]
pub struct Dialogue {
    /// Octets of each request; at least one, or the server would not notice it.
    pub request: u64,
    /// Octets of each response; at least one.
    pub response: u64,
    /// How many requests.
    pub count: u32,
    /// From the end of a response to the next request.
    pub pause: Span,
}

/// The end that asks.
#[derive(Debug)]
pub struct Client {
    dialogue: Dialogue,
    stream: u32,
    written: u64,
    /// Octets of the current request that the socket has not taken.
    left: Option<u64>,
    verifier: Verifier,
    /// When the next request is due.
    next_at: Option<Time>,
    record: Record,
}

impl Client {
    /// Asks with pattern `stream` and expects pattern `answer`.
    pub fn new(dialogue: Dialogue, stream: u32, answer: u32) -> Self {
        Self {
            dialogue,
            stream,
            written: 0,
            left: Some(0),
            verifier: Verifier::new(answer),
            next_at: None,
            record: Record::default(),
        }
    }

    pub(crate) fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        if !socket.is_connected() {
            return;
        }
        self.read(now, socket);
        let asked = self.record.requests.len() as u32;
        let due = match self.next_at {
            Some(at) => at <= now,
            None => asked == 0,
        };
        if due && asked < self.dialogue.count {
            self.next_at = None;
            self.left = Some(self.dialogue.request);
            self.record.requests.push(Request {
                sent_at: now,
                first_at: None,
                completed_at: None,
                octets: 0,
            });
        }
        self.written += write_pattern(socket, self.stream, self.written, &mut self.left);
        if socket.is_at_end() && !self.record.finished {
            self.record.finished = true;
            socket.close();
        }
    }

    fn read(&mut self, now: Time, socket: &mut impl Stream) {
        loop {
            let data = socket.read(u32::MAX);
            if data.is_empty() {
                return;
            }
            self.record.first_at.get_or_insert(now);
            self.record.wrong_octets += self.verifier.take(&data);
            self.record.octets = self.verifier.octets();
            // The server answers one request after the other, so all that comes belongs to the last.
            let Some(request) = self.record.requests.last_mut() else { continue };
            request.first_at.get_or_insert(now);
            request.octets += u64::from(data.len());
            if request.octets == self.dialogue.response {
                request.completed_at = Some(now);
                if self.record.requests.len() as u32 == self.dialogue.count {
                    self.record.completed_at = Some(now);
                } else {
                    self.next_at = Some(now + self.dialogue.pause);
                }
            }
        }
    }

    pub(crate) const fn poll_timeout(&self) -> Option<Time> {
        self.next_at
    }

    pub(crate) const fn record(&self) -> &Record {
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
    /// Octets of responses that are due.
    left: Option<u64>,
    answered: u32,
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
            left: Some(0),
            answered: 0,
            record: Record::default(),
        }
    }

    pub(crate) fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        loop {
            let data = socket.read(u32::MAX);
            if data.is_empty() {
                break;
            }
            self.record.first_at.get_or_insert(now);
            self.record.wrong_octets += self.verifier.take(&data);
            self.record.octets = self.verifier.octets();
        }
        while self.answered < self.dialogue.count
            && self.record.octets >= u64::from(self.answered + 1) * self.dialogue.request
        {
            self.answered += 1;
            self.left = self.left.map(|left| left + self.dialogue.response);
        }
        self.written += write_pattern(socket, self.stream, self.written, &mut self.left);
        let all_answered = self.answered == self.dialogue.count && self.left == Some(0);
        if (all_answered || socket.is_at_end()) && !self.record.finished {
            self.record.finished = true;
            self.record.completed_at = all_answered.then_some(now);
            socket.close();
        }
    }

    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }
}
