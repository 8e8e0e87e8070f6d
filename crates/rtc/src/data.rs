//! A data channel (RFC 8831): messages by their size, in SCTP (RFC 9260) in records of DTLS 1.2, between media on its ports.
//!
//! Each DATA chunk has a packet and a record of its own. What is lost is sent again after three reports that miss it, or after a time-out; a
//! channel that is not reliable gives up a message then, and says so by FORWARD-TSN (RFC 3758). What is on its way is limited by SCTP's
//! congestion window, and the call's rate control paces what leaves, behind all media. There is no set-up of the association. All messages
//! of a channel are of one size.

mod window;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use window::Window;

/// Messages that one end sends to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataChannel {
    /// Octets of each.
    pub bytes: u32,
    /// From one to the next.
    pub interval_ns: u64,
    /// How many; without end otherwise.
    pub messages: Option<u32>,
    /// They are delivered in their order.
    pub ordered: bool,
    /// How often a part of one is sent again before it is given up; as often as it takes otherwise.
    pub retransmits: Option<u32>,
}

/// Octets of a message at most: what browsers take of each other.
pub const MOST_BYTES: u32 = 256 << 10;
/// Octets that a channel holds at most, as Chromium's does (its `send` fails then).
pub const MOST_WAITING: u64 = 16 << 20;

impl DataChannel {
    /// What keeps the settings from being used.
    pub fn check(&self, check: &mut Check<'_>) {
        let fits = (1..=MOST_BYTES).contains(&self.bytes);
        check.at("bytes").need(fits, format_args!("a message has 1 to {MOST_BYTES} bytes"));
        check.at("interval_ns").span_above_zero(self.interval_ns);
        check.at("messages").need(self.messages != Some(0), "is above zero");
    }

    /// Settings with which nothing is wrong, for property tests.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        Self {
            bytes: 1 + draw.below(5_000) as u32,
            interval_ns: 10_000_000 + draw.below(500_000_000),
            messages: draw.bit().then(|| 1 + draw.below(50) as u32),
            ordered: draw.bit(),
            retransmits: draw.bit().then(|| draw.below(3) as u32),
        }
    }

    /// Bits per second that it asks for.
    pub fn bps(&self) -> u64 {
        u64::from(self.bytes) * 8_000_000_000 / self.interval_ns
    }

    /// DATA chunks of a message.
    fn chunks(&self) -> u64 {
        self.bytes.div_ceil(ROOM).into()
    }

    /// Octets that the chunk with this index uses of a window.
    fn on_wire(&self, index: u64) -> u32 {
        DATA as u32 + self.octets(index)
    }

    /// Octets of a message in the chunk with this index among all.
    fn octets(&self, index: u64) -> u32 {
        let before = (index % self.chunks()) as u32 * ROOM;
        ROOM.min(self.bytes - before)
    }
}

/// A message at its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentMessage {
    /// When it was given to the channel.
    pub at: Time,
    /// Its octets.
    pub bytes: u32,
    /// What its sender knows of it.
    pub outcome: Outcome,
}

/// What a sender knows of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The channel took it, and numbers it so among what it took.
    Taken(u64),
    /// It was taken, and is not sent again any more.
    GivenUp(u64),
    /// It was not taken, since [`MOST_WAITING`] octets waited already.
    Refused,
}

/// Header and explicit nonce of a record of DTLS 1.2, and its tag (RFC 6347 section 4.1, RFC 5288 section 3).
const RECORD: usize = 13 + 8;
const TAG: u32 = 16;
/// The common header of SCTP, and headers of DATA and SACK chunks (RFC 9260 section 3).
const COMMON: usize = 12;
const DATA: usize = 16;
const SACK: usize = 16;
/// An SCTP packet has so many octets at most (dcSCTP's `kMaxSafeMTUSize`).
const PACKET: u32 = 1191;
/// Octets of a message in a chunk at most; chunks end at whole words.
const ROOM: u32 = (PACKET - (COMMON + DATA) as u32) & !3;
const APPLICATION_DATA: u8 = 23;
const KIND_DATA: u8 = 0;
const KIND_SACK: u8 = 3;
const KIND_FORWARD: u8 = 192;
const ENDS: u8 = 1;
const BEGINS: u8 = 2;
const UNORDERED: u8 = 4;

