//! What a broker does with each packet (section 3), and with sessions (section 4.1).

use super::connection::State;
use super::session::Session;
use super::subscriptions::{MOST_LEVELS, Wanted};
use super::{Broker, ConnectionId, SessionId, Timer};
use crate::packet::{
    Acknowledge, Connack, Connect, Disconnect, Granted, Packet, Properties, Property, Qos, RetainHandling,
    Subscribe, SubscribeTo, Text, Unsubscribe, Version,
};
use crate::topic::Filter;
use crate::{Malformed, Reason};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};

impl Broker {
    pub(super) fn handle(&mut self, now: Time, id: ConnectionId, packet: Packet) -> Result<(), Malformed> {
        let protocol_error = Err(Malformed(Reason::PROTOCOL_ERROR));
        let state = match self.connection(id) {
            Some(connection) => connection.state,
            None => return Ok(()),
        };
        match (state, packet) {
            (State::New, Packet::Connect(connect)) => self.connect(now, id, connect),
            (State::Open(session), Packet::Publish(publish)) => self.take(now, id, session, publish),
            (State::Open(session), Packet::Puback(it)) => {
                let known = self.session(session).and_then(|it_is| it_is.sender.end(it.id, Qos::AtLeastOnce));
                if known.is_some() {
                    self.pump(now, session);
                }
                Ok(())
            }
            (State::Open(session), Packet::Pubrec(it)) => {
                self.pubrec(now, id, session, &it);
                Ok(())
            }
            (State::Open(session), Packet::Pubrel(it)) => {
                let released = self.session(session).and_then(|session| session.receiver.release(it.id));
                let known = released.is_some();
                if let Some((message, retain)) = released {
                    self.publish(now, Some(session), &message, Qos::ExactlyOnce, retain);
                }
                let reason = if known { Reason::SUCCESS } else { Reason::IDENTIFIER_NOT_FOUND };
                self.send(id, &Packet::Pubcomp(Acknowledge::because(it.id, reason)));
                Ok(())
            }
            (State::Open(session), Packet::Pubcomp(it)) => {
                if let Some(of) = self.session(session)
                    && of.sender.end(it.id, Qos::ExactlyOnce).is_some()
                {
                    self.pump(now, session);
                }
                Ok(())
            }
            (State::Open(session), Packet::Subscribe(it)) => self.subscribe(now, id, session, it),
            (State::Open(session), Packet::Unsubscribe(it)) => {
                self.unsubscribe(id, session, it);
                Ok(())
            }
            (State::Open(_), Packet::Pingreq) => {
                self.send(id, &Packet::Pingresp);
                Ok(())
            }
            (State::Open(session), Packet::Disconnect(it)) => self.disconnect(now, id, session, &it),
            // Whoever begins with something else than a CONNECT is closed, and told nothing.
            _ => protocol_error,
        }
    }

    fn refuse(&mut self, id: ConnectionId, reason: Reason) -> Result<(), Malformed> {
        self.counts.refused += 1;
        let connack = Connack { session_present: false, reason, properties: Properties::default() };
        self.send(id, &Packet::Connack(connack));
        if let Some(connection) = self.connection(id) {
            connection.state = State::Closing;
        }
        Ok(())
    }

