//! Random plans: any network, any flows, any weather.

use super::{MS, SECOND};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use voxpath_sim::plan::{
    App, Change, Direction, Draw, Event, Flow, Link, MptcpEnd, MptcpEnds, Node, NodeKind, Over, Peer, Plan,
    Process, ProcessApp, Through, Transport, VERSION,
};
use voxpath_tcp::{Config, Congestion, Profile, Recovery};
use voxpath_units::Span;

/// A plan that can run: routers in a tree with doubled links, hosts at them with one or two links, up to four flows.
pub fn plan() -> impl Strategy<Value = Plan> {
    let shape = (1..4_usize, 2..6_usize, any::<u64>());
    (shape, prop::option::of(1..10 * SECOND)).prop_flat_map(|((routers, hosts, seed), duration_ns)| {
        // Each router but the first hangs on one before it; each host on one router, some on a second.
        let trunks = prop::collection::vec((any::<u32>(), direction(), direction()), routers - 1);
        let accesses = prop::collection::vec((any::<u32>(), direction(), direction()), hosts);
        let seconds = prop::collection::vec((any::<u32>(), any::<u32>(), direction(), direction()), 0..3);
        let addresses = (any::<bool>(), prop::collection::vec(0..3_u8, hosts));
        let flows =
            prop::collection::vec((any::<u32>(), any::<u32>(), conversation(duration_ns.is_some())), 1..5);
        let mtus = prop::collection::vec(prop::option::weighted(0.2, 1280..1600_u32), 12);
        let events = (prop::collection::vec(any::<u64>(), 0..6), choices());
        let process = prop::option::weighted(0.3, (any::<u32>(), config(), choices()));
        (trunks, accesses, seconds, addresses, flows, (events, process, mtus)).prop_map(
            move |(trunks, accesses, seconds, (v6, mut homes), flows, (events, process, mtus))| {
                let (routers, hosts) = (routers as u32, hosts as u32);
                let process = process.map(|(host, tcp, choices)| (host % hosts, tcp, choices));
                if let Some((host, ..)) = process {
                    // Flows of either family reach it.
                    let home: &mut u8 = &mut homes[host as usize];
                    *home = (*home).max(1);
                }
                let mut nodes: Vec<Node> = (0..routers).map(|i| router(i, v6)).collect();
                nodes.extend((0..hosts).zip(homes).map(|(i, home)| host(i, v6, home)));
                let mut ends = Vec::new();
                for (router, (parent, ab, ba)) in (1..).zip(trunks) {
                    ends.push((parent % router, router, ab, ba));
                }
                for (host, (router, ab, ba)) in (routers..).zip(accesses) {
                    ends.push((host, router % routers, ab, ba));
                }
                for (host, router, ab, ba) in seconds {
                    ends.push((router % routers, routers + host % hosts, ab, ba));
                }
                let links = ends.into_iter().enumerate().map(|(i, (a, b, ab, ba))| Link {
                    mtu: mtus[i],
                    name: format!("link{i}"),
                    a,
                    b,
                    ab,
                    ba,
                });
                let flows = flows.into_iter().enumerate().map(|(i, (from, to, conversation))| {
                    let from = from % hosts;
                    let to = (from + 1 + to % (hosts - 1)) % hosts;
                    conversation.flow(i, routers + from, routers + to, duration_ns)
                });
                let mut plan = Plan {
                    limits: voxpath_sim::plan::Limits::default(),
                    events: vec![],
                    programs: vec![],
                    processes: vec![],
                    relays: vec![],
                    version: VERSION,
                    name: "random".into(),
                    seed,
                    duration_ns,
                    nodes,
                    links: links.collect(),
                    interfaces: vec![],
                    middleboxes: vec![],
                    routes: vec![],
                    flows: flows.collect(),
                };
                if let Some((host, tcp, choices)) = process {
                    add_process(&mut plan, routers + host, tcp, &mut Mild::new(choices));
                }
                let (times, choices) = events;
                add_events(&mut plan, times, &mut Mild::new(choices));
                plan
            },
        )
    })
}

/// Adds what happens at these times, as far as it can.
fn add_events(plan: &mut Plan, times: Vec<u64>, draw: &mut dyn Draw) {
    let end = plan.duration_ns.unwrap_or(5 * SECOND);
    let mut times: Vec<u64> = times.into_iter().map(|at| at % end).collect();
    times.sort_unstable();
    for at_ns in times {
        if let Some(change) = Change::sample(draw, plan, at_ns) {
            plan.events.push(Event { at_ns, change });
        }
    }
}

/// Has a process on a host pass on the flows of the others.
fn add_process(plan: &mut Plan, node: u32, tcp: Config, draw: &mut dyn Draw) {
    let (passed, peers): (Vec<&mut Flow>, Vec<(Peer, Over)>) = (8000..)
        .zip(&mut plan.flows)
        .filter(|(_, flow)| flow.from != node && flow.to != node)
        .map(|(port, flow)| {
            let peer = (Peer { node: flow.to, port }, flow.transport.carries());
            (flow, peer)
        })
        .unzip();
    if peers.is_empty() {
        return;
    }
    let app = ProcessApp::sample(draw, &peers);
    for ((flow, (peer, _)), (port, _)) in passed.into_iter().zip(peers).zip(app.ports()) {
        flow.through = Some(Through { first: Peer { node, port }, port: peer.port });
    }
    let tcp = Arc::new(tcp);
    let end = || Arc::new(MptcpEnd { tcp: tcp.clone(), mptcp: Arc::default(), backups: vec![] });
    let mptcp = (draw.below(2) == 1).then(|| MptcpEnds { client: end(), server: end() });
    plan.processes.push(Process {
        name: "process".into(),
        node,
        simulated: false,
        tcp: tcp.clone(),
        mptcp,
        wake_ns: draw.below(2) * draw.below(MS),
        app,
    });
}

