//! Nodes: hosts and routers, and what joins real hosts to the network.

use super::{Draw, Plan};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};

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

/// What a node does with packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeKind {
    /// Runs applications, forwards nothing.
    Host,
    /// Forwards, runs nothing.
    Router,
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

/// A host gets one of its addresses, or loses it: from then on it neither sends from there nor hears what is sent there. An address whose
/// first event brings it is not there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressEvent {
    /// Index of the host.
    pub node: u32,
    /// Index of the address among the host's.
    pub address: u32,
    /// Whether it is there from now on.
    pub up: bool,
}

impl AddressEvent {
    /// Any address of any host. Only in a run that has an end, for the same reason as a link that goes down.
    pub(crate) fn sample(draw: &mut dyn Draw, plan: &Plan) -> Option<Self> {
        plan.duration_ns?;
        let node = draw.below(plan.nodes.len() as u64) as u32;
        let of = &plan.nodes[node as usize];
        let address = draw.below(of.addresses.len().max(1) as u64) as u32;
        (of.kind == NodeKind::Host).then(|| Self { node, address, up: draw.bit() })
    }

    pub(crate) fn told(self, plan: &Plan) -> [String; 4] {
        let node = &plan.nodes[self.node as usize];
        let name = format!("{} {}", node.name, node.addresses[self.address as usize]);
        ["address".into(), name, "up".into(), self.up.to_string()]
    }

    /// Whether an address of a node is there when a run begins.
    pub(crate) fn is_up_at_first(plan: &Plan, node: u32, address: u32) -> bool {
        let of = |event: &super::Event| match event.change {
            super::Change::Address(change) if (change.node, change.address) == (node, address) => {
                Some(!change.up)
            }
            _ => None,
        };
        plan.events.iter().find_map(of).unwrap_or(true)
    }
}
