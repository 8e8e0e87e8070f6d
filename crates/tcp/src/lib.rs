//! A TCP endpoint without I/O: no clock, no socket, no random generator.
//!
//! It is given the time, segments and timeouts, and asked what to send and when to be woken, so the same code runs in
//! virtual time and against another kernel over a device. Read [`Connection`] first, then [`Config`], whose every
//! field names the rule that it parametrises. The parts:
//!
//! | file | idea |
//! | --- | --- |
//! | `connection/` | the state machine of RFC 9293, which joins the parts: `arrival.rs`, `transmit.rs`, `timers.rs`; ECN's handshake, path MTU, keep-alive and user timeout |
//! | `receiver/` | the receiving half: reassembly, SACK blocks, receive window, delayed acknowledgments |
//! | `sender/` | the sending half: send buffer, sequence numbers, what is outstanding, windows, pacing |
//! | `recovery/` | loss recovery: detection (RFC 5681, 6675, RACK), PRR, tail loss probes, undoing, F-RTO |
//! | `cc/` | congestion control (RFC 5681, 9438, 9406; Vegas, BBR) |
//! | `owner.rs` | what the owner of a connection adds to it (Multipath TCP, RFC 8684) |
//! | `shared.rs` | what the parts have in common: parameters, state, options, round-trip time, counters |
//! | `rtt.rs` | round-trip time and retransmission timeout (RFC 6298) |
//! | `ranges.rs` | sets of octets |
//!
//! A part has its own state and is lent what it needs of the others: the receiver knows nothing of the other two, loss recovery acts on
//! the sender, and the connection alone sees all three.
//!
//! Inside, octets are numbered from 0 (the SYN) in 64 bits; sequence numbers modulo 2^32 exist only in headers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod cc;
pub mod config;
mod connection;
mod lean;
pub mod owner;
mod ranges;
mod receiver;
mod recovery;
mod rtt;
mod sender;
mod shared;

pub use cc::Congestion;
pub use config::{Config, Profile, ReceiveAccounting, Recovery};
pub use connection::{Connection, Counters, Ended, Metrics, Phase, State, reset_for};
pub use lean::partition_point_near_end;
pub use owner::{Mapping, Owner, Received, Receiving, Sending};
pub use receiver::{FIRST_SHARE, Packets, ReceiveMemory, first_room};
pub use sender::{SendBuffer, is_writeable, memory_of_segment};

use voxpath_wire::tcp::Seq;

/// The offset that `seq` stands for, counted from `base`, near `reference`; none if before `base`.
fn unwrap_offset(seq: Seq, base: Seq, reference: u64) -> Option<u64> {
    let near = base.wrapping_add(reference as u32);
    reference.checked_add_signed(i64::from(seq.distance_from(near)))
}