    fn connect(&mut self, now: Time, id: ConnectionId, connect: Connect) -> Result<(), Malformed> {
        let version = connect.version;
        let Some(connection) = self.connection(id) else { return Ok(()) };
        connection.version = version;
        if !self.settings.users.is_empty() {
            let is_known = |(user, password): &(Text, bytes::Bytes)| {
                connect.user.as_ref() == Some(user) && connect.password.as_ref() == Some(password)
            };
            if !self.settings.users.iter().any(is_known) {
                return self.refuse(id, Reason::BAD_CREDENTIALS);
            }
        }
        if connect.properties.auth_method().is_some() {
            return self.refuse(id, Reason(0x8C));
        }
        if connect.will.as_ref().is_some_and(|will| will.qos > self.settings.maximum_qos) {
            return self.refuse(id, Reason::QOS_NOT_SUPPORTED);
        }
        let mut answer = Properties::default();
        let client_id = if connect.client_id.is_empty() {
            if version == Version::V311 && !connect.clean {
                return self.refuse(id, Reason::IDENTIFIER_INVALID);
            }
            self.assigned += 1;
            let name: Text = format!("auto-{}", self.assigned).into();
            if version == Version::V5 {
                answer.0.push(Property::AssignedClientId(name.clone()));
            }
            name
        } else {
            connect.client_id.clone()
        };
        let known = self.by_client.get(&client_id).copied();
        if known.is_none() && self.by_client.len() >= self.settings.sessions as usize {
            return self.refuse(id, Reason::QUOTA_EXCEEDED);
        }
        if let Some(session) = known {
            if let Some(other) = self.session(session).and_then(|session| session.connection) {
                self.end(now, other, Reason::SESSION_TAKEN_OVER);
            }
            if connect.clean && self.by_client.contains_key(&client_id) {
                self.forget(session);
            }
        }
        let (session, session_present) = match self.by_client.get(&client_id) {
            Some(&session) => (session, true),
            None => (self.begin(client_id, version), false),
        };
        let asked = match version {
            Version::V5 => connect.properties.session_expiry().unwrap_or(0),
            Version::V311 if connect.clean => 0,
            Version::V311 => u32::MAX,
        };
        let expiry = asked.min(self.settings.session_expiry);
        let in_flight = match version {
            Version::V5 => connect.properties.receive_maximum().unwrap_or(u16::MAX),
            Version::V311 => u16::MAX,
        };
        let in_flight = in_flight.min(self.settings.receive_maximum);
        self.disarm(session);
        if let Some(it) = self.session(session) {
            it.version = version;
            it.connection = Some(id);
            it.expiry = expiry;
            it.will = connect.will;
            it.sender.set_most(in_flight);
        }
        if version == Version::V5 {
            self.tell(asked, expiry, &mut answer);
        }
        let aliases = self.settings.topic_aliases;
        if let Some(connection) = self.connection(id) {
            connection.state = State::Open(session);
            connection.patience = Span::from_millis(u64::from(connect.keep_alive) * 1500);
            connection.most_aliases_out = connect.properties.topic_alias_maximum().unwrap_or(0).min(aliases);
            connection.maximum_packet_out = connect.properties.maximum_packet_size().unwrap_or(u32::MAX);
            if let Some(at) = connection.timer.take() {
                self.timers.remove(&(at, Timer::Silence(id)));
            }
        }
        self.watch(now, id);
        let reason = Reason::SUCCESS;
        self.send(id, &Packet::Connack(Connack { session_present, reason, properties: answer }));
        self.resend(now, id, session);
        self.pump(now, session);
        Ok(())
    }

    /// What a client of version 5 has to know of the broker: what differs from the standard's defaults.
    fn tell(&self, asked: u32, expiry: u32, answer: &mut Properties) {
        let settings = &self.settings;
        if expiry != asked {
            answer.0.push(Property::SessionExpiry(expiry));
        }
        if settings.topic_aliases > 0 {
            answer.0.push(Property::TopicAliasMaximum(settings.topic_aliases));
        }
        if settings.receive_maximum < u16::MAX {
            answer.0.push(Property::ReceiveMaximum(settings.receive_maximum));
        }
        if settings.maximum_qos < Qos::ExactlyOnce {
            answer.0.push(Property::MaximumQos(settings.maximum_qos.into()));
        }
        if settings.maximum_packet < u32::MAX {
            answer.0.push(Property::MaximumPacketSize(settings.maximum_packet));
        }
    }

    fn begin(&mut self, client_id: Text, version: Version) -> SessionId {
        let session = Box::new(Session::new(client_id.clone(), version, self.settings.receive_maximum));
        let id = self.free_sessions.pop().unwrap_or(self.sessions.len() as u32);
        match self.sessions.get_mut(id as usize) {
            Some(place) => *place = Some(session),
            None => self.sessions.push(Some(session)),
        }
        self.by_client.insert(client_id, id);
        id
    }

    /// Takes back when a session's will and its end are due.
    fn disarm(&mut self, id: SessionId) {
        let Some(session) = self.session(id) else { return };
        for at in [session.will_at.take(), session.expires_at.take()].into_iter().flatten() {
            self.timers.remove(&(at, Timer::Session(id)));
        }
    }

    /// A session ends.
    pub(super) fn forget(&mut self, id: SessionId) {
        self.disarm(id);
        let Some(session) = self.sessions.get_mut(id as usize).and_then(Option::take) else { return };
        self.by_client.remove(&session.client_id);
        for filter in session.subscriptions.values() {
            self.subscriptions.remove(filter, id);
        }
        self.free_sessions.push(id);
    }

    /// The connection of a session is gone: its will is published now or later, and it ends now or later.
    pub(super) fn leave(&mut self, now: Time, id: SessionId) {
        let Some(session) = self.session(id) else { return };
        session.connection = None;
        session.sender.disconnected();
        let expiry = session.expiry;
        let expires_at = (expiry < u32::MAX).then(|| now + Span::from_millis(u64::from(expiry) * 1000));
        let delay = session.will.as_ref().map(|will| will.properties.will_delay().unwrap_or(0).min(expiry));
        session.expires_at = expires_at;
        session.will_at = delay.map(|delay| now + Span::from_millis(u64::from(delay) * 1000));
        for at in [session.will_at, session.expires_at].into_iter().flatten() {
            self.timers.insert((at, Timer::Session(id)));
        }
        self.session_due(now, id);
    }

