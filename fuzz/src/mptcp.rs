//! A connection of Multipath TCP and a hostile peer: one that keeps the rules as long as it likes, and then says anything on any subflow:
//! forged mappings that overlap, acknowledgments of what was never sent, wrong proofs, data beyond the window.
//!
//! Whatever comes, nothing panics, timers make progress, what is kept is bounded by the window, and what leaves fits a header.

use crate::source::Source;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use voxpath_mptcp::{Config, Connection, Key, LocalAddress, Setup, joins};
use voxpath_tcp::{self as tcp, Profile};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::mptcp::{DataMapping, DataNumber, Dss, MptcpOption};
use voxpath_wire::tcp::{SackBlocks, Seq, TcpFlags, TcpHeader};

const BUFFER: u32 = 20_000;
/// Segments after which there is no end to be expected.
const LIVELOCK: u32 = 20_000;
const DELAY: Span = Span::from_millis(10);

/// Panics if something does not hold.
pub fn run(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    let mut pair = Pair::new(&mut source);
    pair.settle();
    while !source.is_empty() {
        pair.act(&mut source);
        pair.settle();
    }
    for _ in 0..20 {
        pair.pass(Span::from_millis(1_000));
        pair.settle();
    }
}

/// What an end is made of: its parameters, its addresses and its key.
type Side = (Arc<Config>, Arc<tcp::Config>, Vec<LocalAddress>, u64);

/// A segment on its way: to which end, from where, to where.
type Segment = (usize, SocketAddr, SocketAddr, TcpHeader, Payload);

struct Pair {
    now: Time,
    ends: [Option<Connection>; 2],
    setups: [Side; 2],
    wire: VecDeque<(Time, Segment)>,
    /// What was seen last, which is what a forger begins with.
    last: Option<Segment>,
    port: u16,
    sent: u32,
}

impl Pair {
    fn new(source: &mut Source<'_>) -> Self {
        let tcp = tcp::Config {
            receive_buffer: BUFFER,
            receive_autotuning: false,
            retries: 6,
            ..Profile::Linux.config()
        };
        let checksum = source.bit();
        let long_numbers = source.bit();
        let config = Config { checksum, long_numbers, ..Config::default() };
        let side = |addresses: &[[u8; 4]], key| {
            let address = |&ip| LocalAddress { ip: IpAddr::from(ip), backup: false, is_up: true };
            (
                Arc::new(config.clone()),
                Arc::new(tcp.clone()),
                addresses.iter().map(address).collect::<Vec<_>>(),
                key,
            )
        };
        let setups =
            [side(&[[10, 0, 0, 1], [10, 0, 1, 1]], 0x0123_4567), side(&[[10, 9, 0, 1]], 0x89ab_cdef)];
        let ends = [SocketAddr::from(([10, 0, 0, 1], 40_000)), SocketAddr::from(([10, 9, 0, 1], 5001))];
        let client = Connection::connect(&setup(&setups[0], ends, Seq(u32::MAX - 3_000)));
        Self {
            now: Time::ZERO,
            ends: [Some(client), None],
            setups,
            wire: VecDeque::new(),
            last: None,
            port: 40_000,
            sent: 0,
        }
    }

    fn act(&mut self, source: &mut Source<'_>) {
        let end = source.below(2);
        match source.below(10) {
            0 => self.pass(Span::from_millis(1 << source.below(14))),
            1 | 2 => {
                if let Some(connection) = &mut self.ends[end] {
                    let len = 1 + source.below(8_000) as u32;
                    let _ = connection.write(&Payload::pattern(end as u32, 0, len));
                }
            }
            3 => {
                if let Some(connection) = &mut self.ends[end] {
                    let _ = connection.read(source.u16().into());
                }
            }
            4 => {
                if let Some(connection) = &mut self.ends[end] {
                    match source.below(4) {
                        0 => connection.close(),
                        1 => connection.abort(),
                        2 => connection.set_address(IpAddr::from([10, 0, 0, 1]), source.bit()),
                        _ => connection.set_address(IpAddr::from([10, 0, 1, 1]), source.bit()),
                    }
                }
            }
            5 => {
                self.wire.pop_front();
            }
            _ => self.forge(source),
        }
    }

