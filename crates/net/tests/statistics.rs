//! What theory says of a link's averages. Seeds are fixed, so these either always pass or never; the bounds are
//! standard errors of the very sample, and each test first shows that its error is small enough to mean something.
#![allow(missing_docs)]

mod common;

use common::{Rig, packet};
use std::collections::BTreeSet;
use voxpath_net::element::Reorder;
use voxpath_net::element::loss::{Bernoulli, BitErrorForm, BitErrors};
use voxpath_net::{Direction, Seed, Stream};
use voxpath_units::{Span, Time};

/// Pollaczek-Khinchine for deterministic service: the mean wait is rho s / 2 (1 - rho).
#[test]
fn poisson_arrivals_wait_as_in_an_m_d_1_queue() {
    // 1250 bytes at 10 Mbit/s: one millisecond of service.
    let service = 1_000_000.0;
    for load in [0.2, 0.5, 0.8, 0.9] {
        let mut rig = Rig::new(Direction { rate_bps: Some(10_000_000), ..Direction::default() });
        let mut gaps = Seed::new(5, 0).stream("arrivals");
        let mut now = Time::ZERO;
        let mut arrivals = Vec::new();
        for number in 0..400_000 {
            now += Span::from_nanos((exponential(&mut gaps) * service / load) as u64);
            arrivals.push(now);
            rig.run_until(now);
            rig.send(now, packet(number, 1250));
        }
        rig.run_until(Time::MAX);
        let wait = |(at, number): (Time, u32)| (at - arrivals[number as usize]).as_nanos() as f64 - service;
        let waits: Vec<f64> = rig.delivered().into_iter().map(wait).collect();
        assert_eq!(waits.len(), arrivals.len());

        let (mean, error) = batch_means(&waits);
        let expected = load * service / (2.0 * (1.0 - load));
        assert!(error / expected < 0.03, "load {load}: {error} ns is too coarse beside {expected} ns");
        assert!(
            (mean - expected).abs() < 3.0 * error,
            "load {load}: {mean} +- {error} ns, not {expected} ns"
        );
    }
}

