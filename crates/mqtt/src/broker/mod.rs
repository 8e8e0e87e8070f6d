//! A broker: any number of connections, sessions with queues, subscriptions, retained messages.
//!
//! [`Broker::accept`], [`Broker::handle_input`], [`Broker::closed`] and [`Broker::handle_timeout`] tell it what happened.
//! Afterwards [`Broker::poll_ready`] says which connections have something to write or are to be closed, and
//! [`Broker::poll_transmit`] what it is. Connections are numbered by who accepts them, from small numbers on.

mod connection;
mod handle;
mod publish;
mod session;
mod settings;
mod subscriptions;

pub use settings::{BrokerSettings, Full};

use crate::packet::{Disconnect, Packet, Property, Qos, Text, Version};
use crate::{Malformed, Reason};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use connection::{Connection, State};
use session::Session;
use subscriptions::Subscriptions;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// A connection of a broker, by its number.
pub type ConnectionId = u32;

pub(crate) type SessionId = u32;

/// How long a client may take for its CONNECT: mosquitto's.
const CONNECT_WITHIN: Span = Span::from_millis(90_000);

/// A message that the broker has.
#[derive(Debug, Clone)]
pub struct Message {
    /// What it is about.
    pub topic: Text,
    /// Its body.
    pub payload: Payload,
    /// What is passed on of its properties.
    pub(crate) properties: Vec<Property>,
    /// When it is of no use any more.
    pub(crate) expires_at: Option<Time>,
}

/// What happened at a broker that its clients do not tell.
#[derive(Debug, Clone)]
pub enum BrokerEvent {
    /// A message has come whole, and was taken.
    Taken(Arc<Message>),
    /// A message was dropped because this client's queue was full, or the client takes no packet as large.
    Dropped(Text),
}

/// What a broker has seen.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct BrokerCounts {
    /// Connections that were refused: limits, credentials, versions.
    pub refused: u64,
    /// Connections that were ended because of what came over them.
    pub protocol_errors: u64,
    /// Messages taken.
    pub messages_in: u64,
    /// Messages sent to clients, again too.
    pub messages_out: u64,
    /// Messages that found no room in a queue.
    pub messages_dropped: u64,
    /// Messages that expired while they waited.
    pub messages_expired: u64,
    /// The most messages that waited for one session.
    pub longest_queue: u64,
    /// The most octets of packets that were made for one connection and not taken by it.
    pub largest_backlog: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// A client was silent for too long.
    Silence(ConnectionId),
    /// A will is due, or a session ends.
    Session(SessionId),
}

/// A broker.
#[derive(Debug)]
pub struct Broker {
    settings: BrokerSettings,
    connections: Vec<Option<Box<Connection>>>,
    open: u32,
    sessions: Vec<Option<Box<Session>>>,
    free_sessions: Vec<SessionId>,
    by_client: BTreeMap<Text, SessionId>,
    subscriptions: Subscriptions,
    /// What is retained, and at which QoS it came.
    retained: BTreeMap<Text, (Arc<Message>, Qos)>,
    retained_bytes: u64,
    timers: BTreeSet<(Time, Timer)>,
    ready: VecDeque<ConnectionId>,
    events: VecDeque<BrokerEvent>,
    counts: BrokerCounts,
    /// Identifiers given to clients that have none.
    assigned: u64,
}

impl Broker {
    /// A broker without connections.
    pub fn new(settings: BrokerSettings) -> Self {
        Self {
            settings,
            connections: Vec::new(),
            open: 0,
            sessions: Vec::new(),
            free_sessions: Vec::new(),
            by_client: BTreeMap::new(),
            subscriptions: Subscriptions::default(),
            retained: BTreeMap::new(),
            retained_bytes: 0,
            timers: BTreeSet::new(),
            ready: VecDeque::new(),
            events: VecDeque::new(),
            counts: BrokerCounts::default(),
            assigned: 0,
        }
    }

    /// What it has seen.
    pub const fn counts(&self) -> &BrokerCounts {
        &self.counts
    }

