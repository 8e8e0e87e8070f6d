//! CoAP: a client and a server as processes over UDP; what they speak is in the crate `coap`.

pub mod client;
pub mod server;
mod tables;

use voxpath_coap::Counts;

/// What an end had the network carry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// Datagrams and their octets.
    pub(crate) counts: Counts,
    /// Octets of bodies: put, or received.
    pub(crate) bodies: u64,
    /// Messages that came again, at a server.
    pub(crate) duplicates: u64,
}
