//! Flows through middleboxes: TCP does not notice, Multipath TCP goes on as RFC 8684 section 3.7 says.
#![allow(missing_docs)]

mod common;

use common::*;
use std::sync::Arc;
use voxpath_mptcp as mptcp;
use voxpath_sim::plan::middlebox::{
    AlterData, Coalesce, DropUnknownOptions, OptionsOn, RewriteSequence, Segments, Split, StripOptions,
    Translate, Which,
};
use voxpath_sim::plan::{
    App, Direction, Download, Interface, Link, LinkMiddlebox, Middlebox, MptcpEnd, Node, NodeKind, Plan,
    Transport, Way,
};
use voxpath_sim::{Observe, Report, Simulation};
use voxpath_tcp::Profile;

const WIFI: u32 = 0;
const LTE: u32 = 1;
const OCTETS: u64 = 1_000_000;

fn way(mbps: u64, delay: u64) -> Direction {
    Direction { rate_bps: Some(mbps * 1_000_000), queue_packets: Some(100), ..wire(delay * MS) }
}

/// The client (0) has two links to the router (2), and an address at each; it sends and fetches a megabyte.
fn two_paths(checksum: bool) -> Plan {
    let app =
        App::Download(Download { request_bytes: OCTETS, response_bytes: OCTETS, requests: 1, pause_ns: 0 });
    let mut plan = with_tcp(pipe(wire(0), wire(0)), &Profile::Linux.config(), app);
    plan.duration_ns = Some(120 * SECOND);
    plan.nodes[0].addresses = vec![[10, 0, 0, 1].into(), [10, 0, 1, 1].into()];
    plan.nodes.push(Node {
        simulated: false,
        real: false,
        edge: None,
        name: "core".into(),
        kind: NodeKind::Router,
        addresses: vec![],
    });
    let link = |name: &str, a, b, way: Direction| Link {
        mtu: None,
        name: name.into(),
        a,
        b,
        ab: way.clone(),
        ba: way,
    };
    plan.links =
        vec![link("wifi", 0, 2, way(10, 10)), link("lte", 0, 2, way(10, 15)), link("access", 2, 1, wire(MS))];
    plan.interfaces = [0, 1].map(|i| Interface { node: 0, address: i, link: i }).to_vec();
    let end = |paths| {
        let mptcp = mptcp::Config { paths, checksum, ..mptcp::Config::default() };
        Arc::new(MptcpEnd { tcp: Arc::new(Profile::Linux.config()), mptcp: Arc::new(mptcp), backups: vec![] })
    };
    let answers = mptcp::PathManagement { opens: mptcp::Opens::Nothing, ..Default::default() };
    plan.flows[0].transport = Transport::Mptcp { client: end(Default::default()), server: end(answers) };
    plan
}

fn behind(mut plan: Plan, links: &[u32], set: impl Into<Middlebox>) -> Plan {
    let set = set.into();
    for &link in links {
        let set = match &set {
            // Each has an address of its own.
            Middlebox::Translate(translate) => {
                let address = [192, 0, 2, 1 + link as u8].into();
                Translate { address, ..translate.clone() }.into()
            }
            other => other.clone(),
        };
        plan.middleboxes.push(LinkMiddlebox { link, which: Which::default(), set });
    }
    plan
}

/// What came of it: whether it fell back, and the octets of each subflow of the server.
#[track_caller]
fn exact(plan: &Plan) -> (bool, Vec<u64>) {
    let report = run(plan, 0);
    assert_eq!(status(&report, 0), "completed");
    assert_eq!(flow(&report, "bytes_delivered", 0), OCTETS);
    assert_eq!(flow(&report, "bytes_wrong", 0), 0);
    found(&report)
}

fn found(report: &Report) -> (bool, Vec<u64>) {
    let ends = texts(report, "connections", "end");
    let of_server = |column: &str| -> Vec<u64> {
        let values = values(report, "connections", column);
        (0..ends.len()).filter(|&i| ends[i] == "server").map(|i| values[i].unwrap_or(0)).collect()
    };
    (of_server("fallback") == vec![1; of_server("fallback").len()], of_server("bytes_delivered"))
}

fn strip(segments: Segments) -> StripOptions {
    StripOptions { options: vec![30], segments }
}

