//! The plan: what a scenario becomes once units, defaults, builders and names are resolved.
//!
//! Python writes it, this crate and every other backend read it, and its canonical JSON is part of a
//! run's identity. Everything is in integer smallest units (`_ns`, `_bps`, bytes) but for probabilities.
//! Nodes and links are named by their index. [`crate::check`] says whether a plan can run.
//!
//! Each part of a plan has a file with its settings, and one of the same name with their checks in `check/`.

mod address;
mod event;
mod flow;
mod link;
mod node;
mod process;
mod program;
mod relay;
mod route;

pub use address::AddressEvent;
pub(crate) use event::is_up_at_first;
pub use event::{Change, Event};
pub use flow::{Flow, FlowEvent, MptcpEnd, Through, Transport};
pub use link::{DIRECTIONS, Interface, Link, LinkEvent, LinkMiddlebox};
pub use node::{HostEdge, Node, NodeKind};
pub use process::{MptcpEnds, Process, ProcessEvent};
pub use program::Program;
pub use relay::{Relay, Relayed};
pub use route::Route;

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
pub use voxpath_net::element::capacity::{self, Capacity};
pub use voxpath_net::element::delay::{self, DelayVariation};
pub use voxpath_net::element::loss::{self, Loss};
pub use voxpath_net::element::middlebox::{self, Middlebox};
pub use voxpath_net::element::queue::{self, Queueing};
pub use voxpath_net::element::{Draw, Framing, Reorder};
pub use voxpath_net::routing::Way;
pub use voxpath_net::{Direction, LinkChange};

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use voxpath_tcp::Config as TcpConfig;
use voxpath_units::Time;

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
    /// What stands on links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub middleboxes: Vec<LinkMiddlebox>,
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

/// What a run records besides its results. Observation never changes behaviour.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Observe {
    /// Time series of every TCP endpoint (cwnd, ssthresh, flight, srtt, rto, state, retransmissions) on change.
    pub tcp: bool,
    /// Signals of the rate controls of calls, on change.
    pub rtc: bool,
    /// Every packet at every link: enqueued, dropped, lost, delivered.
    pub packets: bool,
    /// Rates that vary by themselves, on change.
    pub capacity: bool,
    /// Names of hosts whose packets are captured as pcapng.
    pub capture: Vec<String>,
    /// Bytes of each captured packet that are kept; none keeps all.
    pub snap_bytes: Option<u32>,
}

/// How many sets of parameters, the newest, are held against another to find its like: hosts of one kind follow each other.
const STACKS: usize = 16;

impl Plan {
    /// Addresses to which middleboxes translate, and their links.
    pub(crate) fn outside(&self) -> impl Iterator<Item = (IpAddr, u32)> {
        self.middleboxes.iter().filter_map(|placed| match &placed.set {
            Middlebox::Translate(translate) => Some((translate.address, placed.link)),
            _ => None,
        })
    }

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

    /// The host that stands for addresses outside of the plan.
    pub(crate) fn gateway(&self) -> Option<u32> {
        self.relays.iter().find_map(|relay| match *relay {
            Relay::Internet { node } => Some(node),
            Relay::Reach { .. } | Relay::Publish { .. } => None,
        })
    }

    /// When a flow is stopped.
    pub(crate) fn stop_of(&self, flow: u32) -> Option<Time> {
        let stop = Change::Flow(FlowEvent { flow, runs: false });
        let event = self.events.iter().find(|event| event.change == stop)?;
        Some(Time::from_nanos(event.at_ns))
    }
}
