//! Our Multipath TCP against the kernel's, as client and as server: two subflows over paths that lose, all octets arrive.

mod common;

use common::{Host, host, linux, run_on, with_real};
use std::sync::Arc;
use voxpath_host::Kind;
use voxpath_mptcp::{Config, Opens, PathManagement, Scheduling};
use voxpath_sim::plan::middlebox::{
    AlterData, Coalesce, DropUnknownOptions, OptionsOn, RewriteSequence, Segments, Split, StripOptions,
    Translate, Which,
};
use voxpath_sim::plan::{
    App, Direction, Download, Interface, Link, LinkMiddlebox, Middlebox, MptcpEnd, Node, NodeKind, Plan,
    Transport, loss,
};
use voxpath_sim::{Observe, Report};

const MS: u64 = 1_000_000;

fn way(mbps: u64, delay: u64, p: f64) -> Direction {
    Direction {
        rate_bps: Some(mbps * 1_000_000),
        queue_packets: Some(100),
        loss: loss::Bernoulli { p }.into(),
        ..common::wire(delay * MS)
    }
}

/// The host with two addresses opens; a router lies between.
fn plan(config: &Config, octets: u64) -> Plan {
    let app =
        App::Download(Download { request_bytes: octets, response_bytes: octets, requests: 1, pause_ns: 0 });
    let pipe = common::pipe(common::wire(0), common::wire(0));
    let mut plan = common::with_tcp(pipe, &linux(), app);
    plan.nodes[0].addresses = vec![[10, 0, 0, 1].into(), [10, 0, 1, 1].into()];
    plan.nodes[1].addresses = vec![[10, 0, 9, 1].into()];
    plan.nodes.push(Node {
        simulated: true,
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
    plan.links = vec![
        link("wifi", 0, 2, way(50, 5, 0.0)),
        link("lte", 0, 2, way(50, 10, 0.005)),
        link("access", 2, 1, common::wire(MS)),
    ];
    plan.interfaces = [0, 1].map(|i| Interface { node: 0, address: i, link: i }).to_vec();
    let end = |mptcp: Config| {
        Arc::new(MptcpEnd { tcp: Arc::new(linux()), mptcp: Arc::new(mptcp), backups: vec![] })
    };
    let paths = PathManagement { opens: Opens::Nothing, ..PathManagement::default() };
    plan.flows[0].transport =
        Transport::Mptcp { client: end(config.clone()), server: end(Config { paths, ..config.clone() }) };
    plan
}

/// Runs it with one end real.
fn run(is_client_real: bool, config: &Config, octets: u64) -> Report {
    run_plan(is_client_real, config, &plan(config, octets))
}

fn run_plan(is_client_real: bool, config: &Config, plan: &Plan) -> Report {
    let real = [is_client_real, !is_client_real];
    let mut plan = with_real(plan, real);
    plan.nodes[2].simulated = true;
    let mut hosts: Vec<Option<Host>> = (0..3).map(|_| None).collect();
    let index = usize::from(!is_client_real);
    let (namespace, device) = host(&plan, index, Kind::Tun, &linux());
    let mut batch = String::from("mptcp limits set subflow 2 add_addr_accepted 2\n");
    for address in &plan.nodes[index].addresses[1..] {
        batch += &format!("addr add {address}/32 dev net0\nmptcp endpoint add {address} dev net0 subflow\n");
    }
    let keys = [("mptcp/checksum_enabled".to_owned(), u8::from(config.checksum).to_string())];
    namespace.sysctl(&keys).expect("the kernel has Multipath TCP");
    namespace.ip(&batch).expect("iproute2 knows Multipath TCP");
    hosts[index] = Some((namespace, device));
    run_on(&plan, hosts, &Observe::default()).report
}

/// The rows of our end in `connections`.
fn ours(report: &Report, is_client_real: bool) -> Vec<usize> {
    let our_end = if is_client_real { "server" } else { "client" };
    let ends = common::texts(report, "connections", "end");
    (0..ends.len()).filter(|&row| ends[row] == our_end).collect()
}

#[track_caller]
fn check(is_client_real: bool, config: &Config) {
    let octets = 10_000_000;
    let report = run(is_client_real, config, octets);
    let name = format!("real client {is_client_real}, {config:?}");
    assert_eq!(common::status(&report, 0), "completed", "{name}");
    assert_eq!(common::flow(&report, "bytes_delivered", 0), octets, "{name}");
    assert_eq!(common::flow(&report, "bytes_wrong", 0), 0, "{name}");
    // Our end tells of its subflows: it has sent by both.
    let bytes = common::values(&report, "connections", "bytes_delivered");
    let ours = ours(&report, is_client_real);
    assert_eq!(ours.len(), 2, "{name}");
    for row in ours {
        assert!(bytes[row] > Some(octets / 20), "{name}: {bytes:?}");
    }
    // Both ends know the same of the connection: the kernel by MPTCP_INFO.
    let whole = |of: &str| common::values(&report, "multipath", of);
    assert_eq!(whole("fallback"), [Some(0); 2], "{name}");
    let (acked, received) = (whole("bytes_acked"), whole("bytes_received"));
    assert_eq!([acked[0], acked[1]], [received[1], received[0]], "{name}");
}

#[test]
fn the_kernel_takes_and_gives_two_subflows() {
    for is_client_real in [false, true] {
        check(is_client_real, &Config::default());
    }
}

#[test]
fn the_kernel_agrees_on_checksums_and_reads_half_numbers() {
    let config = Config { checksum: true, long_numbers: false, ..Config::default() };
    for is_client_real in [false, true] {
        check(is_client_real, &config);
    }
}

#[test]
fn the_kernel_understands_every_scheduler() {
    for &(_, scheduler) in Scheduling::ALL {
        check(false, &Config { scheduler, ..Config::default() });
    }
}

/// The links of [`plan`].
const WIFI: u32 = 0;
const LTE: u32 = 1;

/// What came of a megabyte each way behind middleboxes: whether our end fell back, and how many octets it sent by each subflow.
#[track_caller]
fn behind(is_client_real: bool, config: &Config, links: &[u32], set: &Middlebox) -> (bool, Vec<u64>) {
    let octets = 1_000_000;
    let mut plan = plan(config, octets);
    for &link in links {
        let set = match set {
            // Each has an address of its own.
            Middlebox::Translate(translate) => {
                Translate { address: [192, 0, 2, 1 + link as u8].into(), ..translate.clone() }.into()
            }
            other => other.clone(),
        };
        plan.middleboxes.push(LinkMiddlebox { link, which: Which::default(), set });
    }
    let report = run_plan(is_client_real, config, &plan);
    let name = format!("real client {is_client_real}, {links:?}, {set:?}");
    assert_eq!(common::status(&report, 0), "completed", "{name}");
    assert_eq!(common::flow(&report, "bytes_delivered", 0), octets, "{name}");
    assert_eq!(common::flow(&report, "bytes_wrong", 0), 0, "{name}");
    let fallback = common::values(&report, "connections", "fallback");
    let bytes = common::values(&report, "connections", "bytes_delivered");
    let ours = ours(&report, is_client_real);
    let fell = ours.iter().all(|&row| fallback[row] == Some(1));
    (fell, ours.iter().map(|&row| bytes[row].unwrap_or(0)).collect())
}

fn strip(segments: Segments) -> Middlebox {
    StripOptions { options: vec![30], segments }.into()
}

fn checksums() -> Config {
    Config { checksum: true, ..Config::default() }
}

#[test]
fn the_kernel_and_we_go_on_as_tcp_where_options_do_not_pass() {
    for is_client_real in [false, true] {
        for segments in [Segments::Syn, Segments::Rest, Segments::All] {
            let (fell, octets) = behind(is_client_real, &Config::default(), &[WIFI], &strip(segments));
            assert!(fell && octets[0] >= 1_000_000, "{is_client_real}, {segments:?}: {octets:?}");
        }
        let drop = DropUnknownOptions { known: vec![] }.into();
        let (fell, octets) = behind(is_client_real, &Config::default(), &[WIFI], &drop);
        assert!(fell && octets[0] >= 1_000_000, "{is_client_real}: {octets:?}");
    }
}

#[test]
fn the_kernel_and_we_do_without_a_subflow_whose_options_do_not_pass() {
    let boxes = [
        strip(Segments::Syn),
        strip(Segments::Rest),
        strip(Segments::All),
        DropUnknownOptions { known: vec![] }.into(),
    ];
    for is_client_real in [false, true] {
        for set in &boxes {
            let (fell, octets) = behind(is_client_real, &Config::default(), &[LTE], set);
            assert!(!fell && octets[0] >= 1_000_000, "{is_client_real}, {set:?}: {octets:?}");
        }
    }
}

#[test]
fn the_kernel_and_we_keep_both_subflows_where_mappings_hold() {
    let boxes: [Middlebox; 4] = [
        RewriteSequence { offset: None, sack: true }.into(),
        Translate { address: [192, 0, 2, 9].into(), forget_ns: None }.into(),
        Split { size_bytes: 500, options: OptionsOn::Each }.into(),
        Split { size_bytes: 500, options: OptionsOn::First }.into(),
    ];
    for is_client_real in [false, true] {
        for set in &boxes {
            let (fell, octets) = behind(is_client_real, &checksums(), &[WIFI, LTE], set);
            assert!(!fell && octets.len() == 2, "{is_client_real}, {set:?}: {octets:?}");
            assert!(octets.iter().all(|&octets| octets > 50_000), "{is_client_real}, {set:?}: {octets:?}");
        }
    }
}

#[test]
fn the_kernel_and_we_leave_a_subflow_whose_data_is_changed() {
    let alter = AlterData { first: 20, every: Some(10) }.into();
    for is_client_real in [false, true] {
        let (fell, octets) = behind(is_client_real, &checksums(), &[LTE], &alter);
        assert!(!fell && octets[0] > 500_000, "{is_client_real}: {octets:?}");
    }
}

#[test]
fn the_kernel_and_we_lose_no_octet_where_segments_are_joined() {
    let join = Coalesce { size_bytes: 4_000, wait_ns: MS }.into();
    for is_client_real in [false, true] {
        behind(is_client_real, &Config::default(), &[LTE], &join);
    }
}
