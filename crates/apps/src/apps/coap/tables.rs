//! What a run tells of CoAP: each message, and what each end had the network carry.

use super::account::{ClientAccount, End, Put, ServerAccount};
use crate::apps::mqtt::MessageId;
use crate::process::{ProcessTable, Saw};
use alloc::collections::BTreeMap;
use voxpath_coap::Outcome;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_units::Time;

/// A message, from its client to the server.
pub(crate) struct Exchange {
    name: u32,
    number: u32,
    octets: u32,
    put: Put,
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
        about: "One row per message that a CoAP client put: what became of it at the server and at the client.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the client."), Of::Name(0, |row| row.name)),
            (
                "message",
                Meaning::count(CLIENT, "Number of the message, from 0."),
                Of::U64(|row| row.number.into()),
            ),
            ("bytes", Meaning::bytes("scenario", "Its body."), Of::U64(|row| row.octets.into())),
            (
                "published_ns",
                Meaning::time(CLIENT, "When it was due."),
                Of::U64(|row| row.put.due_at.as_nanos()),
            ),
            (
                "delivered_ns",
                Meaning::time(SERVER, "When it was there whole; no value of servers that are programs."),
                Of::OptU64(|row| row.delivered_at.map(Time::as_nanos)),
            ),
            ("deliveries", Meaning::count(SERVER, "How often it came whole."), Of::U64(|row| row.deliveries)),
            (
                "acknowledged_ns",
                Meaning::time(CLIENT, "When the response to its last block came, or it was given up."),
                Of::OptU64(|row| row.put.ended.map(|(at, _)| at.as_nanos())),
            ),
            (
                "outcome",
                Meaning::name(CLIENT, "`done`, `timed out`, or `refused`; empty while it is under way."),
                Of::Text(|row| {
                    match row.put.ended {
                        None => "",
                        Some((_, Outcome::Done)) => "done",
                        Some((_, Outcome::TimedOut)) => "timed out",
                        Some((_, Outcome::Refused(_))) => "refused",
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
            rows.extend((0..).zip(&account.put).map(|(number, &put)| {
                let id = MessageId { process: account.process, client: 0, number };
                let delivered = got.get(&id);
                Exchange {
                    name: saw.name,
                    number,
                    octets: account.bytes,
                    put,
                    delivered_at: delivered.map(|&(at, _)| at),
                    deliveries: delivered.map_or(0, |&(_, times)| times),
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
        about: "One row per CoAP client and server: its datagrams and their octets, without headers of UDP and IP.",
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
            ("body_bytes", Meaning::bytes(END, "Bodies put, or taken."), Of::U64(|row| row.1.bodies)),
            (
                "retransmissions",
                Meaning::count(CLIENT, "Requests sent again."),
                Of::U64(|row| row.1.counts.retransmissions),
            ),
            (
                "duplicates",
                Meaning::count(SERVER, "Requests that came again."),
                Of::U64(|row| row.1.duplicates),
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
