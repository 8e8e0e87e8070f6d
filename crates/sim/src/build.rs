//! From a plan to a world.

use crate::direction;
use crate::endpoint::{Counters, Endpoint, Kind, Label, Socket, Tcp};
use crate::limits::Limits;
use crate::network::{Address, Network, Node};
use crate::plan::{self, DIRECTIONS, Flow, Observe, Plan};
use crate::sinks;
use crate::timeline::{Timeline, changes, stop_of};
use crate::ways::{End, Ways, ends};
use crate::world::World;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;
use voxpath_apps::{FlowContext, Machine};
use voxpath_net::routing::DirectionId;
use voxpath_net::tap::Place;
use voxpath_net::{AddressId, Ecn, EventQueue, FlowId, Link, LinkConfig, Pool, Seed, Tap, Target};
use voxpath_units::Time;
use voxpath_wire::tcp::Seq;

/// First port of the ends that answer (iperf's).
const SERVER_PORT: u16 = 5001;
/// First of the dynamic ports (RFC 6335 section 6), from which the ends that open take theirs.
const DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: u32 = 1 << 14;

/// What is around the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// Nothing.
    None,
    /// The real hosts of [`Plan::real_hosts`].
    Real,
}

/// The world of a plan that [`crate::check`] has nothing against.
pub(crate) fn world(plan: &Plan, seed: Seed, observe: &Observe, edge: Edge) -> World {
    let real = match edge {
        Edge::None => vec![false; plan.nodes.len()],
        Edge::Real => plan.real_hosts(),
    };
    let ways = Ways::of(plan);
    let addresses = addresses(plan, &ways);
    let mut tap = Tap::new();
    for sink in sinks::wanted(plan, observe, &addresses) {
        tap.attach(sink);
    }
    let mut network = Network {
        pool: Pool::new(),
        events: EventQueue::new(),
        tap,
        nodes: nodes(plan, &real),
        links: links(plan, seed),
        mtus: plan.links.iter().flat_map(|link| [link.mtu.unwrap_or(u32::MAX); 2]).collect(),
        far_ends: plan.links.iter().flat_map(|link| [link.b, link.a]).collect(),
        ways,
        addresses,
        own: VecDeque::new(),
    };
    let first_target = network.links.len() as u32;
    let first_addresses = first_addresses(plan);
    let mut endpoints: Vec<Endpoint> = (0..)
        .zip(&plan.flows)
        .flat_map(|(i, flow)| {
            endpoints(i, flow, flow_addresses(plan, flow, &first_addresses), first_target, seed)
        })
        .collect();
    for endpoint in endpoints.iter_mut().filter(|endpoint| real[endpoint.node as usize]) {
        let flow = &plan.flows[endpoint.label.flow.0 as usize];
        if !flow.simulated {
            let stop = stop_of(plan, endpoint.label.flow.0).filter(|_| endpoint.end == 0);
            endpoint.move_outside(Time::from_nanos(flow.start_ns), stop, &network.addresses);
        }
    }
    let woken = target(first_target + endpoints.len() as u32);
    let timeline = Timeline::new(plan, woken, &mut network.events);
    let mut world = World::new(network, endpoints, timeline, Limits::new(plan));
    for (i, flow) in plan.flows.iter().enumerate() {
        world.start(2 * i, Time::from_nanos(flow.start_ns));
    }
    world
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
            leaving: ways.leaving((node, i)),
        };
        (0..).zip(&planned.addresses).map(address).collect::<Vec<_>>()
    };
    (0..).zip(&plan.nodes).flat_map(of).collect()
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

/// The addresses between which a flow goes: of the end that opens, and of the end that answers.
fn flow_addresses(plan: &Plan, flow: &Flow, first: &[u32]) -> [AddressId; 2] {
    let ends = ends(plan, flow).expect("a plan was checked for its addresses");
    ends.map(|(node, address): End| AddressId(first[node as usize] + address))
}

fn links(plan: &Plan, seed: Seed) -> Vec<Link> {
    let mut links = Vec::with_capacity(2 * plan.links.len());
    for (i, link) in (0..).zip(&plan.links) {
        for (direction, name) in [&link.ab, &link.ba].into_iter().zip(DIRECTIONS) {
            let id = DirectionId::new(i, name == DIRECTIONS[0]);
            let name = format!("{} {name}", link.name);
            let config = LinkConfig { changing: changes(plan, id), ..direction::config(direction) };
            links.push(Link::new(config, &name, seed, target(id.0), Place::Link(id.0)));
        }
    }
    links
}

fn target(index: u32) -> Target {
    Target::new(index).expect("a plan was checked for its size")
}

fn endpoints(
    index: u32,
    flow: &Flow,
    addresses: [AddressId; 2],
    first_target: u32,
    seed: Seed,
) -> [Endpoint; 2] {
    // A pair of hosts has 2^14 dynamic ports; after that the next server port begins.
    let client_port = DYNAMIC_PORT + (index % DYNAMIC_PORTS) as u16;
    let server_port = SERVER_PORT + (index / DYNAMIC_PORTS) as u16;
    let kinds = kinds(index, flow, seed);
    let ends = [(flow.from, client_port), (flow.to, server_port)];
    let mut end = 0;
    kinds.map(|kind| {
        let ((node, local_port), (_, remote_port)) = (ends[end], ends[1 - end]);
        let endpoint = Endpoint {
            label: Label {
                flow: FlowId(index),
                local: addresses[end],
                remote: addresses[1 - end],
                local_port,
                remote_port,
                ecn: Ecn::NotEct,
            },
            end: end as u8,
            node,
            target: target(first_target + 2 * index + end as u32),
            busy: kind.is_busy(),
            kind,
            counters: Counters::default(),
            armed: None,
            watched: None,
        };
        end += 1;
        endpoint
    })
}

fn kinds(index: u32, flow: &Flow, seed: Seed) -> [Kind; 2] {
    let start = Time::from_nanos(flow.start_ns);
    let context = FlowContext { name: &flow.name, index, start, seed };
    let mut end = 0;
    flow.app.ends(&context, flow.transport.carries()).map(|machine| {
        let kind = match (machine, &flow.transport) {
            (Machine::Stream(application), plan::Transport::Tcp { client, server }) => {
                let (config, name) = [(client, "client"), (server, "server")][end];
                let iss = Seq(seed.stream(&format!("flow {} {name} iss", flow.name)).bits() as u32);
                let socket = Socket::Idle { config: config.clone(), iss };
                Kind::Tcp(Box::new(Tcp { socket, application }))
            }
            (Machine::Datagrams(application), plan::Transport::Udp) => Kind::Udp(application),
            _ => unreachable!("a plan was checked for its transports"),
        };
        end += 1;
        kind
    })
}
