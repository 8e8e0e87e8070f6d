//! What becomes of flows, and what is said of it.
#![allow(missing_docs)]

mod common;

use common::*;
use voxpath_sim::plan::{App, Bulk, Cbr, Direction, Flow, Plan, Reorder, Transport, loss};
use voxpath_sim::{Data, Observe, Report};
use voxpath_tcp::{Config, Profile};
use voxpath_units::Span;

fn losing(delay_ns: u64, packets: impl IntoIterator<Item = u64>) -> Direction {
    Direction { loss: loss::List { packets: packets.into_iter().collect() }.into(), ..wire(delay_ns) }
}

fn rfc() -> Config {
    Profile::Rfc.config()
}

fn bulk(bytes: u64) -> App {
    App::Bulk(Bulk { bytes: Some(bytes) })
}

fn maybe(report: &Report, name: &str) -> Option<u64> {
    match column(table(report, "flows"), name) {
        Data::OptU64(values) => values[0],
        other => panic!("{name} always has a value: {other:?}"),
    }
}

#[test]
fn a_server_that_never_answers_times_the_connection_out() {
    let deaf = Direction { loss: loss::Bernoulli { p: 1.0 }.into(), ..wire(10 * MS) };
    for (ab, ba) in [(deaf.clone(), wire(10 * MS)), (wire(10 * MS), deaf)] {
        let report = run(&with_tcp(pipe(ab, ba), &rfc(), bulk(1000)), 0);
        assert_eq!(status(&report, 0), "timed_out");
        assert_eq!(maybe_of_end(&report, "client", "established_ns", 0), None, "it never was");
        assert_eq!(maybe(&report, "completed_ns"), None);
        // One SYN and seven repetitions, after 1, 2, 4 ... s; given up when the last has waited its 60 s (64 s
        // capped) too.
        assert_eq!(of_end(&report, "client", "retransmissions", 0), 7);
        assert_eq!(flow(&report, "client_packets_sent", 0), 8);
        assert_eq!(of_end(&report, "client", "timeouts", 0), 8);
        let given_up = (1 + 2 + 4 + 8 + 16 + 32 + 60 + 60) * SECOND;
        assert!(
            (given_up..=given_up + SECOND).contains(&report.verdict.ended_ns),
            "{}",
            report.verdict.ended_ns
        );
    }
}

#[test]
fn a_connection_that_goes_dead_times_out_after_its_retries() {
    // The handshake gets through, then nothing does.
    let dead = Direction { loss: loss::List { packets: (3..200).collect() }.into(), ..wire(10 * MS) };
    let config = Config { retries: 3, ..rfc() };
    let report = run(&with_tcp(pipe(dead, wire(10 * MS)), &config, bulk(100_000)), 0);
    assert_eq!(status(&report, 0), "timed_out");
    assert_eq!(maybe_of_end(&report, "client", "established_ns", 0), Some(20 * MS));
    assert_eq!(of_end(&report, "client", "timeouts", 0), 4);
}

#[test]
fn a_server_that_has_given_up_refuses_who_comes_back() {
    // Its SYN|ACK is lost, it does not try again, and is gone when the client's second SYN comes.
    let mut plan = with_tcp(pipe(wire(10 * MS), losing(10 * MS, [1])), &rfc(), bulk(1000));
    let impatient = Config { syn_retries: 0, ..rfc() };
    let slow = voxpath_tcp::config::RtoConfig { initial: Span::from_secs(3), ..rfc().rto };
    plan.flows[0].transport = Transport::tcp(Config { rto: slow, ..rfc() }, impatient);
    let report = run(&plan, 0);
    assert_eq!(status(&report, 0), "refused");
    assert_eq!(maybe_of_end(&report, "client", "established_ns", 0), None);
}

