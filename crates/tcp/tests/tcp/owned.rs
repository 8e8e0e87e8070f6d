//! Connections that somebody owns (RFC 8684, of which this is the part that concerns TCP): a toy of an owner maps every chunk that it writes,
//! announces windows of its own, and puts the options of Multipath TCP on every segment.

use crate::ladder::span_ms;
use crate::pair::Fate;
use crate::properties::{config, network, noise};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use voxpath_tcp::config::NagleRule;
use voxpath_tcp::{Config, Connection, Ended, Mapping, Owner, Profile, Received, State};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::mptcp::{
    Capable, CapableFlags, CapableForm, DataMapping, DataNumber, Dss, MptcpOption,
};
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};

const KEYS: [u64; 2] = [0xa0a1_a2a3_a4a5_a6a7, 0xb0b1_b2b3_b4b5_b6b7];
const ISS: [Seq; 2] = [Seq(u32::MAX - 3000), Seq(4_000_000)];

/// A DSS with a data ACK of 64 bits and a mapping without checksum, padded; and that with the data ACK alone.
const DATA_OPTIONS: u32 = 28;
const ACK_OPTIONS: u32 = 12;
/// The third segment's MP_CAPABLE.
const CAPABLE_OPTIONS: u32 = 20;

/// A chunk: its data sequence number, and octets.
type Chunk = (u64, u32);

/// Half of a connection of Multipath TCP with one subflow.
struct Toy {
    end: usize,
    tcp: Connection,
    /// Chunks to be written.
    to_write: VecDeque<Chunk>,
    /// Octets that the owner has room for, and how many it has.
    capacity: u32,
    held: u32,
    /// How much it takes at once, and how long it rests between.
    reader: (u32, Span),
    next_read: Time,
    /// What was announced last, if less than a segment.
    small_window: bool,
    /// Mappings that arrived, by their place.
    known: BTreeMap<u64, Chunk>,
    /// What was read of the mapping that is being read.
    part: u32,
    /// Chunks that were read.
    chunks: Vec<Chunk>,
    /// Data ACK: octets read.
    data_ack: u64,
    /// The highest data ACK that came.
    acked: u64,
    records: Vec<Received>,
}

impl Toy {
    fn new(end: usize, tcp: Connection, to_write: Vec<Chunk>, capacity: u32, reader: (u32, Span)) -> Self {
        let owner = Owner { window: capacity, ack_options: CAPABLE_OPTIONS, data_options: DATA_OPTIONS };
        Self {
            end,
            tcp: tcp.owned_by(owner),
            to_write: to_write.into(),
            capacity,
            held: 0,
            reader,
            next_read: Time::ZERO,
            small_window: false,
            known: BTreeMap::new(),
            part: 0,
            chunks: Vec::new(),
            data_ack: 0,
            acked: 0,
            records: Vec::new(),
        }
    }

    /// Takes in what TCP has: options first, then octets, each by its mapping.
    fn take(&mut self) {
        while let Some(received) = self.tcp.poll_received() {
            self.learn(&received);
            self.records.push(received);
        }
        while self.tcp.readable() > 0 {
            let at = self.tcp.read_offset();
            let (&start, &(dsn, len)) =
                self.known.range(..=at).next_back().expect("what is in order has a mapping");
            let into = u32::try_from(at - start).expect("a mapping is short");
            assert_eq!(into, self.part, "octets come in order");
            let data = self.tcp.read(len - into);
            assert_eq!(data, Payload::pattern(1 - self.end as u32, dsn + u64::from(into), data.len()));
            self.held += data.len();
            self.data_ack += u64::from(data.len());
            self.part += data.len();
            if self.part == len {
                self.chunks.push((dsn, len));
                self.part = 0;
            }
        }
    }

