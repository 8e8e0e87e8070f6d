//! Clients that subscribe, and note what comes.

use super::account::{Delivery, SubscriberAccount};
use super::clients::Clients;
use super::identity::{MessageId, Short};
use super::options::{ClientOptions, numbered};
use super::tables;
use crate::process::{Process, ProcessContext, ProcessEntity, ProcessSettings, Sockets, Work};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_mqtt::packet::SubscribeTo;
use voxpath_mqtt::{ClientEvent, Filter, Publish, Qos, Subscription};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Clients that subscribe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subscriber {
    /// What they are.
    pub clients: ClientOptions,
    /// What they want.
    pub filters: Vec<String>,
    /// The most that is promised.
    pub qos: Qos,
    /// A client leaves after so many messages, and the run waits for that; without it it stays.
    pub messages: Option<u32>,
}

impl ProcessSettings for Subscriber {
    type Machine = Listener;

    const TABLES: &'static [&'static dyn ProcessEntity] = &[&tables::DELIVERIES, &tables::CLIENTS];

    fn check(&self, nodes: u32, check: &mut Check<'_>) {
        self.clients.check(nodes, &mut check.at("clients"));
        check.at("filters").need(!self.filters.is_empty(), "at least one filter");
        for (i, filter) in self.filters.iter().enumerate() {
            let is_filter = Filter::parse(&numbered(filter, self.clients.count)).is_some();
            let message = "a filter has + only as a whole level, and # only as the last one";
            check.at("filters").at(i).need(is_filter, message);
        }
        check.at("messages").need(self.messages != Some(0), "at least 1");
    }

    fn check_real(&self, check: &mut Check<'_>) {
        self.clients.layers.check_real(&mut check.at("clients").at("layers"));
    }

    fn encrypts(&self) -> bool {
        self.clients.layers.tls.is_some()
    }

    fn targets(&self) -> impl Iterator<Item = u32> {
        [self.clients.broker.node].into_iter()
    }

    fn machine(&self, _context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> Self::Machine {
        let broker = self.clients.broker;
        let target = SocketAddr::new(address(broker.node), broker.port);
        let subscriptions = |client: u32| {
            let to = |filter: &String| SubscribeTo::new(numbered(filter, client).into(), self.qos);
            self.filters.iter().map(|filter| Subscription { to: to(filter), id: None }).collect()
        };
        let account = SubscriberAccount {
            clients: Clients::new(&self.clients, target, subscriptions),
            deliveries: Vec::new(),
            unnamed: Vec::new(),
            topics: BTreeSet::new(),
            came: alloc::vec![0; self.clients.count as usize],
            octets: 0,
        };
        Listener { settings: self.clone(), account: Box::new(account) }
    }
}

/// The process.
#[derive(Debug)]
pub struct Listener {
    settings: Subscriber,
    account: Box<SubscriberAccount>,
}

impl SubscriberAccount {
    fn note(&mut self, now: Time, client: u32, publish: &Publish) {
        let Publish { dup, qos, retain, topic, payload, .. } = publish;
        let what = MessageId::of(payload).ok_or_else(|| {
            self.topics.insert(topic.clone());
            let topic = self.topics.get(topic).expect("it was put in").clone();
            self.unnamed.push((topic, Short::of(payload)));
            self.unnamed.len() as u32 - 1
        });
        self.octets += u64::from(payload.len());
        self.came[client as usize] += 1;
        let (at, octets) = (now, payload.len());
        self.deliveries.push(Delivery { client, what, at, octets, qos: *qos, dup: *dup, retained: *retain });
    }

    fn drive(&mut self, now: Time, client: u32, sockets: &mut impl Sockets, settings: &Subscriber) {
        self.clients.drive(now, client, sockets);
        while let Some(event) = self.clients.poll_event(now, client) {
            if let ClientEvent::Message(publish) = event {
                self.note(now, client, &publish);
            }
        }
        let is_done = settings.messages.is_some_and(|most| self.came[client as usize] >= most);
        if is_done {
            self.clients.leave(now, client, sockets);
        }
        self.clients.arm(client, None);
    }
}

impl Process for Listener {
    fn start(&mut self, _sockets: &mut impl Sockets) {}

    fn stop(&mut self, now: Time) {
        self.account.clients.stop(now);
    }

    fn drive(&mut self, now: Time, sockets: &mut impl Sockets) {
        let Self { settings, account } = self;
        while let Some(event) = sockets.poll_event() {
            if let Some(client) = account.clients.hear(now, event, sockets) {
                account.drive(now, client, sockets, settings);
            }
        }
        account.clients.handle_timeout(now, sockets);
        while let Some(client) = account.clients.poll_due(now) {
            account.drive(now, client, sockets, settings);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.account.clients.poll_timeout()
    }

    fn is_busy(&self) -> bool {
        self.settings.messages.is_some() && self.account.clients.is_busy()
    }

    fn work(&self) -> Option<Work> {
        let settings = &self.settings;
        let SubscriberAccount { clients, deliveries, octets, .. } = &*self.account;
        let refused =
            clients.list.iter().any(|one| one.account.connections == 0 && one.account.reason.is_some());
        let is_whole = match settings.messages {
            Some(_) => clients.have_left(),
            // Whoever takes what comes has all of it.
            None => clients.list.iter().all(|one| one.account.connections > 0),
        };
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
            first: deliveries.first().map(|it| it.at),
            completed: deliveries.last().map(|it| it.at).filter(|_| is_whole),
            octets: *octets,
            wrong: 0,
        })
    }

    fn account(&self) -> &dyn Any {
        &*self.account
    }
}
