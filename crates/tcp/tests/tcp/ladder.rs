//! One endpoint under test, in virtual time, with the test as its peer.
//!
//! A test reads like a ladder diagram: [`Ladder::recv`] is an arrow towards the endpoint, [`Ladder::expect`]
//! one that leaves it. Sequence numbers are relative to each side's SYN, which is number 0. Every segment that leaves
//! has to be expected before the clock moves on, so that silence is tested everywhere without saying so.

use std::collections::VecDeque;
use voxpath_tcp::{Config, Connection, Ended, Phase, Profile, State};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::{SackBlock, Seq, TcpFlags, TcpHeader, TcpOptions, Timestamps};

/// The pattern that the endpoint under test sends, and the one that its peer sends.
const OURS: u32 = 1;
const THEIRS: u32 = 2;

/// The numbers of both SYNs, near the point of wrapping so that every test crosses it.
const ISS: Seq = Seq(u32::MAX - 3000);
const IRS: Seq = Seq(u32::MAX - 2000);

pub const fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

pub const fn span_ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// `rfc` without options and without Nagle's algorithm: what the numbers in a diagram are easiest with.
pub fn plain() -> Config {
    Config { window_scaling: false, timestamps: false, sack: false, nagle: false, ..Profile::Rfc.config() }
}

/// [`plain`], acknowledging each segment at once.
pub fn prompt() -> Config {
    let mut config = plain();
    config.delayed_ack.max_delay = Span::ZERO;
    config
}

/// [`plain`] with selective acknowledgment.
pub fn with_sack() -> Config {
    Config { sack: true, ..plain() }
}

/// A segment to deliver, or what is expected of one: there, what was not said is not compared.
#[derive(Debug, Clone, Default)]
pub struct Seg {
    flags: u8,
    seq: Option<u32>,
    len: Option<u32>,
    ack: Option<u32>,
    window: Option<u16>,
    mss: Option<Option<u16>>,
    scale: Option<Option<u8>>,
    sack_permitted: Option<bool>,
    timestamps: Option<Option<(u32, u32)>>,
    sack: Option<Vec<(u32, u32)>>,
}

const FIN: u8 = TcpFlags::FIN.0;
const SYN: u8 = TcpFlags::SYN.0;
const RST: u8 = TcpFlags::RST.0;
const PSH: u8 = TcpFlags::PSH.0;
const ACK: u8 = TcpFlags::ACK.0;

fn seg(flags: u8) -> Seg {
    Seg { flags, ..Seg::default() }
}

/// `len` octets from `seq` on.
pub fn data(seq: u32, len: u32) -> Seg {
    Seg { seq: Some(seq), len: Some(len), ..seg(ACK) }
}

/// A bare acknowledgment.
pub fn ack(number: u32) -> Seg {
    Seg { len: Some(0), ack: Some(number), ..seg(ACK) }
}

/// A FIN, behind no data unless [`Seg::len`] says so.
pub fn fin(seq: u32) -> Seg {
    Seg { seq: Some(seq), len: Some(0), ..seg(FIN | ACK) }
}

/// A reset without acknowledgment.
pub fn rst(seq: u32) -> Seg {
    Seg { seq: Some(seq), len: Some(0), ..seg(RST) }
}

pub fn syn() -> Seg {
    Seg { seq: Some(0), len: Some(0), ..seg(SYN) }
}

pub fn syn_ack() -> Seg {
    Seg { seq: Some(0), len: Some(0), ack: Some(1), ..seg(SYN | ACK) }
}

impl Seg {
    pub fn seq(mut self, seq: u32) -> Self {
        self.seq = Some(seq);
        self
    }

    pub fn len(mut self, len: u32) -> Self {
        self.len = Some(len);
        self
    }

    /// With this acknowledgment number, and the ACK bit.
    pub fn ack(mut self, ack: u32) -> Self {
        self.ack = Some(ack);
        self.flags |= ACK;
        self
    }

    /// The window field as it stands in the header.
    pub fn window(mut self, window: u16) -> Self {
        self.window = Some(window);
        self
    }

    pub fn mss(mut self, mss: impl Into<Option<u16>>) -> Self {
        self.mss = Some(mss.into());
        self
    }

    pub fn scale(mut self, shift: impl Into<Option<u8>>) -> Self {
        self.scale = Some(shift.into());
        self
    }

