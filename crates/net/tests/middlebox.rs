//! Middleboxes: nothing panics, nothing vanishes, what leaves is a packet whose checksum holds, and packets of simulated hosts and of real
//! ones are changed alike.
#![allow(missing_docs)]

use bytes::Bytes;
use proptest::prelude::*;
use std::net::IpAddr;
use std::sync::Arc;
use voxpath_net::element::Draw;
use voxpath_net::element::middlebox::{
    AlterData, Chain, Coalesce, DropUnknownOptions, Middlebox, OptionsOn, RewriteSequence, Segments, Split,
    StripOptions, Translate, Which,
};
use voxpath_net::packet::{AddressId, FlowId, Frame, Packet, Transport};
use voxpath_net::routing::Way;
use voxpath_net::tap::Place;
use voxpath_net::{EventQueue, Seed, Tap, Target};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::ip::{Ecn, IpHeader, Protocol};
use voxpath_wire::packet::{ChecksumStatus, emit_tcp, emit_udp, parse_packet};
use voxpath_wire::tcp::{SackBlock, Seq, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use voxpath_wire::udp::UdpHeader;

const MPTCP: [u8; 4] = [30, 4, 1, 1];

/// Client, server, and the address to which is translated.
fn addresses() -> Arc<[IpAddr]> {
    [[10, 0, 0, 1], [10, 0, 0, 2], [192, 0, 2, 1]].map(IpAddr::from).into()
}

struct Rig {
    chain: Chain,
    events: EventQueue,
    tap: Tap,
    now: Time,
}

impl Rig {
    fn new(boxes: &[Middlebox]) -> Self {
        let boxes: Vec<_> = boxes.iter().map(|set| (Which::default(), set.clone())).collect();
        Self::of(&boxes)
    }

    fn of(boxes: &[(Which, Middlebox)]) -> Self {
        let target = Target::new(0).expect("small");
        let places = [Place::Link(0), Place::Link(1)];
        let settings = boxes.iter().map(|(which, set)| (which, set));
        let chain = Chain::new(settings, "under test", Seed::new(1, 0), &addresses(), target, places);
        Self { chain, events: EventQueue::new(), tap: Tap::new(), now: Time::ZERO }
    }

    fn send(&mut self, way: Way, packet: Packet) -> Vec<Packet> {
        let out = self.chain.handle(self.now, way, packet, &mut self.events, &mut self.tap);
        self.balance();
        out
    }

    /// The only packet that comes out for one.
    fn one(&mut self, way: Way, packet: Packet) -> Packet {
        let mut out = self.send(way, packet);
        assert_eq!(out.len(), 1);
        out.remove(0)
    }

    /// Lets so much time pass.
    fn pass(&mut self, span: Span) -> [Vec<Packet>; 2] {
        let until = self.now + span;
        let mut out = [vec![], vec![]];
        while self.events.peek_time().is_some_and(|at| at <= until) {
            let (now, ticket, _) = self.events.pop().expect("it was seen");
            if self.chain.is_due(now, ticket) {
                let released = self.chain.handle_timeout(now, &mut self.events, &mut self.tap);
                for (all, more) in out.iter_mut().zip(released) {
                    all.extend(more);
                }
            }
            self.balance();
        }
        self.now = until;
        out
    }

    fn balance(&self) {
        for way in Way::BOTH {
            for met in self.chain.met(way) {
                assert!(met.count.balances(met.held), "{met:?}");
            }
        }
    }
}

/// A segment of a simulated host.
fn segment(way: Way, header: TcpHeader, payload: Payload) -> Packet {
    let (src, dst) = if way == Way::Ab { (0, 1) } else { (1, 0) };
    let len = 20 + header.wire_len() + payload.len();
    let (src, dst) = (AddressId(src), AddressId(dst));
    Packet::new(Time::ZERO, src, dst, FlowId(0), len, Transport::Tcp(header), payload)
}

/// The same as a real host sends it.
fn framed(packet: &Packet) -> Packet {
    let ends = [packet.src, packet.dst].map(|id| addresses()[id.0 as usize]);
    let mut bytes = Vec::new();
    match &packet.transport {
        Transport::Tcp(tcp) => {
            emit_tcp(&IpHeader::new(ends[0], ends[1], Protocol::Tcp), tcp, &packet.payload, &mut bytes);
        }
        Transport::Udp(udp) => {
            emit_udp(&IpHeader::new(ends[0], ends[1], Protocol::Udp), udp, &packet.payload, &mut bytes);
        }
        _ => panic!("neither TCP nor UDP"),
    }
    of_bytes(packet, bytes)
}

fn of_bytes(packet: &Packet, bytes: Vec<u8>) -> Packet {
    let parsed = parse_packet(&bytes).expect("a packet");
    let bytes = Bytes::from(bytes);
    let payload = Payload::bytes(bytes.slice(parsed.payload));
    let transport = Transport::Frame(Box::new(Frame { bytes, transport: parsed.transport }));
    Packet { transport, payload, ..packet.clone() }
}

/// What a frame says, whose checksum has to hold, as if a simulated host had sent it.
fn read(packet: &Packet) -> Packet {
    let Transport::Frame(frame) = &packet.transport else { return packet.clone() };
    let parsed = parse_packet(&frame.bytes).expect("a packet");
    assert_eq!(parsed.checksum, ChecksumStatus::Good);
    assert_eq!(frame.transport, parsed.transport);
    assert_eq!(packet.len as usize, frame.bytes.len());
    let ends = [packet.src, packet.dst].map(|id| addresses()[id.0 as usize]);
    assert_eq!(ends, [parsed.ip.src, parsed.ip.dst]);
    assert_eq!(Payload::bytes(frame.bytes.slice(parsed.payload)), packet.payload);
    let transport = match parsed.transport {
        voxpath_wire::packet::Transport::Tcp(tcp) => Transport::Tcp(tcp),
        voxpath_wire::packet::Transport::Udp(udp) => Transport::Udp(udp),
        other => panic!("{other:?}"),
    };
    Packet { transport, ..packet.clone() }
}

fn octets(payload: &Payload) -> Vec<u8> {
    let mut bytes = Vec::new();
    payload.write_to(&mut bytes);
    bytes
}

fn options(mptcp: bool) -> TcpOptions {
    let mut options = TcpOptions {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        ..TcpOptions::default()
    };
    if mptcp {
        assert!(options.push_foreign(&MPTCP));
    }
    options
}

fn header(way: Way, seq: u32, flags: TcpFlags) -> TcpHeader {
    let (src_port, dst_port) = if way == Way::Ab { (49_152, 5001) } else { (5001, 49_152) };
    TcpHeader { src_port, dst_port, seq: Seq(seq), flags, window: 100, ..TcpHeader::default() }
}

fn data(seq: u32, len: u32) -> Packet {
    let mut header = header(Way::Ab, seq, TcpFlags::ACK | TcpFlags::PSH);
    header.options.push_foreign(&[30, 8, 0x20, 0, 1, 2, 3, 4]);
    segment(Way::Ab, header, Payload::pattern(1, u64::from(seq), len))
}

fn tcp(packet: &Packet) -> TcpHeader {
    *packet.tcp().expect("a segment")
}

#[test]
fn options_are_taken_off_from_the_segments_that_are_asked_for() {
    for (segments, from_syn, from_data) in
        [(Segments::Syn, true, false), (Segments::Rest, false, true), (Segments::All, true, true)]
    {
        let mut rig = Rig::new(&[StripOptions { options: vec![30], segments }.into()]);
        let syn = segment(
            Way::Ab,
            TcpHeader { options: options(true), ..header(Way::Ab, 1, TcpFlags::SYN) },
            Payload::Empty,
        );
        for real in [false, true] {
            let sent = |packet: &Packet| if real { framed(packet) } else { packet.clone() };
            let out = read(&rig.one(Way::Ab, sent(&syn)));
            assert_eq!(tcp(&out).options, options(!from_syn));
            // What is left lies as Linux has it: as long as it never had been there.
            assert_eq!(out.len, if from_syn { 60 } else { 64 });
            let out = read(&rig.one(Way::Ab, sent(&data(2, 100))));
            assert_eq!(tcp(&out).options.foreign().is_empty(), from_data);
            assert_eq!(
                (out.len, octets(&out.payload)),
                (if from_data { 140 } else { 148 }, octets(&Payload::pattern(1, 2, 100)))
            );
        }
    }
}

#[test]
fn a_middlebox_looks_at_its_ports_and_its_direction_alone() {
    let strip = || Middlebox::from(StripOptions { options: vec![30], segments: Segments::All });
    for (which, is_stripped) in [
        (Which { ports: vec![(80, 80), (5000, 5002)], way: None }, true),
        (Which { ports: vec![(80, 5000)], way: None }, false),
        (Which { ports: vec![], way: Some(Way::Ab) }, true),
        (Which { ports: vec![], way: Some(Way::Ba) }, false),
    ] {
        let out = Rig::of(&[(which, strip())]).one(Way::Ab, data(1, 10));
        assert_eq!(tcp(&out).options.foreign().is_empty(), is_stripped);
    }
}

#[test]
fn only_a_syn_with_an_option_that_is_not_known_is_dropped() {
    let mut rig = Rig::new(&[DropUnknownOptions { known: vec![34] }.into()]);
    let syn = |mptcp| {
        let header = TcpHeader { options: options(mptcp), ..header(Way::Ab, 1, TcpFlags::SYN) };
        segment(Way::Ab, header, Payload::Empty)
    };
    assert_eq!(rig.send(Way::Ab, syn(true)).len(), 0);
    assert_eq!(rig.send(Way::Ab, framed(&syn(true))).len(), 0);
    assert_eq!(rig.one(Way::Ab, syn(false)), syn(false));
    assert_eq!(rig.one(Way::Ab, data(1, 5)), data(1, 5));
}

#[test]
fn what_is_added_to_sequence_numbers_is_taken_from_acknowledgments() {
    for real in [false, true] {
        let sent = |packet: &Packet| if real { framed(packet) } else { packet.clone() };
        let mut rig = Rig::new(&[RewriteSequence { offset: None, sack: true }.into()]);
        let there = read(&rig.one(Way::Ab, sent(&data(1_000, 100))));
        let moved = tcp(&there).seq.0.wrapping_sub(1_000);
        assert_ne!(moved, 0);
        let mut ack = header(Way::Ba, 77, TcpFlags::ACK);
        ack.ack = Seq(1_000_u32.wrapping_add(moved));
        let block = |left: u32| SackBlock { left: Seq(left), right: Seq(left.wrapping_add(100)) };
        ack.options.sack.push(block(2_000_u32.wrapping_add(moved)));
        let back = tcp(&read(&rig.one(Way::Ba, sent(&segment(Way::Ba, ack, Payload::Empty)))));
        assert_eq!((back.ack, back.options.sack.as_slice()), (Seq(1_000), &[block(2_000)][..]));
        assert_ne!(back.seq, Seq(77));
    }
}

#[test]
fn pieces_have_the_data_of_the_whole_and_options_as_asked_for() {
    for options in [OptionsOn::Each, OptionsOn::First] {
        let mut rig = Rig::new(&[Split { size_bytes: 400, options }.into()]);
        for packet in [data(5, 1_000), framed(&data(5, 1_000))] {
            let pieces: Vec<_> = rig.send(Way::Ab, packet).iter().map(read).collect();
            let at: Vec<_> = pieces.iter().map(|piece| (tcp(piece).seq.0, piece.payload.len())).collect();
            assert_eq!(at, [(5, 400), (405, 400), (805, 200)]);
            let whole: Vec<_> = pieces.iter().flat_map(|piece| octets(&piece.payload)).collect();
            assert_eq!(whole, octets(&Payload::pattern(1, 5, 1_000)));
            let has = |piece: &Packet| !tcp(piece).options.foreign().is_empty();
            assert_eq!(
                pieces.iter().map(has).collect::<Vec<_>>(),
                [true, options == OptionsOn::Each, options == OptionsOn::Each]
            );
            let pushes = |piece: &Packet| tcp(piece).flags.contains(TcpFlags::PSH);
            assert_eq!(pieces.iter().map(pushes).collect::<Vec<_>>(), [false, false, true]);
        }
    }
}

#[test]
fn segments_that_follow_each_other_are_joined_for_a_while() {
    for real in [false, true] {
        let sent = |packet: &Packet| if real { framed(packet) } else { packet.clone() };
        let mut rig = Rig::new(&[Coalesce { size_bytes: 1_000, wait_ns: 1_000 }.into()]);
        assert_eq!(rig.send(Way::Ab, sent(&data(0, 400))).len(), 0);
        assert_eq!(rig.send(Way::Ab, sent(&data(400, 500))).len(), 0);
        // There is no room for this one.
        let first = read(&rig.one(Way::Ab, sent(&data(900, 400))));
        assert_eq!(octets(&first.payload), octets(&Payload::pattern(1, 0, 900)));
        assert_eq!(tcp(&first).options, tcp(&data(0, 400)).options);
        let [up, down] = rig.pass(Span::from_nanos(2_000));
        assert_eq!((up.len(), down.len()), (1, 0));
        assert_eq!(octets(&read(&up[0]).payload), octets(&Payload::pattern(1, 900, 400)));
        // What ends the stream does not wait, nor is it overtaken.
        assert_eq!(rig.send(Way::Ab, sent(&data(1_300, 10))).len(), 0);
        let fin = segment(Way::Ab, header(Way::Ab, 1_310, TcpFlags::FIN | TcpFlags::ACK), Payload::Empty);
        assert_eq!(rig.send(Way::Ab, sent(&fin)).len(), 2);
        assert_eq!(rig.chain.held(), 0);
    }
}

#[test]
fn a_segment_that_met_congestion_is_not_joined_to_one_that_did_not() {
    let mut rig = Rig::new(&[Coalesce { size_bytes: 1_000, wait_ns: 1_000 }.into()]);
    let marked = Packet { ecn: Ecn::Ce, ..data(400, 100) };
    assert_eq!(rig.send(Way::Ab, data(0, 400)).len(), 0);
    let first = rig.one(Way::Ab, marked);
    assert_eq!((first.ecn, first.payload.len()), (Ecn::NotEct, 400));
    // The next one is marked as it is.
    assert_eq!(rig.send(Way::Ab, Packet { ecn: Ecn::Ce, ..data(500, 100) }).len(), 0);
    let [up, _] = rig.pass(Span::from_nanos(2_000));
    assert_eq!((up[0].ecn, up[0].payload.len()), (Ecn::Ce, 200));
}

#[test]
fn who_is_behind_a_translation_is_seen_at_one_address() {
    for real in [false, true] {
        let sent = |packet: &Packet| if real { framed(packet) } else { packet.clone() };
        let settings = Translate { address: [192, 0, 2, 1].into(), forget_ns: Some(1_000_000) };
        let mut rig = Rig::new(&[settings.into()]);
        let there = read(&rig.one(Way::Ab, sent(&data(0, 10))));
        let port = tcp(&there).src_port;
        assert_eq!((there.src, there.dst, tcp(&there).dst_port), (AddressId(2), AddressId(1), 5001));
        assert_ne!(port, 49_152);
        let mut answer = segment(Way::Ba, header(Way::Ba, 0, TcpFlags::ACK), Payload::Empty);
        answer.dst = AddressId(2);
        let Transport::Tcp(of) = &mut answer.transport else { panic!("TCP") };
        of.dst_port = port;
        let back = read(&rig.one(Way::Ba, sent(&answer)));
        assert_eq!((back.src, back.dst, tcp(&back).dst_port), (AddressId(1), AddressId(0), 49_152));
        // A datagram has a mapping of its own, and another end inside another port.
        let udp = UdpHeader { src_port: 49_152, dst_port: 7 };
        let datagram = Packet::new(
            Time::ZERO,
            AddressId(0),
            AddressId(1),
            FlowId(0),
            38,
            Transport::Udp(udp),
            Payload::pattern(1, 0, 10),
        );
        let out = read(&rig.one(Way::Ab, sent(&datagram)));
        assert_eq!((out.src, octets(&out.payload)), (AddressId(2), octets(&datagram.payload)));
        rig.pass(Span::from_nanos(1_000_001));
        assert_eq!(rig.send(Way::Ba, sent(&answer)).len(), 0, "the mapping is forgotten");
    }
}

#[test]
fn data_is_changed_where_it_was_asked_for() {
    let mut rig = Rig::new(&[AlterData { first: 2, every: Some(3) }.into()]);
    let changed: Vec<bool> = (0..8)
        .map(|i| {
            let sent = data(i * 10, 10);
            let sent = if i % 2 == 0 { framed(&sent) } else { sent };
            octets(&read(&rig.one(Way::Ab, sent.clone())).payload) != octets(&sent.payload)
        })
        .collect();
    assert_eq!(changed, [false, true, false, false, true, false, false, true]);
}

#[test]
fn a_damaged_packet_passes_as_it_is() {
    let boxes = [
        Translate { address: [192, 0, 2, 1].into(), forget_ns: None }.into(),
        Split { size_bytes: 10, options: OptionsOn::Each }.into(),
    ];
    let damaged = Packet { corrupted: true, ..data(0, 100) };
    assert_eq!(Rig::new(&boxes).one(Way::Ab, damaged.clone()), damaged);
}

/// Draws from a list of numbers, over and over.
struct Numbers<'a>(&'a [u64], usize);

