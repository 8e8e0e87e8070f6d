//! Endurance: a connection for as long as it takes, over a bad link, with everything checked octet by octet.
//!
//! [`talk`] runs two connections from their opening to their end. Segments are bytes of IP packets on their way, so that
//! damage is caught by checksums, as a wire's would be; or values, where that is not the question.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use voxpath_tcp::{Config, Connection, Ended};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::ip::{IpHeader, Protocol};
use voxpath_wire::packet::{ChecksumStatus, Transport, emit_tcp, parse_packet};
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};

/// What the network does, each with this probability in 10,000, to each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weather {
    /// Loses it.
    pub loss: u32,
    /// Delivers it twice.
    pub duplicate: u32,
    /// Holds it back for up to four times its delay.
    pub reorder: u32,
    /// Flips up to 15 bits in a row, which the Internet checksum always sees.
    pub damage: u32,
}

impl Weather {
    /// Everything goes wrong every now and then.
    pub const BAD: Self = Self { loss: 100, duplicate: 100, reorder: 100, damage: 100 };
}

/// What two connections do.
#[derive(Debug, Clone)]
pub struct Talk {
    /// What each end writes, in octets.
    pub octets: [u64; 2],
    /// Initial sequence numbers.
    pub iss: [Seq; 2],
    /// Parameters of both ends.
    pub config: Config,
    /// Both ends open at once.
    pub simultaneous: bool,
    /// Octets that an application reads at once, and how long it rests then.
    pub reader: Option<(u32, Span)>,
    /// One way.
    pub delay: Span,
    /// Segments are bytes on their way.
    pub bytes: bool,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// How long it took in virtual time.
    pub took: Span,
    /// Segments of both ends.
    pub segments: u64,
    /// Of them, lost.
    pub lost: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Held back.
    pub reordered: u64,
    /// Damaged, and caught.
    pub damaged: u64,
    /// Segments repeated by the ends.
    pub retransmissions: u64,
    /// Probes of a closed window.
    pub probes: u64,
}

impl Outcome {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            took: self.took.max(other.took),
            segments: self.segments + other.segments,
            lost: self.lost + other.lost,
            duplicated: self.duplicated + other.duplicated,
            reordered: self.reordered + other.reordered,
            damaged: self.damaged + other.damaged,
            retransmissions: self.retransmissions + other.retransmissions,
            probes: self.probes + other.probes,
        }
    }
}

/// A segment on its way.
enum Segment {
    Bytes(Vec<u8>),
    Value(TcpHeader, Payload),
}

struct End {
    tcp: Option<Connection>,
    written: u64,
    read: u64,
    next_read: Time,
}

struct Run<'a> {
    talk: &'a Talk,
    weather: Weather,
    rng: Xoshiro256PlusPlus,
    now: Time,
    ends: [End; 2],
    /// By arrival, then by the order in which they were sent.
    wire: BTreeMap<(Time, u64), (usize, Segment)>,
    /// Packets put on the wire.
    order: u64,
    outcome: Outcome,
    expected: Vec<u8>,
}

/// Runs a talk to its end.
///
/// Panics if it does not come to one, if one end does not read what the other wrote, or if a connection does not end well.
pub fn talk(talk: &Talk, weather: Weather, seed: u64) -> Outcome {
    let end = || End { tcp: None, written: 0, read: 0, next_read: Time::ZERO };
    let mut run = Run {
        talk,
        weather,
        rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        now: Time::ZERO,
        ends: [end(), end()],
        wire: BTreeMap::new(),
        order: 0,
        outcome: Outcome::default(),
        expected: Vec::new(),
    };
    for i in 0..if talk.simultaneous { 2 } else { 1 } {
        run.ends[i].tcp = Some(Connection::connect(talk.config.clone(), talk.iss[i]));
    }
    let octets: u64 = talk.octets.iter().sum();
    let most = 100_000 + 100 * octets / u64::from(talk.config.mss.min(talk.reader.map_or(u16::MAX, least)));
    (0..2).for_each(|i| run.settle(i));
    while run.step() {
        assert!(run.outcome.segments < most, "{} segments without an end: {}", most, run.describe());
    }
    for i in 0..2 {
        let end = &run.ends[i];
        let tcp = end.tcp.as_ref().expect("both ends were opened");
        assert_eq!(end.read, talk.octets[1 - i], "what end {i} read: {}", run.describe());
        assert_eq!(tcp.ended(), Some(Ended::Closed), "end {i}: {}", run.describe());
        run.outcome.retransmissions += tcp.counters().retransmissions;
        run.outcome.probes += u64::from(tcp.counters().probes);
    }
    run.outcome.took = run.now.since(Time::ZERO);
    run.outcome
}

/// A reader takes so much at once, if that is less than a segment.
fn least((octets, _): (u32, Span)) -> u16 {
    octets.try_into().unwrap_or(u16::MAX)
}

