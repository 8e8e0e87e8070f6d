//! Addresses that come and go.

use super::{Draw, NodeKind, Plan};
use alloc::format;
use alloc::string::{String, ToString};
use serde::{Deserialize, Serialize};

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
}
