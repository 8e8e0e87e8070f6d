//! Two connections, and anything that can be done to them: calls of applications in any order, a network that loses, repeats,
//! reorders, damages and invents segments, and time that jumps.
//!
//! Whatever happens, nothing panics, timers make progress, and what is read is what was written, octet by octet. Where
//! nothing was invented and nobody gave up, all of it is read in the end and both connections end.

use crate::source::Source;
use std::collections::VecDeque;
use voxpath_tcp::config::{DelayedAck, Ecn, Keepalive};
use voxpath_tcp::{Config, Congestion, Connection, Profile, ReceiveAccounting, Recovery};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::{SackBlock, SackBlocks, Seq, TcpFlags, TcpHeader, TcpOptions, Timestamps};

/// Segments in flight in one direction; what does not fit is lost.
const MOST_IN_FLIGHT: usize = 200;
/// The most that an application writes, in segments of the size that the buffers let through.
const MOST_SEGMENTS: u64 = 200;
/// Segments after which there is no end to be expected.
const LIVELOCK: u64 = 50_000;
/// One way, once the network is good.
const DELAY: Span = Span::from_millis(10);
/// A network forgets what is older: numbers and timestamps tell segments apart only among those that are young enough (RFC 9293
/// section 3.4.3, RFC 7323 section 5.5).
const LIFETIME: Span = Span::from_secs(3_600);

/// Panics if something does not hold.
pub fn run(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    let mut pair = Pair::new(&mut source);
    while !source.is_empty() {
        pair.act(&mut source);
        pair.settle();
    }
    pair.come_to_an_end();
}

struct End {
    tcp: Option<Connection>,
    config: Config,
    iss: Seq,
    written: u64,
    read: u64,
    /// The application has nothing more to write.
    done: bool,
    /// Segments on their way to this end.
    coming: VecDeque<(Time, TcpHeader, Payload)>,
}

impl End {
    /// A closed window is probed for ever (RFC 9293 section 3.8.6.1), by this crate also where nobody answers: a forged segment
    /// can close it.
    fn probes_for_ever(&self) -> bool {
        self.tcp.as_ref().is_some_and(|tcp| tcp.metrics().snd_wnd == 0 && tcp.counters().probes > 1_000)
    }
}

struct Pair {
    now: Time,
    ends: [End; 2],
    /// The network invents nothing, so that all that was written has to arrive.
    honest: bool,
    /// So much of them that the ends may disagree about where the stream begins.
    spoiled: bool,
    /// An application gave up, or was told to after some time.
    impatient: bool,
    sent: u64,
    buffer: Vec<u8>,
}

impl Pair {
    fn new(source: &mut Source<'_>) -> Self {
        let honest = source.bit();
        // Close to where sequence numbers wrap, and where they do not.
        let isses = [Seq(u32::MAX - 20_000), Seq(4_000_000), Seq(0), Seq(u32::MAX), Seq(1 << 31)];
        let ends = [0, 1].map(|_| End {
            tcp: None,
            config: config(honest, source),
            iss: source.pick(&isses),
            written: 0,
            read: 0,
            done: false,
            coming: VecDeque::new(),
        });
        let impatient =
            ends.iter().any(|end| end.config.user_timeout.is_some() || end.config.keepalive.is_some());
        let mut pair =
            Self { now: Time::ZERO, ends, honest, spoiled: false, impatient, sent: 0, buffer: Vec::new() };
        pair.connect(0);
        pair.settle();
        pair
    }

    fn connect(&mut self, end: usize) {
        let end = &mut self.ends[end];
        if end.tcp.is_none() {
            end.tcp = Some(Connection::connect(end.config.clone(), end.iss));
        }
    }

