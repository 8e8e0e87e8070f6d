//! Ways between real hosts and the machine's own loopback.

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
    /// `node` stands for every IPv4 address that is not the plan's: what is sent to one arrives at it, and comes from it.
    Internet {
        /// Index of the host.
        node: u32,
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
            Self::Reach { node, .. } | Self::Internet { node } => (node, None),
            Self::Publish { node, to, .. } => (node, Some(to)),
        };
        core::iter::once(node).chain(to)
    }
}
