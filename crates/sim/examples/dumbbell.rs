//! The peers' dumbbell (benches/peers/README.md): one JSON line as theirs.
//!
//! `cargo run --release --example dumbbell -- --flows 100 --rate-mbps 1000 --duration-s 10`
//!
//! What peers have not: `--within-ms MS`, all flows start within that time; `--idle N`, as many more flows between two hosts
//! of their own, open, but silent after one exchange; `--subflows N`, flows and idle flows go over Multipath TCP with as many
//! subflows, for each of which there is a bottleneck of its own with its part of the rate; `--observe packets|tcp|all`, what is
//! recorded; and in the line `cpu_s`, what the simulation itself had of a processor, `rss_bytes`, what the process held at its end,
//! `subflows`, how many carried something, and with `--loads 1` `load_ns`, what a load costs that waits for the one before, anywhere
//! in as much memory.
// A command line ends in a panic where a library would not.
#![allow(clippy::disallowed_methods, clippy::expect_used)]

use std::sync::Arc;
use std::time::Duration;
use voxpath_mptcp as mptcp;
use voxpath_sim::plan::{
    App, Bulk, Direction, Download, Flow, Framing, Interface, Link, Loss, MptcpEnd, Node, NodeKind, Plan,
    Queueing, Transport, VERSION,
};
use voxpath_sim::{Data, Observe, Report, Simulation};
use voxpath_tcp::{Config, Congestion, Profile};

const ACCESS_BPS: u64 = 100_000_000;
const ACCESS_DELAY_NS: u64 = 1_000_000;
const ACCESS_QUEUE: u32 = 10_000;
const BOTTLENECK_DELAY_NS: u64 = 18_000_000;
const STAGGER_NS: u64 = 10_000_000;
const WINDOW: u32 = 2 << 20;

fn main() {
    let flows: u32 = argument("--flows", 1);
    let rate_bps: u64 = argument::<u64>("--rate-mbps", 10) * 1_000_000;
    let duration_s: u64 = argument("--duration-s", 60);
    let stagger_ns = match argument::<u64>("--within-ms", 0) {
        0 => STAGGER_NS,
        within => within * 1_000_000 / u64::from(flows.max(1)),
    };
    let subflows: u32 = argument("--subflows", 0);
    let mut plan = dumbbell(flows, rate_bps, duration_s * 1_000_000_000, stagger_ns, subflows);
    add_idle(&mut plan, argument("--idle", 0), subflows);
    let observe = observe(&argument::<String>("--observe", "nothing".into()));
    let mut simulation = Simulation::new(plan, 0, &observe).expect("the plan is valid");
    let begun = cpu();
    while !simulation.advance(1 << 20).done {}
    let cpu_s = (cpu() - begun).as_secs_f64();
    let rss_bytes = status_bytes("VmRSS:");
    let report = simulation.finish();
    let peak_rss_bytes = status_bytes("VmHWM:");
    let load_ns = if argument("--loads", 0_u8) > 0 { load_ns(rss_bytes) } else { 0.0 };
    assert!(report.verdict.valid, "{:?}", report.verdict.problems);
    println!(
        "{{\"simulator\": \"voxpath\", \"flows\": {flows}, \"goodput_bps\": {}, \"packet_hops\": {}, \
         \"events\": {}, \"sim_seconds\": {duration_s}, \"peak_rss_bytes\": {peak_rss_bytes}, \"cpu_s\": {cpu_s}, \
         \"rss_bytes\": {rss_bytes}, \"load_ns\": {load_ns:.1}, \"subflows\": {}}}",
        bytes_delivered(&report) as f64 * 8.0 / duration_s as f64,
        report.verdict.packet_hops,
        report.verdict.events,
        subflows_used(&report),
    );
}

/// The value of `--name V` on the command line.
fn argument<T: std::str::FromStr>(name: &str, default: T) -> T {
    let mut arguments = std::env::args().skip_while(|argument| argument != name).skip(1);
    match arguments.next() {
        None => default,
        Some(text) => text.parse().unwrap_or_else(|_| panic!("{name} {text} is not a number")),
    }
}

