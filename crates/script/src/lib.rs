//! Conformance scripts for TCP and Multipath TCP, in the manner of packetdrill: a script says when the application calls, what arrives from the peer, what
//! has to leave and when, and what the endpoint has to say of itself.
//!
//! The same script runs in virtual time over `voxpath-tcp`, where every time is exact, and over the live kernel (`voxpath-host`), where it
//! holds within a tolerance that the script states. Read [`Script`] first, then [`run`]. The format is described in `docs/tcp-scripts.md`.
//!
//! | file | idea |
//! | --- | --- |
//! | `script.rs` | what a script says |
//! | `parse.rs`, `body.rs`, `words.rs` | reading one; errors name line and column |
//! | `multipath.rs` | the options of Multipath TCP as a script says them, and what both ends know above subflows |
//! | `segment.rs` | a segment as a script says it, and the comparison with one that has left |
//! | `peer.rs` | the other end of the ladder: it fills in what a script leaves out |
//! | `run.rs` | running one over an [`Endpoint`] |
//! | `simulated.rs`, `stream.rs` | the endpoint in virtual time: a connection of TCP or Multipath TCP |
#![forbid(unsafe_code)]

mod body;
mod multipath;
mod parse;
mod peer;
mod run;
mod script;
mod segment;
mod simulated;
mod stream;
mod words;

pub use multipath::{Kind, Multipath};
pub use parse::ParseError;
pub use peer::{CONNECTS, HOST, LISTENS, OURS, PEER, Peer, THEIRS};
pub use run::{Endpoint, Failure, Observed, Sent, run};
pub use script::{Action, Amount, Call, Check, Event, Phase, Script, Setting, Stack, State, Transport, When};
pub use segment::{Options, Segment, Stamps};
pub use simulated::run_simulated;