    fn learn(&mut self, received: &Received) {
        for option in received.options.iter() {
            let MptcpOption::Dss(dss) =
                MptcpOption::parse(option).expect("the peer sends what is well-formed")
            else {
                continue;
            };
            if let Some(DataNumber::Long(ack)) = dss.ack {
                self.acked = self.acked.max(ack);
            }
            let Some(DataMapping { dsn, ssn, len, checksum: None }) = dss.mapping else { continue };
            let chunk = (dsn.near(0), u32::from(len));
            let start = u64::from(ssn);
            assert_eq!(*self.known.entry(start).or_insert(chunk), chunk, "a mapping does not change");
            let end = received.start + u64::from(received.len);
            assert!(start <= received.start && end <= start + u64::from(len), "a segment has one mapping");
        }
        let is_mapped = self.known.range(..=received.start).next_back().is_some();
        assert!(received.len == 0 || is_mapped, "data comes with its mapping");
    }

    /// Reads, writes, and tells TCP what it has to know.
    fn run(&mut self, now: Time) {
        self.take();
        if now >= self.next_read && self.held > 0 {
            self.held -= self.held.min(self.reader.0);
            self.next_read = now + self.reader.1;
        }
        while let Some((dsn, len)) = self.to_write.pop_front() {
            let taken = if self.tcp.writable() == 0 {
                0
            } else {
                self.tcp.write_mapped(&Payload::pattern(self.end as u32, dsn, len), dsn)
            };
            if taken < len {
                self.to_write.push_front((dsn + u64::from(taken), len - taken));
                break;
            }
        }
        if self.to_write.is_empty() && self.tcp.is_synchronised() {
            self.tcp.close();
        }
        let window = self.capacity - self.held.min(self.capacity);
        let opens = self.small_window && window >= self.capacity / 2;
        let heard = self.records.iter().any(|received| received.flags == TcpFlags::ACK || received.len > 0);
        let ack_options = if heard { ACK_OPTIONS } else { CAPABLE_OPTIONS };
        self.tcp.set_owner(Owner { window, ack_options, data_options: DATA_OPTIONS });
        if opens {
            self.tcp.acknowledge_now();
        }
    }

    /// The options of a segment that leaves.
    fn decorate(&mut self, header: &mut TcpHeader, payload: &Payload) {
        let Owner { window, ack_options, .. } = *self.tcp.owner().expect("it is owned");
        let (syn, ack) = (header.flags.contains(TcpFlags::SYN), header.flags.contains(TcpFlags::ACK));
        let capable = |form| MptcpOption::Capable(Capable { flags: CapableFlags::HMAC_SHA256, form });
        let [ours, theirs] = [KEYS[self.end], KEYS[1 - self.end]];
        let option = match (syn, ack) {
            (true, false) => capable(CapableForm::Syn),
            (true, true) => capable(CapableForm::SynAck { key: ours }),
            _ if payload.is_empty() && ack_options == CAPABLE_OPTIONS => {
                capable(CapableForm::Ack { sender: ours, receiver: theirs, data: None })
            }
            _ => MptcpOption::Dss(self.dss(header, payload)),
        };
        assert!(header.options.push_mptcp(&option), "room was kept: {header:?}");
        assert!(header.wire_len() <= 60);
        if !header.flags.contains(TcpFlags::RST) {
            let most = if syn { 65_535 } else { window };
            assert!(u32::from(header.window) <= most, "no more than was said");
            self.small_window = !syn && window < self.capacity / 2;
        }
    }

    fn dss(&self, header: &TcpHeader, payload: &Payload) -> Dss {
        let mapping = (!payload.is_empty()).then(|| {
            let Mapping { start, len, value } = self.tcp.mapping(header.seq).expect("all is mapped");
            DataMapping { dsn: DataNumber::Long(value), ssn: start as u32, len: len as u16, checksum: None }
        });
        Dss { data_fin: false, ack: Some(DataNumber::Long(self.data_ack)), mapping }
    }
}

type Accept = Box<dyn FnOnce(&TcpHeader) -> Toy>;

