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
//! | `connection/ecn.rs`, `pacing.rs`, `alive.rs` | ECN (RFC 3168), pacing, keep-alive and user timeout |
//! | `receiver/` | the receiving half: reassembly, SACK blocks, receive window, delayed acknowledgments |
//! | `shared.rs` | what the halves have in common: parameters, state, options, round-trip time, counters |
//! | `rack.rs`, `rate.rs` | losses seen by time (RFC 8985); the delivery rate |
//! | `rtt.rs` | round-trip time and retransmission timeout (RFC 6298) |
//! | `scoreboard.rs` | what is known of outstanding octets (RFC 6675) |
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
mod receiver;
mod rtt;
mod scoreboard;
mod send_buffer;
mod sent;
mod shared;

pub use cc::Congestion;
pub use config::{Config, Profile, ReceiveAccounting, Recovery};
pub use connection::{Connection, Counters, Ended, Metrics, Phase, State};

use voxpath_wire::tcp::Seq;

/// The offset that `seq` stands for, counted from `base`, near `reference`; none if before `base`.
fn unwrap_offset(seq: Seq, base: Seq, reference: u64) -> Option<u64> {
    let near = base.wrapping_add(reference as u32);
    reference.checked_add_signed(i64::from(seq.distance_from(near)))
}
