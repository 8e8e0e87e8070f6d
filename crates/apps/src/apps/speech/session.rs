//! What became of speech sessions: the same figures that the real client reports.
//!
//! The delay of the last final result counts from when its last speech was sent, and is divided exactly, as
//! `voxpath.voice.speech.client` divides it: end-pointing until the audio was sent that decided the end, waiting for a worker
//! if that came in between, decoding from the arrival of that audio at the worker, and the network.

use super::{Account, Speech, SpeechResult};
use crate::entity::{EntityOf, Told};
use crate::record::Record;
use alloc::boxed::Box;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_units::{Span, Time};

/// One session; what did not happen is none.
#[derive(Debug, Default)]
pub(crate) struct Session {
    flow: u32,
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
#[derive(Debug)]
struct Shares {
    network: Span,
    waiting: Span,
    decoding: Span,
    end_pointing: Span,
}

/// A time of a session, told by its client.
macro_rules! at {
    ($name:literal, $field:ident, $about:literal) => {
        (
            $name,
            Meaning::time("client application", $about),
            Of::OptU64(|session| session.$field.map(Time::as_nanos)),
        )
    };
}

/// A share of the delay of a session's last final result.
macro_rules! share {
    ($name:literal, $field:ident, $place:literal, $about:literal) => {
        (
            $name,
            Meaning::time($place, $about),
            Of::OptU64(|session| session.shares.as_ref().map(|shares| shares.$field.as_nanos())),
        )
    };
}

/// The table of sessions.
pub(crate) static SESSIONS: EntityOf<Session> = EntityOf {
    is_of: |told| told.saw::<Record>(),
    table: TableOf {
        name: "sessions",
        about: "One row per speech session.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |session| session.flow)),
            (
                "audio_ns",
                Meaning::audio("scenario", "How long an utterance sounds."),
                Of::U64(|session| session.audio.as_nanos()),
            ),
            at!("websocket_ns", opened, "When the WebSocket stands: the answer to its request is read."),
            at!("audio_first_ns", first_sent, "When the first message of audio is sent."),
            at!("audio_last_ns", last_sent, "When the last message of audio has been sent."),
            at!("result_first_ns", first_result, "When the first result, partial or final, is read."),
            at!("final_ns", last_final, "When the last final result is read."),
            share!(
                "network_ns",
                network,
                "client and server application",
                "Of final_latency_s, what is none of the other shares: the network."
            ),
            share!(
                "waiting_ns",
                waiting,
                "client application",
                "Of final_latency_s, the time that the session waited for a worker."
            ),
            share!(
                "decoding_ns",
                decoding,
                "server application",
                "Of final_latency_s, from the arrival at the master of the audio that decided the end of speech to the result."
            ),
            share!(
                "end_pointing_ns",
                end_pointing,
                "client application",
                "Of final_latency_s, from sending the last speech to sending the audio that decided its end."
            ),
            (
                "decoding_total_ns",
                Meaning::time("server application", "What the recogniser took in all."),
                Of::U64(|session| session.decoding.as_nanos()),
            ),
        ],
    },
    rows: |told, rows| rows.extend(Session::of(told)),
};

/// What the plan says of a flow that is a session.
fn settings<'a>(told: &Told<'a>) -> Option<&'a Speech> {
    told.settings.downcast_ref::<Box<Speech>>().map(|speech| &**speech)
}

impl Session {
    /// Of a flow that is one.
    fn of(told: &Told<'_>) -> Option<Self> {
        let (Some(app), Some([client, server])) = (settings(told), told.seen::<Record>()) else {
            return None;
        };
        let nothing = Account::default();
        let (client, server) = (client.account().unwrap_or(&nothing), server.account().unwrap_or(&nothing));
        let last_audio = app.blocks() as usize - 1;
        let last_final = app.results.iter().rposition(|told| told.spoken_bytes.is_some());
        Some(Self {
            flow: told.flow,
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

/// One result of a session, and when it was understood and received.
#[derive(Debug)]
pub(crate) struct ResultRow {
    flow: u32,
    number: u64,
    result: SpeechResult,
    understood: Option<Time>,
    received: Option<Time>,
}

/// The table of results.
pub(crate) static RESULTS: EntityOf<ResultRow> = EntityOf {
    is_of: |told| told.saw::<Record>(),
    table: TableOf {
        name: "results",
        about: "One row per result of a speech session, of those that it has where all is sent.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.flow)),
            (
                "result",
                Meaning::count("server application", "Number of the result in its session, from 0."),
                Of::U64(|row| row.number),
            ),
            (
                "final",
                Meaning::count("server application", "1 for a final result, 0 for a partial one."),
                Of::U64(|row| row.result.spoken_bytes.is_some().into()),
            ),
            (
                "json_bytes",
                Meaning::bytes("server application", "Length of its JSON."),
                Of::U64(|row| row.result.bytes),
            ),
            (
                "understood_ns",
                Meaning::time("server application", "When the worker tells it."),
                Of::OptU64(|row| row.understood.map(Time::as_nanos)),
            ),
            (
                "received_ns",
                Meaning::time("client application", "When it is read whole."),
                Of::OptU64(|row| row.received.map(Time::as_nanos)),
            ),
        ],
    },
    rows: |told, rows| {
        let (Some(app), Some([client, server])) = (settings(told), told.seen::<Record>()) else { return };
        let times = |account: Option<&Account>, result: usize| account?.results.get(result).copied();
        rows.extend(app.results.iter().enumerate().map(|(i, result)| ResultRow {
            flow: told.flow,
            number: i as u64,
            result: *result,
            understood: times(server.account(), i),
            received: times(client.account(), i),
        }));
    },
};
