//! From a plan to a world.

use crate::address::{Address, FourTuple, Label};
use crate::endpoint::{Endpoint, Kind, Socket, Tcp};
use crate::limits::Limits;
use crate::multipath::Multipath;
use crate::network::{Network, Node};
use crate::owner::{Counters, Owner};
use crate::plan::{self, DIRECTIONS, Flow, Observe, Plan, Through};
use crate::processes::{Running, Stacks};
use crate::sinks;
use crate::sockets::{Bound, Port, SocketTable, ports_of};
use crate::timeline::{Timeline, changes};
use crate::ways::{End, Ways, between, ends, towards};
use crate::world::World;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;
use voxpath_apps::{DatagramMachine, FlowContext, Machine, ProcessContext};
use voxpath_net::element::middlebox::Chain;
use voxpath_net::routing::{DirectionId, Way};
use voxpath_net::tap::Place;
use voxpath_net::{AddressId, EventQueue, FlowId, Link, Pool, Seed, Tap, Target};
use voxpath_units::{Span, Time};
use voxpath_wire::tcp::Seq;

/// What is around the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Nothing.
    None,
    /// The real hosts of [`Plan::real_hosts`].
    Real {
        /// Links can be changed by hand while the world runs.
        steered: bool,
    },
}

/// The world of a plan that [`crate::check`] has nothing against.
pub(crate) fn world(plan: &Plan, seed: Seed, observe: &Observe, edge: Edge) -> World {
    let real = match edge {
        Edge::None => vec![false; plan.nodes.len()],
        Edge::Real { .. } => plan.real_hosts(),
    };
    let ways = Ways::of(plan);
    let translated = translated(plan, &ways);
    let addresses = addresses(plan, &ways);
    let middleboxes = middleboxes(plan, seed, &addresses);
    let mut tap = Tap::new();
    for sink in sinks::wanted(plan, seed, observe, &addresses) {
        tap.attach(sink);
    }
    let mut network = Network {
        pool: Pool::new(),
        events: EventQueue::new(),
        tap,
        nodes: nodes(plan, &real),
        links: links(plan, seed, edge == Edge::Real { steered: true }),
        middleboxes,
        mtus: plan.links.iter().flat_map(|link| [link.mtu.unwrap_or(u32::MAX); 2]).collect(),
        far_ends: plan.links.iter().flat_map(|link| [link.b, link.a]).collect(),
        ways,
        addresses,
        by_ip: BTreeMap::new(),
        own: VecDeque::new(),
    };
    let joins = plan.flows.iter().any(|flow| matches!(flow.transport, plan::Transport::Mptcp { .. }));
    if edge != Edge::None || joins || !plan.processes.is_empty() {
        network.by_ip =
            (0..).zip(&network.addresses).map(|(i, address)| (address.ip, AddressId(i))).collect();
    }
    // Behind the links: the timeline, processes, endpoints.
    let timeline_target = network.links.len() as u32;
    let first_target = timeline_target + 1 + plan.processes.len() as u32;
    let first_addresses = first_addresses(plan);
    let mut endpoints: Vec<Endpoint> = (0..)
        .zip(&plan.flows)
        .flat_map(|(i, flow)| {
            endpoints(
                plan,
                i,
                labels(plan, i, flow, &first_addresses, translated[i as usize]),
                first_target,
                seed,
            )
        })
        .collect();
    if observe.rtc {
        for endpoint in &mut endpoints {
            if let Kind::Udp(application) = &mut endpoint.kind {
                application.observe();
            }
        }
    }
    for endpoint in endpoints.iter_mut().filter(|endpoint| real[endpoint.node as usize]) {
        let flow = &plan.flows[endpoint.label.flow.0 as usize];
        if !flow.simulated {
            let stop = plan.stop_of(endpoint.label.flow.0).filter(|_| endpoint.end == 0);
            endpoint.move_outside(Time::from_nanos(flow.start_ns), stop, &network.addresses);
        }
    }
    let timeline = Timeline::new(plan, target(timeline_target), &mut network.events);
    let mut processes = processes(plan, &network, seed, timeline_target + 1);
    for (running, planned) in processes.iter_mut().zip(&plan.processes) {
        if real[planned.node as usize] && !planned.simulated {
            running.move_outside();
        }
    }
    let mut sockets = SocketTable::new(endpoints, first_target);
    for index in 0..sockets.endpoints.len() as u32 {
        sockets.name(index);
    }
    for (i, flow) in (0..).zip(&plan.flows) {
        // The end that answers knows nobody yet, if others pass the flow on.
        if let Some(Through { port, .. }) = flow.through {
            let is_udp = matches!(flow.transport, plan::Transport::Udp);
            sockets.bind(Port { node: flow.to, is_udp, number: port }, Bound::Endpoint(2 * i + 1));
            sockets.enter(2 * i, is_udp);
        }
    }
    let mut world = World::new(network, timeline, processes, sockets, Limits::new(plan));
    for (i, flow) in plan.flows.iter().enumerate() {
        world.start(2 * i, Time::from_nanos(flow.start_ns));
    }
    world.start_processes();
    world
}