/// Chunks that may be on their way: gap blocks of one SACK tell of them.
const WINDOW: u64 = 4096;
/// RFC 9260 section 16: initial and least time-out; it doubles up to the longest.
const RTO: Span = Span::from_secs(1);
const LONGEST_RTO: Span = Span::from_secs(60);
/// Reports that miss a chunk before it is sent again (section 7.2.4).
const MISSING: u8 = 3;
/// A SACK is sent for every second packet, or after this (section 6.2).
const DELAY: Span = Span::from_millis(200);
/// Gap blocks in a SACK at most.
const GAPS: usize = 64;

/// Whether a datagram is a record of application data of DTLS (RFC 7983).
pub(crate) fn is_record(front: &[u8]) -> bool {
    matches!(front, [APPLICATION_DATA, 0xfe, 0xfd, ..])
}

/// Where in its sender's pattern the octets of a chunk are.
const fn content(index: u64) -> u64 {
    1 << 60 | index << 11
}

/// A chunk that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// A part of a message: its index among all, and its octets.
    Data { index: u64, body: Payload },
    /// All before this index are there, and between pairs of further ones some are.
    Sack { next: u64, gaps: Vec<(u64, u64)> },
    /// Nothing before this index comes any more.
    Forward { next: u64 },
}

/// A record around a packet with one chunk, of which `body` follows `chunk`.
fn record(pattern: u32, chunk: &[u8], body: Payload) -> Payload {
    let padding = body.len().next_multiple_of(4) - body.len();
    let packet = COMMON as u32 + chunk.len() as u32 + body.len() + padding;
    let mut head = Vec::with_capacity(RECORD + COMMON + chunk.len());
    head.extend_from_slice(&[APPLICATION_DATA, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 0]);
    head.extend_from_slice(&((8 + packet + TAG) as u16).to_be_bytes());
    head.extend_from_slice(&[0; 8]);
    // Ports as browsers have them; nobody looks at verification tag and checksum, which DTLS makes superfluous.
    head.extend_from_slice(&5000_u16.to_be_bytes().repeat(2));
    head.extend_from_slice(&[0; 8]);
    head.extend_from_slice(chunk);
    let padding = Payload::bytes(Bytes::from_static(&[0; 3]).slice(..padding as usize));
    Payload::rope([Payload::bytes(head.into()), body, padding, Payload::pattern(pattern, 0, TAG)])
}

/// The chunk of a record; none if it is malformed. Numbers are near `next`.
pub(crate) fn parse(data: &Payload, next: u64, acknowledged: u64) -> Option<Chunk> {
    let front = data.front();
    let at = RECORD + COMMON;
    let inside = (data.len() as usize).checked_sub(at + TAG as usize)?;
    let &[kind, flags, high, low, a, b, c, d, ref rest @ ..] = front.get(at..)? else { return None };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let number = u32::from_be_bytes([a, b, c, d]);
    let near = |near: u64| crate::clock::unwrap(near, number.into(), 32);
    if length.next_multiple_of(4) != inside {
        return None;
    }
    match kind {
        KIND_DATA if length > DATA && flags & !(ENDS | BEGINS | UNORDERED) == 0 => {
            let body = data.slice((at + DATA) as u32, (length - DATA) as u32);
            // The first chunk has number 1, so that all before it are there at 0.
            Some(Chunk::Data { index: near(next + 1).checked_sub(1)?, body })
        }
        KIND_SACK => {
            let cumulative = near(acknowledged);
            let [_, _, _, _, high, low, _, _, gaps @ ..] = rest else { return None };
            let count = usize::from(u16::from_be_bytes([*high, *low]));
            let blocks = gaps.get(..4 * count).filter(|_| count <= GAPS && length == SACK + 4 * count)?;
            let gaps = blocks.chunks_exact(4).map(|block| {
                let [begin, end] = [0, 2].map(|i| u64::from(u16::from_be_bytes([block[i], block[i + 1]])));
                ((cumulative + begin).saturating_sub(1), cumulative + end)
            });
            let is_whole = |&(begin, end): &(u64, u64)| begin > cumulative && begin < end;
            let gaps: Vec<_> = gaps.collect();
            gaps.iter().all(is_whole).then_some(Chunk::Sack { next: cumulative, gaps })
        }
        // With the last message that is skipped of a stream, of which there is one (RFC 3758 section 3.2).
        KIND_FORWARD if length == 8 || (length == 12 && rest.starts_with(&[0, 0])) => {
            Some(Chunk::Forward { next: near(next) })
        }
        _ => None,
    }
}

/// A chunk at its sender.
#[derive(Debug, Clone, Copy)]
struct Sent {
    state: State,
    /// How often it was sent.
    times: u32,
    at: Time,
    missing: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is to be sent.
    Waits,
    OnTheWay,
    Acknowledged,
    GivenUp,
}

