//! Capacities that vary, each against what it is defined by: a schedule against the bits that its rates carry, a
//! trace against Mahimahi's own accounting, a Markov chain against an end that it comes to.
#![allow(missing_docs)]

mod common;

use common::{Rig, packet};
use proptest::prelude::*;
use std::collections::VecDeque;
use voxpath_net::Direction;
use voxpath_net::element::capacity::{Capacity, Markov, Schedule, State, Trace};
use voxpath_units::Time;
use voxpath_units::check::Check;

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * MS)
}

fn rig(capacity: impl Into<Capacity>, queue_packets: Option<u32>, changing: bool) -> Rig {
    let capacity = Some(capacity.into());
    Rig::named(Direction { capacity, queue_packets, ..Direction::default() }, changing, Rig::NAME)
}

fn schedule(steps: &[(u64, u64)], period: Option<u64>) -> Schedule {
    let steps = steps.iter().map(|&(ms, rate)| (ms * MS, rate)).collect();
    Schedule { steps, period_ns: period.map(|ms| ms * MS) }
}

#[test]
fn a_packet_in_service_goes_on_at_each_new_rate() {
    for changing in [false, true] {
        // 12,000 bits: 10 ms at 1 Mbit/s leave 2000 bits, nothing passes for 10 ms, then 1 ms at 2 Mbit/s.
        let mut rig = rig(schedule(&[(0, 1_000_000), (10, 0), (20, 2_000_000)], None), None, changing);
        rig.send(Time::ZERO, packet(0, 1500));
        rig.send(Time::ZERO, packet(1, 250));
        rig.run_until(Time::MAX);
        assert_eq!(rig.delivered(), [(ms(21), 0), (ms(22), 1)]);
    }
}

