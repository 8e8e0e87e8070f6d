//! The end that speaks.
//!
//! Paced, a message is due when a microphone would have it whole, counted from when the WebSocket stood; unpaced, all
//! are. What the socket does not take waits in a buffer of the program, and a program stops to fill it as asyncio's do:
//! after every [`LOOK`] octets it looks whether more than [`HIGH`] have come to wait, and then goes on when no more than
//! [`LOW`] do.

use super::{Account, CLOSE, Speech};
use crate::apps::bulk::write_pattern;
use crate::layers::websocket::{frame, masked};
use crate::machine::StreamMachine;
use crate::record::{Record, Verifier};
use crate::socket::Stream;
use alloc::sync::Arc;
use voxpath_units::{Span, Time};

/// Octets written between two looks (aiohttp's `WebSocketWriter`).
const LOOK: u64 = 1 << 18;
/// Octets that wait (asyncio's transports).
const HIGH: u64 = 1 << 16;
const LOW: u64 = 1 << 14;

/// Speaks, and reads what is understood.
#[derive(Debug)]
pub struct Client {
    speech: Arc<Speech>,
    stream: u32,
    /// Octets that were given to the buffer.
    due: u64,
    written: u64,
    /// Octets that were given to it since the program looked.
    unlooked: u64,
    /// Too many wait in it.
    is_full: bool,
    /// The program waits until fewer do.
    is_waiting: bool,
    /// Messages that were given to it.
    begun: u64,
    /// When the next one is due; none before the WebSocket stands, while the program waits, and in the end.
    next_at: Option<Time>,
    /// Octets up to the end of the last result that is whole.
    whole: u64,
    /// The speaker has gone.
    is_leaving: bool,
    verifier: Verifier,
    record: Record,
}

impl Client {
    /// Speaks by pattern `stream` and expects pattern `answer`.
    pub fn new(speech: Arc<Speech>, stream: u32, answer: u32) -> Self {
        Self {
            stream,
            due: speech.request_bytes,
            written: 0,
            unlooked: 0,
            is_full: false,
            is_waiting: false,
            begun: 0,
            next_at: None,
            whole: speech.response_bytes,
            is_leaving: false,
            verifier: Verifier::new(answer),
            record: Record::default(),
            speech,
        }
    }

    fn read(&mut self, now: Time, socket: &mut impl Stream) {
        let read = self.record.read(now, socket, &mut self.verifier);
        let octets = self.record.octets;
        if read == 0 || octets < self.speech.response_bytes {
            return;
        }
        if self.account().opened_at.is_none() {
            self.account().opened_at = Some(now);
            self.next_at = self.due_at();
        }
        let whole = self.account().results.len();
        for result in whole..self.speech.results.len() {
            let end = self.whole + frame(self.speech.results[result].bytes);
            if octets < end {
                return;
            }
            self.whole = end;
            self.account().results.push(now);
        }
        if octets == self.whole + self.speech.goodbye() {
            self.record.completed_at = Some(now);
            // The peer wants to hear no more (RFC 6455 section 5.5.1).
            self.next_at = None;
            self.due += masked(CLOSE);
        }
    }

    /// Gives what is due to the buffer.
    fn speak(&mut self, now: Time, socket: &mut impl Stream) {
        if self.is_waiting && !self.is_full {
            self.is_waiting = false;
            self.said(now);
        }
        while self.next_at.is_some_and(|at| at <= now) {
            self.account().first_at.get_or_insert(now);
            self.begun += 1;
            let before = core::mem::replace(&mut self.due, self.speech.up_to(self.begun));
            self.unlooked += self.due - before;
            self.write(socket);
            if self.unlooked > LOOK {
                self.unlooked = 0;
                self.is_waiting = self.is_full;
            }
            if self.is_waiting {
                self.next_at = None;
            } else {
                self.said(now);
            }
        }
    }

    /// A message has left the program.
    fn said(&mut self, now: Time) {
        self.account().messages.push(now);
        self.next_at = if self.begun < self.speech.messages() { self.due_at() } else { None };
    }

    /// When the next message is due.
    fn due_at(&mut self) -> Option<Time> {
        let spoken = self.speech.time_of(self.speech.audio_in(self.begun + 1));
        let ready = if self.speech.paced { spoken } else { Span::ZERO };
        Some(self.account().opened_at? + ready)
    }

    fn write(&mut self, socket: &mut impl Stream) {
        write_pattern(socket, self.stream, &mut self.written, Some(self.due));
        let waits = self.due - self.written;
        self.is_full = waits > HIGH || (self.is_full && waits > LOW);
    }

    fn account(&mut self) -> &mut Account {
        self.record.account_mut()
    }
}

impl StreamMachine for Client {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        if !socket.is_connected() || self.record.finished {
            return;
        }
        self.read(now, socket);
        if !self.is_leaving {
            self.write(socket);
            self.speak(now, socket);
        }
        let has_said_all = self.record.completed_at.is_some() && self.written == self.due;
        if self.is_leaving || has_said_all || socket.is_at_end() {
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
