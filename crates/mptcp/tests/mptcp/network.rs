//! Two ends, the paths between their addresses, and a clock.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use voxpath_mptcp::{Config, Connection, Key, LocalAddress, Scheduling, Setup, joins};
use voxpath_tcp as tcp;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};

pub(crate) fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// So many seconds after the start.
pub(crate) fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// A way between two addresses, alike in both directions.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) delay: Span,
    /// Bits a second.
    pub(crate) rate: u64,
    /// Of so many packets one is lost; none if zero.
    pub(crate) loss: u64,
    pub(crate) is_up: bool,
}

impl Path {
    pub(crate) fn new(delay: u64, mbps: u64) -> Self {
        Self { delay: ms(delay), rate: mbps * 1_000_000, loss: 0, is_up: true }
    }
}

/// What one end's application does: it writes so many octets, reads all, and closes.
#[derive(Debug, Default, Clone)]
pub(crate) struct Application {
    pub(crate) to_write: u64,
    pub(crate) written: u64,
    pub(crate) read: u64,
    pub(crate) wrong: u64,
    pub(crate) finished: Option<Time>,
    /// How much it reads at once, and how long it rests between.
    pub(crate) reader: Option<(u32, Span)>,
    pub(crate) next_read: Time,
}

pub(crate) struct End {
    pub(crate) connection: Connection,
    pub(crate) app: Application,
    /// The other end's pattern.
    stream: u32,
    nonce: u32,
    port: u16,
}

type Change = Box<dyn FnMut(usize, &mut TcpHeader, &mut Payload) -> bool>;

/// A segment on its way: for which end, from where, to where.
type Segment = (usize, SocketAddr, SocketAddr, TcpHeader, Payload);

/// Two ends and what joins them.
pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) ends: [Option<End>; 2],
    pub(crate) paths: BTreeMap<(IpAddr, IpAddr), Path>,
    pub(crate) setups: [Side; 2],
    /// What middleboxes do with a packet of this end; false drops it.
    pub(crate) change: Change,
    wire: BTreeMap<(Time, u64), Segment>,
    busy: BTreeMap<(usize, IpAddr, IpAddr), Time>,
    pub(crate) sent: u64,
    steps: u64,
    seed: u64,
    /// Resets without a connection.
    pub(crate) refused: u32,
}

/// What one end is made of.
#[derive(Clone)]
pub(crate) struct Side {
    pub(crate) config: Config,
    pub(crate) tcp: tcp::Config,
    pub(crate) addresses: Vec<LocalAddress>,
    pub(crate) app: Application,
    pub(crate) key: u64,
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

pub(crate) fn address(text: &str) -> LocalAddress {
    LocalAddress { ip: ip(text), backup: false, is_up: true }
}

/// A client with two addresses, a server with one, and a path from each.
pub(crate) fn two_paths(paths: [Path; 2], up: u64, down: u64) -> World {
    let side = |addresses: &[&str], to_write, key| Side {
        config: Config::default(),
        tcp: tcp::Profile::Linux.config(),
        addresses: addresses.iter().map(|text| address(text)).collect(),
        app: Application { to_write, ..Application::default() },
        key,
    };
    let server = "10.9.0.1";
    let clients = ["10.0.0.1", "10.0.1.1"];
    let paths = clients.iter().zip(paths).map(|(client, path)| ((ip(client), ip(server)), path));
    World {
        now: Time::ZERO,
        ends: [None, None],
        paths: paths.collect(),
        setups: [side(&clients, up, 0x0123_4567_89ab_cdef), side(&[server], down, 0xfedc_ba98_7654_3210)],
        change: Box::new(|_, _, _| true),
        wire: BTreeMap::new(),
        busy: BTreeMap::new(),
        sent: 0,
        steps: 0,
        seed: 1,
        refused: 0,
    }
}

impl World {
    /// Has both ends schedule as Linux does.
    pub(crate) fn be_linux(&mut self) {
        for side in &mut self.setups {
            side.config.scheduler = Scheduling::Kernel;
            (side.config.opportunistic_retransmission, side.config.penalisation) = (false, false);
        }
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.seed >> 33
    }

