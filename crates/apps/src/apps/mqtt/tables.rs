//! What a run tells of messages: each as it was published, each time it was delivered, clients, brokers.

use super::account::{BrokerAccount, Delivery, Published, PublisherAccount, SubscriberAccount};
use super::clients::{Account as ClientAccount, Clients};
use super::identity::MessageId;
use super::order::{Order, Receiver};
use crate::layers::Carried;
use crate::process::{ProcessTable, Saw};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use voxpath_mqtt::broker::BrokerCounts;
use voxpath_mqtt::{Qos, Text};
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_units::Time;

/// A message, from its publisher to all who got it.
pub(crate) struct Publication {
    name: u32,
    id: MessageId,
    topic: Text,
    octets: u32,
    qos: Qos,
    published: Published,
    broker_at: Option<Time>,
    deliveries: u64,
    duplicates: u64,
    first_at: Option<Time>,
    last_at: Option<Time>,
}

const PUBLISHER: &str = "publishing client";
const SUBSCRIBER: &str = "subscribing client";
const BROKER: &str = "broker";

/// The table of messages, as they were published.
pub(crate) static PUBLICATIONS: ProcessTable<Publication> = ProcessTable {
    table: TableOf {
        name: "publications",
        about: "One row per message that a publisher had: what became of it at the broker, at the subscribers, and at the publisher.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the publisher."), Of::Name(0, |row| row.name)),
            (
                "client",
                Meaning::count("scenario", "Number of the client in it, from 0."),
                Of::U64(|row| row.id.client.into()),
            ),
            (
                "message",
                Meaning::count(PUBLISHER, "Number of the message of this client, from 0."),
                Of::U64(|row| row.id.number.into()),
            ),
            ("topic", Meaning::name("scenario", "Its topic."), Of::Text(|row| row.topic.to_string())),
            ("bytes", Meaning::bytes("scenario", "Its body."), Of::U64(|row| row.octets.into())),
            ("qos", Meaning::count("scenario", "QoS: 0, 1 or 2."), Of::U64(|row| u8::from(row.qos).into())),
            (
                "published_ns",
                Meaning::time(PUBLISHER, "When it was due to be published."),
                Of::U64(|row| row.published.due_at.as_nanos()),
            ),
            (
                "sent_ns",
                Meaning::time(
                    PUBLISHER,
                    "When the socket had taken all of its packet; what has to wait for the window of messages or for the socket waits in the client.",
                ),
                Of::OptU64(|row| row.published.sent_at.map(Time::as_nanos)),
            ),
            (
                "broker_ns",
                Meaning::time(BROKER, "When it was there whole; no value of brokers that are programs."),
                Of::OptU64(|row| row.broker_at.map(Time::as_nanos)),
            ),
            (
                "acknowledged_ns",
                Meaning::time(
                    PUBLISHER,
                    "When its PUBACK (QoS 1) or PUBCOMP (QoS 2) came, or the PUBREC that refused it.",
                ),
                Of::OptU64(|row| row.published.acknowledged_at.map(Time::as_nanos)),
            ),
            (
                "reason",
                Meaning::count(PUBLISHER, "Reason code of that; above 127 it was refused."),
                Of::U64(|row| row.published.reason.0.into()),
            ),
            (
                "deliveries",
                Meaning::count(SUBSCRIBER, "Clients of subscribers that got it."),
                Of::U64(|row| row.deliveries),
            ),
            (
                "duplicates",
                Meaning::count(SUBSCRIBER, "How often a client got it again."),
                Of::U64(|row| row.duplicates),
            ),
            (
                "first_delivered_ns",
                Meaning::time(SUBSCRIBER, "When the first client had it."),
                Of::OptU64(|row| row.first_at.map(Time::as_nanos)),
            ),
            (
                "last_delivered_ns",
                Meaning::time(SUBSCRIBER, "When the last client had it that got it."),
                Of::OptU64(|row| row.last_at.map(Time::as_nanos)),
            ),
        ],
    },
    rows: |saw, rows| {
        let begins = publications(saw, rows);
        let place = |id: MessageId| begins.of(id);
        let mut order = Order::new(saw);
        for (broker, account) in seen::<BrokerAccount>(saw) {
            let receiver = Receiver { process: broker.process, client: 0, since: Time::ZERO };
            let short = account.short.iter().filter_map(|(topic, short, at)| {
                Some((order.tell(receiver, Err((topic, Some(*short))), *at)?, *at))
            });
            for (id, at) in account.taken.iter().copied().chain(short) {
                if let Some(row) = place(id).and_then(|place| rows.get_mut(place)) {
                    row.broker_at.get_or_insert(at);
                }
            }
        }
        // Of each message, who got it, in the order in which they did.
        let mut got: Vec<(usize, u16, u32, Time)> = Vec::new();
        for (process, account) in seen::<SubscriberAccount>(saw) {
            let told = told(&mut order, process, account);
            let known = told.filter_map(|(it, id)| Some((place(id?)?, process.process, it.client, it.at)));
            got.extend(known);
        }
        got.sort_unstable();
        let mut before = None;
        for (place, process, client, at) in got {
            let row = &mut rows[place];
            if before.replace((place, process, client)) == Some((place, process, client)) {
                row.duplicates += 1;
                continue;
            }
            row.deliveries += 1;
            row.first_at = Some(row.first_at.map_or(at, |first| first.min(at)));
            row.last_at = Some(row.last_at.map_or(at, |last| last.max(at)));
        }
    },
};

