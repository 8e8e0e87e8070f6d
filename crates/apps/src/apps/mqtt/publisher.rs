//! Clients that publish at a rate.

use super::account::{Published, PublisherAccount, Source};
use super::clients::Clients;
use super::identity::{LEAST_TELLING, MOST_MESSAGES, MessageId};
use super::options::{CLIENT, ClientOptions, check_topic, numbered};
use super::tables;
use crate::process::{Process, ProcessContext, ProcessEntity, ProcessSettings, Sockets, Work};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_mqtt::{ClientEvent, Outgoing, Properties, Property, Qos, Reason, Version};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// The longest body: what a packet holds with a topic of any length and no more than a few properties.
const MOST_BYTES: u32 = 268_000_000;

/// Clients that publish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publisher {
    /// What they are.
    pub clients: ClientOptions,
    /// Where they publish.
    pub topic: String,
    /// Bytes of bodies, in turn.
    pub sizes: Vec<u32>,
    /// From one message of a client to its next one; zero is as soon as the one before was sent, and acknowledged at QoS 1
    /// and 2.
    pub interval_ns: u64,
    /// How many a client publishes; until the run ends without it.
    pub messages: Option<u32>,
    /// What is promised.
    pub qos: Qos,
    /// Whether they are kept.
    pub retain: bool,
    /// Seconds after which a message is of no use; version 5.
    pub expiry_s: Option<u32>,
}

impl Publisher {
    fn has_short(&self) -> bool {
        self.sizes.iter().any(|&size| size < LEAST_TELLING)
    }
}

impl ProcessSettings for Publisher {
    type Machine = Sender;

    const TABLES: &'static [&'static dyn ProcessEntity] = &[&tables::PUBLICATIONS, &tables::CLIENTS];

    fn check(&self, nodes: u32, check: &mut Check<'_>) {
        self.clients.check(nodes, &mut check.at("clients"));
        check_topic(&self.topic, self.clients.count, &mut check.at("topic"));
        check.at("sizes").need(!self.sizes.is_empty(), "at least one size");
        let most = format_args!("a body has at most {MOST_BYTES} bytes");
        check.at("sizes").need(self.sizes.iter().all(|&size| size <= MOST_BYTES), most);
        check.at("interval_ns").span(self.interval_ns);
        let messages = self.messages.unwrap_or(1);
        let range = format_args!("1 to {} messages", MOST_MESSAGES - 1);
        check.at("messages").need((1..MOST_MESSAGES).contains(&messages), range);
        let expires = self.expiry_s.is_some() && self.clients.version == Version::V311;
        check.at("expiry_s").need(!expires, "messages expire in version 5 only");
    }

    fn check_real(&self, check: &mut Check<'_>) {
        let message = format_args!(
            "the topic tells whose a message of less than {LEAST_TELLING} bytes is on real hosts: several clients need {CLIENT} in it"
        );
        let is_one_each = self.clients.count <= 1 || self.topic.contains(CLIENT);
        check.at("topic").need(!self.has_short() || is_one_each, message);
        self.clients.layers.check_real(&mut check.at("clients").at("layers"));
    }

    fn has_alone(&self) -> impl Iterator<Item = String> {
        let clients = if self.has_short() { self.clients.count } else { 0 };
        (0..clients).map(|client| numbered(&self.topic, client))
    }

    fn is_endless(&self) -> bool {
        self.messages.is_none()
    }

    fn encrypts(&self) -> bool {
        self.clients.layers.tls.is_some()
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [self.clients.broker.node].into_iter()
    }

    fn machine(&self, context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let broker = self.clients.broker;
        let target = SocketAddr::new(address(broker.node), broker.port);
        let sources = (0..self.clients.count)
            .map(|client| Source {
                topic: numbered(&self.topic, client).into(),
                published: Vec::new(),
                next_at: None,
                done: 0,
            })
            .collect();
        let account = PublisherAccount {
            sizes: self.sizes.clone(),
            qos: self.qos,
            process: context.index,
            sources,
            clients: Clients::new(&self.clients, target, |_| Arc::new([])),
        };
        Sender {
            publishing: Box::new(Publishing { settings: self.clone(), account }),
            busy: self.clients.count,
        }
    }
}

/// The process.
#[derive(Debug)]
pub struct Sender {
    publishing: Box<Publishing>,
    /// Clients that have not published all.
    busy: u32,
}

/// What publishers are to do, and what they did.
#[derive(Debug)]
struct Publishing {
    settings: Publisher,
    account: PublisherAccount,
}

impl Publishing {
    fn publish(&mut self, now: Time, client: u32, due_at: Time) {
        let number = self.account.sources[client as usize].published.len() as u32;
        let id = MessageId { process: self.account.process, client, number };
        let payload = id.body(self.account.size(number));
        let source = &mut self.account.sources[client as usize];
        source.published.push(Published {
            due_at,
            sent_at: None,
            acknowledged_at: None,
            reason: Reason::SUCCESS,
        });
        let Publisher { qos, retain, expiry_s, .. } = self.settings;
        let properties = Properties(expiry_s.map(Property::MessageExpiry).into_iter().collect());
        let message =
            Outgoing { token: number.into(), topic: source.topic.clone(), qos, retain, payload, properties };
        self.account.clients.list[client as usize].client.publish(now, message);
    }

