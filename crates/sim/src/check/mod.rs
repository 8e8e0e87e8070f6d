//! Whether a plan can run.
//!
//! Python resolves scenarios into plans and maps what is found here back to the scenario's keys and lines; the engine
//! trusts no plan that was not checked. Each part of a plan has its checks in the file that is called like the one of its
//! settings in [`crate::plan`].

mod address;
mod event;
mod flow;
mod link;
mod node;
mod process;
mod program;
mod relay;
mod route;

use crate::plan::{LinkEvent, NodeKind, Observe, Plan, Through, VERSION};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::fmt::Display;
use voxpath_apps::Over;
use voxpath_net::Target;
use voxpath_units::Span;
use voxpath_units::check::{Check, Path, Problem};

/// Everything that keeps `plan` from running; nothing if it can.
pub fn check(plan: &Plan) -> Vec<Problem> {
    let mut checker = Checker { plan, problems: Vec::new() };
    checker.version();
    checker.duration();
    checker.names();
    checker.addresses();
    checker.links();
    checker.interfaces();
    checker.middleboxes();
    checker.flows();
    checker.processes();
    checker.timeline();
    checker.programs();
    checker.relays();
    // Indices that dangle would only panic in the search for paths.
    if checker.problems.is_empty() {
        checker.routes();
        checker.translations();
    }
    checker.size();
    checker.problems
}

/// What of `observe` cannot be observed in a run of `plan`.
pub(crate) fn observable(plan: &Plan, observe: &Observe) -> Vec<Problem> {
    let mut checker = Checker { plan, problems: Vec::new() };
    for (i, name) in observe.capture.iter().enumerate() {
        let path = format_args!("observe.capture[{i}]");
        match plan.nodes.iter().find(|node| node.name == *name) {
            Some(node) if node.kind == NodeKind::Host => {}
            Some(_) => {
                checker.fail(path, format_args!("{name:?} is a router; packets are captured at hosts"))
            }
            None => checker.fail(path, format_args!("there is no host {name:?}")),
        }
    }
    if observe.snap_bytes == Some(0) {
        checker.fail("observe.snap_bytes", "at least one byte of a packet is kept; leave it out to keep all");
    }
    checker.problems
}

/// What keeps `plan` from running around its real hosts, beside what [`check`] finds.
pub fn edges(plan: &Plan) -> Vec<Problem> {
    let mut checker = Checker { plan, problems: Vec::new() };
    let real = plan.real_hosts();
    let mut waiting = BTreeSet::new();
    for (i, flow) in plan.flows.iter().enumerate() {
        // Real packets have no label that tells one flow from another.
        if let Some(Through { port, .. }) = flow.through
            && !waiting.insert((flow.to, port, flow.transport.carries() == Over::Datagrams))
        {
            checker.fail(format_args!("flows[{i}].through.port"), "another flow waits there");
        }
        let is_real = |node: u32| real.get(node as usize) == Some(&true);
        if !flow.simulated && (is_real(flow.from) || is_real(flow.to)) {
            flow.app.check_real(flow.transport.carries(), &mut checker.root().at("flows").at(i).at("app"));
        }
    }
    let runs_on = |node: u32| real.get(node as usize) == Some(&true);
    // Who serves there, if it is a process: programs are where hosts are real.
    let serves_simulated = |node: u32| {
        let mut there = plan.processes.iter().filter(|it| it.node == node && !it.app.ports().is_empty());
        there.any(|it| it.simulated)
    };
    for (i, process) in plan.processes.iter().enumerate().filter(|(_, it)| it.app.encrypts()) {
        let is_real = !process.simulated && runs_on(process.node);
        let peers = process.app.targets();
        if let Some(peer) = peers.into_iter().find(|&it| (runs_on(it) && !serves_simulated(it)) != is_real) {
            let [one, other] = [process.node, peer].map(|node| &plan.nodes[node as usize].name);
            let message = format_args!(
                "TLS is encrypted between real ends, and has sizes alone between simulated ones: of {one:?} and {other:?} one is real"
            );
            checker.fail(format_args!("processes[{i}].app.clients.layers.tls"), message);
        }
    }
    let mut short = BTreeMap::new();
    for (i, process) in plan.processes.iter().enumerate() {
        if !process.simulated && (runs_on(process.node) || process.app.targets().into_iter().any(runs_on)) {
            process.app.check_real(&mut checker.root().at("processes").at(i).at("app"));
            for topic in process.app.has_alone() {
                let other = short.insert(topic, i).filter(|&other| other != i);
                if let Some(other) = other {
                    let name = &plan.processes[other].name;
                    let message = format_args!(
                        "{name:?} has this topic too, which on real hosts is to tell whose a message of a few bytes is"
                    );
                    checker.fail(format_args!("processes[{i}].app.topic"), message);
                    break;
                }
            }
        }
    }
    checker.problems
}

