//! The timeline: what changes during a run, and when.

use crate::network::Network;
use crate::plan::{Change, Event, FlowEvent, LinkChange, Plan, ProcessEvent};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use voxpath_net::routing::DirectionId;
use voxpath_net::table::{Meaning, Of, Table, TableOf};
use voxpath_net::{EventQueue, Target, Ticket};
use voxpath_units::Time;

/// The events of a run, of which the next one is in the event queue.
#[derive(Debug)]
pub(crate) struct Timeline {
    events: Vec<(Ticket, Event)>,
    /// How many have happened.
    happened: usize,
    target: Target,
}

impl Timeline {
    /// Tickets are drawn before all others, so that an event comes before anything else of its time.
    pub(crate) fn new(plan: &Plan, target: Target, queue: &mut EventQueue) -> Self {
        let events = plan.events.iter().map(|event| (queue.ticket(), event.clone())).collect();
        let timeline = Self { events, happened: 0, target };
        timeline.arm(queue);
        timeline
    }

    /// What happens now that the timeline was woken.
    pub(crate) fn next(&mut self, queue: &mut EventQueue) -> Change {
        let change = self.events[self.happened].1.change.clone();
        self.happened += 1;
        self.arm(queue);
        change
    }

    /// Something happens now that the plan did not foresee; it stands among the events from now on.
    pub(crate) fn note(&mut self, now: Time, change: Change, queue: &mut EventQueue) {
        let event = Event { at_ns: now.as_nanos(), change };
        self.events.insert(self.happened, (queue.ticket(), event));
        self.happened += 1;
    }

    fn arm(&self, queue: &mut EventQueue) {
        if let Some((ticket, event)) = self.events.get(self.happened) {
            queue.push_with(Time::from_nanos(event.at_ns), *ticket, self.target);
        }
    }

    /// When each flow was stopped.
    pub(crate) fn stopped(&self) -> BTreeMap<u32, Time> {
        let stop = |(_, event): &(Ticket, Event)| match event.change {
            Change::Flow(FlowEvent { flow, runs: false }) => Some((flow, Time::from_nanos(event.at_ns))),
            _ => None,
        };
        self.events[..self.happened].iter().filter_map(stop).collect()
    }

    /// Whether a process is to run again.
    pub(crate) fn runs_again(&self, process: u32) -> bool {
        let again = Change::Process(ProcessEvent { process, runs: true });
        self.events[self.happened..].iter().any(|(_, event)| event.change == again)
    }

    /// What has happened, if anything was to.
    pub(crate) fn table(&self, plan: &Plan) -> Option<Table> {
        if self.events.is_empty() {
            return None;
        }
        let told = self.events[..self.happened]
            .iter()
            .map(|(_, event)| EventRow { at_ns: event.at_ns, told: event.change.told(plan) });
        Some(EVENTS.fill(&told.collect::<Vec<_>>(), &[]))
    }
}

/// What changed.
pub(crate) struct EventRow {
    at_ns: u64,
    /// What kind of thing, its name, what of it, and to what.
    told: [String; 4],
}

/// The table of events.
pub(crate) static EVENTS: TableOf<EventRow> = TableOf {
    name: "events",
    about: "What the timeline changed, one row per change; only where the scenario has events.",
    columns: &[
        ("time_ns", Meaning::time("scenario", "When."), Of::U64(|row| row.at_ns)),
        (
            "what",
            Meaning::name("scenario", "link, flow, process, route or address."),
            Of::Text(|row| row.told[0].clone()),
        ),
        (
            "name",
            Meaning::name(
                "scenario",
                "Link and direction (ab is up, ba down), flow, process, router, or host and address.",
            ),
            Of::Text(|row| row.told[1].clone()),
        ),
        (
            "change",
            Meaning::name("scenario", "rate_bps, delay_ns, loss, queue or up; runs; route."),
            Of::Text(|row| row.told[2].clone()),
        ),
        (
            "value",
            Meaning::by("by change", "scenario", "What it is from then on."),
            Of::Text(|row| row.told[3].clone()),
        ),
    ],
};

/// Whether a direction of a link changes during the run.
pub(crate) fn changes(plan: &Plan, id: DirectionId) -> bool {
    plan.events.iter().any(|event| match &event.change {
        Change::Link(change) => change.direction.of(change.link) == id,
        Change::Flow(_) | Change::Process(_) | Change::Route(_) | Change::Address(_) => false,
    })
}

impl Network {
    /// Changes one direction of a link.
    pub(crate) fn change(&mut self, now: Time, id: DirectionId, set: &LinkChange) {
        let Self { pool, events, tap, links, .. } = self;
        links[id.index()].change(now, set, pool, events, tap);
    }
}