/// What came to a subscriber's clients, and which message each of it is.
fn told<'a>(
    order: &mut Order<'_>,
    saw: &Saw<'_>,
    account: &'a SubscriberAccount,
) -> impl Iterator<Item = (&'a Delivery, Option<MessageId>)> {
    let process = saw.process;
    account.deliveries.iter().map(move |it| {
        let one = &account.clients.list[it.client as usize];
        let since = one.account.connected_at.unwrap_or(Time::ZERO);
        let what = it.what.map_err(|place| {
            let (topic, short) = &account.unnamed[place as usize];
            (topic, *short)
        });
        (it, order.tell(Receiver { process, client: it.client, since }, what, it.at))
    })
}

/// Where the rows of a process's clients begin.
struct Begins(Vec<(u16, Vec<(usize, u32)>)>);

impl Begins {
    /// The row of a message, if it was published.
    fn of(&self, id: MessageId) -> Option<usize> {
        let (_, clients) = self.0.iter().find(|(process, _)| *process == id.process)?;
        let &(begin, count) = clients.get(id.client as usize)?;
        (id.number < count).then(|| begin + id.number as usize)
    }
}

/// Rows of what was published, of which nothing else is known yet.
fn publications(saw: &[Saw<'_>], rows: &mut Vec<Publication>) -> Begins {
    let mut begins = Vec::new();
    for (saw, account) in seen::<PublisherAccount>(saw) {
        let mut clients = Vec::with_capacity(account.sources.len());
        for (client, source) in (0..).zip(&account.sources) {
            clients.push((rows.len(), source.published.len() as u32));
            rows.extend((0..).zip(&source.published).map(|(number, &published)| Publication {
                name: saw.name,
                id: MessageId { process: saw.process, client, number },
                topic: source.topic.clone(),
                octets: account.size(number),
                qos: account.qos,
                published,
                broker_at: None,
                deliveries: 0,
                duplicates: 0,
                first_at: None,
                last_at: None,
            }));
        }
        begins.push((saw.process, clients));
    }
    Begins(begins)
}

/// A message at one of those who got it.
pub(crate) struct Delivered {
    name: u32,
    publisher: u32,
    topic: String,
    published_at: Option<Time>,
    delivery: Delivery,
    id: Option<MessageId>,
    again: bool,
}

/// The table of deliveries.
pub(crate) static DELIVERIES: ProcessTable<Delivered> = ProcessTable {
    table: TableOf {
        name: "deliveries",
        about: "One row per message that came to a client of a subscriber.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the subscriber."), Of::Name(0, |row| row.name)),
            (
                "client",
                Meaning::count("scenario", "Number of the client in it, from 0."),
                Of::U64(|row| row.delivery.client.into()),
            ),
            (
                "publisher",
                Meaning::name("scenario", "Name of the publisher; empty of messages of nobody in this run."),
                Of::Name(0, |row| row.publisher),
            ),
            (
                "publisher_client",
                Meaning::count("scenario", "Number of the client in it."),
                Of::OptU64(|row| row.id.map(|id| id.client.into())),
            ),
            (
                "message",
                Meaning::count(PUBLISHER, "Number of the message of that client."),
                Of::OptU64(|row| row.id.map(|id| id.number.into())),
            ),
            ("topic", Meaning::name(SUBSCRIBER, "Its topic."), Of::Text(|row| row.topic.clone())),
            ("bytes", Meaning::bytes(SUBSCRIBER, "Its body."), Of::U64(|row| row.delivery.octets.into())),
            (
                "qos",
                Meaning::count(SUBSCRIBER, "QoS at which it came."),
                Of::U64(|row| u8::from(row.delivery.qos).into()),
            ),
            (
                "retained",
                Meaning::count(SUBSCRIBER, "1 if it was retained."),
                Of::U64(|row| row.delivery.retained.into()),
            ),
            (
                "dup",
                Meaning::count(SUBSCRIBER, "1 if the broker said that it may have come before."),
                Of::U64(|row| row.delivery.dup.into()),
            ),
            (
                "again",
                Meaning::count(SUBSCRIBER, "1 if it had come before."),
                Of::U64(|row| row.again.into()),
            ),
            (
                "published_ns",
                Meaning::time(PUBLISHER, "When it was due to be published."),
                Of::OptU64(|row| row.published_at.map(Time::as_nanos)),
            ),
            (
                "delivered_ns",
                Meaning::time(SUBSCRIBER, "When it was there whole."),
                Of::U64(|row| row.delivery.at.as_nanos()),
            ),
        ],
    },
    rows: |saw, rows| {
        let mut published = Vec::new();
        let begins = publications(saw, &mut published);
        let mut order = Order::new(saw);
        for (saw, account) in seen::<SubscriberAccount>(saw) {
            let told: Vec<_> = told(&mut order, saw, account).collect();
            let mut known: Vec<(u32, MessageId, usize)> =
                (0..).zip(&told).filter_map(|(place, (it, id))| Some((it.client, (*id)?, place))).collect();
            known.sort_unstable();
            let again = known.windows(2).filter(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1));
            let mut again: Vec<usize> = again.map(|pair| pair[1].2).collect();
            again.sort_unstable();
            rows.extend((0..).zip(told).map(|(place, (&delivery, id))| {
                let of = id.and_then(|id| begins.of(id)).and_then(|it| published.get(it));
                let unknown = delivery.what.err().map(|at| account.unnamed[at as usize].0.to_string());
                Delivered {
                    name: saw.name,
                    publisher: of.map_or(saw.nobody, |of| of.name),
                    topic: of.map(|of| of.topic.to_string()).or(unknown).unwrap_or_default(),
                    published_at: of.map(|of| of.published.due_at),
                    delivery,
                    id,
                    again: again.binary_search(&place).is_ok(),
                }
            }));
        }
    },
};

