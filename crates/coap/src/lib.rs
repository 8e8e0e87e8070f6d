//! CoAP over UDP (RFC 7252) with observation (RFC 7641) and block-wise transfer (RFC 7959), without I/O: no clock, no socket, no
//! random generator.
//!
//! A [`Client`] puts bodies at a resource of one server, asks for it and observes it; a [`Server`] has resources for any number of
//! clients. Both are told what came, and asked what to send and when to come back. A body that is a pattern stays one, in blocks
//! too.
//!
//! | file | idea |
//! | --- | --- |
//! | `message.rs` | one message as a value; `coap-lite` has the format |
//! | `block.rs` | the options Block1 and Block2 (RFC 7959 section 2.2), bodies put together of blocks |
//! | `uint.rs` | numbers as values of options (RFC 7252 section 3.2) |
//! | `reliability.rs` | a message that is retransmitted until it is acknowledged (RFC 7252 section 4.2) |
//! | `client.rs` | one exchange at a time, beside an observation |
//! | `fetched.rs` | a representation that comes block by block (RFC 7959 section 2.4) |
//! | `freshness.rs` | which notification is the newer one, and for how long it holds (RFC 7641 sections 3.3 and 3.4) |
//! | `server.rs` | answers, duplicates (RFC 7252 section 4.5), bodies that are put |
//! | `observers.rs` | who observes what, and what each of them has to be told (RFC 7641 section 4) |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod block;
mod client;
mod fetched;
mod freshness;
mod message;
mod observers;
mod reliability;
mod server;
mod uint;

pub use block::Block;
pub use client::{Client, ClientSettings, Content, Counts, Ended, Outcome};
pub use message::{Code, Kind, Message};
pub use reliability::Transmission;
pub use server::{Received, Server, ServerSettings};

use voxpath_units::Span;

/// How long a message identifier is not used again (RFC 7252 section 4.8.2, EXCHANGE_LIFETIME).
pub const EXCHANGE_LIFETIME: Span = Span::from_secs(247);
