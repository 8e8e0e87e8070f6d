//! Processes on hosts, and the flows that they pass on.

use super::Checker;
use crate::plan::{MptcpEnds, NodeKind, Process, ProcessEvent, Through};
use crate::ways::between;
use alloc::collections::BTreeSet;
use alloc::format;
use voxpath_apps::Over;

impl Checker<'_> {
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
            self.span(format_args!("{path}.wake_ns"), process.wake_ns);
            if let Some(MptcpEnds { client, server }) = &process.mptcp {
                for (end, key) in [(client, "client"), (server, "server")] {
                    self.mptcp(&format!("{path}.mptcp.{key}"), end, process.node);
                }
            }
            process.app.check(nodes, &mut self.root().at("processes").at(i).at("app"));
            let stays = plan.turns_of(i as u32).next_back().is_none_or(|(_, runs)| runs);
            if process.app.is_endless() && stays && plan.duration_ns.is_none() {
                let message =
                    "this process never ends: say how much it does, stop it, or give the run a duration";
                self.fail(format_args!("{path}.app"), message);
            }
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

    /// `ran` says whether the process runs when the event comes.
    pub(super) fn process_event(&mut self, path: &str, event: ProcessEvent, ran: bool) {
        let ProcessEvent { process, runs } = event;
        let place = format!("{path}.change.process");
        if self.plan.processes.get(process as usize).is_none() {
            self.fail(place, "there is no such process");
        } else if runs == ran {
            let message = if runs { "it runs already: stop it first" } else { "it has stopped already" };
            self.fail(place, message);
        }
    }
}
