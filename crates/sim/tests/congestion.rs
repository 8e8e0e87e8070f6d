//! What congestion controls promise, in the network: a queue that stays small, fairness, a pipe that stays full.
#![allow(missing_docs)]

mod common;

use common::*;
use voxpath_sim::plan::{App, Bulk, Direction, Loss, loss};
use voxpath_sim::{Data, Observe, Report};
use voxpath_tcp::{Config, Congestion, Profile};

const RATE: u64 = 20_000_000;
const ROUND_TRIP: u64 = 40 * MS;
/// Bandwidth-delay product in bytes.
const BDP: u64 = RATE / 8 * ROUND_TRIP / SECOND;

fn bottleneck(loss: Loss) -> Direction {
    // Room for five bandwidth-delay products: what fills it is the sender's choice.
    Direction { rate_bps: Some(RATE), queue_bytes: Some(5 * BDP), loss, ..wire(ROUND_TRIP / 2) }
}

fn named(name: &str) -> Congestion {
    Congestion::ALL.iter().find(|&&(known, _)| known == name).expect("the name is known").1
}

/// One bulk flow of Linux with this control, and its time series.
fn alone(name: &str, loss: Loss, seconds: u64) -> Report {
    let config = Config { congestion: named(name), ..Profile::Linux.config() };
    let mut plan =
        with_tcp(pipe(bottleneck(loss), wire(ROUND_TRIP / 2)), &config, App::Bulk(Bulk { bytes: None }));
    plan.duration_ns = Some(seconds * SECOND);
    run_observed(&plan, 0, &Observe { tcp: true, ..Observe::default() })
}

/// Values of a metric of the sender, by time.
fn series(report: &Report, metric: &str) -> Vec<(u64, u64)> {
    let table = table(report, "series");
    let label = |name: &str, wanted: &str| match column(table, name) {
        Data::Label { names, index } => {
            let at = names.iter().position(|name| name == wanted).expect("a known label") as u32;
            index.iter().map(|&index| index == at).collect::<Vec<bool>>()
        }
        other => panic!("{other:?}"),
    };
    let (Data::U64(times), Data::U64(values)) = (column(table, "time_ns"), column(table, "value")) else {
        panic!("numbers")
    };
    let (metrics, ends) = (label("metric", metric), label("end", "client"));
    let rows = times.iter().zip(values).zip(metrics.iter().zip(ends));
    rows.filter(|(_, (metric, end))| **metric && *end).map(|((&time, &value), _)| (time, value)).collect()
}

/// The largest value from a time on.
fn largest(series: &[(u64, u64)], from: u64) -> u64 {
    series.iter().filter(|(time, _)| *time >= from).map(|(_, value)| *value).max().expect("values")
}

fn goodput(report: &Report, seconds: u64) -> f64 {
    flow(report, "bytes_delivered", 0) as f64 * 8.0 / seconds as f64 / RATE as f64
}

#[test]
fn bbr_alone_holds_the_queue_under_one_and_a_half_bandwidth_delay_products() {
    // Startup fills up to 1.89 BDP of queue in a few round trips; drain and all that follows have to keep below.
    let report = alone("bbr", Loss::None, 30);
    let flight = series(&report, "flight_bytes");
    let queue = largest(&flight, SECOND).saturating_sub(BDP);
    assert!(queue < BDP * 3 / 2, "{queue} bytes of {BDP}");
    assert!(goodput(&report, 30) > 0.9, "{}", goodput(&report, 30));
    assert_eq!(of_end(&report, "client", "retransmissions", 0), 0);
}

#[test]
fn bbr_probes_the_round_trip_time_every_ten_seconds() {
    let report = alone("bbr", Loss::None, 30);
    let flight = series(&report, "flight_bytes");
    for from in [10, 20] {
        let low = flight
            .iter()
            .filter(|(time, _)| (from * SECOND..(from + 2) * SECOND).contains(time))
            .map(|(_, value)| *value)
            .min()
            .expect("values");
        assert!(low <= 5 * 1460, "{low} bytes at {from} s");
    }
}

#[test]
fn bbr_goes_through_losses_that_stop_cubic() {
    // Cardwell et al. 2016, figure 8: loss that has nothing to do with congestion
    let loss = || loss::Bernoulli { p: 0.02 }.into();
    let (bbr, cubic) = (goodput(&alone("bbr", loss(), 20), 20), goodput(&alone("cubic", loss(), 20), 20));
    assert!(bbr > 0.8 && cubic < 0.3, "{bbr} against {cubic}");
}

