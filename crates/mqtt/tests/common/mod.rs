//! A broker and clients, joined by streams that carry any part of what was sent, and that can break.
#![allow(dead_code, unreachable_pub)] // Not every test uses all of it.

use std::collections::VecDeque;
use std::sync::Arc;
use voxpath_mqtt::broker::BrokerSettings;
use voxpath_mqtt::packet::SubscribeTo;
use voxpath_mqtt::{
    Broker, Client, ClientEvent, ClientSettings, Outgoing, Properties, Publish, Qos, Subscription, Version,
};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// One direction of a connection.
#[derive(Default)]
pub struct Pipe(VecDeque<Payload>);

impl Pipe {
    /// At most `most` octets of what is on its way.
    fn take(&mut self, most: u32) -> Option<Payload> {
        let first = self.0.pop_front()?;
        if first.len() <= most {
            return Some(first);
        }
        self.0.push_front(first.slice(most, first.len() - most));
        Some(first.slice(0, most))
    }
}

pub struct One {
    pub client: Client,
    /// To the broker, and from it; none without a connection.
    pipes: Option<[Pipe; 2]>,
    pub came: Vec<Publish>,
    pub acknowledged: Vec<u64>,
    pub events: Vec<ClientEvent>,
}

pub struct World {
    pub now: Time,
    pub broker: Broker,
    pub clients: Vec<One>,
}

pub fn settings(version: Version, name: &str) -> ClientSettings {
    let mut settings = ClientSettings::new(version, name);
    settings.clean = false;
    settings.session_expiry = 100_000;
    settings
}

pub fn message(token: u64, topic: &str, qos: Qos) -> Outgoing {
    let payload = Payload::pattern(7, token * 1000, 40);
    Outgoing { token, topic: topic.into(), qos, retain: false, payload, properties: Properties::default() }
}

/// Which message a body is.
pub fn token_of(publish: &Publish) -> u64 {
    match publish.payload {
        Payload::Pattern { stream: 7, offset, len: 40 } => offset / 1000,
        _ => panic!("a body has changed: {publish:?}"),
    }
}

impl World {
    pub fn new(settings: BrokerSettings) -> Self {
        Self { now: Time::ZERO, broker: Broker::new(settings), clients: Vec::new() }
    }

    /// Adds a client that is not connected yet.
    pub fn add(&mut self, settings: ClientSettings, filters: &[(&str, Qos)]) -> usize {
        let subscriptions: Arc<[Subscription]> = filters
            .iter()
            .map(|&(filter, qos)| Subscription { to: SubscribeTo::new(filter.into(), qos), id: None })
            .collect();
        let client = Client::new(Arc::new(settings), subscriptions);
        self.clients.push(One {
            client,
            pipes: None,
            came: Vec::new(),
            acknowledged: Vec::new(),
            events: Vec::new(),
        });
        self.clients.len() - 1
    }

    pub fn connect(&mut self, index: usize) {
        if self.clients[index].pipes.is_none() {
            self.clients[index].pipes = Some(<[Pipe; 2]>::default());
            self.broker.accept(self.now, index as u32);
            self.clients[index].client.connected(self.now);
            self.drain();
        }
    }

    /// A connection breaks; what was on its way is lost.
    pub fn cut(&mut self, index: usize) {
        if self.clients[index].pipes.take().is_some() {
            self.clients[index].client.disconnected();
            self.broker.closed(self.now, index as u32);
            self.drain();
        }
    }

    pub fn restart(&mut self) {
        for one in &mut self.clients {
            if one.pipes.take().is_some() {
                one.client.disconnected();
            }
        }
        self.broker.restart(self.now);
    }

    pub fn publish(&mut self, index: usize, message: Outgoing) {
        self.clients[index].client.publish(self.now, message);
        self.drain();
    }

    /// Some octets arrive, if there are any.
    pub fn deliver(&mut self, index: usize, down: bool, most: u32) -> bool {
        let Some(pipes) = &mut self.clients[index].pipes else { return false };
        let Some(data) = pipes[usize::from(down)].take(most) else { return false };
        if down {
            self.clients[index].client.handle_input(self.now, data);
        } else {
            self.broker.handle_input(self.now, index as u32, data);
        }
        self.drain();
        true
    }

    pub fn advance(&mut self, span: Span) {
        self.now += span;
        self.broker.handle_timeout(self.now);
        for one in &mut self.clients {
            one.client.handle_timeout(self.now);
        }
        self.drain();
    }

    /// Everything is connected and arrives, until nothing happens any more.
    pub fn settle(&mut self) {
        for _ in 0..100_000 {
            for index in 0..self.clients.len() {
                self.connect(index);
            }
            let mut moved = false;
            for index in 0..self.clients.len() {
                moved |= self.deliver(index, false, u32::MAX) | self.deliver(index, true, u32::MAX);
            }
            if !moved {
                return;
            }
        }
        panic!("it goes on for ever");
    }

    fn drain(&mut self) {
        let mut closing = Vec::new();
        for (index, one) in self.clients.iter_mut().enumerate() {
            while let Some(data) = one.client.poll_transmit() {
                if let Some(pipes) = &mut one.pipes {
                    pipes[0].0.push_back(data);
                }
                one.client.wrote(self.now);
            }
            while let Some(event) = one.client.poll_event() {
                match event {
                    ClientEvent::Message(publish) => one.came.push(publish),
                    ClientEvent::Acknowledged(token, _) => one.acknowledged.push(token),
                    other => one.events.push(other),
                }
            }
            if one.pipes.is_some() && one.client.wants_close() {
                closing.push(index);
            }
        }
        while let Some(id) = self.broker.poll_ready() {
            while let Some(data) = self.broker.poll_transmit(id) {
                if let Some(pipes) = self.clients.get_mut(id as usize).and_then(|one| one.pipes.as_mut()) {
                    pipes[1].0.push_back(data);
                }
                self.broker.wrote(self.now, id);
            }
            if self.broker.wants_close(id) {
                closing.push(id as usize);
            }
        }
        while self.broker.poll_event().is_some() {}
        for index in closing {
            self.cut(index);
        }
    }
}
