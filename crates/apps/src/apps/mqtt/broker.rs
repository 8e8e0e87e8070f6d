//! A broker behind a port.

use super::account::BrokerAccount;
use super::identity::{MessageId, Short};
use super::tables;
use crate::layers::{Farewells, LayerOptions, Layers};
use crate::process::{
    Event, Process, ProcessContext, ProcessEntity, ProcessSettings, SocketId, Sockets, Work,
};
use crate::settings::{Over, at_least_one};
use crate::socket::Stream;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use voxpath_mqtt::Qos;
use voxpath_mqtt::broker::{BrokerEvent, BrokerSettings, Full};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Octets read at a time.
const PIECE: u32 = 64 << 10;

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broker {
    /// Where it waits.
    pub port: u16,
    /// Connections at a time.
    pub connections: u32,
    /// Sessions.
    pub sessions: u32,
    /// The largest packet that it takes.
    pub packet_bytes: u32,
    /// Messages of QoS 1 and 2 in flight, either way.
    pub in_flight: u16,
    /// Messages that wait for a session.
    pub queue_messages: u32,
    /// Bytes of their bodies; no limit without it.
    pub queue_bytes: Option<u64>,
    /// What happens when they are full.
    pub full: Full,
    /// Whether messages of QoS 0 wait for clients that are not connected.
    pub queue_qos0: bool,
    /// Messages that are retained.
    pub retained_messages: u32,
    /// The highest topic alias.
    pub topic_aliases: u16,
    /// The longest session expiry.
    pub session_expiry_s: u32,
    /// The highest QoS.
    pub maximum_qos: Qos,
    /// Users and their passwords; none lets everybody in.
    pub users: Vec<(String, String)>,
    /// Whether sessions and what is retained are there again after a restart.
    pub persistent: bool,
    /// What connections go over.
    pub layers: LayerOptions,
}

impl ProcessSettings for Broker {
    type Machine = Server;

    const TABLES: &'static [&'static dyn ProcessEntity] = &[&tables::BROKERS];

    fn check(&self, _nodes: u32, check: &mut Check<'_>) {
        check.at("port").need(self.port > 0, "a port is above zero");
        at_least_one(
            check,
            [
                ("connections", self.connections.into()),
                ("sessions", self.sessions.into()),
                ("packet_bytes", self.packet_bytes.into()),
                ("in_flight", self.in_flight.into()),
            ],
        );
        self.layers.check(&mut check.at("layers"));
    }

    fn check_real(&self, check: &mut Check<'_>) {
        self.layers.check_real(&mut check.at("layers"));
    }

    fn ports(&self) -> impl Iterator<Item = (u16, Over)> {
        [(self.port, Over::Stream)].into_iter()
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [].into_iter()
    }

    fn machine(&self, context: &ProcessContext, _address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let settings = BrokerSettings {
            connections: self.connections,
            sessions: self.sessions,
            maximum_packet: self.packet_bytes,
            receive_maximum: self.in_flight,
            queue_messages: self.queue_messages,
            queue_bytes: self.queue_bytes.unwrap_or(u64::MAX),
            full: self.full,
            queue_qos0: self.queue_qos0,
            retained_messages: self.retained_messages,
            topic_aliases: self.topic_aliases,
            session_expiry: self.session_expiry_s,
            maximum_qos: self.maximum_qos,
            users: self
                .users
                .iter()
                .map(|(user, password)| (user.as_str().into(), Vec::from(password.as_bytes()).into()))
                .collect(),
            ..BrokerSettings::default()
        };
        let account = BrokerAccount { node: context.node, ..BrokerAccount::default() };
        let broker = Box::new(voxpath_mqtt::Broker::new(settings));
        let (port, is_persistent, options) = (self.port, self.persistent, self.layers.clone());
        let (layers, farewells) = (BTreeMap::new(), Farewells::default());
        Server { port, is_persistent, options, layers, farewells, broker, account }
    }
}

/// The process.
#[derive(Debug)]
pub struct Server {
    port: u16,
    is_persistent: bool,
    options: LayerOptions,
    /// Those of each connection, where there are any.
    layers: BTreeMap<SocketId, Layers>,
    farewells: Farewells,
    broker: Box<voxpath_mqtt::Broker>,
    account: BrokerAccount,
}

