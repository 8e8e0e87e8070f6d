//! What a run tells of CoAP: each exchange, each representation that came, and what each end had the network carry.

use super::account::{Asked, ClientAccount, End, Reading, ServerAccount};
use crate::apps::mqtt::MessageId;
use crate::process::{ProcessTable, Saw};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use voxpath_coap::Outcome;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_units::Time;

/// An exchange.
pub(crate) struct Exchange {
    name: u32,
    number: u32,
    asked: Asked,
    delivered_at: Option<Time>,
    deliveries: u64,
}

const CLIENT: &str = "CoAP client";
const SERVER: &str = "CoAP server";
const END: &str = "end of CoAP";

/// The table of messages.
pub(crate) static EXCHANGES: ProcessTable<Exchange> = ProcessTable {
    table: TableOf {
        name: "exchanges",
        about: "One row per exchange of a CoAP client, which puts a message or asks for a resource: what became of it at the server and at the client.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the client."), Of::Name(0, |row| row.name)),
            (
                "message",
                Meaning::count(CLIENT, "Number of the message, from 0."),
                Of::U64(|row| row.number.into()),
            ),
            (
                "bytes",
                Meaning::bytes(CLIENT, "The body that is put, or that came."),
                Of::U64(|row| row.asked.octets.into()),
            ),
            (
                "published_ns",
                Meaning::time(CLIENT, "When it was due."),
                Of::U64(|row| row.asked.due_at.as_nanos()),
            ),
            (
                "delivered_ns",
                Meaning::time(
                    END,
                    "When it was there whole: at the server what is put, but for servers that are programs; at the client what it asks for.",
                ),
                Of::OptU64(|row| row.delivered_at.map(Time::as_nanos)),
            ),
            (
                "deliveries",
                Meaning::count(END, "How often it came whole there."),
                Of::U64(|row| row.deliveries),
            ),
            (
                "acknowledged_ns",
                Meaning::time(CLIENT, "When the response to its last block came, or it was given up."),
                Of::OptU64(|row| row.asked.ended.map(|(at, _)| at.as_nanos())),
            ),
            (
                "outcome",
                Meaning::name(
                    CLIENT,
                    "`done`, `timed out`, `refused`, or `changed` of what became another one each time that it was fetched; empty while it is under way.",
                ),
                Of::Text(|row| {
                    match row.asked.ended {
                        None => "",
                        Some((_, Outcome::Done)) => "done",
                        Some((_, Outcome::TimedOut)) => "timed out",
                        Some((_, Outcome::Refused(_) | Outcome::NotObserved)) => "refused",
                        Some((_, Outcome::Changed)) => "changed",
                    }
                    .into()
                }),
            ),
        ],
    },
    rows: |saw, rows| {
        let mut got: BTreeMap<MessageId, (Time, u64)> = BTreeMap::new();
        for &(id, at) in
            saw.iter().filter_map(|saw| saw.account.downcast_ref::<ServerAccount>()).flat_map(|it| &it.got)
        {
            got.entry(id).or_insert((at, 0)).1 += 1;
        }
        for (saw, account) in clients(saw) {
            rows.extend((0..).zip(&account.asked).map(|(number, &asked)| {
                let id = MessageId { process: account.process, client: 0, number };
                let told = asked.ended.filter(|(_, how)| *how == Outcome::Done).map(|(at, _)| (at, 1));
                let delivered = if asked.is_put { got.get(&id).copied() } else { told };
                Exchange {
                    name: saw.name,
                    number,
                    asked,
                    delivered_at: delivered.map(|(at, _)| at),
                    deliveries: delivered.map_or(0, |(_, times)| times),
                }
            }));
        }
    },
};

/// A representation at a client that it came to.
pub(crate) struct ReadingRow {
    name: u32,
    source: u32,
    reading: Reading,
    made_at: Option<Time>,
}