#[test]
fn vegas_alone_keeps_a_queue_of_a_few_segments_and_loses_nothing() {
    // Brakmo and Peterson 1995: between alpha and beta
    let report = alone("vegas", Loss::None, 30);
    let (settled, cwnd) = *series(&report, "cwnd_bytes").last().expect("a window");
    let queue = cwnd.saturating_sub(BDP);
    assert!(settled < 10 * SECOND, "it still moves at {settled} ns");
    assert!(queue < 8 * 1500, "{queue} bytes");
    assert!(goodput(&report, 30) > 0.85, "{}", goodput(&report, 30));
    assert_eq!(of_end(&report, "client", "retransmissions", 0), 0);
}

#[test]
fn cubic_follows_its_curve_between_losses() {
    // RFC 9438 section 4.2, figure 1; section 4.7 for what follows a window below the last plateau
    const SEGMENT: f64 = 1460.0;
    let config = Config {
        congestion: named("cubic"),
        window_scaling: true,
        receive_buffer: 16 << 20,
        send_buffer: 16 << 20,
        ..Profile::Rfc.config()
    };
    let there = Direction { rate_bps: Some(100_000_000), queue_bytes: Some(600_000), ..wire(50 * MS) };
    let mut plan = with_tcp(pipe(there, wire(50 * MS)), &config, App::Bulk(Bulk { bytes: None }));
    plan.duration_ns = Some(60 * SECOND);
    let report = run_observed(&plan, 0, &Observe { tcp: true, ..Observe::default() });
    let windows = series(&report, "cwnd_bytes");
    let in_segments = |bytes: u64| bytes as f64 / SEGMENT;
    let before = |at: u64| windows.iter().rev().find(|(time, _)| *time < at).map(|row| in_segments(row.1));
    // From the end of each repair to the next loss.
    let phases = series(&report, "phase");
    let (mut plateau, mut followed): (Option<f64>, usize) = (None, 0);
    for (i, &(lost, _)) in phases.iter().enumerate().filter(|(_, (_, phase))| *phase == 1) {
        let at_loss = before(lost).expect("a window");
        plateau = Some(match plateau {
            Some(last) if at_loss < last => at_loss * 1.7 / 2.0,
            _ => at_loss,
        });
        let Some(&(repaired, _)) = phases.get(i + 1) else { break };
        let end = phases.get(i + 2).map_or(u64::MAX, |&(time, _)| time);
        let stage: Vec<_> = windows.iter().filter(|row| (repaired..end).contains(&row.0)).collect();
        // The slow start's overshoot takes two repairs, one after the other.
        let (Some(&&(start, first)), Some(plateau)) = (stage.first(), plateau) else { continue };
        // Section 4.2: K is 0 where the window is beyond the plateau already.
        let plateau = plateau.max(in_segments(first));
        let k = ((plateau - in_segments(first)) / 0.4).cbrt();
        for &&(time, cwnd) in &stage {
            let t = (time - start) as f64 / SECOND as f64;
            let curve = 0.4 * (t - k).powi(3) + plateau;
            let off = in_segments(cwnd) / curve - 1.0;
            assert!(in_segments(cwnd) < 100.0 || off.abs() < 0.02, "{off} after {t} s of {k}");
            followed += 1;
        }
    }
    assert!(followed > 10_000, "{followed} windows");
}

#[test]
fn pacing_spreads_what_a_window_would_send_at_once() {
    // The flight grows by single segments, in place of a burst of ten at the start of a round trip.
    let jump = |pacing: bool| {
        // Linux spaces bursts; without offload they are single segments.
        let config = Config {
            pacing,
            segmentation_offload: false,
            congestion: named("cubic"),
            ..Profile::Linux.config()
        };
        let mut plan = with_tcp(
            pipe(bottleneck(Loss::None), wire(ROUND_TRIP / 2)),
            &config,
            App::Bulk(Bulk { bytes: Some(1_000_000) }),
        );
        plan.duration_ns = Some(SECOND);
        let report = run_observed(&plan, 0, &Observe { tcp: true, ..Observe::default() });
        let flight = series(&report, "flight_bytes");
        // The first window leaves unpaced.
        let later: Vec<u64> =
            flight.iter().filter(|(time, _)| *time > 60 * MS).map(|(_, value)| *value).collect();
        later.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or(0)
    };
    assert!(jump(true) <= 1460, "{}", jump(true));
    assert!(jump(false) > 1460);
}
