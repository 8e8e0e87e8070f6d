//! Nodes: their names and addresses, what runs on them, and what joins them to the machine.

use super::Checker;
use crate::plan::{NodeKind, Relay};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use core::net::IpAddr;

impl Checker<'_> {
    pub(super) fn names(&mut self) {
        let plan = self.plan;
        self.unique("nodes", plan.nodes.iter().map(|node| node.name.as_str()));
        self.unique("links", plan.links.iter().map(|link| link.name.as_str()));
        self.unique("flows", plan.flows.iter().map(|flow| flow.name.as_str()));
        self.unique("processes", plan.processes.iter().map(|process| process.name.as_str()));
    }

    pub(super) fn unique<'n>(&mut self, list: &str, names: impl Iterator<Item = &'n str>) {
        let mut seen = BTreeMap::new();
        for (i, name) in names.enumerate() {
            if name.is_empty() {
                self.fail(format_args!("{list}[{i}].name"), "a name is at least one character long");
            } else if let Some(first) = seen.insert(name, i) {
                self.fail(
                    format_args!("{list}[{i}].name"),
                    format_args!("{name:?} is the name of {list}[{first}] too"),
                );
            }
        }
    }

    pub(super) fn addresses(&mut self) {
        let mut seen = BTreeMap::new();
        for (i, node) in self.plan.nodes.iter().enumerate() {
            if node.kind == NodeKind::Host && node.addresses.is_empty() {
                self.fail(format_args!("nodes[{i}].addresses"), "a host has at least one address");
            }
            for (j, address) in node.addresses.iter().enumerate() {
                if address.is_unspecified() || address.is_multicast() || *address == IpAddr::from([255; 4]) {
                    let path = format!("nodes[{i}].addresses[{j}]");
                    self.fail(path, format_args!("{address} is not the address of one node"));
                }
                if let Some(first) = seen.insert(*address, i) {
                    let path = format!("nodes[{i}].addresses[{j}]");
                    self.fail(path, format_args!("{address} is an address of nodes[{first}] too"));
                }
            }
        }
    }

    pub(super) fn programs(&mut self) {
        for (i, program) in self.plan.programs.iter().enumerate() {
            match self.plan.nodes.get(program.node as usize) {
                None => self.fail(format_args!("programs[{i}].node"), "there is no such node"),
                Some(node) if node.kind == NodeKind::Router => {
                    self.fail(format_args!("programs[{i}].node"), "is a router: routers run nothing")
                }
                Some(node) if node.simulated => {
                    let path = format_args!("programs[{i}].node");
                    self.fail(
                        path,
                        format_args!("the host {:?} is simulated: it runs no programs", node.name),
                    )
                }
                Some(_) => {}
            }
            if program.command.first().is_none_or(String::is_empty) {
                self.fail(format_args!("programs[{i}].command"), "names no program");
            }
            if program.listens == Some(0) {
                self.fail(format_args!("programs[{i}].listens"), "no program listens at port 0");
            }
        }
    }

    pub(super) fn relays(&mut self) {
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
