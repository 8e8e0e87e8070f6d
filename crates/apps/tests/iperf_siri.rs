//! The traffic of iperf-siri: what is due when, and what the published tool's rules make of it.
#![allow(missing_docs)]

mod common;

use common::*;
use proptest::prelude::*;
use voxpath_apps::iperf_siri::{Flaws, IperfSiri};
use voxpath_apps::{FlowContext, Machine, Over, Settings, StreamApplication, StreamMachine};
use voxpath_net::Seed;
use voxpath_units::Time;
use voxpath_wire::Payload;

/// Three bursts of two packets of 100 octets.
const SIRI: IperfSiri = IperfSiri {
    bursts: 3,
    packets: 2,
    smallest_bytes: 100,
    largest_bytes: 100,
    spacing_ns: 10_000,
    interval_ns: 300_000_000,
    intermediate_bytes: 10,
    answer_bytes: 750,
    requests: 2,
    wait_ns: 4_000_000_000,
    answer_each_read: false,
    answer_in_one_read: false,
};
const BURST: u64 = 200;

fn ends(siri: &IperfSiri) -> [StreamApplication; 2] {
    let flow = FlowContext { name: "siri", index: 0, start: Time::ZERO, seed: Seed::new(1, 0) };
    siri.ends(&flow, Over::Stream).map(|end| match end {
        Machine::Stream(end) => end,
        Machine::Datagrams(_) => panic!("it goes over a stream"),
    })
}

/// Puts octets of the peer's pattern before an end, in one read, and drives it; how many octets it wrote.
fn hear(app: &mut StreamApplication, at_ms: u64, stream: u32, octets: core::ops::Range<u64>) -> u32 {
    let (mut outgoing, mut incoming) = (Pipe::default(), Pipe::default());
    if !octets.is_empty() {
        incoming.len = (octets.end - octets.start) as u32;
        incoming.data.push_back(Payload::pattern(stream, octets.start, incoming.len));
    }
    let socket = Socket { outgoing: &mut outgoing, incoming: &mut incoming, room: u32::MAX, read: u32::MAX };
    drive(app, ms(at_ms), socket);
    outgoing.len
}

fn flaws(app: &StreamApplication) -> Flaws {
    *app.record().account().expect("it has some")
}

/// Both kinds of server, which are told the same; what each wrote, and what both count.
fn both(reads: &[core::ops::Range<u64>]) -> ([u32; 2], Flaws) {
    let published = IperfSiri { answer_each_read: true, ..SIRI };
    let [ours, theirs] = [SIRI, published].map(|siri| {
        let [_, mut server] = ends(&siri);
        let wrote: u32 = reads.iter().map(|read| hear(&mut server, 0, 0, read.clone())).sum();
        (wrote, flaws(&server))
    });
    assert_eq!(ours.1, theirs.1, "counted whether or not it is done");
    ([ours.0, theirs.0], ours.1)
}

#[test]
fn a_last_packet_in_two_reads_is_answered_once_unless_each_read_is() {
    let (wrote, flaws) = both(&[0..150, 150..199, 199..200]);
    assert_eq!(wrote, [10, 30]);
    assert_eq!(flaws, Flaws { doubled: 2, ..Flaws::default() });
}

#[test]
fn bursts_in_one_read_are_answered_each_unless_each_read_is() {
    let (wrote, flaws) = both(core::slice::from_ref(&(0..3 * BURST)));
    assert_eq!(wrote, [10 + 10 + 750, 750]);
    assert_eq!(flaws, Flaws { swallowed: 2, ..Flaws::default() });
    // A read has 5000 octets at most: 8 bursts of 200 are fewer, 30 are more.
    let many = IperfSiri { bursts: 30, answer_each_read: true, ..SIRI };
    let [_, mut server] = ends(&many);
    assert_eq!(hear(&mut server, 0, 0, 0..30 * BURST), 10 + 750);
}