#[test]
fn what_a_schedule_never_carries_waits_for_ever() {
    for changing in [false, true] {
        let mut rig = rig(schedule(&[(0, 1_000_000), (10, 0)], None), Some(1), changing);
        for number in 0..4 {
            rig.send(ms(number.into()), packet(number, 625));
        }
        let later = ms(1_000_000);
        rig.run_until(later);
        rig.link.settle(later);
        // 5 ms each: two are through before nothing passes, the third found no room, the fourth is in service for ever.
        assert_eq!(rig.delivered(), [(ms(5), 0), (ms(10), 1)]);
        let held = rig.link.held();
        assert_eq!((held.queue, held.serialiser, rig.link.counts().queue.dropped), (0, 0, 2));
        rig.send(later, packet(4, 625));
        rig.send(later, packet(5, 625));
        rig.run_until(ms(2_000_000));
        let held = rig.link.held();
        assert_eq!((held.queue, held.serialiser, rig.delivered().len()), (1, 1, 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A saturated link has carried by the end of packet n as many bits as its rates carry by then, to the nanosecond.
    #[test]
    fn a_busy_schedule_carries_the_integral_of_its_rates(
        rates in prop::collection::vec((1_u64..20, 0_u64..3_000_000), 1..6),
        last in 1_u64..5_000_000,
        repeats in any::<bool>(),
        lens in prop::collection::vec(1_u32..5_000, 1..100),
        changing in any::<bool>(),
    ) {
        let mut at = 0;
        let mut steps = Vec::new();
        for &(gap, rate) in &rates {
            steps.push((at, rate));
            at += gap;
        }
        steps.push((at, last));
        let period = at + 7;
        let mut rig = rig(schedule(&steps, repeats.then_some(period)), None, changing);
        for (number, len) in (0..).zip(&lens) {
            rig.send(Time::ZERO, packet(number, *len));
        }
        rig.run_until(Time::MAX);
        let rate_at = |ns: u64| {
            let into = if repeats { ns % (period * MS) } else { ns };
            steps.iter().rev().find(|(from, _)| from * MS <= into).expect("one starts at zero").1
        };
        // Rates change at whole milliseconds only.
        let carried = |until: u64| {
            let whole: u128 = (0..until / MS).map(|ms| u128::from(rate_at(ms * MS)) * u128::from(MS)).sum();
            whole + u128::from(rate_at(until)) * u128::from(until % MS)
        };
        let mut bits = 0;
        for ((at, number), len) in rig.delivered().into_iter().zip(&lens) {
            bits += u128::from(*len) * 8_000_000_000;
            let at = at.as_nanos();
            prop_assert!(carried(at) <= bits, "packet {} is late", number);
            prop_assert!(carried(at + 1) > bits || carried(at) == bits, "packet {} is early", number);
        }
    }
}

/// Far away, but before what never comes.
const CENTURIES: Time = Time::from_nanos(u64::MAX / 2);

/// A nanosecond a day of 1 Mbit/s: a packet needs more laps than can be walked through, and more time than the clock has.
#[test]
fn laps_that_carry_next_to_nothing_are_skipped_exactly() {
    const DAY: u64 = 86_400_000_000_000;
    let schedule = |rate| Schedule { steps: vec![(0, 0), (DAY, rate)], period_ns: Some(DAY + 1) };
    let mut rig = rig(schedule(1_000_000), None, false);
    rig.send(Time::ZERO, packet(0, 1500));
    rig.run_until(CENTURIES);
    assert!(rig.delivered().is_empty());
    // At 1 Tbit/s each lap carries a thousand bits: the twelfth has the last of them.
    let mut rig = self::rig(schedule(1_000_000_000_000), None, false);
    rig.send(Time::ZERO, packet(0, 1500));
    rig.run_until(CENTURIES);
    assert_eq!(rig.delivered(), [(Time::from_nanos(12 * (DAY + 1)), 0)]);
}

/// A link that dies, and never comes back.
#[test]
fn nothing_passes_once_no_state_with_a_rate_can_come() {
    let state = |rate_bps, next: [f64; 3]| State {
        rate_bps,
        dwell_ns: 10 * MS,
        exponential: false,
        next: next.to_vec(),
    };
    let states =
        vec![state(1_200_000, [0.0, 1.0, 0.0]), state(0, [0.0, 0.0, 1.0]), state(0, [0.0, 0.5, 0.5])];
    let mut rig = rig(Markov { states, start: None }, None, false);
    rig.send(Time::ZERO, packet(0, 1500));
    rig.send(Time::ZERO, packet(1, 1500));
    rig.run_until(CENTURIES);
    assert_eq!(rig.delivered(), [(ms(10), 0)]);
}

/// Mahimahi's `LinkQueue`, in its own terms: milliseconds, opportunities that are burnt one by one, and a drop-tail
/// queue. Deliveries as (millisecond, packet).
fn mahimahi(trace: &[u32], arrivals: &[(u64, u32)], room: usize) -> Vec<(u64, u32)> {
    let mut queue: VecDeque<(u32, u32)> = VecDeque::new();
    let mut in_transit: Option<(u32, u32)> = None;
    let mut delivered = Vec::new();
    let (mut next, mut base) = (0, 0_u64);
    let mut rationalise = |now: u64, queue: &mut VecDeque<(u32, u32)>| {
        while base + u64::from(trace[next]) <= now {
            let time = base + u64::from(trace[next]);
            next += 1;
            if next == trace.len() {
                next = 0;
                base += u64::from(trace[trace.len() - 1]);
            }
            let mut left = 1504;
            while left > 0 {
                let Some((number, size)) = in_transit.take().or_else(|| queue.pop_front()) else { break };
                let used = size.min(left);
                left -= used;
                if size == used {
                    delivered.push((time, number));
                } else {
                    in_transit = Some((number, size - used));
                }
            }
        }
    };
    for (number, &(at, len)) in (0..).zip(arrivals) {
        rationalise(at, &mut queue);
        if queue.len() < room {
            queue.push_back((number, len + 4));
        }
    }
    rationalise(1_000_000, &mut queue);
    delivered
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_trace_delivers_what_mahimahi_delivers(
        gaps in prop::collection::vec(prop_oneof![Just(0_u32), 1_u32..4, 1_u32..200], 1..40),
        traffic in prop::collection::vec((prop_oneof![Just(0_u64), 0_u64..10, 0_u64..500], 1_u32..=1500), 1..80),
        room in 1_usize..20,
        changing in any::<bool>(),
    ) {
        let mut trace: Vec<u32> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        trace.push(trace[trace.len() - 1] + 1);
        let arrivals: Vec<(u64, u32)> =
            traffic.iter().scan(0, |at, &(gap, len)| { *at += gap; Some((*at, len)) }).collect();
        let mut rig = rig(Trace { opportunities_ms: trace.clone() }, Some(room as u32), changing);
        for (number, &(at, len)) in (0..).zip(&arrivals) {
            rig.run_until(ms(at));
            rig.send(ms(at), packet(number, len));
        }
        rig.run_until(ms(1_000_000));
        let expected: Vec<_> = mahimahi(&trace, &arrivals, room).into_iter().map(|(at, n)| (ms(at), n)).collect();
        prop_assert_eq!(rig.delivered(), expected);
    }
}

/// What a link that was idle for long finds of its trace is what one finds that looked at every opportunity.
#[test]
fn laps_that_nobody_used_are_skipped_exactly() {
    let trace = [0, 3, 3, 10];
    for after in [0, 1, 2, 3, 9, 10, 12, 13, 1_000, 1_003, 999_990] {
        let mut rig = rig(Trace { opportunities_ms: trace.to_vec() }, None, false);
        rig.send(ms(0), packet(0, 1500));
        rig.run_until(ms(after));
        rig.send(ms(after), packet(1, 1500));
        rig.run_until(Time::MAX);
        let second = rig.delivered()[1].0;
        let expected = (after + 1..).find(|ms| [0, 3].contains(&(ms % 10))).expect("there is one");
        // Right after the first, the second one takes the other opportunity of millisecond 3.
        assert_eq!(second, ms(expected), "after {after} ms");
    }
}

#[test]
fn a_trace_ascends_and_takes_time() {
    for (trace, problems) in [(vec![], 1), (vec![0], 1), (vec![2, 1], 1), (vec![0, 0, 1], 0)] {
        let trace = Capacity::from(Trace { opportunities_ms: trace });
        assert_eq!(Check::found(|root| trace.check(root)).len(), problems, "{trace:?}");
    }
}
