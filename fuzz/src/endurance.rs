//! What `make soak` does, at any size: the tests run the same, small.

use crate::common::{MS, pipe, status, wire};
use crate::soak::{Outcome, Talk, Weather, talk};
use voxpath_sim::plan::{App, Direction, Download, Flow, Link, Node, NodeKind, Plan, Transport};
use voxpath_sim::{Observe, Simulation};
use voxpath_tcp::{Congestion, Profile};
use voxpath_units::Span;
use voxpath_wire::tcp::Seq;

/// Sequence numbers wrap soon after the start.
const NEAR_THE_END: Seq = Seq(u32::MAX - 10_000);

fn base() -> Talk {
    let mut config = Profile::Linux.config();
    // No run of bad luck ends what is to last, and every repeated FIN finds an answer.
    (config.syn_retries, config.retries) = (1_000, 1_000);
    config.msl = Span::from_secs(100_000);
    Talk {
        octets: [0, 0],
        iss: [NEAR_THE_END, Seq(4_000_000)],
        config,
        simultaneous: false,
        reader: None,
        delay: Span::from_millis(5),
        bytes: false,
    }
}

/// So many octets through everything that a link can do to them, checked one by one, with each congestion control in turn
/// for its part.
pub fn bad_link(octets: u64) -> Outcome {
    let parts = Congestion::ALL.len() as u64;
    let part = |(i, &(_, congestion)): (usize, &(&str, Congestion))| {
        let mut it = Talk { octets: [octets / parts, octets / parts / 10], bytes: true, ..base() };
        it.config.congestion = congestion;
        talk(&it, Weather::BAD, i as u64)
    };
    Congestion::ALL.iter().enumerate().map(part).fold(Outcome::default(), Outcome::and)
}

/// So many octets in one connection over a link that loses one packet in 5000: beyond 2^32, sequence numbers come round.
pub fn wrap(octets: u64) -> Outcome {
    let mut it = Talk { octets: [octets, 0], ..base() };
    it.config.mss = 8_960;
    talk(&it, Weather { loss: 2, reorder: 2, ..Weather::default() }, 1)
}

/// A reader that rests for an hour whenever it has read a buffer, so many times, on a link that loses a tenth.
pub fn zero_windows(times: u64) -> Outcome {
    let buffer = 8_192;
    let mut it = Talk { octets: [times * u64::from(buffer), 0], ..base() };
    it.config.receive_buffer = buffer;
    it.reader = Some((buffer, Span::from_secs(3_600)));
    talk(&it, Weather { loss: 1_000, ..Weather::default() }, 1)
}

/// So many connections that both ends open at once (RFC 9293 section 3.5, figure 8), over a bad link.
pub fn simultaneous_opens(count: u64) -> Outcome {
    let mut it = Talk { octets: [3_000, 2_000], simultaneous: true, bytes: true, ..base() };
    let weather = Weather { loss: 1_000, duplicate: 500, reorder: 2_000, damage: 500 };
    let open = |seed: u64| {
        it.iss = [Seq(seed as u32).wrapping_add(u32::MAX - 5_000), Seq(seed as u32)];
        it.config.timestamps = seed.is_multiple_of(2);
        talk(&it, weather, seed)
    };
    (0..count).map(open).fold(Outcome::default(), Outcome::and)
}

/// So many flows of one world that start in the same instant through the same narrow queue; events that it took.
///
/// Panics if a flow does not complete, or the books do not balance.
pub fn opens_at_once(count: u32) -> u64 {
    let report = Simulation::new(crowd(count), 0, &Observe::default()).expect("a plan that can run").run();
    assert!(report.verdict.valid, "{:?}", report.verdict.problems);
    for row in 0..count as usize {
        assert_eq!(status(&report, row), "completed", "flow {row}");
    }
    report.verdict.events
}

/// Pairs of hosts, a flow each, on one bottleneck.
fn crowd(count: u32) -> Plan {
    let node = |name: String, kind, addresses| Node {
        simulated: false,
        real: false,
        edge: None,
        name,
        kind,
        addresses,
    };
    let host = |i: u32| {
        node(format!("host{i}"), NodeKind::Host, vec![std::net::Ipv4Addr::from(0x0a00_0001 + i).into()])
    };
    let router = |name: &str| node(name.into(), NodeKind::Router, vec![]);
    let hosts = 2 * count;
    let (left, right) = (hosts, hosts + 1);
    let mut narrow = wire(10 * MS);
    (narrow.rate_bps, narrow.queue_packets) = (Some(100_000_000), Some(1_000));
    let link = |name: String, a, b, way: Direction| Link { name, a, b, mtu: None, ab: way.clone(), ba: way };
    let access = |i: u32| link(format!("access{i}"), i, if i < count { left } else { right }, wire(MS));
    let bottleneck = link("bottleneck".into(), left, right, narrow);
    let mut config = Profile::Linux.config();
    // Without chance in their timers they come back together, and each time a queue's worth of them gets in: Linux' six are too few.
    config.syn_retries = 6 + count / 500;
    let flows = (0..count).map(|i| Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: format!("flow{i}"),
        from: i,
        to: count + i,
        start_ns: 0,
        transport: Transport::tcp(config.clone(), config.clone()),
        app: App::Download(Download { request_bytes: 100, response_bytes: 5_000, requests: 1, pause_ns: 0 }),
    });
    Plan {
        nodes: (0..hosts).map(host).chain([router("left"), router("right")]).collect(),
        links: std::iter::once(bottleneck).chain((0..hosts).map(access)).collect(),
        flows: flows.collect(),
        ..pipe(wire(0), wire(0))
    }
}
