//! Ways between real hosts and the machine's own loopback.

use super::NodeKind;
use crate::check::Checker;
use alloc::collections::BTreeSet;
use alloc::vec;
use serde::{Deserialize, Serialize};

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
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u32> {
        let (node, to) = match *self {
            Self::Reach { node, .. } => (node, None),
            Self::Publish { node, to, .. } => (node, Some(to)),
        };
        core::iter::once(node).chain(to)
    }
}

impl Checker<'_> {
    pub(crate) fn relays(&mut self) {
        let mut taken = BTreeSet::new();
        for (i, relay) in self.plan.relays.iter().enumerate() {
            let (listens, transport, ends, ports) = match *relay {
                Relay::Reach { transport, node, port, target } => {
                    (Some(node), transport, vec![("node", node)], [port, target])
                }
                Relay::Publish { transport, node, port, to, target } => {
                    (None, transport, vec![("node", node), ("to", to)], [port, target])
                }
            };
            for (key, node) in &ends {
                let path = format_args!("relays[{i}].{key}");
                match self.plan.nodes.get(*node as usize) {
                    None => self.fail(path, "there is no such node"),
                    Some(node) if node.kind == NodeKind::Router => {
                        self.fail(path, format_args!("{:?} is a router: nobody listens there", node.name));
                    }
                    Some(node) if node.simulated => self.fail(
                        path,
                        format_args!("the host {:?} is simulated: the machine cannot reach it", node.name),
                    ),
                    Some(_) => {}
                }
            }
            if let [(_, node), (_, to)] = ends[..]
                && node == to
            {
                self.fail(format_args!("relays[{i}].to"), "is the host itself: no network lies between");
            }
            if ports.contains(&0) {
                self.fail(format_args!("relays[{i}]"), "a port is above zero");
            }
            if !taken.insert((listens, transport, ports[0])) {
                let whose = if listens.is_some() { "the host" } else { "the machine" };
                self.fail(
                    format_args!("relays[{i}].port"),
                    format_args!("port {} of {whose} leads elsewhere already", ports[0]),
                );
            }
        }
    }
}
