//! Flows: whom they join, over what, and that they end.

use super::{Draw, Peer, Plan};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_apps::{App, Over};
use voxpath_mptcp::Config as MptcpConfig;
use voxpath_tcp::Config as TcpConfig;

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
    /// Multipath TCP, with each end's parameters.
    Mptcp {
        /// Of the host that opens.
        client: Arc<MptcpEnd>,
        /// Of the host that answers.
        server: Arc<MptcpEnd>,
    },
    /// UDP.
    Udp,
}

/// One end of a flow over Multipath TCP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MptcpEnd {
    /// Of its subflows.
    pub tcp: Arc<TcpConfig>,
    /// Of the connection.
    pub mptcp: Arc<MptcpConfig>,
    /// Indices of those addresses of its host from which subflows are to be used only if no other is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backups: Vec<u32>,
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
            Self::Mptcp { .. } => "mptcp",
            Self::Udp => "udp",
        }
    }

    /// What an application has over it.
    pub const fn carries(&self) -> Over {
        match self {
            Self::Tcp { .. } | Self::Mptcp { .. } => Over::Stream,
            Self::Udp => Over::Datagrams,
        }
    }
}

/// A flow begins, as its `start_ns` says, or has to end: the end that opened it begins nothing more, and closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowEvent {
    /// Index of the flow.
    pub flow: u32,
    /// Whether it begins.
    pub runs: bool,
}

impl FlowEvent {
    /// The stop of a flow that has started by then and was not stopped before.
    pub(crate) fn sample(draw: &mut dyn Draw, plan: &Plan, at_ns: u64) -> Option<Self> {
        let flow = draw.below(plan.flows.len() as u64) as u32;
        let goes_on = plan.flows[flow as usize].start_ns < at_ns && plan.stop_of(flow).is_none();
        goes_on.then_some(Self { flow, runs: false })
    }

    pub(crate) fn told(self, plan: &Plan) -> [String; 4] {
        let name = plan.flows[self.flow as usize].name.clone();
        ["flow".into(), name, "runs".into(), self.runs.to_string()]
    }
}
