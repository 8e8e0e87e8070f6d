//! Runs in real time: the machine's part of them. What a host's configuration is, Python decides.

use crate::columns::Columns;
use crate::error::value_error;
use crate::run::{Outcome, outcome, plan_of, refused};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd};
use voxpath_host::{
    ConnectionReport, ConnectionSample, Device, HostError, Kind, Namespace, Relayed, Run, Scheduling,
};
use voxpath_sim::plan::Change;
use voxpath_sim::{
    CONNECTIONS, Column, Connection, ConnectionEnd, ConnectionRow, Data, Observe, Part, RealTime, SubflowOf,
    Table, Whole,
};
use voxpath_units::Time;

fn os_error(error: HostError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// The namespaces that all programs of a run share; everything in there ends with this process.
///
/// To be made before the process has a second thread.
#[pyclass(frozen, module = "voxpath._engine")]
pub(crate) struct Isolation(voxpath_host::Isolation);

#[pymethods]
impl Isolation {
    #[new]
    fn new() -> PyResult<Self> {
        voxpath_host::Isolation::enter().map(Self).map_err(os_error)
    }

    /// The first process in there, as this process sees it.
    #[getter]
    fn first_process(&self) -> i32 {
        self.0.first_process()
    }

    /// Whether this is without root's privileges.
    #[getter]
    fn rootless(&self) -> bool {
        self.0.rootless()
    }

    /// What programs on a host see mounted, as a file descriptor that the caller closes.
    #[pyo3(signature = (host, /))]
    fn mounts(&self, host: &RealHost) -> PyResult<i32> {
        self.0.mounts(&host.parts()?.0).map(IntoRawFd::into_raw_fd).map_err(os_error)
    }

    /// Shows programs `text` where `path` is.
    #[pyo3(signature = (path, text, /))]
    fn replace_file(&self, path: &str, text: &str) -> PyResult<()> {
        self.0.replace_file(path, text).map_err(os_error)
    }
}

/// A real host: a network namespace and the device that joins it to the world.
#[pyclass(module = "voxpath._engine")]
pub(crate) struct RealHost(Option<(Namespace, Device)>);

impl RealHost {
    fn parts(&self) -> PyResult<&(Namespace, Device)> {
        self.0.as_ref().ok_or_else(|| PyRuntimeError::new_err("the host belongs to a run already"))
    }
}

#[pymethods]
impl RealHost {
    #[new]
    #[pyo3(signature = (name, edge, /))]
    fn new(name: &str, edge: Option<&str>) -> PyResult<Self> {
        let kind = match edge {
            None => None,
            Some("tun") => Some(Kind::Tun),
            Some("veth") => Some(Kind::Veth),
            Some("tap") => Some(Kind::Tap),
            Some(other) => {
                return Err(value_error(format!("there is no edge {other:?}; use tun, veth or tap")));
            }
        };
        let namespace = Namespace::new().map_err(os_error)?;
        let device = Device::new(&namespace, name, kind).map_err(os_error)?;
        Ok(Self(Some((namespace, device))))
    }

    /// How it is joined to the world: "tun", "veth" or "tap".
    #[getter]
    fn edge(&self) -> PyResult<&'static str> {
        Ok(edge(self.parts()?.1.kind()))
    }

    /// The namespace's file descriptor in this process.
    #[getter]
    fn descriptor(&self) -> PyResult<i32> {
        Ok(self.parts()?.0.as_fd().as_raw_fd())
    }

    /// Configures it with a batch of `ip` commands.
    #[pyo3(signature = (batch, /))]
    fn ip(&self, py: Python<'_>, batch: &str) -> PyResult<()> {
        let namespace = &self.parts()?.0;
        py.detach(|| namespace.ip(batch)).map_err(os_error)
    }

    /// Sets keys below `/proc/sys/net`.
    #[pyo3(signature = (values, /))]
    fn sysctl(&self, values: Vec<(String, String)>) -> PyResult<()> {
        self.parts()?.0.sysctl(&values).map_err(os_error)
    }

    /// Listens at a place of the host and passes on to a place that the machine reaches.
    #[pyo3(signature = (transport, place, target, /))]
    fn reach(&self, transport: &str, place: Place, target: Place) -> PyResult<Relay> {
        let (place, target) = (SocketAddr::from(place), SocketAddr::from(target));
        voxpath_host::Relay::to_machine(&self.parts()?.0, relayed(transport)?, place, target)
            .map(Relay)
            .map_err(os_error)
    }

    /// Listens at a place of the machine and passes on to a place that the host reaches.
    #[pyo3(signature = (transport, place, target, /))]
    fn publish(&self, transport: &str, place: Place, target: Place) -> PyResult<Relay> {
        let (place, target) = (SocketAddr::from(place), SocketAddr::from(target));
        voxpath_host::Relay::from_machine(&self.parts()?.0, relayed(transport)?, place, target)
            .map(Relay)
            .map_err(os_error)
    }

    /// TCP ports at which somebody listens.
    fn listening(&self) -> PyResult<Vec<u16>> {
        self.parts()?.0.listening().map_err(os_error)
    }
}

