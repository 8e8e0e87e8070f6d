//! What became of speech sessions: the same figures that the real client reports.
//!
//! The delay of the last final result counts from when its last speech was sent, and is divided exactly, as
//! `voxpath.speech.client` divides it: end-pointing until the audio was sent that decided the end, waiting for a worker
//! if that came in between, decoding from the arrival of that audio at the worker, and the network.

use crate::plan::{App, Plan};
use crate::report::{End, Part};
use crate::world::World;
use alloc::vec;
use alloc::vec::Vec;
use voxpath_apps::Record;
use voxpath_apps::speech::{Account, Speech};
use voxpath_net::table::{Column, Data, Table};
use voxpath_units::{Span, Time};

/// One session; what did not happen is none.
#[derive(Default)]
pub(crate) struct Session {
    audio: Span,
    opened: Option<Time>,
    first_sent: Option<Time>,
    last_sent: Option<Time>,
    first_result: Option<Time>,
    last_final: Option<Time>,
    decoding: Span,
    shares: Option<Shares>,
}

/// What the delay of the last final result consists of.
struct Shares {
    network: Span,
    waiting: Span,
    decoding: Span,
    end_pointing: Span,
}

type Measure = fn(&Session) -> Option<u64>;

/// The columns of a flow.
pub(crate) const MEASURES: [(&str, Measure); 11] = [
    ("audio_ns", |session| Some(session.audio.as_nanos())),
    ("websocket_ns", |session| session.opened.map(Time::as_nanos)),
    ("audio_first_ns", |session| session.first_sent.map(Time::as_nanos)),
    ("audio_last_ns", |session| session.last_sent.map(Time::as_nanos)),
    ("result_first_ns", |session| session.first_result.map(Time::as_nanos)),
    ("final_ns", |session| session.last_final.map(Time::as_nanos)),
    ("network_ns", |session| session.shares.as_ref().map(|shares| shares.network.as_nanos())),
    ("waiting_ns", |session| session.shares.as_ref().map(|shares| shares.waiting.as_nanos())),
    ("decoding_ns", |session| session.shares.as_ref().map(|shares| shares.decoding.as_nanos())),
    ("end_pointing_ns", |session| session.shares.as_ref().map(|shares| shares.end_pointing.as_nanos())),
    ("decoding_total_ns", |session| Some(session.decoding.as_nanos())),
];

impl Session {
    /// Of a flow with this application, from what its ends saw; none of another application.
    pub(crate) fn of(app: &App, client: &Record, server: &Record) -> Option<Self> {
        let App::Speech(app) = app else { return None };
        let nothing = Account::default();
        let (client, server) = (client.speech().unwrap_or(&nothing), server.speech().unwrap_or(&nothing));
        let last_audio = app.blocks() as usize - 1;
        let last_final = app.results.iter().rposition(|told| told.spoken_bytes.is_some());
        Some(Self {
            audio: Span::from_nanos(app.length_ns),
            opened: client.opened_at,
            first_sent: client.first_at,
            last_sent: client.messages.get(last_audio).copied(),
            first_result: client.results.first().copied(),
            last_final: last_final.and_then(|result| client.results.get(result).copied()),
            decoding: server.decoding,
            shares: last_final.and_then(|result| Shares::of(app, result, client, server)),
        })
    }
}

impl Shares {
    fn of(speech: &Speech, result: usize, client: &Account, server: &Account) -> Option<Self> {
        let waiting = Span::from_nanos(speech.waiting_ns);
        let forwarding = Span::from_nanos(speech.decoder.forwarding_ns);
        let told = speech.results[result];
        let decider = speech.decided_by(told.after_bytes);
        let spoken = *client.messages.get(speech.decided_by(told.spoken_bytes))?;
        let decided = *client.messages.get(decider.min(speech.blocks() as usize - 1))?;
        let free = server.opened_at? + waiting;
        // At the master, as the real one counts: forwarding both ways is in it.
        let arrived = free.max(*server.messages.get(decider)?);
        let decoding = server.results.get(result)?.since(arrived) + forwarding;
        let whole = client.results.get(result)?.since(decided);
        // Who waited for a worker before the decision was sent did not wait for it after.
        let waited = (client.opened_at? + waiting).since(decided);
        Some(Self {
            network: Span::from_nanos(
                whole.as_nanos().saturating_sub(decoding.as_nanos()).saturating_sub(waited.as_nanos()),
            ),
            waiting: waited,
            decoding,
            end_pointing: decided.since(spoken),
        })
    }
}

/// One row per result of every session; none where there is no session.
pub(crate) fn results(plan: &Plan, world: &World) -> Option<Table> {
    struct Row {
        flow: u32,
        number: u64,
        is_final: u64,
        bytes: u64,
        understood: Option<u64>,
        received: Option<u64>,
    }
    let mut rows = Vec::new();
    let mut sessions = 0;
    for ((flow, planned), ends) in (0..).zip(&plan.flows).zip(world.sockets.flows()) {
        let App::Speech(app) = &planned.app else { continue };
        let [Part::Stream { record: client, .. }, Part::Stream { record: server, .. }] =
            [End::of(&ends[0]).part, End::of(&ends[1]).part]
        else {
            continue;
        };
        sessions += 1;
        let time = |record: &Record, result: usize| {
            record.speech()?.results.get(result).map(|at: &Time| at.as_nanos())
        };
        rows.extend(app.results.iter().enumerate().map(|(i, result)| Row {
            flow,
            number: i as u64,
            is_final: result.spoken_bytes.is_some().into(),
            bytes: result.bytes,
            understood: time(server, i),
            received: time(client, i),
        }));
    }
    let names = plan.flows.iter().map(|flow| flow.name.clone()).collect();
    let count = |of: fn(&Row) -> u64| Data::U64(rows.iter().map(of).collect());
    let time = |of: fn(&Row) -> Option<u64>| Data::OptU64(rows.iter().map(of).collect());
    (sessions > 0).then(|| Table {
        name: "results",
        columns: vec![
            Column {
                name: "flow",
                data: Data::Label { names, index: rows.iter().map(|row| row.flow).collect() },
            },
            Column { name: "result", data: count(|row| row.number) },
            Column { name: "final", data: count(|row| row.is_final) },
            Column { name: "json_bytes", data: count(|row| row.bytes) },
            Column { name: "understood_ns", data: time(|row| row.understood) },
            Column { name: "received_ns", data: time(|row| row.received) },
        ],
    })
}
