//! What networks tell of packets that they cannot pass on, and what hosts make of it; over IPv4 and IPv6.
#![allow(missing_docs)]

mod common;

use bytes::Bytes;
use common::*;
use std::net::IpAddr;
use voxpath_sim::plan::{App, Bulk, Cbr, Direction, Flow, Link, Node, NodeKind, Plan, Transport};
use voxpath_sim::{Data, Observe, RealTime, Report, check};
use voxpath_tcp::{Config, Profile};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::icmp::{Echo, IcmpHeader, Quote, Unreachable};
use voxpath_wire::ip::{IpHeader, Protocol};
use voxpath_wire::packet::{self, ChecksumStatus, Parsed, emit_icmp, emit_tcp, emit_udp, parse_packet};
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};
use voxpath_wire::udp::UdpHeader;

fn ip(v6: bool, number: u16) -> IpAddr {
    if v6 { [0xfd00, 0, 0, 0, 0, 0, 0, number].into() } else { [10, 0, 0, number as u8].into() }
}

/// client (.1) - router (.3) - router (.4) - server (.2); the middle takes `mtu`.
fn chain(v6: bool, mtu: Option<u32>) -> Plan {
    let way = || Direction { rate_bps: Some(10_000_000), ..wire(5 * MS) };
    let mut plan = pipe(way(), way());
    plan.nodes[0].addresses = vec![ip(v6, 1)];
    plan.nodes[1].addresses = vec![ip(v6, 2)];
    for number in [3, 4] {
        plan.nodes.push(Node {
            simulated: false,
            real: false,
            edge: None,
            name: format!("router{number}"),
            kind: NodeKind::Router,
            addresses: vec![ip(v6, number)],
        });
    }
    let link = |name: &str, a, b, mtu| Link { mtu, name: name.into(), a, b, ab: way(), ba: way() };
    plan.links = vec![link("first", 0, 2, None), link("middle", 2, 3, mtu), link("last", 3, 1, None)];
    plan
}

fn sizes(report: &Report, link: &str) -> Vec<u64> {
    let packets = table(report, "packets");
    let (Data::U64(sizes), Data::Label { names, index }) =
        (column(packets, "ip_bytes"), column(packets, "link"))
    else {
        panic!("columns of the table")
    };
    (0..sizes.len()).filter(|&i| names[index[i] as usize] == link).map(|i| sizes[i]).collect()
}

fn dropped(report: &Report, place: &str) -> u64 {
    let elements = table(report, "elements");
    let (Data::Text(places), Data::U64(dropped)) =
        (column(elements, "place"), column(elements, "packets_dropped"))
    else {
        panic!("columns of the table")
    };
    (0..places.len()).filter(|&i| places[i] == place).map(|i| dropped[i]).sum()
}

#[test]
fn tcp_finds_the_smallest_link_and_sends_no_larger_packet_again() {
    for v6 in [false, true] {
        for (mss, mtu) in [(1440, 1400), (1440, 1280), (8900, 1500)] {
            let config = Config { mss, ..Profile::Linux.config() };
            let mut plan =
                with_tcp(chain(v6, Some(mtu)), &config, App::Bulk(Bulk { bytes: Some(1_000_000) }));
            plan.flows[0].name = "up".into();
            let observe = Observe { packets: true, ..Observe::default() };
            let report = run_observed(&plan, 0, &observe);
            assert_eq!(status(&report, 0), "completed", "v6 {v6}, mss {mss}, mtu {mtu}");
            assert_eq!(flow(&report, "bytes_wrong", 0), 0);
            // No more is refused than what was in flight when the first answer came: ten segments.
            assert!((1..=10).contains(&dropped(&report, "router3")), "{}", dropped(&report, "router3"));
            let middle = sizes(&report, "middle ab");
            assert!(middle.iter().all(|&size| size <= u64::from(mtu)));
            // Full segments fill the link: nothing smaller than need be.
            assert!(middle.contains(&u64::from(mtu)));
            assert_eq!(of_end(&report, "client", "timeouts", 0), 0, "a router told, no timer had to");
        }
    }
}