fn is_shared(octets: &[u64]) -> bool {
    octets.len() == 2 && octets.iter().all(|&octets| octets > OCTETS / 10)
}

#[test]
fn tcp_does_not_notice_any_of_them() {
    let config = Profile::Linux.config();
    let app =
        App::Download(Download { request_bytes: OCTETS, response_bytes: OCTETS, requests: 1, pause_ns: 0 });
    let boxes: [Middlebox; 6] = [
        StripOptions { options: vec![4, 5, 8, 30], segments: Segments::All }.into(),
        DropUnknownOptions { known: vec![] }.into(),
        RewriteSequence { offset: None, sack: true }.into(),
        Split { size_bytes: 500, options: OptionsOn::First }.into(),
        Coalesce { size_bytes: 1400, wait_ns: MS }.into(),
        Translate { address: [192, 0, 2, 9].into(), forget_ns: None }.into(),
    ];
    let lossy = || Direction { loss: voxpath_sim::plan::loss::Bernoulli { p: 0.01 }.into(), ..way(10, 10) };
    let mut all = with_tcp(pipe(lossy(), lossy()), &config, app);
    let alone = all.clone();
    all.middleboxes = boxes.map(|set| LinkMiddlebox { link: 0, which: Which::default(), set }).to_vec();
    let mut plans = vec![all.clone()];
    plans.extend(all.middleboxes.iter().map(|one| Plan { middleboxes: vec![one.clone()], ..alone.clone() }));
    for plan in plans {
        let report = run(&plan, 0);
        assert_eq!(status(&report, 0), "completed", "{:?}", plan.middleboxes);
        assert_eq!(flow(&report, "bytes_delivered", 0), OCTETS);
        assert_eq!(flow(&report, "bytes_wrong", 0), 0, "{:?}", plan.middleboxes);
    }
}

#[test]
fn a_connection_whose_syn_has_no_option_is_tcp() {
    for segments in [Segments::Syn, Segments::All, Segments::Rest] {
        let (fallback, octets) = exact(&behind(two_paths(false), &[WIFI], strip(segments)));
        assert!(fallback, "{segments:?}");
        assert!(octets[0] >= OCTETS && octets[1..].iter().all(|&octets| octets == 0), "{octets:?}");
    }
    // Of one direction alone: what the server hears, or what it says.
    for way in Way::BOTH {
        let mut plan = behind(two_paths(false), &[WIFI], strip(Segments::Syn));
        plan.middleboxes[0].which.way = Some(way);
        assert!(exact(&plan).0, "{way:?}");
    }
}

#[test]
fn a_subflow_whose_options_do_not_pass_is_not_used() {
    for segments in [Segments::Syn, Segments::All, Segments::Rest] {
        let (fallback, octets) = exact(&behind(two_paths(false), &[LTE], strip(segments)));
        assert!(!fallback && octets[0] >= OCTETS, "{segments:?}: {octets:?}");
    }
    let (fallback, octets) = exact(&behind(two_paths(false), &[LTE], DropUnknownOptions { known: vec![] }));
    assert!(!fallback && octets[0] >= OCTETS, "{octets:?}");
}

#[test]
fn a_middlebox_at_other_ports_does_not_matter() {
    let mut plan = behind(two_paths(false), &[WIFI, LTE], strip(Segments::All));
    for placed in &mut plan.middleboxes {
        placed.which.ports = vec![(80, 80)];
    }
    let (fallback, octets) = exact(&plan);
    assert!(!fallback && is_shared(&octets), "{octets:?}");
}

#[test]
fn a_syn_that_is_dropped_for_its_option_is_sent_without_it() {
    let (fallback, octets) = exact(&behind(two_paths(false), &[WIFI], DropUnknownOptions { known: vec![] }));
    assert!(fallback && octets[0] >= OCTETS, "{octets:?}");
    // One that knows the option lets it pass.
    let (fallback, octets) =
        exact(&behind(two_paths(false), &[WIFI, LTE], DropUnknownOptions { known: vec![30] }));
    assert!(!fallback && is_shared(&octets), "{octets:?}");
}

