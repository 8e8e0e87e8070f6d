//! The plan: what a scenario becomes once units, defaults, builders and names are resolved.
//!
//! Python writes it, this crate and every other backend read it, and its canonical JSON is part of a
//! run's identity. Everything is in integer smallest units (`_ns`, `_bps`, bytes) but for probabilities.
//! Nodes and links are named by their index. [`crate::check`] says whether a plan can run.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
pub use voxpath_net::element::capacity::{self, Capacity};
pub use voxpath_net::element::delay::{self, DelayVariation};
pub use voxpath_net::element::loss::{self, Loss};
pub use voxpath_net::element::queue::{self, Queueing};
pub use voxpath_net::element::{Draw, Framing, Reorder};
pub use voxpath_net::{Direction, LinkChange};
use voxpath_tcp::Config as TcpConfig;

pub use voxpath_apps::bulk::Bulk;
pub use voxpath_apps::cbr::Cbr;
pub use voxpath_apps::dialogue::{Download, Voice};
pub use voxpath_apps::onoff::OnOff;
pub use voxpath_apps::ping::Ping;
pub use voxpath_apps::process::Peer;
pub use voxpath_apps::proxy::{Forward, Proxy};
pub use voxpath_apps::push::{Push, PushWay};
pub use voxpath_apps::sample::{Count as ObjectCount, Law};
pub use voxpath_apps::speech::{Segment, Service as Decoder, Speech, SpeechResult};
pub use voxpath_apps::web::{ObjectSize, Web};
pub use voxpath_apps::{App, Over, ProcessApp};

/// The version that this build reads and writes.
pub const VERSION: u32 = 1;

/// A network, its hosts and what they do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`VERSION`].
    pub version: u32,
    /// The scenario's name, for people.
    pub name: String,
    /// Root of every random stream, together with the replication number.
    pub seed: u64,
    /// When the run ends, whatever is still going on; none runs until every flow has ended.
    pub duration_ns: Option<u64>,
    /// What ends it before.
    pub limits: Limits,
    /// Hosts and routers.
    pub nodes: Vec<Node>,
    /// Links between two nodes each.
    pub links: Vec<Link>,
    /// Addresses that belong to one of their host's links.
    pub interfaces: Vec<Interface>,
    /// Static routes that replace the shortest path.
    pub routes: Vec<Route>,
    /// Conversations between two hosts each.
    pub flows: Vec<Flow>,
    /// What runs on hosts besides the ends of flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
    /// What changes during the run, in the order in which it happens.
    pub events: Vec<Event>,
    /// What real hosts run besides; nothing that a simulation could answer for.
    pub programs: Vec<Program>,
    /// Ways between real hosts and the machine's own loopback.
    pub relays: Vec<Relay>,
}

/// What ends a run that is not over: it is not valid then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Events that are processed.
    pub events: Option<u64>,
    /// Virtual time.
    pub time_ns: Option<u64>,
    /// Bytes that packets, events, observations and the applications' records hold.
    pub memory_bytes: Option<u64>,
}

/// A host or a router.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Unique name; also the name of its random streams.
    pub name: String,
    /// Host or router.
    pub kind: NodeKind,
    /// The node's addresses, unique in the plan; a host has at least one, a router may have none.
    pub addresses: Vec<IpAddr>,
    /// Never a real host, also where others are.
    pub simulated: bool,
    /// A real host where there are any, though nothing of the plan may run on it.
    pub real: bool,
    /// How it is joined to the network where it is a real host; whatever the machine can, if nobody asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<HostEdge>,
}

/// What joins a real host to the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostEdge {
    /// A TUN device, which has IP packets.
    Tun,
    /// A pair of virtual Ethernet devices, without ARP.
    Veth,
    /// A TAP device, which has Ethernet frames and ARP.
    Tap,
    /// A bridge that has the host's addresses, with a TAP device for a port.
    Bridge,
}

/// What a node does with packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// Runs applications, forwards nothing.
    Host,
    /// Forwards, runs nothing.
    Router,
}

/// A bidirectional link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name; also the name of its random streams.
    pub name: String,
    /// Index of the node at one end.
    pub a: u32,
    /// Index of the node at the other end.
    pub b: u32,
    /// The largest IP packet that it takes, in bytes; none takes any.
    pub mtu: Option<u32>,
    /// From `a` to `b`.
    pub ab: Direction,
    /// From `b` to `a`.
    pub ba: Direction,
}

/// The names of a link's directions, in the order of [`voxpath_net::routing::DirectionId`].
pub const DIRECTIONS: [&str; 2] = ["ab", "ba"];

/// An address of a host at one of its links: packets to it arrive by that link, and packets from it leave by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Index of the host.
    pub node: u32,
    /// Index of the address among the host's.
    pub address: u32,
    /// Index of a link of the host.
    pub link: u32,
}

/// A static route: at `node`, packets for `to` leave by `link`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Index of the node that forwards or sends.
    pub node: u32,
    /// Index of the destination node.
    pub to: u32,
    /// Index of a link of `node`.
    pub link: u32,
}

/// A conversation: `from` opens it, `to` answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name.
    pub name: String,
    /// Index of the host that opens.
    pub from: u32,
    /// Index of the host that answers.
    pub to: u32,
    /// Index of the address of `from` that it uses; none takes the first that has a counterpart.
    pub from_address: Option<u32>,
    /// Index of the address of `to` that it uses.
    pub to_address: Option<u32>,
    /// Both ends are simulated, also where their hosts are real.
    pub simulated: bool,
    /// When the flow starts.
    pub start_ns: u64,
    /// What carries it.
    pub transport: Transport,
    /// What the two ends do.
    pub app: App,
    /// Who passes it on, if it does not go straight from one end to the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<Through>,
}

