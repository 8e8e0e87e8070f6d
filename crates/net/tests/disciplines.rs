//! What disciplines are for: CoDel's control law seen from outside, PIE's wait at its target, and FQ-CoDel's fairness.
#![allow(missing_docs)]

mod common;

use common::{Rig, packet};
use std::collections::BTreeMap;
use voxpath_net::element::queue::{Codel, FqCodel, Pie, Queueing};
use voxpath_net::packet::{AddressId, Ecn, Packet};
use voxpath_net::tap::Action;
use voxpath_net::{Direction, Seed};
use voxpath_units::{Span, Time};

/// 1250 bytes at 100 Mbit/s.
const SERVICE: Span = Span::from_micros(100);

const CODEL: Codel = Codel { target_ns: 5_000_000, interval_ns: 100_000_000, ecn: true };

fn rig(queueing: impl Into<Queueing>) -> Rig {
    let queueing = queueing.into();
    Rig::new(Direction { rate_bps: Some(100_000_000), queueing, ..Direction::default() })
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn times(rig: &Rig, action: Action) -> Vec<f64> {
    rig.seen().iter().filter(|seen| seen.action == action).map(|seen| seen.at.as_secs_f64()).collect()
}

/// A queue that stands, whatever is dropped: the n-th packet goes when the law says, at the next end of a service.
#[test]
fn codel_drops_at_intervals_over_the_square_root_of_their_number() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut rig = rig(CODEL);
        for number in 0..60_000 {
            rig.send(Time::ZERO, Packet { ecn, ..packet(number, 1250) });
        }
        rig.run_until(ms(4_000));
        let action = if ecn == Ecn::NotEct { Action::Dropped } else { Action::Marked };
        let found = times(&rig, action);
        // The first packet that had to wait for the target starts the interval.
        let mut expected = 0.005 + 0.100;
        assert!(found.len() > 300, "{} {action:?}", found.len());
        for (count, at) in (1..).zip(&found) {
            let late = at - expected;
            assert!(
                (-1e-9..1.1 * SERVICE.as_secs_f64()).contains(&late),
                "{action:?} {count}: {at}, not {expected}"
            );
            // The law goes on from the first one's own time, then from when each one should have been.
            let from = if count == 1 { *at } else { expected };
            expected = from + 0.100 / f64::from(count).sqrt();
        }
        let other = if ecn == Ecn::NotEct { Action::Marked } else { Action::Dropped };
        assert!(times(&rig, other).is_empty());
    }
}

#[test]
fn codel_leaves_a_burst_alone_that_is_gone_within_the_interval() {
    let mut rig = rig(CODEL);
    for burst in 0..20 {
        let now = ms(burst * 200);
        rig.run_until(now);
        // 90 ms of work.
        for number in 0..900 {
            rig.send(now, packet(number, 1250));
        }
    }
    rig.run_until(Time::MAX);
    assert!(times(&rig, Action::Dropped).is_empty());
    assert_eq!(rig.delivered().len(), 20 * 900);
}

/// Sends what does not care about losses, at `load` times the rate with random gaps; waits of the packets delivered in
/// the second half.
fn pressed(rig: &mut Rig, load: f64, seconds: u64) -> Vec<f64> {
    let mut gaps = Seed::new(2, 0).stream("arrivals");
    let mean = Span::from_secs_f64(SERVICE.as_secs_f64() / load);
    let mut sent = Vec::new();
    let mut now = Time::ZERO;
    while now < ms(1_000 * seconds) {
        now += gaps.exponential(mean);
        rig.run_until(now);
        rig.send(now, packet(sent.len() as u32, 1250));
        sent.push(now);
    }
    let half = sent.len() as u32 / 2;
    let delivered = rig.delivered().into_iter().filter(|&(_, number)| number > half);
    delivered.map(|(at, number)| (at - sent[number as usize]).as_secs_f64()).collect()
}

/// Where a quarter of what comes is too much, PIE drops that quarter, and the rest waits for its target.
#[test]
fn pie_holds_the_wait_at_its_target() {
    for (target, load) in [(15, 1.1), (15, 1.25), (40, 1.5)] {
        let settings = Pie {
            target_ns: target * 1_000_000,
            update_ns: 15_000_000,
            max_burst_ns: 150_000_000,
            alpha: 0.125,
            beta: 1.25,
            ecn: true,
        };
        let mut rig = rig(settings);
        let waits = pressed(&mut rig, load, 60);
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        let expected = target as f64 / 1e3;
        assert!((mean / expected - 1.0).abs() < 0.05, "load {load}: {mean} s, not {expected} s");
        let dropped = times(&rig, Action::Dropped).iter().filter(|&&at| at > 30.0).count() as f64;
        let share = dropped / (dropped + waits.len() as f64);
        assert!((share - (1.0 - 1.0 / load)).abs() < 0.01, "load {load}: {share} dropped");
    }
}