/// Two toys and what joins them.
struct Toys {
    now: Time,
    ends: [Option<Toy>; 2],
    wire: BTreeMap<(Time, u64), (usize, TcpHeader, Payload)>,
    sent: u64,
    packets: [u64; 2],
    accept: Option<Accept>,
    decide: Box<dyn Fn(usize, u64) -> Fate>,
}

impl Toys {
    fn settle(&mut self, i: usize) {
        let Some(toy) = &mut self.ends[i] else { return };
        toy.run(self.now);
        while let Some((mut header, payload)) = toy.tcp.poll_transmit(self.now) {
            toy.decorate(&mut header, &payload);
            let index = self.packets[i];
            self.packets[i] += 1;
            for delay in (self.decide)(i, index) {
                self.sent += 1;
                self.wire.insert((self.now + delay, self.sent), (1 - i, header, payload.clone()));
            }
            toy.run(self.now);
        }
    }

    fn step(&mut self) -> bool {
        let arrival = self.wire.first_key_value().map(|((at, _), _)| *at);
        let reads = |toy: &Toy| (toy.held > 0).then_some(toy.next_read);
        let wakes =
            self.ends.iter().flatten().flat_map(|toy| toy.tcp.poll_timeout().into_iter().chain(reads(toy)));
        let Some(now) = arrival.into_iter().chain(wakes).min() else { return false };
        self.now = self.now.max(now);
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to, header, payload) = entry.remove();
            match &mut self.ends[to] {
                Some(toy) => toy.tcp.handle_segment(self.now, &header, &payload),
                none => match self.accept.take_if(|_| header.flags == TcpFlags::SYN) {
                    Some(accept) => *none = Some(accept(&header)),
                    None => continue,
                },
            }
            self.settle(to);
        }
        for i in 0..2 {
            if let Some(toy) = &mut self.ends[i] {
                toy.tcp.handle_timeout(self.now);
            }
            self.settle(i);
        }
        true
    }
}

/// Chunks of any size, of which some follow the one before in the data sequence, and others do not.
fn chunks(seed: u64, end: usize, octets: u64) -> Vec<Chunk> {
    let mut noise = noise(seed, end, 77);
    let (mut left, mut dsn) = (octets, 1 << 40);
    let mut chunks = Vec::new();
    while left > 0 {
        let most = if noise(3) == 0 { 20 } else { 4000 };
        let len = (1 + noise(most)).min(left);
        chunks.push((dsn, len as u32));
        left -= len;
        dsn += len + if noise(2) == 0 { 0 } else { noise(1 << 33) };
    }
    chunks
}

