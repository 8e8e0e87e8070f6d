//! Applications as machines without I/O.
//!
//! An application is its [`Settings`], which the plan holds, and a machine for each end of its flow. A machine is shown its
//! socket whenever something may have changed (connected, readable, writable, its timer) and does what can be done:
//! [`StreamMachine::drive`]. It never learns whether the socket is simulated or the operating system's; there is no second
//! implementation. What it saw stands in its [`Record`]. An application is one file, and one line in `registry.rs`; property tests
//! draw it by its own [`Settings::sample`].
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
pub mod datagrams;
pub mod dialogue;
mod entity;
mod machine;
pub mod onoff;
pub mod ping;
pub mod process;
pub mod proxy;
pub mod push;
mod record;
mod registry;
pub mod sample;
mod settings;
mod socket;
pub mod speech;
pub mod web;

pub use entity::{Entity, EntityOf, Told};
pub use machine::{DatagramApplication, DatagramMachine, Machine, StreamApplication, StreamMachine};
pub use process::{Process, ProcessApp, ProcessMachine, ProcessSettings};
pub use record::{Message, Page, Record, Request, Verifier};
pub use registry::App;
pub use settings::{FlowContext, Over, Settings};
pub use socket::{Datagrams, Stream};
