//! What clients, observers and servers saw, of which tables are made.

use crate::apps::mqtt::MessageId;
use alloc::vec::Vec;
use voxpath_coap::{Client, Counts, Outcome, Server};
use voxpath_units::Time;

/// What an end had the network carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// Datagrams and their octets.
    pub(super) counts: Counts,
    /// Octets of bodies: put and taken.
    pub(super) bodies: u64,
    /// Messages that came again, at a server.
    pub(super) duplicates: u64,
    /// Notifications, at a server.
    pub(super) notifications: u64,
}

/// What a client or an observer did.
#[derive(Debug)]
pub(super) struct ClientAccount {
    pub(super) process: u16,
    pub(super) client: Client,
    pub(super) asked: Vec<Asked>,
    /// Exchanges that have ended.
    pub(super) done: u32,
    /// Representations that came.
    pub(super) readings: Vec<Reading>,
}

/// What became of a request at its client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) due_at: Time,
    pub(super) is_put: bool,
    /// Octets of the body that is put, or that came.
    pub(super) octets: u32,
    pub(super) ended: Option<(Time, Outcome)>,
}

/// A representation that came to a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// None of what nobody in this run has made.
    pub(super) what: Option<MessageId>,
    pub(super) octets: u32,
    pub(super) at: Time,
}

impl ClientAccount {
    pub(super) fn new(process: u16, client: Client) -> Self {
        Self { process, client, asked: Vec::new(), done: 0, readings: Vec::new() }
    }

    /// Notes what has come of the resource.
    pub(super) fn note(&mut self, now: Time) {
        while let Some(content) = self.client.poll_content() {
            let (what, octets) = (MessageId::of(&content.body), content.body.len());
            self.readings.push(Reading { what, octets, at: now });
            if let Some(asked) = self.asked.get_mut(content.key as usize) {
                asked.octets = octets;
            }
        }
    }

    /// Octets of all that came.
    pub(super) fn octets(&self) -> u64 {
        self.readings.iter().map(|it| u64::from(it.octets)).sum()
    }

    pub(super) fn end(&self) -> End {
        let put = || self.asked.iter().map(|it| u64::from(it.octets)).sum();
        let bodies = if self.readings.is_empty() { put() } else { self.octets() };
        End { counts: self.client.counts(), bodies, duplicates: 0, notifications: 0 }
    }
}

/// What a server took, and what it had by itself.
#[derive(Debug)]
pub(super) struct ServerAccount {
    pub(super) server: Server,
    /// Messages of clients of this run, and when they were there whole.
    pub(super) got: Vec<(MessageId, Time)>,
    /// Representations of its own resources, and when it had them.
    pub(super) made: Vec<(MessageId, Time)>,
    /// Bodies of anybody else.
    pub(super) strange: u64,
    pub(super) octets: u64,
    pub(super) last_at: Option<Time>,
}

impl ServerAccount {
    pub(super) fn end(&self) -> End {
        End {
            counts: self.server.counts(),
            bodies: self.octets,
            duplicates: self.server.duplicates(),
            notifications: self.server.notifications(),
        }
    }
}
