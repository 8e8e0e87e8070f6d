//! Tables of a call: frames, seconds of its media, and signals of its rate controls.

use crate::entity::{EntityOf, Told};
use alloc::vec::Vec;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_rtc::breaker::Cause;
use voxpath_rtc::data::{Outcome, SentMessage};
use voxpath_rtc::rate::Value;
use voxpath_rtc::record::{
    Fate, Media, ReceivedFrame, ReceivedSecond, Record, SentFrame, SentSecond, Signal,
};
use voxpath_units::{Span, Time};

const SENDER: &str = "sending application";
const RECEIVER: &str = "receiving application";

/// The ends of a flow.
pub(crate) const ENDS: [&str; 2] = ["client", "server"];

/// What is sent one way of one medium, at both ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Way<'a> {
    pub(crate) flow: u32,
    /// The end that sends.
    pub(crate) end: usize,
    pub(crate) media: Media,
    pub(crate) sender: &'a Record,
    pub(crate) receiver: &'a Record,
}

impl Way<'_> {
    /// What the receiver saw of a frame, by the clock of the run.
    fn seen(&self, frame: &SentFrame) -> ReceivedFrame {
        let frames = &self.receiver.received[self.media.index()].frames;
        let found = frames.get(frame.number as usize).filter(|_| frame.packets > 0);
        found.map_or_else(ReceivedFrame::default, |it| it.by_run(self.receiver.clock))
    }

    /// Frames are due as long after their capture as the last one that was played.
    fn wait(&self) -> Span {
        let sent = self.sender.sent[self.media.index()].frames.iter().rev();
        let mut waits = sent.map(|frame| {
            let captured = frame.by_run(self.sender.clock).captured;
            Some(self.seen(frame).played?.since(captured))
        });
        waits.find_map(|wait| wait).unwrap_or(PATIENCE)
    }

    /// Whether nothing more can come of a frame, by the clock of the run.
    fn is_over(&self, frame: &SentFrame, wait: Span, ended: Time) -> bool {
        self.receiver.ended.is_some() || ended.since(frame.captured) > wait
    }

    /// Packets that the receiver's highest sequence number does not tell of, since nothing behind them came, or nothing before
    /// them: by the second in which their frame was sent. What can still be on its way at the end of the run is none of them.
    fn unheard(&self, ended: Time) -> Vec<(u64, u64)> {
        let (wait, index) = (self.wait(), self.media.index());
        let is_sent = |frame: &&SentFrame| frame.sent.is_some();
        let sent: Vec<_> = self.sender.sent[index].frames.iter().filter(is_sent).collect();
        let expected: u64 = self.receiver.received[index].seconds.iter().map(|(_, it)| it.expected).sum();
        let all: u64 = sent.iter().map(|frame| u64::from(frame.packets)).sum();
        let mut left = all.saturating_sub(expected);
        let mut unheard = Vec::new();
        // From both ends on, up to a frame of which all came.
        let ends: [&mut dyn Iterator<Item = &&SentFrame>; 2] = [&mut sent.iter().rev(), &mut sent.iter()];
        for frames in ends {
            for frame in frames.take_while(|frame| self.seen(frame).complete.is_none()) {
                let packets = left.min(frame.packets.into());
                left -= packets;
                let frame = frame.by_run(self.sender.clock);
                if let Some(at) = frame.sent.filter(|_| self.is_over(&frame, wait, ended)) {
                    unheard.push((second_of(at), packets));
                }
            }
        }
        unheard
    }
}

const SECOND: u64 = 1_000_000_000;

/// The second of the run in which a time is.
const fn second_of(at: Time) -> u64 {
    at.as_nanos() / SECOND
}

/// Each medium, each way.
fn ways<'a>(told: &Told<'a>) -> impl Iterator<Item = Way<'a>> {
    let flow = told.flow;
    told.seen::<Record>().into_iter().flat_map(move |ends| {
        [0, 1].into_iter().flat_map(move |end| {
            let (sender, receiver) = (ends[end], ends[1 - end]);
            Media::ALL.into_iter().map(move |media| Way { flow, end, media, sender, receiver })
        })
    })
}

/// An end of a call.
pub(super) struct End {
    flow: u32,
    end: usize,
    ended: Option<Time>,
    stopped: [Option<(Time, Cause)>; 2],
    malformed: u64,
}

impl End {
    fn stopped_at(&self, media: Media) -> Option<u64> {
        Some(self.stopped[media.index()]?.0.as_nanos())
    }

