//! Addresses that come and go: that there are such.

use super::Checker;
use crate::plan::{AddressEvent, NodeKind};

impl Checker<'_> {
    pub(super) fn address_event(&mut self, path: &str, change: AddressEvent) {
        match self.plan.nodes.get(change.node as usize) {
            None => self
                .fail(format_args!("{path}.change.node"), format_args!("there is no node {}", change.node)),
            Some(node) if node.kind == NodeKind::Router => {
                self.fail(format_args!("{path}.change.node"), "is a router: addresses of hosts change");
            }
            Some(node) if change.address as usize >= node.addresses.len() => {
                self.fail(format_args!("{path}.change.address"), "the host has no such address");
            }
            Some(_) => {}
        }
    }
}