    pub fn sack_permitted(mut self, permitted: bool) -> Self {
        self.sack_permitted = Some(permitted);
        self
    }

    pub fn stamps(mut self, stamps: impl Into<Option<(u32, u32)>>) -> Self {
        self.timestamps = Some(stamps.into());
        self
    }

    pub fn sack(mut self, blocks: &[(u32, u32)]) -> Self {
        self.sack = Some(blocks.to_vec());
        self
    }

    pub fn with_fin(mut self) -> Self {
        self.flags |= FIN;
        self
    }

    pub fn ece(mut self) -> Self {
        self.flags |= TcpFlags::ECE.0;
        self
    }

    pub fn cwr(mut self) -> Self {
        self.flags |= TcpFlags::CWR.0;
        self
    }

    pub fn pushed(mut self) -> Self {
        self.flags |= PSH;
        self
    }

    pub fn without_ack(mut self) -> Self {
        self.flags &= !ACK;
        self
    }

    pub fn with_syn(mut self) -> Self {
        self.flags |= SYN;
        self
    }
}

/// The endpoint and the ladder's clock.
pub struct Ladder {
    pub tcp: Connection,
    now: Time,
    /// Sent and not yet expected.
    sent: VecDeque<(Time, TcpHeader, Payload)>,
    written: u64,
    /// Octets read, all of them checked against the pattern.
    pub read: u64,
    /// What the peer puts where a test does not say.
    pub window: u16,
    acked: u32,
    next: u32,
    last_stamp: u32,
    stamps: bool,
}

impl Ladder {
    /// An endpoint that has just been told to connect.
    pub fn client(config: Config) -> Self {
        Self::new(Connection::connect(config, ISS))
    }

    /// An endpoint in LISTEN that receives this SYN.
    pub fn server(config: Config, syn: Seg) -> Self {
        let window = syn.window.unwrap_or(u16::MAX);
        let header = syn.header((0, 0), window, (IRS, ISS));
        let mut ladder = Self::new(Connection::accept(config, ISS, &header));
        ladder.window = window;
        ladder.stamps = header.options.timestamps.is_some() && ladder.sent[0].1.options.timestamps.is_some();
        ladder
    }

    /// An endpoint in ESTABLISHED since time 0, whose peer offered what it offers itself.
    pub fn established(config: Config) -> Self {
        let offer = syn()
            .mss(config.mss)
            .scale(config.window_scaling.then_some(0))
            .sack_permitted(config.sack)
            .stamps(config.timestamps.then_some((1, 0)));
        Self::established_after(config, offer)
    }

    /// An endpoint in ESTABLISHED since time 0, whose peer sent this SYN.
    pub fn established_after(config: Config, syn: Seg) -> Self {
        let mut ladder = Self::server(config, syn);
        ladder.expect(syn_ack());
        ladder.recv(ack(1));
        ladder.state(State::Established);
        ladder
    }

    fn new(tcp: Connection) -> Self {
        let mut ladder = Self {
            tcp,
            now: Time::ZERO,
            sent: VecDeque::new(),
            written: 0,
            read: 0,
            window: u16::MAX,
            acked: 0,
            next: 1,
            last_stamp: 0,
            stamps: false,
        };
        ladder.drain();
        ladder
    }

    /// The clock moves on to `time`, and timers expire on the way. Everything sent before has to be expected by now.
    #[track_caller]
    pub fn at(&mut self, time: Time) -> &mut Self {
        self.expect_nothing();
        assert!(time >= self.now, "the ladder goes down");
        while let Some(due) = self.tcp.poll_timeout().filter(|due| *due <= time) {
            self.now = self.now.max(due);
            self.tcp.handle_timeout(self.now);
            self.drain();
            if !self.sent.is_empty() {
                assert_eq!(self.now, time, "sent too early: {}", self.describe());
            }
        }
        self.now = time;
        self
    }