#[test]
fn packets_leave_by_the_clock_whether_or_not_they_are_answered() {
    let [mut client, _] = ends(&SIRI);
    let mut left = Vec::new();
    let mut now = Time::ZERO;
    loop {
        let (mut outgoing, mut incoming) = (Pipe::default(), Pipe::default());
        let socket = Socket { outgoing: &mut outgoing, incoming: &mut incoming, room: 99_999, read: 1 };
        drive(&mut client, now, socket);
        left.push((now.as_nanos() / 10_000, outgoing.len));
        let Some(next) = client.poll_timeout() else { break };
        now = next;
    }
    // Tens of microseconds: two packets, 300 ms, two packets, 300 ms, two packets, 4 s.
    let once = [0, 1, 30_001, 30_002, 60_002, 60_003];
    let wanted: Vec<_> =
        once.iter().copied().chain(once.map(|at| at + 460_003)).map(|at| (at, 100)).collect();
    assert_eq!(left, wanted);
    let requests = &client.record().requests;
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.completed_at.is_none()));
    assert_eq!(requests[0].last_sent_at, Some(Time::from_nanos(600_030_000)));
}

/// A client that has sent its first request.
fn asked(siri: &IperfSiri) -> StreamApplication {
    let [mut client, _] = ends(siri);
    for at in [0, 1, 302, 303, 604, 605] {
        hear(&mut client, at, 1, 0..0);
    }
    assert!(client.record().requests[0].last_sent_at.is_some());
    client
}

#[test]
fn an_answer_in_two_reads_is_found_unless_one_read_has_to_have_it() {
    for in_one in [false, true] {
        let mut client = asked(&IperfSiri { answer_in_one_read: in_one, ..SIRI });
        hear(&mut client, 700, 1, 0..20);
        hear(&mut client, 720, 1, 20..400);
        hear(&mut client, 740, 1, 400..770);
        let found = client.record().requests[0].completed_at;
        assert_eq!(found, (!in_one).then(|| ms(740)));
        hear(&mut client, 9_000, 1, 0..0);
        assert_eq!(flaws(&client), Flaws { missed: 1, ..Flaws::default() });
    }
}

#[test]
fn answers_in_part_that_come_together_are_none_unless_one_read_is() {
    for in_one in [false, true] {
        let siri = IperfSiri { intermediate_bytes: 400, answer_in_one_read: in_one, ..SIRI };
        let mut client = asked(&siri);
        hear(&mut client, 700, 1, 0..800);
        hear(&mut client, 800, 1, 800..1550);
        let found = client.record().requests[0].completed_at;
        assert_eq!(found, Some(if in_one { ms(700) } else { ms(800) }));
        assert_eq!(flaws(&client), Flaws { mistaken: 1, ..Flaws::default() });
    }
}

#[test]
fn a_late_answer_belongs_to_the_request_that_it_answers() {
    let mut client = asked(&SIRI);
    hear(&mut client, 5_000, 1, 0..0);
    hear(&mut client, 5_100, 1, 0..770);
    let requests = &client.record().requests;
    assert_eq!(requests.len(), 2);
    assert_eq!([requests[0].completed_at, requests[1].completed_at], [Some(ms(5_100)), None]);
}

proptest! {
    /// However the stream is cut, each request is answered once, by all its octets.
    #[test]
    fn any_cut_is_answered_once(
        bursts in 1_u32..5, packets in 1_u32..5, smallest in 1_u32..400, more in 0_u32..600,
        intermediate in 0_u32..200, answer in 1_u32..2_000, requests in 1_u32..4,
        room in 1_u32..3_000, read in 1_u32..3_000,
    ) {
        let siri = IperfSiri {
            bursts, packets, smallest_bytes: smallest, largest_bytes: smallest + more,
            intermediate_bytes: intermediate, answer_bytes: answer, requests,
            interval_ns: 3_000_000, wait_ns: 9_000_000, ..SIRI
        };
        let [client, server] = converse(ends(&siri), room, read);
        let answers = u64::from(requests) * u64::from((bursts - 1) * intermediate + answer);
        prop_assert_eq!(client.record().octets, answers);
        prop_assert_eq!(client.record().wrong_octets + server.record().wrong_octets, 0);
        prop_assert_eq!(client.record().requests.len() as u32, requests);
        prop_assert!(client.record().requests.iter().all(|one| one.completed_at.is_some()));
        let sent = server.record().octets;
        let packets = u64::from(requests * bursts * packets);
        prop_assert!((packets * u64::from(smallest)..=packets * u64::from(smallest + more)).contains(&sent));
    }

    /// With the published tool's rules a conversation still ends.
    #[test]
    fn it_ends_with_the_published_rules(read in 1_u32..6_000, room in 1_u32..6_000, both in any::<bool>()) {
        let siri = IperfSiri { answer_each_read: true, answer_in_one_read: both, ..SIRI };
        converse(ends(&siri), room, read);
    }
}