/// A host with so many addresses, the first of them the one of this number.
fn host(name: String, number: u32, addresses: u32) -> Node {
    Node {
        simulated: false,
        real: false,
        edge: None,
        name,
        kind: NodeKind::Host,
        addresses: (0..addresses).map(|i| std::net::Ipv4Addr::from(number + (i << 20)).into()).collect(),
    }
}

fn router(name: String) -> Node {
    Node { simulated: false, real: false, edge: None, name, kind: NodeKind::Router, addresses: vec![] }
}

/// TCP without subflows, else Multipath TCP: whoever opens joins from each of its addresses.
fn transport(config: &Config, subflows: u32) -> Transport {
    if subflows == 0 {
        return Transport::tcp(config.clone(), config.clone());
    }
    let end = |opens| {
        let paths = mptcp::PathManagement { opens, ..mptcp::PathManagement::default() };
        let mptcp = mptcp::Config { paths, ..mptcp::Config::default() };
        Arc::new(MptcpEnd { tcp: Arc::new(config.clone()), mptcp: Arc::new(mptcp), backups: vec![] })
    };
    Transport::Mptcp { client: end(mptcp::Opens::PerInterface), server: end(mptcp::Opens::Nothing) }
}

fn dumbbell(flows: u32, rate_bps: u64, duration_ns: u64, stagger_ns: u64, subflows: u32) -> Plan {
    let mut nodes = Vec::new();
    let mut links = Vec::new();
    let mut interfaces = Vec::new();
    let paths = subflows.max(1);
    let rate_bps = rate_bps / u64::from(paths);
    // One bandwidth-delay product of 1500-byte packets, over the 40 ms of the whole path.
    let product = (rate_bps as f64 * 0.040 / 8.0 / 1500.0) as u32;
    for path in 0..paths {
        nodes.extend([router(format!("left{path}")), router(format!("right{path}"))]);
        let bottleneck = direction(rate_bps, BOTTLENECK_DELAY_NS, product);
        links.push(link(&format!("bottleneck{path}"), 2 * path, 2 * path + 1, bottleneck));
    }
    let access = || direction(ACCESS_BPS, ACCESS_DELAY_NS, ACCESS_QUEUE);
    let config = Config {
        congestion: Congestion::Reno,
        timestamps: false,
        receive_buffer: WINDOW,
        send_buffer: WINDOW,
        ..Profile::Rfc.config()
    };
    let mut planned = Vec::new();
    for i in 0..flows {
        let (sender, receiver) = (nodes.len() as u32, nodes.len() as u32 + 1);
        nodes.push(host(format!("sender{i}"), 0x0a00_0001 + 2 * i, paths));
        nodes.push(host(format!("receiver{i}"), 0x0a00_0002 + 2 * i, 1));
        for path in 0..paths {
            if subflows > 0 {
                interfaces.push(Interface { node: sender, address: path, link: links.len() as u32 });
            }
            links.push(link(&format!("left{i}.{path}"), sender, 2 * path, access()));
            links.push(link(&format!("right{i}.{path}"), 2 * path + 1, receiver, access()));
        }
        planned.push(Flow {
            through: None,
            from_address: None,
            to_address: None,
            simulated: false,
            name: format!("flow{i}"),
            from: sender,
            to: receiver,
            start_ns: u64::from(i) * stagger_ns,
            transport: transport(&config, subflows),
            app: App::Bulk(Bulk { bytes: None }),
        });
    }
    Plan {
        limits: voxpath_sim::plan::Limits::default(),
        events: vec![],
        interfaces,
        middleboxes: vec![],
        programs: vec![],
        processes: vec![],
        relays: vec![],
        version: VERSION,
        name: "dumbbell".into(),
        seed: 1,
        duration_ns: Some(duration_ns),
        nodes,
        links,
        routes: vec![],
        flows: planned,
    }
}

fn link(name: &str, a: u32, b: u32, both: Direction) -> Link {
    Link { mtu: None, name: name.into(), a, b, ab: both.clone(), ba: both }
}

fn direction(rate_bps: u64, delay_ns: u64, queue: u32) -> Direction {
    Direction {
        queue_packets: Some(queue),
        queue_bytes: None,
        queueing: Queueing::default(),
        rate_bps: Some(rate_bps),
        capacity: None,
        framing: Framing::Ip,
        loss: Loss::None,
        corruption: Loss::None,
        duplicate: 0.0,
        reorder: None,
        delay_ns,
        delay_variation: None,
    }
}

