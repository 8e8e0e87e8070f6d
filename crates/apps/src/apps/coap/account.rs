//! What clients and servers saw, of which tables are made.

use crate::apps::mqtt::MessageId;
use alloc::vec::Vec;
use voxpath_coap::{Client, Counts, Outcome, Server};
use voxpath_units::Time;

/// What an end had the network carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// Datagrams and their octets.
    pub(super) counts: Counts,
    /// Octets of bodies: put, or received.
    pub(super) bodies: u64,
    /// Messages that came again, at a server.
    pub(super) duplicates: u64,
}

/// What a client did.
#[derive(Debug)]
pub(super) struct ClientAccount {
    /// Octets of each body.
    pub(super) bytes: u32,
    pub(super) process: u16,
    pub(super) client: Client,
    pub(super) put: Vec<Put>,
    /// Exchanges that have ended.
    pub(super) done: u32,
}

/// What became of a message at its client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Put {
    pub(super) due_at: Time,
    pub(super) ended: Option<(Time, Outcome)>,
}

impl ClientAccount {
    pub(super) fn end(&self) -> End {
        let bodies = self.put.len() as u64 * u64::from(self.bytes);
        End { counts: self.client.counts(), bodies, duplicates: 0 }
    }
}

/// What a server took.
#[derive(Debug)]
pub(super) struct ServerAccount {
    pub(super) server: Server,
    /// Messages of clients of this run, and when they were there whole.
    pub(super) got: Vec<(MessageId, Time)>,
    /// Bodies of anybody else.
    pub(super) strange: u64,
    pub(super) octets: u64,
    pub(super) last_at: Option<Time>,
}

impl ServerAccount {
    pub(super) fn end(&self) -> End {
        End { counts: self.server.counts(), bodies: self.octets, duplicates: self.server.duplicates() }
    }
}
