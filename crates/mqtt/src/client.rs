//! A client and its session.
//!
//! [`Client::connected`], [`Client::handle_input`], [`Client::disconnected`] and [`Client::handle_timeout`] tell it what
//! happened; [`Client::publish`] gives it a message. Afterwards [`Client::poll_transmit`] has what to write,
//! [`Client::poll_event`] what came of it, and [`Client::poll_timeout`] when to come back. [`Client::wrote`] tells it how far the
//! connection has taken what it wrote.

use crate::decoder::Decoder;
use crate::exchange::{Receiver, Sender};
use crate::packet::{
    Acknowledge, Connack, Connect, Disconnect, Granted, Packet, Properties, Property, Publish, Qos,
    Subscribe, SubscribeTo, Text, Varint, Version, Will,
};
use crate::{Malformed, Reason};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use bytes::Bytes;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// Octets that are given to the connection before more messages are made packets of.
const AHEAD: u64 = 64 << 10;

/// What a client is.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// What it speaks.
    pub version: Version,
    /// Who it is.
    pub client_id: Text,
    /// Forget the session that was.
    pub clean: bool,
    /// Seconds; 0 is off.
    pub keep_alive: u16,
    /// Seconds for which a broker keeps the session, of version 5; in 3.1.1 a session that is not clean stays.
    pub session_expiry: u32,
    /// If it is gone.
    pub will: Option<Will>,
    /// On whose behalf.
    pub user: Option<Text>,
    /// How it proves that.
    pub password: Option<Bytes>,
    /// Messages of QoS 1 and 2 that it has in flight, and takes in flight: receive maximum of version 5.
    pub receive_maximum: u16,
    /// The highest topic alias that it takes and uses; paho and mosquitto's clients use none by themselves.
    pub topic_aliases: u16,
    /// The largest packet that it takes.
    pub maximum_packet: u32,
}

impl ClientSettings {
    /// A client that asks for nothing in particular: a clean session, 60 s keep-alive, 20 messages in flight as mosquitto
    /// and paho have it.
    pub fn new(version: Version, client_id: &str) -> Self {
        Self {
            version,
            client_id: client_id.into(),
            clean: true,
            keep_alive: 60,
            session_expiry: 0,
            will: None,
            user: None,
            password: None,
            receive_maximum: 20,
            topic_aliases: 0,
            maximum_packet: u32::MAX,
        }
    }
}

/// A subscription that a client makes each time it has no session.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// The filter, and how its messages are wanted.
    pub to: SubscribeTo,
    /// Its identifier, of version 5.
    pub id: Option<u32>,
}

/// A message that a client has.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// What it is told of the message.
    pub token: u64,
    /// Where.
    pub topic: Text,
    /// How.
    pub qos: Qos,
    /// Whether it is to be kept.
    pub retain: bool,
    /// What.
    pub payload: Payload,
    /// Of version 5.
    pub properties: Properties,
}

/// What happened to a client.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientEvent {
    /// The broker has accepted it.
    Connected {
        /// It knew the session.
        session_present: bool,
    },
    /// The broker has refused it, or the connection has to end.
    Ended(Reason),
    /// All subscriptions are granted, or refused.
    Subscribed(Vec<Reason>),
    /// The connection has taken the last octet of a message.
    Sent(u64),
    /// The connection was lost before it had taken a message of QoS 0, which is not sent again.
    Lost(u64),
    /// A message was acknowledged, or refused.
    Acknowledged(u64, Reason),
    /// A message has come.
    Message(Publish),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No connection.
    Idle,
    /// A CONNECT was sent.
    Connecting,
    /// The broker has accepted.
    Connected,
    /// The connection is to be closed when all is written.
    Ended,
}

/// A message whose packet the connection has not taken whole.
#[derive(Debug, Clone, Copy)]
struct Unwritten {
    end: u64,
    token: u64,
    qos: Qos,
}