    /// Has a client publish what is due.
    fn publish_due(&mut self, now: Time, client: u32) {
        let (most, interval) =
            (self.settings.messages.unwrap_or(MOST_MESSAGES - 1), self.settings.interval_ns);
        while let Some(due) = self.account.sources[client as usize].next_at.take_if(|due| *due <= now) {
            self.publish(now, client, due);
            let source = &mut self.account.sources[client as usize];
            if interval > 0 && (source.published.len() as u32) < most {
                source.next_at = Some(due + Span::from_nanos(interval));
            }
        }
    }

    /// Notes what a client tells; whether all its messages are done now.
    fn hear(&mut self, now: Time, client: u32) -> bool {
        let most = self.settings.messages.unwrap_or(MOST_MESSAGES - 1);
        let mut has_ended = false;
        while let Some(event) = self.account.clients.poll_event(now, client) {
            let Self { settings, account: PublisherAccount { sources, .. } } = self;
            let source = &mut sources[client as usize];
            let is_done = match event {
                ClientEvent::Connected { .. } => {
                    if source.published.is_empty() {
                        source.next_at = Some(now);
                    }
                    false
                }
                ClientEvent::Sent(number) => {
                    let published = &mut source.published[number as usize];
                    published.sent_at.get_or_insert(now);
                    settings.qos == Qos::AtMostOnce
                }
                ClientEvent::Lost(_) => true,
                ClientEvent::Acknowledged(number, reason) => {
                    let published = &mut source.published[number as usize];
                    published.reason = reason;
                    published.acknowledged_at.replace(now).is_none()
                }
                _ => false,
            };
            if is_done {
                source.done += 1;
                if settings.interval_ns == 0 && (source.published.len() as u32) < most {
                    source.next_at = Some(now);
                }
                has_ended |= source.done == most;
            }
        }
        has_ended
    }
}

impl Sender {
    fn drive_client(&mut self, now: Time, client: u32, sockets: &mut impl Sockets) {
        let Self { publishing, busy } = self;
        publishing.account.clients.drive(now, client, sockets);
        let mut has_ended = false;
        loop {
            has_ended |= publishing.hear(now, client);
            let before = publishing.account.sources[client as usize].published.len();
            publishing.publish_due(now, client);
            if publishing.account.sources[client as usize].published.len() == before {
                break;
            }
            publishing.account.clients.write(now, client, sockets);
        }
        if has_ended {
            *busy -= 1;
            publishing.account.clients.leave(now, client, sockets);
        }
        let next = publishing.account.sources[client as usize].next_at;
        publishing.account.clients.arm(client, next);
    }
}

impl Process for Sender {
    fn start(&mut self, _sockets: &mut impl Sockets) {}

    fn stop(&mut self, now: Time) {
        self.publishing.account.clients.stop(now);
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        while let Some(event) = sockets.poll_event() {
            if let Some(client) = self.publishing.account.clients.hear(now, event, sockets) {
                self.drive_client(now, client, sockets);
            }
        }
        self.publishing.account.clients.handle_timeout(now, sockets);
        while let Some(client) = self.publishing.account.clients.poll_due(now) {
            self.drive_client(now, client, sockets);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.publishing.account.clients.poll_timeout()
    }

    fn is_busy(&self) -> bool {
        self.publishing.account.clients.is_busy()
    }

    fn work(&self) -> Option<Work> {
        let Publishing { settings, account } = &*self.publishing;
        let PublisherAccount { sources, clients, .. } = account;
        let of =
            |it: &Published| if settings.qos == Qos::AtMostOnce { it.sent_at } else { it.acknowledged_at };
        let done = || {
            sources
                .iter()
                .flat_map(|source| (0..).zip(&source.published))
                .filter_map(|(number, it)| Some((number, of(it)?)))
        };
        let refused =
            clients.list.iter().any(|one| one.account.connections == 0 && one.account.reason.is_some());
        let is_whole = self.busy == 0;
        Some(Work {
            transport: "mqtt",
            to: settings.clients.broker.node,
            start: Time::from_nanos(settings.clients.start_ns),
            status: if is_whole {
                "completed"
            } else if refused {
                "refused"
            } else {
                "unfinished"
            },
            first: done().map(|(_, at)| at).min(),
            completed: done().map(|(_, at)| at).max().filter(|_| is_whole),
            octets: done().map(|(number, _)| u64::from(self.publishing.account.size(number))).sum(),
            wrong: 0,
        })
    }

    fn account(&self) -> &dyn Any {
        &self.publishing.account
    }
}
