//! Events: what changes during a run, and that it can.

use super::{AddressEvent, Draw, FlowEvent, LinkEvent, Plan, ProcessEvent, Route};
use alloc::string::String;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;

/// Something that changes during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When, before anything else that happens then.
    pub at_ns: u64,
    /// What.
    pub change: Change,
}

/// What can change. Each kind has its settings, its checks and its words beside what it changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// One direction of a link.
    Link(LinkEvent),
    /// A flow begins or has to end.
    Flow(FlowEvent),
    /// A process is killed, or runs again.
    Process(ProcessEvent),
    /// At a router, packets for a host leave by another link from now on.
    Route(Route),
    /// A host gets an address, or loses it.
    Address(AddressEvent),
}

/// Whether an address of a node is there when a run begins: unless its first event brings it.
pub(crate) fn is_up_at_first(plan: &Plan, node: u32, address: u32) -> bool {
    let of = |event: &Event| match event.change {
        Change::Address(change) if (change.node, change.address) == (node, address) => Some(!change.up),
        _ => None,
    };
    plan.events.iter().find_map(of).unwrap_or(true)
}

impl Plan {
    /// When a process is killed and runs again, in turn.
    pub(crate) fn turns_of(&self, process: u32) -> impl DoubleEndedIterator<Item = (Time, bool)> {
        self.events.iter().filter_map(move |event| match event.change {
            Change::Process(change) if change.process == process => {
                Some((Time::from_nanos(event.at_ns), change.runs))
            }
            _ => None,
        })
    }
}

impl Change {
    /// A change that can happen at a time, after those that the plan has, for property tests; none where what was drawn cannot.
    pub fn sample(draw: &mut dyn Draw, plan: &Plan, at_ns: u64) -> Option<Self> {
        match draw.below(8) {
            0 => FlowEvent::sample(draw, plan, at_ns).map(Self::Flow),
            1 => Route::sample(draw, plan).map(Self::Route),
            2 => AddressEvent::sample(draw, plan).map(Self::Address),
            3 => ProcessEvent::sample(draw, plan).map(Self::Process),
            _ => LinkEvent::sample(draw, plan).map(Self::Link),
        }
    }

    /// What kind of thing changes, its name, what of it, and to what.
    pub(crate) fn told(&self, plan: &Plan) -> [String; 4] {
        match self {
            Self::Link(change) => change.told(plan),
            Self::Flow(change) => change.told(plan),
            Self::Process(change) => change.told(plan),
            Self::Route(route) => route.told(plan),
            Self::Address(change) => change.told(plan),
        }
    }
}