/// The chunks as TCP took them: a write that did not fit the send buffer is two.
fn joined(chunks: &[Chunk]) -> Vec<Chunk> {
    let mut joined: Vec<Chunk> = Vec::new();
    for &(dsn, len) in chunks {
        match joined.last_mut().filter(|(start, so_far)| start + u64::from(*so_far) == dsn) {
            Some((_, so_far)) => *so_far += len,
            None => joined.push((dsn, len)),
        }
    }
    joined
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mapped_octets_arrive_once_in_order_and_with_their_mapping(
        configs in [config(), config()],
        octets in [0_u64..40_000, 0_u64..4000],
        capacities in [3000_u32..100_000, 3000_u32..100_000],
        readers in [(500_u32..5000, 1_u64..50), (100_000_u32..100_001, 0_u64..1)],
        network in network(),
    ) {
        let reader = |(octets, rest): (u32, u64)| (octets, span_ms(rest));
        let sent = [0, 1].map(|end| chunks(network.seed, end, octets[end]));
        let [client, server] = configs;
        let accept = {
            let (chunks, capacity, reader) = (sent[1].clone(), capacities[1], reader(readers[1]));
            move |syn: &TcpHeader| Toy::new(1, Connection::accept(server, ISS[1], syn), chunks, capacity, reader)
        };
        let connection = Connection::connect(client, ISS[0]);
        let mut toys = Toys {
            now: Time::ZERO,
            ends: [Some(Toy::new(0, connection, sent[0].clone(), capacities[0], reader(readers[0]))), None],
            wire: BTreeMap::new(),
            sent: 0,
            packets: [0; 2],
            accept: Some(Box::new(accept)),
            decide: Box::new(move |end, index| network.fate(end, index)),
        };
        toys.settle(0);
        while toys.step() {
            prop_assert!(toys.sent < 100_000, "livelock");
        }
        for i in 0..2 {
            let toy = toys.ends[i].as_ref().expect("both are open");
            prop_assert_eq!((toy.tcp.state(), toy.tcp.ended()), (State::Closed, Some(Ended::Closed)));
            prop_assert_eq!(joined(&toy.chunks), joined(&sent[1 - i]));
            prop_assert_eq!(toy.data_ack, octets[1 - i]);
            prop_assert!(toy.acked <= octets[i]);
        }
        // The answer to the SYN is told of, and the first to come of what followed.
        let [client, server] = toys.ends.map(|toy| toy.expect("both are open"));
        let first = client.records.first().expect("the handshake is over");
        prop_assert_eq!((first.flags.contains(TcpFlags::SYN | TcpFlags::ACK), first.start, first.len), (true, 0, 0));
        prop_assert!(server.records.iter().all(|received| received.start > 0));
    }
}

/// A connection that is owned and established, and what the peer's segments begin with.
fn established(config: Config, owner: Owner) -> (Connection, TcpHeader) {
    let mut tcp = Connection::connect(config, ISS[0]).owned_by(owner);
    let (syn, _) = tcp.poll_transmit(Time::ZERO).expect("the SYN");
    let mut options = syn.options;
    options.mss = Some(1460);
    let capable = Capable { flags: CapableFlags::HMAC_SHA256, form: CapableForm::SynAck { key: KEYS[1] } };
    assert!(options.push_mptcp(&MptcpOption::Capable(capable)));
    let mut header = TcpHeader {
        seq: ISS[1],
        ack: ISS[0].wrapping_add(1),
        flags: TcpFlags::SYN | TcpFlags::ACK,
        window: 65_000,
        options,
        ..TcpHeader::default()
    };
    tcp.handle_segment(Time::ZERO, &header, &Payload::Empty);
    let told = tcp.poll_received().expect("the SYN|ACK");
    assert_eq!((told.flags, told.start, told.len, told.options), (header.flags, 0, 0, options.foreign()));
    (header.seq, header.flags) = (ISS[1].wrapping_add(1), TcpFlags::ACK);
    header.options = Default::default();
    header.options.timestamps = syn.options.timestamps;
    (tcp, header)
}

fn drain(tcp: &mut Connection, now: Time) -> Vec<(TcpHeader, Payload)> {
    std::iter::from_fn(|| tcp.poll_transmit(now)).collect()
}

const OWNER: Owner = Owner { window: 20_000, ack_options: ACK_OPTIONS, data_options: DATA_OPTIONS };

fn rfc() -> Config {
    Config { window_scaling: false, nagle: true, nagle_rule: NagleRule::Rfc896, ..Profile::Rfc.config() }
}

#[test]
fn a_segment_ends_with_its_mapping_and_only_the_last_one_waits() {
    let (mut tcp, _) = established(rfc(), OWNER);
    // One run of octets to the send buffer, three mappings to their owner.
    for (offset, value) in [(0, 7000), (300, 9000), (500, 1)] {
        assert_eq!(tcp.write_mapped(&Payload::pattern(0, offset, 300.min(800 - offset as u32)), value), 300);
    }
    let sent: Vec<_> = drain(&mut tcp, Time::ZERO).into_iter().filter(|(_, data)| !data.is_empty()).collect();
    assert_eq!(sent.len(), 2, "Nagle's algorithm holds the third back");
    for ((header, data), (start, value)) in sent.iter().zip([(1, 7000), (301, 9000)]) {
        assert_eq!(tcp.mapping(header.seq), Some(Mapping { start, len: 300, value }));
        assert_eq!(data.len(), 300);
    }
}

