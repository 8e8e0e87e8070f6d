//! Conformance scripts for TCP, in the manner of packetdrill: a script says when the application calls, what arrives from the peer, what
//! has to leave and when, and what the endpoint has to say of itself.
//!
//! The same script runs in virtual time over `voxpath-tcp`, where every time is exact, and over the live kernel (`voxpath-host`), where it
//! holds within a tolerance that the script states. Read [`Script`] first, then [`run`]. The format is described in `docs/tcp-scripts.md`.
//!
//! | file | idea |
//! | --- | --- |
//! | `script.rs` | what a script says |
//! | `parse.rs`, `body.rs`, `words.rs` | reading one; errors name line and column |
//! | `segment.rs` | a segment as a script says it, and the comparison with one that has left |
//! | `peer.rs` | the other end of the ladder: it fills in what a script leaves out |
//! | `run.rs` | running one over an [`Endpoint`] |
//! | `simulated.rs` | the endpoint in virtual time |
#![forbid(unsafe_code)]

mod body;
mod parse;
mod peer;
mod run;
mod script;
mod segment;
mod simulated;
mod words;

pub use parse::ParseError;
pub use peer::{OURS, Peer, THEIRS};
pub use run::{Endpoint, Failure, Observed, Sent, run};
pub use script::{Action, Amount, Call, Check, Event, Phase, Script, Setting, Stack, State, When};
pub use segment::{Options, Segment, Stamps};
pub use simulated::{Simulated, run_simulated};
