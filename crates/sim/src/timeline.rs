//! The timeline: what changes during a run, and when.

use crate::check::Checker;
use crate::network::Network;
use crate::plan::{Change, DIRECTIONS, Event, LinkChange, NodeKind, Plan, Way};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use voxpath_net::element::Limit;
use voxpath_net::routing::DirectionId;
use voxpath_net::table::{Column, Data, Table};
use voxpath_net::{EventQueue, Target, Ticket};
use voxpath_units::check::Check;
use voxpath_units::{Rate, Span, Time};

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

    fn arm(&self, queue: &mut EventQueue) {
        if let Some((ticket, event)) = self.events.get(self.happened) {
            queue.push_with(Time::from_nanos(event.at_ns), *ticket, self.target);
        }
    }

    /// When each flow was stopped.
    pub(crate) fn stopped(&self) -> BTreeMap<u32, Time> {
        let stop = |(_, event): &(Ticket, Event)| match event.change {
            Change::Flow { flow, runs: false } => Some((flow, Time::from_nanos(event.at_ns))),
            _ => None,
        };
        self.events[..self.happened].iter().filter_map(stop).collect()
    }

    /// What has happened, if anything was to.
    pub(crate) fn table(&self, plan: &Plan) -> Option<Table> {
        if self.events.is_empty() {
            return None;
        }
        let happened: Vec<&Event> = self.events[..self.happened].iter().map(|(_, event)| event).collect();
        let told: Vec<[String; 4]> = happened.iter().map(|event| told(plan, &event.change)).collect();
        let text = |i: usize| Data::Text(told.iter().map(|row| row[i].clone()).collect());
        Some(Table {
            name: "events",
            columns: vec![
                Column {
                    name: "time_ns",
                    data: Data::U64(happened.iter().map(|event| event.at_ns).collect()),
                },
                Column { name: "what", data: text(0) },
                Column { name: "name", data: text(1) },
                Column { name: "change", data: text(2) },
                Column { name: "value", data: text(3) },
            ],
        })
    }
}

/// When the plan stops a flow.
pub(crate) fn stop_of(plan: &Plan, flow: u32) -> Option<Time> {
    let stop = plan.events.iter().find(|event| event.change == Change::Flow { flow, runs: false })?;
    Some(Time::from_nanos(stop.at_ns))
}

/// Whether a direction of a link changes during the run.
pub(crate) fn changes(plan: &Plan, id: DirectionId) -> bool {
    plan.events.iter().any(|event| match event.change {
        Change::Link { link, direction, .. } => direction.of(link) == id,
        Change::Flow { .. } | Change::Route(_) => false,
    })
}

impl Network {
    /// Changes one direction of a link.
    pub(crate) fn change(&mut self, now: Time, id: DirectionId, set: &LinkChange) {
        let Self { pool, events, tap, links, .. } = self;
        let link = &mut links[id.index()];
        match set {
            LinkChange::Rate { rate_bps } => link.set_rate(now, Rate::from_bits_per_sec(*rate_bps), events),
            LinkChange::Delay { delay_ns } => link.set_delay(Span::from_nanos(*delay_ns)),
            LinkChange::Loss { loss } => link.set_loss(loss),
            LinkChange::Queue { packets, bytes } => {
                link.set_limit(Limit { packets: *packets, bytes: *bytes });
            }
            LinkChange::Up { up } => link.set_up(now, *up, pool, events, tap),
        }
    }
}

impl Way {
    /// The direction of `link`.
    pub(crate) fn of(self, link: u32) -> DirectionId {
        DirectionId::new(link, self == Self::Ab)
    }

    fn name(self) -> &'static str {
        DIRECTIONS[usize::from(self == Self::Ba)]
    }
}

/// What kind of thing changes, its name, what of it, and to what.
fn told(plan: &Plan, change: &Change) -> [String; 4] {
    let bound = |bound: Option<u64>, unit| bound.map(|bound| format!("{bound} {unit}"));
    match change {
        Change::Link { link, direction, set } => {
            let name = format!("{} {}", plan.links[*link as usize].name, direction.name());
            let (what, value) = match set {
                LinkChange::Rate { rate_bps } => ("rate_bps", rate_bps.to_string()),
                LinkChange::Delay { delay_ns } => ("delay_ns", delay_ns.to_string()),
                LinkChange::Loss { loss } => ("loss", loss.to_string()),
                LinkChange::Queue { packets, bytes } => {
                    let bounds = [bound(packets.map(u64::from), "packets"), bound(*bytes, "bytes")];
                    ("queue", bounds.into_iter().flatten().collect::<Vec<_>>().join(", "))
                }
                LinkChange::Up { up } => ("up", up.to_string()),
            };
            ["link".into(), name, what.into(), value]
        }
        Change::Flow { flow, runs } => {
            let name = plan.flows[*flow as usize].name.clone();
            ["flow".into(), name, "runs".into(), runs.to_string()]
        }
        Change::Route(route) => {
            let node = |index: u32| plan.nodes[index as usize].name.clone();
            let way = format!("to {} by {}", node(route.to), plan.links[route.link as usize].name);
            ["route".into(), node(route.node), "route".into(), way]
        }
    }
}

impl Checker<'_> {
    pub(crate) fn timeline(&mut self) {
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
                    link_change(set, &mut root.at("events").at(i).at("change").at("set"));
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

    fn flow_event(&mut self, path: &str, at_ns: u64, flow: u32, runs: bool, first: bool) {
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

fn link_change(set: &LinkChange, check: &mut Check<'_>) {
    match set {
        LinkChange::Rate { rate_bps } => check.at("rate_bps").rate(*rate_bps),
        LinkChange::Delay { delay_ns } => check.at("delay_ns").span(*delay_ns),
        LinkChange::Loss { loss } => loss.check(&mut check.at("loss")),
        LinkChange::Queue { .. } | LinkChange::Up { .. } => {}
    }
}