/// The end of a channel that sends.
#[derive(Debug)]
pub(crate) struct Outbound {
    channel: DataChannel,
    pattern: u32,
    /// When the next message is given to it.
    due: Option<Time>,
    made: u32,
    /// Where messages are in the record, from that of the first chunk on.
    places: VecDeque<usize>,
    /// Chunks from index `first` on, which is the first that is not acknowledged.
    chunks: VecDeque<Sent>,
    first: u64,
    /// Indices to be sent, the ones to be sent again before the others.
    again: BTreeSet<u64>,
    fresh: u64,
    /// The receiver has to be told that what is before the first chunk does not come.
    forward: bool,
    /// When what is on its way counts as lost, and after how long.
    expires: Option<Time>,
    rto: Span,
    smoothed: Option<(f64, f64)>,
    window: Window,
    /// A chunk is sent again at once, whatever the window (section 7.2.4).
    at_once: bool,
}

impl Outbound {
    pub(crate) fn new(channel: DataChannel, pattern: u32, start: Time) -> Self {
        Self {
            channel,
            pattern,
            due: Some(start),
            made: 0,
            places: VecDeque::new(),
            chunks: VecDeque::new(),
            first: 0,
            again: BTreeSet::new(),
            fresh: 0,
            forward: false,
            expires: None,
            rto: RTO,
            smoothed: None,
            window: Window::new(),
            at_once: false,
        }
    }

    /// No more messages are given to it.
    pub(crate) const fn end(&mut self) {
        self.due = None;
    }

    /// Bits per second that it asks for: while messages come, or wait.
    pub(crate) fn bps(&self) -> u64 {
        if self.due.is_some() || self.is_waiting() { self.channel.bps() } else { 0 }
    }

    /// The next chunk whose number tells, for [`parse`].
    pub(crate) const fn acknowledged(&self) -> u64 {
        self.first
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        [self.due, self.expires].into_iter().flatten().min()
    }

    /// Whether something is to be sent now.
    pub(crate) fn is_waiting(&self) -> bool {
        let is_told_of = self.fresh < self.first + WINDOW;
        let waits = !self.again.is_empty() || (is_told_of && self.fresh < self.end_index());
        self.forward || (waits && (self.window.has_room() || self.at_once))
    }

    fn end_index(&self) -> u64 {
        self.first + self.chunks.len() as u64
    }

    /// Time has passed; messages are noted as they are given to the channel.
    pub(crate) fn handle_timeout(&mut self, now: Time, record: &mut Vec<SentMessage>) {
        while let Some(at) = self.due.filter(|&due| due <= now) {
            self.made += 1;
            let more = self.channel.messages.is_none_or(|messages| self.made < messages);
            self.due = more.then(|| at + Span::from_nanos(self.channel.interval_ns));
            let waiting = self.places.len() as u64 * u64::from(self.channel.bytes);
            let outcome = match waiting + u64::from(self.channel.bytes) > MOST_WAITING {
                true => Outcome::Refused,
                false => Outcome::Taken(self.end_index() / self.channel.chunks()),
            };
            if outcome != Outcome::Refused {
                self.places.push_back(record.len());
                let chunk = Sent { state: State::Waits, times: 0, at, missing: 0 };
                self.chunks.extend((0..self.channel.chunks()).map(|_| chunk));
            }
            record.push(SentMessage { at, bytes: self.channel.bytes, outcome });
        }
        if self.expires.is_some_and(|at| at <= now) {
            self.rto = (self.rto * 2).min(LONGEST_RTO);
            self.expires = None;
            self.window.expires();
            let (first, states) = (self.first, self.chunks.iter().map(|chunk| chunk.state));
            let lost: Vec<u64> =
                (first..).zip(states).filter(|(_, it)| *it == State::OnTheWay).map(|it| it.0).collect();
            // A message that the receiver was told not to await may have to be told again.
            self.forward |= lost.is_empty();
            lost.into_iter().for_each(|index| self.lose(index, record));
        }
    }