fn processes(plan: &Plan, network: &Network, seed: Seed, first_target: u32) -> Vec<Running> {
    let running = |(i, process): (u32, &plan::Process)| {
        let address = |to: u32| {
            let (_, remote) = between(plan, process.node, to).expect("a plan was checked for its addresses");
            network.addresses[(network.first_address(to).0 + remote) as usize].ip
        };
        let context = ProcessContext { index: i as u16, node: process.node, seed };
        Running::new(
            process.app.machine(&context, address),
            process.name.clone(),
            process.node,
            Stacks { tcp: process.tcp.clone(), mptcp: process.mptcp.clone() },
            seed,
            target(first_target + i),
            Span::from_nanos(process.wake_ns),
        )
    };
    (0..).zip(&plan.processes).map(running).collect()
}

fn nodes(plan: &Plan, real: &[bool]) -> Vec<Node> {
    let firsts = first_addresses(plan);
    let node = |((planned, &real), first): ((&plan::Node, &bool), u32)| {
        Node::new(planned.kind, real, first..first + planned.addresses.len() as u32)
    };
    plan.nodes.iter().zip(real).zip(firsts).map(node).collect()
}

fn addresses(plan: &Plan, ways: &Ways) -> Vec<Address> {
    let of = |(node, planned): (u32, &plan::Node)| {
        let address = move |(i, &ip): (u32, &IpAddr)| Address {
            ip,
            node,
            place: ways.place((node, i)),
            is_up: plan::is_up_at_first(plan, node, i),
            leaving: ways.leaving((node, i)),
        };
        (0..).zip(&planned.addresses).map(address).collect::<Vec<_>>()
    };
    let own = (0..).zip(&plan.nodes).flat_map(of);
    let outside = plan.outside().enumerate().map(|(i, (ip, link))| Address {
        ip,
        node: plan.links[link as usize].a,
        place: ways.outside(i),
        is_up: true,
        leaving: None,
    });
    own.chain(outside).collect()
}

/// Whether the end that answers a flow sees another address than that of the end that opens it, by flow.
fn translated(plan: &Plan, ways: &Ways) -> Vec<bool> {
    let outside: Vec<(IpAddr, u32)> = plan.outside().collect();
    let is_translated = |flow: &Flow| {
        let Some([from, to]) = ends(plan, flow).filter(|_| !outside.is_empty()) else { return false };
        let is_v4 = plan.nodes[from.0 as usize].addresses[from.1 as usize].is_ipv4();
        let path = ways.path(from, to).unwrap_or_default();
        outside.iter().any(|&(ip, link)| ip.is_ipv4() == is_v4 && path.contains(&Way::Ab.of(link)))
    };
    plan.flows.iter().map(is_translated).collect()
}

fn middleboxes(plan: &Plan, seed: Seed, addresses: &[Address]) -> Vec<Option<Box<Chain>>> {
    if plan.middleboxes.is_empty() {
        return Vec::new();
    }
    let addresses: Arc<[IpAddr]> = addresses.iter().map(|address| address.ip).collect();
    let chain = |(i, link): (u32, &plan::Link)| {
        let mut of = plan.middleboxes.iter().filter(move |placed| placed.link == i).peekable();
        of.peek()?;
        let settings = of.map(|placed| (&placed.which, &placed.set));
        let directions = Way::BOTH.map(|way| way.of(i));
        let places = directions.map(|direction| Place::Link(direction.0));
        let target = target(directions[0].0);
        Some(Box::new(Chain::new(settings, &link.name, seed, &addresses, target, places)))
    };
    (0..).zip(&plan.links).map(chain).collect()
}

