//! Whether a plan can run.
//!
//! Python resolves scenarios into plans and maps what is found here back to the scenario's keys and lines; the engine
//! trusts no plan that was not checked.

use crate::direction::takes_time;
use crate::plan::{App, Direction, Flow, NodeKind, Observe, Plan, Relay, Transport, VERSION};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Display;
use core::net::IpAddr;
use voxpath_apps::cbr;
use voxpath_net::Target;
use voxpath_net::routing::{DirectionId, Graph, NoPath, Routes};
use voxpath_units::Prob;

/// The longest span of a plan, and how long a run lasts at most: what `voxpath_units` takes for a duration.
///
/// A tenth of the clock's range: sums of a few spans, round-trip times and their variation stay inside it.
pub(crate) const LONGEST_NS: u64 = 500_000 * 3_600_000_000_000;
/// The fastest link; what `voxpath_units` takes for a rate. Above, rate and remainder do not fit 64 bits.
pub(crate) const FASTEST_BPS: u64 = 100_000_000_000_000;
/// The most that an application transfers; what `voxpath_units` takes for a size.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// Something that keeps a plan from running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where in the plan, e.g. `flows[3].from`.
    pub path: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// Everything that keeps `plan` from running; nothing if it can.
pub fn check(plan: &Plan) -> Vec<Problem> {
    let mut checker = Checker { plan, problems: Vec::new() };
    checker.version();
    checker.duration();
    checker.names();
    checker.addresses();
    checker.links();
    checker.flows();
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
    for (i, flow) in plan.flows.iter().enumerate() {
        let is_real = |node: u32| real.get(node as usize) == Some(&true);
        if let App::Cbr { packet_bytes, .. } = flow.app
            && !flow.simulated
            && (is_real(flow.from) || is_real(flow.to))
            && packet_bytes < cbr::LEAST_REAL
        {
            let path = format_args!("flows[{i}].app.packet_bytes");
            let least = cbr::LEAST_REAL;
            checker.fail(path, format_args!("datagrams to or from a real host have at least {least} bytes"));
        }
    }
    checker.problems
}

/// Which of its addresses each end of a flow uses: the first ones of one family.
pub(crate) fn common_family(from: &[IpAddr], to: &[IpAddr]) -> Option<[usize; 2]> {
    from.iter().enumerate().find_map(|(i, address)| {
        let j = to.iter().position(|other| other.is_ipv4() == address.is_ipv4())?;
        Some([i, j])
    })
}

/// The plan's network as routing sees it, static routes included. The plan's indices must be valid.
pub(crate) fn routes(plan: &Plan) -> (Graph, Routes) {
    let graph = Graph {
        forwards: plan.nodes.iter().map(|node| node.kind == NodeKind::Router).collect(),
        links: plan.links.iter().map(|link| (link.a, link.b)).collect(),
    };
    let mut routes = Routes::shortest(&graph);
    for route in &plan.routes {
        let from_first = plan.links[route.link as usize].a == route.node;
        routes.set(route.node, route.to, DirectionId::new(route.link, from_first));
    }
    (graph, routes)
}