/// A client.
#[derive(Debug)]
pub struct Client {
    settings: Arc<ClientSettings>,
    subscriptions: Arc<[Subscription]>,
    state: State,
    decoder: Decoder,
    out: VecDeque<Payload>,
    /// Octets of packets made, given out, and taken by the connection.
    made: u64,
    given: u64,
    written: u64,
    /// Messages by the octet behind their packet.
    unwritten: VecDeque<Unwritten>,
    waiting: VecDeque<Outgoing>,
    sender: Sender<Outgoing>,
    /// Messages of QoS 2 are handed over when they are released, as mosquitto's and paho's clients do.
    receiver: Receiver<Publish>,
    /// SUBSCRIBEs that were sent and not answered.
    subscribing: Vec<u16>,
    granted: Vec<Reason>,
    aliases_there: BTreeMap<Text, u16>,
    most_aliases_there: u16,
    aliases_here: BTreeMap<u16, Text>,
    most_qos: Qos,
    maximum_packet_there: u32,
    keep_alive: Span,
    last_sent: Time,
    pinged_at: Option<Time>,
    events: VecDeque<ClientEvent>,
    counts: Counts,
}

/// What a client has sent and received.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Octets of packets.
    pub octets_sent: u64,
    /// Octets of packets.
    pub octets_received: u64,
    /// Packets.
    pub packets_sent: u64,
    /// Packets.
    pub packets_received: u64,
    /// Octets of bodies of messages in them.
    pub body_sent: u64,
    /// Octets of bodies of messages in them.
    pub body_received: u64,
    /// Messages that were sent again after a connection was lost.
    pub messages_again: u64,
}