impl Draw for Numbers<'_> {
    fn below(&mut self, n: u64) -> u64 {
        self.1 += 1;
        self.0[self.1 % self.0.len()] % n
    }

    fn prob(&mut self) -> f64 {
        self.unit()
    }

    fn span(&mut self) -> u64 {
        self.below(1 << 40)
    }

    fn rate(&mut self) -> u64 {
        self.below(1 << 40)
    }
}

/// A segment with whatever its options octets are, if they are options.
fn any_segment() -> impl Strategy<Value = (Way, Packet, Vec<u8>)> {
    let options = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..33),
        Just(vec![1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9, 30, 8, 32, 0, 0, 0, 0, 1]),
        Just(vec![2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7, 30, 4, 1, 1]),
    ];
    let len = prop_oneof![Just(0_u32), 1_u32..3_000];
    (any::<bool>(), any::<u8>(), any::<u32>(), any::<u32>(), len, options, any::<u16>()).prop_map(
        |(up, flags, seq, ack, len, mut octets, urgent)| {
            let way = if up { Way::Ab } else { Way::Ba };
            let bare = TcpHeader { ack: Seq(ack), ..header(way, seq, TcpFlags(flags)) };
            octets.resize(octets.len().next_multiple_of(4), 0);
            let packet = segment(way, bare, Payload::pattern(2, u64::from(seq), len));
            // The frame has these very octets, and an urgent pointer.
            let Transport::Frame(frame) = framed(&packet).transport else { unreachable!("framed") };
            let mut bytes = frame.bytes.to_vec();
            bytes.splice(40..40, octets.iter().copied());
            bytes[32] = (((20 + octets.len()) / 4) << 4) as u8;
            bytes[38..40].copy_from_slice(&urgent.to_be_bytes());
            let carried = bytes.len() as u32 - 20;
            voxpath_wire::ip::patch::set_payload_len(&mut bytes, carried).expect("it fits");
            (way, packet, bytes)
        },
    )
}

