//! Messages on their way through a broker.

use super::connection::State;
use super::session::Queued;
use super::settings::Full;
use super::subscriptions::{MOST_LEVELS, Wanted};
use super::{Broker, BrokerEvent, ConnectionId, Message, SessionId};
use crate::packet::{
    Acknowledge, MOST, Packet, Properties, Property, Publish, Qos, SubscribeTo, Varint, Version, Will,
    varint_len,
};
use crate::topic::Filter;
use crate::{Malformed, Reason};
use alloc::sync::Arc;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// Octets that are given to a connection before more messages are made packets of.
const AHEAD: u64 = 64 << 10;

impl Broker {
    /// A client publishes.
    pub(super) fn take(
        &mut self,
        now: Time,
        id: ConnectionId,
        session: SessionId,
        mut publish: Publish,
    ) -> Result<(), Malformed> {
        if publish.qos > self.settings.maximum_qos {
            return Err(Malformed(Reason::QOS_NOT_SUPPORTED));
        }
        if let Some(alias) = publish.properties.topic_alias() {
            self.resolve(id, alias, &mut publish)?;
        }
        // Only a server sends subscription identifiers (section 3.3.2.3.8).
        if publish.properties.subscription_id().is_some() {
            return Err(Malformed(Reason::PROTOCOL_ERROR));
        }
        if publish.topic.split('/').count() > MOST_LEVELS {
            return Err(Malformed(Reason::TOPIC_INVALID));
        }
        let Publish { qos, retain, id: packet_id, .. } = publish;
        let message = Arc::new(Message::of(now, publish));
        if let (Qos::ExactlyOnce, Some(packet_id)) = (qos, packet_id) {
            self.hold(session, packet_id, message, retain)?;
            self.send(id, &Packet::Pubrec(Acknowledge::new(packet_id)));
            return Ok(());
        }
        self.note(&message);
        let matched = self.publish(now, Some(session), &message, qos, retain);
        if let Some(packet_id) = packet_id {
            let reason = if matched { Reason::SUCCESS } else { Reason::NO_MATCHING_SUBSCRIBERS };
            self.send(id, &Packet::Puback(Acknowledge::because(packet_id, reason)));
        }
        Ok(())
    }

    /// A message is there whole.
    fn note(&mut self, message: &Arc<Message>) {
        self.counts.messages_in += 1;
        self.events.push_back(BrokerEvent::Taken(message.clone()));
    }

    /// Holds a message of QoS 2 until it is released, as mosquitto does (section 4.3.3 leaves it open).
    fn hold(
        &mut self,
        id: SessionId,
        packet_id: u16,
        message: Arc<Message>,
        retain: bool,
    ) -> Result<(), Malformed> {
        let (most, queue) = (self.settings.receive_maximum, self.settings.queue_messages);
        let Some(session) = self.session(id) else { return Ok(()) };
        // A client of 3.1.1 was told of no maximum.
        let most = match session.version {
            Version::V5 => most.into(),
            Version::V311 => queue.saturating_add(most.into()) as usize,
        };
        if session.receiver.len() >= most && !session.receiver.contains(packet_id) {
            return Err(Malformed(Reason::RECEIVE_MAXIMUM_EXCEEDED));
        }
        if session.receiver.take(packet_id, (message.clone(), retain)) {
            self.note(&message);
        }
        Ok(())
    }

    fn resolve(&mut self, id: ConnectionId, alias: u16, publish: &mut Publish) -> Result<(), Malformed> {
        let most = self.settings.topic_aliases;
        let Some(connection) = self.connection(id) else { return Ok(()) };
        if alias > most {
            return Err(Malformed(Reason::TOPIC_ALIAS_INVALID));
        }
        if publish.topic.is_empty() {
            let known = connection.aliases_in.get(&alias).ok_or(Malformed(Reason::PROTOCOL_ERROR))?;
            publish.topic = known.clone();
        } else {
            connection.aliases_in.insert(alias, publish.topic.clone());
        }
        Ok(())
    }

    pub(super) fn publish_will(&mut self, now: Time, will: Will) {
        let Will { topic, payload, qos, retain, properties } = will;
        let payload = Payload::bytes(payload);
        let publish = Publish { dup: false, qos, retain, topic, id: None, properties, payload };
        let message = Arc::new(Message::of(now, publish));
        self.publish(now, None, &message, qos, retain);
    }

