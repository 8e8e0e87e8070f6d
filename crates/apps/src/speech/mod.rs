//! A speaker and a recogniser on a WebSocket (RFC 6455), by the Kaldi GStreamer server's protocol.
//!
//! ```text
//! client  GET, Upgrade  |  audio as binary messages, EOS as text        |  close
//! server  101           |  results as text while audio comes, the last  |  close, then TCP's
//! ```
//!
//! Both ends know every size ([`Talk`]) and count octets. What the recogniser understands, and where in the audio, is
//! given; when it has understood it is the affair of its [`Decoder`](decoder::Decoder).

pub mod client;
pub mod decoder;
pub mod server;

pub use client::Client;
pub use server::Server;

use alloc::vec::Vec;
use voxpath_units::{Span, Time};

/// Octets of the message that ends the audio, `EOS`.
const EOS: u64 = 3;
/// Octets of a message that closes: its code (RFC 6455 section 5.5.1).
const CLOSE: u64 = 2;

/// What both ends have to know of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Talk {
    /// Octets of the HTTP request that opens the WebSocket.
    pub request: u64,
    /// Octets of its answer.
    pub response: u64,
    /// Octets of audio; at least one.
    pub audio: u64,
    /// How long it sounds.
    pub length: Span,
    /// Octets of audio in each message but the last; at least one.
    pub block: u64,
    /// What is told, in order.
    pub results: Vec<Told>,
    /// Octets of what is told after the last result; zero for nothing.
    pub farewell: u64,
}

/// A result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Octets of audio that decide it; none where the audio has to have ended.
    pub after: Option<u64>,
    /// Octets of its text.
    pub octets: u64,
    /// Of a final result, octets of audio until the end of the speech that it is of.
    pub spoken: Option<u64>,
}

/// What one end saw of a session.
#[derive(Debug, Clone, Default)]
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

impl Account {
    /// Bytes that it holds.
    pub(crate) fn memory(&self) -> usize {
        (self.messages.capacity() + self.results.capacity()) * size_of::<Time>()
    }
}

impl Talk {
    /// Messages of audio.
    pub const fn blocks(&self) -> u64 {
        self.audio.div_ceil(self.block)
    }

    /// Messages of audio, and `EOS`.
    pub const fn messages(&self) -> u64 {
        self.blocks() + 1
    }

    /// The message that decides what is known after so many octets of audio; without them it is the last.
    pub fn decided_by(&self, after: Option<u64>) -> usize {
        after.map_or(self.blocks(), |after| after.saturating_sub(1) / self.block) as usize
    }

    /// Octets of audio in the first so many messages.
    fn audio_in(&self, messages: u64) -> u64 {
        messages.saturating_mul(self.block).min(self.audio)
    }

    /// The audio's time after so many octets.
    fn time_of(&self, octets: u64) -> Span {
        let ns = u128::from(self.length.as_nanos()) * u128::from(octets) / u128::from(self.audio);
        // No longer than the whole.
        Span::from_nanos(ns as u64)
    }

    /// Octets that the server has yet to write after the last result.
    const fn goodbye(&self) -> u64 {
        let farewell = if self.farewell > 0 { frame(self.farewell) } else { 0 };
        farewell + frame(CLOSE)
    }

    /// Octets that the client has written after its first so many messages.
    fn up_to(&self, messages: u64) -> u64 {
        let whole = messages.min(self.audio / self.block);
        let rest = self.audio % self.block;
        let mut octets = self.request + whole * masked(self.block);
        if rest > 0 && messages >= self.blocks() {
            octets += masked(rest);
        }
        if messages == self.messages() {
            octets += masked(EOS);
        }
        octets
    }
}

/// Octets of a frame whose payload has so many (RFC 6455 section 5.2).
pub const fn frame(payload: u64) -> u64 {
    let header = match payload {
        0..=125 => 2,
        126..=0xffff => 4,
        _ => 10,
    };
    header + payload
}

/// Octets of a client's frame, which has a masking key of four.
pub const fn masked(payload: u64) -> u64 {
    frame(payload) + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_the_rfc_says() {
        assert_eq!([0, 125, 126, 65_535, 65_536].map(frame), [2, 127, 130, 65_539, 65_546]);
        assert_eq!(masked(3), 9);
    }

    #[test]
    fn the_stream_is_cut_where_the_messages_end() {
        let talk = |audio| Talk {
            request: 400,
            response: 200,
            audio,
            length: Span::from_secs(1),
            block: 1000,
            results: Vec::new(),
            farewell: 0,
        };
        let ends = |talk: &Talk| (0..=talk.messages()).map(|n| talk.up_to(n)).collect::<Vec<_>>();
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