    pub(crate) fn start(&mut self) {
        let remote = SocketAddr::new(self.setups[1].addresses[0].ip, 5001);
        let local = SocketAddr::new(self.setups[0].addresses[0].ip, 40_000);
        let side = self.setups[0].clone();
        let connection = Connection::connect(&self.setup(&side, [local, remote]));
        self.ends[0] = Some(End { connection, app: side.app, stream: 1, nonce: 77, port: 40_001 });
        self.run(0);
    }

    fn setup<'a>(&mut self, side: &'a Side, ends: [SocketAddr; 2]) -> Setup<'a> {
        Setup {
            config: Arc::new(side.config.clone()),
            tcp: Arc::new(side.tcp.clone()),
            ends,
            addresses: &side.addresses,
            key: Key(side.key),
            iss: Seq(self.draw() as u32),
        }
    }

    pub(crate) fn end(&mut self, i: usize) -> &mut End {
        self.ends[i].as_mut().expect("the end is there")
    }

    /// Lets an end do everything that it can do now.
    pub(crate) fn run(&mut self, i: usize) {
        let now = self.now;
        let iss = Seq(self.draw() as u32);
        let Some(End { connection, app, stream, nonce, port }) = &mut self.ends[i] else { return };
        let mut out = VecDeque::new();
        connection.handle_timeout(now);
        loop {
            app.drive(now, connection, 1 - *stream, *stream);
            while let Some(opening) = connection.poll_open() {
                *nonce = nonce.wrapping_add(1);
                *port += 1;
                connection.open(&opening, *port, Seq(iss.0.wrapping_add((*port).into())), *nonce);
            }
            let mut any = false;
            while let Some((id, header, payload)) = connection.poll_transmit(now) {
                let subflow = &connection.subflows()[id];
                assert!(header.wire_len() <= 60);
                out.push_back((subflow.local, subflow.remote, header, payload));
                any = true;
                assert!(out.len() < 100_000, "livelock");
            }
            if !any {
                break;
            }
        }
        for (local, remote, header, payload) in out {
            self.send(i, local, remote, header, payload);
        }
    }

    fn send(
        &mut self,
        i: usize,
        local: SocketAddr,
        remote: SocketAddr,
        mut header: TcpHeader,
        mut payload: Payload,
    ) {
        self.sent += 1;
        (header.src_port, header.dst_port) = (local.port(), remote.port());
        if !(self.change)(i, &mut header, &mut payload) {
            return;
        }
        let key = if i == 0 { (local.ip(), remote.ip()) } else { (remote.ip(), local.ip()) };
        let Some(path) = self.paths.get(&key).cloned() else { return };
        let lost = path.loss > 0 && self.draw().is_multiple_of(path.loss);
        if !path.is_up || lost {
            return;
        }
        let bits = u64::from(20 + header.wire_len() + payload.len()) * 8;
        let busy = self.busy.entry((i, key.0, key.1)).or_insert(Time::ZERO);
        let leaves = self.now.max(*busy) + Span::from_nanos(bits * 1_000_000_000 / path.rate);
        // A queue of 100 ms.
        if leaves - self.now > ms(100) {
            return;
        }
        *busy = leaves;
        self.wire.insert((leaves + path.delay, self.sent), (1 - i, local, remote, header, payload));
    }

    pub(crate) fn step(&mut self) -> bool {
        let arrival = self.wire.first_key_value().map(|((at, _), _)| *at);
        let wakes = self.ends.iter().flatten().filter_map(|end| {
            let reads = end.app.reader.filter(|_| end.connection.readable() > 0).map(|_| end.app.next_read);
            end.connection.poll_timeout().into_iter().chain(reads).min()
        });
        let Some(now) = arrival.into_iter().chain(wakes).min() else { return false };
        self.now = self.now.max(now);
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to, from, at, header, payload) = entry.remove();
            self.arrive(to, [at, from], &header, &payload);
        }
        for i in 0..2 {
            self.run(i);
        }
        true
    }

    fn arrive(&mut self, to: usize, ends: [SocketAddr; 2], header: &TcpHeader, payload: &Payload) {
        let (now, iss, nonce) = (self.now, Seq(self.draw() as u32), self.draw() as u32);
        let opens = header.flags.contains(TcpFlags::SYN) && !header.flags.contains(TcpFlags::ACK);
        if self.ends[to].is_none() && opens {
            let side = self.setups[to].clone();
            let connection = Connection::accept(&self.setup(&side, ends), header);
            self.ends[to] = Some(End { connection, app: side.app, stream: 0, nonce: 99, port: 50_000 });
        } else if let Some(end) = &mut self.ends[to] {
            let subflows = end.connection.subflows();
            let found = subflows.iter().position(|one| [one.local, one.remote] == ends);
            match found {
                Some(id) => end.connection.handle_segment(now, id, header, payload),
                None if opens && joins(header) == Some(end.connection.token()) => {
                    if end.connection.join(ends, header, iss, nonce).is_none() {
                        self.refused += 1;
                    }
                }
                None => self.refused += 1,
            }
        }
        self.run(to);
    }

    /// Runs until nothing happens any more, or the time is over.
    pub(crate) fn run_until(&mut self, end: Time) {
        while self.now < end && self.step() {
            self.steps += 1;
            assert!(self.steps < 300_000 && self.sent < 300_000, "livelock");
        }
    }

    /// Both applications have everything, in order.
    #[track_caller]
    pub(crate) fn check(&mut self) {
        let wanted = [self.setups[1].app.to_write, self.setups[0].app.to_write];
        for (i, wanted) in wanted.into_iter().enumerate() {
            let end = self.end(i);
            assert_eq!((end.app.read, end.app.wrong), (wanted, 0), "end {i}: {:?}", end.connection.ended());
            assert!(end.app.finished.is_some(), "end {i} was told that this is all");
            assert_eq!(end.connection.ended(), Some(tcp::Ended::Closed), "end {i}");
        }
    }

    /// Octets that each subflow brought to an end before another did.
    pub(crate) fn shares(&self, i: usize) -> Vec<u64> {
        let end = self.ends[i].as_ref().expect("the end is there");
        end.connection.subflows().iter().map(|subflow| subflow.new_octets()).collect()
    }
}

impl Application {
    fn drive(&mut self, now: Time, connection: &mut Connection, own: u32, theirs: u32) {
        while self.written < self.to_write {
            let len = (self.to_write - self.written).min(u64::from(connection.writable())) as u32;
            let taken =
                if len == 0 { 0 } else { connection.write(&Payload::pattern(own, self.written, len)) };
            self.written += u64::from(taken);
            if taken == 0 {
                break;
            }
        }
        if self.written == self.to_write && connection.is_connected() && !connection.is_closing() {
            connection.close();
        }
        while connection.readable() > 0 && now >= self.next_read {
            let most = self.reader.map_or(u32::MAX, |(octets, _)| octets);
            let data = connection.read(most);
            if data != Payload::pattern(theirs, self.read, data.len()) {
                self.wrong += u64::from(data.len());
            }
            self.read += u64::from(data.len());
            if let Some((_, rest)) = self.reader {
                self.next_read = now + rest;
            }
        }
        if connection.is_at_end() {
            self.finished.get_or_insert(now);
        }
    }
}

/// Goodput of what took that long.
pub(crate) fn mbps(octets: u64, took: Time) -> f64 {
    octets as f64 * 8e3 / took.as_nanos() as f64
}
