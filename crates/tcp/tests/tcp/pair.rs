//! Two endpoints joined by a pipe whose every decision a test makes, in virtual time.
//!
//! The pair also watches what must hold of any two endpoints: a sender keeps to the windows announced to it, sends
//! no octet beyond its FIN, makes progress when a timer expires, and delivers exactly what was written.

use std::collections::BTreeMap;
use voxpath_tcp::{Config, Connection, State};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};

/// What becomes of a packet: a copy arrives after each of these delays; lost if there is none.
pub type Fate = Vec<Span>;

/// `decide(end, index, header)`: what becomes of the packet that `end` sends as its `index`-th, counted from 0.
type Decide = Box<dyn FnMut(usize, u64, &TcpHeader) -> Fate>;

/// What an end's application does.
#[derive(Debug, Clone)]
pub struct App {
    /// Octets that it writes, before it closes.
    pub octets: u64,
    /// Octets that it writes at once.
    pub write_size: u32,
    /// Octets that it reads at once, and how long it rests between; all at once if none.
    pub slow_reader: Option<(u32, Span)>,
}

pub struct End {
    pub tcp: Option<Connection>,
    config: Config,
    iss: Seq,
    app: App,
    written: u64,
    pub read: u64,
    next_read: Time,
    /// When reading was over: the peer's FIN was reached.
    pub finished: Option<Time>,
    sent: Watch,
    /// Packets sent, the index that decides a packet's fate.
    packets: u64,
}

/// What an observer at one end knows of the octets that it sends.
#[derive(Debug, Default)]
struct Watch {
    /// The furthest right edge announced to it, as an offset from its SYN.
    edge: u64,
    /// The offset of its FIN.
    fin: Option<u64>,
    /// The highest offset sent, for telling the sequence numbers' rounds apart.
    highest: u64,
    /// Whether it offered window scaling, and the shift count that it heard.
    offered_scale: bool,
    heard_scale: u8,
    probes: u32,
}

pub struct Pair {
    pub now: Time,
    pub ends: [End; 2],
    /// Packets under way, by arrival and then by the order in which they were sent.
    wire: BTreeMap<(Time, u64), (usize, TcpHeader, Payload)>,
    order: u64,
    decide: Decide,
}

impl Pair {
    /// End 0 connects, end 1 listens.
    pub fn new(
        configs: [Config; 2],
        apps: [App; 2],
        decide: impl FnMut(usize, u64, &TcpHeader) -> Fate + 'static,
    ) -> Self {
        let mut iss = [Seq(u32::MAX - 20_000), Seq(4_000_000)].into_iter();
        let mut apps = apps.into_iter();
        let ends = configs.map(|config| End {
            tcp: None,
            config,
            iss: iss.next().unwrap_or_default(),
            app: apps.next().expect("two"),
            written: 0,
            read: 0,
            next_read: Time::ZERO,
            finished: None,
            sent: Watch::default(),
            packets: 0,
        });
        let mut pair =
            Self { now: Time::ZERO, ends, wire: BTreeMap::new(), order: 0, decide: Box::new(decide) };
        let client = &mut pair.ends[0];
        client.tcp = Some(Connection::connect(client.config.clone(), client.iss));
        pair.settle(0);
        pair
    }

    /// Goes to the next thing that happens, and lets it happen; `false` if nothing is left to happen.
    pub fn step(&mut self) -> bool {
        let arrival = self.wire.first_key_value().map(|((at, _), _)| *at);
        let wakes = self.ends.iter().filter_map(End::wake);
        let Some(now) = arrival.into_iter().chain(wakes).min() else { return false };
        assert!(now >= self.now, "time goes forward");
        self.now = now;
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let (to, header, payload) = entry.remove();
            self.deliver(to, &header, &payload);
        }
        for i in 0..2 {
            if let Some(tcp) = &mut self.ends[i].tcp {
                tcp.handle_timeout(now);
            }
            self.settle(i);
            let due = self.ends[i].tcp.as_ref().and_then(Connection::poll_timeout);
            let flight = self.ends[i].tcp.as_ref().map_or(0, |tcp| tcp.metrics().flight);
            assert!(flight == 0 || due.is_some(), "no timer guards what is sent: {:?}", self.ends[i].tcp);
            assert!(
                due.is_none_or(|due| due > now),
                "a timer at now makes no progress: {:?}",
                self.ends[i].tcp
            );
        }
        true
    }

    /// Runs until nothing is left to happen, at most `segments` segments long: beyond that lies a livelock.
    pub fn drive_bounded(&mut self, segments: u64) {
        while self.step() {
            let sent = self.ends[0].packets + self.ends[1].packets;
            assert!(sent <= segments, "livelock: {sent} segments at {}\n{}", self.now, self.describe());
        }
    }

    /// Runs to the end, which has to be orderly: all octets read at both ends, both connections closed.
    pub fn drive(&mut self) {
        let octets: u64 = self.ends.iter().map(|end| end.app.octets).sum();
        let least = self.ends.iter().map(|end| u64::from(end.config.mss).min(200)).min().unwrap_or(1).max(1);
        self.drive_bounded(10_000 + 40 * octets / least);
        for (i, end) in self.ends.iter().enumerate() {
            let expected = self.ends[1 - i].app.octets;
            assert!(end.finished.is_some(), "end {i} did not come to the peer's FIN\n{}", self.describe());
            assert_eq!(end.read, expected, "end {i}");
            let tcp = end.tcp.as_ref().expect("it was opened");
            assert_eq!(
                (tcp.state(), tcp.ended()),
                (State::Closed, Some(voxpath_tcp::Ended::Closed)),
                "end {i}"
            );
            assert_eq!(tcp.counters().octets_acknowledged, end.app.octets, "end {i}");
            assert_eq!(tcp.counters().octets_received, expected, "end {i}");
        }
    }

    pub fn tcp(&self, end: usize) -> &Connection {
        self.ends[end].tcp.as_ref().expect("the end is open")
    }

    pub fn describe(&self) -> String {
        let line = |end: &End| {
            let metrics = end.tcp.as_ref().map(Connection::metrics);
            format!(
                "written {} read {} {metrics:?} {:?}",
                end.written,
                end.read,
                end.tcp.as_ref().map(|t| t.ended())
            )
        };
        format!("{}\n{}", line(&self.ends[0]), line(&self.ends[1]))
    }

    /// Delivers a segment that may not come from the peer at all.
    pub fn deliver(&mut self, to: usize, header: &TcpHeader, payload: &Payload) {
        let end = &mut self.ends[to];
        let flags = header.flags;
        match &mut end.tcp {
            None if flags == TcpFlags::SYN => {
                end.tcp = Some(Connection::accept(end.config.clone(), end.iss, header));
            }
            None => return,
            Some(tcp) => tcp.handle_segment(self.now, header, payload),
        }
        end.sent.hear(header, end.iss);
        self.settle(to);
    }

    /// Lets the application and the connection do all they can.
    fn settle(&mut self, i: usize) {
        loop {
            let end = &mut self.ends[i];
            end.run_app(i, self.now);
            let Some(tcp) = &mut end.tcp else { return };
            let mut sent = 0;
            while let Some((header, payload)) = tcp.poll_transmit(self.now) {
                sent += 1;
                assert!(sent < 100_000, "endless transmission: {tcp:?}");
                end.sent.check(&header, &payload, end.iss, tcp);
                let index = end.packets;
                end.packets += 1;
                for delay in (self.decide)(i, index, &header) {
                    self.order += 1;
                    self.wire.insert((self.now + delay, self.order), (1 - i, header, payload.clone()));
                }
            }
            if sent == 0 {
                return;
            }
        }
    }
}

