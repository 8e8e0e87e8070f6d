//! Events: that what changes can change.

use super::Checker;
use crate::plan::Change;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

impl Checker<'_> {
    pub(super) fn timeline(&mut self) {
        let plan = self.plan;
        let mut told = BTreeSet::new();
        // What processes do since their last event.
        let mut runs = BTreeMap::new();
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
                Change::Link(change) => self.link_event(i, change),
                Change::Flow(change) => {
                    let is_first = told.insert((change.flow, change.runs));
                    self.flow_event(&path, event.at_ns, *change, is_first);
                }
                Change::Process(change) => {
                    let before = runs.insert(change.process, change.runs).unwrap_or(true);
                    self.process_event(&path, *change, before);
                }
                Change::Route(route) => self.route_event(&path, route),
                Change::Address(change) => self.address_event(&path, *change),
            }
        }
    }
}
