//! What an end of a call saw: frames, seconds, and signals of its rate control.

use crate::breaker::Cause;
use crate::clock::Drift;
use crate::data::SentMessage;
use crate::rate::Value;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};

/// The media of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Media {
    /// Audio.
    Audio,
    /// Video.
    Video,
}

impl Media {
    /// Both, in the order of their indices.
    pub const ALL: [Self; 2] = [Self::Audio, Self::Video];

    /// Its place among both.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }
}

/// What one end saw. Its times are those of the end's own clock, and seconds those of the run.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// That clock.
    pub clock: Drift,
    /// What it sent, by [`Media::index`].
    pub sent: [SentMedia; 2],
    /// What it received.
    pub received: [ReceivedMedia; 2],
    /// When a circuit breaker stopped what it sent, and why, by [`Media::index`].
    pub stopped: [Option<(Time, Cause)>; 2],
    /// Messages that it gave to its data channel.
    pub messages: Vec<SentMessage>,
    /// When messages of the other end were delivered here, by their number among those that its channel took.
    pub delivered: BTreeMap<u64, Time>,
    /// Signals of its rate control as they changed, if somebody looks.
    pub signals: Vec<Signal>,
    /// When its sources fell silent for good; none if they did not.
    pub silent: Option<Time>,
    /// When the call was over here; none if it was not.
    pub ended: Option<Time>,
    /// Datagrams that were none of this call, or malformed.
    pub malformed: u64,
}

impl Record {
    /// Nothing yet, of an end with this clock.
    pub fn new(clock: Drift) -> Self {
        let mut record = Self { clock, ..Self::default() };
        record.sent.iter_mut().for_each(|sent| sent.seconds.clock = clock);
        record.received.iter_mut().for_each(|received| received.seconds.clock = clock);
        record
    }

    /// Bytes that it holds.
    pub fn memory(&self) -> usize {
        let sent = self
            .sent
            .iter()
            .map(|sent| sent.frames.capacity() * size_of::<SentFrame>() + sent.seconds.memory());
        let received = self.received.iter().map(|received| {
            received.frames.capacity() * size_of::<ReceivedFrame>() + received.seconds.memory()
        });
        let signals = self.signals.capacity() * size_of::<Signal>();
        let messages = self.messages.capacity() * size_of::<SentMessage>()
            + self.delivered.len() * size_of::<(u64, Time)>();
        size_of::<Self>() + sent.sum::<usize>() + received.sum::<usize>() + signals + messages
    }
}

/// A signal of a rate control that has changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal {
    /// When.
    pub at: Time,
    /// Its name.
    pub name: &'static str,
    /// What it is now.
    pub value: Value,
}

/// Media that was sent.
#[derive(Debug, Clone, Default)]
pub struct SentMedia {
    /// Each frame, in the order of capture. One that was dropped has the number of the next one that was not.
    pub frames: Vec<SentFrame>,
    /// What was sent in each second.
    pub seconds: Seconds<SentSecond>,
}

/// A frame at its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentFrame {
    /// Its number.
    pub number: u32,
    /// Octets of it.
    pub bytes: u32,
    /// When it was captured.
    pub captured: Time,
    /// When its last packet left; none if that has not happened.
    pub sent: Option<Time>,
    /// Packets; none of a frame that was dropped, since too much waited to be sent or the encoder left it out.
    pub packets: u16,
    /// It can be decoded without others.
    pub key: bool,
}

impl SentFrame {
    /// The same by the clock of the run.
    pub fn by_run(self, clock: Drift) -> Self {
        Self { captured: clock.run(self.captured), sent: self.sent.map(|at| clock.run(at)), ..self }
    }
}

/// What was sent in a second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SentSecond {
    /// What the encoder was to make: bits per second times nanoseconds, and nanoseconds.
    pub target: (f64, u64),
    /// Octets of frames that were captured.
    pub encoded_bytes: u64,
    /// RTP packets sent, retransmissions and repair too.
    pub packets: u64,
    /// Octets of them, RTP headers included.
    pub bytes: u64,
    /// Of these, octets of retransmissions, repair and padding.
    pub repair_bytes: u64,
    /// The longest that a packet waited in the send queue.
    pub send_delay: Span,
}