#[test]
fn a_mapping_of_many_segments_is_that_of_each_and_of_each_retransmission() {
    let (mut tcp, mut ack) = established(rfc(), OWNER);
    tcp.write_mapped(&Payload::pattern(0, 0, 4000), 1 << 40);
    tcp.write_mapped(&Payload::pattern(0, 4000, 50), 2 << 40);
    let stamps = if rfc().timestamps { 12 } else { 0 };
    let full = 1460 - stamps - DATA_OPTIONS;
    let sent: Vec<_> = drain(&mut tcp, Time::ZERO).into_iter().filter(|(_, data)| !data.is_empty()).collect();
    assert_eq!(u64::from(full), tcp.segment_size());
    assert_eq!(sent.iter().map(|(_, data)| data.len()).collect::<Vec<_>>()[..2], [full, full]);
    let whole = Mapping { start: 1, len: 4000, value: 1 << 40 };
    assert!(sent[..2].iter().all(|(header, _)| tcp.mapping(header.seq) == Some(whole)));
    // A timeout: what goes again begins in the middle of the mapping.
    ack.ack = ISS[0].wrapping_add(1 + full);
    tcp.handle_segment(Time::ZERO + span_ms(10), &ack, &Payload::Empty);
    let _ = drain(&mut tcp, Time::ZERO + span_ms(10));
    while tcp.counters().timeouts == 0 {
        let due = tcp.poll_timeout().expect("a timer runs");
        tcp.handle_timeout(due);
        let again = drain(&mut tcp, due);
        if tcp.counters().timeouts > 0 {
            assert_eq!((again[0].0.seq, again[0].1.len()), (ack.ack, full));
            assert_eq!(tcp.mapping(again[0].0.seq), Some(whole));
        }
    }
    assert_eq!(tcp.mapping(ISS[0].wrapping_add(4001)).map(|mapping| mapping.value), Some(2 << 40));
    ack.ack = ISS[0].wrapping_add(4001);
    tcp.handle_segment(Time::ZERO + span_ms(9000), &ack, &Payload::Empty);
    assert_eq!(tcp.mapping(ISS[0].wrapping_add(1)), None, "acknowledged");
}

#[test]
fn the_window_is_what_the_owner_says_even_where_it_shrinks() {
    let (mut tcp, mut data) = established(rfc(), OWNER);
    let now = Time::ZERO;
    let window_now = |tcp: &mut Connection| {
        tcp.acknowledge_now();
        drain(tcp, now).last().map(|(header, _)| header.window)
    };
    assert_eq!(window_now(&mut tcp), Some(20_000));
    tcp.set_owner(Owner { window: 1234, ..OWNER });
    assert_eq!(window_now(&mut tcp), Some(1234));
    // What had been offered is taken.
    data.seq = data.seq.wrapping_add(5000);
    tcp.handle_segment(now, &data, &Payload::pattern(1, 5000, 1000));
    assert_eq!(tcp.poll_received().map(|received| (received.start, received.len)), Some((5001, 1000)));
    assert_eq!((tcp.readable(), window_now(&mut tcp)), (0, Some(1234)));
    // Reading announces nothing: that is for the owner to do.
    data.seq = ISS[1].wrapping_add(1);
    tcp.handle_segment(now, &data, &Payload::pattern(1, 0, 5000));
    let _ = drain(&mut tcp, now);
    while !tcp.read(10_000).is_empty() {}
    assert_eq!((tcp.read_offset(), drain(&mut tcp, now).len()), (6001, 0));
}

