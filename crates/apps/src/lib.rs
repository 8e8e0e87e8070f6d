//! Applications as machines without I/O.
//!
//! An application is shown its socket whenever something may have changed (connected, readable, writable, its timer) and
//! does what can be done: [`Application::drive`]. It never learns whether the socket is simulated or the operating system's;
//! there is no second implementation. What it saw stands in its [`Record`].
//!
//! | | opens the flow | answers |
//! | --- | --- | --- |
//! | bulk | [`Source`](bulk::Source) writes and closes | [`Sink`](bulk::Sink) reads to the end |
//! | download, voice | [`Client`](dialogue::Client) asks | [`Server`](dialogue::Server) answers and closes |
//! | web | [`Client`](web::Client) loads pages | [`Server`](web::Server) answers |
//! | speech | [`Client`](speech::Client) sends an utterance | [`Server`](speech::Server) decodes, tells and closes |
//! | push | [`Client`](push::Client) asks for updates | [`Server`](push::Server) tells them and closes |
//! | on and off | [`Source`](onoff::Source) writes in bursts | [`Sink`](bulk::Sink) reads to the end |
//! | constant bit rate, on and off by datagrams | [`Sender`](cbr::Sender) | [`Receiver`](cbr::Receiver) |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod bulk;
pub mod cbr;
pub mod dialogue;
pub mod onoff;
pub mod push;
mod record;
pub mod sample;
mod socket;
pub mod speech;
pub mod web;

pub use record::{Record, Request, Verifier};
pub use socket::{Datagrams, Stream};

use alloc::boxed::Box;
use voxpath_units::Time;

/// Any application over a byte stream.
#[derive(Debug)]
#[allow(missing_docs)] // Each is documented where it stands.
pub enum Application {
    BulkSource(bulk::Source),
    BulkSink(bulk::Sink),
    DialogueClient(dialogue::Client),
    DialogueServer(dialogue::Server),
    WebClient(Box<web::Client>),
    WebServer(Box<web::Server>),
    OnOffSource(Box<onoff::Source>),
    PushClient(Box<push::Client>),
    PushServer(Box<push::Server>),
    SpeechClient(speech::Client),
    SpeechServer(Box<speech::Server>),
}

impl Application {
    /// Does what the socket allows at `now`.
    pub fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        match self {
            Self::BulkSource(app) => app.drive(socket),
            Self::BulkSink(app) => app.drive(now, socket),
            Self::DialogueClient(app) => app.drive(now, socket),
            Self::DialogueServer(app) => app.drive(now, socket),
            Self::WebClient(app) => app.drive(now, socket),
            Self::WebServer(app) => app.drive(now, socket),
            Self::OnOffSource(app) => app.drive(now, socket),
            Self::PushClient(app) => app.drive(now, socket),
            Self::PushServer(app) => app.drive(now, socket),
            Self::SpeechClient(app) => app.drive(now, socket),
            Self::SpeechServer(app) => app.drive(now, socket),
        }
    }

    /// When to drive it though nothing happened at the socket.
    pub fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::DialogueClient(app) => app.poll_timeout(),
            Self::DialogueServer(app) => app.poll_timeout(),
            Self::WebClient(app) => app.poll_timeout(),
            Self::OnOffSource(app) => app.poll_timeout(),
            Self::PushClient(app) => app.poll_timeout(),
            Self::PushServer(app) => app.poll_timeout(),
            Self::SpeechClient(app) => app.poll_timeout(),
            Self::SpeechServer(app) => app.poll_timeout(),
            Self::BulkSource(_) | Self::BulkSink(_) | Self::WebServer(_) => None,
        }
    }

    /// Has the end that opened its flow leave: it begins nothing more and closes, reading what still comes. Ends that
    /// answer follow it.
    pub fn stop(&mut self) {
        match self {
            Self::BulkSource(app) => app.stop(),
            Self::DialogueClient(app) => app.stop(),
            Self::WebClient(app) => app.stop(),
            Self::OnOffSource(app) => app.stop(),
            Self::PushClient(app) => app.stop(),
            Self::SpeechClient(app) => app.stop(),
            Self::BulkSink(_)
            | Self::DialogueServer(_)
            | Self::WebServer(_)
            | Self::SpeechServer(_)
            | Self::PushServer(_) => {}
        }
    }

    /// What it received.
    pub fn record(&self) -> &Record {
        match self {
            Self::BulkSource(app) => app.record(),
            Self::BulkSink(app) => app.record(),
            Self::DialogueClient(app) => app.record(),
            Self::DialogueServer(app) => app.record(),
            Self::WebClient(app) => app.record(),
            Self::WebServer(app) => app.record(),
            Self::OnOffSource(app) => app.record(),
            Self::PushClient(app) => app.record(),
            Self::PushServer(app) => app.record(),
            Self::SpeechClient(app) => app.record(),
            Self::SpeechServer(app) => app.record(),
        }
    }
}
