//! A speaker and a recogniser on a WebSocket (RFC 6455), by the Kaldi GStreamer server's protocol.
//!
//! ```text
//! client  GET, Upgrade  |  audio as binary messages, EOS as text        |  close
//! server  101           |  results as text while audio comes, the last  |  close, then TCP's
//! ```
//!
//! Both ends know every size ([`Speech`]) and count octets. What the recogniser understands, and where in the audio, is
//! given; when it has understood it is the affair of its [`Decoder`](decoder::Decoder).

pub mod client;
pub mod decoder;
pub mod server;
mod session;

pub use client::Client;
pub use decoder::Service;
pub use server::Server;
pub(crate) use session::{RESULTS, SESSIONS};

use crate::entity::Entity;
use crate::layers::websocket::{frame, masked};
use crate::machine::Machine;
use crate::settings::{FlowContext, Over, Settings, at_least_one, transfer};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// When each of them was sent is kept.
const MOST_MESSAGES: u64 = 1_000_000;

/// Octets of the message that ends the audio, `EOS`.
const EOS: u64 = 3;
/// Octets of a message that closes: its code (RFC 6455 section 5.5.1).
const CLOSE: u64 = 2;

/// `from` sends an utterance over a WebSocket, `to` tells what it understands, and closes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speech {
    /// Bytes of the HTTP request that opens the WebSocket.
    pub request_bytes: u64,
    /// Bytes of its answer.
    pub response_bytes: u64,
    /// Bytes of audio.
    pub audio_bytes: u64,
    /// How long it sounds.
    pub length_ns: u64,
    /// Bytes of audio in each message but the last.
    pub block_bytes: u64,
    /// Each message is sent when its audio is over; else all as fast as the socket takes them.
    pub paced: bool,
    /// From the opening of the WebSocket until a worker is free.
    pub waiting_ns: u64,
    /// The segments of speech in it, in order.
    pub segments: Vec<Segment>,
    /// What is told, in order.
    pub results: Vec<SpeechResult>,
    /// Bytes that are told after the last result; zero for none.
    pub farewell_bytes: u64,
    /// What the recogniser takes.
    pub decoder: Service,
}

/// A segment of speech, as the recogniser finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Bytes of audio after which it is known to have begun.
    pub begins_bytes: u64,
    /// How much of it is heard by then.
    pub lead_ns: u64,
    /// Bytes of audio after which it is known to have ended; none where only the end of the audio ends it.
    pub ends_bytes: Option<u64>,
}

/// What the recogniser tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpeechResult {
    /// Bytes of audio after which it is known; none where the audio has to have ended.
    pub after_bytes: Option<u64>,
    /// Bytes of its text.
    pub bytes: u64,
    /// Of a final result, bytes of audio until the end of its speech.
    pub spoken_bytes: Option<u64>,
}

impl Settings for Box<Speech> {
    const TRANSPORTS: &'static [Over] = &[Over::Stream];
    const RECEIVER: usize = 0;
    const TABLES: &'static [&'static dyn Entity] = &[&SESSIONS, &RESULTS];

    fn check(&self, check: &mut Check<'_>) {
        at_least_one(
            check,
            [
                ("request_bytes", self.request_bytes),
                ("response_bytes", self.response_bytes),
                ("audio_bytes", self.audio_bytes),
                ("length_ns", self.length_ns),
                ("block_bytes", self.block_bytes),
            ],
        );
        for (key, bytes) in [
            ("request_bytes", self.request_bytes),
            ("response_bytes", self.response_bytes),
            ("audio_bytes", self.audio_bytes),
            ("farewell_bytes", self.farewell_bytes),
        ] {
            transfer(&mut check.at(key), bytes, 2);
        }
        if self.audio_bytes / self.block_bytes.max(1) > MOST_MESSAGES {
            let message = format_args!("the audio is cut into {MOST_MESSAGES} messages at most");
            check.at("block_bytes").fail(message);
        }
        if self.audio_bytes / self.decoder.piece_bytes.max(1) > MOST_MESSAGES {
            let message = format_args!("the audio is decoded in {MOST_MESSAGES} pieces at most");
            check.at("decoder").at("piece_bytes").fail(message);
        }
        check.at("length_ns").span(self.length_ns);
        check.at("waiting_ns").span(self.waiting_ns);
        self.decoder.check(&mut check.at("decoder"));
        self.check_segments(&mut check.at("segments"));
        self.check_results(&mut check.at("results"));
    }

    fn is_paced(&self) -> bool {
        self.paced
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let speech = Arc::new((**self).clone());
        let [there, back] = flow.patterns();
        let server = Server::new(Arc::clone(&speech), flow.draws("decoder"), there, back);
        [Client::new(speech, there, back).into(), Box::new(server).into()]
    }

    fn sample(draw: &mut dyn Draw, _may_be_endless: bool) -> Self {
        let audio_bytes = 2 + draw.below(50_000);
        let begins_bytes = draw.below(audio_bytes / 2);
        let ends_bytes = draw.bit().then_some(audio_bytes / 2 + draw.below(audio_bytes / 2));
        let result = |after_bytes, bytes| SpeechResult { after_bytes, bytes, spoken_bytes: None };
        let last = SpeechResult { spoken_bytes: ends_bytes, ..result(None, 1 + draw.below(1_000)) };
        Self::new(Speech {
            request_bytes: 1 + draw.below(1_000),
            response_bytes: 1 + draw.below(1_000),
            audio_bytes,
            length_ns: 1_000_000 + 10 * draw.span(),
            block_bytes: 1_000 + draw.below(4_000),
            paced: draw.bit(),
            waiting_ns: draw.span(),
            segments: [Segment { begins_bytes, lead_ns: draw.span(), ends_bytes }].to_vec(),
            results: [result(Some(begins_bytes), 1 + draw.below(300)), last].to_vec(),
            farewell_bytes: draw.below(100),
            decoder: Service::sample(draw),
        })
    }
}