    /// Clients that it knows, connected or not.
    pub fn sessions(&self) -> usize {
        self.by_client.len()
    }

    /// Messages that wait, or are in flight, for all sessions together.
    pub fn held(&self) -> usize {
        self.sessions.iter().flatten().map(|session| session.queue.len() + session.sender.len()).sum()
    }

    /// Whether a session that is connected has a message that is not done.
    pub fn is_busy(&self) -> bool {
        let is_busy = |session: &Session| {
            session.connection.is_some() && !(session.queue.is_empty() && session.sender.is_empty())
        };
        self.sessions.iter().flatten().any(|session| is_busy(session))
            || self.connections.iter().flatten().any(|connection| connection.backlog() > 0)
    }

    /// A connection stands.
    pub fn accept(&mut self, now: Time, id: ConnectionId) {
        let place = id as usize;
        if self.connections.len() <= place {
            self.connections.resize_with(place + 1, || None);
        }
        let mut connection = Box::new(Connection::new(now, self.settings.maximum_packet, CONNECT_WITHIN));
        if self.open >= self.settings.connections {
            self.counts.refused += 1;
            connection.state = State::Closing;
        }
        self.open += 1;
        self.connections[place] = Some(connection);
        self.watch(now, id);
        if self.is(id, State::Closing) {
            self.mark(id);
        }
    }

    /// Takes in what has come over a connection.
    pub fn handle_input(&mut self, now: Time, id: ConnectionId, data: Payload) {
        let Some(connection) = self.connection(id) else { return };
        connection.last_heard = now;
        connection.decoder.push(data);
        while let Some(connection) = self.connection(id) {
            if connection.state == State::Closing {
                return;
            }
            match connection.decoder.next(connection.version) {
                Ok(None) => return,
                Ok(Some((packet, _))) => {
                    if let Err(Malformed(reason)) = self.handle(now, id, packet) {
                        self.fail(now, id, reason);
                    }
                }
                Err(Malformed(reason)) => self.fail(now, id, reason),
            }
        }
    }

    /// How much a connection wants to read at a time; nothing once it is to be closed.
    pub fn wanted(&self, id: ConnectionId) -> u32 {
        match self.connections.get(id as usize) {
            Some(Some(connection)) if connection.state != State::Closing => connection.decoder.wanted(),
            _ => 0,
        }
    }

    /// A connection is gone, or was closed because the broker wanted that. Its number may be used again.
    pub fn closed(&mut self, now: Time, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(id as usize).and_then(Option::take) else { return };
        self.open -= 1;
        if let Some(at) = connection.timer {
            self.timers.remove(&(at, Timer::Silence(id)));
        }
        if let State::Open(session) = connection.state {
            self.leave(now, session);
        }
    }

    /// Everything is as after a restart: connections are gone, sessions that outlive them stay, and so does what is
    /// retained. Wills are not published.
    pub fn restart(&mut self, now: Time) {
        for id in 0..self.connections.len() as u32 {
            if let Some(connection) = self.connections[id as usize].take()
                && let State::Open(session) = connection.state
            {
                if let Some(session) = self.sessions[session as usize].as_mut() {
                    session.will = None;
                }
                self.leave(now, session);
            }
        }
        self.open = 0;
        self.ready.clear();
        self.timers.retain(|(_, timer)| matches!(timer, Timer::Session(_)));
    }

    /// Everything is as after a restart of a broker that stores nothing.
    pub fn forget_all(&mut self) {
        let counts = self.counts;
        *self = Self { counts, ..Self::new(self.settings.clone()) };
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((_, timer)) = self.timers.pop_first_if_due(now) {
            match timer {
                Timer::Silence(id) => self.silence(now, id),
                Timer::Session(id) => self.session_due(now, id),
            }
        }
    }

    /// When something is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// A connection that has something to write, or is to be closed.
    pub fn poll_ready(&mut self) -> Option<ConnectionId> {
        loop {
            let id = self.ready.pop_front()?;
            if let Some(connection) = self.connection(id) {
                connection.is_ready = false;
                return Some(id);
            }
        }
    }