    /// A chunk is taken to be lost: it is sent again, or its message given up.
    fn lose(&mut self, index: u64, record: &mut [SentMessage]) {
        let Some(chunk) = index.checked_sub(self.first).and_then(|at| self.chunks.get_mut(at as usize))
        else {
            return;
        };
        if chunk.state != State::OnTheWay {
            return;
        }
        (chunk.state, chunk.missing) = (State::Waits, 0);
        self.window.flight -= self.channel.on_wire(index);
        if self.channel.retransmits.is_none_or(|most| chunk.times <= most) {
            self.again.insert(index);
            return;
        }
        let message = index / self.channel.chunks();
        record[self.places[(message - self.first / self.channel.chunks()) as usize]].outcome =
            Outcome::GivenUp(message);
        for index in message * self.channel.chunks()..(message + 1) * self.channel.chunks() {
            self.again.remove(&index);
            if let Some(at) = index.checked_sub(self.first) {
                let chunk = &mut self.chunks[at as usize];
                let left = core::mem::replace(&mut chunk.state, State::GivenUp);
                self.window.flight -= if left == State::OnTheWay { self.channel.on_wire(index) } else { 0 };
            }
        }
        self.fresh = self.fresh.max((message + 1) * self.channel.chunks());
        self.advance();
    }

    /// Takes out chunks that need nothing more.
    fn advance(&mut self) {
        while let Some(state) = self.chunks.front().map(|chunk| chunk.state) {
            self.forward |= state == State::GivenUp;
            if !matches!(state, State::Acknowledged | State::GivenUp) {
                break;
            }
            self.chunks.pop_front();
            self.first += 1;
            if self.first.is_multiple_of(self.channel.chunks()) {
                self.places.pop_front();
            }
        }
        self.fresh = self.fresh.max(self.first);
    }

    /// The next datagram.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Payload> {
        if core::mem::take(&mut self.forward) {
            let mut chunk = alloc::vec![KIND_FORWARD, 0, 0, if self.channel.ordered { 12 } else { 8 }];
            chunk.extend_from_slice(&(self.first as u32).to_be_bytes());
            if self.channel.ordered {
                // Stream 0, and the last message before the number; where that one came it is none the worse for it.
                let skipped = (self.first / self.channel.chunks()).wrapping_sub(1);
                chunk.extend_from_slice(&[0, 0]);
                chunk.extend_from_slice(&(skipped as u16).to_be_bytes());
            }
            self.expires.get_or_insert(now + self.rto);
            return Some(record(self.pattern, &chunk, Payload::Empty));
        }
        if !self.is_waiting() {
            return None;
        }
        self.at_once = false;
        let index = self.again.pop_first().unwrap_or_else(|| {
            self.fresh += 1;
            self.fresh - 1
        });
        self.window.leaves(now, self.channel.on_wire(index), self.rto);
        let chunk = &mut self.chunks[(index - self.first) as usize];
        (chunk.state, chunk.at, chunk.times) = (State::OnTheWay, now, chunk.times + 1);
        self.expires.get_or_insert(now + self.rto);
        let (octets, chunks) = (self.channel.octets(index), self.channel.chunks());
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let flags = flag(index.is_multiple_of(chunks), BEGINS)
            | flag(index % chunks == chunks - 1, ENDS)
            | flag(!self.channel.ordered, UNORDERED);
        let mut head = alloc::vec![KIND_DATA, flags];
        head.extend_from_slice(&(DATA as u16 + octets as u16).to_be_bytes());
        head.extend_from_slice(&(index as u32).wrapping_add(1).to_be_bytes());
        // Stream 0; the number of the message; binary data (RFC 8831 section 8).
        head.extend_from_slice(&[0, 0]);
        head.extend_from_slice(&((index / chunks) as u16).to_be_bytes());
        head.extend_from_slice(&53_u32.to_be_bytes());
        Some(record(self.pattern, &head, Payload::pattern(self.pattern, content(index), octets)))
    }

    /// A report came; whether it can be.
    pub(crate) fn handle_sack(
        &mut self,
        now: Time,
        next: u64,
        gaps: &[(u64, u64)],
        record: &mut [SentMessage],
    ) -> bool {
        let highest = gaps.iter().map(|gap| gap.1).max().unwrap_or(next).max(next);
        // What was never sent cannot have come.
        if highest > self.fresh {
            return false;
        }
        let is_told = next >= self.first;
        let mut newest = None;
        let (first, mut samples) = (self.first, Vec::new());
        let (flight, mut came_octets) = (self.window.flight, 0);
        let sent = (self.fresh - first) as usize;
        for (index, chunk) in (first..).zip(self.chunks.iter_mut().take(sent)) {
            let came = index < next || gaps.iter().any(|&(begin, end)| (begin..end).contains(&index));
            if came && matches!(chunk.state, State::OnTheWay | State::Waits) {
                if chunk.times == 1 {
                    samples.push(now.since(chunk.at));
                }
                let octets = self.channel.on_wire(index);
                self.window.flight -= if chunk.state == State::OnTheWay { octets } else { 0 };
                came_octets += octets;
                chunk.state = State::Acknowledged;
                self.again.remove(&index);
                newest = Some(index);
            }
        }
        samples.last().into_iter().for_each(|&sample| self.sample(sample));
        let mut lost = Vec::new();
        if let Some(newest) = newest {
            for (index, chunk) in (first..newest).zip(&mut self.chunks) {
                // What was sent again waits for the time-out (section 7.2.4).
                if chunk.state == State::OnTheWay && chunk.times == 1 {
                    chunk.missing += 1;
                    lost.extend((chunk.missing == MISSING).then_some(index));
                }
            }
        }
        let repeats_first = lost.first() == Some(&first);
        self.window.recovers.take_if(|end| next >= *end);
        self.window.came(came_octets, flight, next > first);
        if !lost.is_empty() {
            self.window.misses(self.fresh);
            self.at_once = true;
        }
        lost.into_iter().for_each(|index| self.lose(index, record));
        self.advance();
        // RFC 3758 section 3.5, C3.
        self.forward |= self.channel.retransmits.is_some() && next < self.first;
        let is_open = self.chunks.iter().any(|chunk| chunk.state == State::OnTheWay) || !is_told;
        // The timer is of the first chunk that is awaited (section 6.3.2).
        if self.first > first || repeats_first || !is_open {
            self.expires = is_open.then(|| now + self.rto);
        }
        true
    }

    /// RFC 9260 section 6.3.1.
    fn sample(&mut self, round_trip: Span) {
        let sample = round_trip.as_secs_f64();
        let (smoothed, deviation) = match self.smoothed {
            None => (sample, sample / 2.0),
            Some((smoothed, deviation)) => (
                smoothed + (sample - smoothed) / 8.0,
                deviation + (libm::fabs(sample - smoothed) - deviation) / 4.0,
            ),
        };
        self.smoothed = Some((smoothed, deviation));
        self.rto = Span::from_secs_f64(smoothed + 4.0 * deviation).max(RTO).min(LONGEST_RTO);
    }
}

