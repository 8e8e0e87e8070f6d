//! A second opinion on our TCP: tshark reads what a sniffer at each host would have seen, and has to come to the
//! same counts.
//!
//! Needs `tshark` (Debian package tshark, 4.0 or later) and fails without it: a check that skips itself is no check.
//!
//! tshark guesses from one capture what we know. Where its definitions (packet-tcp.c, `tcp_analyze_sequence_number`)
//! differ from ours, the tests say so and choose a set-up in which both mean the same:
//!
//! * It gives a segment whose octets it has seen before exactly one of four names: *spurious retransmission* if they
//!   were acknowledged already, *fast retransmission* within 20 ms of a third equal acknowledgment, *out-of-order*
//!   within the first round-trip time after the highest octet, else *retransmission*. In the capture of the host that
//!   sends them nothing can be out of order, so there all four together are our retransmissions.
//! * A *duplicate ACK* is an empty segment that repeats number, acknowledgment and window of the one before. RFC 5681
//!   wants unacknowledged data besides, and so do we: the two differ once everything has been acknowledged.
#![allow(missing_docs)]

mod common;

use common::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use voxpath_sim::plan::{App, Cbr, Direction, Download, Flow, Loss, Plan, Reorder, Transport, loss};
use voxpath_sim::{Data, Observe, Report};
use voxpath_tcp::{Config, Profile, Recovery};
use voxpath_units::Span;

const REPEATED: [&str; 4] = [
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
];

fn capture_both(snap_bytes: Option<u32>) -> Observe {
    Observe {
        capture: vec!["client".into(), "server".into()],
        packets: true,
        snap_bytes,
        ..Observe::default()
    }
}

/// A download of a megabyte over 10 Mbit/s and 40 ms, whose data packets `loss` strikes.
fn lossy_download(config: &Config, loss: Loss) -> Plan {
    let link = |loss| Direction { rate_bps: Some(10_000_000), loss, ..wire(20 * MS) };
    let app =
        App::Download(Download { request_bytes: 100, response_bytes: 1_000_000, requests: 1, pause_ns: 0 });
    with_tcp(pipe(link(Loss::None), link(loss)), config, app)
}

fn without_sack(recovery: Recovery) -> Config {
    Config { recovery, sack: false, receive_buffer: 60_000, ..Profile::Rfc.config() }
}

#[test]
fn tshark_counts_the_same_retransmissions_and_duplicate_acks() {
    for (recovery, timestamps) in [
        (Recovery::Tahoe, false),
        (Recovery::Reno, true),
        (Recovery::NewReno, false),
        (Recovery::NewReno, true),
    ] {
        let config = Config { timestamps, ..without_sack(recovery) };
        let report = run_observed(
            &lossy_download(&config, loss::Bernoulli { p: 0.02 }.into()),
            0,
            &capture_both(None),
        );
        let name = format!("loss-{recovery:?}-{timestamps}");
        let [client, server] = save(&name, &report);
        for file in [&client, &server] {
            assert_sound(file, &report);
        }
        let retransmissions = of_end(&report, "server", "retransmissions", 0);
        assert!(retransmissions > 10, "{name}: {retransmissions} is too few to tell");
        assert_eq!(server.count(Row::is_repeated), retransmissions, "{name}");
        let by_client = client.count(|row| row.is_outbound() && row.is_repeated());
        assert_eq!(by_client, 0, "{name}: the client repeats nothing");

        let duplicates = of_end(&report, "server", "duplicate_acks", 0);
        assert!(duplicates > 10, "{name}: {duplicates} is too few to tell");
        // Until the sender has an acknowledgment of all that it ever sent.
        let last = server.rows.iter().filter(|row| !row.is_outbound()).map(|row| row.number("tcp.ack")).max();
        let seen =
            server.count(|row| row.has("tcp.analysis.duplicate_ack") && Some(row.number("tcp.ack")) < last);
        assert_eq!(seen, duplicates, "{name}");

        assert_eq!(of_end(&report, "server", "probes", 0) + of_end(&report, "client", "probes", 0), 0);
        for zero in
            ["tcp.analysis.zero_window", "tcp.analysis.zero_window_probe", "tcp.analysis.window_update"]
        {
            assert_eq!(server.count(|row| row.has(zero)), 0, "{name}: applications read at once");
        }
    }
}

