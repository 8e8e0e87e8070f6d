//! What can be computed by hand has to come out.
#![allow(missing_docs)]

mod common;

use common::*;
use voxpath_sim::Data;
use voxpath_sim::plan::{App, Bulk, Download, Framing};
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
    assert_eq!(of_end(&report, "server", "retransmissions", 0), 0);
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
        let mut plan = with_tcp(
            pipe(bottleneck(20 * MS), bottleneck(20 * MS)),
            &config,
            App::Bulk(Bulk { bytes: None }),
        );
        plan.duration_ns = Some(seconds * SECOND);
        flow(&run(&plan, 0), "bytes_delivered", 0)
    };
    let goodput = (bytes_until(60) - bytes_until(10)) as f64 * 8.0 / 50.0;
    let expected = 10e6 * 1460.0 / 1538.0;
    assert!((goodput / expected - 1.0).abs() < 0.005, "{goodput} against {expected} bit/s");
}

#[test]
fn a_voice_request_is_answered_a_round_trip_after_it_was_spoken() {
    let (round_trip, processing, spoken, pause) = (40 * MS, 50 * MS, 8 * 300 * MS, 4 * SECOND);
    let plan = with_tcp(pipe(wire(20 * MS), wire(20 * MS)), &window_limited(), voice());
    let report = run(&plan, 0);
    assert_eq!(messages(&report, 0), [round_trip; 24]);
    assert_eq!(responses(&report, 0), [round_trip + processing; 3]);
    let each = spoken + round_trip + processing;
    assert_eq!(flow(&report, "completed_ns", 0), round_trip + 3 * each + 2 * pause);
    assert_eq!(flow(&report, "bytes_delivered", 0), 3 * (8 * 100 + 750));

    let requests = table(&report, "requests");
    let sent: Vec<u64> = (0..3).map(|number| round_trip + number * (each + pause)).collect();
    let after = |ns: u64| Data::OptU64(sent.iter().map(|sent| Some(sent + ns)).collect());
    assert_eq!(*column(requests, "sent_ns"), Data::U64(sent.clone()));
    assert_eq!(*column(requests, "last_byte_sent_ns"), after(spoken));
    assert_eq!(*column(requests, "first_byte_ns"), after(round_trip));
    assert_eq!(*column(requests, "completed_ns"), after(each));
    assert_eq!(*column(requests, "partials_in_time"), Data::OptU64(vec![Some(8); 3]));
}

/// What the socket cannot take waits: on a link slower than the speaker the request is spoken long before it is sent,
/// and not an octet is left out.
#[test]
fn speech_faster_than_the_link_is_late_and_whole() {
    let mut slow = wire(20 * MS);
    slow.rate_bps = Some(50_000);
    slow.queue_packets = Some(1_000);
    let config = Config { send_buffer: 4_000, ..window_limited() };
    let report = run(&with_tcp(pipe(slow, wire(20 * MS)), &config, voice()), 0);
    assert_eq!((status(&report, 0), responses(&report, 0).len()), ("completed", 3));
    let times = |name| match column(table(&report, "requests"), name) {
        Data::U64(values) => values.clone(),
        Data::OptU64(values) => values.iter().map(|value| value.expect("completed")).collect(),
        other => panic!("{other:?}"),
    };
    // All but what the socket holds has left before its last octet is taken.
    let least = (9 * 2475 - 4_000) * 8 * SECOND / 50_000;
    for (sent, taken) in times("sent_ns").into_iter().zip(times("last_byte_sent_ns")) {
        assert!(taken - sent > least.max(8 * 300 * MS), "{} ms", (taken - sent) / MS);
    }
}

#[test]
fn a_download_has_responses_and_no_partial_answers() {
    let app =
        App::Download(Download { request_bytes: 100, response_bytes: 1000, requests: 2, pause_ns: SECOND });
    let plan = with_tcp(pipe(wire(20 * MS), wire(20 * MS)), &window_limited(), app);
    let report = run(&with_tcp(plan, &window_limited(), App::Bulk(Bulk { bytes: Some(1) })), 0);
    assert_eq!(responses(&report, 0), [40 * MS; 2]);
    assert!(responses(&report, 1).is_empty());
    assert!(report.tables.iter().all(|table| table.name != "messages"));
    assert_eq!(*column(table(&report, "requests"), "partials_in_time"), Data::OptU64(vec![None, None]));
}