impl Speech {
    fn check_segments(&self, check: &mut Check<'_>) {
        let mut at = 0;
        for (i, segment) in self.segments.iter().enumerate() {
            let mut place = check.at(i);
            place.span(segment.lead_ns);
            let ends = segment.ends_bytes.unwrap_or(self.audio_bytes);
            let fits = at <= segment.begins_bytes && segment.begins_bytes <= ends && ends <= self.audio_bytes;
            place.need(fits, "begins after the one before has ended, and ends within the audio");
            at = ends;
        }
    }

    fn check_results(&self, check: &mut Check<'_>) {
        let mut at = 0;
        for (i, result) in self.results.iter().enumerate() {
            let mut place = check.at(i);
            transfer(&mut place, result.bytes, 1 + self.results.len() as u64);
            place.need(result.bytes > 0, "has a byte at least");
            let after = result.after_bytes.unwrap_or(u64::MAX);
            if after < at || (after > self.audio_bytes && after < u64::MAX) {
                place.fail("comes after the one before, and within the audio");
            }
            at = after;
            if result.spoken_bytes.is_some_and(|spoken| spoken > self.audio_bytes.min(after)) {
                place.fail("is known when its speech is over");
            }
        }
    }
}

/// What one end saw of a session.
#[derive(Debug, Default)]
pub struct Account {
    /// When the WebSocket stood.
    pub opened_at: Option<Time>,
    /// When the first message was begun; at the client.
    pub first_at: Option<Time>,
    /// When each message was given to the socket, or had come whole; the last is `EOS`.
    pub messages: Vec<Time>,
    /// When each result was understood, or had come whole.
    pub results: Vec<Time>,
    /// What decoding took in all; at the server.
    pub decoding: Span,
}

impl crate::record::Account for Account {
    fn memory(&self) -> usize {
        (self.messages.capacity() + self.results.capacity()) * size_of::<Time>()
    }
}

impl Speech {
    /// Messages of audio.
    pub const fn blocks(&self) -> u64 {
        self.audio_bytes.div_ceil(self.block_bytes)
    }

    /// Messages of audio, and `EOS`.
    pub const fn messages(&self) -> u64 {
        self.blocks() + 1
    }

    /// The message that decides what is known after so many octets of audio; without them it is the last.
    pub fn decided_by(&self, after: Option<u64>) -> usize {
        after.map_or(self.blocks(), |after| after.saturating_sub(1) / self.block_bytes) as usize
    }

    /// Octets of audio in the first so many messages.
    fn audio_in(&self, messages: u64) -> u64 {
        messages.saturating_mul(self.block_bytes).min(self.audio_bytes)
    }

    /// The audio's time after so many octets.
    fn time_of(&self, octets: u64) -> Span {
        let ns = u128::from(self.length_ns) * u128::from(octets) / u128::from(self.audio_bytes);
        // No longer than the whole.
        Span::from_nanos(ns as u64)
    }

    /// Octets that the server has yet to write after the last result.
    const fn goodbye(&self) -> u64 {
        let farewell = if self.farewell_bytes > 0 { frame(self.farewell_bytes) } else { 0 };
        farewell + frame(CLOSE)
    }

    /// Octets that the client has written after its first so many messages.
    fn up_to(&self, messages: u64) -> u64 {
        let whole = messages.min(self.audio_bytes / self.block_bytes);
        let rest = self.audio_bytes % self.block_bytes;
        let mut octets = self.request_bytes + whole * masked(self.block_bytes);
        if rest > 0 && messages >= self.blocks() {
            octets += masked(rest);
        }
        if messages == self.messages() {
            octets += masked(EOS);
        }
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_cut_where_the_messages_end() {
        let talk = |audio_bytes| Speech {
            request_bytes: 400,
            response_bytes: 200,
            audio_bytes,
            length_ns: Span::from_secs(1).as_nanos(),
            block_bytes: 1000,
            paced: true,
            waiting_ns: 0,
            segments: Vec::new(),
            results: Vec::new(),
            farewell_bytes: 0,
            decoder: Service::default(),
        };
        let ends = |talk: &Speech| (0..=talk.messages()).map(|n| talk.up_to(n)).collect::<Vec<_>>();
        assert_eq!(ends(&talk(2000)), [400, 1408, 2416, 2425]);
        assert_eq!(ends(&talk(2100)), [400, 1408, 2416, 2522, 2531]);
        assert_eq!(ends(&talk(10)), [400, 416, 425]);
        let talk = talk(2100);
        assert_eq!(
            [Some(0), Some(1), Some(1000), Some(1001), Some(2100), None].map(|after| talk.decided_by(after)),
            [0, 0, 0, 1, 2, 3]
        );
        assert_eq!(talk.time_of(1050), Span::from_millis(500));
    }
}
