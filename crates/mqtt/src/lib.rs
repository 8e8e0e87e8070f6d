//! MQTT 3.1.1 and 5, without I/O: no clock, no socket, no random generator.
//!
//! What travels are [`Packet`]s; a [`Decoder`] finds them in a stream. The body of a message is a [`Payload`]: a broker
//! that passes on a megabyte of a pattern never holds the megabyte. A [`Client`] has one connection at a time; a
//! [`Broker`] has any number. Both are driven alike: tell them what happened, then ask them what to send, what to
//! tell, and when to come back.
//!
//! | file | idea |
//! | --- | --- |
//! | `packet/` | packets as values, parsed from bytes and emitted to bytes; properties |
//! | `decoder.rs` | packets in a stream |
//! | `topic.rs` | topic names and filters (section 4.7) |
//! | `exchange.rs` | what is in flight at QoS 1 and 2, one direction of a session (section 4.3) |
//! | `client.rs` | one client and its session |
//! | `broker/` | connections, sessions with queues, subscriptions, retained messages |
//!
//! Sections are those of MQTT 5.0 (OASIS Standard, 7 March 2019) unless 3.1.1 is named.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod broker;
mod client;
mod decoder;
mod exchange;
pub mod packet;
mod reason;
mod topic;

pub use broker::Broker;
pub use client::{Client, ClientEvent, ClientSettings, Counts as ClientCounts, Outgoing, Subscription};
pub use decoder::Decoder;
pub use packet::{Packet, Properties, Property, Publish, Qos, Text, Version, Will};
pub use reason::Reason;
pub use topic::{Filter, is_topic_name};

use voxpath_wire::Payload;

/// What was received is no MQTT, or breaks a rule of it; the reason code says which (section 4.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub Reason);

/// The empty body of a message, and of all packets but PUBLISH.
const NOTHING: Payload = Payload::Empty;
