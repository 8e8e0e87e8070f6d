//! A TCP endpoint without I/O: no clock, no socket, no random generator.
//!
//! It is given the time, segments and timeouts, and asked what to send and when to be woken, so the same code runs in
//! virtual time and against another kernel over a device. Read [`Connection`] first, then [`Config`], whose every
//! field names the rule that it parametrises. The parts:
//!
//! | file | idea |
//! | --- | --- |
//! | `connection/` | the state machine of RFC 9293: `arrival.rs`, `transmit.rs`, `timers.rs` |
//! | `connection/recovery.rs` | duplicate acknowledgments, fast retransmit and recovery (RFC 5681, 6582, 6675) |
//! | `cc/` | congestion control (RFC 5681, 9438, 9406; Vegas, BBR) |
//! | `connection/prr.rs`, `probe.rs`, `undo.rs`, `frto.rs` | proportional rate reduction, tail loss probes, undoing, spurious timeouts (RFC 6937, 8985, 3522, 5682) |
//! | `connection/acks.rs`, `ecn.rs`, `pacing.rs`, `alive.rs` | delayed acknowledgments, ECN (RFC 3168), pacing, keep-alive and user timeout |
//! | `rack.rs`, `rate.rs` | losses seen by time (RFC 8985); the delivery rate |
//! | `rtt.rs` | round-trip time and retransmission timeout (RFC 6298) |
//! | `scoreboard.rs` | what is known of outstanding octets (RFC 6675) |
//! | `reassembly.rs` | the receive buffer and SACK blocks (RFC 2018) |
//! | `send_buffer.rs`, `sent.rs`, `ranges.rs` | what is to be sent, when it was, sets of octets |
//!
//! Inside, octets are numbered from 0 (the SYN) in 64 bits; sequence numbers modulo 2^32 exist only in headers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod cc;
pub mod config;
mod connection;
mod lean;
mod rack;
mod ranges;
mod rate;
mod reassembly;
mod rtt;
mod scoreboard;
mod send_buffer;
mod sent;

pub use cc::Congestion;
pub use config::{Config, Profile, ReceiveAccounting, Recovery};
pub use connection::{Connection, Counters, Ended, Metrics, Phase, State};