/// A flow that processes pass on: each end knows its neighbour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Through {
    /// Whom the end that opens sends to.
    pub first: Peer,
    /// The port at which the end that answers waits for whoever comes first.
    pub port: u16,
}

/// A process on a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Unique name.
    pub name: String,
    /// Index of the host.
    pub node: u32,
    /// It is simulated, also where its host is real.
    pub simulated: bool,
    /// The stack that its connections have.
    pub tcp: Arc<TcpConfig>,
    /// What it does.
    pub app: ProcessApp,
}

/// Something that changes during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When, before anything else that happens then.
    pub at_ns: u64,
    /// What.
    pub change: Change,
}

/// What can change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// One direction of a link.
    Link {
        /// Index of the link.
        link: u32,
        /// Which direction.
        direction: Way,
        /// What of it.
        set: LinkChange,
    },
    /// A flow begins, as its `start_ns` says, or has to end: the end that opened it begins nothing more, and closes.
    Flow {
        /// Index of the flow.
        flow: u32,
        /// Whether it begins.
        runs: bool,
    },
    /// At a router, packets for a host leave by another link from now on.
    Route(Route),
}

/// One of a link's directions, named as in [`DIRECTIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// From `a` to `b`.
    Ab,
    /// From `b` to `a`.
    Ba,
}

/// A program that a real host runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Index of the host.
    pub node: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The TCP port at which it serves: the run starts when it listens, and the program is ended with the run.
    /// Without one the run lasts until the program ends by itself.
    pub listens: Option<u16>,
    /// When it starts; zero where it serves.
    pub start_ns: u64,
    /// Whether its end ends the run, whatever is still going on.
    pub ends: bool,
    /// The stack that its sockets are to have.
    pub tcp: TcpConfig,
}

/// Connections that a real host passes on to the machine's loopback, or from there into the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Relay {
    /// Who connects to `port` of `node` reaches `target` of the machine.
    Reach {
        /// What is passed on.
        transport: Relayed,
        /// Index of the host.
        node: u32,
        /// Where the host listens.
        port: u16,
        /// Where on the machine's loopback it leads.
        target: u16,
    },
    /// Who connects to `port` of the machine's loopback reaches `target` of `to` by way of `node`.
    Publish {
        /// What is passed on.
        transport: Relayed,
        /// Index of the host whence the connections go out.
        node: u32,
        /// Where it is listened on the machine's loopback.
        port: u16,
        /// Index of the host that is reached.
        to: u32,
        /// At which of its ports.
        target: u16,
    },
}

/// What a relay passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Relayed {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Relay {
    /// The real hosts that it needs.
    fn nodes(&self) -> impl Iterator<Item = u32> {
        let (node, to) = match *self {
            Self::Reach { node, .. } => (node, None),
            Self::Publish { node, to, .. } => (node, Some(to)),
        };
        core::iter::once(node).chain(to)
    }
}

/// How many sets of parameters, the newest, are held against another to find its like: hosts of one kind follow each other.
const STACKS: usize = 16;

impl Plan {
    /// Has ends with the same parameters share them, so that ten thousand flows of two kinds of host hold two sets.
    pub fn share_stacks(&mut self) {
        let mut known: VecDeque<Arc<TcpConfig>> = VecDeque::new();
        for flow in &mut self.flows {
            let Transport::Tcp { client, server } = &mut flow.transport else { continue };
            for stack in [client, server] {
                if let Some(other) = known.iter().find(|other| *other == stack) {
                    *stack = other.clone();
                    continue;
                }
                known.push_front(stack.clone());
                known.truncate(STACKS);
            }
        }
    }

    /// The nodes that are real hosts where there are any: those that run something which is not to be simulated.
    pub fn real_hosts(&self) -> Vec<bool> {
        let mut real: Vec<bool> = self.nodes.iter().map(|node| node.real).collect();
        let flows = self.flows.iter().filter(|flow| !flow.simulated).flat_map(|flow| [flow.from, flow.to]);
        let programs = self.programs.iter().map(|program| program.node);
        let processes =
            self.processes.iter().filter(|process| !process.simulated).map(|process| process.node);
        for node in flows.chain(programs).chain(processes).chain(self.relays.iter().flat_map(Relay::nodes)) {
            if let Some(planned) = self.nodes.get(node as usize) {
                real[node as usize] = planned.kind == NodeKind::Host && !planned.simulated;
            }
        }
        real
    }
}

/// Transports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Transport {
    /// TCP, with each end's parameters.
    Tcp {
        /// Of the host that opens.
        client: Arc<TcpConfig>,
        /// Of the host that answers.
        server: Arc<TcpConfig>,
    },
    /// UDP.
    Udp,
}

impl Transport {
    /// TCP between two stacks.
    pub fn tcp(client: impl Into<Arc<TcpConfig>>, server: impl Into<Arc<TcpConfig>>) -> Self {
        Self::Tcp { client: client.into(), server: server.into() }
    }

    /// The plan's name for its kind.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Tcp { .. } => "tcp",
            Self::Udp => "udp",
        }
    }

    /// What an application has over it.
    pub const fn carries(&self) -> Over {
        match self {
            Self::Tcp { .. } => Over::Stream,
            Self::Udp => Over::Datagrams,
        }
    }
}

/// What a run records besides its results. Observation never changes behaviour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Observe {
    /// Time series of every TCP endpoint (cwnd, ssthresh, flight, srtt, rto, state, retransmissions) on change.
    pub tcp: bool,
    /// Every packet at every link: enqueued, dropped, lost, delivered.
    pub packets: bool,
    /// Names of hosts whose packets are captured as pcapng.
    pub capture: Vec<String>,
    /// Bytes of each captured packet that are kept; none keeps all.
    pub snap_bytes: Option<u32>,
}