impl SentSecond {
    /// The encoder was to make `bps` for so long.
    pub(crate) fn account(&mut self, bps: u64, ns: u64) {
        self.target.0 += bps as f64 * ns as f64;
        self.target.1 += ns;
    }

    /// The mean of what the encoder was to make, bits per second; none where it had nothing to make.
    pub fn target_bps(&self) -> Option<f64> {
        (self.target.1 > 0).then(|| self.target.0 / self.target.1 as f64)
    }
}

/// Media that was received.
#[derive(Debug, Clone, Default)]
pub struct ReceivedMedia {
    /// What became of each frame, by its number.
    pub frames: Vec<ReceivedFrame>,
    /// What came in each second.
    pub seconds: Seconds<ReceivedSecond>,
}

/// A frame at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceivedFrame {
    /// When all of it was there.
    pub complete: Option<Time>,
    /// When it was played or shown.
    pub played: Option<Time>,
    /// What became of it.
    pub fate: Fate,
    /// It is whole by retransmission, error correction or redundancy.
    pub repaired: bool,
}

impl ReceivedFrame {
    /// The same by the clock of the run.
    pub fn by_run(self, clock: Drift) -> Self {
        let run = |at: Option<Time>| at.map(|at| clock.run(at));
        Self { complete: run(self.complete), played: run(self.played), ..self }
    }
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    /// Nothing yet.
    #[default]
    Pending,
    /// It was there, and could be decoded, when it was due.
    Complete,
    /// Later: audio is not played then, video is shown late.
    Late,
    /// Some of it never came.
    Lost,
    /// It came, but a frame that it builds upon did not: the picture before stays.
    Frozen,
}

impl Fate {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Complete => "complete",
            Self::Late => "late",
            Self::Lost => "lost",
            Self::Frozen => "frozen",
        }
    }
}

/// What came in a second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReceivedSecond {
    /// RTP packets, retransmissions and repair too.
    pub packets: u64,
    /// Octets of them, RTP headers included.
    pub bytes: u64,
    /// Packets of media that were expected, by the highest sequence number.
    pub expected: u64,
    /// Of these, packets that came by themselves.
    pub arrived: u64,
    /// One-way delay of the packets that tell when they were sent: its sum in nanoseconds, their number.
    pub delay: (i64, u64),
    /// The shortest.
    pub delay_min: Option<i64>,
    /// The longest.
    pub delay_max: Option<i64>,
}

/// Something for each second of the run, from the first in which there is something on.
#[derive(Debug, Clone, Default)]
pub struct Seconds<T> {
    /// What [`Seconds::at`] is told times by.
    clock: Drift,
    first: u64,
    seconds: Vec<T>,
}

impl<T: Default + Clone> Seconds<T> {
    /// The second of the run in which `now` is.
    pub fn second(&self, now: Time) -> u64 {
        self.clock.run(now).as_nanos() / 1_000_000_000
    }

    /// Of the second of `now`, which is none before the first one.
    pub fn at(&mut self, now: Time) -> &mut T {
        let second = self.second(now);
        if self.seconds.is_empty() {
            self.first = second;
        }
        let index = second.saturating_sub(self.first) as usize;
        if self.seconds.len() <= index {
            self.seconds.resize(index + 1, T::default());
        }
        &mut self.seconds[index]
    }

    /// Of a second, if there is something.
    pub fn get(&self, second: u64) -> Option<&T> {
        self.seconds.get(usize::try_from(second.checked_sub(self.first)?).ok()?)
    }

    /// All, with the number of their second.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        (self.first..).zip(&self.seconds)
    }

    /// Bytes that it holds.
    pub fn memory(&self) -> usize {
        self.seconds.capacity() * size_of::<T>()
    }
}