/// The end of a channel that receives.
#[derive(Debug)]
pub(crate) struct Inbound {
    channel: DataChannel,
    pattern: u32,
    /// The first chunk that has not come, and those behind it that have.
    next: u64,
    beyond: BTreeSet<u64>,
    /// Chunks of messages that are not whole, and whole ones that wait for their turn.
    parts: BTreeMap<u64, u64>,
    whole: BTreeSet<u64>,
    /// The first message that was neither delivered nor given up, where they are delivered in order.
    turn: u64,
    /// Packets since the last report, and when it is due.
    packets: u32,
    due: Option<Time>,
}

impl Inbound {
    pub(crate) const fn new(channel: DataChannel, pattern: u32) -> Self {
        Self {
            channel,
            pattern,
            next: 0,
            beyond: BTreeSet::new(),
            parts: BTreeMap::new(),
            whole: BTreeSet::new(),
            turn: 0,
            packets: 0,
            due: None,
        }
    }

    /// The next chunk, for [`parse`].
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    pub(crate) const fn poll_timeout(&self) -> Option<Time> {
        self.due
    }

    /// A part of a message came: octets that are new, and how many of these are wrong; none if it cannot be.
    pub(crate) fn handle_data(
        &mut self,
        now: Time,
        index: u64,
        body: &Payload,
        delivered: &mut BTreeMap<u64, Time>,
    ) -> Option<(u32, u32)> {
        if index >= self.next + WINDOW || body.len() != self.channel.octets(index) {
            return None;
        }
        self.packets += 1;
        let is_new = index >= self.next && self.beyond.insert(index);
        self.close_gap();
        self.due = match self.packets >= 2 || !is_new || !self.beyond.is_empty() {
            true => Some(now),
            false => Some(self.due.unwrap_or(now + DELAY)),
        };
        if !is_new {
            return Some((0, 0));
        }
        let message = index / self.channel.chunks();
        let parts = self.parts.entry(message).or_default();
        *parts += 1;
        if *parts == self.channel.chunks() {
            self.parts.remove(&message);
            self.whole.insert(message);
            self.deliver(now, delivered);
        }
        let expected = Payload::pattern(self.pattern, content(index), body.len());
        Some((body.len(), if same(body, &expected) { 0 } else { body.len() }))
    }

    /// Nothing before a chunk comes any more.
    pub(crate) fn handle_forward(
        &mut self,
        now: Time,
        next: u64,
        delivered: &mut BTreeMap<u64, Time>,
    ) -> bool {
        if next > self.next + WINDOW {
            return false;
        }
        self.next = self.next.max(next);
        self.beyond = self.beyond.split_off(&self.next);
        self.close_gap();
        let message = self.next / self.channel.chunks();
        self.parts = self.parts.split_off(&message);
        self.deliver(now, delivered);
        self.due = Some(now);
        true
    }

