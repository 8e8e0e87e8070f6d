//! Losses in bursts and delays with a distribution, against what theory says of their chains and distributions. Seeds
//! are fixed; bounds are standard errors.
#![allow(missing_docs)]

mod common;

use common::{Rig, packet};
use voxpath_net::element::delay::{DelayVariation, Normal, Pareto};
use voxpath_net::element::loss::{FourState, GilbertElliott, Outages, Trace};
use voxpath_net::element::{Delay, Loss};
use voxpath_net::{Direction, Seed, Stream};
use voxpath_units::{Span, Time};

fn stream() -> Stream {
    Seed::new(11, 0).stream("link x ab loss")
}

/// Whether each of `n` packets is lost.
fn lost(loss: impl Into<Loss>, n: usize) -> Vec<bool> {
    let (mut process, mut stream) = (loss.into().process(&stream()), stream());
    (0..n).map(|_| process.loses(Time::ZERO, 1500, &mut stream)).collect()
}

/// Lengths of the runs of `value`.
fn runs(seen: &[bool], value: bool) -> Vec<f64> {
    seen.chunk_by(|a, b| a == b).filter(|run| run[0] == value).map(|run| run.len() as f64).collect()
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn assert_mean(values: &[f64], expected: f64, what: &str) {
    let (mean, error) = mean_and_error(values);
    assert!(error < 0.03 * expected, "{what}: {error} is too coarse beside {expected}");
    assert!((mean - expected).abs() < 3.5 * error, "{what}: {mean} +- {error}, not {expected}");
}

/// Gilbert's model loses in runs of 1/r packets on average, 1/p apart, both geometric.
#[test]
fn gilberts_losses_come_in_geometric_runs() {
    for (p, r) in [(0.01, 0.3), (0.1, 0.5), (0.3, 0.1)] {
        let chain = GilbertElliott { to_bad: p, to_good: r, loss_good: 0.0, loss_bad: 1.0 };
        let seen = lost(chain, 1_000_000);
        let (bursts, gaps) = (runs(&seen, true), runs(&seen, false));
        assert_mean(&bursts, 1.0 / r, "burst");
        assert_mean(&gaps, 1.0 / p, "gap");
        for length in 1..5 {
            let longer = bursts.iter().filter(|&&run| run > f64::from(length)).count() as f64;
            let expected = (1.0 - r).powi(length);
            let n = bursts.len() as f64;
            let error = (n * expected * (1.0 - expected)).sqrt();
            assert!((longer - n * expected).abs() < 3.5 * error, "p {p}, r {r}: longer than {length}");
        }
    }
}

/// Elliott's extension: each state has its own probability, the states the stationary shares r / (p + r) and p / (p + r).
#[test]
fn elliotts_states_lose_with_their_own_probability() {
    let (p, r, good, bad) = (0.02, 0.1, 0.001, 0.4);
    let seen = lost(GilbertElliott { to_bad: p, to_good: r, loss_good: good, loss_bad: bad }, 2_000_000);
    let batches: Vec<f64> = seen
        .chunks(20_000)
        .map(|batch| batch.iter().filter(|lost| **lost).count() as f64 / 20_000.0)
        .collect();
    assert_mean(&batches, (r * good + p * bad) / (p + r), "loss");
    // A loss is followed by another one if the chain is still, or again, in the state that loses.
    let in_bad = p * bad / (p * bad + r * good);
    let again = in_bad * ((1.0 - r) * bad + r * good) + (1.0 - in_bad) * (p * bad + (1.0 - p) * good);
    let followed: Vec<f64> =
        seen.windows(2).filter(|pair| pair[0]).map(|pair| f64::from(u8::from(pair[1]))).collect();
    assert_mean(&followed, again, "loss after loss");
}

/// The chain of four states, by its stationary shares, found here by iteration.
#[test]
fn four_states_lose_by_their_stationary_shares() {
    let (p13, p31, p32, p23, p14) = (0.02, 0.25, 0.35, 0.5, 0.01);
    let step = |x: [f64; 4]| {
        [
            x[0] * (1.0 - p13 - p14) + x[2] * p31 + x[3],
            x[1] * (1.0 - p23) + x[2] * p32,
            x[0] * p13 + x[1] * p23 + x[2] * (1.0 - p31 - p32),
            x[0] * p14,
        ]
    };
    let share = (0..10_000).fold([1.0, 0.0, 0.0, 0.0], |x, _| step(x));
    let seen = lost(FourState { p13, p31, p32, p23, p14 }, 2_000_000);
    let batches: Vec<f64> = seen
        .chunks(20_000)
        .map(|batch| batch.iter().filter(|lost| **lost).count() as f64 / 20_000.0)
        .collect();
    assert_mean(&batches, share[2] + share[3], "loss");
    // Runs of losses: one from state 4, others of geometric length from state 3, of which one in so many starts.
    let starts = share[0] * p13 + share[1] * p23;
    let runs_mean = (share[2] + share[3]) / (starts + share[3]);
    assert_mean(&runs(&seen, true), runs_mean, "run of losses");
}

#[test]
fn outages_and_traces_lose_exactly_what_they_say() {
    let second = Span::from_secs;
    let ns = |at| second(at).as_nanos();
    let outages = Outages { outages: vec![(ns(3), ns(5))], period_ns: Some(ns(10)) };
    let mut outages = Loss::from(outages).process(&stream());
    let mut unused = stream();
    let times: Vec<u64> =
        (0..30).filter(|&at| outages.loses(Time::ZERO + second(at), 1500, &mut unused)).collect();
    assert_eq!(times, [3, 4, 13, 14, 23, 24]);

    let seen = lost(Trace { lost: "01100".into() }, 12);
    let numbers: Vec<usize> = (0..12).filter(|&i| seen[i]).collect();
    assert_eq!(numbers, [1, 2, 6, 7, 11]);
}

const MS: u64 = 1_000_000;

/// Delays of packets, which may overtake each other, by a mean or a least delay in milliseconds.
fn draws(ms: u64, variation: impl Into<DelayVariation>, n: usize) -> Vec<f64> {
    let mut delay = Delay::new(ms * MS, Some(&variation.into()));
    let mut stream = stream();
    (0..n).map(|_| delay.of(Time::ZERO, &mut stream).as_secs_f64()).collect()
}

/// Correlation of neighbours.
fn correlation(values: &[f64]) -> f64 {
    let (mean, _) = mean_and_error(values);
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let common: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    common / variance
}

#[test]
fn normal_delays_have_their_mean_deviation_and_correlation() {
    let n = 400_000;
    for rho in [0.0, 0.25, 0.9] {
        let values = draws(50, Normal { deviation_ns: 5 * MS, correlation: rho, overtaking: true }, n);
        let (mean, error) = mean_and_error(&values);
        // A correlated sequence of n says as much as n (1 - rho) / (1 + rho) independent values.
        let less = ((1.0 + rho) / (1.0 - rho)).sqrt();
        assert!((mean - 0.050).abs() < 3.5 * error * less, "rho {rho}: mean {mean}");
        let deviation = error * (n as f64).sqrt();
        assert!((deviation / 0.005 - 1.0).abs() < 0.01 * less, "rho {rho}: deviation {deviation}");
        let found = correlation(&values);
        assert!((found - rho).abs() < 0.01, "rho {rho}: {found}");
        let beyond = values.iter().filter(|&&s| s > 0.055).count() as f64 / n as f64;
        assert!((beyond - 0.158_655).abs() < 0.003 * less, "rho {rho}: {beyond} above one deviation");
    }
    // What would be negative is none.
    let values = draws(0, Normal { deviation_ns: 5 * MS, correlation: 0.0, overtaking: true }, 10_000);
    let none = values.iter().filter(|&&s| s == 0.0).count() as f64;
    assert!((none - 5_000.0).abs() < 3.5 * 50.0, "{none}");
}

#[test]
fn pareto_delays_have_their_tail_whatever_the_correlation() {
    let (n, shape) = (400_000, 3.0);
    for rho in [0.0, 0.5] {
        let values = draws(20, Pareto { shape, correlation: rho, overtaking: true }, n);
        let less = ((1.0 + rho) / (1.0 - rho)).sqrt();
        assert!(values.iter().all(|&s| s >= 0.020));
        let (mean, error) = mean_and_error(&values);
        assert!((mean - 0.020 * shape / (shape - 1.0)).abs() < 4.0 * error * less, "rho {rho}: mean {mean}");
        for times in [1.5, 2.0, 4.0] {
            let p = f64::powf(times, -shape);
            let beyond = values.iter().filter(|&&s| s > 0.020 * times).count() as f64;
            let error = (n as f64 * p * (1.0 - p)).sqrt();
            assert!(
                (beyond - n as f64 * p).abs() < 3.5 * error * less,
                "rho {rho}: beyond {times}: {beyond}"
            );
        }
        // What is correlated as said are the normal values behind the delays.
        let quantile = |s: &f64| normal_quantile(1.0 - (0.020 / s).powf(shape));
        let found = correlation(&values[..40_000].iter().map(quantile).collect::<Vec<f64>>());
        assert!((found - rho).abs() < 0.02, "rho {rho}: {found}");
    }
}

/// By bisection of the distribution function, which is Simpson's integral of the density.
fn normal_quantile(p: f64) -> f64 {
    let below = |x: f64| {
        0.5 + x / 60.0
            * (0..=20)
                .map(|i| {
                    let t = x * f64::from(i) / 20.0;
                    let weight = if i == 0 || i == 20 {
                        1.0
                    } else if i % 2 == 1 {
                        4.0
                    } else {
                        2.0
                    };
                    weight * (-t * t / 2.0).exp()
                })
                .sum::<f64>()
            / (2.0 * std::f64::consts::PI).sqrt()
    };
    let (mut low, mut high) = (-6.0, 6.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if below(middle) < p { low = middle } else { high = middle }
    }
    low
}

#[test]
fn packets_keep_their_order_unless_it_is_not_asked_for() {
    let arrived = |overtaking| {
        let normal = Normal { deviation_ns: 10 * MS, correlation: 0.0, overtaking };
        let delay_variation = Some(normal.into());
        let mut rig = Rig::new(Direction { delay_ns: 50 * MS, delay_variation, ..Direction::default() });
        for number in 0..10_000 {
            let now = Time::ZERO + Span::from_millis(1) * u64::from(number);
            rig.run_until(now);
            rig.send(now, packet(number, 100));
        }
        rig.run_until(Time::MAX);
        rig.delivered()
    };
    let ordered = arrived(false);
    let free = arrived(true);
    assert!(ordered.iter().map(|&(_, number)| number).is_sorted());
    assert!(!free.iter().map(|&(_, number)| number).is_sorted());
    // Each waits for the latest of those before it, and for nothing else.
    let mut own: Vec<(u32, Time)> = free.iter().map(|&(at, number)| (number, at)).collect();
    own.sort_unstable();
    let mut latest = Time::ZERO;
    for ((at, number), (same, alone)) in ordered.into_iter().zip(own) {
        latest = latest.max(alone);
        assert_eq!((at, number), (latest, same));
    }
}
