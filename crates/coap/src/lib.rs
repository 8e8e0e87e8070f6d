//! CoAP over UDP (RFC 7252) with block-wise requests (RFC 7959), without I/O: no clock, no socket, no random generator.
//!
//! A [`Client`] hands bodies to one server, a [`Server`] takes them from any number of clients. Both are told what came,
//! and asked what to send and when to come back. A body that is a pattern stays one, in blocks too.
//!
//! | file | idea |
//! | --- | --- |
//! | `message.rs` | one message as a value; `coap-lite` has the format |
//! | `block.rs` | the option Block1 (RFC 7959 section 2.2) |
//! | `client.rs` | one exchange at a time: confirmable with retransmission, or not |
//! | `server.rs` | answers, duplicates (RFC 7252 section 4.5), blocks put together |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod block;
mod client;
mod message;
mod server;

pub use block::Block;
pub use client::{Client, ClientSettings, Counts, Ended, Outcome};
pub use message::{Code, Kind, Message};
pub use server::{Received, Server, ServerSettings};

use voxpath_units::Span;

/// How long a message identifier is not used again (RFC 7252 section 4.8.2, EXCHANGE_LIFETIME).
pub const EXCHANGE_LIFETIME: Span = Span::from_secs(247);