    fn close_gap(&mut self) {
        while self.beyond.remove(&self.next) {
            self.next += 1;
        }
    }

    fn deliver(&mut self, now: Time, delivered: &mut BTreeMap<u64, Time>) {
        // Those before the first chunk that is awaited were there, or will not be.
        let settled = self.next / self.channel.chunks();
        while let Some(&message) = self.whole.first() {
            if self.channel.ordered && message > self.turn.max(settled) {
                return;
            }
            self.whole.remove(&message);
            self.turn = self.turn.max(message + 1);
            delivered.insert(message, now);
        }
    }

    /// The report that is due at `now`.
    pub(crate) fn poll(&mut self, now: Time, pattern: u32) -> Option<Payload> {
        self.due.take_if(|due| *due <= now)?;
        self.packets = 0;
        let mut gaps: Vec<(u64, u64)> = Vec::new();
        for &index in &self.beyond {
            match gaps.last_mut() {
                Some((_, end)) if *end == index => *end += 1,
                _ => gaps.push((index, index + 1)),
            }
        }
        gaps.truncate(GAPS);
        let length = (SACK + 4 * gaps.len()) as u16;
        let mut chunk = alloc::vec![KIND_SACK, 0];
        chunk.extend_from_slice(&length.to_be_bytes());
        chunk.extend_from_slice(&(self.next as u32).to_be_bytes());
        chunk.extend_from_slice(&(5_u32 << 20).to_be_bytes());
        chunk.extend_from_slice(&(gaps.len() as u16).to_be_bytes());
        chunk.extend_from_slice(&[0; 2]);
        for (begin, end) in gaps {
            chunk.extend_from_slice(&((begin - self.next + 1) as u16).to_be_bytes());
            chunk.extend_from_slice(&((end - self.next) as u16).to_be_bytes());
        }
        Some(record(pattern, &chunk, Payload::Empty))
    }
}

/// Whether octets are the same, real ones or not.
pub(crate) fn same(came: &Payload, expected: &Payload) -> bool {
    if came == expected {
        return true;
    }
    let [mut a, mut b] = [const { Vec::new() }; 2];
    came.write_to(&mut a);
    expected.write_to(&mut b);
    a == b
}

#[cfg(test)]
mod tests {
    use super::window::CHUNK;
    use super::*;

    const CHANNEL: DataChannel =
        DataChannel { bytes: 100, interval_ns: 1_000_000, messages: None, ordered: true, retransmits: None };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_message_has_the_octets_of_its_headers() {
        let mut sent = Vec::new();
        let mut outbound = Outbound::new(CHANNEL, 7, at(0));
        outbound.handle_timeout(at(0), &mut sent);
        let first = outbound.poll(at(0)).expect("a message is due");
        // Record 13, nonce 8, tag 16; common header 12, DATA 16, 100 octets.
        assert_eq!(first.len(), 13 + 8 + 16 + 12 + 16 + 100);
        assert!(is_record(first.front()));
        let expected = Chunk::Data { index: 0, body: Payload::pattern(7, content(0), 100) };
        assert_eq!(parse(&first, 0, 0), Some(expected));
        assert_eq!(parse(&first.slice(0, first.len() - 1), 0, 0), None, "it is shorter than it says");
        let mut inbound = Inbound::new(CHANNEL, 7);
        let mut delivered = BTreeMap::new();
        let body = Payload::pattern(7, content(0), 100);
        assert_eq!(inbound.handle_data(at(5), 0, &body, &mut delivered), Some((100, 0)));
        assert_eq!(delivered, [(0, at(5))].into());
        assert_eq!(
            (inbound.poll(at(204), 8), inbound.poll_timeout()),
            (None, Some(at(205))),
            "one packet waits"
        );
        let report = inbound.poll(at(205), 8).expect("200 ms later");
        assert_eq!(report.len(), 13 + 8 + 16 + 12 + 16);
        assert_eq!(parse(&report, 0, 0), Some(Chunk::Sack { next: 1, gaps: Vec::new() }));
    }