#[test]
fn tshark_counts_the_same_retransmissions_with_sack() {
    for (profile, p) in [(Profile::Rfc, 0.02), (Profile::Linux, 0.02), (Profile::Linux, 0.1)] {
        let report = run_observed(
            &lossy_download(&profile.config(), loss::Bernoulli { p }.into()),
            0,
            &capture_both(None),
        );
        let [client, server] = save(&format!("sack-{profile:?}-{p}"), &report);
        for file in [&client, &server] {
            assert_sound(file, &report);
        }
        let retransmissions = of_end(&report, "server", "retransmissions", 0);
        assert!(retransmissions > 10, "{retransmissions} is too few to tell");
        assert_eq!(server.count(Row::is_repeated), retransmissions, "{profile:?}");
        assert!(server.count(|row| row.has("tcp.options.sack_le")) > 10);
    }
}

/// With one segment in flight neither duplicate acknowledgments nor anything near in time can mislead tshark: every
/// repetition is a plain retransmission. The timer, not a guess, is what is compared.
#[test]
fn tshark_calls_what_a_timeout_repeats_a_retransmission() {
    let config = Config { receive_buffer: 1460, timestamps: false, ..without_sack(Recovery::Reno) };
    let mut plan = lossy_download(&config, loss::List { packets: vec![3, 8, 9, 30] }.into());
    plan.flows[0].app =
        App::Download(Download { request_bytes: 100, response_bytes: 50_000, requests: 1, pause_ns: 0 });
    let report = run_observed(&plan, 0, &capture_both(None));
    let [_, server] = save("timeouts", &report);
    assert_sound(&server, &report);
    assert_eq!(of_end(&report, "server", "timeouts", 0), 4);
    assert_eq!(server.count(|row| row.has("tcp.analysis.retransmission")), 4);
    assert_eq!(server.count(Row::is_repeated), of_end(&report, "server", "retransmissions", 0));
}

/// Isolated losses: each is one gap in what the receiver's host sees, three duplicate acknowledgments later one fast
/// retransmission leaves the sender's, and nothing else happens.
#[test]
fn tshark_sees_each_isolated_loss_as_one_gap_and_one_fast_retransmission() {
    let lost = vec![100, 250, 400, 600];
    let plan = lossy_download(&without_sack(Recovery::NewReno), loss::List { packets: lost.clone() }.into());
    let report = run_observed(&plan, 0, &capture_both(None));
    let [client, server] = save("isolated", &report);
    let losses = lost.len() as u64;
    assert_eq!(of_end(&report, "server", "fast_retransmits", 0), losses);
    assert_eq!(of_end(&report, "server", "timeouts", 0), 0);
    assert_eq!(server.count(|row| row.has("tcp.analysis.fast_retransmission")), losses);
    assert_eq!(server.count(Row::is_repeated), losses);
    assert_eq!(client.count(|row| row.has("tcp.analysis.lost_segment")), losses);
    assert_eq!(
        server.count(|row| row.has("tcp.analysis.lost_segment")),
        0,
        "the sender's host sees all that it sends"
    );
}

/// Packets overtaken by one or two others: never three duplicate acknowledgments, so nothing is sent again, and what
/// comes late is out of order by tshark's definition too (within the first round-trip time).
#[test]
fn tshark_sees_what_was_overtaken_as_out_of_order() {
    let mut plan = lossy_download(&without_sack(Recovery::NewReno), Loss::None);
    plan.links[0].ba.reorder = Some(Reorder { p: 0.03, by_ns: 2 * MS });
    let report = run_observed(&plan, 0, &capture_both(None));
    assert_eq!(of_end(&report, "server", "retransmissions", 0), 0);
    let [client, _] = save("reordered", &report);
    assert_sound(&client, &report);
    let overtaken = overtaken(&report);
    assert!(overtaken > 10, "{overtaken}");
    assert_eq!(client.count(|row| row.has("tcp.analysis.out_of_order")), overtaken);
}

