//! RFC rules as ladder diagrams, and whole connections over bad networks.
//!
//! `ladder.rs` and `pair.rs` are the two harnesses, each other file a topic; every test cites its rule.
#![allow(missing_docs, unreachable_pub)]

mod acks;
mod alive;
mod closing;
mod congestion;
mod ecn;
mod handshake;
mod ladder;
mod owned;
mod pair;
mod path_mtu;
mod properties;
mod recovery;
mod sack;
mod scenarios;
mod time;
mod timeout;
mod undo;
mod windows;