/// A place on one side of a relay, or the other: an address and a port.
type Place = (IpAddr, u16);

/// A relay between a host and the machine; it serves as long as this process lives.
#[pyclass(frozen, module = "voxpath._engine")]
pub(crate) struct Relay(voxpath_host::Relay);

#[pymethods]
impl Relay {
    /// Connections, and conversations in datagrams, so far.
    #[getter]
    fn accepted(&self) -> u64 {
        self.0.accepted()
    }

    /// Those of them that found nobody at the target.
    #[getter]
    fn refused(&self) -> u64 {
        self.0.refused()
    }
}

fn relayed(transport: &str) -> PyResult<Relayed> {
    match transport {
        "tcp" => Ok(Relayed::Connections),
        "mptcp" => Ok(Relayed::Multipath),
        "udp" => Ok(Relayed::Datagrams),
        _ => Err(value_error(format!("{transport:?} is no transport that can be relayed"))),
    }
}

/// As `voxpath_sim::LinkState`.
type LinkNow = (u64, u64, u64, u64, u32, u64);

/// A run that is going on; its time zero is when it was made.
#[pyclass(module = "voxpath._engine")]
pub(crate) struct RealRun(Option<Run>);

impl RealRun {
    fn run(&self) -> PyResult<&Run> {
        self.0.as_ref().ok_or_else(|| PyRuntimeError::new_err("the run is over"))
    }
}

#[pymethods]
impl RealRun {
    #[new]
    #[pyo3(signature = (plan, replication, observe, hosts, steered, /))]
    fn new(
        plan: &str,
        replication: u64,
        observe: &str,
        hosts: BTreeMap<u32, PyRefMut<'_, RealHost>>,
        steered: bool,
    ) -> PyResult<Self> {
        let plan = plan_of(plan)?;
        let observe: Observe = serde_json::from_str(observe).map_err(value_error)?;
        let real = plan.real_hosts();
        let mut taken: Vec<_> = plan.nodes.iter().map(|_| None).collect();
        let built = if steered { RealTime::steered } else { RealTime::new };
        let world = built(plan, replication, &observe).map_err(refused)?;
        for (node, mut host) in hosts {
            let place = taken.get_mut(node as usize);
            *place.ok_or_else(|| value_error(format!("there is no node {node}")))? = host.0.take();
        }
        if taken.iter().map(Option::is_some).ne(real.iter().copied()) {
            return Err(value_error("the hosts given are not the plan's real ones"));
        }
        Run::start(world, taken, observe.tcp).map(|run| Self(Some(run))).map_err(os_error)
    }

