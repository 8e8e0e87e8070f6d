//! Ways between real hosts and the machine's own loopback.

use super::Checker;
use crate::plan::{NodeKind, Relay};
use alloc::collections::BTreeSet;
use alloc::vec;

impl Checker<'_> {
    pub(super) fn relays(&mut self) {
        let (mut taken, mut internet) = (BTreeSet::new(), None);
        for (i, relay) in self.plan.relays.iter().enumerate() {
            let (ends, port) = match *relay {
                Relay::Reach { transport, node, port, target } => {
                    (vec![("node", node)], Some((Some(node), transport, [port, target])))
                }
                Relay::Publish { transport, node, port, to, target } => {
                    (vec![("node", node), ("to", to)], Some((None, transport, [port, target])))
                }
                Relay::Internet { node } => (vec![("node", node)], None),
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
            let Some((listens, transport, ports)) = port else {
                if internet.replace(i).is_some() {
                    self.fail(
                        format_args!("relays[{i}].node"),
                        "another host stands for the Internet already",
                    );
                }
                continue;
            };
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