#[test]
fn a_first_link_that_is_too_small_is_known_at_once() {
    for v6 in [false, true] {
        let mut plan = chain(v6, None);
        plan.links[0].mtu = Some(1300);
        let plan = with_tcp(plan, &Profile::Linux.config(), App::Bulk(Bulk { bytes: Some(100_000) }));
        let report = run(&plan, 0);
        assert_eq!(status(&report, 0), "completed");
        assert_eq!(of_end(&report, "client", "timeouts", 0), 0);
        assert!(dropped(&report, "client") > 0);
    }
}

#[test]
fn datagrams_that_are_too_big_are_lost_and_counted() {
    let mut plan = chain(false, Some(1000));
    plan.flows.push(Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: "stream".into(),
        from: 0,
        to: 1,
        start_ns: 0,
        transport: Transport::Udp,
        app: App::Cbr(Cbr { packet_bytes: 1000, interval_ns: 10 * MS, packets: Some(20) }),
    });
    let report = run(&plan, 0);
    assert_eq!((datagrams(&report, 0)[1], dropped(&report, "router3")), (0, 20));
}

#[test]
fn a_link_of_ipv6_takes_1280_bytes() {
    for (v6, mtu, fine) in [
        (true, 1279, false),
        (true, 1280, true),
        (false, 67, false),
        (false, 68, true),
        (false, 70_000, false),
    ] {
        let mut plan = chain(v6, None);
        plan.links[0].mtu = Some(mtu);
        let found: Vec<String> = check(&plan).into_iter().map(|problem| problem.path.to_string()).collect();
        assert_eq!(found.is_empty(), fine, "{found:?}");
        assert!(found.iter().all(|path| path == "links[0].mtu"));
    }
}

/// A world whose client is a real host, and what comes back to it.
struct Real {
    world: RealTime,
    now: Time,
}

impl Real {
    fn new(mut plan: Plan) -> Self {
        plan.nodes[0].real = true;
        plan.nodes[1].simulated = true;
        let world = RealTime::new(plan, 0, &Observe::default()).expect("a plan that can run");
        Self { world, now: Time::ZERO }
    }

    /// Sends a frame and takes what comes back within a second.
    fn ask(&mut self, frame: Vec<u8>) -> Vec<Vec<u8>> {
        self.world.handle_frame(self.now, 0, Bytes::from(frame));
        self.now += Span::from_secs(1);
        self.world.handle_timeout(self.now);
        let mut answers = Vec::new();
        loop {
            let mut answer = Vec::new();
            match self.world.poll_delivery(&mut answer) {
                Some(_) => answers.push(answer),
                None => return answers,
            }
        }
    }

    /// The only answer, which has to be sound.
    fn answer(&mut self, frame: Vec<u8>) -> (Parsed, Vec<u8>) {
        let answers = self.ask(frame);
        let [answer] = &answers[..] else { panic!("{} answers", answers.len()) };
        let parsed = parse_packet(answer).expect("a packet");
        assert_eq!(parsed.checksum, ChecksumStatus::Good);
        (parsed, answer.clone())
    }
}

fn ping(v6: bool, to: u16, ttl: u8, data: u32) -> Vec<u8> {
    let (src, dst) = (ip(v6, 1), ip(v6, to));
    let header = IpHeader { ttl, ..IpHeader::new(src, dst, IcmpHeader::protocol(src)) };
    let mut frame = Vec::new();
    let echo = IcmpHeader::EchoRequest(Echo { identifier: 7, sequence: 1 });
    emit_icmp(&header, &echo, &Payload::pattern(0, 0, data), &mut frame);
    frame
}

#[test]
fn routers_and_hosts_answer_echoes_with_their_data() {
    for v6 in [false, true] {
        for to in [2, 3, 4] {
            let mut real = Real::new(chain(v6, None));
            let frame = ping(v6, to, 64, 56);
            let (parsed, answer) = real.answer(frame.clone());
            assert_eq!((parsed.ip.src, parsed.ip.dst), (ip(v6, to), ip(v6, 1)));
            let echo = IcmpHeader::EchoReply(Echo { identifier: 7, sequence: 1 });
            assert_eq!(parsed.transport, packet::Transport::Icmp(echo));
            assert_eq!(answer[parsed.payload.clone()], frame[parsed.payload]);
        }
    }
}

