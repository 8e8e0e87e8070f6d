//! What the server and those who come to it saw, of which tables are made.

use crate::process::Peer;
use alloc::vec::Vec;
use voxpath_rtc::forward::Forwarder;
use voxpath_rtc::session::Session;
use voxpath_units::Time;

/// What the server saw.
#[derive(Debug)]
pub(super) struct ServerAccount {
    pub(super) forwarder: Forwarder,
    /// Where it waits for each leg, the sender's first.
    pub(super) places: Vec<Peer>,
    /// Octets of media that came of the sender, and how many were wrong.
    pub(super) octets: (u64, u64),
}

/// What who comes to it saw.
#[derive(Debug)]
pub(super) struct PartyAccount {
    pub(super) session: Session,
    /// Where the server waits for it.
    pub(super) server: Peer,
    /// Octets of media that came, and how many were wrong.
    pub(super) octets: (u64, u64),
    /// When the first and the last of them came.
    pub(super) first_at: Option<Time>,
    pub(super) last_at: Option<Time>,
}