    /// The peer's segment arrives. What is not said of it: it continues the peer's stream, repeats its last
    /// acknowledgment and has its usual window.
    #[track_caller]
    pub fn recv(&mut self, seg: Seg) -> &mut Self {
        let stamps = Timestamps { value: self.now_stamp(), echo: self.last_stamp };
        let mut header = seg.header((self.next, self.acked), self.window, (IRS, ISS));
        if self.stamps && seg.timestamps.is_none() {
            header.options.timestamps = Some(stamps);
        }
        if seg.ack.is_some() && header.flags.contains(TcpFlags::ACK) {
            self.acked = seg.ack.unwrap_or(0);
        }
        let seq = seg.seq.unwrap_or(self.next);
        let occupied = seg.len.unwrap_or(0) + u32::from(seg.flags & FIN != 0);
        if seg.flags & RST == 0 {
            self.next = self.next.max(seq + occupied);
        }
        let payload = Payload::pattern(THEIRS, u64::from(seq.max(1)) - 1, seg.len.unwrap_or(0));
        self.tcp.handle_segment(self.now, &header, &payload);
        self.drain();
        self
    }

    /// A router says that a link takes no more than `largest` bytes of the segment at `seq`; whether that is believed.
    pub fn too_big(&mut self, largest: u32, seq: u32) -> bool {
        let believed = self.tcp.handle_too_big(largest, ISS.wrapping_add(seq));
        self.drain();
        believed
    }

    /// The next segment that left must have left now, and be this one.
    #[track_caller]
    pub fn expect(&mut self, expected: Seg) -> &mut Self {
        let Some((at, header, payload)) = self.sent.pop_front() else {
            panic!("at {}: nothing was sent, expected {expected:?}", self.now);
        };
        assert_eq!(at, self.now, "{header:?}");
        expected.compare(&header, &payload);
        if let Some(stamps) = header.options.timestamps {
            self.last_stamp = stamps.value;
        }
        self
    }

    /// `count` segments of `len` octets, from `seq` on.
    #[track_caller]
    pub fn expect_data(&mut self, seq: u32, len: u32, count: u32) -> &mut Self {
        for i in 0..count {
            self.expect(data(seq + i * len, len));
        }
        self
    }

    #[track_caller]
    pub fn expect_nothing(&mut self) -> &mut Self {
        assert!(self.sent.is_empty(), "not expected: {}", self.describe());
        self
    }

    /// Forgets what was sent, where it is not what the test is about.
    pub fn skip(&mut self) -> &mut Self {
        self.sent.clear();
        self
    }

    /// The window fields of what was sent, which then counts as expected.
    pub fn take_windows(&mut self) -> Vec<u16> {
        self.sent.drain(..).map(|(_, header, _)| header.window).collect()
    }

    #[track_caller]
    pub fn write(&mut self, len: u32) -> &mut Self {
        let taken = self.tcp.write(&Payload::pattern(OURS, self.written, len));
        assert_eq!(taken, len, "the send buffer takes it");
        self.written += u64::from(len);
        self.drain();
        self
    }

    /// The application reads `len` octets.
    #[track_caller]
    pub fn read(&mut self, len: u32) -> &mut Self {
        let end = self.read + u64::from(len);
        while self.read < end {
            let part = self.tcp.read((end - self.read) as u32);
            assert!(!part.is_empty(), "{len} octets are there");
            assert_eq!(part, Payload::pattern(THEIRS, self.read, part.len()));
            self.read += u64::from(part.len());
        }
        self.drain();
        self
    }

    pub fn close(&mut self) -> &mut Self {
        self.tcp.close();
        self.drain();
        self
    }

    pub fn abort(&mut self) -> &mut Self {
        self.tcp.abort();
        self.drain();
        self
    }

    #[track_caller]
    pub fn state(&mut self, state: State) -> &mut Self {
        assert_eq!(self.tcp.state(), state);
        self
    }

    #[track_caller]
    pub fn ended(&mut self, ended: impl Into<Option<Ended>>) -> &mut Self {
        assert_eq!(self.tcp.ended(), ended.into());
        self
    }

    #[track_caller]
    pub fn phase(&mut self, phase: Phase) -> &mut Self {
        assert_eq!(self.tcp.metrics().phase, phase);
        self
    }

    #[track_caller]
    pub fn cwnd(&mut self, cwnd: u64) -> &mut Self {
        assert_eq!(self.tcp.metrics().cwnd, cwnd);
        self
    }

    #[track_caller]
    pub fn ssthresh(&mut self, ssthresh: impl Into<Option<u64>>) -> &mut Self {
        assert_eq!(self.tcp.metrics().ssthresh, ssthresh.into());
        self
    }

    #[track_caller]
    pub fn rto(&mut self, millis: u64) -> &mut Self {
        assert_eq!(self.tcp.metrics().rto, span_ms(millis));
        self
    }

