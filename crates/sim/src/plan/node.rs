//! Nodes: hosts and routers, and what joins real hosts to the network.

use alloc::string::String;
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