/// What an error that comes back says, who says it, and what it quotes.
fn error(parsed: &Parsed, answer: &[u8]) -> (IcmpHeader, IpAddr, Quote) {
    let packet::Transport::Icmp(icmp) = parsed.transport else { panic!("{parsed:?}") };
    (icmp, parsed.ip.src, Quote::parse(&answer[parsed.payload.clone()]).expect("enough of a packet"))
}

#[test]
fn each_router_is_found_by_the_hops_that_a_packet_has() {
    for v6 in [false, true] {
        let mut real = Real::new(chain(v6, None));
        for (ttl, router) in [(1, 3), (2, 4)] {
            let (parsed, answer) = real.answer(ping(v6, 2, ttl, 56));
            let (icmp, from, quote) = error(&parsed, &answer);
            assert_eq!((icmp, from), (IcmpHeader::TimeExceeded, ip(v6, router)));
            assert_eq!((quote.src, quote.dst), (ip(v6, 1), ip(v6, 2)));
        }
        let (parsed, _) = real.answer(ping(v6, 2, 3, 56));
        assert_eq!(parsed.ip.src, ip(v6, 2));
    }
}

#[test]
fn a_packet_that_is_too_big_is_told_with_the_size_that_fits() {
    for v6 in [false, true] {
        let mut real = Real::new(chain(v6, Some(1300)));
        let (parsed, answer) = real.answer(ping(v6, 2, 64, 1400));
        let (icmp, from, quote) = error(&parsed, &answer);
        assert_eq!((icmp, from), (IcmpHeader::TooBig { mtu: 1300 }, ip(v6, 3)));
        assert_eq!(quote.dst, ip(v6, 2));
        // RFC 1812 section 4.3.2.3 and RFC 4443 section 2.4.
        assert_eq!(answer.len(), if v6 { 1280 } else { 576 });
        let fits = 1300 - if v6 { 48 } else { 28 };
        let (parsed, _) = real.answer(ping(v6, 2, 64, fits));
        assert_eq!(parsed.ip.src, ip(v6, 2));
    }
}

#[test]
fn closed_ports_say_so() {
    for v6 in [false, true] {
        let mut real = Real::new(chain(v6, None));
        for to in [2, 4] {
            let mut datagram = Vec::new();
            let header = IpHeader::new(ip(v6, 1), ip(v6, to), Protocol::Udp);
            let ports = UdpHeader { src_port: 33_000, dst_port: 9 };
            emit_udp(&header, &ports, &Payload::pattern(0, 0, 10), &mut datagram);
            let (parsed, answer) = real.answer(datagram);
            let (icmp, from, quote) = error(&parsed, &answer);
            assert_eq!((icmp, from), (IcmpHeader::Unreachable(Unreachable::Port), ip(v6, to)));
            assert_eq!(quote.ports(), (33_000, 9));

            let mut syn = Vec::new();
            let header = IpHeader::new(ip(v6, 1), ip(v6, to), Protocol::Tcp);
            let asked = TcpHeader {
                src_port: 33_000,
                dst_port: 80,
                seq: Seq(1000),
                flags: TcpFlags::SYN,
                ..TcpHeader::default()
            };
            emit_tcp(&header, &asked, &Payload::Empty, &mut syn);
            let (parsed, _) = real.answer(syn);
            let packet::Transport::Tcp(reset) = parsed.transport else { panic!("{parsed:?}") };
            assert_eq!((reset.flags, reset.ack), (TcpFlags::RST | TcpFlags::ACK, Seq(1001)));
            assert_eq!((reset.src_port, reset.dst_port), (80, 33_000));
        }
    }
}

#[test]
fn errors_bring_forth_no_errors() {
    let mut real = Real::new(chain(false, None));
    let quoted = ping(false, 2, 64, 8);
    let header = IpHeader { ttl: 1, ..IpHeader::new(ip(false, 1), ip(false, 2), Protocol::Icmp) };
    let mut frame = Vec::new();
    emit_icmp(&header, &IcmpHeader::TimeExceeded, &Payload::bytes(quoted.into()), &mut frame);
    assert_eq!(real.ask(frame), Vec::<Vec<u8>>::new());
}