    fn stopped_by(&self, media: Media) -> &'static str {
        self.stopped[media.index()].map_or("", |(_, cause)| cause.name())
    }
}

const STOPPED_BY: Meaning = Meaning::name(
    SENDER,
    "rtcp_timeout: no RTCP came for three intervals; media_timeout: reports said that nothing comes; congestion: ten times as much as TCP; empty if no circuit breaker stopped it.",
);

/// The table of ends.
pub(super) static CALLS: EntityOf<End> = EntityOf {
    is_of: |told| told.seen::<Record>().is_some(),
    table: TableOf {
        name: "calls",
        about: "One row per end of a call.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.flow)),
            ("end", Meaning::name("scenario", "client or server."), Of::Word(|row| ENDS[row.end])),
            (
                "call_ended_ns",
                Meaning::time("application", "When the call was over for this end; no value if it was not."),
                Of::OptU64(|row| row.ended.map(Time::as_nanos)),
            ),
            (
                "audio_stopped_ns",
                Meaning::time(
                    SENDER,
                    "When a circuit breaker (RFC 8083) stopped the audio that it sent; no value if none did.",
                ),
                Of::OptU64(|row| row.stopped_at(Media::Audio)),
            ),
            ("audio_stopped_by", STOPPED_BY, Of::Word(|row| row.stopped_by(Media::Audio))),
            (
                "video_stopped_ns",
                Meaning::time(
                    SENDER,
                    "When a circuit breaker (RFC 8083) stopped the video that it sent; no value if none did.",
                ),
                Of::OptU64(|row| row.stopped_at(Media::Video)),
            ),
            ("video_stopped_by", STOPPED_BY, Of::Word(|row| row.stopped_by(Media::Video))),
            (
                "datagrams_malformed",
                Meaning::count(
                    "application",
                    "Datagrams that came and were neither RTP nor RTCP of this call, or not as their formats ask.",
                ),
                Of::U64(|row| row.malformed),
            ),
        ],
    },
    rows: |told, rows| {
        let flow = told.flow;
        for (end, record) in told.seen::<Record>().into_iter().flatten().enumerate() {
            let &Record { clock, ended, stopped, malformed, .. } = record;
            let ended = ended.map(|at| clock.run(at));
            let stopped = stopped.map(|it| it.map(|(at, cause)| (clock.run(at), cause)));
            rows.push(End { flow, end, ended, stopped, malformed });
        }
    },
};

/// A message of a data channel, and what became of it.
pub(super) struct Message {
    flow: u32,
    end: usize,
    number: u64,
    sent: SentMessage,
    delivered: Option<Time>,
}

impl Message {
    const fn fate(&self) -> &'static str {
        match (self.delivered, self.sent.outcome) {
            (Some(_), _) => "delivered",
            (None, Outcome::GivenUp(_)) => "given up",
            (None, Outcome::Refused) => "refused",
            (None, Outcome::Taken(_)) => "pending",
        }
    }
}

/// The table of a data channel's messages.
pub(super) static DATA: EntityOf<Message> = EntityOf {
    is_of: |told| told.seen::<Record>().is_some_and(|ends| ends.iter().any(|end| !end.messages.is_empty())),
    table: TableOf {
        name: "data_messages",
        about: "One row per message that an end of a call gave to its data channel.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.flow)),
            (
                "end",
                Meaning::name("scenario", "The end that sends: client or server."),
                Of::Word(|row| ENDS[row.end]),
            ),
            ("message", Meaning::count(SENDER, "Its number, from 0."), Of::U64(|row| row.number)),
            ("bytes", Meaning::bytes("scenario", "Its size."), Of::U64(|row| row.sent.bytes.into())),
            (
                "published_ns",
                Meaning::time(SENDER, "When it was given to the channel."),
                Of::U64(|row| row.sent.at.as_nanos()),
            ),
            (
                "delivered_ns",
                Meaning::time(
                    RECEIVER,
                    "When it was there whole, and its turn; no value of one that was not.",
                ),
                Of::OptU64(|row| row.delivered.map(Time::as_nanos)),
            ),
            (
                "outcome",
                Meaning::name(
                    RECEIVER,
                    "delivered; given up: not sent again any more; refused: 16 MiB waited already; pending: none of these.",
                ),
                Of::Word(|row| row.fate()),
            ),
        ],
    },
    rows: |told, rows| {
        let Some(ends) = told.seen::<Record>() else { return };
        for (end, record) in ends.into_iter().enumerate() {
            let other = ends[1 - end];
            rows.extend((0..).zip(&record.messages).map(|(number, sent)| {
                let delivered = match sent.outcome {
                    Outcome::Taken(message) | Outcome::GivenUp(message) => {
                        other.delivered.get(&message).copied()
                    }
                    Outcome::Refused => None,
                };
                let sent = SentMessage { at: record.clock.run(sent.at), ..*sent };
                let delivered = delivered.map(|at| other.clock.run(at));
                Message { flow: told.flow, end, number, sent, delivered }
            }));
        }
    },
};