    /// Nanoseconds since the start.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        Ok(self.run()?.now().as_nanos())
    }

    /// Whether every flow is done and no packet is on its way, or the run has failed.
    #[getter]
    fn is_done(&self) -> PyResult<bool> {
        Ok(self.run()?.is_done())
    }

    /// TCP ports at which somebody listens on a host.
    #[pyo3(signature = (node, /))]
    fn listening(&self, node: u32) -> PyResult<Vec<u16>> {
        self.run()?.listening(node).map_err(os_error)
    }

    /// The links as they were when they were last asked for, if they were: when, and of each direction of each link
    /// packets that came, bytes served, packets dropped, packets lost, packets that wait, and how long a packet takes.
    fn links(&self) -> PyResult<Option<(u64, Vec<LinkNow>)>> {
        let state = |link: voxpath_sim::LinkState| {
            let delay = link.delay.as_nanos();
            (link.entered, link.served_bytes, link.dropped, link.lost, link.queued, delay)
        };
        let seen = self.run()?.links();
        Ok(seen.map(|(at, links)| (at.as_nanos(), links.into_iter().map(state).collect())))
    }

    /// Changes links by hand now; when that was. `changes` is JSON: the changes of a plan's events.
    #[pyo3(signature = (changes, /))]
    fn change(&self, py: Python<'_>, changes: &str) -> PyResult<u64> {
        let changes: Vec<Change> = serde_json::from_str(changes).map_err(value_error)?;
        let of_link = |change| match change {
            Change::Link(event) => Ok(event),
            other => Err(value_error(format!("{other:?}: only links are changed by hand"))),
        };
        let events = changes.into_iter().map(of_link).collect::<PyResult<_>>()?;
        let run = self.run()?;
        let changed = py.detach(|| run.change(events)).map_err(os_error)?;
        changed.map(Time::as_nanos).map_err(refused)
    }

    /// Ends the run: what the simulator's `run` gives, with programs' connections, subflows and values over time as three
    /// more tables, and as JSON how faithful it was.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<(Outcome<'py>, String)> {
        self.run()?;
        let Some(run) = self.0.take() else { unreachable!("it was there a moment ago") };
        let found = py.detach(|| run.finish()).map_err(os_error)?;
        let faithful = fidelity(&found);
        let (tables, verdict, captures) = outcome(py, found.report)?;
        for (name, table) in [
            ("programs", connections(&found.connections)),
            ("subflows", subflows(&found.connections, &found.flow_names)),
            ("samples", samples(&found.samples)),
        ] {
            tables.set_item(name, Columns::of(table)?)?;
        }
        Ok(((tables, verdict, captures), faithful))
    }
}

const fn edge(kind: Kind) -> &'static str {
    match kind {
        Kind::Tun => "tun",
        Kind::Veth => "veth",
        Kind::Tap => "tap",
    }
}

/// The ends of a connection, as tables call it.
fn title(seen: &Connection) -> String {
    format!("{} > {}", seen.client, seen.server)
}

/// Subflows of Multipath TCP: the ends of each, its number, and what they are a part of: a flow, or else the connection of a program by its ends.
fn subflows(reports: &[ConnectionReport], flows: &[String]) -> Table {
    let parts: Vec<(&Connection, Part)> =
        reports.iter().filter_map(|report| Some((&report.seen, report.seen.subflow?))).collect();
    let texts = |of: &dyn Fn(&Connection, Part) -> String| {
        Data::Text(parts.iter().map(|&(seen, part)| of(seen, part)).collect())
    };
    let flow = |part: Part| match part.of {
        Whole::Flow(flow) => flows[flow as usize].clone(),
        Whole::Connection(_) => String::new(),
    };
    let first = |part: Part| match part.of {
        Whole::Flow(_) => String::new(),
        Whole::Connection(index) => title(&reports[index].seen),
    };
    let columns = [
        ("ends", texts(&|seen, _| title(seen))),
        ("number", Data::U64(parts.iter().map(|(_, part)| part.number.into()).collect())),
        ("flow", texts(&|_, part| flow(part))),
        ("connection", texts(&|_, part| first(part))),
    ];
    let columns = columns.into_iter().map(|(name, data)| Column { name, data }).collect();
    Table { name: "subflows", columns }
}