    #[test]
    fn gaps_are_told_and_what_three_reports_miss_is_sent_again() {
        let mut sent = Vec::new();
        let mut outbound = Outbound::new(CHANNEL, 7, at(0));
        outbound.handle_timeout(at(5), &mut sent);
        let mut inbound = Inbound::new(CHANNEL, 7);
        let mut delivered = BTreeMap::new();
        let mut again = Vec::new();
        for number in 0..5 {
            let data = outbound.poll(at(5)).expect("six are due");
            // The second one is lost.
            if number == 1 {
                continue;
            }
            let Some(Chunk::Data { index, body }) = parse(&data, inbound.next(), 0) else { panic!("data") };
            inbound.handle_data(at(10), index, &body, &mut delivered).expect("it is one of these");
            let Some(report) = inbound.poll(at(10), 8) else { continue };
            let Some(Chunk::Sack { next, gaps }) = parse(&report, 0, outbound.acknowledged()) else {
                panic!("a report")
            };
            assert_eq!((next, gaps.as_slice()), (1, &[(2, number + 1)][..]));
            assert!(outbound.handle_sack(at(15), next, &gaps, &mut sent));
            again.extend(outbound.again.first().copied().map(|index| (number, index)));
        }
        assert_eq!(again, [(4, 1)], "the third report that misses it");
        assert_eq!(delivered, [(0, at(10))].into(), "those behind it wait for it");
        let Some(Chunk::Data { index, body }) = outbound.poll(at(20)).and_then(|data| parse(&data, 1, 0))
        else {
            panic!("data")
        };
        inbound.handle_data(at(25), index, &body, &mut delivered).expect("it was missing");
        assert_eq!(delivered.values().filter(|it| **it == at(25)).count(), 4);
    }

    #[test]
    fn what_was_sent_again_waits_for_the_time_out() {
        let mut sent = Vec::new();
        let mut outbound = Outbound::new(CHANNEL, 7, at(0));
        outbound.handle_timeout(at(30), &mut sent);
        while outbound.poll(at(50)).is_some() {}
        assert_eq!(outbound.fresh, 31, "all fit into the window");
        let acknowledged = |outbound: &mut Outbound, ms, end, sent: &mut Vec<_>| {
            assert!(outbound.handle_sack(at(ms), 0, &[(1, end)], sent));
        };
        (2..=4).for_each(|end| acknowledged(&mut outbound, 60, end, &mut sent));
        assert!(outbound.poll(at(60)).is_some(), "three reports miss it");
        (5..=9).for_each(|end| acknowledged(&mut outbound, 65, end, &mut sent));
        assert_eq!(outbound.poll(at(65)), None, "these were on their way before");
        outbound.handle_timeout(at(50 + 4000), &mut sent);
        assert!(outbound.again.contains(&0), "the time-out does it");
    }

    #[test]
    fn a_report_of_what_was_never_sent_is_refused() {
        let mut outbound = Outbound::new(CHANNEL, 7, at(0));
        let mut sent = Vec::new();
        outbound.handle_timeout(at(0), &mut sent);
        assert!(!outbound.handle_sack(at(1), 1, &[], &mut sent));
        assert!(!outbound.handle_sack(at(1), 0, &[(1, 9)], &mut sent));
        let mut inbound = Inbound::new(CHANNEL, 7);
        assert!(!inbound.handle_forward(at(1), WINDOW + 1, &mut BTreeMap::new()));
        let body = Payload::pattern(7, 0, 99);
        assert_eq!(inbound.handle_data(at(1), 0, &body, &mut BTreeMap::new()), None, "of another size");
    }

    /// A channel whose messages fill one chunk each, and how many leave at a time.
    fn filled() -> (Outbound, Vec<SentMessage>) {
        let mut sent = Vec::new();
        let mut outbound = Outbound::new(DataChannel { bytes: ROOM, ..CHANNEL }, 7, at(0));
        outbound.handle_timeout(at(200), &mut sent);
        (outbound, sent)
    }

    fn leave(outbound: &mut Outbound, ms: u64) -> usize {
        core::iter::from_fn(|| outbound.poll(at(ms))).count()
    }

