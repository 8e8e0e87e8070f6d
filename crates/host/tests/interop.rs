//! Our TCP against the kernel's, as client and as server, with every option on and off, over a network that
//! loses, reorders and duplicates: all octets arrive, both ends close in order, nobody resets.

mod common;

use common::{Host, host, linux, pipe, run_on, wire, with_real, with_tcp};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use voxpath_host::{HostError, Kind, Namespace};
use voxpath_sim::Observe;
use voxpath_sim::plan::{App, Direction, Download, Reorder, loss};
use voxpath_tcp::{Config, Congestion};
use voxpath_wire::packet::{Parsed, Transport, parse_packet};
use voxpath_wire::tcp::{Seq, TcpFlags};

/// Runs that go on at a time.
const WORKERS: usize = 4;

/// The kernel's counters of TCP in a namespace, to be read after its end too.
struct Counters(Vec<File>);

impl Counters {
    fn of(namespace: &Namespace) -> Self {
        let open = |path: &str| {
            File::open(path).map_err(|error| HostError { action: path.into(), reason: error.to_string() })
        };
        let paths = ["/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat"];
        Self(namespace.inside(|| paths.into_iter().map(open).collect()).expect("the kernel counts"))
    }

    /// Their values by name.
    fn read(mut self) -> BTreeMap<String, i64> {
        let mut found = BTreeMap::new();
        for file in &mut self.0 {
            let mut text = String::new();
            file.rewind().and_then(|()| file.read_to_string(&mut text)).expect("a table of the kernel");
            // Names in one line, values in the next, the protocol in front of both.
            let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
            for pair in lines.chunks_exact(2).filter(|pair| pair[0][0].starts_with("Tcp")) {
                let values = pair[1][1..].iter().map(|value| value.parse().expect("a number"));
                found.extend(pair[0][1..].iter().map(ToString::to_string).zip(values));
            }
        }
        found
    }
}

/// 1 ms each way; of a thousand packets five are lost, five come twice, and twenty are overtaken.
fn lossy() -> Direction {
    Direction {
        loss: loss::Bernoulli { p: 0.005 }.into(),
        duplicate: 0.005,
        reorder: Some(Reorder { p: 0.02, by_ns: 500_000 }),
        ..wire(1_000_000)
    }
}

#[derive(Debug)]
struct Case {
    name: String,
    real: [bool; 2],
    config: Config,
    octets: u64,
}

/// All options on and off with either end real; each set of options meets both congestion controls.
fn cases() -> impl Iterator<Item = Case> {
    (0..32_u32).map(|bits| {
        let on = |bit: u32| bits >> bit & 1 == 1;
        let config = Config {
            sack: on(0),
            timestamps: on(1),
            window_scaling: on(2),
            nagle: on(3),
            congestion: if bits.count_ones() % 2 == 0 { Congestion::Reno } else { Congestion::Cubic },
            ..linux()
        };
        case(on(4), config, 10_000_000)
    })
}

/// The window of the 2022 study: the receiver's buffer is what limits, and six segments are in flight.
fn small_windows() -> impl Iterator<Item = Case> {
    let config = Config { receive_buffer: 8760, window_scaling: false, ..linux() };
    [true, false].map(|client| case(client, config.clone(), 1_000_000)).into_iter()
}

fn case(is_client_real: bool, config: Config, octets: u64) -> Case {
    let Config { sack, timestamps, window_scaling, nagle, congestion, receive_buffer, .. } = &config;
    let name = format!(
        "real {}, sack {sack}, timestamps {timestamps}, window scaling {window_scaling}, nagle {nagle}, \
         {congestion:?}, receive buffer {receive_buffer}",
        if is_client_real { "client" } else { "server" }
    );
    Case { name, real: [is_client_real, !is_client_real], config, octets }
}

/// Resets in a capture, each with whether its connection was over: both ends had closed, and both knew it.
///
/// Who has closed has forgotten the connection, and answers what the network delivers twice as RFC 9293 section
/// 3.10.7.1 has it, by a reset, which then meets nobody. (Linux 6.18 does so to a repeated acknowledgment of its
/// FIN, in place of the LAST-ACK that it has left.)
fn resets(capture: &[u8]) -> Vec<bool> {
    const PACKET_BLOCK: u32 = 6;
    let u32_at = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().expect("four octets"));
    let mut resets = Vec::new();
    // By source address: where the FIN ends, and whether that was acknowledged.
    let mut fins: BTreeMap<IpAddr, (Seq, bool)> = BTreeMap::new();
    let mut at = 0;
    while at < capture.len() {
        let (kind, len) = (u32_at(at), u32_at(at + 4) as usize);
        if kind == PACKET_BLOCK {
            let packet = &capture[at + 28..at + 28 + u32_at(at + 20) as usize];
            let Ok(Parsed { ip, transport: Transport::Tcp(tcp), payload, .. }) = parse_packet(packet) else {
                panic!("a packet of the plan is TCP: {packet:?}");
            };
            if tcp.flags.contains(TcpFlags::RST) {
                resets.push(fins.len() == 2 && fins.values().all(|&(_, acknowledged)| acknowledged));
            }
            if let Some((end, acknowledged)) = fins.get_mut(&ip.dst) {
                *acknowledged |= tcp.flags.contains(TcpFlags::ACK) && tcp.ack == *end;
            }
            if tcp.flags.contains(TcpFlags::FIN) {
                fins.entry(ip.src).or_insert((tcp.seq.wrapping_add(payload.len() as u32 + 1), false));
            }
        }
        at += len;
    }
    resets
}

fn check(case: &Case) {
    let &Case { ref name, real, ref config, octets } = case;
    let app =
        App::Download(Download { request_bytes: octets, response_bytes: octets, requests: 1, pause_ns: 0 });
    let plan = with_real(&with_tcp(pipe(lossy(), lossy()), config, app), real);
    let hosts: Vec<Option<Host>> =
        (0..2).map(|index| real[index].then(|| host(&plan, index, Kind::Tun, config))).collect();
    let (namespace, _) = hosts.iter().flatten().next().expect("one is real");
    let counters = Counters::of(namespace);
    let captured = &plan.nodes[usize::from(real[1])].name;
    let observe = Observe { capture: vec![captured.clone()], ..Observe::default() };
    let report = run_on(&plan, hosts, &observe).report;
    let kernel = counters.read();
    let counted = |name: &str| kernel[name];
    assert_eq!(common::status(&report, 0), "completed", "{name}");
    assert_eq!(common::flow(&report, "bytes_delivered", 0), octets, "{name}");
    assert_eq!(common::flow(&report, "bytes_wrong", 0), 0, "{name}");
    let resets = resets(&report.captures[0].1);
    assert!(resets.iter().all(|&was_over| was_over), "{name}: a reset inside the connection");
    assert_eq!(counted("EstabResets"), 0, "{name}: the kernel has got a reset");
    assert_eq!(counted("CurrEstab"), 0, "{name}: the kernel's end is not closed");
    assert_eq!((counted("InErrs"), counted("InCsumErrors")), (0, 0), "{name}: malformed segments");
    assert_eq!(counted("ActiveOpens") + counted("PassiveOpens"), 1, "{name}");
}

#[test]
fn our_tcp_and_the_kernels_understand_each_other() {
    let cases: Vec<_> = cases().chain(small_windows()).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(case);
                }
            });
        }
    });
}