    /// Passes a message on to all who want it, and keeps it if it is to be retained; whether anybody wanted it.
    pub(super) fn publish(
        &mut self,
        now: Time,
        from: Option<SessionId>,
        message: &Arc<Message>,
        qos: Qos,
        retain: bool,
    ) -> bool {
        if retain {
            self.retain(message, qos);
        }
        let sessions = &self.sessions;
        let is_there = |id: SessionId| matches!(sessions.get(id as usize), Some(Some(session)) if session.connection.is_some());
        let found = self.subscriptions.find(&message.topic, from, &is_there);
        let matched = !found.is_empty();
        for (Wanted { session, qos: most, retain_as_published, .. }, ids) in found {
            let queued = Queued {
                message: message.clone(),
                qos: qos.min(most),
                retain: retain && retain_as_published,
                ids,
            };
            self.queue(now, session, queued);
        }
        matched
    }

    fn retain(&mut self, message: &Arc<Message>, qos: Qos) {
        let len = u64::from(message.payload.len());
        if let Some((before, _)) = self.retained.remove(&message.topic) {
            self.retained_bytes -= u64::from(before.payload.len());
        }
        let has_room = self.retained.len() < self.settings.retained_messages as usize
            && self.retained_bytes + len <= self.settings.retained_bytes;
        if len > 0 && has_room {
            self.retained_bytes += len;
            self.retained.insert(message.topic.clone(), (message.clone(), qos));
        }
    }

    /// Gives a new subscription what is retained (section 3.3.1.3); one that is shared gets nothing.
    pub(super) fn give_retained(&mut self, now: Time, session: SessionId, to: &SubscribeTo, id: Option<u32>) {
        let Some(filter) = Filter::parse(&to.filter).filter(|filter| filter.share.is_none()) else { return };
        let wild = filter.filter.find(['#', '+']).unwrap_or(filter.filter.len());
        // `a/#` matches `a` too.
        let prefix = filter.filter[..wild].trim_end_matches('/');
        let candidates =
            self.retained.range::<str, _>((core::ops::Bound::Included(prefix), core::ops::Bound::Unbounded));
        let found: Vec<(Arc<Message>, Qos)> = candidates
            .take_while(|(topic, _)| topic.starts_with(prefix))
            .filter(|(topic, _)| filter.matches(topic))
            .map(|(_, retained)| retained.clone())
            .collect();
        for (message, qos) in found {
            if message.expires_at.is_some_and(|at| at <= now) {
                continue;
            }
            let queued =
                Queued { message, qos: qos.min(to.qos), retain: true, ids: id.into_iter().collect() };
            self.queue(now, session, queued);
        }
    }

    /// Has a message wait for a session, or go at once.
    fn queue(&mut self, now: Time, id: SessionId, queued: Queued) {
        let Self { settings, sessions, .. } = self;
        let Some(Some(session)) = sessions.get_mut(id as usize) else { return };
        if session.connection.is_none() && queued.qos == Qos::AtMostOnce && !settings.queue_qos0 {
            return;
        }
        let len = u64::from(queued.message.payload.len());
        let is_full = |session: &super::session::Session| {
            session.queue.len() >= settings.queue_messages as usize
                || session.queued_bytes.saturating_add(len) > settings.queue_bytes
        };
        let mut dropped = 0_u64;
        if is_full(session) {
            match settings.full {
                Full::DropOld => {
                    while is_full(session) && session.pop().is_some() {
                        dropped += 1;
                    }
                }
                Full::DropNew | Full::Disconnect => {}
            }
        }
        let takes = !is_full(session);
        let name = session.client_id.clone();
        let connection = session.connection;
        if takes {
            session.push(queued);
            self.counts.longest_queue = self.counts.longest_queue.max(session.queue.len() as u64);
        } else {
            dropped += 1;
        }
        self.counts.messages_dropped += dropped;
        for _ in 0..dropped {
            self.events.push_back(BrokerEvent::Dropped(name.clone()));
        }
        if takes {
            self.pump(now, id);
        } else if let (Full::Disconnect, Some(connection)) = (self.settings.full, connection) {
            self.end(now, connection, Reason::QUOTA_EXCEEDED);
        }
    }