    /// What to write next to a connection.
    pub fn poll_transmit(&mut self, id: ConnectionId) -> Option<Payload> {
        let connection = self.connection(id)?;
        let next = connection.out.pop_front()?;
        connection.given += u64::from(next.len());
        Some(next)
    }

    /// Gives back what of [`Broker::poll_transmit`] the connection did not take.
    pub fn untake(&mut self, id: ConnectionId, rest: Payload) {
        if let Some(connection) = self.connection(id) {
            connection.given -= u64::from(rest.len());
            connection.out.push_front(rest);
        }
    }

    /// A connection has taken all that was given out and not given back.
    pub fn wrote(&mut self, now: Time, id: ConnectionId) {
        let Some(connection) = self.connection(id) else { return };
        connection.written = connection.given;
        if let State::Open(session) = connection.state {
            self.pump(now, session);
        }
    }

    /// Whether a connection is to be closed, once all is written.
    pub fn wants_close(&self, id: ConnectionId) -> bool {
        self.is(id, State::Closing)
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<BrokerEvent> {
        self.events.pop_front()
    }

    fn is(&self, id: ConnectionId, state: State) -> bool {
        matches!(self.connections.get(id as usize), Some(Some(connection)) if connection.state == state)
    }

    fn connection(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(id as usize)?.as_deref_mut()
    }

    fn session(&mut self, id: SessionId) -> Option<&mut Session> {
        self.sessions.get_mut(id as usize)?.as_deref_mut()
    }

    /// Has a connection be asked what it has to write.
    fn mark(&mut self, id: ConnectionId) {
        if let Some(Some(connection)) = self.connections.get_mut(id as usize)
            && !connection.is_ready
        {
            connection.is_ready = true;
            self.counts.largest_backlog = self.counts.largest_backlog.max(connection.backlog());
            self.ready.push_back(id);
        }
    }

    fn send(&mut self, id: ConnectionId, packet: &Packet) {
        if let Some(connection) = self.connection(id) {
            connection.send(packet);
            self.mark(id);
        }
    }

    /// Ends a connection for a reason, which clients of version 5 are told.
    fn end(&mut self, now: Time, id: ConnectionId, reason: Reason) {
        let Some(connection) = self.connection(id) else { return };
        let State::Open(session) = connection.state else {
            connection.state = State::Closing;
            return self.mark(id);
        };
        if connection.version == Version::V5 {
            connection.send(&Packet::Disconnect(Disconnect::because(reason)));
        }
        connection.state = State::Closing;
        self.mark(id);
        self.leave(now, session);
    }

    fn fail(&mut self, now: Time, id: ConnectionId, reason: Reason) {
        self.counts.protocol_errors += 1;
        self.end(now, id, reason);
    }

    /// Sets the timer for a connection's silence, if there is none: it looks again when it comes.
    fn watch(&mut self, now: Time, id: ConnectionId) {
        let Some(connection) = self.connection(id) else { return };
        if connection.timer.is_none() && connection.patience > Span::ZERO {
            let at = (connection.last_heard + connection.patience).max(now);
            connection.timer = Some(at);
            self.timers.insert((at, Timer::Silence(id)));
        }
    }

    fn silence(&mut self, now: Time, id: ConnectionId) {
        let Some(connection) = self.connection(id) else { return };
        connection.timer = None;
        if connection.state == State::Closing || connection.patience == Span::ZERO {
            return;
        }
        if now >= connection.last_heard + connection.patience {
            return self.end(now, id, Reason::KEEP_ALIVE_TIMEOUT);
        }
        self.watch(now, id);
    }
}

/// What is due of an ordered set of times.
trait Due {
    type Item;
    fn pop_first_if_due(&mut self, now: Time) -> Option<Self::Item>;
}

impl<T: Ord> Due for BTreeSet<(Time, T)> {
    type Item = (Time, T);

    fn pop_first_if_due(&mut self, now: Time) -> Option<Self::Item> {
        if self.first()?.0 <= now { self.pop_first() } else { None }
    }
}
