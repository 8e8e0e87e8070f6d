//! Links, and the addresses that hosts have at them.

use super::Checker;
use crate::plan::{LinkChange, LinkEvent, Middlebox, NodeKind, Way};
use alloc::collections::BTreeSet;
use alloc::format;
use core::net::IpAddr;

impl Checker<'_> {
    pub(super) fn links(&mut self) {
        let nodes = self.plan.nodes.len();
        for (i, link) in self.plan.links.iter().enumerate() {
            for (end, node) in [("a", link.a), ("b", link.b)] {
                if node as usize >= nodes {
                    self.fail(format_args!("links[{i}].{end}"), format_args!("there is no node {node}"));
                }
            }
            if link.a == link.b {
                self.fail(format_args!("links[{i}].b"), "a link joins two different nodes");
            }
            if let Some(mtu) = link.mtu {
                let speaks_v6 = |node: u32| {
                    let node = self.plan.nodes.get(node as usize);
                    node.is_some_and(|node| node.addresses.iter().any(IpAddr::is_ipv6))
                };
                // RFC 791 section 3.1, RFC 8200 section 5.
                let least = if speaks_v6(link.a) || speaks_v6(link.b) { 1280 } else { 68 };
                if !(least..=65_535).contains(&mtu) {
                    self.fail(
                        format_args!("links[{i}].mtu"),
                        format_args!("{mtu} bytes: between these nodes a link takes {least} to 65535 bytes"),
                    );
                }
            }
            for (name, direction) in [("ab", &link.ab), ("ba", &link.ba)] {
                direction.check(&mut self.root().at("links").at(i).at(name));
            }
        }
    }

    pub(super) fn interfaces(&mut self) {
        let plan = self.plan;
        let mut seen = BTreeSet::new();
        for (i, interface) in plan.interfaces.iter().enumerate() {
            let path = format!("interfaces[{i}]");
            match plan.nodes.get(interface.node as usize) {
                None => self.fail(format_args!("{path}.node"), "there is no such node"),
                Some(node) if node.kind == NodeKind::Router => {
                    self.fail(format_args!("{path}.node"), "is a router: only hosts have addresses of links");
                }
                Some(node) if interface.address as usize >= node.addresses.len() => {
                    self.fail(format_args!("{path}.address"), "the host has no such address");
                }
                Some(_) => {}
            }
            match plan.links.get(interface.link as usize) {
                Some(link) if link.a == interface.node || link.b == interface.node => {}
                _ => self.fail(format_args!("{path}.link"), "the host has no such link"),
            }
            if !seen.insert((interface.node, interface.address)) {
                self.fail(format_args!("{path}.address"), "belongs to a link already");
            }
        }
    }

    pub(super) fn middleboxes(&mut self) {
        let plan = self.plan;
        let mut taken: BTreeSet<IpAddr> =
            plan.nodes.iter().flat_map(|node| &node.addresses).copied().collect();
        for (i, placed) in plan.middleboxes.iter().enumerate() {
            let path = format!("middleboxes[{i}]");
            if placed.link as usize >= plan.links.len() {
                self.fail(format_args!("{path}.link"), "there is no such link");
            }
            let mut root = self.root();
            let mut place = root.at("middleboxes");
            let mut place = place.at(i);
            placed.which.check(&mut place.at("which"));
            placed.set.check(&mut place.at("set"));
            if placed.set.needs_both_ways() && placed.which.way.is_some() {
                place
                    .at("which")
                    .at("way")
                    .fail("one direction undoes what the other does: this kind of middlebox looks at both");
            }
            if let Middlebox::Translate(translate) = &placed.set
                && !taken.insert(translate.address)
            {
                place.at("set").at("address").fail("is somebody's address already");
            }
        }
    }

    pub(super) fn link_event(&mut self, i: usize, change: &LinkEvent) {
        let LinkEvent { link, direction, set } = change;
        let Some(link) = self.plan.links.get(*link as usize) else {
            return self.fail(format_args!("events[{i}].change.link"), "there is no such link");
        };
        let of = if *direction == Way::Ab { &link.ab } else { &link.ba };
        if matches!(set, LinkChange::Rate { .. }) && of.capacity.is_some() {
            let place = format_args!("events[{i}].change.set.rate_bps");
            self.fail(place, "the link's rate varies by itself, and is not set");
        }
        set.check(&mut self.root().at("events").at(i).at("change").at("set"));
    }
}