/// Whether links of a world that runs can be changed so.
pub(crate) fn by_hand(plan: &Plan, events: &[LinkEvent], steered: bool) -> Vec<Problem> {
    let mut checker = Checker { plan, problems: Vec::new() };
    if !steered {
        checker.fail("events", "the links of this run cannot be changed by hand");
    }
    for (i, event) in events.iter().enumerate() {
        checker.link_event(i, event);
    }
    checker.problems
}

/// Processes of a run: fewer than their numbers have values, and than names of ends.
const MOST_PROCESSES: u16 = 4095;

pub(crate) struct Checker<'a> {
    pub(crate) plan: &'a Plan,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    pub(crate) fn fail(&mut self, path: impl Display, message: impl Display) {
        self.problems.push(Problem { path: Path::parse(&format!("{path}")), message: format!("{message}") });
    }

    /// What was found wrong with a value, at the place of that value.
    fn repeat(&mut self, path: impl Display, found: Vec<Problem>) {
        for problem in found {
            self.fail(&path, problem.message);
        }
    }

    /// The place of the whole.
    pub(crate) fn root(&mut self) -> Check<'_> {
        Check::new(&mut self.problems)
    }

    fn names(&mut self) {
        let plan = self.plan;
        self.unique("nodes", plan.nodes.iter().map(|node| node.name.as_str()));
        self.unique("links", plan.links.iter().map(|link| link.name.as_str()));
        self.unique("flows", plan.flows.iter().map(|flow| flow.name.as_str()));
        self.unique("processes", plan.processes.iter().map(|process| process.name.as_str()));
        // What a process does stands among the flows.
        let flows: BTreeSet<&str> = plan.flows.iter().map(|flow| flow.name.as_str()).collect();
        for (i, process) in plan.processes.iter().enumerate() {
            if flows.contains(process.name.as_str()) {
                let message = format_args!("{:?} is the name of a flow too", process.name);
                self.fail(format_args!("processes[{i}].name"), message);
            }
        }
        if plan.processes.len() > usize::from(MOST_PROCESSES) {
            self.fail("processes", format_args!("a run has at most {MOST_PROCESSES} processes"));
        }
    }

    fn unique<'n>(&mut self, list: &str, names: impl Iterator<Item = &'n str>) {
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

    fn version(&mut self) {
        let version = self.plan.version;
        if version != VERSION {
            self.fail(
                "version",
                format_args!("{version} is not {VERSION}, the version that this build reads"),
            );
        }
    }

    fn duration(&mut self) {
        if let Some(duration) = self.plan.duration_ns {
            self.span("duration_ns", duration);
        }
        let limits = &self.plan.limits;
        let bounds =
            [("events", limits.events), ("time_ns", limits.time_ns), ("memory_bytes", limits.memory_bytes)];
        for (key, bound) in bounds {
            if bound == Some(0) {
                self.fail(format_args!("limits.{key}"), "a limit is above zero");
            }
        }
        if let Some(time) = limits.time_ns {
            self.span("limits.time_ns", time);
            if self.plan.duration_ns.is_some_and(|duration| duration <= time) {
                self.fail("limits.time_ns", "has no effect: the run's duration is not longer");
            }
        }
    }

    pub(crate) fn span(&mut self, path: impl Display, ns: u64) {
        self.repeat(path, Check::found(|place| place.span(ns)));
    }

    pub(crate) fn tcp(&mut self, path: &str, config: &voxpath_tcp::Config) {
        for (key, message) in config.problems() {
            self.fail(format_args!("{path}.{key}"), message);
        }
        let spans = [
            ("delayed_ack.max_delay", config.delayed_ack.max_delay),
            ("rto.initial", config.rto.initial),
            ("rto.max", config.rto.max),
            ("rto.variance_floor", config.rto.variance_floor),
            ("rto.tick", config.rto.tick),
            ("persist.max", config.persist.max),
            ("msl", config.msl),
            ("user_timeout", config.user_timeout.unwrap_or_default()),
            ("keepalive.idle", config.keepalive.as_ref().map_or(Span::ZERO, |alive| alive.idle)),
            ("keepalive.interval", config.keepalive.as_ref().map_or(Span::ZERO, |alive| alive.interval)),
        ];
        for (key, span) in spans {
            self.span(format_args!("{path}.{key}"), span.as_nanos());
        }
    }

    fn size(&mut self) {
        let Plan { links, flows, processes, .. } = self.plan;
        let targets = 2 * (links.len() as u64 + flows.len() as u64) + processes.len() as u64 + 1;
        if targets >= u64::from(Target::LIMIT) {
            self.fail("flows", format_args!("links and flows are fewer than {} together", Target::LIMIT / 2));
        }
    }
}
