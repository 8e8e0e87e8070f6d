//! From a plan to a world.

use crate::check::{LONGEST_NS, common_family, routes};
use crate::direction;
use crate::endpoint::{Counters, Endpoint, Kind, Label, Socket, Tcp, stream_applications};
use crate::network::{Address, Network, Node};
use crate::plan::{self, App, DIRECTIONS, Flow, Observe, Plan};
use crate::sinks;
use crate::world::World;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use voxpath_apps::cbr;
use voxpath_net::routing::DirectionId;
use voxpath_net::tap::Place;
use voxpath_net::{AddressId, EventQueue, FlowId, Link, Pool, Seed, Tap, Target};
use voxpath_units::{Span, Time};
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
    let (_, routes) = routes(plan);
    let addresses = addresses(plan);
    let mut tap = Tap::new();
    for sink in sinks::wanted(plan, observe, &addresses) {
        tap.attach(sink);
    }
    let network = Network {
        pool: Pool::new(),
        events: EventQueue::new(),
        tap,
        nodes: plan.nodes.iter().zip(&real).map(|(node, &real)| Node::new(node.kind, real)).collect(),
        links: links(plan, seed),
        far_ends: plan.links.iter().flat_map(|link| [link.b, link.a]).collect(),
        routes,
        addresses,
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
            endpoint.move_outside(Time::from_nanos(flow.start_ns), &network.addresses);
        }
    }
    let end = Time::from_nanos(plan.duration_ns.unwrap_or(LONGEST_NS));
    let mut world = World::new(network, endpoints, end);
    for (i, flow) in plan.flows.iter().enumerate() {
        world.start(2 * i, Time::from_nanos(flow.start_ns));
    }
    world
}

fn addresses(plan: &Plan) -> Vec<Address> {
    let of = |(node, planned): (u32, &plan::Node)| {
        planned.addresses.iter().map(move |&ip| Address { ip, node }).collect::<Vec<_>>()
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
    let ends = [flow.from as usize, flow.to as usize];
    let [from, to] = ends.map(|node| plan.nodes[node].addresses.as_slice());
    let chosen = common_family(from, to).expect("a plan was checked for its addresses");
    [0, 1].map(|end| AddressId(first[ends[end]] + chosen[end] as u32))
}

fn links(plan: &Plan, seed: Seed) -> Vec<Link> {
    let mut links = Vec::with_capacity(2 * plan.links.len());
    for (i, link) in (0..).zip(&plan.links) {
        for (direction, name) in [&link.ab, &link.ba].into_iter().zip(DIRECTIONS) {
            let id = DirectionId::new(i, name == DIRECTIONS[0]);
            let name = format!("{} {name}", link.name);
            links.push(Link::new(direction::config(direction), &name, seed, target(id.0), Place::Link(id.0)));
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
    match (&flow.transport, &flow.app) {
        (plan::Transport::Tcp { client, server }, app) => {
            let applications =
                stream_applications(app, index).expect("a plan was checked for its transports");
            let mut ends = [(client, "client"), (server, "server")].into_iter();
            applications.map(|application| {
                let (config, end) = ends.next().expect("a flow has two ends");
                let iss = Seq(seed.stream(&format!("flow {} {end} iss", flow.name)).bits() as u32);
                let socket = Socket::Idle { config: config.clone(), iss };
                Kind::Tcp(Box::new(Tcp { socket, application }))
            })
        }
        (plan::Transport::Udp, &App::Cbr { packet_bytes, interval_ns, packets }) => {
            let schedule = cbr::Schedule {
                stream: 2 * index,
                size: packet_bytes,
                start: Time::from_nanos(flow.start_ns),
                interval: Span::from_nanos(interval_ns),
                count: packets,
            };
            [Kind::Sender(cbr::Sender::new(schedule)), Kind::Receiver(Box::new(cbr::Receiver::new(schedule)))]
        }
        (plan::Transport::Udp, _) => unreachable!("a plan was checked for its transports"),
    }
}
