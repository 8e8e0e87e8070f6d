//! Events: what changes, and that it can.

use super::Checker;
use crate::plan::{Change, LinkChange, NodeKind, Way};
use alloc::collections::BTreeMap;
use alloc::format;

impl Checker<'_> {
    pub(super) fn timeline(&mut self) {
        let plan = self.plan;
        let (mut starts, mut stops) = (BTreeMap::new(), BTreeMap::new());
        for (i, event) in plan.events.iter().enumerate() {
            let path = format!("events[{i}]");
            self.span(format_args!("{path}.at_ns"), event.at_ns);
            if plan.duration_ns.is_some_and(|end| event.at_ns >= end) {
                self.fail(format_args!("{path}.at_ns"), "it happens when the run is already over");
            }
            if i > 0 && plan.events[i - 1].at_ns > event.at_ns {
                self.fail(format_args!("{path}.at_ns"), "it happens before the event listed before it");
            }
            match &event.change {
                Change::Link { link, direction, set } => {
                    let Some(link) = plan.links.get(*link as usize) else {
                        self.fail(format_args!("{path}.change.link"), "there is no such link");
                        continue;
                    };
                    let of = if *direction == Way::Ab { &link.ab } else { &link.ba };
                    if matches!(set, LinkChange::Rate { .. }) && of.capacity.is_some() {
                        let place = format!("{path}.change.set.rate_bps");
                        self.fail(place, "the link's rate varies by itself, and is not set");
                    }
                    let mut root = self.root();
                    set.check(&mut root.at("events").at(i).at("change").at("set"));
                }
                Change::Flow { flow, runs } => {
                    let known = if *runs { &mut starts } else { &mut stops };
                    let first = known.insert(*flow, event.at_ns).is_none();
                    self.flow_event(&path, event.at_ns, *flow, *runs, first);
                }
                Change::Route(route) => {
                    let place = format!("{path}.change");
                    self.route(&place, route);
                    match plan.nodes.get(route.node as usize) {
                        Some(node) if node.kind == NodeKind::Host => self.fail(
                            format_args!("{place}.node"),
                            "is a host: routes change at routers, and hosts by their links",
                        ),
                        _ => {}
                    }
                }
            }
        }
    }

    pub(super) fn flow_event(&mut self, path: &str, at_ns: u64, flow: u32, runs: bool, first: bool) {
        let place = format!("{path}.change.flow");
        match self.plan.flows.get(flow as usize) {
            None => self.fail(place, "there is no such flow"),
            Some(_) if !first => {
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
