//! What brokers, publishers and subscribers saw, of which tables are made.

use super::clients::Clients;
use super::identity::{MessageId, Short};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use voxpath_mqtt::broker::BrokerCounts;
use voxpath_mqtt::{Qos, Reason, Text};
use voxpath_units::Time;

/// What a broker saw.
#[derive(Debug, Default)]
pub(super) struct BrokerAccount {
    pub(super) node: u32,
    /// Messages of publishers of this run, and when they were there whole.
    pub(super) taken: Vec<(MessageId, Time)>,
    /// Messages that are too short to tell which they are.
    pub(super) short: Vec<(Text, Short, Time)>,
    /// Bytes of bodies of all messages.
    pub(super) octets: u64,
    pub(super) first_at: Option<Time>,
    pub(super) last_at: Option<Time>,
    pub(super) most_connections: u64,
    pub(super) connections: u64,
    pub(super) counts: BrokerCounts,
}

/// What publishers did.
#[derive(Debug)]
pub(super) struct PublisherAccount {
    /// Bytes of bodies, in turn.
    pub(super) sizes: Vec<u32>,
    pub(super) qos: Qos,
    pub(super) process: u16,
    pub(super) sources: Vec<Source>,
    pub(super) clients: Clients,
}

/// The messages of a client.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) topic: Text,
    pub(super) published: Vec<Published>,
    /// When the next one is due; none before the client was accepted, and while one is waited for.
    pub(super) next_at: Option<Time>,
    /// Messages that were sent at QoS 0, or acknowledged.
    pub(super) done: u32,
}

/// What became of a message at its publisher.
#[derive(Debug, Clone, Copy)]
pub(super) struct Published {
    pub(super) due_at: Time,
    pub(super) sent_at: Option<Time>,
    pub(super) acknowledged_at: Option<Time>,
    pub(super) reason: Reason,
}

impl PublisherAccount {
    /// Octets of a client's message.
    pub(super) fn size(&self, number: u32) -> u32 {
        self.sizes[number as usize % self.sizes.len()]
    }
}

/// What subscribers saw.
#[derive(Debug)]
pub(super) struct SubscriberAccount {
    pub(super) clients: Clients,
    pub(super) deliveries: Vec<Delivery>,
    /// Messages whose octets alone do not tell which they are: their topics, and what octets short ones have.
    pub(super) unnamed: Vec<(Text, Option<Short>)>,
    /// Their topics, each once.
    pub(super) topics: BTreeSet<Text>,
    /// Messages that came, of each client.
    pub(super) came: Vec<u32>,
    pub(super) octets: u64,
}

/// A message that came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    pub(super) client: u32,
    /// Which message; else an index into [`SubscriberAccount::unnamed`].
    pub(super) what: Result<MessageId, u32>,
    pub(super) at: Time,
    pub(super) octets: u32,
    pub(super) qos: Qos,
    pub(super) dup: bool,
    pub(super) retained: bool,
}
