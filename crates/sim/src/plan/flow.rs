//! Flows: whom they join, over what, and that they end.

use super::{Draw, NodeKind, Peer, Plan};
use crate::check::Checker;
use crate::timeline::stop_of;
use crate::ways::ends;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use serde::{Deserialize, Serialize};
use voxpath_apps::{App, Over};
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
        let goes_on = plan.flows[flow as usize].start_ns < at_ns && stop_of(plan, flow).is_none();
        goes_on.then_some(Self { flow, runs: false })
    }

    pub(crate) fn told(self, plan: &Plan) -> [String; 4] {
        let name = plan.flows[self.flow as usize].name.clone();
        ["flow".into(), name, "runs".into(), self.runs.to_string()]
    }
}

impl Checker<'_> {
    pub(crate) fn flows(&mut self) {
        for (i, flow) in self.plan.flows.iter().enumerate() {
            let path = format!("flows[{i}]");
            for (end, node) in [("from", flow.from), ("to", flow.to)] {
                match self.plan.nodes.get(node as usize).map(|node| (node.kind, &node.name)) {
                    None => self.fail(format_args!("{path}.{end}"), format_args!("there is no node {node}")),
                    Some((NodeKind::Router, name)) => {
                        self.fail(
                            format_args!("{path}.{end}"),
                            format_args!("{name:?} is a router; flows join hosts"),
                        );
                    }
                    Some((NodeKind::Host, _)) => {}
                }
            }
            if flow.from == flow.to {
                self.fail(format_args!("{path}.to"), "a flow joins two different hosts");
            }
            self.families(&path, flow);
            self.span(format_args!("{path}.start_ns"), flow.start_ns);
            if self.plan.duration_ns.is_some_and(|end| flow.start_ns >= end) {
                self.fail(format_args!("{path}.start_ns"), "the flow starts when the run is already over");
            }
            self.transport(&path, flow);
            if flow.app.is_endless()
                && self.plan.duration_ns.is_none()
                && stop_of(self.plan, i as u32).is_none()
            {
                self.fail(
                    format_args!("{path}.app"),
                    format_args!(
                        "this {} never ends: say how much it sends, stop it, or give the run a duration",
                        flow.app.name()
                    ),
                );
            }
            flow.app.check(&mut self.root().at("flows").at(i).at("app"));
        }
    }

    pub(crate) fn families(&mut self, path: &str, flow: &Flow) {
        let plan = self.plan;
        let mut known = true;
        for (key, node, address) in
            [("from_address", flow.from, flow.from_address), ("to_address", flow.to, flow.to_address)]
        {
            let Some(node) = plan.nodes.get(node as usize).filter(|node| !node.addresses.is_empty()) else {
                known = false;
                continue;
            };
            if address.is_some_and(|address| address as usize >= node.addresses.len()) {
                self.fail(format_args!("{path}.{key}"), "the host has no such address");
                known = false;
            }
        }
        if known && ends(plan, flow).is_none() {
            self.fail(
                format_args!("{path}.to"),
                "one end has IPv4 addresses only and the other IPv6 addresses only",
            );
        }
    }

    pub(crate) fn transport(&mut self, path: &str, flow: &Flow) {
        if let Transport::Tcp { client, server } = &flow.transport {
            for (end, config) in [("client", client), ("server", server)] {
                self.tcp(&format!("{path}.transport.{end}"), config);
            }
        }
        if !flow.app.transports().contains(&flow.transport.carries()) {
            let (given, app) = (flow.transport.name(), flow.app.name());
            let needed = match flow.transport.carries() {
                Over::Stream => "udp",
                Over::Datagrams => "tcp",
            };
            self.fail(
                format_args!("{path}.transport.kind"),
                format_args!("is {given}, but {app} needs {needed}"),
            );
        }
    }
    pub(crate) fn flow_event(&mut self, path: &str, at_ns: u64, event: FlowEvent, is_first: bool) {
        let FlowEvent { flow, runs } = event;
        let place = format!("{path}.change.flow");
        match self.plan.flows.get(flow as usize) {
            None => self.fail(place, "there is no such flow"),
            Some(_) if !is_first => {
                self.fail(place, if runs { "it has started already" } else { "it has stopped already" });
            }
            Some(planned) if runs && planned.start_ns != at_ns => {
                self.fail(place, "its start is another time");
            }
            Some(planned) if !runs && planned.start_ns >= at_ns => {
                self.fail(format_args!("{path}.at_ns"), "it has not started yet");
            }
            Some(_) => {}
        }
    }
}