/// A client of a publisher or a subscriber.
pub(crate) struct ClientRow {
    name: u32,
    client: u32,
    account: ClientAccount,
    counts: voxpath_mqtt::ClientCounts,
    tls: Option<Carried>,
    websocket: Option<Carried>,
}

/// The table of clients.
pub(crate) static CLIENTS: ProcessTable<ClientRow> = ProcessTable {
    table: TableOf {
        name: "clients",
        about: "One row per client of a publisher or a subscriber: its connections to the broker, and what MQTT had them carry.",
        columns: &[
            (
                "flow",
                Meaning::name("scenario", "Name of the publisher or subscriber."),
                Of::Name(0, |row| row.name),
            ),
            (
                "client",
                Meaning::count("scenario", "Number of the client in it, from 0."),
                Of::U64(|row| row.client.into()),
            ),
            (
                "connected_ns",
                Meaning::time("client", "When the broker accepted it first."),
                Of::OptU64(|row| row.account.connected_at.map(Time::as_nanos)),
            ),
            (
                "left_ns",
                Meaning::time("client", "When it had left."),
                Of::OptU64(|row| row.account.left_at.map(Time::as_nanos)),
            ),
            (
                "connections",
                Meaning::count("client", "How often the broker accepted it."),
                Of::U64(|row| row.account.connections),
            ),
            (
                "connections_lost",
                Meaning::count("client", "How often a connection failed, or was ended by the broker."),
                Of::U64(|row| row.account.lost),
            ),
            (
                "reason",
                Meaning::count(
                    "client",
                    "Reason code with which the broker last refused or ended a connection.",
                ),
                Of::OptU64(|row| row.account.reason.map(|reason| reason.0.into())),
            ),
            (
                "packets_sent",
                Meaning::count("client", "MQTT packets."),
                Of::U64(|row| row.counts.packets_sent),
            ),
            (
                "packets_received",
                Meaning::count("client", "MQTT packets."),
                Of::U64(|row| row.counts.packets_received),
            ),
            (
                "mqtt_bytes_sent",
                Meaning::bytes("client", "Bytes of MQTT packets."),
                Of::U64(|row| row.counts.octets_sent),
            ),
            (
                "mqtt_bytes_received",
                Meaning::bytes("client", "Bytes of MQTT packets."),
                Of::U64(|row| row.counts.octets_received),
            ),
            (
                "websocket_bytes_sent",
                Meaning::bytes("client", "Bytes of WebSocket, with what it carries; no value without it."),
                Of::OptU64(|row| row.websocket.map(|it| it.sent)),
            ),
            (
                "websocket_bytes_received",
                Meaning::bytes("client", "Bytes of WebSocket, with what it carries; no value without it."),
                Of::OptU64(|row| row.websocket.map(|it| it.received)),
            ),
            (
                "tls_bytes_sent",
                Meaning::bytes("client", "Bytes of TLS, with what it carries; no value without it."),
                Of::OptU64(|row| row.tls.map(|it| it.sent)),
            ),
            (
                "tls_bytes_received",
                Meaning::bytes("client", "Bytes of TLS, with what it carries; no value without it."),
                Of::OptU64(|row| row.tls.map(|it| it.received)),
            ),
            (
                "body_bytes_sent",
                Meaning::bytes("client", "Bodies of messages in them."),
                Of::U64(|row| row.counts.body_sent),
            ),
            (
                "body_bytes_received",
                Meaning::bytes("client", "Bodies of messages in them."),
                Of::U64(|row| row.counts.body_received),
            ),
            (
                "messages_again",
                Meaning::count("client", "Messages that were sent again after a connection was lost."),
                Of::U64(|row| row.counts.messages_again),
            ),
        ],
    },
    rows: |saw, rows| {
        let mut add = |name: u32, clients: &Clients| {
            rows.extend((0..).zip(&clients.list).map(|(client, one)| {
                let [tls, websocket] = clients.carried(client);
                ClientRow { name, client, account: one.account, counts: *one.client.counts(), tls, websocket }
            }));
        };
        for saw in saw {
            if let Some(account) = saw.account.downcast_ref::<PublisherAccount>() {
                add(saw.name, &account.clients);
            } else if let Some(account) = saw.account.downcast_ref::<SubscriberAccount>() {
                add(saw.name, &account.clients);
            }
        }
    },
};