/// The TCP connections of programs, a row for each end; hosts are called by their addresses. A simulated end of a subflow has its row elsewhere.
fn connections(reports: &[ConnectionReport]) -> Table {
    let (mut rows, mut titles, mut hosts) = (Vec::new(), Vec::new(), Vec::new());
    for (flow, report) in (0..).zip(reports) {
        let seen = &report.seen;
        titles.push(title(seen));
        let ends = [[seen.client, seen.server], [seen.server, seen.client]];
        for (end, ([address, peer], found)) in (0..).zip(ends.into_iter().zip(report.ends)) {
            if seen.subflow.is_some() && !seen.real[end as usize] {
                continue;
            }
            let subflow = seen.subflow.map(|Part { number, .. }| SubflowOf {
                number,
                between: [address.ip(), peer.ip()],
                is_fallback: None,
            });
            let (opened, last_sent) = (Some(seen.opened), Some(seen.last_sent));
            let found = ConnectionEnd { opened, last_sent, ..found.unwrap_or_default() };
            rows.push(ConnectionRow { flow, end, host: hosts.len() as u32, subflow, found });
            hosts.push(address.ip().to_string());
        }
    }
    CONNECTIONS.fill(&rows, &[&titles, &["client", "server"].map(String::from), &hosts])
}

/// Values of the TCP connections of programs, a row for each change.
fn samples(samples: &[ConnectionSample]) -> Table {
    let numbers = |of: fn(&ConnectionSample) -> u64| Data::U64(samples.iter().map(of).collect());
    let texts = |of: fn(&ConnectionSample) -> String| Data::Text(samples.iter().map(of).collect());
    let columns = [
        ("time_ns", numbers(|sample| sample.at.as_nanos())),
        ("node", numbers(|sample| sample.host.into())),
        ("local", texts(|sample| sample.local.to_string())),
        ("remote", texts(|sample| sample.remote.to_string())),
        ("accepted", numbers(|sample| sample.accepted.into())),
        ("metric", texts(|sample| sample.metric.into())),
        ("value", numbers(|sample| sample.value)),
    ];
    let columns = columns.into_iter().map(|(name, data)| Column { name, data }).collect();
    Table { name: "samples", columns }
}

/// How faithful a run was; every span in nanoseconds.
fn fidelity(found: &voxpath_host::Outcome) -> String {
    let lateness = |late: &voxpath_host::Lateness| {
        serde_json::json!({
            "count": late.count(),
            "p50_ns": late.percentile(50.0).as_nanos(),
            "p99_ns": late.percentile(99.0).as_nanos(),
            "max_ns": late.max().as_nanos(),
            "histogram": late.buckets().collect::<Vec<_>>(),
        })
    };
    let devices = found.devices.iter().map(|device| {
        serde_json::json!({
            "node": device.host,
            "edge": edge(device.kind),
            "not_tun_because": device.instead.as_ref().map(ToString::to_string),
            "sent": device.counts.sent,
            "send_dropped": device.counts.send_dropped,
            "received": device.counts.received,
            "receive_dropped": device.counts.receive_dropped,
            "unread": device.counts.unread,
        })
    });
    let timing = &found.timing;
    serde_json::json!({
        "deliveries": lateness(&timing.deliveries),
        "wakeups": lateness(&timing.wakeups),
        "packets_in": timing.packets_in,
        "packets_out": timing.packets_out,
        "packets_refused": timing.refused,
        "frames_unparsed": found.strays.unparsed,
        "frames_unroutable": found.strays.unroutable,
        "devices": devices.collect::<Vec<_>>(),
        "scheduling": match found.scheduling {
            Scheduling::Fifo => "SCHED_FIFO",
            Scheduling::Normal => "SCHED_OTHER",
        },
        "kept_awake": found.kept_awake,
        "connections_unknown_because": found.unwatched.as_ref().map(ToString::to_string),
        "waited_ns": found.spent.waited.as_nanos(),
        "processor_ns": found.spent.processor.as_nanos(),
        "kernel_ns": found.spent.kernel.as_nanos(),
        "ends_waited_ns": found.ends_spent.waited.as_nanos(),
        "ends_processor_ns": found.ends_spent.processor.as_nanos(),
        "monotonic_origin_ns": found.origin_ns,
    })
    .to_string()
}