/// A frame and what became of it.
pub(super) struct Frame {
    flow: u32,
    end: usize,
    media: Media,
    number: u32,
    sent: SentFrame,
    received: ReceivedFrame,
    fate: &'static str,
}

/// How long a frame may be on its way where no other one tells.
const PATIENCE: Span = Span::from_secs(1);

/// The table of frames.
pub(super) static FRAMES: EntityOf<Frame> = EntityOf {
    is_of: |told| told.seen::<Record>().is_some(),
    table: TableOf {
        name: "frames",
        about: "One row per frame of audio or video that an end of a call captured.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.flow)),
            (
                "end",
                Meaning::name("scenario", "The end that sends: client or server."),
                Of::Word(|row| ENDS[row.end]),
            ),
            ("media", Meaning::name("scenario", "audio or video."), Of::Word(|row| row.media.name())),
            (
                "frame",
                Meaning::count(SENDER, "Its place in the order of capture, from 0."),
                Of::U64(|row| row.number.into()),
            ),
            (
                "captured_ns",
                Meaning::time(SENDER, "When it was captured."),
                Of::U64(|row| row.sent.captured.as_nanos()),
            ),
            (
                "frame_bytes",
                Meaning::bytes(SENDER, "Of the encoded frame."),
                Of::U64(|row| row.sent.bytes.into()),
            ),
            (
                "frame_packets",
                Meaning::count(SENDER, "RTP packets that it was sent in; none of one that was dropped."),
                Of::U64(|row| row.sent.packets.into()),
            ),
            (
                "key",
                Meaning::count(SENDER, "1 of a frame that can be decoded without others."),
                Of::U64(|row| row.sent.key.into()),
            ),
            (
                "frame_sent_ns",
                Meaning::time(SENDER, "When its last packet left the send queue."),
                Of::OptU64(|row| row.sent.sent.map(Time::as_nanos)),
            ),
            (
                "frame_complete_ns",
                Meaning::time(RECEIVER, "When all of it was there."),
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
                    "complete: there and decodable when it was due; late: audio is not played then, video is shown late; lost: some of it never came; frozen: it came, but a frame that it builds upon did not; dropped: not sent, since the send queue was too long; pending: none of these when the run ended.",
                ),
                Of::Word(|row| row.fate),
            ),
            (
                "repaired",
                Meaning::count(
                    RECEIVER,
                    "1 if it is whole by retransmission, error correction or redundancy.",
                ),
                Of::U64(|row| row.received.repaired.into()),
            ),
        ],
    },
    rows: |told, rows| {
        for way in ways(told) {
            let Way { flow, end, media, sender, .. } = way;
            let wait = way.wait();
            rows.extend((0..).zip(&sender.sent[media.index()].frames).map(|(number, frame)| {
                let seen = way.seen(frame);
                let frame = frame.by_run(sender.clock);
                let fate = match seen.fate {
                    _ if frame.packets == 0 => "dropped",
                    Fate::Pending if way.is_over(&frame, wait, told.ended) && frame.sent.is_some() => {
                        if seen.complete.is_some() { Fate::Frozen.name() } else { Fate::Lost.name() }
                    }
                    fate => fate.name(),
                };
                Frame { flow, end, media, number, sent: frame, received: seen, fate }
            }));
        }
    },
};

/// A second of a medium.
pub(crate) struct Second {
    flow: u32,
    end: usize,
    media: Media,
    second: u64,
    sent: SentSecond,
    received: ReceivedSecond,
    /// Packets of media that the receiver expected, and those that were sent without its hearing of them.
    expected: u64,
    /// Of these, packets that did not come, or not by themselves.
    lost: u64,
    /// Nanoseconds of the second in which the end sent the medium.
    covered: u64,
    /// The shortest one-way delay of the call, this way.
    base: Option<i64>,
}

