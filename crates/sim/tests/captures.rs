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
use std::path::PathBuf;
use std::process::Command;
use voxpath_sim::plan::{App, Direction, Flow, Loss, Plan, Reorder, Transport};
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
    let app = App::Download { request_bytes: 100, response_bytes: 1_000_000, requests: 1, pause_ns: 0 };
    with_tcp(pipe(link(Loss::None), link(loss)), config, app)
}

fn without_sack(recovery: Recovery) -> Config {
    Config { recovery, sack: false, receive_buffer: 60_000, ..Profile::Rfc.config() }
}

#[test]
fn tshark_counts_the_same_retransmissions_and_duplicate_acks() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno] {
        for timestamps in [false, true] {
            let config = Config { timestamps, ..without_sack(recovery) };
            let report =
                run_observed(&lossy_download(&config, Loss::Bernoulli { p: 0.02 }), 0, &capture_both(None));
            let name = format!("loss-{recovery:?}-{timestamps}");
            let [client, server] = save(&name, &report);
            for file in [&client, &server] {
                assert_sound(file, &report);
            }
            let retransmissions = flow(&report, "server_retransmissions", 0);
            assert!(retransmissions > 10, "{name}: {retransmissions} is too few to tell");
            assert_eq!(server.count(&REPEATED.join(" || ")), retransmissions, "{name}");
            assert_eq!(
                client.count(&outbound(&REPEATED.join(" || "))),
                0,
                "{name}: the client repeats nothing"
            );

            let duplicates = flow(&report, "server_duplicate_acks", 0);
            assert!(duplicates > 10, "{name}: {duplicates} is too few to tell");
            // Until the sender has an acknowledgment of all that it ever sent.
            let unfinished = format!("tcp.ack < {}", server.highest_ack());
            assert_eq!(
                server.count(&format!("tcp.analysis.duplicate_ack && {unfinished}")),
                duplicates,
                "{name}"
            );

            assert_eq!(flow(&report, "server_probes", 0) + flow(&report, "client_probes", 0), 0);
            assert_eq!(server.count("tcp.analysis.zero_window || tcp.analysis.zero_window_probe"), 0);
        }
    }
}

#[test]
fn tshark_counts_the_same_retransmissions_with_sack() {
    for (profile, p) in [(Profile::Rfc, 0.02), (Profile::Linux, 0.02), (Profile::Linux, 0.1)] {
        let report =
            run_observed(&lossy_download(&profile.config(), Loss::Bernoulli { p }), 0, &capture_both(None));
        let [client, server] = save(&format!("sack-{profile:?}-{p}"), &report);
        for file in [&client, &server] {
            assert_sound(file, &report);
        }
        let retransmissions = flow(&report, "server_retransmissions", 0);
        assert!(retransmissions > 10, "{retransmissions} is too few to tell");
        assert_eq!(server.count(&REPEATED.join(" || ")), retransmissions, "{profile:?}");
        assert!(server.count("tcp.options.sack") > 10);
    }
}

/// With one segment in flight neither duplicate acknowledgments nor anything near in time can mislead tshark: every
/// repetition is a plain retransmission. The timer, not a guess, is what is compared.
#[test]
fn tshark_calls_what_a_timeout_repeats_a_retransmission() {
    let config = Config { receive_buffer: 1460, timestamps: false, ..without_sack(Recovery::Reno) };
    let mut plan = lossy_download(&config, Loss::List { packets: vec![3, 8, 9, 30] });
    plan.flows[0].app =
        App::Download { request_bytes: 100, response_bytes: 50_000, requests: 1, pause_ns: 0 };
    let report = run_observed(&plan, 0, &capture_both(None));
    let [_, server] = save("timeouts", &report);
    assert_sound(&server, &report);
    assert_eq!(flow(&report, "server_timeouts", 0), 4);
    assert_eq!(server.count("tcp.analysis.retransmission"), 4);
    assert_eq!(server.count(&REPEATED.join(" || ")), flow(&report, "server_retransmissions", 0));
}