impl End {
    fn wake(&self) -> Option<Time> {
        let tcp = self.tcp.as_ref()?;
        let reads = (tcp.readable() > 0 && self.app.slow_reader.is_some()).then_some(self.next_read);
        tcp.poll_timeout().into_iter().chain(reads).min()
    }

    /// Writes all it can, reads all it may. Both patterns are numbered by the end that writes them.
    fn run_app(&mut self, i: usize, now: Time) {
        let Some(tcp) = &mut self.tcp else { return };
        while self.written < self.app.octets && tcp.writable() > 0 {
            let len = (self.app.octets - self.written).min(u64::from(self.app.write_size)) as u32;
            self.written += u64::from(tcp.write(&Payload::pattern(i as u32, self.written, len)));
        }
        if self.written == self.app.octets && tcp.is_synchronised() {
            tcp.close();
        }
        let max = match self.app.slow_reader {
            None => u64::MAX,
            Some(_) if now < self.next_read => 0,
            Some((octets, rest)) => {
                self.next_read = now + rest;
                u64::from(octets)
            }
        };
        let end = self.read.saturating_add(max);
        while self.read < end {
            let part = tcp.read((end - self.read).min(1 << 20) as u32);
            if part.is_empty() {
                break;
            }
            assert_eq!(
                part,
                Payload::pattern(1 - i as u32, self.read, part.len()),
                "each octet once, in order"
            );
            self.read += u64::from(part.len());
        }
        if tcp.is_at_end() {
            self.finished.get_or_insert(now);
        }
    }
}

impl Watch {
    /// Takes note of what an arriving segment announces.
    fn hear(&mut self, header: &TcpHeader, iss: Seq) {
        let syn = header.flags.contains(TcpFlags::SYN);
        if syn {
            self.heard_scale = header.options.window_scale.unwrap_or(0).min(14);
        }
        // A SYN without ACK announces a window that begins behind our SYN.
        let ack =
            if header.flags.contains(TcpFlags::ACK) { unwrap(header.ack, iss, self.highest) } else { 1 };
        let shift = if syn || !self.offered_scale { 0 } else { self.heard_scale };
        self.edge = self.edge.max(ack + (u64::from(header.window) << shift));
    }

    /// Checks a segment that leaves.
    fn check(&mut self, header: &TcpHeader, payload: &Payload, iss: Seq, tcp: &Connection) {
        let flags = header.flags;
        if flags.contains(TcpFlags::RST) {
            return;
        }
        assert!(header.wire_len() <= 60, "options fit the header");
        let start = unwrap(header.seq, iss, self.highest);
        let data_end = start + u64::from(payload.len());
        let end =
            data_end + u64::from(flags.contains(TcpFlags::FIN)) + u64::from(flags.contains(TcpFlags::SYN));
        self.highest = self.highest.max(end);
        let probes = tcp.counters().probes;
        if flags.contains(TcpFlags::SYN) {
            self.offered_scale = header.options.window_scale.is_some();
        } else if probes == self.probes {
            assert!(
                start <= self.edge && end <= self.edge.max(start),
                "beyond the window {}: {start}..{end} {tcp:?}",
                self.edge
            );
        }
        self.probes = probes;
        if flags.contains(TcpFlags::FIN) {
            assert_eq!(*self.fin.get_or_insert(end - 1), end - 1, "one FIN");
        }
        assert!(payload.is_empty() || self.fin.is_none_or(|fin| data_end <= fin), "data beyond the FIN");
    }
}

/// The offset of `seq` from `iss` that lies nearest to `near`.
fn unwrap(seq: Seq, iss: Seq, near: u64) -> u64 {
    let distance = seq.distance_from(iss.wrapping_add(near as u32));
    near.checked_add_signed(i64::from(distance)).expect("no number before the SYN")
}