fn router(i: u32, v6: bool) -> Node {
    // Hosts have the other numbers.
    let own = host(1000 + i, v6, 0).addresses;
    let name = format!("router{i}");
    Node { simulated: false, real: false, edge: None, name, kind: NodeKind::Router, addresses: own }
}

/// A host with an address of the plan's family, and perhaps one of the other before or after.
fn host(i: u32, v6: bool, home: u8) -> Node {
    let v4: IpAddr = Ipv4Addr::from(0x0a00_0001 + i).into();
    let v6_address: IpAddr = Ipv6Addr::from((0xfd00_u128 << 112) + 1 + u128::from(i)).into();
    let (ours, other) = if v6 { (v6_address, v4) } else { (v4, v6_address) };
    let addresses = match home {
        0 => vec![ours],
        1 => vec![ours, other],
        _ => vec![other, ours],
    };
    Node {
        simulated: false,
        real: false,
        edge: None,
        name: format!("host{i}"),
        kind: NodeKind::Host,
        addresses,
    }
}

pub fn direction() -> impl Strategy<Value = Direction> {
    drawn(Direction::sample)
}

/// What an element draws for itself, mild enough for transfers to end.
fn drawn<T: std::fmt::Debug>(sample: impl Fn(&mut dyn Draw) -> T) -> impl Strategy<Value = T> {
    choices().prop_map(move |choices| sample(&mut Mild::new(choices)))
}

/// What settings are drawn from. Without a choice left they take the first: so lists that shrink give simpler settings.
fn choices() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(any::<u64>(), 0..64)
}

struct Mild(std::vec::IntoIter<u64>);

impl Mild {
    fn new(choices: Vec<u64>) -> Self {
        Self(choices.into_iter())
    }
}

impl Draw for Mild {
    fn below(&mut self, n: u64) -> u64 {
        self.0.next().unwrap_or(0) % n
    }

    fn prob(&mut self) -> f64 {
        self.below(150_000) as f64 / 1e6
    }

    fn span(&mut self) -> u64 {
        self.below(300 * MS)
    }

    fn rate(&mut self) -> u64 {
        if self.below(6) == 0 { 0 } else { 50_000 + self.below(20_000_000) }
    }
}

/// What a flow does, without its ends.
#[derive(Debug, Clone)]
struct Conversation {
    start_ns: u64,
    client: Config,
    server: Config,
    /// Not the application's usual transport, where it leaves the choice.
    other_way: bool,
    app: App,
}

impl Conversation {
    fn flow(self, i: usize, from: u32, to: u32, duration_ns: Option<u64>) -> Flow {
        let ways = self.app.transports();
        let transport = match ways[usize::from(self.other_way) % ways.len()] {
            Over::Stream => Transport::tcp(self.client, self.server),
            Over::Datagrams => Transport::Udp,
        };
        let start_ns = duration_ns.map_or(self.start_ns, |end| self.start_ns % end);
        Flow {
            through: None,
            from_address: None,
            to_address: None,
            simulated: false,
            name: format!("flow{i}"),
            from,
            to,
            start_ns,
            transport,
            app: self.app,
        }
    }
}

fn conversation(may_be_endless: bool) -> impl Strategy<Value = Conversation> {
    let app = drawn(move |draw| App::sample(draw, may_be_endless));
    (0..2 * SECOND, config(), config(), any::<bool>(), app).prop_map(
        |(start_ns, client, server, other_way, app)| Conversation {
            start_ns,
            client,
            server,
            other_way,
            app,
        },
    )
}

/// Any profile with any recovery, and buffers, segments and options of its own.
pub fn config() -> impl Strategy<Value = Config> {
    let profile = prop::sample::select(&Profile::ALL[..]).prop_map(|(_, profile)| profile.config());
    let recovery = prop::sample::select(&[Recovery::Tahoe, Recovery::Reno, Recovery::NewReno][..]);
    let congestion = prop::sample::select(Congestion::ALL).prop_map(|(_, congestion)| congestion);
    let options = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (100..3_000_u16, 3_000..200_000_u32, 3_000..200_000_u32);
    let delayed = (0..200_u64, 1..4_u32);
    (profile, recovery, congestion, options, sizes, delayed).prop_map(
        |(
            profile,
            recovery,
            congestion,
            options,
            (mss, send_buffer, receive_buffer),
            (delay_ms, segments),
        )| {
            let mut config = Config { recovery, congestion, mss, send_buffer, receive_buffer, ..profile };
            (config.sack, config.timestamps, config.window_scaling, config.nagle) = options;
            config.delayed_ack.max_delay = Span::from_millis(delay_ms);
            config.delayed_ack.max_segments = segments;
            config
        },
    )
}