    /// Makes packets of the messages that wait for a session, as long as its client takes them.
    pub(super) fn pump(&mut self, now: Time, id: SessionId) {
        loop {
            let Some(Some(session)) = self.sessions.get_mut(id as usize) else { return };
            let Some(connection_id) = session.connection else { return };
            let Some(Some(connection)) = self.connections.get_mut(connection_id as usize) else { return };
            let Some(next) = session.queue.front() else { return };
            if connection.state != State::Open(id)
                || connection.backlog() >= AHEAD
                || (next.qos > Qos::AtMostOnce && !session.sender.has_room())
            {
                return;
            }
            let Some(queued) = session.pop() else { return };
            if queued.message.expires_at.is_some_and(|at| at <= now) {
                self.counts.messages_expired += 1;
                continue;
            }
            // What is too large for the client is treated as if it had been sent (section 3.1.2.11.4).
            let most = connection.maximum_packet_out;
            if most < u32::MAX && queued.largest_packet(connection.version) > most {
                let name = session.client_id.clone();
                self.counts.messages_dropped += 1;
                self.events.push_back(BrokerEvent::Dropped(name));
                continue;
            }
            let packet_id =
                (queued.qos > Qos::AtMostOnce).then(|| session.sender.begin(queued.qos, queued.clone()));
            let alias = connection.alias(&queued.message.topic);
            let packet = queued.packet(now, connection.version, packet_id, false, alias);
            connection.send(&packet);
            self.counts.messages_out += 1;
            self.mark(connection_id);
        }
    }

    /// Sends what was in flight again (section 4.4).
    pub(super) fn resend(&mut self, now: Time, connection_id: ConnectionId, id: SessionId) {
        loop {
            let Some(Some(session)) = self.sessions.get_mut(id as usize) else { return };
            let Some(Some(connection)) = self.connections.get_mut(connection_id as usize) else { return };
            let Some(it) = session.sender.again() else { return };
            let packet = if it.is_received {
                Packet::Pubrel(Acknowledge::new(it.id))
            } else {
                self.counts.messages_out += 1;
                let alias = connection.alias(&it.message.message.topic);
                it.message.packet(now, connection.version, Some(it.id), true, alias)
            };
            connection.send(&packet);
            self.mark(connection_id);
        }
    }

    pub(super) fn pubrec(&mut self, now: Time, id: ConnectionId, session: SessionId, it: &Acknowledge) {
        let Some(of) = self.session(session) else { return };
        if it.reason.is_error() {
            of.sender.end(it.id, Qos::ExactlyOnce);
            return self.pump(now, session);
        }
        let known = of.sender.received(it.id);
        let reason = if known { Reason::SUCCESS } else { Reason::IDENTIFIER_NOT_FOUND };
        self.send(id, &Packet::Pubrel(Acknowledge::because(it.id, reason)));
    }
}

impl Message {
    fn of(now: Time, publish: Publish) -> Self {
        let Publish { topic, payload, properties, .. } = publish;
        let expires_at =
            properties.message_expiry().map(|seconds| now + Span::from_millis(u64::from(seconds) * 1000));
        // What is between a client and its server alone is not passed on.
        let is_passed_on = |property: &Property| {
            !matches!(property, Property::TopicAlias(_) | Property::MessageExpiry(_) | Property::WillDelay(_))
        };
        let properties = properties.0.into_iter().filter(is_passed_on).collect();
        Self { topic, payload, properties, expires_at }
    }
}

impl Queued {
    /// No packet that is made of it is larger.
    fn largest_packet(&self, version: Version) -> u32 {
        let header = 2 + self.message.topic.len() as u32 + 2;
        let mut properties = Vec::new();
        if version == Version::V5 {
            let ids = self.ids.iter().map(|&id| Property::SubscriptionId(Varint(id)));
            let own = [Property::MessageExpiry(0), Property::TopicAlias(1)];
            Properties(self.message.properties.iter().cloned().chain(ids).chain(own).collect())
                .put(&mut properties);
        }
        let content =
            header.saturating_add(properties.len() as u32).saturating_add(self.message.payload.len());
        if content > MOST { u32::MAX } else { 1 + varint_len(content) + content }
    }

    fn packet(
        &self,
        now: Time,
        version: Version,
        id: Option<u16>,
        dup: bool,
        (alias, is_known): (Option<u16>, bool),
    ) -> Packet {
        let Message { topic, payload, properties, expires_at } = &*self.message;
        let mut own = Vec::new();
        if version == Version::V5 {
            own.extend_from_slice(properties);
            // What is left, in whole seconds (section 3.3.2.3.3).
            own.extend(
                expires_at
                    .map(|at| Property::MessageExpiry((at.since(now).as_nanos() / 1_000_000_000) as u32)),
            );
            own.extend(self.ids.iter().map(|&id| Property::SubscriptionId(Varint(id))));
            own.extend(alias.map(Property::TopicAlias));
        }
        let topic = if is_known { "".into() } else { topic.clone() };
        Packet::Publish(Publish {
            dup,
            qos: self.qos,
            retain: self.retain,
            topic,
            id,
            properties: Properties(own),
            payload: payload.clone(),
        })
    }
}