#[test]
fn a_server_that_has_given_up_resets_who_is_established() {
    // The client's last part of the handshake and its first data are lost; the server gives up waiting for them.
    let mut plan = with_tcp(pipe(losing(10 * MS, 2..14), wire(10 * MS)), &rfc(), bulk(100_000));
    let server = Config { syn_retries: 0, ..rfc() };
    let slow = voxpath_tcp::config::RtoConfig { min: Span::from_secs(3), ..rfc().rto };
    plan.flows[0].transport = Transport::tcp(Config { rto: slow, ..rfc() }, server);
    let report = run(&plan, 0);
    assert_eq!(status(&report, 0), "reset");
    assert_eq!(maybe_of_end(&report, "client", "established_ns", 0), Some(20 * MS));
}

#[test]
fn a_run_that_is_cut_leaves_its_flows_unfinished() {
    let mut plan = with_tcp(pipe(wire(10 * MS), wire(10 * MS)), &window_limited(), bulk(10_000_000));
    plan.duration_ns = Some(SECOND);
    let report = run(&plan, 0);
    assert_eq!(status(&report, 0), "unfinished");
    assert_eq!(report.verdict.ended_ns, SECOND);
    assert_eq!(maybe(&report, "completed_ns"), None);
    // 8760 bytes each 20 ms, the first 30 ms in.
    assert_eq!(flow(&report, "bytes_delivered", 0), 8760 * 49);
    let Data::OptF64(goodput) = column(table(&report, "flows"), "goodput_bps") else { panic!("goodput") };
    assert_eq!(goodput[0], Some(8760.0 * 49.0 * 8.0));
}

#[test]
fn an_endless_transfer_is_unfinished_by_nature() {
    let mut plan =
        with_tcp(pipe(wire(10 * MS), wire(10 * MS)), &window_limited(), App::Bulk(Bulk { bytes: None }));
    plan.duration_ns = Some(SECOND);
    assert_eq!(status(&run(&plan, 0), 0), "unfinished");
}

#[test]
fn a_transfer_of_nothing_completes_with_the_close() {
    let report = run(&with_tcp(pipe(wire(10 * MS), wire(10 * MS)), &rfc(), bulk(0)), 0);
    assert_eq!(status(&report, 0), "completed");
    assert_eq!(maybe(&report, "completed_ns"), Some(30 * MS));
    assert_eq!(maybe(&report, "first_byte_ns"), None);
}

#[test]
fn a_flow_that_starts_later_is_the_same_flow_later() {
    let mut plan = with_tcp(pipe(wire(20 * MS), wire(20 * MS)), &window_limited(), download());
    let now = run(&plan, 0);
    plan.flows[0].start_ns = 7 * SECOND + 1;
    let later = run(&plan, 0);
    let established = |report| of_end(report, "client", "established_ns", 0);
    assert_eq!(established(&later), established(&now) + 7 * SECOND + 1);
    for name in ["first_byte_ns", "completed_ns"] {
        assert_eq!(flow(&later, name, 0), flow(&now, name, 0) + 7 * SECOND + 1, "{name}");
    }
    assert_eq!(
        column(table(&now, "flows"), "goodput_bps"),
        column(table(&later, "flows"), "goodput_bps"),
        "goodput counts from the flow's start"
    );
}

#[test]
fn a_run_ends_when_nothing_is_left_to_do_even_before_its_end() {
    let mut plan = with_tcp(pipe(wire(20 * MS), wire(20 * MS)), &rfc(), bulk(1000));
    let ended = |plan: &Plan| run(plan, 0).verdict.ended_ns;
    let without_end = ended(&plan);
    assert!(without_end < SECOND, "{without_end}");
    // TIME-WAIT lasts four minutes; whether that is before or after the end makes no difference.
    for minutes in [1, 10] {
        plan.duration_ns = Some(minutes * 60 * SECOND);
        assert_eq!(ended(&plan), without_end);
    }
}

