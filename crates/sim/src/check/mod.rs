//! Whether a plan can run.
//!
//! Python resolves scenarios into plans and maps what is found here back to the scenario's keys and lines; the engine
//! trusts no plan that was not checked.

use crate::plan::{
    Direction, Flow, NodeKind, Observe, Plan, Process, Relay, Route, Through, Transport, VERSION,
};
use crate::timeline::stop_of;
use crate::ways::{End, Ways, between, ends, opened};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Display;
use core::net::IpAddr;
use voxpath_apps::Over;
use voxpath_net::Target;
use voxpath_net::routing::{DirectionId, NoPath};
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
    checker.flows();
    checker.processes();
    checker.timeline();
    checker.programs();
    checker.relays();
    // Indices that dangle would only panic in the search for paths.
    if checker.problems.is_empty() {
        checker.routes();
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

/// Whether the plan can run around its real hosts.
pub(crate) fn edges(plan: &Plan) -> Vec<Problem> {
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
    checker.problems
}

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

    fn names(&mut self) {
        let plan = self.plan;
        self.unique("nodes", plan.nodes.iter().map(|node| node.name.as_str()));
        self.unique("links", plan.links.iter().map(|link| link.name.as_str()));
        self.unique("flows", plan.flows.iter().map(|flow| flow.name.as_str()));
        self.unique("processes", plan.processes.iter().map(|process| process.name.as_str()));
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

    fn addresses(&mut self) {
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

    fn links(&mut self) {
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

    fn programs(&mut self) {
        for (i, program) in self.plan.programs.iter().enumerate() {
            match self.plan.nodes.get(program.node as usize) {
                None => self.fail(format_args!("programs[{i}].node"), "there is no such node"),
                Some(node) if node.kind == NodeKind::Router => {
                    self.fail(format_args!("programs[{i}].node"), "is a router: routers run nothing")
                }
                Some(node) if node.simulated => {
                    let path = format_args!("programs[{i}].node");
                    self.fail(
                        path,
                        format_args!("the host {:?} is simulated: it runs no programs", node.name),
                    )
                }
                Some(_) => {}
            }
            if program.command.first().is_none_or(String::is_empty) {
                self.fail(format_args!("programs[{i}].command"), "names no program");
            }
            if program.listens == Some(0) {
                self.fail(format_args!("programs[{i}].listens"), "no program listens at port 0");
            }
        }
    }

    fn relays(&mut self) {
        let mut taken = BTreeSet::new();
        for (i, relay) in self.plan.relays.iter().enumerate() {
            let (listens, transport, ends, ports) = match *relay {
                Relay::Reach { transport, node, port, target } => {
                    (Some(node), transport, vec![("node", node)], [port, target])
                }
                Relay::Publish { transport, node, port, to, target } => {
                    (None, transport, vec![("node", node), ("to", to)], [port, target])
                }
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

    fn flows(&mut self) {
        for (i, flow) in self.plan.flows.iter().enumerate() {
            let path = format!("flows[{i}]");
            for (end, node) in [("from", flow.from), ("to", flow.to)] {
                match self.plan.nodes.get(node as usize).map(|node| (node.kind, &node.name)) {
                    None => self.fail(format_args!("{path}.{end}"), format_args!("there is no node {node}")),
                    Some((NodeKind::Router, name)) => {
                        self.fail(
                            format_args!("{path}.{end}"),
                            format_args!("{name:?} is a router; flows join hosts"),
                        );
                    }
                    Some((NodeKind::Host, _)) => {}
                }
            }
            if flow.from == flow.to {
                self.fail(format_args!("{path}.to"), "a flow joins two different hosts");
            }
            self.families(&path, flow);
            self.span(format_args!("{path}.start_ns"), flow.start_ns);
            if self.plan.duration_ns.is_some_and(|end| flow.start_ns >= end) {
                self.fail(format_args!("{path}.start_ns"), "the flow starts when the run is already over");
            }
            self.transport(&path, flow);
            if flow.app.is_endless()
                && self.plan.duration_ns.is_none()
                && stop_of(self.plan, i as u32).is_none()
            {
                self.fail(
                    format_args!("{path}.app"),
                    format_args!(
                        "this {} never ends: say how much it sends, stop it, or give the run a duration",
                        flow.app.name()
                    ),
                );
            }
            flow.app.check(&mut self.root().at("flows").at(i).at("app"));
        }
    }

    fn processes(&mut self) {
        let plan = self.plan;
        let nodes = plan.nodes.len() as u32;
        let mut taken = BTreeSet::new();
        for (i, process) in plan.processes.iter().enumerate() {
            let path = format!("processes[{i}]");
            match plan.nodes.get(process.node as usize) {
                None => {
                    self.fail(format_args!("{path}.node"), format_args!("there is no node {}", process.node))
                }
                Some(node) if node.kind == NodeKind::Router => {
                    let message = format_args!("{:?} is a router: routers run nothing", node.name);
                    self.fail(format_args!("{path}.node"), message);
                }
                Some(_) => {}
            }
            self.tcp(&format!("{path}.tcp"), &process.tcp);
            process.app.check(nodes, &mut self.root().at("processes").at(i).at("app"));
            for (port, over) in process.app.ports() {
                if !taken.insert((process.node, port, over == Over::Datagrams)) {
                    self.fail(format_args!("{path}.app"), format_args!("port {port} of the host is taken"));
                }
            }
            for to in process.app.targets() {
                let known = process.node < nodes && to < nodes;
                if known && (to == process.node || between(plan, process.node, to).is_none()) {
                    let name = &plan.nodes[to as usize].name;
                    self.fail(
                        format_args!("{path}.app"),
                        format_args!("does not reach {name:?} by an address of one family"),
                    );
                }
            }
        }
        for (i, flow) in plan.flows.iter().enumerate() {
            let Some(Through { first, port }) = flow.through else { continue };
            let path = format!("flows[{i}].through");
            let over = flow.transport.carries();
            let passes_on = |process: &Process| {
                process.node == first.node && process.app.ports().contains(&(first.port, over))
            };
            if !plan.processes.iter().any(passes_on) {
                self.fail(format_args!("{path}.first"), "no process waits there for such a flow");
            }
            if port == 0 || taken.contains(&(flow.to, port, over == Over::Datagrams)) {
                self.fail(format_args!("{path}.port"), "a port is above zero, and no process's");
            }
        }
    }

    fn families(&mut self, path: &str, flow: &Flow) {
        let plan = self.plan;
        let mut known = true;
        for (key, node, address) in
            [("from_address", flow.from, flow.from_address), ("to_address", flow.to, flow.to_address)]
        {
            let Some(node) = plan.nodes.get(node as usize).filter(|node| !node.addresses.is_empty()) else {
                known = false;
                continue;
            };
            if address.is_some_and(|address| address as usize >= node.addresses.len()) {
                self.fail(format_args!("{path}.{key}"), "the host has no such address");
                known = false;
            }
        }
        if known && ends(plan, flow).is_none() {
            self.fail(
                format_args!("{path}.to"),
                "one end has IPv4 addresses only and the other IPv6 addresses only",
            );
        }
    }

    fn interfaces(&mut self) {
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

    fn transport(&mut self, path: &str, flow: &Flow) {
        if let Transport::Tcp { client, server } = &flow.transport {
            for (end, config) in [("client", client), ("server", server)] {
                self.tcp(&format!("{path}.transport.{end}"), config);
            }
        }
        if !flow.app.transports().contains(&flow.transport.carries()) {
            let (given, app) = (flow.transport.name(), flow.app.name());
            let needed = match flow.transport.carries() {
                Over::Stream => "udp",
                Over::Datagrams => "tcp",
            };
            self.fail(
                format_args!("{path}.transport.kind"),
                format_args!("is {given}, but {app} needs {needed}"),
            );
        }
    }

    fn tcp(&mut self, path: &str, config: &voxpath_tcp::Config) {
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

    fn routes(&mut self) {
        let plan = self.plan;
        for (i, route) in plan.routes.iter().enumerate() {
            self.route(&format!("routes[{i}]"), route);
        }
        if !self.problems.is_empty() {
            return;
        }
        let ways = Ways::of(plan);
        for (i, flow) in plan.flows.iter().enumerate() {
            let Some([here, there]) = opened(plan, flow) else {
                self.fail(format_args!("flows[{i}].through"), "is not reached by an address of one family");
                continue;
            };
            let takes_time = self.way(&format!("flows[{i}]"), &ways, here, there);
            // Each acknowledgment would let the next data out in the same instant, for ever.
            if takes_time == Some(false) && flow.app.is_endless() && !flow.app.is_paced() {
                self.fail(
                    format_args!("flows[{i}].app"),
                    "without a delay or a rate on its way it sends without end in no time",
                );
            }
        }
        for (i, process) in plan.processes.iter().enumerate() {
            for to in process.app.targets() {
                let Some((here, there)) = between(plan, process.node, to) else { continue };
                self.way(&format!("processes[{i}]"), &ways, (process.node, here), (to, there));
            }
        }
    }

    /// Packets find their way from one address to the other and back; whether they ever need time for it.
    fn way(&mut self, path: &str, ways: &Ways, here: End, there: End) -> Option<bool> {
        let plan = self.plan;
        let name = |node: u32| plan.nodes[node as usize].name.as_str();
        let mut needs_time = Some(false);
        for (from, to) in [(here, there), (there, here)] {
            match ways.path(from, to) {
                Ok(path) => {
                    let slow = path.iter().any(|&id| direction(plan, id).takes_time());
                    needs_time = needs_time.map(|before| before || slow);
                }
                Err(why) => {
                    needs_time = None;
                    let (from, to) = (name(from.0), name(to.0));
                    let message = match why {
                        NoPath::Unreachable => format!("there is no route from {from:?} to {to:?}"),
                        NoPath::Loop(nodes) => {
                            let round: Vec<&str> =
                                nodes.iter().chain(&nodes[..1]).map(|&node| name(node)).collect();
                            let round = round.join(" - ");
                            format!("the routes from {from:?} to {to:?} go round for ever: {round}")
                        }
                    };
                    self.fail(path, message);
                }
            }
        }
        needs_time
    }

    pub(crate) fn route(&mut self, path: &str, route: &Route) {
        let plan = self.plan;
        for (key, node) in [("node", route.node), ("to", route.to)] {
            if node as usize >= plan.nodes.len() {
                self.fail(format_args!("{path}.{key}"), format_args!("there is no node {node}"));
            }
        }
        match plan.links.get(route.link as usize) {
            Some(link) if link.a == route.node || link.b == route.node => {}
            _ => self.fail(format_args!("{path}.link"), "the node has no such link"),
        }
        if plan.interfaces.iter().any(|interface| interface.node == route.node) {
            self.fail(
                format_args!("{path}.node"),
                "packets leave this host by the link of their address: a route has no effect",
            );
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

/// The direction of a link as it was planned.
fn direction(plan: &Plan, id: DirectionId) -> &Direction {
    let link = &plan.links[id.link() as usize];
    if id == DirectionId::new(id.link(), true) { &link.ab } else { &link.ba }
}