impl Run<'_> {
    /// Goes to the next thing that happens; false if there is none.
    fn step(&mut self) -> bool {
        let arrival = self.wire.first_key_value().map(|((at, _), _)| *at);
        let timers = self.ends.iter().filter_map(|end| end.tcp.as_ref()?.poll_timeout());
        let reads = self.ends.iter().filter_map(|end| {
            let waits = self.talk.reader.is_some() && end.tcp.as_ref()?.readable() > 0;
            waits.then_some(end.next_read)
        });
        let Some(now) = arrival.into_iter().chain(timers).chain(reads).min() else { return false };
        assert!(now >= self.now, "time goes forward");
        self.now = now;
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to, segment) = entry.remove();
            self.deliver(to, segment);
        }
        for i in 0..2 {
            if let Some(tcp) = &mut self.ends[i].tcp {
                tcp.handle_timeout(now);
            }
            self.settle(i);
            let due = self.ends[i].tcp.as_ref().and_then(Connection::poll_timeout);
            assert!(due.is_none_or(|due| due > now), "a timer makes no progress: {}", self.describe());
        }
        true
    }

    fn deliver(&mut self, to: usize, segment: Segment) {
        let (header, payload) = match segment {
            Segment::Value(header, payload) => (header, payload),
            Segment::Bytes(bytes) => {
                let Some(parts) = parse(bytes) else {
                    self.outcome.damaged += 1;
                    return;
                };
                parts
            }
        };
        let end = &mut self.ends[to];
        match &mut end.tcp {
            Some(tcp) => tcp.handle_segment(self.now, &header, &payload),
            None if header.flags == TcpFlags::SYN => {
                end.tcp = Some(Connection::accept(self.talk.config.clone(), self.talk.iss[to], &header));
            }
            None => {}
        }
        self.settle(to);
    }

    /// Lets the application and the connection do all that they can.
    fn settle(&mut self, i: usize) {
        loop {
            self.apply(i);
            let Some(tcp) = &mut self.ends[i].tcp else { return };
            let mut sent = Vec::new();
            while let Some(segment) = tcp.poll_transmit(self.now) {
                sent.push(segment);
            }
            if sent.is_empty() {
                return;
            }
            for (header, payload) in sent {
                self.send(i, &header, &payload);
            }
        }
    }

    /// The application writes and reads what it can, and closes when all is written.
    fn apply(&mut self, i: usize) {
        let Self { talk, now, ends, expected, .. } = self;
        let end = &mut ends[i];
        let Some(tcp) = &mut end.tcp else { return };
        while end.written < talk.octets[i] && tcp.writable() > 0 {
            let len = (talk.octets[i] - end.written).min(1 << 20) as u32;
            end.written += u64::from(tcp.write(&Payload::pattern(i as u32, end.written, len)));
        }
        if end.written == talk.octets[i] && tcp.is_synchronised() {
            tcp.close();
        }
        let mut most = match talk.reader {
            None => u32::MAX,
            Some(_) if *now < end.next_read || tcp.readable() == 0 => 0,
            Some((octets, rest)) => {
                end.next_read = *now + rest;
                octets
            }
        };
        while most > 0 {
            let part = tcp.read(most);
            if part.is_empty() {
                break;
            }
            let pattern = Payload::pattern(1 - i as u32, end.read, part.len());
            match part.as_bytes() {
                Some(bytes) => {
                    expected.clear();
                    pattern.write_to(expected);
                    assert_eq!(**bytes, *expected, "octets from {} on", end.read);
                }
                None => assert_eq!(part, pattern, "octets from {} on", end.read),
            }
            end.read += u64::from(part.len());
            most -= part.len();
        }
    }

    fn send(&mut self, from: usize, header: &TcpHeader, payload: &Payload) {
        self.outcome.segments += 1;
        if self.chance(self.weather.loss) {
            self.outcome.lost += 1;
            return;
        }
        let twice = self.chance(self.weather.duplicate);
        self.outcome.duplicated += u64::from(twice);
        for _ in 0..1 + u32::from(twice) {
            let mut delay = self.talk.delay;
            if self.chance(self.weather.reorder) {
                self.outcome.reordered += 1;
                delay = Span::from_nanos(delay.as_nanos() + self.rng.next_u64() % (4 * delay.as_nanos()));
            }
            let segment = match self.talk.bytes {
                true => Segment::Bytes(self.emit(from, header, payload)),
                false => Segment::Value(*header, payload.clone()),
            };
            self.order += 1;
            self.wire.insert((self.now + delay, self.order), (1 - from, segment));
        }
    }

    /// The packet's bytes, some of which may be wrong.
    fn emit(&mut self, from: usize, header: &TcpHeader, payload: &Payload) -> Vec<u8> {
        let address = |end: usize| [10, 0, 0, 1 + end as u8].into();
        let ip = IpHeader::new(address(from), address(1 - from), Protocol::Tcp);
        let mut bytes = Vec::new();
        emit_tcp(&ip, header, payload, &mut bytes);
        if self.chance(self.weather.damage) {
            let bits = bytes.len() as u64 * 8;
            let first = self.rng.next_u64() % bits;
            let length = 1 + self.rng.next_u64() % 15;
            for bit in first..(first + length).min(bits) {
                // The first one at least.
                if bit == first || self.rng.next_u32() & 1 == 1 {
                    bytes[bit as usize / 8] ^= 0x80 >> (bit % 8);
                }
            }
        }
        bytes
    }

    fn chance(&mut self, in_10_000: u32) -> bool {
        in_10_000 > 0 && self.rng.next_u32() % 10_000 < in_10_000
    }

    fn describe(&self) -> String {
        let line = |end: &End| {
            let tcp = end.tcp.as_ref();
            let metrics = tcp.map(|tcp| (tcp.ended(), tcp.poll_timeout(), tcp.metrics(), tcp.counters()));
            format!("\n  {} written, {} read, {metrics:?}", end.written, end.read)
        };
        let ends: String = self.ends.iter().map(line).collect();
        format!("at {}, {:?}{ends}", self.now, self.outcome)
    }
}

/// The segment in a packet; none if a checksum or a length shows that it was damaged.
fn parse(bytes: Vec<u8>) -> Option<(TcpHeader, Payload)> {
    let parsed = parse_packet(&bytes).ok()?;
    match (parsed.transport, parsed.checksum) {
        (Transport::Tcp(header), ChecksumStatus::Good) => {
            Some((header, Payload::bytes(bytes::Bytes::from(bytes).slice(parsed.payload))))
        }
        _ => None,
    }
}