/// A pipe on which everything can be computed: 200 bytes of IP packet at 80 kbit/s take 20 ms, 30 ms of propagation.
fn voice(packets: u64) -> Plan {
    let mut there = wire(30 * MS);
    there.rate_bps = Some(80_000);
    let mut plan = pipe(there, wire(0));
    let app = App::Cbr(Cbr { packet_bytes: 172, interval_ns: 25 * MS, packets: Some(packets) });
    plan.flows.push(Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: "voice".into(),
        from: 0,
        to: 1,
        start_ns: SECOND,
        transport: Transport::Udp,
        app,
    });
    plan
}

#[test]
fn datagrams_on_an_empty_pipe_all_take_the_same_time() {
    let report = run(&voice(100), 0);
    assert_eq!(status(&report, 0), "completed");
    assert_eq!(datagrams(&report, 0), [100, 100, 0, 0]);
    assert_eq!(delays(&report, 0), [50 * MS; 100]);
    assert_eq!(maybe(&report, "first_byte_ns"), Some(SECOND + 50 * MS));
    assert_eq!(maybe(&report, "completed_ns"), Some(SECOND + 99 * 25 * MS + 50 * MS));
    assert_eq!(flow(&report, "bytes_delivered", 0), 17_200);
}

#[test]
fn datagrams_that_come_faster_than_the_link_queue_up() {
    let mut plan = voice(100);
    plan.flows[0].app = App::Cbr(Cbr { packet_bytes: 172, interval_ns: 15 * MS, packets: Some(100) });
    let report = run(&plan, 0);
    // Each waits 5 ms longer than the one before.
    assert_eq!(delays(&report, 0), (0..100).map(|number| (50 + 5 * number) * MS).collect::<Vec<_>>());
}

#[test]
fn datagrams_lost_repeated_and_overtaken_are_told_apart() {
    let mut plan = voice(10);
    plan.links[0].ab.loss = loss::List { packets: vec![1, 4, 5] }.into();
    let lost = run(&plan, 0);
    assert_eq!(datagrams(&lost, 0), [10, 7, 0, 0]);
    assert_eq!(maybe(&lost, "first_byte_ns"), Some(SECOND + 75 * MS), "of the second");

    let mut plan = voice(10);
    plan.links[0].ab.duplicate = 1.0;
    let twice = run(&plan, 0);
    assert_eq!(datagrams(&twice, 0), [10, 10, 10, 0]);

    let mut plan = voice(1_000);
    plan.links[0].ab.reorder = Some(Reorder { p: 0.1, by_ns: 260 * MS });
    let overtaken = run(&plan, 0);
    let [_, received, _, late] = datagrams(&overtaken, 0);
    assert!((60..140).contains(&late), "{late} of a thousand");
    let delays = delays(&overtaken, 0);
    assert_eq!((received, delays[0], delays[999]), (1_000, 50 * MS, 310 * MS));
}

#[test]
fn a_run_without_an_end_waits_for_what_will_be_lost() {
    // All but the first are lost: nobody will hear of the last one, but it is in service until then.
    let mut plan = voice(3);
    plan.links[0].ab.loss = loss::List { packets: vec![2, 3] }.into();
    let report = run(&plan, 0);
    assert_eq!(report.verdict.packets_held, 0);
    assert_eq!(report.verdict.ended_ns, SECOND + 2 * 25 * MS + 20 * MS);
    // If the run ends before, it is held by the serialiser and not yet lost, in the books and to whoever watches.
    plan.duration_ns = Some(report.verdict.ended_ns - 1);
    let report = run_observed(&plan, 0, &Observe { packets: true, ..Observe::default() });
    assert_eq!(report.verdict.packets_held, 1);
    let packets = table(&report, "packets");
    let (Data::Label { names, index }, Data::U64(times)) =
        (column(packets, "action"), column(packets, "time_ns"))
    else {
        panic!("packets have actions and times")
    };
    let lost: Vec<u64> =
        (0..times.len()).filter(|&row| names[index[row] as usize] == "lost").map(|row| times[row]).collect();
    assert_eq!(lost, [SECOND + 25 * MS + 20 * MS], "the second only");
}