#[test]
fn what_changes_numbers_addresses_and_sizes_leaves_both_subflows() {
    let boxes: [Middlebox; 4] = [
        RewriteSequence { offset: None, sack: true }.into(),
        Translate { address: [192, 0, 2, 9].into(), forget_ns: None }.into(),
        Split { size_bytes: 500, options: OptionsOn::Each }.into(),
        Split { size_bytes: 500, options: OptionsOn::First }.into(),
    ];
    for set in boxes {
        for checksum in [false, true] {
            let (fallback, octets) = exact(&behind(two_paths(checksum), &[WIFI, LTE], set.clone()));
            assert!(!fallback && is_shared(&octets), "{set:?}: {octets:?}");
        }
    }
}

#[test]
fn joined_segments_lose_mappings_and_no_octets() {
    let join = Coalesce { size_bytes: 4_000, wait_ns: MS };
    for checksum in [false, true] {
        for links in [&[LTE][..], &[WIFI]] {
            exact(&behind(two_paths(checksum), links, join.clone()));
        }
        // Where both paths lose them after both subflows stood, nobody is left to carry on: the connection may end with an error.
        let report = run(&behind(two_paths(checksum), &[WIFI, LTE], join.clone()), 0);
        let status = status(&report, 0);
        assert!(["completed", "reset"].contains(&status), "{status}");
        assert_eq!(flow(&report, "bytes_wrong", 0), 0);
    }
}

#[test]
fn a_subflow_whose_data_is_changed_is_closed() {
    let alter = AlterData { first: 20, every: Some(10) };
    let (fallback, octets) = exact(&behind(two_paths(true), &[LTE], alter.clone()));
    assert!(!fallback && octets[0] > OCTETS / 2, "{octets:?}");
    // Nobody can tell without checksums, but the simulator.
    let report = told(&behind(two_paths(false), &[LTE], alter.clone()));
    assert_eq!(status(&report, 0), "completed");
    assert!(flow(&report, "bytes_wrong", 0) > 0);
    // Section 3.7: the only subflow goes on as TCP, and keeps what came.
    let mut alone = two_paths(true);
    alone.nodes[0].addresses.truncate(1);
    alone.interfaces.truncate(1);
    let report = told(&behind(alone, &[WIFI], alter));
    assert_eq!(status(&report, 0), "completed");
    assert_eq!(flow(&report, "bytes_delivered", 0), OCTETS);
    assert!(found(&report).0 && flow(&report, "bytes_wrong", 0) > 0);
}

/// What came of a run in which octets arrive that were not sent, and nothing else is wrong.
#[track_caller]
fn told(plan: &Plan) -> Report {
    let report = Simulation::new(plan.clone(), 0, &Observe::default()).expect("a valid plan").run();
    let problems = &report.verdict.problems;
    assert!(problems.iter().all(|problem| problem.ends_with("not what was sent")), "{problems:?}");
    report
}

#[test]
fn what_cannot_be_is_told_with_its_place() {
    let told = |change: fn(&mut Plan)| {
        let mut plan =
            behind(two_paths(false), &[WIFI], Translate { address: [192, 0, 2, 9].into(), forget_ns: None });
        change(&mut plan);
        let found: Vec<String> =
            voxpath_sim::check(&plan).iter().map(|problem| problem.path.to_string()).collect();
        found
    };
    assert_eq!(told(|_| {}), [""; 0]);
    assert_eq!(told(|plan| plan.middleboxes[0].link = 9), ["middleboxes[0].link"]);
    assert_eq!(
        told(|plan| plan.middleboxes[0].which.ports = vec![(9, 8)]),
        ["middleboxes[0].which.ports[0]"]
    );
    assert_eq!(told(|plan| plan.middleboxes[0].which.way = Some(Way::Ab)), ["middleboxes[0].which.way"]);
    assert_eq!(
        told(|plan| {
            let address = [10, 0, 1, 1].into();
            plan.middleboxes[0].set = Translate { address, forget_ns: None }.into();
        }),
        ["middleboxes[0].set.address"]
    );
    assert_eq!(told(|plan| plan.middleboxes[0].set = strip_nothing()), ["middleboxes[0].set.options"]);
    // Who is outside does not reach who is inside.
    assert_eq!(
        told(|plan| {
            let flow = &mut plan.flows[0];
            (flow.from, flow.to) = (flow.to, flow.from);
        }),
        ["flows[0].to"]
    );
}

fn strip_nothing() -> Middlebox {
    StripOptions { options: vec![], segments: Segments::All }.into()
}