    /// No timer runs.
    #[track_caller]
    pub fn idle(&mut self) -> &mut Self {
        assert_eq!(self.tcp.poll_timeout(), None);
        self
    }

    fn now_stamp(&self) -> u32 {
        (self.now.as_nanos() / 1_000_000) as u32 + 1
    }

    /// Polls until there is nothing more to send, as every driver does.
    fn drain(&mut self) {
        for _ in 0..10_000 {
            match self.tcp.poll_transmit(self.now) {
                Some((header, payload)) => self.sent.push_back((self.now, header, payload)),
                None => {
                    let due = self.tcp.poll_timeout();
                    assert!(due.is_none_or(|due| due > self.now), "a timer at now makes no progress");
                    return;
                }
            }
        }
        panic!("endless transmission: {:?}", self.tcp);
    }

    fn describe(&self) -> String {
        let one = |(at, header, payload): &(Time, TcpHeader, Payload)| {
            let seq = header.seq.0.wrapping_sub(ISS.0);
            let ack = header.ack.0.wrapping_sub(IRS.0);
            let (flags, len) = (header.flags, payload.len());
            format!("at {at}: {flags:?} seq {seq} len {len} ack {ack} window {}", header.window)
        };
        self.sent.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

impl Seg {
    /// The segment on the wire, `from` and `to` being the numbers of the sender's and the receiver's SYN.
    fn header(&self, (next, acked): (u32, u32), window: u16, (from, to): (Seq, Seq)) -> TcpHeader {
        let mut options = TcpOptions {
            mss: self.mss.flatten(),
            window_scale: self.scale.flatten(),
            sack_permitted: self.sack_permitted.unwrap_or(false),
            timestamps: self.timestamps.flatten().map(|(value, echo)| Timestamps { value, echo }),
            ..TcpOptions::default()
        };
        for &(left, right) in self.sack.iter().flatten() {
            options.sack.push(SackBlock { left: to.wrapping_add(left), right: to.wrapping_add(right) });
        }
        let has_ack = self.flags & ACK != 0;
        TcpHeader {
            seq: from.wrapping_add(self.seq.unwrap_or(next)),
            ack: if has_ack { to.wrapping_add(self.ack.unwrap_or(acked)) } else { Seq(0) },
            flags: TcpFlags(self.flags),
            window: self.window.unwrap_or(window),
            options,
            ..TcpHeader::default()
        }
    }

    #[track_caller]
    fn compare(&self, header: &TcpHeader, payload: &Payload) {
        let seq = header.seq.0.wrapping_sub(ISS.0);
        let ack = header.ack.0.wrapping_sub(IRS.0);
        let context = format!("sent: {:?} seq {seq} len {} ack {ack}", header.flags, payload.len());
        assert_eq!(header.flags.0 & !PSH, self.flags, "{context}, flags");
        let same = |what: &str, expected: Option<u32>, actual: u32| {
            assert!(
                expected.is_none_or(|e| e == actual),
                "{context}: {what} {actual}, expected {expected:?}"
            );
        };
        same("seq", self.seq, seq);
        same("ack", self.ack, ack);
        same("len", self.len, payload.len());
        same("window", self.window.map(u32::from), u32::from(header.window));
        if let Some(mss) = self.mss {
            assert_eq!(header.options.mss, mss, "{context}, mss");
        }
        if let Some(scale) = self.scale {
            assert_eq!(header.options.window_scale, scale, "{context}, window scale");
        }
        if let Some(permitted) = self.sack_permitted {
            assert_eq!(header.options.sack_permitted, permitted, "{context}, SACK permitted");
        }
        if let Some(stamps) = self.timestamps {
            let actual = header.options.timestamps.map(|stamps| (stamps.value, stamps.echo));
            assert_eq!(actual, stamps, "{context}, timestamps");
        }
        if let Some(expected) = &self.sack {
            let relative = |seq: Seq| seq.0.wrapping_sub(IRS.0);
            let blocks = header.options.sack.as_slice();
            let actual: Vec<_> = blocks.iter().map(|b| (relative(b.left), relative(b.right))).collect();
            assert_eq!(&actual, expected, "{context}, SACK blocks");
        }
        if !payload.is_empty() {
            let pattern = Payload::pattern(OURS, u64::from(seq) - 1, payload.len());
            assert_eq!(payload, &pattern, "{context}: the octets of that place");
        }
    }
}