/// The index of each node's first address among [`addresses`].
fn first_addresses(plan: &Plan) -> Vec<u32> {
    let mut next = 0;
    let first = |node: &plan::Node| {
        let first = next;
        next += node.addresses.len() as u32;
        first
    };
    plan.nodes.iter().map(first).collect()
}

/// What the packets of a flow's ends are addressed with.
fn labels(plan: &Plan, index: u32, flow: &Flow, first: &[u32], translated: bool) -> [Label; 2] {
    let [from, to] = ends(plan, flow).expect("a plan was checked for its addresses");
    let id = |(node, address): End| AddressId(first[node as usize] + address);
    let (label, [client, server]) = (FlowId(index), ports_of(index));
    let client = (id(from), client);
    match flow.through {
        None if translated => [
            Label::of(label, FourTuple { local: client, remote: (id(to), server) }),
            Label::waiting(label, id(to), server),
        ],
        None => {
            let server = (id(to), server);
            [
                Label::of(label, FourTuple { local: client, remote: server }),
                Label::of(label, FourTuple { local: server, remote: client }),
            ]
        }
        Some(Through { first: peer, port }) => {
            let (_, proxy) = towards(plan, from, peer.node).expect("a plan was checked for its addresses");
            let proxy = (id((peer.node, proxy)), peer.port);
            [
                Label::of(label, FourTuple { local: client, remote: proxy }),
                Label::waiting(label, id(to), port),
            ]
        }
    }
}

fn links(plan: &Plan, seed: Seed, steered: bool) -> Vec<Link> {
    let mut links = Vec::with_capacity(2 * plan.links.len());
    for (i, link) in (0..).zip(&plan.links) {
        for (direction, name) in [&link.ab, &link.ba].into_iter().zip(DIRECTIONS) {
            let id = DirectionId::new(i, name == DIRECTIONS[0]);
            let name = format!("{} {name}", link.name);
            let built = if steered || changes(plan, id) { Link::changing } else { Link::new };
            links.push(built(direction, &name, seed, target(id.0), Place::Link(id.0)));
        }
    }
    links
}

fn target(index: u32) -> Target {
    Target::new(index).expect("a plan was checked for its size")
}

fn endpoints(plan: &Plan, index: u32, labels: [Label; 2], first_target: u32, seed: Seed) -> [Endpoint; 2] {
    let flow = &plan.flows[index as usize];
    let nodes = [flow.from, flow.to];
    let mut end = 0;
    kinds(plan, index, seed).map(|kind| {
        let endpoint = Endpoint {
            label: labels[end],
            end: end as u16,
            node: nodes[end],
            target: target(first_target + 2 * index + end as u32),
            busy: kind.is_busy(),
            works: false,
            awaited: false,
            kind,
            counters: Counters::default(),
            armed: None,
            watched: None,
        };
        end += 1;
        endpoint
    })
}

fn kinds(plan: &Plan, index: u32, seed: Seed) -> [Kind; 2] {
    let flow = &plan.flows[index as usize];
    let start = Time::from_nanos(flow.start_ns);
    let context = FlowContext { name: &flow.name, index, start, seed };
    let mut end = 0;
    flow.app.ends(&context, flow.transport.carries()).map(|machine| {
        let kind = match (machine, &flow.transport) {
            (Machine::Stream(application), plan::Transport::Tcp { client, server }) => {
                let (config, name) = [(client, "client"), (server, "server")][end];
                let iss = Seq(seed.stream(&format!("flow {} {name} iss", flow.name)).bits() as u32);
                let socket = Socket::Idle { config: config.clone(), iss };
                Kind::Tcp(Box::new(Tcp { socket, owner: Owner::Application(application) }))
            }
            (Machine::Stream(application), plan::Transport::Mptcp { client, server }) => {
                let (planned, name, node) = [(client, "client", flow.from), (server, "server", flow.to)][end];
                let name = format!("flow {} {name}", flow.name);
                let address = |(i, &ip)| (ip, plan::is_up_at_first(plan, node, i));
                let addresses = (0..).zip(&plan.nodes[node as usize].addresses).map(address);
                let owner = Owner::Application(application);
                Kind::Mptcp(Box::new(Multipath::new(planned, owner, addresses, name, seed)))
            }
            (Machine::Datagrams(application), plan::Transport::Udp) => Kind::Udp(application),
            _ => unreachable!("a plan was checked for its transports"),
        };
        end += 1;
        kind
    })
}