const fn each_codel(queues: u32) -> FqCodel {
    let Codel { target_ns, interval_ns, ecn } = CODEL;
    FqCodel { target_ns, interval_ns, queues, quantum_bytes: 1514, ecn }
}

fn fq_codel(queues: u32) -> Rig {
    Rig::new(Direction {
        rate_bps: Some(100_000_000),
        queueing: each_codel(queues).into(),
        queue_packets: Some(1_000),
        ..Direction::default()
    })
}

/// Three flows that each send more than the link carries, in packets of their own size, and one that sends little.
#[test]
fn fq_codel_shares_by_bytes_and_lets_sparse_flows_pass() {
    let mut rig = fq_codel(1024);
    let (sizes, sparse) = ([1500, 600, 200], 3);
    let mut sent: BTreeMap<u32, (usize, Time)> = BTreeMap::new();
    let mut number = 0;
    let mut send = |rig: &mut Rig, now: Time, flow: usize, len: u32| {
        rig.run_until(now);
        rig.send(now, Packet { src: AddressId(flow as u32), ..packet(number, len) });
        sent.insert(number, (flow, now));
        number += 1;
    };
    // Each of the three alone would fill the link.
    for tick in 0..100_000_u64 {
        let now = Time::from_nanos(tick * 16_000);
        for (flow, &len) in sizes.iter().enumerate() {
            for _ in 0..if tick % 8 == 0 { 8 * 200 / len + 1 } else { 0 } {
                send(&mut rig, now, flow, len);
            }
        }
        if tick % 1_000 == 0 {
            send(&mut rig, now, sparse, 172);
        }
    }
    let (mut bytes, mut longest, mut passed) = ([0_u64; 3], Span::ZERO, 0);
    let end = ms(1_600);
    for (at, number) in rig.delivered().into_iter().filter(|&(at, _)| at < end) {
        let (flow, came) = sent[&number];
        if flow == sparse {
            // At the start the others are new too.
            if came < ms(100) {
                continue;
            }
            longest = longest.max(at - came);
            passed += 1;
        } else {
            bytes[flow] += u64::from(sizes[flow]);
        }
    }
    let total: u64 = bytes.iter().sum();
    for share in bytes {
        assert!((share as f64 / total as f64 - 1.0 / 3.0).abs() < 0.01, "{bytes:?}");
    }
    // The packet in service, its own, and at most one more quantum that had begun.
    assert!(passed >= 93, "{passed}");
    let bound = Span::from_micros(2 * 121 + 14);
    assert!(longest <= bound, "{longest}");
}

/// One queue for all is CoDel alone: nobody passes.
#[test]
fn fq_codel_with_one_queue_is_codel() {
    let arrivals = |rig: &mut Rig| {
        let mut gaps = Seed::new(3, 0).stream("arrivals");
        let mut now = Time::ZERO;
        for number in 0..50_000 {
            now += gaps.exponential(Span::from_micros(95));
            rig.run_until(now);
            rig.send(now, Packet { src: AddressId(number % 7), ..packet(number, 1250) });
        }
        rig.run_until(Time::MAX);
        rig.delivered()
    };
    let of = |queueing: Queueing| {
        let (rate_bps, queue_packets) = (Some(100_000_000), Some(100_000));
        Rig::new(Direction { rate_bps, queueing, queue_packets, ..Direction::default() })
    };
    assert_eq!(arrivals(&mut of(each_codel(1).into())), arrivals(&mut of(CODEL.into())));
}

#[test]
fn fq_codel_takes_from_the_fattest_when_full() {
    let mut rig = fq_codel(1024);
    let send = |rig: &mut Rig, number: u32, flow| {
        rig.send(Time::ZERO, Packet { src: AddressId(flow), ..packet(number, 1250) });
    };
    for number in 0..10 {
        send(&mut rig, number, 0);
    }
    for number in 10..2_000 {
        send(&mut rig, number, 1);
    }
    // One is in service, a thousand wait; all that is missing is the start of the fat flow.
    let dropped: Vec<u32> =
        rig.seen().iter().filter(|seen| seen.action == Action::Dropped).map(|seen| seen.packet).collect();
    assert_eq!(dropped, (10..10 + 999).collect::<Vec<u32>>());
}
