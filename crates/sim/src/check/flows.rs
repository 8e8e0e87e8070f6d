//! Flows and processes: whom they join, over what, and that they end.

use super::Checker;
use crate::plan::{Flow, NodeKind, Process, Through, Transport};
use crate::timeline::stop_of;
use crate::ways::{between, ends};
use alloc::collections::BTreeSet;
use alloc::format;
use voxpath_apps::Over;
use voxpath_units::Span;

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

    pub(super) fn processes(&mut self) {
        let plan = self.plan;
        let nodes = plan.nodes.len() as u32;
        let mut taken = BTreeSet::new();
        for (i, process) in plan.processes.iter().enumerate() {
            let path = format!("processes[{i}]");
            match plan.nodes.get(process.node as usize) {
                None => {
                    self.fail(format_args!("{path}.node"), format_args!("there is no node {}", process.node))
                }
                Some(node) if node.kind == NodeKind::Router => {
                    let message = format_args!("{:?} is a router: routers run nothing", node.name);
                    self.fail(format_args!("{path}.node"), message);
                }
                Some(_) => {}
            }
            self.tcp(&format!("{path}.tcp"), &process.tcp);
            process.app.check(nodes, &mut self.root().at("processes").at(i).at("app"));
            for (port, over) in process.app.ports() {
                if !taken.insert((process.node, port, over == Over::Datagrams)) {
                    self.fail(format_args!("{path}.app"), format_args!("port {port} of the host is taken"));
                }
            }
            for to in process.app.targets() {
                let known = process.node < nodes && to < nodes;
                if known && (to == process.node || between(plan, process.node, to).is_none()) {
                    let name = &plan.nodes[to as usize].name;
                    self.fail(
                        format_args!("{path}.app"),
                        format_args!("does not reach {name:?} by an address of one family"),
                    );
                }
            }
        }
        for (i, flow) in plan.flows.iter().enumerate() {
            let Some(Through { first, port }) = flow.through else { continue };
            let path = format!("flows[{i}].through");
            let over = flow.transport.carries();
            let passes_on = |process: &Process| {
                process.node == first.node && process.app.ports().contains(&(first.port, over))
            };
            if !plan.processes.iter().any(passes_on) {
                self.fail(format_args!("{path}.first"), "no process waits there for such a flow");
            }
            if port == 0 || taken.contains(&(flow.to, port, over == Over::Datagrams)) {
                self.fail(format_args!("{path}.port"), "a port is above zero, and no process's");
            }
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

    pub(super) fn tcp(&mut self, path: &str, config: &voxpath_tcp::Config) {
        for (key, message) in config.problems() {
            self.fail(format_args!("{path}.{key}"), message);
        }
        let spans = [
            ("delayed_ack.max_delay", config.delayed_ack.max_delay),
            ("rto.initial", config.rto.initial),
            ("rto.max", config.rto.max),
            ("rto.variance_floor", config.rto.variance_floor),
            ("rto.tick", config.rto.tick),
            ("persist.max", config.persist.max),
            ("msl", config.msl),
            ("user_timeout", config.user_timeout.unwrap_or_default()),
            ("keepalive.idle", config.keepalive.as_ref().map_or(Span::ZERO, |alive| alive.idle)),
            ("keepalive.interval", config.keepalive.as_ref().map_or(Span::ZERO, |alive| alive.interval)),
        ];
        for (key, span) in spans {
            self.span(format_args!("{path}.{key}"), span.as_nanos());
        }
    }
}