/// The table of representations.
pub(crate) static READINGS: ProcessTable<ReadingRow> = ProcessTable {
    table: TableOf {
        name: "readings",
        about: "One row per representation of a resource that came to a CoAP client, by a request or by a notification.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the client."), Of::Name(0, |row| row.name)),
            (
                "source",
                Meaning::name(
                    "scenario",
                    "Name of the server that read it, or of the client that put it; empty of programs.",
                ),
                Of::Name(0, |row| row.source),
            ),
            (
                "resource",
                Meaning::count(SERVER, "Number of the server's resource, from 0; 0 of what was put."),
                Of::OptU64(|row| row.reading.what.map(|id| id.client.into())),
            ),
            (
                "reading",
                Meaning::count(SERVER, "Number of the reading, or of the message that was put, from 0."),
                Of::OptU64(|row| row.reading.what.map(|id| id.number.into())),
            ),
            ("bytes", Meaning::bytes(CLIENT, "It."), Of::U64(|row| row.reading.octets.into())),
            (
                "made_ns",
                Meaning::time(SERVER, "When the server had it; no value of servers that are programs."),
                Of::OptU64(|row| row.made_at.map(Time::as_nanos)),
            ),
            (
                "received_ns",
                Meaning::time(CLIENT, "When the client had it whole."),
                Of::U64(|row| row.reading.at.as_nanos()),
            ),
        ],
    },
    rows: |saw, rows| {
        let servers = || saw.iter().filter_map(|saw| saw.account.downcast_ref::<ServerAccount>());
        let mut made: Vec<(MessageId, Time)> =
            servers().flat_map(|it| it.made.iter().chain(&it.got)).copied().collect();
        made.sort_unstable();
        for (of, account) in clients(saw) {
            rows.extend(account.readings.iter().map(|&reading| {
                let place = |id: MessageId| made.partition_point(|&(known, _)| known < id);
                let found = reading.what.and_then(|id| made.get(place(id)).filter(|(known, _)| *known == id));
                let source = found.and_then(|(id, _)| saw.iter().find(|saw| saw.process == id.process));
                ReadingRow {
                    name: of.name,
                    source: source.map_or(of.nobody, |source| source.name),
                    reading,
                    made_at: found.map(|&(_, at)| at),
                }
            }));
        }
    },
};

fn clients<'a>(saw: &'a [Saw<'_>]) -> impl Iterator<Item = (&'a Saw<'a>, &'a ClientAccount)> {
    saw.iter().filter_map(|saw| Some((saw, saw.account.downcast_ref::<ClientAccount>()?)))
}

/// The table of ends.
pub(crate) static ENDS: ProcessTable<(u32, End)> = ProcessTable {
    table: TableOf {
        name: "coap",
        about: "One row per CoAP client, observer and server: its datagrams and their octets, without headers of UDP and IP.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the process."), Of::Name(0, |row| row.0)),
            ("datagrams_sent", Meaning::count(END, "Datagrams sent."), Of::U64(|row| row.1.counts.sent)),
            (
                "datagrams_received",
                Meaning::count(END, "Datagrams that came."),
                Of::U64(|row| row.1.counts.received),
            ),
            (
                "coap_bytes_sent",
                Meaning::bytes(END, "CoAP in those sent."),
                Of::U64(|row| row.1.counts.octets_sent),
            ),
            (
                "coap_bytes_received",
                Meaning::bytes(END, "CoAP in those that came."),
                Of::U64(|row| row.1.counts.octets_received),
            ),
            (
                "body_bytes",
                Meaning::bytes(END, "Bodies put, taken, or told to it."),
                Of::U64(|row| row.1.bodies),
            ),
            (
                "retransmissions",
                Meaning::count(END, "Requests or notifications sent again."),
                Of::U64(|row| row.1.counts.retransmissions),
            ),
            (
                "duplicates",
                Meaning::count(SERVER, "Requests that came again."),
                Of::U64(|row| row.1.duplicates),
            ),
            (
                "notifications",
                Meaning::count(SERVER, "Notifications, without those that were sent again as they were."),
                Of::U64(|row| row.1.notifications),
            ),
        ],
    },
    rows: |saw, rows| {
        rows.extend(saw.iter().filter_map(|saw| {
            let client = saw.account.downcast_ref::<ClientAccount>().map(ClientAccount::end);
            let server = || saw.account.downcast_ref::<ServerAccount>().map(ServerAccount::end);
            Some((saw.name, client.or_else(server)?))
        }));
    },
};
