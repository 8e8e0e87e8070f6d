//! Multipath TCP, version 1 (RFC 8684), without I/O: no clock, no socket, no random generator.
//!
//! A subflow is a TCP connection that somebody owns (crate `tcp`, `owner.rs`); its options are header values
//! ([`voxpath_wire::tcp::mptcp`]). Here is what lies above them. Read [`sequence`] first: its numbers are those of everything else.
//!
//! | file | idea |
//! | --- | --- |
//! | `sequence.rs` | the data sequence: octets numbered from 0, 64-bit numbers on the wire |
//! | `keys.rs` | keys, and what is derived from them: token, initial data sequence number, HMAC |
//! | `mappings.rs` | where the octets of a subflow belong in the data sequence |
//! | `reassembly.rs` | what came on all subflows, put in order |
//!
//! Not here yet: the connection that joins subflows, its path manager and schedulers.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod keys;
mod mappings;
mod reassembly;
pub mod sequence;

pub use keys::Key;
pub use mappings::{Mappings, Unmapped};
pub use reassembly::DataReassembly;
pub use sequence::DataSequence;