    #[test]
    fn what_is_on_its_way_is_limited_as_rfc_9260_says() {
        let (mut outbound, mut sent) = filled();
        // A chunk has 16 + 1160 octets of the 4 x 1179 that the first window has; the window may be exceeded by less than a chunk.
        assert_eq!(leave(&mut outbound, 200), 5);
        assert!(outbound.handle_sack(at(300), 2, &[], &mut sent));
        assert_eq!(
            outbound.window.octets,
            5 * CHUNK,
            "slow start: by one chunk for a report, though two came"
        );
        assert_eq!(leave(&mut outbound, 300), 3);
        assert!(outbound.handle_sack(at(310), 4, &[], &mut sent));
        // Six are on their way, of which three reports miss the first; it is sent again whatever the window.
        assert_eq!((leave(&mut outbound, 310), outbound.window.octets), (3, 6 * CHUNK));
        for end in 6..=8 {
            assert!(outbound.handle_sack(at(400), 4, &[(5, end)], &mut sent));
        }
        assert_eq!((outbound.window.octets, outbound.window.threshold), (4 * CHUNK, 4 * CHUNK));
        // Three are on their way: what was missed leaves, and a fresh one.
        assert_eq!((leave(&mut outbound, 400), outbound.window.flight), (2, 5 * (DATA as u32 + ROOM)));
        // What is missed in the same flight does not reduce the window again, and leaves at once.
        for end in 10..=12 {
            assert!(outbound.handle_sack(at(410), 8, &[(9, end)], &mut sent));
        }
        assert_eq!(outbound.window.octets, 4 * CHUNK);
        assert_eq!(leave(&mut outbound, 410), 5);
        // A time-out leaves one chunk.
        outbound.handle_timeout(at(3000), &mut sent);
        assert_eq!((outbound.window.octets, outbound.window.flight), (CHUNK, 0));
        assert_eq!(leave(&mut outbound, 3000), 2);
    }

    #[test]
    fn above_its_threshold_the_window_grows_by_a_chunk_in_a_round_trip() {
        let (mut outbound, mut sent) = filled();
        outbound.window.threshold = 4 * CHUNK - 1;
        let mut next = 0;
        let windows: Vec<u32> = (0..12)
            .map(|_| {
                leave(&mut outbound, 200);
                next += 1;
                assert!(outbound.handle_sack(at(200), next, &[], &mut sent));
                outbound.window.octets / CHUNK
            })
            .collect();
        // Five chunks of 1176 octets are more than the window of four of 1179, six more than one of five.
        assert_eq!(windows, [4, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6]);
    }

    #[test]
    fn what_a_full_channel_does_not_take_is_refused_and_has_no_number() {
        let mut sent = Vec::new();
        let channel = DataChannel { bytes: MOST_BYTES, ..CHANNEL };
        let mut outbound = Outbound::new(channel, 7, at(0));
        outbound.handle_timeout(at(70), &mut sent);
        let taken = (MOST_WAITING / u64::from(MOST_BYTES)) as usize;
        assert_eq!((sent.len(), outbound.chunks.len() as u64), (71, taken as u64 * channel.chunks()));
        assert!(
            sent[..taken].iter().zip(0..).all(|(message, number)| message.outcome == Outcome::Taken(number))
        );
        assert!(sent[taken..].iter().all(|message| message.outcome == Outcome::Refused));
        // As soon as one has come whole, there is room for the next.
        while outbound.first < channel.chunks() {
            leave(&mut outbound, 71);
            let next = outbound.fresh;
            assert!(outbound.handle_sack(at(71), next, &[], &mut sent));
        }
        outbound.handle_timeout(at(71), &mut sent);
        assert_eq!(sent.last().map(|message| message.outcome), Some(Outcome::Taken(taken as u64)));
    }

    #[test]
    fn a_peer_that_skips_on_and_on_makes_nothing_grow() {
        let mut inbound = Inbound::new(CHANNEL, 7);
        let mut delivered = BTreeMap::new();
        for _ in 0..1000 {
            let next = inbound.next + WINDOW;
            assert!(inbound.handle_forward(at(1), next, &mut delivered));
            let body = Payload::pattern(7, content(next), 100);
            assert_eq!(inbound.handle_data(at(1), next, &body, &mut delivered), Some((100, 0)));
        }
        assert_eq!((delivered.len(), inbound.beyond.len(), inbound.parts.len()), (1000, 0, 0));
    }

    #[test]
    fn skipped_messages_are_named_where_they_have_an_order() {
        for (ordered, length) in [(true, 12), (false, 8)] {
            let mut sent = Vec::new();
            let channel = DataChannel { ordered, retransmits: Some(0), ..CHANNEL };
            let mut outbound = Outbound::new(channel, 7, at(0));
            outbound.handle_timeout(at(2), &mut sent);
            assert_eq!(leave(&mut outbound, 2), 3);
            outbound.handle_timeout(at(1500), &mut sent);
            let told = outbound.poll(at(1500)).expect("it tells what it gave up");
            assert_eq!(told.len(), 13 + 8 + 16 + 12 + length);
            assert_eq!(parse(&told, 0, 0), Some(Chunk::Forward { next: 3 }));
            let names: &[u8] = if ordered { &[0, 0, 0, 2] } else { &[] };
            assert_eq!(&told.front()[RECORD + COMMON + 8..], names, "stream 0, message 2");
        }
    }
}
