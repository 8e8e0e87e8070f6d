//! Nodes: their addresses.

use super::Checker;
use crate::plan::NodeKind;
use alloc::collections::BTreeMap;
use alloc::format;
use core::net::IpAddr;

impl Checker<'_> {
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
}
