//! What a broker allows.

use crate::packet::{Qos, Text};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// What happens to a message for a session whose queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Full {
    /// It is dropped, as mosquitto does.
    DropNew,
    /// The message that has waited longest is dropped.
    DropOld,
    /// The client is disconnected (quota exceeded), and the message is dropped.
    Disconnect,
}

/// What a broker allows.
#[derive(Debug, Clone)]
pub struct BrokerSettings {
    /// Connections at a time.
    pub connections: u32,
    /// Sessions, of clients that are not connected too.
    pub sessions: u32,
    /// Subscriptions of a session.
    pub subscriptions: u32,
    /// The largest packet that it takes.
    pub maximum_packet: u32,
    /// Messages of QoS 1 and 2 that a client may have in flight to the broker, and the broker to a client.
    pub receive_maximum: u16,
    /// Messages that wait for a session.
    pub queue_messages: u32,
    /// Bytes of their bodies.
    pub queue_bytes: u64,
    /// What happens when they are full.
    pub full: Full,
    /// Whether messages of QoS 0 wait for clients that are not connected.
    pub queue_qos0: bool,
    /// Messages that are retained.
    pub retained_messages: u32,
    /// Bytes of their bodies.
    pub retained_bytes: u64,
    /// The highest topic alias that it takes from a client, and uses towards one.
    pub topic_aliases: u16,
    /// The longest session expiry, seconds; also for sessions of 3.1.1 that are not clean.
    pub session_expiry: u32,
    /// The highest QoS.
    pub maximum_qos: Qos,
    /// Users and their passwords; none lets everybody in.
    pub users: Vec<(Text, Bytes)>,
}

impl Default for BrokerSettings {
    /// Those of mosquitto 2.0 where it has them: 20 messages in flight, 1000 in a queue, topic aliases up to 10, no limit of
    /// packets and sessions that the protocol does not have.
    fn default() -> Self {
        Self {
            connections: 1 << 20,
            sessions: 1 << 20,
            subscriptions: 1 << 16,
            maximum_packet: u32::MAX,
            receive_maximum: 20,
            queue_messages: 1000,
            queue_bytes: u64::MAX,
            full: Full::DropNew,
            queue_qos0: false,
            retained_messages: u32::MAX,
            retained_bytes: u64::MAX,
            topic_aliases: 10,
            session_expiry: u32::MAX,
            maximum_qos: Qos::ExactlyOnce,
            users: Vec::new(),
        }
    }
}