/// The table of brokers.
pub(crate) static BROKERS: ProcessTable<(u32, u64, BrokerCounts)> = ProcessTable {
    table: TableOf {
        name: "brokers",
        about: "One row per broker.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the broker."), Of::Name(0, |row| row.0)),
            (
                "most_connections",
                Meaning::count(BROKER, "Connections at a time, at most."),
                Of::U64(|row| row.1),
            ),
            ("messages_in", Meaning::count(BROKER, "Messages taken."), Of::U64(|row| row.2.messages_in)),
            (
                "messages_out",
                Meaning::count(BROKER, "Messages sent to subscribers, again too."),
                Of::U64(|row| row.2.messages_out),
            ),
            (
                "messages_dropped",
                Meaning::count(
                    BROKER,
                    "Messages that found no room in a session's queue, or that a client was too small for.",
                ),
                Of::U64(|row| row.2.messages_dropped),
            ),
            (
                "messages_expired",
                Meaning::count(BROKER, "Messages that expired while they waited."),
                Of::U64(|row| row.2.messages_expired),
            ),
            (
                "longest_queue",
                Meaning::count(BROKER, "The most messages that waited for one session."),
                Of::U64(|row| row.2.longest_queue),
            ),
            (
                "refused",
                Meaning::count(BROKER, "Connections that were refused."),
                Of::U64(|row| row.2.refused),
            ),
            (
                "protocol_errors",
                Meaning::count(BROKER, "Connections that were ended because of what came over them."),
                Of::U64(|row| row.2.protocol_errors),
            ),
        ],
    },
    rows: |saw, rows| {
        rows.extend(
            seen::<BrokerAccount>(saw)
                .map(|(saw, account)| (saw.name, account.most_connections, account.counts)),
        );
    },
};

fn seen<'a, T: 'static>(saw: &'a [Saw<'a>]) -> impl Iterator<Item = (&'a Saw<'a>, &'a T)> {
    saw.iter().filter_map(|saw| Some((saw, saw.account.downcast_ref()?)))
}