impl Second {
    /// What of a delay is not that of the path when nothing waits.
    fn queueing(&self, delay: Option<i64>) -> Option<u64> {
        Some(delay?.saturating_sub(self.base?).max(0) as u64)
    }
}

/// Bits per second of octets in one second.
const fn rate(octets: u64) -> Option<f64> {
    Some((octets * 8) as f64)
}

/// The table of seconds of media.
pub(crate) static MEDIA_SECONDS: EntityOf<Second> = EntityOf {
    is_of: |told| told.seen::<Record>().is_some(),
    table: TableOf {
        name: "media_seconds",
        about: "One row per second of each medium that an end of a call sends.",
        columns: &[
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.flow)),
            (
                "end",
                Meaning::name("scenario", "The end that sends: client or server."),
                Of::Word(|row| ENDS[row.end]),
            ),
            ("media", Meaning::name("scenario", "audio or video."), Of::Word(|row| row.media.name())),
            ("second", Meaning::count("run", "Seconds from the run's start."), Of::U64(|row| row.second)),
            (
                "media_time_ns",
                Meaning::time(
                    SENDER,
                    "Of the second: from the first frame on, up to when the end fell silent for good or the run ended.",
                ),
                Of::U64(|row| row.covered),
            ),
            (
                "media_target_bps",
                Meaning::rate(SENDER, "What the encoder was to make, without headers: mean of the second."),
                Of::OptF64(|row| row.sent.target_bps()),
            ),
            (
                "media_encoded_bps",
                Meaning::rate(SENDER, "What it made."),
                Of::OptF64(|row| rate(row.sent.encoded_bytes)),
            ),
            (
                "media_sent_bps",
                Meaning::rate(
                    SENDER,
                    "RTP packets that were sent, headers, retransmissions and repair included.",
                ),
                Of::OptF64(|row| rate(row.sent.bytes)),
            ),
            (
                "media_repair_bps",
                Meaning::rate(SENDER, "Of these: retransmissions, error correction and padding."),
                Of::OptF64(|row| rate(row.sent.repair_bytes)),
            ),
            (
                "media_received_bps",
                Meaning::rate(RECEIVER, "RTP packets that came, as media_sent_bps counts them."),
                Of::OptF64(|row| rate(row.received.bytes)),
            ),
            (
                "media_packets_sent",
                Meaning::count(SENDER, "RTP packets sent."),
                Of::U64(|row| row.sent.packets),
            ),
            (
                "media_packets_received",
                Meaning::count(RECEIVER, "RTP packets that came."),
                Of::U64(|row| row.received.packets),
            ),
            (
                "media_packets_expected",
                Meaning::count(
                    RECEIVER,
                    "Packets of media that were expected, by the highest sequence number, and those that were sent and behind which none came.",
                ),
                Of::U64(|row| row.expected),
            ),
            (
                "media_packets_lost",
                Meaning::count(
                    RECEIVER,
                    "media_packets_expected less those that came by themselves, then or in a later second.",
                ),
                Of::U64(|row| row.lost),
            ),
            (
                "send_delay_max_ns",
                Meaning::time(SENDER, "The longest that a packet waited in the send queue."),
                Of::U64(|row| row.sent.send_delay.as_nanos()),
            ),
            (
                "owd_mean_ns",
                Meaning::time(
                    RECEIVER,
                    "One-way delay of RTP packets, from pacer to receiver: mean of the second.",
                ),
                Of::OptU64(|row| {
                    let (sum, count) = row.received.delay;
                    Some(sum.checked_div(i64::try_from(count).ok()?)?.max(0) as u64)
                }),
            ),
            (
                "queueing_mean_ns",
                Meaning::time(RECEIVER, "The same less the shortest one of the whole call."),
                Of::OptU64(|row| {
                    let (sum, count) = row.received.delay;
                    row.queueing(sum.checked_div(i64::try_from(count).ok()?))
                }),
            ),
            (
                "queueing_max_ns",
                Meaning::time(RECEIVER, "The largest of the second."),
                Of::OptU64(|row| row.queueing(row.received.delay_max)),
            ),
        ],
    },
    rows: |told, rows| {
        for end in [0, 1] {
            let of_end: Vec<Way<'_>> = ways(told).filter(|way| way.end == end).collect();
            seconds(&of_end, Some(told.ended), rows);
        }
    },
};