    /// Says something that begins like what was said last.
    fn forge(&mut self, source: &mut Source<'_>) {
        let Some((to, from, at, mut header, mut payload)) = self.last.clone() else { return };
        let near = |source: &mut Source<'_>, number: u32| match source.below(4) {
            0 => number,
            1 => source.u32(),
            _ => number.wrapping_add_signed(i32::from(source.u16() as i16)),
        };
        header.seq = Seq(near(source, header.seq.0));
        header.ack = Seq(near(source, header.ack.0));
        if source.once_in(4) {
            header.flags = TcpFlags(source.u8());
        }
        if source.bit() {
            payload = Payload::pattern(source.u8().into(), 0, source.below(3_000) as u32);
        }
        match source.below(4) {
            0 => {}
            1 => {
                // A mapping or an acknowledgment near those that hold.
                let short = |number: u64| number as u32;
                let number = |source: &mut Source<'_>, short: u32| {
                    let number = near(source, short);
                    if source.bit() { DataNumber::Short(number) } else { DataNumber::Long(number.into()) }
                };
                let known = self.ends[to].as_ref().map_or(0, |connection| short(connection.token().into()));
                let dss = Dss {
                    data_fin: source.bit(),
                    ack: source.bit().then(|| number(source, known)),
                    mapping: source.bit().then(|| DataMapping {
                        dsn: number(source, known),
                        ssn: near(source, 1),
                        len: source.u16(),
                        checksum: source.bit().then(|| source.u16()),
                    }),
                };
                header.options.sack = SackBlocks::EMPTY;
                header.options.push_mptcp(&MptcpOption::Dss(dss));
            }
            2 => {
                // Octets of an option of Multipath TCP.
                header.options.sack = SackBlocks::EMPTY;
                let octets = source.take(2 + usize::from(source.clone().u8() % 22));
                let mut option = vec![30, octets.len() as u8 + 2];
                option.extend_from_slice(octets);
                header.options.push_foreign(&option);
            }
            _ => {
                // The option that was there, with an octet changed.
                let mut foreign = header.options.foreign().as_slice().to_vec();
                header.options.sack = SackBlocks::EMPTY;
                if foreign.len() > 2 {
                    let place = 2 + source.below(foreign.len() - 2);
                    foreign[place] ^= source.u8();
                    header.options.push_foreign(&foreign);
                }
            }
        }
        self.arrive((to, from, at, header, payload));
    }

    fn pass(&mut self, span: Span) {
        self.now += span;
    }

    /// Lets everything happen that is due.
    fn settle(&mut self) {
        for _ in 0..400 {
            for end in 0..2 {
                self.drain(end);
            }
            let Some((at, _)) = self.wire.front() else { break };
            if *at > self.now {
                self.now = *at;
            }
            if let Some((_, segment)) = self.wire.pop_front() {
                self.last = Some(segment.clone());
                self.arrive(segment);
            }
        }
    }

    fn drain(&mut self, end: usize) {
        let now = self.now;
        let Some(connection) = &mut self.ends[end] else { return };
        connection.handle_timeout(now);
        while let Some(opening) = connection.poll_open() {
            self.port = self.port.wrapping_add(1).max(1024);
            connection.open(&opening, self.port, Seq(self.port.into()), self.port.into());
        }
        while let Some((id, header, payload)) = connection.poll_transmit(now) {
            assert!(header.wire_len() <= 60, "a header has room for 40 bytes of options");
            let subflow = &connection.subflows()[id];
            self.sent += 1;
            assert!(self.sent < LIVELOCK, "livelock");
            self.wire.push_back((now + DELAY, (1 - end, subflow.local, subflow.remote, header, payload)));
        }
        // Memory is twice the buffer that is asked for, and data is a part of it. Each subflow keeps the window that it has announced (mptcp_set_rwin()).
        let offered = 2 * u64::from(BUFFER) * connection.subflows().len() as u64;
        assert!(connection.readable() <= offered, "no more is kept than was offered");
        assert!(connection.poll_timeout().is_none_or(|at| at > now), "timers make progress");
    }

    fn arrive(&mut self, (to, from, at, header, payload): Segment) {
        let now = self.now;
        let opens = header.flags.contains(TcpFlags::SYN) && !header.flags.contains(TcpFlags::ACK);
        let iss = Seq(header.seq.0.wrapping_mul(7));
        match &mut self.ends[to] {
            None if opens => {
                self.ends[to] = Some(Connection::accept(&setup(&self.setups[to], [at, from], iss), &header));
            }
            None => {}
            Some(connection) => {
                let found =
                    connection.subflows().iter().position(|one| [one.local, one.remote] == [at, from]);
                match found {
                    Some(id) => connection.handle_segment(now, id, &header, &payload),
                    None if opens && joins(&header) == Some(connection.token()) => {
                        let _ = connection.join([at, from], &header, iss, header.seq.0);
                    }
                    None => {}
                }
            }
        }
        self.drain(to);
    }
}

fn setup<'a>((config, tcp, addresses, key): &'a Side, ends: [SocketAddr; 2], iss: Seq) -> Setup<'a> {
    Setup { config: config.clone(), tcp: tcp.clone(), ends, addresses, key: Key(*key), iss }
}