    /// One thing happens.
    fn act(&mut self, source: &mut Source<'_>) {
        let choice = source.u8();
        let i = usize::from(choice & 1);
        let waiting = self.ends[i].coming.len();
        match choice >> 1 & 15 {
            0..=2 => self.deliver(i, 0),
            3 if waiting > 0 => self.deliver(i, source.below(waiting)),
            4 if waiting > 0 => drop(self.ends[i].coming.remove(source.below(waiting))),
            5 if waiting > 0 => {
                let copy = self.ends[i].coming[source.below(waiting)].clone();
                self.ends[i].coming.push_back(copy);
            }
            6 if !self.honest => self.forge(i, source),
            7 => self.too_big(i, source),
            8 => {
                let len = source.u16().into();
                self.write(i, len);
            }
            9 => {
                let max = source.u16().into();
                self.read(i, max);
            }
            10 => self.jump_to_timer(),
            11 | 12 => {
                let ms = source.pick(&[0, 1, 10, 40, 200, 1_000, 60_000, 3_600_000, 86_400_000 * 25]);
                self.pass(Span::from_millis(ms));
            }
            13 => self.ends[i].done |= source.once_in(4),
            14 if source.once_in(8) => self.connect(1),
            14 => {
                if let Some(tcp) = self.ends[i].tcp.as_mut().filter(|_| waiting > 0) {
                    tcp.congestion_experienced();
                }
                self.deliver(i, 0);
            }
            15 if source.once_in(16) => {
                self.impatient = true;
                self.ends[i].tcp.iter_mut().for_each(Connection::abort);
            }
            _ => self.ends.iter_mut().for_each(|end| drop(end.coming.pop_back())),
        }
        self.close_where_done();
    }

    fn deliver(&mut self, to: usize, index: usize) {
        if let Some((due, header, payload)) = self.ends[to].coming.remove(index)
            && self.now.since(due) <= LIFETIME
        {
            self.hand_over(to, &header, &payload);
        }
    }

    fn hand_over(&mut self, to: usize, header: &TcpHeader, payload: &Payload) {
        let end = &mut self.ends[to];
        match &mut end.tcp {
            Some(tcp) => tcp.handle_segment(self.now, header, payload),
            None if header.flags.contains(TcpFlags::SYN) && !header.flags.contains(TcpFlags::ACK) => {
                end.tcp = Some(Connection::accept(end.config.clone(), end.iss, header));
            }
            None => {}
        }
    }

    /// A router says that a segment was larger than the next link takes.
    fn too_big(&mut self, from: usize, source: &mut Source<'_>) {
        // Less leaves hardly an octet for data where timestamps and SACK blocks take their part.
        let least = if self.honest { 500 } else { 0 };
        let largest = source.pick(&[1280, 576, 68, 0, 65_535, 20, 1300]).max(least);
        let sent = self.ends[1 - from].coming.get(source.below(4));
        let seq = sent.map_or(self.ends[from].iss, |(_, header, _)| header.seq);
        let seq = if self.honest { seq } else { seq.wrapping_add(source.u8().into()) };
        if let Some(tcp) = &mut self.ends[from].tcp {
            tcp.handle_too_big(largest, seq);
        }
    }

