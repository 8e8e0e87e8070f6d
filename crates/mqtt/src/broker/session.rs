//! A session: what a broker knows of a client, connected or not (section 4.1).

use super::{ConnectionId, Message};
use crate::exchange::{Receiver, Sender};
use crate::packet::{Qos, Text, Version, Will};
use crate::topic::Filter;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use voxpath_units::Time;

/// A message on its way to a client.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub(crate) message: Arc<Message>,
    pub(crate) qos: Qos,
    pub(crate) retain: bool,
    /// Identifiers of the subscriptions that it comes of.
    pub(crate) ids: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) client_id: Text,
    pub(crate) version: Version,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) subscriptions: BTreeMap<Text, Filter>,
    pub(crate) queue: VecDeque<Queued>,
    /// Bytes of bodies in it.
    pub(crate) queued_bytes: u64,
    pub(crate) sender: Sender<Queued>,
    /// Messages of QoS 2 are passed on when they are released, and whether they are to be retained.
    pub(crate) receiver: Receiver<(Arc<Message>, bool)>,
    /// Seconds for which it stays without a connection.
    pub(crate) expiry: u32,
    pub(crate) will: Option<Will>,
    /// When the will is published, and when the session ends, while there is no connection.
    pub(crate) will_at: Option<Time>,
    pub(crate) expires_at: Option<Time>,
}

impl Session {
    pub(crate) fn new(client_id: Text, version: Version, in_flight: u16) -> Self {
        Self {
            client_id,
            version,
            connection: None,
            subscriptions: BTreeMap::new(),
            queue: VecDeque::new(),
            queued_bytes: 0,
            sender: Sender::new(in_flight),
            receiver: Receiver::default(),
            expiry: 0,
            will: None,
            will_at: None,
            expires_at: None,
        }
    }

    pub(crate) fn push(&mut self, queued: Queued) {
        self.queued_bytes += u64::from(queued.message.payload.len());
        self.queue.push_back(queued);
    }

    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let queued = self.queue.pop_front()?;
        self.queued_bytes -= u64::from(queued.message.payload.len());
        Some(queued)
    }
}
