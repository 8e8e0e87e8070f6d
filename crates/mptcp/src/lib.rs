//! Multipath TCP, version 1 (RFC 8684), without I/O: no clock, no socket, no random generator.
//!
//! A subflow is a TCP connection that somebody owns (crate `tcp`, `owner.rs`); its options are header values
//! ([`voxpath_wire::tcp::mptcp`]). Here is what lies above them. Read [`sequence`] first: its numbers are those of everything else.
//!
//! | file | idea |
//! | --- | --- |
//! | `connection/` | a connection: what comes, what leaves, who carries what, fallback, endings |
//! | `subflow.rs` | a TCP connection, and what is kept beside it |
//! | `polled.rs` | that connection, polled where something may come of it |
//! | `scheduler/` | which subflow carries what: a file each |
//! | `cc/` | congestion control of several subflows together: a file each |
//! | `path_manager.rs` | which subflows there should be |
//! | `oracle.rs` | which of them are to be doubted |
//! | `sender.rs`, `receiver.rs` | the two halves of the data level |
//! | `sequence.rs` | the data sequence: octets numbered from 0, 64-bit numbers on the wire |
//! | `keys.rs` | keys, and what is derived from them: token, initial data sequence number, HMAC |
//! | `pieces.rs` | what Linux retransmits at the data level at once |
//! | `mappings.rs` | where the octets of a subflow belong in the data sequence |
//! | `reassembly.rs` | what came on all subflows, put in order |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod cc;
mod checksum;
mod config;
mod connection;
pub mod keys;
mod mappings;
mod oracle;
mod path_manager;
mod pieces;
mod polled;
mod reassembly;
mod receiver;
pub mod scheduler;
mod sender;
pub mod sequence;
mod subflow;

pub use cc::Coupling;
pub use checksum::data_checksum;
pub use config::Config;
pub use connection::{Connection, Counters, Setup, SubflowId, joins, reset_for};
pub use keys::Key;
pub use mappings::{Mappings, Unmapped};
pub use path_manager::{LocalAddress, Opening, Opens, PathManagement, When};
pub use reassembly::DataReassembly;
pub use scheduler::Scheduling;
pub use sequence::DataSequence;
pub use subflow::Subflow;