    /// A segment like one that is under way, or like an acknowledgment, with something wrong in it.
    ///
    /// Its octets are those that belong at its sequence number, or nothing could be said of what is read.
    fn forge(&mut self, to: usize, source: &mut Source<'_>) {
        let peer = &self.ends[1 - to];
        let near = TcpHeader {
            seq: peer.iss.wrapping_add(1 + peer.written as u32),
            ack: self.ends[to].iss.wrapping_add(1 + self.ends[to].written as u32),
            flags: TcpFlags::ACK,
            window: 5000,
            ..TcpHeader::default()
        };
        let found = self.ends[to].coming.get(source.below(4));
        let (mut header, payload) =
            found.map_or((near, Payload::Empty), |(_, header, payload)| (*header, payload.clone()));
        let mut len = payload.len();
        let off = |source: &mut Source<'_>| match source.below(6) {
            0 => 1,
            1 => u32::MAX,
            2 => source.u16().into(),
            3 => u32::from(source.u16()).wrapping_neg(),
            4 => 1 << 31,
            _ => source.u32(),
        };
        for _ in 0..1 + source.below(3) {
            match source.below(8) {
                0 => header.seq = header.seq.wrapping_add(off(source)),
                1 => header.ack = header.ack.wrapping_add(off(source)),
                2 => header.window = source.pick(&[0, 1, 100, u16::MAX]),
                3 => header.flags = TcpFlags(source.u8()),
                4 => header.flags = TcpFlags::ACK,
                5 => {
                    let (value, echo) = (off(source), off(source));
                    header.options.timestamps = source.bit().then_some(Timestamps { value, echo });
                }
                6 => {
                    header.options.sack = SackBlocks::EMPTY;
                    for _ in 0..source.below(4) {
                        let left = header.ack.wrapping_add(off(source));
                        header.options.sack.push(SackBlock { left, right: left.wrapping_add(off(source)) });
                    }
                }
                _ => {
                    len = source.pick(&[0, 1, 1460, 65_535]);
                    header.options = TcpOptions {
                        mss: source.bit().then(|| source.u16()),
                        window_scale: source.bit().then(|| source.u8()),
                        sack_permitted: source.bit(),
                        ..header.options
                    };
                }
            }
        }
        let offset = i64::from(header.seq.distance_from(peer.iss.wrapping_add(1)));
        let payload = match u64::try_from(offset) {
            Ok(offset) => Payload::pattern(1 - to as u32, offset, len),
            Err(_) => Payload::Empty,
        };
        // Whose SYN it is decides where the stream begins.
        self.spoiled |= header.flags.contains(TcpFlags::SYN);
        self.hand_over(to, &header, &payload);
    }

    fn write(&mut self, i: usize, len: u64) {
        let [ours, theirs] = [i, 1 - i].map(|i| &self.ends[i].config);
        let segment = ours.send_buffer.min(theirs.receive_buffer).min(ours.mss.min(theirs.mss).into());
        let most = MOST_SEGMENTS * u64::from(segment);
        let end = &mut self.ends[i];
        let len = len.min(most.saturating_sub(end.written)) as u32;
        if let Some(tcp) = &mut end.tcp
            && !end.done
        {
            let taken = tcp.write(&Payload::pattern(i as u32, end.written, len));
            assert!(taken <= len, "took {taken} of {len}");
            end.written += u64::from(taken);
        }
    }

    fn read(&mut self, i: usize, max: u32) {
        let spoiled = self.spoiled;
        let end = &mut self.ends[i];
        let Some(tcp) = &mut end.tcp else { return };
        let readable = tcp.readable();
        // Counted in memory a buffer is doubled, of which data is a share.
        let doubled = u64::from(end.config.receive_accounting == ReceiveAccounting::Memory);
        let most = u64::from(end.config.receive_buffer) << doubled;
        assert!(readable <= most, "{readable} octets in the buffer");
        let part = tcp.read(max);
        if !spoiled && !part.is_empty() {
            let expected = Payload::pattern(1 - i as u32, end.read, part.len());
            assert_eq!(part, expected, "each octet once, in order, at end {i}");
        }
        end.read += u64::from(part.len());
    }

    fn close_where_done(&mut self) {
        for end in &mut self.ends {
            if let Some(tcp) = end.tcp.as_mut().filter(|tcp| end.done && tcp.is_synchronised()) {
                tcp.close();
            }
        }
    }

    fn pass(&mut self, span: Span) {
        self.now += span;
        for end in &mut self.ends {
            end.tcp.iter_mut().for_each(|tcp| tcp.handle_timeout(self.now));
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.ends.iter().filter_map(|end| end.tcp.as_ref()?.poll_timeout()).min()
    }

    fn jump_to_timer(&mut self) {
        if let Some(due) = self.next_timer() {
            self.pass(due.since(self.now));
        }
    }

    /// Lets both ends send all that they may.
    fn settle(&mut self) {
        for i in 0..2 {
            let Self { now, ends, sent, buffer, .. } = self;
            let End { tcp, iss, written, .. } = &mut ends[i];
            let Some(tcp) = tcp else { continue };
            let mut sent_now = 0;
            let mut out = Vec::new();
            while let Some((header, payload)) = tcp.poll_transmit(*now) {
                sent_now += 1;
                assert!(sent_now < LIVELOCK, "endless transmission: {:?}", tcp.metrics());
                check_segment(&header, &payload, i, *iss, *written, buffer);
                out.push((*now + DELAY, header, payload));
            }
            *sent += sent_now;
            let due = tcp.poll_timeout();
            assert!(
                due.is_none_or(|due| due > *now),
                "a timer at {now} makes no progress: {due:?} {:?}",
                tcp.metrics()
            );
            let metrics = tcp.metrics();
            assert!(metrics.cwnd > 0 && metrics.rto > Span::ZERO, "{metrics:?}");
            let coming = &mut ends[1 - i].coming;
            coming.extend(out);
            coming.truncate(MOST_IN_FLIGHT);
        }
    }

    /// The network becomes good, and the applications close.
    fn come_to_an_end(&mut self) {
        // A forged SYN may say that a segment has one octet.
        let octets: u64 = self.ends.iter().map(|end| end.written).sum();
        let limit = self.sent + LIVELOCK + if self.honest { 0 } else { 30 * octets };
        self.ends.iter_mut().for_each(|end| end.done = true);
        loop {
            self.close_where_done();
            (0..2).for_each(|i| self.read(i, u32::MAX));
            self.settle();
            let arrival = self.ends.iter().filter_map(|end| end.coming.front()).map(|&(at, ..)| at).min();
            let Some(next) = arrival.into_iter().chain(self.next_timer()).min() else { break };
            self.pass(next.since(self.now));
            for i in 0..2 {
                while self.ends[i].coming.front().is_some_and(|&(at, ..)| at <= self.now) {
                    self.deliver(i, 0);
                }
            }
            if !self.honest && self.ends.iter().any(End::probes_for_ever) {
                return;
            }
            assert!(self.sent < limit, "livelock at {}: {}", self.now, self.describe());
        }
        if !self.honest || self.impatient {
            return;
        }
        for i in 0..2 {
            assert_eq!(self.ends[i].read, self.ends[1 - i].written, "what end {i} read: {}", self.describe());
            let ended = self.ends[i].tcp.as_ref().map(Connection::ended);
            assert!(ended.is_some_and(|ended| ended.is_some()), "end {i} has not ended: {}", self.describe());
        }
    }
}