fn bytes_delivered(report: &Report) -> u64 {
    let flows = report.tables.iter().find(|table| table.name == "flows").expect("a table of flows");
    let column =
        flows.columns.iter().find(|column| column.name == "bytes_delivered").expect("a column of bytes");
    match &column.data {
        Data::U64(bytes) => bytes.iter().sum(),
        other => panic!("bytes are whole numbers: {other:?}"),
    }
}

/// Subflows by which data was acknowledged.
fn subflows_used(report: &Report) -> usize {
    let table =
        report.tables.iter().find(|table| table.name == "connections").expect("a table of connections");
    let of = |name: &str| {
        let column = table.columns.iter().find(|column| column.name == name).expect("a column of it");
        match &column.data {
            Data::OptU64(values) => values.clone(),
            other => panic!("{name} has whole numbers, or none: {other:?}"),
        }
    };
    let used = |(subflow, delivered): (&Option<u64>, &Option<u64>)| subflow.is_some() && *delivered > Some(0);
    of("subflow").iter().zip(&of("bytes_delivered")).filter(|&pair| used(pair)).count()
}

/// A figure of this process's memory, as the kernel has it.
fn status_bytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells a process about itself");
    let line = status.lines().find(|line| line.starts_with(name)).expect("the kernel reports it");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number of kB");
    kib * 1024
}

/// What this thread had of a processor so far.
fn cpu() -> Duration {
    let text =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells a thread about itself");
    let nanos = text.split_whitespace().next().and_then(|field| field.parse().ok()).expect("nanoseconds");
    Duration::from_nanos(nanos)
}

/// What a load costs whose address is what the one before has read, anywhere in `bytes` of memory: nanoseconds.
fn load_ns(bytes: u64) -> f64 {
    const LINE: usize = 8;
    const LOADS: u32 = 2_000_000;
    let lines = bytes as usize / (LINE * size_of::<u64>());
    // One cycle through all lines, in an order that no prefetcher foresees (Sattolo's algorithm).
    let mut next: Vec<u64> = (0..(lines * LINE) as u64).collect();
    let mut random = 1_u64;
    for i in (1..lines).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        next.swap(i * LINE, ((random >> 33) as usize % i) * LINE);
    }
    let begun = cpu();
    let end = (0..LOADS).fold(0, |at, _| next[at as usize]);
    let took = (cpu() - begun).as_secs_f64();
    std::hint::black_box(end);
    took * 1e9 / f64::from(LOADS)
}

fn observe(what: &str) -> Observe {
    Observe {
        tcp: matches!(what, "tcp" | "all"),
        packets: matches!(what, "packets" | "all"),
        ..Observe::default()
    }
}

/// Flows of which nothing is heard once they have exchanged one octet.
fn add_idle(plan: &mut Plan, count: u32, subflows: u32) {
    if count == 0 {
        return;
    }
    let paths = subflows.max(1);
    let from = plan.nodes.len() as u32;
    plan.nodes.extend([host("silent".into(), 0x0ac8_0001, paths), host("deaf".into(), 0x0ac8_0002, 1)]);
    for path in 0..paths {
        let link_index = plan.links.len() as u32;
        let way = direction(ACCESS_BPS, ACCESS_DELAY_NS, ACCESS_QUEUE);
        plan.links.push(link(&format!("idle{path}"), from, from + 1, way));
        if subflows > 0 {
            plan.interfaces.push(Interface { node: from, address: path, link: link_index });
        }
    }
    let config = Profile::Linux.config();
    plan.flows.extend((0..count).map(|i| Flow {
        through: None,
        from_address: None,
        to_address: None,
        simulated: false,
        name: format!("idle{i}"),
        from,
        to: from + 1,
        start_ns: u64::from(i) * 10_000,
        transport: transport(&config, subflows),
        app: App::Download(Download {
            request_bytes: 1,
            response_bytes: 1,
            requests: 2,
            pause_ns: 3_600_000_000_000,
        }),
    }));
}