impl Server {
    fn read(&mut self, now: Time, socket: SocketId, sockets: &mut impl Sockets) {
        let Self { broker, layers, .. } = self;
        let mut none = Layers::default();
        let mut stream = layers.get_mut(&socket).unwrap_or(&mut none).over(sockets.stream(socket));
        loop {
            let wanted = broker.wanted(socket.0).min(PIECE);
            let data = if wanted > 0 { stream.read(wanted) } else { voxpath_wire::Payload::Empty };
            if data.is_empty() {
                break;
            }
            broker.handle_input(now, socket.0, data);
        }
        let is_at_end = stream.is_at_end();
        drop(stream);
        if is_at_end || sockets.has_ended(socket) {
            self.drop_connection(now, socket, sockets);
        } else {
            self.write(now, socket, sockets);
        }
    }

    /// Writes what there is for a connection, and closes it if that is wanted.
    fn write(&mut self, now: Time, socket: SocketId, sockets: &mut impl Sockets) {
        let Self { broker, layers, .. } = self;
        let mut none = Layers::default();
        let mut stream = layers.get_mut(&socket).unwrap_or(&mut none).over(sockets.stream(socket));
        loop {
            let mut has_written = false;
            let mut is_full = false;
            while let Some(next) = broker.poll_transmit(socket.0) {
                let taken = stream.write(&next);
                has_written |= taken > 0;
                if taken < next.len() {
                    broker.untake(socket.0, next.slice(taken, next.len() - taken));
                    // A socket may take less than there is room for at a time.
                    is_full = taken == 0 || stream.writable() == 0;
                    if is_full {
                        break;
                    }
                }
            }
            if has_written {
                broker.wrote(now, socket.0);
            }
            if is_full {
                return;
            }
            if !has_written {
                break;
            }
        }
        drop(stream);
        if broker.wants_close(socket.0) {
            self.drop_connection(now, socket, sockets);
        }
    }

    fn drop_connection(&mut self, now: Time, socket: SocketId, sockets: &mut impl Sockets) {
        self.broker.closed(now, socket.0);
        self.account.connections = self.account.connections.saturating_sub(1);
        let layers = self.layers.remove(&socket).unwrap_or_default();
        self.farewells.close(now, socket, layers, None, sockets);
    }
}

impl Process for Server {
    fn start(&mut self, sockets: &mut impl Sockets) {
        sockets.listen(self.port);
    }

    fn stop(&mut self, now: Time) {
        self.account.connections = 0;
        self.layers.clear();
        self.farewells.clear();
        if self.is_persistent {
            self.broker.restart(now);
        } else {
            self.broker.forget_all();
        }
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        while let Some(event) = sockets.poll_event() {
            match event {
                Event::Accepted { socket, .. } => {
                    self.account.connections += 1;
                    let most = self.account.most_connections.max(self.account.connections);
                    self.account.most_connections = most;
                    if !self.options.is_empty() {
                        let layers =
                            self.options.layers(false, |tls, is_client| sockets.secure(tls, is_client));
                        self.layers.insert(socket, layers);
                    }
                    self.broker.accept(now, socket.0);
                    self.read(now, socket, sockets);
                }
                Event::Ready(socket) if self.farewells.drive(now, socket, sockets) => {}
                Event::Ready(socket) => self.read(now, socket, sockets),
            }
        }
        self.farewells.handle_timeout(now, sockets);
        if self.broker.poll_timeout().is_some_and(|at| at <= now) {
            self.broker.handle_timeout(now);
        }
        while let Some(id) = self.broker.poll_ready() {
            self.write(now, SocketId(id), sockets);
        }
        while let Some(event) = self.broker.poll_event() {
            if let BrokerEvent::Taken(message) = event {
                let account = &mut self.account;
                account.octets += u64::from(message.payload.len());
                account.first_at.get_or_insert(now);
                account.last_at = Some(now);
                match MessageId::of(&message.payload) {
                    Some(id) => account.taken.push((id, now)),
                    None => {
                        let short = Short::of(&message.payload);
                        account.short.extend(short.map(|short| (message.topic.clone(), short, now)));
                    }
                }
            }
        }
        self.account.counts = *self.broker.counts();
    }

    fn poll_timeout(&self) -> Option<Time> {
        Time::earliest([self.broker.poll_timeout(), self.farewells.poll_timeout()])
    }

    fn work(&self) -> Option<Work> {
        let BrokerAccount { node, octets, first_at, last_at, .. } = &self.account;
        Some(Work {
            transport: "mqtt",
            to: *node,
            start: Time::ZERO,
            status: "completed",
            first: *first_at,
            completed: *last_at,
            octets: *octets,
            wrong: 0,
        })
    }

    fn account(&self) -> &dyn Any {
        &self.account
    }
}
