//! Background traffic: the web as 3GPP models it, and sources that are on and off.
#![allow(missing_docs)]

mod common;

use common::*;
use voxpath_sim::Report;
use voxpath_sim::plan::{App, Flow, Law, ObjectCount, ObjectSize, OnOff, Plan, Transport, Web};
use voxpath_tcp::Profile;

/// The numbers of ns-3's `ThreeGppHttpVariables`.
fn web(pages: Option<u32>) -> App {
    let size = |mean_bytes, deviation_bytes, least_bytes| ObjectSize {
        mean_bytes,
        deviation_bytes,
        least_bytes,
        most_bytes: 2_000_000,
    };
    App::Web(Web {
        request_bytes: 328,
        main: size(10_710, 25_032, 100),
        embedded: size(7_758, 126_168, 50),
        objects: ObjectCount { shape: 1.1, scale: 2.0, bound: 55.0 },
        parsing_ns: 130 * MS,
        reading_ns: 30 * SECOND,
        pages,
    })
}

fn requests(report: &Report, name: &str) -> Vec<Option<u64>> {
    values(report, "requests", name)
}

/// Every link in 10 ms: what takes time are the laws and the round trips.
fn users(count: usize, app: &App) -> Plan {
    let mut plan = pipe(wire(5 * MS), wire(5 * MS));
    for _ in 0..count {
        plan = with_tcp(plan, &Profile::Linux.config(), app.clone());
    }
    plan
}

#[test]
fn pages_have_their_objects_and_times() {
    let report = run(&users(20, &web(Some(50))), 0);
    assert!((0..20).all(|row| status(&report, row) == "completed"));
    assert!((0..20).all(|row| rows_of(&report, "pages", row).len() == 50));
    let pages = requests(&report, "page");
    let sizes: Vec<f64> =
        requests(&report, "bytes_delivered").iter().map(|size| size.expect("it came") as f64).collect();
    let times = |name| requests(&report, name).into_iter().map(|at| at.expect("it happened"));
    let asked: Vec<u64> = times("sent_ns").collect();
    let done: Vec<u64> = times("completed_ns").collect();
    let (mut reading, mut parsing, mut embedded) = (Vec::new(), Vec::new(), Vec::new());
    for i in 1..pages.len() {
        let waited = asked[i].saturating_sub(done[i - 1]) as f64 / 1e9;
        let is_first = i == 1 || pages[i - 1] != pages[i - 2];
        match pages[i] {
            Some(0) if pages[i - 1] == Some(49) => {} // The next user.
            page if page != pages[i - 1] => reading.push(waited),
            _ if is_first => parsing.push(waited),
            _ => assert_eq!(asked[i], done[i - 1], "embedded objects follow each other"),
        }
        if pages[i] == pages[i - 1] {
            embedded.push(sizes[i]);
        }
    }
    // Exponential: the standard error of the mean is the mean over the root of their number.
    for (waits, mean) in [(&reading, 30.0), (&parsing, 0.13)] {
        let n = waits.len() as f64;
        let seen = waits.iter().sum::<f64>() / n;
        assert!((seen - mean).abs() < 4.0 * mean / n.sqrt(), "{seen} s of {mean} s, {n} times");
    }
    assert!(sizes.iter().all(|&size| (50.0..2e6).contains(&size)));
    // E[number] of the cut Pareto law is about 5.2; the tests of its sampler hold every probability.
    let per_page = embedded.len() as f64 / 1000.0;
    assert!((3.5..7.0).contains(&per_page), "{per_page}");
}

#[test]
fn a_user_more_changes_no_draw_of_the_others() {
    let sizes = |report: &Report| {
        let rows = requests(report, "bytes_delivered");
        rows[..100].to_vec()
    };
    assert_eq!(sizes(&run(&users(1, &web(Some(50))), 0)), sizes(&run(&users(2, &web(Some(50))), 0)));
}

fn on_off(transport: Transport) -> Plan {
    let mut plan = pipe(wire(5 * MS), wire(5 * MS));
    plan.duration_ns = Some(2000 * SECOND);
    plan.flows.push(Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: "source".into(),
        from: 0,
        to: 1,
        start_ns: 0,
        transport,
        app: App::OnOff(OnOff {
            packet_bytes: 1000,
            interval_ns: 8 * MS,
            on: Law::Exponential { mean_ns: 500 * MS },
            off: Law::Exponential { mean_ns: 1500 * MS },
            packets: None,
        }),
    });
    plan
}

#[test]
fn an_on_off_source_has_its_mean_rate_over_both_transports() {
    let tcp = Profile::Linux.config();
    for transport in [Transport::Udp, Transport::tcp(tcp.clone(), tcp.clone())] {
        let report = run(&on_off(transport), 0);
        // 1 Mbit/s for a quarter of the time: about a thousand periods, whose ratio has a relative error of
        // 0.75 * sqrt(2 / 1000).
        let rate = flow(&report, "bytes_delivered", 0) as f64 * 8.0 / 2000.0;
        assert!((rate / 250e3 - 1.0).abs() < 4.0 * 0.75 * (2.0_f64 / 1000.0).sqrt(), "{rate}");
    }
    // Datagrams are late by the way alone, however long the source was off before them.
    let report = run(&on_off(Transport::Udp), 0);
    let delays = delays(&report, 0);
    assert!(!delays.is_empty() && delays.iter().all(|&delay| delay == 5 * MS));
}