/// Seconds of all media that go one way; `ended` is when the run ended, where that is known.
pub(crate) fn seconds(ways: &[Way<'_>], ended: Option<Time>, rows: &mut Vec<Second>) {
    let base = ways.iter().filter_map(least_delay).min();
    for way in ways {
        let index = way.media.index();
        let (sent, received) = (&way.sender.sent[index].seconds, &way.receiver.received[index].seconds);
        let of_sent = sent.iter().map(|(number, _)| number);
        let mut numbers: Vec<u64> = of_sent.chain(received.iter().map(|(number, _)| number)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let begin = rows.len();
        rows.extend(numbers.into_iter().map(|second| {
            let received = received.get(second).copied().unwrap_or_default();
            Second {
                flow: way.flow,
                end: way.end,
                media: way.media,
                second,
                sent: sent.get(second).copied().unwrap_or_default(),
                received,
                expected: received.expected,
                lost: 0,
                covered: covered(way, second, ended),
                base,
            }
        }));
        let of_way = &mut rows[begin..];
        for (second, packets) in ended.map(|ended| way.unheard(ended)).unwrap_or_default() {
            if let Ok(at) = of_way.binary_search_by_key(&second, |row| row.second) {
                of_way[at].expected += packets;
            }
        }
        // What came in a later second than it was expected in was not lost.
        let mut late = 0;
        for row in of_way.iter_mut().rev() {
            late += row.received.arrived.saturating_sub(row.expected);
            let missing = row.expected.saturating_sub(row.received.arrived);
            row.lost = missing.saturating_sub(late);
            late = late.saturating_sub(missing);
        }
    }
}

/// Nanoseconds of a second in which an end sent a medium.
fn covered(way: &Way<'_>, second: u64, ended: Option<Time>) -> u64 {
    let clock = way.sender.clock;
    let first = way.sender.sent[way.media.index()].frames.first();
    let since = first.map_or(0, |frame| clock.run(frame.captured).as_nanos());
    let silent = [way.sender.silent, way.sender.ended].into_iter().flatten().min();
    let until = silent.map(|at| clock.run(at)).into_iter().chain(ended).min();
    let begin = second * SECOND;
    until.map_or(u64::MAX, Time::as_nanos).min(begin + SECOND).saturating_sub(since.max(begin))
}

fn least_delay(way: &Way<'_>) -> Option<i64> {
    way.receiver.received[way.media.index()].seconds.iter().filter_map(|(_, second)| second.delay_min).min()
}

/// A signal that has changed.
pub(super) struct Change {
    flow: u32,
    end: usize,
    signal: Signal,
}

/// The table of signals.
pub(super) static SIGNALS: EntityOf<Change> = EntityOf {
    is_of: |told| told.seen::<Record>().is_some_and(|ends| ends.iter().any(|end| !end.signals.is_empty())),
    table: TableOf {
        name: "signals",
        about: "Signals inside the rate controls of calls, one row per change; with --observe rtc.",
        columns: &[
            ("time_ns", Meaning::time("rate control", "When."), Of::U64(|row| row.signal.at.as_nanos())),
            ("flow", Meaning::name("scenario", "Name of the flow."), Of::Name(0, |row| row.flow)),
            (
                "end",
                Meaning::name(
                    "scenario",
                    "The end that has the rate control or the estimator: client or server.",
                ),
                Of::Word(|row| ENDS[row.end]),
            ),
            (
                "signal",
                Meaning::name("rate control", "Its name, which ends in its unit."),
                Of::Word(|row| row.signal.name),
            ),
            (
                "number",
                Meaning::by("by signal", "rate control", "The new value; none of a state."),
                Of::OptF64(|row| match row.signal.value {
                    Value::Number(number) => Some(number),
                    Value::State(_) => None,
                }),
            ),
            (
                "state",
                Meaning::name("rate control", "The new state; empty of a number."),
                Of::Word(|row| match row.signal.value {
                    Value::Number(_) => "",
                    Value::State(state) => state,
                }),
            ),
        ],
    },
    rows: |told, rows| {
        let flow = told.flow;
        for (end, record) in told.seen::<Record>().into_iter().flatten().enumerate() {
            let by_run = |signal: Signal| Signal { at: record.clock.run(signal.at), ..signal };
            rows.extend(record.signals.iter().map(|&signal| Change { flow, end, signal: by_run(signal) }));
        }
    },
};