/// A draw from the exponential distribution of mean 1.
fn exponential(stream: &mut Stream) -> f64 {
    // 53 bits, shifted by half a step: never zero, whose logarithm is infinite.
    let uniform = ((stream.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    -uniform.ln()
}

/// The mean of a correlated sequence and its standard error, by means of 40 batches after a start that is left out.
fn batch_means(values: &[f64]) -> (f64, f64) {
    let values = &values[values.len() / 20..];
    let batches: Vec<f64> = values
        .chunks_exact(values.len() / 40)
        .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
        .collect();
    let n = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / n;
    let variance = batches.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Sends `count` packets, spaced by `gap`; those delivered, in order.
fn deliveries(config: Direction, count: u32, len: u32, gap: Span) -> Vec<(Time, u32)> {
    let mut rig = Rig::new(config);
    for number in 0..count {
        let now = Time::ZERO + gap * u64::from(number);
        rig.run_until(now);
        rig.send(now, packet(number, len));
    }
    rig.run_until(Time::MAX);
    rig.delivered()
}

/// `hits` out of `n` is what probability `p` gives, within three standard errors.
fn assert_binomial(hits: f64, n: u32, p: f64) {
    let n = f64::from(n);
    let error = (n * p * (1.0 - p)).sqrt();
    assert!((hits - n * p).abs() <= 3.0 * error, "{hits} of {n}, not {} +- {error}", n * p);
}

#[test]
fn packets_are_lost_as_often_as_said() {
    let n = 200_000;
    let microsecond = Span::from_micros(1);
    for p in [0.0, 0.003, 0.3, 1.0] {
        let loss = Bernoulli { p }.into();
        let through = deliveries(Direction { loss, ..Direction::default() }, n, 1500, microsecond).len();
        assert_binomial((n as usize - through) as f64, n, p);
    }
    for (len, form, p) in [
        (1500, BitErrorForm::Exact, 1.0 - (1.0 - 1e-5_f64).powi(12_000)),
        (40, BitErrorForm::Exact, 1.0 - (1.0 - 1e-5_f64).powi(320)),
        (1500, BitErrorForm::Linear, 0.12),
    ] {
        let loss = BitErrors { rate: 1e-5, form }.into();
        let through = deliveries(Direction { loss, ..Direction::default() }, n, len, microsecond).len();
        assert_binomial((n as usize - through) as f64, n, p);
    }
}

/// Losses of mixed lengths: each packet has the probability of its own length.
#[test]
fn bit_errors_strike_long_packets_more_often() {
    let loss = BitErrors { rate: 1e-5, form: BitErrorForm::Exact }.into();
    let mut rig = Rig::new(Direction { loss, ..Direction::default() });
    let pairs = 100_000;
    for number in 0..pairs {
        rig.send(Time::ZERO, packet(2 * number, 1500));
        rig.send(Time::ZERO, packet(2 * number + 1, 40));
    }
    rig.run_until(Time::MAX);
    let short = rig.delivered().iter().filter(|(_, number)| number % 2 == 1).count();
    let long = rig.delivered().len() - short;
    let lost = |through: usize| f64::from(pairs) - through as f64;
    assert_binomial(lost(long), pairs, 1.0 - (1.0 - 1e-5_f64).powi(12_000));
    assert_binomial(lost(short), pairs, 1.0 - (1.0 - 1e-5_f64).powi(320));
}

#[test]
fn packets_are_duplicated_as_often_as_said() {
    let n = 200_000;
    for p in [0.0, 0.01, 0.5, 1.0] {
        let config = Direction { duplicate: p, ..Direction::default() };
        let through = deliveries(config, n, 1500, Span::from_micros(1));
        assert_binomial((through.len() - n as usize) as f64, n, p);
        let different: BTreeSet<u32> = through.iter().map(|&(_, number)| number).collect();
        assert_eq!(different.len(), n as usize, "each comes once at least");
    }
}

#[test]
fn exactly_the_packets_held_back_are_overtaken() {
    let (n, p, gap, delay) = (100_000, 0.1, Span::from_millis(1), Span::from_millis(20));
    // Ten packets follow before a packet that was held back: that all of those are held back too is out of the question.
    let by = Span::from_micros(10_500);
    let config = Direction {
        reorder: Some(Reorder { p, by_ns: by.as_nanos() }),
        delay_ns: delay.as_nanos(),
        ..Direction::default()
    };
    let through = deliveries(config, n, 1500, gap);
    assert_eq!(through.len(), n as usize);

    let sent = |number: u32| Time::ZERO + gap * u64::from(number);
    let mut highest = 0;
    let (mut held_back, mut overtaken) = (BTreeSet::new(), BTreeSet::new());
    for (at, number) in through {
        match at - sent(number) {
            took if took == delay => {}
            took if took == delay + by => assert!(held_back.insert(number)),
            took => panic!("packet {number} took {took}"),
        }
        if number < highest {
            overtaken.insert(number);
        }
        highest = highest.max(number);
    }
    // Behind the last ones nothing follows that could overtake.
    held_back.retain(|&number| number < n - 11);
    overtaken.retain(|&number| number < n - 11);
    assert_eq!(overtaken, held_back);
    assert_binomial(held_back.len() as f64, n - 11, p);
}

#[test]
fn a_million_packets_leave_at_the_rate_to_the_nanosecond() {
    let n = 1_000_000_u32;
    for (bps, len) in [(3_000_000_000, 1500), (7_000_000_001, 1500), (1_000_000_000_000, 100), (9_600, 40)] {
        let mut rig = Rig::new(Direction { rate_bps: Some(bps), ..Direction::default() });
        for number in 0..n {
            rig.send(Time::ZERO, packet(number, len));
        }
        rig.run_until(Time::MAX);
        let bits = u128::from(n) * u128::from(len) * 8;
        let expected = (bits * 1_000_000_000 / u128::from(bps)) as u64;
        assert_eq!(rig.delivered().last().map(|&(at, _)| at.as_nanos()), Some(expected), "{bps} bit/s");
    }
}

/// A link behind one of the same rate never is the bottleneck, whatever part of a nanosecond packets take: neither
/// does its queue grow, nor does it deliver earlier than it could.
#[test]
fn two_links_of_one_rate_in_a_row_carry_that_rate() {
    let (n, len, bps) = (100_000_u32, 1500, 7_000_000_001_u64);
    let one_packet = Direction { rate_bps: Some(bps), queue_packets: Some(1), ..Direction::default() };
    let mut first = Rig::new(Direction { queue_packets: None, ..one_packet.clone() });
    let mut second = Rig::new(one_packet);
    for number in 0..n {
        first.send(Time::ZERO, packet(number, len));
    }
    first.run_until(Time::MAX);
    for (at, number) in first.delivered() {
        second.run_until(at);
        second.send(at, packet(number, len));
    }
    second.run_until(Time::MAX);
    let through = second.delivered();
    assert_eq!(through.len(), n as usize);
    let exact = |packets: u32| u128::from(packets) * u128::from(len) * 8_000_000_000 / u128::from(bps);
    for (&(at, _), packets) in through.iter().zip(2..) {
        let late = u128::from(at.as_nanos()).abs_diff(exact(packets));
        assert!(late <= 2, "packet {packets} is off by {late} ns");
    }
}