impl Pair {
    fn describe(&self) -> String {
        let line = |end: &End| {
            let tcp = end.tcp.as_ref();
            let metrics = tcp.map(|tcp| (tcp.ended(), tcp.poll_timeout(), tcp.metrics(), tcp.counters()));
            format!(
                "\n  {} written, {} read, {} coming, {metrics:?}",
                end.written,
                end.read,
                end.coming.len()
            )
        };
        self.ends.iter().map(line).collect()
    }
}

/// What leaves is well-formed, and carries what the application wrote.
fn check_segment(
    header: &TcpHeader,
    payload: &Payload,
    end: usize,
    iss: Seq,
    written: u64,
    buffer: &mut Vec<u8>,
) {
    buffer.clear();
    header.emit(buffer);
    assert_eq!(TcpHeader::parse(buffer), Ok((*header, buffer.len())));
    if !payload.is_empty() {
        let offset = u64::from(header.seq.distance_from(iss.wrapping_add(1)).cast_unsigned());
        assert_eq!(*payload, Payload::pattern(end as u32, offset, payload.len()), "{header:?}");
        assert!(offset + u64::from(payload.len()) <= written, "{header:?} beyond {written}");
    }
}

fn config(honest: bool, source: &mut Source<'_>) -> Config {
    let mut config = source.pick(&Profile::ALL).1.config();
    config.congestion = source.pick(Congestion::ALL).1;
    if honest {
        // A run of bad luck is no dead peer, and every repeated FIN finds an answer.
        (config.syn_retries, config.retries) = (1_000_000, 1_000_000);
        config.msl = Span::from_secs(1_000_000_000);
    }
    if source.bit() {
        return config;
    }
    let bits = source.u32();
    let bit = |n: u32| bits >> n & 1 == 1;
    let mut patience = None;
    if source.once_in(8) {
        config.user_timeout = Some(Span::from_secs(source.u16().max(1).into()));
    }
    if source.once_in(8) {
        let second = Span::from_secs(1);
        patience = Some(Keepalive { idle: second * 60, interval: second, probes: 3 });
    }
    config.rto.min = Span::from_millis(source.pick(&[200, 1, 1000]));
    config.persist.min = config.rto.min;
    config.rto.max = config.rto.max.max(config.rto.min);
    Config {
        mss: source.pick(&[1460, 536, 100, 64, 65_495]),
        send_buffer: source.pick(&[1_000_000, 20_000, 3000, 1]),
        receive_buffer: source.pick(&[1_000_000, 65_535, 8760, 700, 1, 1 << 30]),
        recovery: source.pick(&[Recovery::NewReno, Recovery::Tahoe, Recovery::Reno, Recovery::Linux]),
        initial_window: source.pick(&[10, 1, 2, 100]),
        dupack_threshold: source.pick(&[3, 1, 10]),
        ecn: source.pick(&[Ecn::Off, Ecn::Accept, Ecn::Request]),
        keepalive: patience,
        window_scaling: bit(0),
        timestamps: bit(1),
        sack: bit(2),
        nagle: bit(3),
        limited_transmit: bit(4),
        byte_counting: bit(5),
        cwnd_validation: bit(6),
        idle_restart: bit(7),
        rack: bit(8),
        loss_probe: bit(9),
        prr: bit(10),
        dsack: bit(11),
        undo: bit(12),
        frto: bit(13),
        ssthresh_from_cwnd: bit(14),
        pacing: bit(15),
        window_from_duplicates: bit(17),
        delayed_ack: DelayedAck {
            max_delay: Span::from_millis(source.pick(&[200, 0, 40])),
            max_segments: source.pick(&[2, 1, 4]),
            adaptive: bit(16),
            quick: 16,
        },
        ..config
    }
}
