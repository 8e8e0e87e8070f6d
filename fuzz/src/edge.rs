//! What real hosts send into a network in real time: any bytes at any time. The world takes them in, passes on what has
//! somewhere to go, unchanged but for what routers change, and its books balance.

use crate::common::{MS, pipe, wire};
use crate::source::Source;
use bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use voxpath_sim::plan::{App, Bulk, Cbr, Flow, Link, Node, NodeKind, Plan, Transport};
use voxpath_sim::{Observe, RealTime};
use voxpath_tcp::Profile;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::ip::{Ecn, Fragmentation, IpHeader, Protocol};
use voxpath_wire::packet::{emit_tcp, emit_udp, parse_packet};
use voxpath_wire::tcp::{SackBlock, SackBlocks, Seq, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use voxpath_wire::udp::UdpHeader;

/// Hosts: two real ones and two simulated ones, at one router.
const HOSTS: u32 = 4;
const REAL: u32 = 2;
/// What the ends of flows listen to and speak from, as the engine numbers them.
const PORTS: [u16; 4] = [5001, 49_152, 49_153, 49_154];

/// Panics if something does not hold.
pub fn run(bytes: &[u8]) {
    let mut source = Source::new(bytes);
    let plan = plan(source.u8());
    let observe = Observe {
        tcp: false,
        rtc: false,
        capacity: false,
        packets: true,
        capture: vec!["host2".into()],
        snap_bytes: None,
    };
    let mut world = RealTime::new(plan, 0, &observe).expect("a plan that can run");
    let outside = world.take_outside();
    let mut now = Time::ZERO;
    let mut identification = 0;
    // What simulated ends said last: where a guess is near enough to be believed.
    let mut heard = TcpHeader::default();
    while !source.is_empty() {
        if source.once_in(4) {
            let pause = [0, 1, MS, 10 * MS, 200 * MS, 1000 * MS, 100_000 * MS][source.below(7)];
            now = Time::from_nanos((now.as_nanos() + pause).min(3_600_000 * MS));
        } else {
            let host = source.u8() as u32 % REAL;
            identification += 1;
            let frame = frame(identification, &heard, &mut source);
            world.handle_timeout(now);
            world.handle_frame(now, host, frame);
        }
        world.handle_timeout(now);
        assert!(world.poll_timeout().is_none_or(|next| next > now), "what is due has happened");
        let mut out = Vec::new();
        while let Some(delivery) = world.poll_delivery(&mut out) {
            assert!(delivery.host < REAL, "simulated hosts get no frames");
            assert!(delivery.due <= now, "nothing arrives before its time");
            let parsed = parse_packet(&out).expect("what leaves is well-formed");
            if let voxpath_wire::packet::Transport::Tcp(tcp) = parsed.transport {
                heard = tcp;
            }
            out.clear();
        }
        assert!(world.links(now).all(|link| link.dropped <= link.entered));
    }
    let problems = world.finish(now, outside, Vec::new(), &[]).verdict.problems;
    // Who speaks with a flow's ports can say what the flow does not, and is found out.
    let of_books: Vec<&String> =
        problems.iter().filter(|what| !what.ends_with("not what was sent")).collect();
    assert!(of_books.is_empty(), "{of_books:?}");
}

fn plan(shape: u8) -> Plan {
    let mut plan = pipe(wire(MS), wire(MS));
    plan.nodes = (0..HOSTS).map(|host| node(host, NodeKind::Host)).collect();
    plan.nodes.push(node(HOSTS, NodeKind::Router));
    plan.links = (0..HOSTS)
        .map(|host| {
            let mut way = wire(MS);
            if shape & 1 > 0 {
                (way.rate_bps, way.queue_packets) = (Some(1_000_000), Some(3));
            }
            way.duplicate = if shape & 2 > 0 { 0.5 } else { 0.0 };
            let mtu = (shape & 8 > 0 && host == 2).then_some(1280);
            Link { name: format!("link{host}"), a: host, b: HOSTS, mtu, ab: way.clone(), ba: way }
        })
        .collect();
    let config = if shape & 4 > 0 { Profile::Linux.config() } else { Profile::Rfc.config() };
    let tcp = Transport::tcp(config.clone(), config);
    let flow = |name: &str, from, to, transport, app| Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: name.into(),
        from,
        to,
        start_ns: 0,
        transport,
        app,
    };
    let bulk = App::Bulk(Bulk { bytes: Some(20_000) });
    let cbr = App::Cbr(Cbr { packet_bytes: 100, interval_ns: 10 * MS, packets: Some(5) });
    plan.flows = vec![
        flow("in", 0, 2, tcp.clone(), bulk.clone()),
        flow("out", 3, 1, tcp, bulk),
        flow("datagrams", 0, 2, Transport::Udp, cbr),
    ];
    plan
}

fn node(index: u32, kind: NodeKind) -> Node {
    let simulated = index >= REAL;
    let addresses = match kind {
        NodeKind::Host => vec![v4(index), v6(index)],
        NodeKind::Router => vec![],
    };
    Node { simulated, real: false, edge: None, name: format!("host{index}"), kind, addresses }
}