    pub(super) fn session_due(&mut self, now: Time, id: SessionId) {
        let Some(session) = self.session(id) else { return };
        if session.will_at.take_if(|at| *at <= now).is_some()
            && let Some(will) = session.will.take()
        {
            self.publish_will(now, will);
        }
        if self.session(id).is_some_and(|session| session.expires_at.is_some_and(|at| at <= now)) {
            self.forget(id);
        }
    }

    fn disconnect(
        &mut self,
        now: Time,
        id: ConnectionId,
        session: SessionId,
        Disconnect { reason, properties }: &Disconnect,
    ) -> Result<(), Malformed> {
        let most = self.settings.session_expiry;
        if let Some(session) = self.session(session) {
            if let Some(expiry) = properties.session_expiry() {
                // A session that was to end with its connection cannot be kept any more (section 3.14.2.2.2).
                if session.expiry == 0 && expiry > 0 {
                    return Err(Malformed(Reason::PROTOCOL_ERROR));
                }
                session.expiry = expiry.min(most);
            }
            if *reason != Reason::DISCONNECT_WITH_WILL {
                session.will = None;
            }
        }
        if let Some(connection) = self.connection(id) {
            connection.state = State::Closing;
        }
        self.mark(id);
        self.leave(now, session);
        Ok(())
    }

    fn subscribe(
        &mut self,
        now: Time,
        id: ConnectionId,
        session: SessionId,
        subscribe: Subscribe,
    ) -> Result<(), Malformed> {
        let identifier = subscribe.properties.subscription_id();
        let mut reasons = Vec::with_capacity(subscribe.to.len());
        let mut retained = Vec::new();
        for to in subscribe.to {
            let (reason, is_new) = self.add(session, &to, identifier)?;
            reasons.push(reason);
            let wants = match to.retain_handling {
                RetainHandling::Always => true,
                RetainHandling::IfNew => is_new,
                RetainHandling::Never => false,
            };
            if !reason.is_error() && wants {
                retained.push(SubscribeTo { qos: to.qos.min(self.settings.maximum_qos), ..to });
            }
        }
        let properties = Properties::default();
        self.send(id, &Packet::Suback(Granted { id: subscribe.id, reasons, properties }));
        for to in retained {
            self.give_retained(now, session, &to, identifier);
        }
        self.pump(now, session);
        Ok(())
    }

    /// What is granted, and whether the subscription is new.
    fn add(
        &mut self,
        id: SessionId,
        to: &SubscribeTo,
        identifier: Option<u32>,
    ) -> Result<(Reason, bool), Malformed> {
        let most = self.settings.subscriptions as usize;
        let Some(filter) = Filter::parse(&to.filter) else { return Ok((Reason::FILTER_INVALID, false)) };
        if filter.filter.split('/').count() > MOST_LEVELS {
            return Ok((Reason::FILTER_INVALID, false));
        }
        if to.no_local && filter.share.is_some() {
            return Err(Malformed(Reason::PROTOCOL_ERROR));
        }
        let qos = to.qos.min(self.settings.maximum_qos);
        let Some(session) = self.session(id) else { return Ok((Reason::UNSPECIFIED, false)) };
        if session.subscriptions.len() >= most && !session.subscriptions.contains_key(&to.filter) {
            return Ok((Reason::QUOTA_EXCEEDED, false));
        }
        session.subscriptions.insert(to.filter.clone(), filter.clone());
        let wanted = Wanted { qos, ..Wanted::new(id, to, identifier) };
        let is_new = self.subscriptions.add(&filter, wanted);
        Ok((Reason(qos.into()), is_new))
    }

    fn unsubscribe(&mut self, id: ConnectionId, session: SessionId, unsubscribe: Unsubscribe) {
        let mut reasons = Vec::with_capacity(unsubscribe.filters.len());
        for text in &unsubscribe.filters {
            let known = self.session(session).and_then(|session| session.subscriptions.remove(text));
            let removed = known.is_some_and(|filter| self.subscriptions.remove(&filter, session));
            reasons.push(if removed { Reason::SUCCESS } else { Reason::NO_SUBSCRIPTION_EXISTED });
        }
        if self.connection(id).is_some_and(|connection| connection.version == Version::V311) {
            reasons.clear();
        }
        let properties = Properties::default();
        self.send(id, &Packet::Unsuback(Granted { id: unsubscribe.id, reasons, properties }));
    }
}
