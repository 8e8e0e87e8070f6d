//! What can be computed by hand has to come out.
#![allow(missing_docs)]

mod common;

use common::*;
use voxpath_sim::plan::{App, Framing};
use voxpath_tcp::{Config, Profile};

/// Completion of a download without loss or rate: handshake, request, slow start up to the window, then a window a
/// round trip. Seconds.
fn window_limited_download(bytes: u64, mss: u64, window: u64, initial: u64, one_way: f64) -> f64 {
    let rtt = 2.0 * one_way;
    let segments = bytes.div_ceil(mss);
    let full = window / mss;
    // Rounds of slow start before the window is reached; with an initial window above it there are none.
    let (mut rounds, mut sent, mut round) = (0_u64, 0, initial.min(full));
    while round < full && sent + round < segments {
        sent += round;
        rounds += 1;
        round = (round * 2).min(full);
    }
    let rounds = rounds + (segments - sent).div_ceil(full);
    // One round trip of handshake; the first data arrives one after the request left, each round one after the other.
    rtt + rtt + (rounds - 1) as f64 * rtt
}

#[test]
fn a_window_limited_download_takes_a_window_a_round_trip() {
    let config = window_limited();
    let plan = with_tcp(pipe(wire(20 * MS), wire(20 * MS)), &config, download());
    let report = run(&plan, 0);
    let ours = flow(&report, "completed_ns", 0) as f64 / 1e9;
    let expected = window_limited_download(10_000_000, 1460, 8760, 10, 0.020);
    assert!((ours / expected - 1.0).abs() < 0.005, "{ours} s against {expected} s");
    assert_eq!(flow(&report, "server_retransmissions", 0), 0);
    assert_eq!(flow(&report, "bytes_delivered", 0), 10_000_000);
}

#[test]
fn a_bottleneck_carries_its_rate_less_the_headers() {
    let bottleneck = |delay| {
        let mut direction = wire(delay);
        direction.rate_bps = Some(10_000_000);
        direction.framing = Framing::Ethernet;
        direction.queue_packets = Some(100);
        direction
    };
    let config = Config { timestamps: false, ..Profile::Rfc.config() };
    let bytes_until = |seconds: u64| {
        let mut plan =
            with_tcp(pipe(bottleneck(20 * MS), bottleneck(20 * MS)), &config, App::Bulk { bytes: None });
        plan.duration_ns = Some(seconds * SECOND);
        flow(&run(&plan, 0), "bytes_delivered", 0)
    };
    let goodput = (bytes_until(60) - bytes_until(10)) as f64 * 8.0 / 50.0;
    let expected = 10e6 * 1460.0 / 1538.0;
    assert!((goodput / expected - 1.0).abs() < 0.005, "{goodput} against {expected} bit/s");
}
