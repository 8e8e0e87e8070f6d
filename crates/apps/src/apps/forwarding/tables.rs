//! What a run tells of a forwarding server: each leg, the seconds of its media, and what became of each frame at each receiver.

use super::account::{PartyAccount, ServerAccount};
use crate::apps::call::tables::{ENDS, MEDIA_SECONDS, Second, Way, seconds};
use crate::process::{ProcessTable, Saw};
use alloc::vec::Vec;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_rtc::forward;
use voxpath_rtc::record::{Fate, Media, ReceivedFrame, SentFrame};
use voxpath_units::Time;

/// What processes with such tables go over.
pub(super) const TRANSPORT: &str = "rtp";

const SERVER: &str = "forwarding server";
const SENDER: &str = "sending application";
const RECEIVER: &str = "receiving application";
/// The end of a leg that sends to receivers.
const SERVES: usize = 1;

/// A leg: who is at its end, and the server.
struct Joined<'a> {
    name: u32,
    party: &'a PartyAccount,
    server_name: u32,
    server: &'a ServerAccount,
    /// Its number at the server.
    leg: usize,
}

impl<'a> Joined<'a> {
    /// What the server passed on; none of the leg of who presents.
    fn leg(&self) -> Option<&'a forward::Leg> {
        self.server.forwarder.legs().get(self.leg.checked_sub(1)?)
    }

    /// Each medium, the way that it goes on this leg.
    fn ways(&self) -> Vec<Way<'a>> {
        let party = self.party.session.record();
        let (end, sender, receiver) = match self.leg() {
            Some(leg) => (SERVES, leg.record(), party),
            None => (0, party, self.server.forwarder.source()),
        };
        Media::ALL.into_iter().map(|media| Way { flow: self.name, end, media, sender, receiver }).collect()
    }
}

/// All legs, in the order of those who came.
fn joined<'a>(saw: &'a [Saw<'_>]) -> impl Iterator<Item = Joined<'a>> {
    let party = |saw: &'a Saw<'_>| Some((saw.name, saw.account.downcast_ref::<PartyAccount>()?));
    saw.iter().filter_map(party).filter_map(|(name, party)| {
        saw.iter().find_map(|it| {
            let server = it.account.downcast_ref::<ServerAccount>()?;
            let leg = server.places.iter().position(|place| *place == party.server)?;
            Some(Joined { name, party, server_name: it.name, server, leg })
        })
    })
}

/// The table of seconds.
pub(crate) static LEG_SECONDS: ProcessTable<Second> = ProcessTable {
    table: TableOf {
        name: "leg_seconds",
        about: "One row per second of each medium on each leg of a forwarding server; the flow is who is at its end.",
        columns: MEDIA_SECONDS.table.columns,
    },
    rows: |saw, rows| joined(saw).for_each(|leg| seconds(&leg.ways(), None, rows)),
};

/// What became of a frame at a receiver.
pub(crate) struct Forwarded {
    name: u32,
    media: Media,
    sent: SentFrame,
    layers: Option<u8>,
    received: ReceivedFrame,
    fate: &'static str,
}

/// The table of frames.
pub(crate) static FORWARDED_FRAMES: ProcessTable<Forwarded> = ProcessTable {
    table: TableOf {
        name: "leg_frames",
        about: "One row per receiver of a forwarding server and frame that its sender sent.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the receiver."), Of::Name(0, |row| row.name)),
            (
                "end",
                Meaning::name("scenario", "server: what the server sends to the receiver."),
                Of::Word(|_| ENDS[SERVES]),
            ),
            ("media", Meaning::name("scenario", "audio or video."), Of::Word(|row| row.media.name())),
            (
                "frame",
                Meaning::count(SENDER, "Its number among those that were sent, from 0."),
                Of::U64(|row| row.sent.number.into()),
            ),
            (
                "captured_ns",
                Meaning::time(SENDER, "When it was captured."),
                Of::U64(|row| row.sent.captured.as_nanos()),
            ),
            (
                "layers_passed",
                Meaning::count(
                    SERVER,
                    "Layers of it that were passed on; 1 of all of a frame without layers; no value of audio.",
                ),
                Of::OptU64(|row| row.layers.map(u64::from)),
            ),
            (
                "frame_complete_ns",
                Meaning::time(RECEIVER, "When all of it that was passed on was there."),
                Of::OptU64(|row| row.received.complete.map(Time::as_nanos)),
            ),
            (
                "played_ns",
                Meaning::time(RECEIVER, "When it was played or shown; no value of one that was not."),
                Of::OptU64(|row| row.received.played.map(Time::as_nanos)),
            ),
            (
                "fate",
                Meaning::name(
                    RECEIVER,
                    "As in the table frames; and withheld: whole at the server, and not passed on.",
                ),
                Of::Word(|row| row.fate),
            ),
        ],
    },
    rows: |saw, rows| {
        for receiver in joined(saw) {
            let Some(leg) = receiver.leg() else { continue };
            let source = joined(saw).find(|it| it.leg == 0 && it.server_name == receiver.server_name);
            let Some(source) = source else { continue };
            Media::ALL.into_iter().for_each(|media| frames(&receiver, leg, &source, media, rows));
        }
    },
};