/// Data packets that the link to the client delivered after one with higher numbers.
fn overtaken(report: &Report) -> u64 {
    let packets = table(report, "packets");
    let numbers = |name| match column(packets, name) {
        Data::U64(values) => values.clone(),
        Data::OptU64(values) => values.iter().map(|value| value.expect("TCP")).collect(),
        other => panic!("{name} has no numbers: {other:?}"),
    };
    let labels = |name| match column(packets, name) {
        Data::Label { names, index } => index.iter().map(|&i| names[i as usize].clone()).collect::<Vec<_>>(),
        other => panic!("{name} has no labels: {other:?}"),
    };
    let (links, actions) = (labels("link"), labels("action"));
    let (sizes, seqs) = (numbers("payload_bytes"), numbers("seq"));
    let delivered = (0..seqs.len())
        .filter(|&row| links[row] == "pipe ba" && actions[row] == "delivered" && sizes[row] > 0)
        .map(|row| seqs[row] as u32);
    let mut highest = None;
    let mut late = 0;
    for seq in delivered {
        let newer = highest.is_none_or(|highest: u32| seq.wrapping_sub(highest).cast_signed() > 0);
        if newer { highest = Some(seq) } else { late += 1 }
    }
    late
}

#[test]
fn a_short_snap_length_keeps_the_headers_and_with_them_the_analysis() {
    let plan = lossy_download(&without_sack(Recovery::NewReno), loss::Bernoulli { p: 0.02 }.into());
    let whole = run_observed(&plan, 0, &capture_both(None));
    let [_, whole_file] = save("snap-none", &whole);
    // 40 bytes of headers and 12 of timestamps, and a little of the payload.
    let snap = 60;
    let cut = run_observed(&plan, 0, &capture_both(Some(snap)));
    let [_, file] = save("snap", &cut);
    assert!(cut.captures[1].1.len() * 4 < whole.captures[1].1.len(), "payload is left out");
    assert_eq!(file.rows.len(), whole_file.rows.len());
    for (row, whole) in file.rows.iter().zip(&whole_file.rows) {
        assert_eq!(row.number("frame.cap_len"), whole.number("frame.len").min(snap.into()));
        assert!(!row.has("_ws.malformed"));
        for field in FIELDS.iter().filter(|field| !["frame.cap_len", "tcp.checksum.status"].contains(field)) {
            assert_eq!(row.text(field), whole.text(field), "{field}");
        }
    }
}

#[test]
fn tshark_reads_datagrams_over_both_families() {
    for (name, v6) in [("udp-v4", false), ("udp-v6", true)] {
        let mut plan = pipe(wire(10 * MS), wire(10 * MS));
        if v6 {
            for (last, node) in (1..).zip(&mut plan.nodes) {
                node.addresses = vec![std::net::Ipv6Addr::from((0xfd00_u128 << 112) + last).into()];
            }
        }
        let app = App::Cbr(Cbr { packet_bytes: 160, interval_ns: 20 * MS, packets: Some(50) });
        let transport = Transport::Udp;
        plan.flows.push(Flow {
            through: None,
            from_address: None,
            to_address: None,
            simulated: false,
            name: "voice".into(),
            from: 0,
            to: 1,
            start_ns: 0,
            transport,
            app,
        });
        plan.links[0].ab.loss = loss::List { packets: vec![1, 50] }.into();
        let report = run_observed(&plan, 0, &capture_both(None));
        let [client, server] = save(name, &report);
        let good = |row: &Row| {
            let ip = if v6 { row.has("ipv6.src") } else { row.text("ip.checksum.status") == GOOD };
            ip && row.text("udp.checksum.status") == GOOD && row.text("udp.length") == "168"
        };
        assert_eq!((client.count(good), client.rows.len()), (50, 50));
        assert_eq!((server.count(good), server.rows.len()), (48, 48));
        // The second datagram leaves after 20 ms and takes 10.
        assert_eq!(server.rows[0].text("frame.time_epoch"), "0.030000000");
    }
}

#[test]
fn tshark_analyses_tcp_over_ipv6_alike() {
    let config = Config { delayed_ack: no_delay(), ..without_sack(Recovery::NewReno) };
    let mut plan = lossy_download(&config, loss::Bernoulli { p: 0.02 }.into());
    for (last, node) in (1..).zip(&mut plan.nodes) {
        node.addresses = vec![std::net::Ipv6Addr::from((0xfd00_u128 << 112) + last).into()];
    }
    let report = run_observed(&plan, 0, &capture_both(None));
    let [client, server] = save("v6", &report);
    for file in [&client, &server] {
        assert_sound(file, &report);
    }
    assert_eq!(server.count(Row::is_repeated), of_end(&report, "server", "retransmissions", 0));
}

fn no_delay() -> voxpath_tcp::config::DelayedAck {
    voxpath_tcp::config::DelayedAck { max_delay: Span::ZERO, max_segments: 1, adaptive: false, quick: 0 }
}