impl Client {
    /// A client without a connection, with what it subscribes to.
    pub fn new(settings: Arc<ClientSettings>, subscriptions: Arc<[Subscription]>) -> Self {
        Self {
            decoder: Decoder::new(settings.maximum_packet),
            sender: Sender::new(settings.receive_maximum),
            keep_alive: Span::from_millis(u64::from(settings.keep_alive) * 1000),
            settings,
            subscriptions,
            state: State::Idle,
            out: VecDeque::new(),
            made: 0,
            given: 0,
            written: 0,
            unwritten: VecDeque::new(),
            waiting: VecDeque::new(),
            receiver: Receiver::default(),
            subscribing: Vec::new(),
            granted: Vec::new(),
            aliases_there: BTreeMap::new(),
            most_aliases_there: 0,
            aliases_here: BTreeMap::new(),
            most_qos: Qos::ExactlyOnce,
            maximum_packet_there: u32::MAX,
            last_sent: Time::ZERO,
            pinged_at: None,
            events: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// What it has sent and received.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Messages that it has and that are not yet done: waiting, in flight, or not yet written.
    pub fn backlog(&self) -> usize {
        self.waiting.len() + self.sender.len() + self.unwritten.len()
    }

    /// Whether the connection is to be closed: it is at its end, and has taken all that was to be written.
    pub fn wants_close(&self) -> bool {
        self.state == State::Ended && self.written == self.made
    }

    /// A connection stands.
    pub fn connected(&mut self, now: Time) {
        let Self { settings, .. } = self;
        self.decoder = Decoder::new(settings.maximum_packet);
        self.state = State::Connecting;
        let mut properties = Properties::default();
        if settings.version == Version::V5 {
            if settings.session_expiry > 0 {
                properties.0.push(Property::SessionExpiry(settings.session_expiry));
            }
            if settings.receive_maximum < u16::MAX {
                properties.0.push(Property::ReceiveMaximum(settings.receive_maximum));
            }
            if settings.maximum_packet < u32::MAX {
                properties.0.push(Property::MaximumPacketSize(settings.maximum_packet));
            }
            if settings.topic_aliases > 0 {
                properties.0.push(Property::TopicAliasMaximum(settings.topic_aliases));
            }
        }
        let connect = Connect {
            version: settings.version,
            clean: settings.clean,
            keep_alive: settings.keep_alive,
            client_id: settings.client_id.clone(),
            will: settings.will.clone(),
            user: settings.user.clone(),
            password: settings.password.clone(),
            properties,
        };
        self.send(now, &Packet::Connect(connect));
    }

    /// The connection is gone. What was in flight is kept for the next one.
    pub fn disconnected(&mut self) {
        self.state = State::Idle;
        self.out.clear();
        self.given = self.made;
        self.written = self.made;
        self.pinged_at = None;
        self.subscribing.clear();
        self.granted.clear();
        self.aliases_there.clear();
        self.aliases_here.clear();
        self.sender.disconnected();
        // What is not written of QoS 0 is lost; of the others it is sent again.
        let lost = self.unwritten.drain(..).filter(|it| it.qos == Qos::AtMostOnce);
        self.events.extend(lost.map(|it| ClientEvent::Lost(it.token)));
    }

    /// Takes in what has come.
    pub fn handle_input(&mut self, now: Time, data: Payload) {
        self.counts.octets_received += u64::from(data.len());
        self.decoder.push(data);
        while matches!(self.state, State::Connecting | State::Connected) {
            match self.decoder.next(self.settings.version) {
                Ok(Some((packet, _))) => {
                    self.counts.packets_received += 1;
                    if let Err(Malformed(reason)) = self.handle(now, packet) {
                        self.fail(now, reason);
                    }
                }
                Ok(None) => break,
                Err(Malformed(reason)) => self.fail(now, reason),
            }
        }
    }

    /// How much it wants to read at a time.
    pub fn wanted(&self) -> u32 {
        self.decoder.wanted()
    }

    /// Takes a message, to be sent as soon as may be.
    pub fn publish(&mut self, now: Time, message: Outgoing) {
        self.waiting.push_back(message);
        self.pump(now);
    }

    /// Says good-bye; the connection is to be closed then.
    pub fn disconnect(&mut self, now: Time) {
        if matches!(self.state, State::Connected | State::Connecting) {
            self.send(now, &Packet::Disconnect(Disconnect::because(Reason::SUCCESS)));
            self.state = State::Ended;
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.state != State::Connected || self.keep_alive == Span::ZERO {
            return;
        }
        match self.pinged_at {
            Some(at) if now >= at + self.keep_alive => self.fail(now, Reason::KEEP_ALIVE_TIMEOUT),
            None if now >= self.last_sent + self.keep_alive => {
                self.pinged_at = Some(now);
                self.send(now, &Packet::Pingreq);
            }
            _ => {}
        }
    }

    /// When something is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        let is_watched = self.state == State::Connected && self.keep_alive > Span::ZERO;
        is_watched.then(|| self.pinged_at.unwrap_or(self.last_sent) + self.keep_alive)
    }

    /// What to write next.
    pub fn poll_transmit(&mut self) -> Option<Payload> {
        let next = self.out.pop_front()?;
        self.given += u64::from(next.len());
        Some(next)
    }

    /// Gives back what of [`Client::poll_transmit`] the connection did not take.
    pub fn untake(&mut self, rest: Payload) {
        self.given -= u64::from(rest.len());
        self.out.push_front(rest);
    }

    /// The connection has taken all that was given out and not given back.
    pub fn wrote(&mut self, now: Time) {
        self.written = self.given;
        while let Some(it) = self.unwritten.pop_front_if(|it| it.end <= self.written) {
            self.events.push_back(ClientEvent::Sent(it.token));
        }
        self.pump(now);
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    fn send(&mut self, now: Time, packet: &Packet) {
        let payload = packet.emit(self.settings.version);
        self.made += u64::from(payload.len());
        self.counts.octets_sent += u64::from(payload.len());
        self.counts.packets_sent += 1;
        self.last_sent = now;
        self.out.push_back(payload);
    }

    fn fail(&mut self, now: Time, reason: Reason) {
        if self.settings.version == Version::V5 && self.state == State::Connected {
            self.send(now, &Packet::Disconnect(Disconnect::because(reason)));
        }
        self.state = State::Ended;
        self.events.push_back(ClientEvent::Ended(reason));
    }

    fn handle(&mut self, now: Time, packet: Packet) -> Result<(), Malformed> {
        let protocol_error = Err(Malformed(Reason::PROTOCOL_ERROR));
        match (self.state, packet) {
            (State::Connecting, Packet::Connack(connack)) => self.accepted(now, connack),
            (State::Connecting, _) => return protocol_error,
            (_, Packet::Publish(publish)) => return self.take(now, publish),
            (_, Packet::Puback(Acknowledge { id, reason, .. })) => {
                if let Some(it) = self.sender.end(id, Qos::AtLeastOnce) {
                    self.events.push_back(ClientEvent::Acknowledged(it.message.token, reason));
                }
                self.pump(now);
            }
            (_, Packet::Pubrec(Acknowledge { id, reason, .. })) => self.received(now, id, reason),
            (_, Packet::Pubrel(Acknowledge { id, .. })) => {
                let released = self.receiver.release(id);
                let known = released.is_some();
                self.events.extend(released.map(ClientEvent::Message));
                let reason = if known { Reason::SUCCESS } else { Reason::IDENTIFIER_NOT_FOUND };
                self.send(now, &Packet::Pubcomp(Acknowledge::because(id, reason)));
            }
            (_, Packet::Pubcomp(Acknowledge { id, .. })) => {
                if let Some(it) = self.sender.end(id, Qos::ExactlyOnce) {
                    self.events.push_back(ClientEvent::Acknowledged(it.message.token, Reason::SUCCESS));
                }
                self.pump(now);
            }
            (_, Packet::Suback(Granted { id, reasons, .. })) => {
                if let Some(place) = self.subscribing.iter().position(|known| *known == id) {
                    self.subscribing.remove(place);
                    self.granted.extend(reasons);
                    if self.subscribing.is_empty() {
                        let granted = core::mem::take(&mut self.granted);
                        self.events.push_back(ClientEvent::Subscribed(granted));
                    }
                }
            }
            (_, Packet::Unsuback(_)) => {}
            (_, Packet::Pingresp) => self.pinged_at = None,
            (_, Packet::Disconnect(Disconnect { reason, .. })) if self.settings.version == Version::V5 => {
                self.state = State::Ended;
                self.events.push_back(ClientEvent::Ended(reason));
            }
            _ => return protocol_error,
        }
        Ok(())
    }

    fn accepted(&mut self, now: Time, Connack { session_present, reason, properties }: Connack) {
        if reason.is_error() {
            self.state = State::Ended;
            self.events.push_back(ClientEvent::Ended(reason));
            return;
        }
        self.state = State::Connected;
        if self.settings.version == Version::V5 {
            let most = properties.receive_maximum().unwrap_or(u16::MAX);
            self.sender.set_most(most.min(self.settings.receive_maximum));
            let aliases = properties.topic_alias_maximum().unwrap_or(0);
            self.most_aliases_there = aliases.min(self.settings.topic_aliases);
            self.maximum_packet_there = properties.maximum_packet_size().unwrap_or(u32::MAX);
            let most_qos = properties.maximum_qos().and_then(|qos| Qos::try_from(qos).ok());
            self.most_qos = most_qos.unwrap_or(Qos::ExactlyOnce);
            if let Some(seconds) = properties.server_keep_alive() {
                self.keep_alive = Span::from_millis(u64::from(seconds) * 1000);
            }
        }
        self.events.push_back(ClientEvent::Connected { session_present });
        if !session_present {
            // The broker releases nothing of what came before; what this end has in flight begins anew as messages (section 4.1).
            let held = core::mem::take(&mut self.receiver);
            self.events.extend(held.into_messages().map(ClientEvent::Message));
            let (received, again): (Vec<_>, Vec<_>) = self.sender.drain().partition(|it| it.is_received);
            self.counts.messages_again += again.len() as u64;
            again.into_iter().rev().for_each(|it| self.waiting.push_front(it.message));
            let done = received.into_iter().map(|it| it.message.token);
            self.events.extend(done.map(|token| ClientEvent::Acknowledged(token, Reason::SUCCESS)));
            self.subscribe(now);
        }
        self.resend(now);
        self.pump(now);
    }

    fn subscribe(&mut self, now: Time) {
        let subscriptions = self.subscriptions.clone();
        for Subscription { to, id } in &*subscriptions {
            let identifier = id.filter(|_| self.settings.version == Version::V5);
            let properties = identifier.map(|id| Property::SubscriptionId(Varint(id))).into_iter().collect();
            let id = self.sender.free_id();
            self.subscribing.push(id);
            let subscribe = Subscribe { id, to: [to.clone()].into(), properties: Properties(properties) };
            self.send(now, &Packet::Subscribe(subscribe));
        }
    }

    /// Sends what was in flight again, in the same order (section 4.6).
    fn resend(&mut self, now: Time) {
        while let Some(it) = self.sender.again() {
            let id = it.id;
            if it.is_received {
                self.send(now, &Packet::Pubrel(Acknowledge::new(id)));
            } else {
                let message = it.message.clone();
                self.counts.messages_again += 1;
                self.emit(now, message, Some(id), true);
            }
        }
    }

    /// Makes packets of messages as long as they may be in flight and the connection keeps up.
    fn pump(&mut self, now: Time) {
        if self.state != State::Connected {
            return;
        }
        while self.made - self.written < AHEAD
            && let Some(next) = self.waiting.front()
        {
            let qos = next.qos.min(self.most_qos);
            if qos > Qos::AtMostOnce && !self.sender.has_room() {
                return;
            }
            let Some(mut message) = self.waiting.pop_front() else { return };
            message.qos = qos;
            let id = (qos > Qos::AtMostOnce).then(|| self.sender.begin(qos, message.clone()));
            self.emit(now, message, id, false);
        }
    }

    fn emit(&mut self, now: Time, message: Outgoing, id: Option<u16>, dup: bool) {
        let Outgoing { token, mut topic, qos, retain, payload, mut properties } = message;
        if self.settings.version == Version::V5 && self.most_aliases_there > 0 {
            let (alias, is_known) = self.alias(&topic);
            properties.0.extend(alias.map(Property::TopicAlias));
            if is_known {
                topic = "".into();
            }
        }
        self.counts.body_sent += u64::from(payload.len());
        self.send(now, &Packet::Publish(Publish { dup, qos, retain, topic, id, properties, payload }));
        self.unwritten.push_back(Unwritten { end: self.made, token, qos });
    }

    /// The number that stands for a topic, if one can, and whether the broker knows that already.
    fn alias(&mut self, topic: &Text) -> (Option<u16>, bool) {
        if let Some(&alias) = self.aliases_there.get(topic) {
            return (Some(alias), true);
        }
        let next = self.aliases_there.len() + 1;
        if next > usize::from(self.most_aliases_there) {
            return (None, false);
        }
        self.aliases_there.insert(topic.clone(), next as u16);
        (Some(next as u16), false)
    }

    fn received(&mut self, now: Time, id: u16, reason: Reason) {
        if reason.is_error() {
            if let Some(it) = self.sender.end(id, Qos::ExactlyOnce) {
                self.events.push_back(ClientEvent::Acknowledged(it.message.token, reason));
            }
            return self.pump(now);
        }
        // Whoever does not know the identifier says so in version 5; in 3.1.1 the exchange ends all the same.
        let known = self.sender.received(id);
        let reason = if known { Reason::SUCCESS } else { Reason::IDENTIFIER_NOT_FOUND };
        self.send(now, &Packet::Pubrel(Acknowledge::because(id, reason)));
    }

    fn take(&mut self, now: Time, mut publish: Publish) -> Result<(), Malformed> {
        if let Some(alias) = publish.properties.topic_alias() {
            if alias > self.settings.topic_aliases {
                return Err(Malformed(Reason::TOPIC_ALIAS_INVALID));
            }
            if publish.topic.is_empty() {
                let known = self.aliases_here.get(&alias).ok_or(Malformed(Reason::PROTOCOL_ERROR))?;
                publish.topic = known.clone();
            } else {
                self.aliases_here.insert(alias, publish.topic.clone());
            }
        }
        self.counts.body_received += u64::from(publish.payload.len());
        match (publish.qos, publish.id) {
            (Qos::AtLeastOnce, Some(id)) => self.send(now, &Packet::Puback(Acknowledge::new(id))),
            (Qos::ExactlyOnce, Some(id)) => {
                self.receiver.take(id, publish);
                self.send(now, &Packet::Pubrec(Acknowledge::new(id)));
                return Ok(());
            }
            _ => {}
        }
        self.events.push_back(ClientEvent::Message(publish));
        Ok(())
    }
}
