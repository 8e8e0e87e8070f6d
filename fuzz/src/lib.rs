//! What holds whatever comes from outside, as functions of bytes.
//!
//! A target takes any bytes and panics if something does not hold that has to; all else it takes in silence. Three drive
//! the same targets: `make fuzz` (libFuzzer, which steers by coverage), `tests/corpus.rs` (the corpus, and a fixed number of
//! mutations of it), and the tests named after the bugs that were found. Read [`source`] first, then [`tcp`].
#![forbid(unsafe_code)]

pub mod coap;
pub mod corpus;
pub mod edge;
pub mod endurance;
pub mod link;
pub mod mptcp;
pub mod mqtt;
pub mod mutate;
pub mod plan;
pub mod rtp;
pub mod script;
pub mod soak;
pub mod source;
pub mod tcp;
pub mod wire;

#[path = "../../crates/sim/tests/common/mod.rs"]
mod common;

/// What is fuzzed.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name of its file in the corpus.
    pub name: &'static str,
    /// Panics if something does not hold.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 10] = [
    Target { name: "coap", run: coap::run },
    Target { name: "edge", run: edge::run },
    Target { name: "link", run: link::run },
    Target { name: "mptcp", run: mptcp::run },
    Target { name: "mqtt", run: mqtt::run },
    Target { name: "plan", run: plan::run },
    Target { name: "rtp", run: rtp::run },
    Target { name: "script", run: script::run },
    Target { name: "tcp", run: tcp::run },
    Target { name: "wire", run: wire::run },
];

/// The target of that name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