fn v4(index: u32) -> IpAddr {
    Ipv4Addr::from(0x0a00_0001 + index).into()
}

fn v6(index: u32) -> IpAddr {
    Ipv6Addr::from((0xfd00_u128 << 112) + 1 + u128::from(index)).into()
}

/// What a host sends: bytes, or a packet that means something, damaged or whole.
fn frame(identification: u16, heard: &TcpHeader, source: &mut Source<'_>) -> Bytes {
    let kind = source.below(8);
    if kind == 0 {
        let len = source.u8().into();
        return Bytes::copy_from_slice(source.take(len));
    }
    let address = if source.once_in(4) { v6 } else { v4 };
    // One address more than there are hosts: nobody's.
    let mut ends = [0, 0].map(|_| address(source.u8() as u32 % (HOSTS + 1)));
    if source.once_in(16) {
        ends[1] = if ends[1].is_ipv4() { [224, 0, 0, 1].into() } else { Ipv6Addr::UNSPECIFIED.into() };
    }
    let mut ports = [0, 0].map(|_| source.pick(&PORTS));
    if kind > 5 {
        // The answer to what was heard last.
        ports = [heard.dst_port, heard.src_port];
        ends = if heard.src_port == PORTS[0] { [v4(0), v4(2)] } else { [v4(1), v4(3)] };
    }
    let protocol = match kind {
        1 => Protocol::from(source.u8()),
        2 => Protocol::Udp,
        3 => source.pick(&[Protocol::Icmp, Protocol::Icmpv6]),
        _ => Protocol::Tcp,
    };
    let mut ip = IpHeader {
        ttl: source.pick(&[64, 0, 1, 2, 255]),
        ecn: Ecn::from_bits(source.u8()),
        identification,
        ..IpHeader::new(ends[0], ends[1], protocol)
    };
    if source.once_in(16) && ends[0].is_ipv4() {
        ip.fragmentation = Fragmentation {
            dont_fragment: false,
            more_fragments: source.bit(),
            offset: source.u16() & 0x1fff,
        };
    }
    let payload = match source.below(3) {
        0 => Payload::Empty,
        1 => Payload::bytes(Bytes::copy_from_slice(source.clone().take(source.len() / 2))),
        _ => Payload::pattern(source.u8().into(), source.u16().into(), (source.u16() % 3000).into()),
    };
    let mut out = Vec::new();
    match protocol {
        Protocol::Tcp => emit_tcp(&ip, &segment(ports, heard, source), &payload, &mut out),
        Protocol::Udp => {
            emit_udp(&ip, &UdpHeader { src_port: ports[0], dst_port: ports[1] }, &payload, &mut out);
        }
        _ => {
            ip.emit(payload.len(), &mut out);
            payload.write_to(&mut out);
        }
    }
    if source.once_in(8) {
        let at = source.u16() as usize % out.len();
        out[at] ^= 1 << (source.u8() & 7);
    }
    if source.once_in(16) {
        out.truncate(source.u16() as usize % (out.len() + 1));
    }
    out.into()
}

/// A segment near what was heard last, or of anything.
fn segment([src_port, dst_port]: [u16; 2], heard: &TcpHeader, source: &mut Source<'_>) -> TcpHeader {
    let octets = u32::from(heard.flags.contains(TcpFlags::SYN));
    let mut off = |seq: Seq| seq.wrapping_add(source.pick(&[0, 1, 1460, u32::MAX, 100_000, 1 << 31]));
    let (seq, ack) = (off(heard.ack), off(heard.seq.wrapping_add(octets)));
    let mut sack = SackBlocks::EMPTY;
    for _ in 0..source.u8() & 3 {
        let left = ack.wrapping_add(source.u16().into());
        sack.push(SackBlock { left, right: left.wrapping_add(source.u16().into()) });
    }
    let shape = source.u8();
    let timestamps = Timestamps { value: source.u16().into(), echo: source.u16().into() };
    let options = TcpOptions {
        mss: (shape & 1 > 0).then(|| source.u16()),
        window_scale: (shape & 2 > 0).then(|| source.u8()),
        sack_permitted: shape & 4 > 0,
        timestamps: (shape & 8 > 0).then_some(timestamps),
        sack: if shape & 16 > 0 && shape & 15 == 0 { sack } else { SackBlocks::EMPTY },
    };
    let answer = if heard.flags.contains(TcpFlags::SYN) && !heard.flags.contains(TcpFlags::ACK) {
        TcpFlags::SYN | TcpFlags::ACK
    } else {
        TcpFlags::ACK
    };
    let flags = match source.below(6) {
        0 | 1 => answer,
        2 => TcpFlags::SYN,
        3 => answer | TcpFlags::FIN,
        4 => TcpFlags::RST,
        _ => TcpFlags(source.u8()),
    };
    TcpHeader { src_port, dst_port, seq, ack, flags, window: source.u16(), options }
}
