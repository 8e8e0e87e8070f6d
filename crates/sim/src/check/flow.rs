//! Flows: whom they join, over what, and that they end.

use super::Checker;
use crate::plan::{Flow, FlowEvent, MptcpEnd, NodeKind, Transport};
use crate::ways::ends;
use alloc::format;
use voxpath_apps::Over;

impl Checker<'_> {
    pub(super) fn flows(&mut self) {
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
                && self.plan.stop_of(i as u32).is_none()
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

    pub(super) fn families(&mut self, path: &str, flow: &Flow) {
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

    pub(super) fn transport(&mut self, path: &str, flow: &Flow) {
        if let Transport::Mptcp { client, server } = &flow.transport {
            for (end, key, node) in [(client, "client", flow.from), (server, "server", flow.to)] {
                self.mptcp(&format!("{path}.transport.{key}"), end, node);
            }
        }
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

    /// An end over Multipath TCP, on a host.
    pub(super) fn mptcp(&mut self, path: &str, end: &MptcpEnd, node: u32) {
        self.tcp(&format!("{path}.tcp"), &end.tcp);
        let addresses = self.plan.nodes.get(node as usize).map_or(0, |node| node.addresses.len());
        if end.backups.iter().any(|&address| address as usize >= addresses) {
            self.fail(format_args!("{path}.backups"), "the host has no such address");
        }
    }

    pub(super) fn flow_event(&mut self, path: &str, at_ns: u64, event: FlowEvent, is_first: bool) {
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