#[test]
fn sack_blocks_leave_room_for_the_owners_options() {
    let config = Config { sack: true, timestamps: true, ..rfc() };
    let (mut tcp, mut data) = established(config, OWNER);
    for i in 1..5 {
        data.seq = ISS[1].wrapping_add(1 + 2000 * i);
        tcp.handle_segment(Time::ZERO, &data, &Payload::pattern(1, 2000 * u64::from(i), 100));
        for (mut header, _) in drain(&mut tcp, Time::ZERO) {
            assert_eq!(header.options.sack.len(), 1, "40 octets less 12 and 12");
            let ack = Dss { ack: Some(DataNumber::Long(1)), ..Dss::default() };
            assert!(header.options.push_mptcp(&MptcpOption::Dss(ack)));
        }
    }
    tcp.write_mapped(&Payload::pattern(0, 0, 5000), 0);
    let sent = drain(&mut tcp, Time::ZERO);
    assert!(
        sent.iter().all(|(header, _)| header.options.sack.is_empty()),
        "28 beside timestamps fill the header"
    );
    assert_eq!(sent[0].1.len(), 1460 - 12 - DATA_OPTIONS);
}

#[test]
fn an_owner_is_told_of_what_was_accepted_and_of_nothing_else() {
    let (mut tcp, usual) = established(rfc(), OWNER);
    let told = |tcp: &mut Connection, header: &TcpHeader, len| {
        tcp.handle_segment(Time::ZERO, header, &Payload::pattern(1, 0, len));
        let told = tcp.poll_received().map(|received| (received.start, received.len, received.options));
        assert_eq!(tcp.poll_received(), None);
        told
    };
    let mut header = usual;
    assert!(header.options.push_mptcp(&MptcpOption::Prio { backup: true }));
    let options = header.options.foreign();
    assert_eq!(told(&mut tcp, &header, 0), Some((1, 0, options)), "a bare acknowledgment");
    assert_eq!(told(&mut tcp, &TcpHeader { seq: header.seq.wrapping_add(30_000), ..header }, 10), None);
    assert_eq!(
        told(&mut tcp, &TcpHeader { ack: header.ack.wrapping_add(9), ..header }, 10),
        None,
        "never sent"
    );
    assert_eq!(told(&mut tcp, &header, 10), Some((1, 10, options)));
    assert_eq!(told(&mut tcp, &header, 10), None, "here before");
    let reset =
        TcpHeader { seq: header.seq.wrapping_add(10), flags: TcpFlags::RST | TcpFlags::ACK, ..header };
    assert_eq!(told(&mut tcp, &TcpHeader { seq: reset.seq.wrapping_add(1), ..reset }, 0), None, "challenged");
    assert_eq!(told(&mut tcp, &reset, 0), Some((11, 0, options)));
    assert_eq!(tcp.ended(), Some(Ended::Reset));
}

#[test]
fn a_connection_that_is_released_is_one_like_any_other() {
    let (mut tcp, _) = established(rfc(), OWNER);
    tcp.write_mapped(&Payload::pattern(0, 0, 100), 7);
    let stamps = if rfc().timestamps { 12 } else { 0 };
    tcp.part(20);
    assert_eq!((tcp.owner(), tcp.mapping(ISS[0].wrapping_add(1))), (None, None));
    assert_eq!(tcp.place(ISS[0].wrapping_add(101)), Some(101));
    assert_eq!(tcp.segment_size(), 1440 - stamps, "the last words of the owner have room");
    tcp.release();
    assert_eq!((tcp.owner(), tcp.mapping(ISS[0].wrapping_add(1))), (None, None));
    assert_eq!(tcp.segment_size(), 1460 - stamps);
    tcp.write(&Payload::pattern(0, 100, 5000));
    let sent = drain(&mut tcp, Time::ZERO);
    let (header, data) = sent.iter().find(|(_, data)| !data.is_empty()).expect("data");
    assert_eq!((data.len(), header.window), (1460 - stamps as u32, 65_535));
}