/// Every packet is there once, whole, and with good checksums.
fn assert_sound(file: &CaptureFile, report: &Report) {
    let (sent, from_peer) = match file.host {
        "client" => ("client_packets_sent", "pipe ba"),
        _ => ("server_packets_sent", "pipe ab"),
    };
    assert_eq!(file.count(Row::is_outbound), flow(report, sent, 0), "{}", file.host);
    assert_eq!(file.count(|row| !row.is_outbound()), delivered(report, from_peer), "{}", file.host);
    for row in &file.rows {
        assert_eq!(row.text("tcp.checksum.status"), GOOD);
        assert!(row.has("ipv6.src") || row.text("ip.checksum.status") == GOOD);
        assert!(!row.has("_ws.malformed"));
        assert!(!row.text("_ws.expert.severity").split(',').any(|severity| severity == EXPERT_ERROR));
    }
}

/// Packets that a direction of a link delivered.
fn delivered(report: &Report, direction: &str) -> u64 {
    let elements = table(report, "elements");
    let text = |name| match column(elements, name) {
        Data::Text(values) => values,
        other => panic!("{name} is no text: {other:?}"),
    };
    let (places, kinds) = (text("place"), text("element"));
    let Data::U64(out) = column(elements, "packets_out") else { panic!("elements count packets") };
    let row = (0..out.len()).find(|&row| places[row] == direction && kinds[row] == "delay");
    out[row.expect("the link has a delay line")]
}

/// The captures of client and server, as tshark reads them.
fn save(name: &str, report: &Report) -> [CaptureFile; 2] {
    ["client", "server"].map(|host| {
        let (_, bytes) = report.captures.iter().find(|(of, _)| of == host).expect("it was captured");
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{host}.pcapng"));
        std::fs::write(&path, bytes).expect("the target folder is writable");
        CaptureFile { host, rows: tshark(&path) }
    })
}

/// What tshark says of each packet.
struct CaptureFile {
    host: &'static str,
    rows: Vec<Row>,
}

/// One packet: its value of each of [`FIELDS`], empty if it has none.
struct Row(Vec<String>);

const FIELDS: [&str; 23] = [
    "frame.time_epoch",
    "frame.len",
    "frame.cap_len",
    "frame.packet_flags_direction",
    "_ws.malformed",
    "_ws.expert.severity",
    "ip.checksum.status",
    "ipv6.src",
    "tcp.checksum.status",
    "udp.checksum.status",
    "udp.length",
    "tcp.seq",
    "tcp.ack",
    "tcp.options.sack_le",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.lost_segment",
    "tcp.analysis.zero_window",
    "tcp.analysis.zero_window_probe",
    "tcp.analysis.window_update",
];

/// tshark's numbers for a checksum that holds, and for the severity of an error.
const GOOD: &str = "1";
const EXPERT_ERROR: &str = "8388608";

impl CaptureFile {
    fn count(&self, wanted: impl Fn(&Row) -> bool) -> u64 {
        self.rows.iter().filter(|row| wanted(row)).count() as u64
    }
}

impl Row {
    fn text(&self, field: &str) -> &str {
        &self.0[FIELDS.iter().position(|known| *known == field).expect("a field that was asked for")]
    }

    fn has(&self, field: &str) -> bool {
        !self.text(field).is_empty()
    }

    fn number(&self, field: &str) -> u64 {
        self.text(field).parse().expect("a number")
    }

    fn is_outbound(&self) -> bool {
        self.text("frame.packet_flags_direction") == "0x00000002"
    }

    fn is_repeated(&self) -> bool {
        REPEATED.iter().any(|name| self.has(name))
    }
}

/// One look at a file: starting tshark takes longer than reading.
fn tshark(path: &Path) -> Vec<Row> {
    let output = Command::new("tshark")
        .args(["-n", "-T", "fields", "-r"])
        .arg(path)
        .args(["ip", "tcp", "udp"].map(|protocol| format!("-o{protocol}.check_checksum:TRUE")))
        .args(FIELDS.iter().flat_map(|field| ["-e", field]))
        .output()
        .expect("this test needs tshark: install Debian's package tshark, or Wireshark");
    // What tshark writes to stderr beside failing is advice, such as not to run it as root.
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed: {stderr}");
    let text = String::from_utf8(output.stdout).expect("tshark writes UTF-8");
    text.lines().map(|line| Row(line.split('\t').map(str::to_owned).collect())).collect()
}