/// The frames of a medium at a receiver.
fn frames(
    receiver: &Joined<'_>,
    leg: &forward::Leg,
    source: &Joined<'_>,
    media: Media,
    rows: &mut Vec<Forwarded>,
) {
    let index = media.index();
    let sent = &source.party.session.record().sent[index].frames;
    let at_server = &receiver.server.forwarder.source().received[index].frames;
    let record = receiver.party.session.record();
    let passed = leg.account();
    for frame in sent.iter().filter(|frame| frame.packets > 0) {
        let number = passed.first[index].and_then(|first| frame.number.checked_sub(first));
        let found = number.and_then(|number| record.received[index].frames.get(number as usize));
        let layers = passed.layers.get(frame.number as usize).copied().unwrap_or(0);
        let was_passed = match media {
            Media::Audio => number.is_some(),
            Media::Video => layers > 0,
        };
        let received = found.copied().unwrap_or_default();
        let fate = match received.fate {
            _ if !was_passed => match at_server.get(frame.number as usize).and_then(|it| it.complete) {
                Some(_) => "withheld",
                None => Fate::Lost.name(),
            },
            Fate::Pending if record.ended.is_some() && received.complete.is_some() => Fate::Frozen.name(),
            Fate::Pending if record.ended.is_some() => Fate::Lost.name(),
            fate => fate.name(),
        };
        let layers = (media == Media::Video).then_some(layers);
        rows.push(Forwarded { name: receiver.name, media, sent: *frame, layers, received, fate });
    }
}

/// What a leg carried.
pub(crate) struct Row {
    name: u32,
    server: u32,
    passed: Option<forward::LegAccount>,
    /// Key frames that were asked for on the leg.
    key_requests: u64,
    malformed: [u64; 2],
}

impl Row {
    fn layers_mean(&self) -> Option<f64> {
        let passed = self.passed.as_ref()?.layers.iter().filter(|&&layers| layers > 0);
        let (sum, count) = passed.fold((0.0, 0.0), |(sum, count), &it| (sum + f64::from(it), count + 1.0));
        (count > 0.0).then_some(sum / count)
    }
}

/// The table of legs.
pub(crate) static LEGS: ProcessTable<Row> = ProcessTable {
    table: TableOf {
        name: "legs",
        about: "One row per leg of a forwarding server: that of its sender, and those of its receivers.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of who is at its end."), Of::Name(0, |row| row.name)),
            ("server", Meaning::name("scenario", "Name of the server."), Of::Name(0, |row| row.server)),
            (
                "packets_passed",
                Meaning::count(SERVER, "Packets of the sender that were passed on; no value of its own leg."),
                Of::OptU64(|row| Some(row.passed.as_ref()?.passed)),
            ),
            (
                "packets_withheld",
                Meaning::count(
                    SERVER,
                    "Packets that were not: of layers too many, before the receiver was there, or while its queue was full.",
                ),
                Of::OptU64(|row| Some(row.passed.as_ref()?.withheld)),
            ),
            (
                "layers_mean",
                Meaning::by("1", SERVER, "Layers of a frame of video that was passed on: mean of them."),
                Of::OptF64(Row::layers_mean),
            ),
            (
                "layer_changes",
                Meaning::count(SERVER, "How often more or fewer layers were passed on than before."),
                Of::OptU64(|row| Some(row.passed.as_ref()?.changes)),
            ),
            (
                "key_requests",
                Meaning::count(
                    SERVER,
                    "Key frames that the receiver asked for; of the sender's leg, those that the server asked for.",
                ),
                Of::U64(|row| row.key_requests),
            ),
            (
                "server_malformed",
                Meaning::count(SERVER, "Datagrams that came to it and were none of this leg, or malformed."),
                Of::U64(|row| row.malformed[0]),
            ),
            (
                "datagrams_malformed",
                Meaning::count(
                    "application",
                    "Datagrams that came and were neither RTP nor RTCP of this call, or not as their formats ask.",
                ),
                Of::U64(|row| row.malformed[1]),
            ),
        ],
    },
    rows: |saw, rows| {
        rows.extend(joined(saw).map(|it| {
            let forwarder = &it.server.forwarder;
            let leg = it.leg();
            let at_server = leg.map_or(forwarder.source(), forward::Leg::record);
            Row {
                name: it.name,
                server: it.server_name,
                passed: leg.map(|leg| leg.account().clone()),
                key_requests: leg.map_or(forwarder.key_requests(), |leg| leg.account().key_requests),
                malformed: [at_server.malformed, it.party.session.record().malformed],
            }
        }));
    },
};
