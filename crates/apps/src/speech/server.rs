//! The end that listens: a master that passes on, and a worker that decodes one piece after the other.

use super::decoder::Decoder;
use super::{Account, CLOSE, Talk, Told, frame, masked};
use crate::bulk::write_pattern;
use crate::record::{Record, Verifier};
use crate::socket::Stream;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use voxpath_units::{Span, Time};

/// What the recogniser's process costs besides decoding.
#[derive(Debug, Clone, Copy)]
pub struct Worker {
    /// Octets that are decoded at a time, at most; at least one.
    pub piece: u64,
    /// From the opening of the WebSocket until a worker is free.
    pub waiting: Span,
    /// What it takes to pass a message on, to the worker or back.
    pub forwarding: Span,
}

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
    talk: Arc<Talk>,
    worker: Worker,
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
    pub fn new(talk: Arc<Talk>, worker: Worker, decoder: Decoder, stream: u32, answer: u32) -> Self {
        Self {
            talk,
            worker,
            decoder,
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

    pub(crate) fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        if self.record.finished {
            return;
        }
        self.read(now, socket);
        self.decode(now);
        while let Some((_, octets)) = self.told.pop_front_if(|(at, _)| *at <= now) {
            self.due += octets;
        }
        write_pattern(socket, self.stream, &mut self.written, Some(self.due));
        let has_heard_all = self.record.octets == self.talk.up_to(self.talk.messages()) + masked(CLOSE);
        if has_heard_all || socket.is_at_end() {
            self.record.finished = true;
            self.record.completed_at = has_heard_all.then_some(now);
            self.piece = None;
            self.told.clear();
            socket.close();
        }
    }

    fn read(&mut self, now: Time, socket: &mut impl Stream) {
        let read = self.record.read(now, socket, &mut self.verifier);
        let octets = self.record.octets;
        if read == 0 || octets < self.talk.request {
            return;
        }
        if self.account().opened_at.is_none() {
            self.account().opened_at = Some(now);
            self.free_at = now + self.worker.waiting;
            self.due += self.talk.response;
        }
        let mut come = self.account().messages.len() as u64;
        while come < self.talk.messages() && octets >= self.talk.up_to(come + 1) {
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
        let message = self.decoded / self.talk.block;
        let message = if self.decoded == self.talk.audio { self.talk.blocks() } else { message };
        let come_at = *self.account().messages.get(message as usize)? + self.worker.forwarding;
        let is_last = message == self.talk.blocks();
        let to = self.talk.audio_in(message + 1).min(self.decoded + self.worker.piece);
        let took = self.decoder.decode(&self.talk, self.decoded..to, is_last);
        let account = self.account();
        account.decoding = account.decoding + took;
        self.free_at = self.free_at.max(come_at) + took;
        Some(Piece { done_at: self.free_at, to, is_last })
    }

    /// Tells what is known after a piece.
    fn tell(&mut self, piece: Piece) {
        let at = piece.done_at + self.worker.forwarding;
        let known = self.account().results.len();
        for result in known..self.talk.results.len() {
            let Told { after, octets, .. } = self.talk.results[result];
            if !piece.is_last && after.is_none_or(|after| after > piece.to) {
                return;
            }
            self.account().results.push(piece.done_at);
            self.told.push_back((at, frame(octets)));
        }
        if piece.is_last {
            self.told.push_back((at, self.talk.goodbye()));
        }
    }

    fn account(&mut self) -> &mut Account {
        &mut self.record.details().speech
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let piece = self.piece.map(|piece| piece.done_at);
        piece.into_iter().chain(self.told.front().map(|&(at, _)| at)).min()
    }

    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }
}