/// Isolated losses: each is one gap in what the receiver's host sees, three duplicate acknowledgments later one fast
/// retransmission leaves the sender's, and nothing else happens.
#[test]
fn tshark_sees_each_isolated_loss_as_one_gap_and_one_fast_retransmission() {
    let lost = vec![100, 250, 400, 600];
    let plan = lossy_download(&without_sack(Recovery::NewReno), Loss::List { packets: lost.clone() });
    let report = run_observed(&plan, 0, &capture_both(None));
    let [client, server] = save("isolated", &report);
    let losses = lost.len() as u64;
    assert_eq!(flow(&report, "server_fast_retransmits", 0), losses);
    assert_eq!(flow(&report, "server_timeouts", 0), 0);
    assert_eq!(server.count("tcp.analysis.fast_retransmission"), losses);
    assert_eq!(server.count(&REPEATED.join(" || ")), losses);
    assert_eq!(client.count("tcp.analysis.lost_segment"), losses);
    assert_eq!(server.count("tcp.analysis.lost_segment"), 0, "the sender's host sees all that it sends");
}

/// Packets overtaken by one or two others: never three duplicate acknowledgments, so nothing is sent again, and what
/// comes late is out of order by tshark's definition too (within the first round-trip time).
#[test]
fn tshark_sees_what_was_overtaken_as_out_of_order() {
    let mut plan = lossy_download(&without_sack(Recovery::NewReno), Loss::None);
    plan.links[0].ba.reorder = Some(Reorder { p: 0.03, by_ns: 2 * MS });
    let report = run_observed(&plan, 0, &capture_both(None));
    assert_eq!(flow(&report, "server_retransmissions", 0), 0);
    let [client, _] = save("reordered", &report);
    assert_sound(&client, &report);
    let overtaken = overtaken(&report);
    assert!(overtaken > 10, "{overtaken}");
    assert_eq!(client.count("tcp.analysis.out_of_order"), overtaken);
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

/// The initial window is smaller than what comes with the first segment, and the receiver's buffer opens later.
#[test]
fn a_short_snap_length_keeps_the_headers_and_with_them_the_analysis() {
    let plan = lossy_download(&without_sack(Recovery::NewReno), Loss::Bernoulli { p: 0.02 });
    let whole = run_observed(&plan, 0, &capture_both(None));
    let [_, whole_file] = save("snap-none", &whole);
    for snap in [80, 100] {
        let cut = run_observed(&plan, 0, &capture_both(Some(snap)));
        let [_, file] = save(&format!("snap-{snap}"), &cut);
        assert!(cut.captures[1].1.len() * 4 < whole.captures[1].1.len(), "payload is left out");
        assert_eq!(file.count(&format!("frame.cap_len > {snap}")), 0);
        assert_eq!(file.count("_ws.malformed"), 0);
        for fields in [&["frame.time_epoch", "frame.len", "ip.src", "tcp.seq", "tcp.ack"][..], &REPEATED] {
            assert_eq!(file.fields(fields), whole_file.fields(fields));
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
        let app = App::Cbr { packet_bytes: 160, interval_ns: 20 * MS, packets: Some(50) };
        let transport = Transport::Udp;
        plan.flows.push(Flow { name: "voice".into(), from: 0, to: 1, start_ns: 0, transport, app });
        plan.links[0].ab.loss = Loss::List { packets: vec![1, 50] };
        let report = run_observed(&plan, 0, &capture_both(None));
        let [client, server] = save(name, &report);
        assert_eq!(client.count("udp.checksum.status == \"Good\" && udp.length == 168"), 50);
        assert_eq!(server.count("udp.checksum.status == \"Good\" && udp.length == 168"), 48);
        assert_eq!(server.count(if v6 { "ipv6" } else { "ip.checksum.status == \"Good\"" }), 48);
        // The second datagram leaves after 20 ms and takes 10.
        assert_eq!(server.fields(&["frame.time_epoch"])[0], ["0.030000000"]);
    }
}

#[test]
fn tshark_analyses_tcp_over_ipv6_alike() {
    let config = Config { delayed_ack: no_delay(), ..without_sack(Recovery::NewReno) };
    let mut plan = lossy_download(&config, Loss::Bernoulli { p: 0.02 });
    for (last, node) in (1..).zip(&mut plan.nodes) {
        node.addresses = vec![std::net::Ipv6Addr::from((0xfd00_u128 << 112) + last).into()];
    }
    let report = run_observed(&plan, 0, &capture_both(None));
    let [client, server] = save("v6", &report);
    for file in [&client, &server] {
        assert_sound(file, &report);
    }
    assert_eq!(server.count(&REPEATED.join(" || ")), flow(&report, "server_retransmissions", 0));
}

fn no_delay() -> voxpath_tcp::config::DelayedAck {
    voxpath_tcp::config::DelayedAck { max_delay: Span::ZERO, max_segments: 1 }
}

/// Every packet is there once, whole, and with good checksums.
fn assert_sound(file: &CaptureFile, report: &Report) {
    let ours = if file.host == "client" { 0 } else { 1 };
    let sent = ["client_packets_sent", "server_packets_sent"].map(|name| flow(report, name, 0));
    assert_eq!(file.count(&outbound("tcp")), sent[ours], "{}", file.host);
    let lost = |direction: &str| {
        let elements = table(report, "elements");
        let (Data::Text(places), Data::Text(kinds)) =
            (column(elements, "place"), column(elements, "element"))
        else {
            panic!("elements have places and names")
        };
        let Data::U64(left) = column(elements, "packets_out") else { panic!("elements count") };
        let row = (0..places.len())
            .find(|&row| places[row] == format!("pipe {direction}") && kinds[row] == "delay");
        left[row.expect("the link has a delay line")]
    };
    let delivered = lost(if ours == 0 { "ba" } else { "ab" });
    assert_eq!(file.count("frame.packet_flags_direction == 1"), delivered, "{}", file.host);
    assert_eq!(file.count("tcp.checksum.status == \"Good\""), sent[ours] + delivered);
    assert_eq!(file.count("ip && !(ip.checksum.status == \"Good\")"), 0);
    assert_eq!(file.count("_ws.malformed || _ws.expert.severity == \"Error\""), 0);
}

fn outbound(filter: &str) -> String {
    format!("frame.packet_flags_direction == 2 && ({filter})")
}

/// The captures of client and server, on disk.
fn save(name: &str, report: &Report) -> [CaptureFile; 2] {
    ["client", "server"].map(|host| {
        let (_, bytes) = report.captures.iter().find(|(of, _)| of == host).expect("it was captured");
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{host}.pcapng"));
        std::fs::write(&path, bytes).expect("the target folder is writable");
        CaptureFile { host, path }
    })
}

struct CaptureFile {
    host: &'static str,
    path: PathBuf,
}

impl CaptureFile {
    /// How many packets match the display filter.
    fn count(&self, filter: &str) -> u64 {
        self.tshark(&["-Y", filter, "-T", "fields", "-e", "frame.number"]).lines().count() as u64
    }

    /// The last acknowledgment number that the host received.
    fn highest_ack(&self) -> u64 {
        let inbound = "frame.packet_flags_direction == 1";
        let acks = self.tshark(&["-Y", inbound, "-T", "fields", "-e", "tcp.ack"]);
        acks.lines().filter_map(|ack| ack.parse().ok()).max().expect("an acknowledgment")
    }

    /// One row per packet, one column per field.
    fn fields(&self, fields: &[&str]) -> Vec<Vec<String>> {
        let mut arguments = vec!["-T", "fields"];
        for field in fields {
            arguments.extend(["-e", field]);
        }
        self.tshark(&arguments).lines().map(|row| row.split('\t').map(str::to_owned).collect()).collect()
    }

    fn tshark(&self, arguments: &[&str]) -> String {
        let verify = ["ip", "tcp", "udp"].map(|protocol| format!("-o{protocol}.check_checksum:TRUE"));
        let output = Command::new("tshark")
            .arg("-n")
            .arg("-r")
            .arg(&self.path)
            .args(verify)
            .args(arguments)
            .output()
            .expect("this test needs tshark: install Debian's package tshark, or Wireshark");
        // What tshark writes to stderr beside failing is advice, such as not to run it as root.
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tshark {arguments:?} failed: {stderr}");
        String::from_utf8(output.stdout).expect("tshark writes UTF-8")
    }
}
