//! The end that listens: a master that passes on, and a worker that decodes one piece after the other.

use super::decoder::Decoder;
use super::{Account, CLOSE, Speech, SpeechResult};
use crate::apps::bulk::write_pattern;
use crate::layers::websocket::{frame, masked};
use crate::machine::StreamMachine;
use crate::record::{Record, Verifier};
use crate::socket::Stream;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use voxpath_net::Stream as Draws;
use voxpath_units::{Span, Time};

/// A piece of a message that is being decoded.
#[derive(Debug, Clone, Copy)]
struct Piece {
    done_at: Time,
    /// Octets of audio that are decoded then.
    to: u64,
    /// The audio is over with it.
    is_last: bool,
}

/// Decodes what comes, and tells what is understood.
#[derive(Debug)]
pub struct Server {
    speech: Arc<Speech>,
    decoder: Decoder,
    verifier: Verifier,
    stream: u32,
    due: u64,
    written: u64,
    /// Octets of audio that were decoded.
    decoded: u64,
    piece: Option<Piece>,
    /// All of the audio was.
    is_over: bool,
    /// When the decoder has done, or will have done, what it was given.
    free_at: Time,
    /// What is to be told: when it is the socket's, and how many octets.
    told: VecDeque<(Time, u64)>,
    record: Record,
}

impl Server {
    /// Expects pattern `stream` and answers by pattern `answer`.
    pub fn new(speech: Arc<Speech>, draws: Draws, stream: u32, answer: u32) -> Self {
        Self {
            decoder: Decoder::new(Arc::clone(&speech), draws),
            speech,
            verifier: Verifier::new(stream),
            stream: answer,
            due: 0,
            written: 0,
            decoded: 0,
            piece: None,
            is_over: false,
            free_at: Time::ZERO,
            told: VecDeque::new(),
            record: Record::default(),
        }
    }

    fn read(&mut self, now: Time, socket: &mut impl Stream) {
        let read = self.record.read(now, socket, &mut self.verifier);
        let octets = self.record.octets;
        if read == 0 || octets < self.speech.request_bytes {
            return;
        }
        if self.account().opened_at.is_none() {
            self.account().opened_at = Some(now);
            self.free_at = now + Span::from_nanos(self.speech.waiting_ns);
            self.due += self.speech.response_bytes;
        }
        let mut come = self.account().messages.len() as u64;
        while come < self.speech.messages() && octets >= self.speech.up_to(come + 1) {
            self.account().messages.push(now);
            come += 1;
        }
    }

    /// Decodes as far as the time allows.
    fn decode(&mut self, now: Time) {
        loop {
            self.piece = self.piece.or_else(|| self.next_piece());
            let Some(piece) = self.piece.take_if(|piece| piece.done_at <= now) else { return };
            self.decoded = piece.to;
            self.is_over = piece.is_last;
            self.tell(piece);
        }
    }

    /// The next piece, if it has come.
    fn next_piece(&mut self) -> Option<Piece> {
        if self.is_over {
            return None;
        }
        let message = self.decoded / self.speech.block_bytes;
        let message = if self.decoded == self.speech.audio_bytes { self.speech.blocks() } else { message };
        let come_at = *self.account().messages.get(message as usize)?
            + Span::from_nanos(self.speech.decoder.forwarding_ns);
        let is_last = message == self.speech.blocks();
        let to = self.speech.audio_in(message + 1).min(self.decoded + self.speech.decoder.piece_bytes);
        let took = self.decoder.decode(self.decoded..to, is_last);
        let account = self.account();
        account.decoding = account.decoding + took;
        self.free_at = self.free_at.max(come_at) + took;
        Some(Piece { done_at: self.free_at, to, is_last })
    }

    /// Tells what is known after a piece.
    fn tell(&mut self, piece: Piece) {
        let at = piece.done_at + Span::from_nanos(self.speech.decoder.forwarding_ns);
        let known = self.account().results.len();
        for result in known..self.speech.results.len() {
            let SpeechResult { after_bytes, bytes, .. } = self.speech.results[result];
            if !piece.is_last && after_bytes.is_none_or(|after| after > piece.to) {
                return;
            }
            self.account().results.push(piece.done_at);
            self.told.push_back((at, frame(bytes)));
        }
        if piece.is_last {
            self.told.push_back((at, self.speech.goodbye()));
        }
    }

    fn account(&mut self) -> &mut Account {
        self.record.account_mut()
    }
}

impl StreamMachine for Server {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        if self.record.finished {
            return;
        }
        self.read(now, socket);
        self.decode(now);
        while let Some((_, octets)) = self.told.pop_front_if(|(at, _)| *at <= now) {
            self.due += octets;
        }
        write_pattern(socket, self.stream, &mut self.written, Some(self.due));
        let has_heard_all = self.record.octets == self.speech.up_to(self.speech.messages()) + masked(CLOSE);
        if has_heard_all || socket.is_at_end() {
            self.record.finished = true;
            self.record.completed_at = has_heard_all.then_some(now);
            self.piece = None;
            self.told.clear();
            socket.close();
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let piece = self.piece.map(|piece| piece.done_at);
        piece.into_iter().chain(self.told.front().map(|&(at, _)| at)).min()
    }

    fn record(&self) -> &Record {
        &self.record
    }
}