pub(crate) struct Checker<'a> {
    plan: &'a Plan,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    pub(crate) fn fail(&mut self, path: impl Display, message: impl Display) {
        self.problems.push(Problem { path: format!("{path}"), message: format!("{message}") });
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
    }

    pub(crate) fn span(&mut self, path: impl Display, ns: u64) {
        if ns > LONGEST_NS {
            self.fail(path, format_args!("{ns} ns is longer than 500000 h"));
        }
    }

    fn names(&mut self) {
        let plan = self.plan;
        self.unique("nodes", plan.nodes.iter().map(|node| node.name.as_str()));
        self.unique("links", plan.links.iter().map(|link| link.name.as_str()));
        self.unique("flows", plan.flows.iter().map(|flow| flow.name.as_str()));
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
            for (name, direction) in [("ab", &link.ab), ("ba", &link.ba)] {
                self.direction(&format!("links[{i}].{name}"), direction);
            }
        }
    }

    pub(crate) fn probability(&mut self, path: impl Display, p: f64) {
        if Prob::new(p).is_none() {
            self.fail(path, format_args!("{p} is not between 0 and 1"));
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
            self.transport(&path, &flow.transport, &flow.app);
            self.app(&path, &flow.app);
        }
    }

    fn families(&mut self, path: &str, flow: &Flow) {
        let of = |node: u32| self.plan.nodes.get(node as usize).map(|node| node.addresses.as_slice());
        if let (Some(from), Some(to)) = (of(flow.from), of(flow.to))
            && !from.is_empty()
            && !to.is_empty()
            && common_family(from, to).is_none()
        {
            self.fail(
                format_args!("{path}.to"),
                "one end has IPv4 addresses only and the other IPv6 addresses only",
            );
        }
    }

    fn transport(&mut self, path: &str, transport: &Transport, app: &App) {
        match (transport, app) {
            (
                Transport::Tcp { client, server },
                App::Bulk { .. } | App::Download { .. } | App::Voice { .. },
            ) => {
                for (end, config) in [("client", client), ("server", server)] {
                    self.tcp(&format!("{path}.transport.{end}"), config);
                }
            }
            (Transport::Udp, App::Cbr { .. }) => {}
            (Transport::Tcp { .. }, App::Cbr { .. }) => {
                self.fail(format_args!("{path}.app.kind"), "cbr sends datagrams: its transport is udp");
            }
            (Transport::Udp, App::Bulk { .. } | App::Download { .. } | App::Voice { .. }) => {
                self.fail(
                    format_args!("{path}.app.kind"),
                    "bulk, download and voice need a byte stream: their transport is tcp",
                );
            }
        }
    }

    fn tcp(&mut self, path: &str, config: &voxpath_tcp::Config) {
        let rules = [
            ("mss", (64..=65_495).contains(&config.mss), "a segment carries 64 to 65495 bytes"),
            ("receive_buffer", config.receive_buffer > 0, "a receive buffer holds at least one byte"),
            (
                "receive_buffer",
                config.receive_buffer <= 1 << 30,
                "a window is at most 1 GiB (RFC 7323 section 2.3)",
            ),
            ("send_buffer", config.send_buffer > 0, "a send buffer holds at least one byte"),
            (
                "send_buffer",
                config.send_buffer <= 1 << 30,
                "a flight is at most 1 GiB (RFC 7323 section 2.3)",
            ),
            ("initial_window", config.initial_window > 0, "an initial window is at least one segment"),
            ("dupack_threshold", config.dupack_threshold > 0, "at least one duplicate signals a loss"),
            ("slow_start_limit", config.slow_start_limit > 0, "slow start adds at least one segment"),
            (
                "delayed_ack.max_segments",
                config.delayed_ack.max_segments > 0,
                "at least one segment is acknowledged",
            ),
            ("rto.initial", config.rto.initial.as_nanos() > 0, "a timeout is above zero"),
            ("rto.min", config.rto.min.as_nanos() > 0, "a timeout is above zero"),
            ("rto.max", config.rto.max >= config.rto.min, "the longest timeout is not below the shortest"),
            ("persist.min", config.persist.min.as_nanos() > 0, "a probe interval is above zero"),
            (
                "persist.max",
                config.persist.max >= config.persist.min,
                "the longest interval is not below the shortest",
            ),
        ];
        for (key, holds, message) in rules {
            if !holds {
                self.fail(format_args!("{path}.{key}"), message);
            }
        }
        let spans = [
            ("delayed_ack.max_delay", config.delayed_ack.max_delay),
            ("rto.initial", config.rto.initial),
            ("rto.max", config.rto.max),
            ("rto.variance_floor", config.rto.variance_floor),
            ("rto.tick", config.rto.tick),
            ("persist.max", config.persist.max),
            ("msl", config.msl),
        ];
        for (key, span) in spans {
            self.span(format_args!("{path}.{key}"), span.as_nanos());
        }
    }

    fn app(&mut self, path: &str, app: &App) {
        if is_endless(app) && self.plan.duration_ns.is_none() {
            self.fail(
                format_args!("{path}.app"),
                "it never ends: say how much it sends, or give the run a duration",
            );
        }
        match *app {
            App::Bulk { bytes } => {
                self.transfer(format_args!("{path}.app.bytes"), bytes.unwrap_or_default(), 1)
            }
            App::Download { request_bytes, response_bytes, requests, pause_ns } => {
                self.span(format_args!("{path}.app.pause_ns"), pause_ns);
                self.transfer(format_args!("{path}.app.request_bytes"), request_bytes, requests.into());
                self.transfer(format_args!("{path}.app.response_bytes"), response_bytes, requests.into());
                self.at_least_one(
                    path,
                    [
                        ("request_bytes", request_bytes),
                        ("response_bytes", response_bytes),
                        ("requests", requests.into()),
                    ],
                );
            }
            App::Voice {
                blocks,
                block_bytes,
                interval_ns,
                partial_bytes,
                answer_bytes,
                processing_ns,
                requests,
                pause_ns,
            } => {
                for (key, ns) in
                    [("interval_ns", interval_ns), ("processing_ns", processing_ns), ("pause_ns", pause_ns)]
                {
                    self.span(format_args!("{path}.app.{key}"), ns);
                }
                let (blocks, requests) = (u64::from(blocks), u64::from(requests));
                self.transfer(format_args!("{path}.app.block_bytes"), block_bytes, blocks * requests);
                self.transfer(
                    format_args!("{path}.app.partial_bytes"),
                    partial_bytes,
                    blocks.saturating_sub(1) * requests,
                );
                self.transfer(format_args!("{path}.app.answer_bytes"), answer_bytes, requests);
                self.at_least_one(
                    path,
                    [
                        ("blocks", blocks),
                        ("block_bytes", block_bytes),
                        ("interval_ns", interval_ns),
                        ("answer_bytes", answer_bytes),
                        ("requests", requests),
                    ],
                );
            }
            App::Cbr { packet_bytes, interval_ns, .. } => {
                if !(1..=65_507).contains(&packet_bytes) {
                    self.fail(format_args!("{path}.app.packet_bytes"), "a datagram carries 1 to 65507 bytes");
                }
                if interval_ns == 0 {
                    self.fail(format_args!("{path}.app.interval_ns"), "an interval is above zero");
                }
                self.span(format_args!("{path}.app.interval_ns"), interval_ns);
            }
        }
    }

    fn transfer(&mut self, path: impl Display, bytes: u64, times: u64) {
        if bytes.checked_mul(times).is_none_or(|all| all > MOST_BYTES) {
            self.fail(path, "a flow transfers at most 1000 TB");
        }
    }

    fn at_least_one<const N: usize>(&mut self, path: &str, values: [(&str, u64); N]) {
        for (key, value) in values {
            if value == 0 {
                self.fail(format_args!("{path}.app.{key}"), "at least 1");
            }
        }
    }

    fn routes(&mut self) {
        let plan = self.plan;
        for (i, route) in plan.routes.iter().enumerate() {
            for (key, node) in [("node", route.node), ("to", route.to)] {
                if node as usize >= plan.nodes.len() {
                    self.fail(format_args!("routes[{i}].{key}"), format_args!("there is no node {node}"));
                }
            }
            match plan.links.get(route.link as usize) {
                Some(link) if link.a == route.node || link.b == route.node => {}
                _ => self.fail(format_args!("routes[{i}].link"), "the node has no such link"),
            }
        }
        if !self.problems.is_empty() {
            return;
        }
        let (graph, routes) = routes(plan);
        let name = |node: u32| plan.nodes[node as usize].name.as_str();
        for (i, flow) in plan.flows.iter().enumerate() {
            let mut instant = true;
            for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
                match routes.path(&graph, from, to) {
                    Ok(path) => instant &= !path.iter().any(|&id| takes_time(direction(plan, id))),
                    Err(why) => {
                        instant = false;
                        let (from, to) = (name(from), name(to));
                        let message = match why {
                            NoPath::Unreachable => format!("there is no route from {from:?} to {to:?}"),
                            NoPath::Loop(nodes) => {
                                let round: Vec<&str> =
                                    nodes.iter().chain(&nodes[..1]).map(|&node| name(node)).collect();
                                let round = round.join(" - ");
                                format!("the routes from {from:?} to {to:?} go round for ever: {round}")
                            }
                        };
                        self.fail(format_args!("flows[{i}]"), message);
                    }
                }
            }
            // Each acknowledgment would let the next data out in the same instant, for ever.
            if instant && matches!(flow.transport, Transport::Tcp { .. }) && is_endless(&flow.app) {
                self.fail(
                    format_args!("flows[{i}].app"),
                    "without a delay or a rate on its way it sends without end in no time",
                );
            }
        }
    }

    fn size(&mut self) {
        let targets = 2 * (self.plan.links.len() as u64 + self.plan.flows.len() as u64);
        if targets >= u64::from(Target::LIMIT) {
            self.fail("flows", format_args!("links and flows are fewer than {} together", Target::LIMIT / 2));
        }
    }
}

/// Whether only the end of the run stops the application.
fn is_endless(app: &App) -> bool {
    match app {
        App::Bulk { bytes } => bytes.is_none(),
        App::Cbr { packets, .. } => packets.is_none(),
        App::Download { .. } | App::Voice { .. } => false,
    }
}

/// The direction of a link as it was planned.
fn direction(plan: &Plan, id: DirectionId) -> &Direction {
    let link = &plan.links[id.link() as usize];
    if id == DirectionId::new(id.link(), true) { &link.ab } else { &link.ba }
}
