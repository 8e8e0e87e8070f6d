//! What the clients of a publisher or a subscriber are.

use super::identity::MOST_CLIENTS;
use crate::layers::LayerOptions;
use crate::process::Peer;
use crate::settings::at_least_one;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_mqtt::{ClientSettings, Properties, Property, Qos, Version, Will, is_topic_name};
use voxpath_units::check::Check;

/// In topics and filters this stands for the number of the client.
pub(super) const CLIENT: &str = "{client}";

/// What the clients of a process are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientOptions {
    /// Where the broker is.
    pub broker: Peer,
    /// How many there are, each with a connection of its own.
    pub count: u32,
    /// When the first one connects.
    pub start_ns: u64,
    /// From one client's connecting to the next one's.
    pub spread_ns: u64,
    /// How long a client waits after a connection has failed.
    pub retry_ns: u64,
    /// What they speak.
    pub version: Version,
    /// Names; with [`CLIENT`] for the number.
    pub client_id: String,
    /// Forget the session that was.
    pub clean: bool,
    /// Seconds; 0 is off.
    pub keep_alive_s: u16,
    /// Seconds for which the broker keeps the session.
    pub session_expiry_s: u32,
    /// Messages of QoS 1 and 2 in flight.
    pub in_flight: u16,
    /// The highest topic alias.
    pub topic_aliases: u16,
    /// On whose behalf.
    pub user: Option<String>,
    /// How they prove that.
    pub password: Option<String>,
    /// If they are gone.
    pub will: Option<WillOptions>,
    /// What their connections go over.
    pub layers: LayerOptions,
}

/// A will of clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WillOptions {
    /// Where.
    pub topic: String,
    /// What it says.
    pub text: String,
    /// How.
    pub qos: Qos,
    /// Whether it is kept.
    pub retain: bool,
    /// Seconds after which it is published.
    pub delay_s: u32,
}

/// A text with the number of a client in it.
pub(crate) fn numbered(text: &str, client: u32) -> String {
    text.replace(CLIENT, &format!("{client}"))
}

impl ClientOptions {
    pub(crate) fn check(&self, nodes: u32, check: &mut Check<'_>) {
        at_least_one(check, [("count", self.count.into()), ("in_flight", self.in_flight.into())]);
        let most = format_args!("at most {MOST_CLIENTS} clients");
        check.at("count").need(self.count <= MOST_CLIENTS, most);
        check.at("start_ns").span(self.start_ns);
        check.at("spread_ns").span(self.spread_ns.saturating_mul(self.count.into()));
        check.at("retry_ns").span(self.retry_ns);
        check.at("retry_ns").need(self.retry_ns > 0, "a client that tries again lets time pass");
        check.at("broker").at("port").need(self.broker.port > 0, "a port is above zero");
        check.at("broker").at("node").need(self.broker.node < nodes, "there is no such node");
        let is_one_each = self.count <= 1 || self.client_id.contains(CLIENT);
        check.at("client_id").need(is_one_each, format_args!("several clients need {CLIENT} in their names"));
        let len = numbered(&self.client_id, self.count).len();
        check.at("client_id").need((1..=65_535).contains(&len), "has 1 to 65535 bytes");
        check.at("client_id").need(!self.client_id.contains('\0'), "has no character U+0000");
        let needs_user = self.version == Version::V311 && self.password.is_some() && self.user.is_none();
        check.at("password").need(!needs_user, "3.1.1 has no password without a user");
        for (key, text) in [("user", &self.user), ("password", &self.password)] {
            let fits = text.as_ref().is_none_or(|text| text.len() <= 65_535 && !text.contains('\0'));
            check.at(key).need(fits, "has at most 65535 bytes, and no character U+0000");
        }
        self.layers.check(&mut check.at("layers"));
        if let Some(will) = &self.will {
            check_topic(&will.topic, self.count, &mut check.at("will").at("topic"));
            check.at("will").at("text").need(will.text.len() <= 65_535, "a will has at most 65535 bytes");
        }
    }

    /// What one of them is.
    pub(crate) fn client(&self, number: u32) -> Arc<ClientSettings> {
        let will = self.will.as_ref().map(|will| {
            let delay = (self.version == Version::V5 && will.delay_s > 0)
                .then_some(Property::WillDelay(will.delay_s));
            Will {
                topic: numbered(&will.topic, number).into(),
                payload: Vec::from(will.text.as_bytes()).into(),
                qos: will.qos,
                retain: will.retain,
                properties: Properties(delay.into_iter().collect()),
            }
        });
        Arc::new(ClientSettings {
            version: self.version,
            client_id: numbered(&self.client_id, number).into(),
            clean: self.clean,
            keep_alive: self.keep_alive_s,
            session_expiry: self.session_expiry_s,
            will,
            user: self.user.as_deref().map(Into::into),
            password: self.password.as_ref().map(|password| Vec::from(password.as_bytes()).into()),
            receive_maximum: self.in_flight,
            topic_aliases: self.topic_aliases,
            maximum_packet: u32::MAX,
        })
    }
}

pub(crate) fn check_topic(topic: &str, clients: u32, check: &mut Check<'_>) {
    let is_topic = is_topic_name(&numbered(topic, clients));
    check.need(is_topic, "a topic has 1 to 65535 bytes, and no +, # or U+0000");
}