proptest! {
    #[test]
    fn nothing_panics_or_vanishes_and_checksums_hold(
        numbers in prop::collection::vec(any::<u64>(), 1..40),
        count in 1_usize..5,
        sent in prop::collection::vec((any_segment(), 0_u64..3_000_000), 1..30),
    ) {
        let mut draw = Numbers(&numbers, 0);
        let mut boxes = Vec::new();
        for _ in 0..count {
            let which = Which::sample(&mut draw);
            let set = Middlebox::sample(&mut draw);
            let found = Check::found(|root| { which.check(root); set.check(root) });
            prop_assert!(found.is_empty(), "{:?}", found);
            boxes.push((which, set));
        }
        let [mut simulated, mut real] = [(); 2].map(|()| Rig::of(&boxes));
        for ((way, packet, mut bytes), span) in sent {
            if voxpath_wire::packet::set_checksum(&mut bytes).is_err() {
                // These options are none.
                continue;
            }
            let frame = of_bytes(&Packet { len: bytes.len() as u32, ..packet.clone() }, bytes);
            let packet = {
                // What a simulated host would have sent: the options that are kept, as ours lie.
                let tcp = *frame.tcp().expect("a segment");
                segment(way, tcp, packet.payload)
            };
            let outs = [(&mut simulated, packet), (&mut real, frame)].map(|(rig, packet)| {
                let mut out = rig.send(way, packet);
                for released in rig.pass(Span::from_nanos(span)) {
                    out.extend(released);
                }
                out
            });
            prop_assert_eq!(outs[0].len(), outs[1].len());
            for (ours, theirs) in outs[0].iter().zip(&outs[1]) {
                let theirs = read(theirs);
                let Transport::Tcp(tcp) = &ours.transport else { panic!("TCP") };
                prop_assert_eq!(ours.len, 20 + tcp.wire_len() + ours.payload.len());
                prop_assert_eq!((ours.src, ours.dst), (theirs.src, theirs.dst));
                prop_assert_eq!(octets(&ours.payload), octets(&theirs.payload));
                prop_assert_eq!(ours.transport.clone(), theirs.transport);
            }
        }
    }
}
