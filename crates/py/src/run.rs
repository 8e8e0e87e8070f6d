//! Plans checked and run.

use crate::columns::Columns;
use crate::error::value_error;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use voxpath_mptcp::{Coupling, Scheduling};
use voxpath_net::routing::DirectionId;
use voxpath_sim::plan::{DIRECTIONS, Observe, Plan};
use voxpath_sim::{Batch, Meaning, Problem, Report, Simulation};
use voxpath_tcp::{Congestion, Profile};
use voxpath_units::check::Step;

/// Events between two looks at Python's signals: a few milliseconds of work, so that Ctrl-C is heard
/// well within 100 ms, and dear enough that taking the interpreter's lock does not show.
const SLICE_EVENTS: u64 = 20_000;

pub(crate) fn plan_of(json: &str) -> PyResult<Plan> {
    let mut plan: Plan = serde_json::from_str(json).map_err(value_error)?;
    plan.share_stacks();
    Ok(plan)
}

/// Names of the stack profiles.
#[pyfunction]
pub(crate) fn profiles() -> Vec<&'static str> {
    Profile::ALL.iter().map(|&(name, _)| name).collect()
}

/// Names of the congestion control algorithms.
#[pyfunction]
pub(crate) fn congestions() -> Vec<&'static str> {
    Congestion::ALL.iter().map(|&(name, _)| name).collect()
}

/// Names of the schedulers of Multipath TCP.
#[pyfunction]
pub(crate) fn schedulers() -> Vec<&'static str> {
    Scheduling::ALL.iter().map(|&(name, _)| name).collect()
}

/// Names of the ways in which the windows of subflows depend on each other.
#[pyfunction]
pub(crate) fn couplings() -> Vec<&'static str> {
    Coupling::ALL.iter().map(|&(name, _)| name).collect()
}

/// Parameters of Multipath TCP where nothing else is said, as a plan's JSON holds them.
#[pyfunction]
pub(crate) fn mptcp() -> PyResult<String> {
    serde_json::to_string(&voxpath_mptcp::Config::default()).map_err(value_error)
}

/// Parameters of a stack profile, as a plan's JSON holds them.
#[pyfunction]
#[pyo3(signature = (name, /))]
pub(crate) fn profile(name: &str) -> PyResult<String> {
    let found = Profile::ALL.iter().find(|&&(known, _)| known == name);
    let &(_, profile) = found.ok_or_else(|| value_error(format!("no profile is called {name:?}")))?;
    serde_json::to_string(&profile.config()).map_err(value_error)
}

/// The metric dictionary: each table's name and what a row of it is, and the name of each column with its unit, its clock,
/// where it is observed, and what it is.
#[pyfunction]
pub(crate) fn tables() -> Vec<(&'static str, &'static str, Vec<Entry>)> {
    let entry = |(name, meaning): (&'static str, Meaning)| {
        (name, meaning.unit, meaning.clock, meaning.place, meaning.about)
    };
    voxpath_sim::tables()
        .into_iter()
        .map(|table| (table.name(), table.about(), table.columns().into_iter().map(entry).collect()))
        .collect()
}

/// A column's name and its [`Meaning`].
type Entry = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// What keeps a plan from running: keys and indices of its place in the plan, message. `edges` asks for what keeps its real hosts
/// from being real instead.
#[pyfunction]
#[pyo3(signature = (plan, /, *, edges = false))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    plan: &str,
    edges: bool,
) -> PyResult<Vec<(Bound<'py, PyTuple>, String)>> {
    let told = |Problem { path, message }| {
        let steps = path.0.into_iter().map(|step| match step {
            Step::Key(key) => key.into_bound_py_any(py),
            Step::Index(index) => index.into_bound_py_any(py),
        });
        Ok((PyTuple::new(py, steps.collect::<PyResult<Vec<_>>>()?)?, message))
    };
    let find = if edges { voxpath_sim::edges } else { voxpath_sim::check };
    find(&plan_of(plan)?).into_iter().map(told).collect()
}

/// A link's index and the name of its direction.
type Hop = (u32, &'static str);

/// The directions of links that each flow's packets take: from the end that opens to the other one, and back.
#[pyfunction]
#[pyo3(signature = (plan, /))]
pub(crate) fn paths(plan: &str) -> PyResult<Vec<(Vec<Hop>, Vec<Hop>)>> {
    let paths = voxpath_sim::paths(&plan_of(plan)?).map_err(refused)?;
    let steps = |path: Vec<DirectionId>| {
        path.into_iter().map(|step| (step.link(), DIRECTIONS[step.index() % 2])).collect()
    };
    Ok(paths.into_iter().map(|[there, back]| (steps(there), steps(back))).collect())
}

/// Indices of the nodes that are real hosts where there are any.
#[pyfunction]
#[pyo3(signature = (plan, /))]
pub(crate) fn real_hosts(plan: &str) -> PyResult<Vec<u32>> {
    let real = plan_of(plan)?.real_hosts();
    Ok((0..).zip(real).filter(|&(_, real)| real).map(|(node, _)| node).collect())
}

/// The delay of the shortest way between two hosts, in nanoseconds; none where no two reach each other.
#[pyfunction]
#[pyo3(signature = (plan, /))]
pub(crate) fn shortest_delay(plan: &str) -> PyResult<Option<u64>> {
    let delay = voxpath_sim::shortest_delay(&plan_of(plan)?).map_err(refused)?;
    Ok(delay.map(|delay| delay.as_nanos()))
}

/// What a run in real time gives to Python: every table, the verdict as JSON, captures by host.
pub(crate) type Outcome<'py> = (Bound<'py, PyDict>, String, Bound<'py, PyDict>);

/// A run that was made: the verdict as JSON, captures by host, when it began in nanoseconds since 1970, and nanoseconds of
/// wall and processor time that it took.
type Made<'py> = (String, Bound<'py, PyDict>, u64, u64, u64);

/// Runs whose tables lie together: indices of these runs, and their tables by name.
type Together<'py> = (Vec<u32>, Bound<'py, PyDict>);

/// Ends the runs that are being made, from another thread.
#[pyclass(frozen)]
#[derive(Default)]
pub(crate) struct Stop(AtomicBool);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends them within milliseconds.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes runs: of each plan some replications, one after the other.
///
/// Releases the interpreter while it works. Gives the runs that were made, the tables of those of one shape together, and
/// what ended it before all were made: what a signal handler raised, what is wrong with a plan, or a panic of the engine as
/// a `RuntimeError`. That is our bug, but one that costs a run and not the whole sweep.
///
/// With `stop` it looks at that in place of signals, which only the main thread hears of. Once `seconds` are over it begins no
/// further run, but it makes one at least.
#[pyfunction]
#[pyo3(signature = (cells, observe, stop = None, seconds = f64::INFINITY, /))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    cells: Vec<(PyBackedStr, Vec<u64>)>,
    observe: &str,
    stop: Option<&Stop>,
    seconds: f64,
) -> PyResult<(Vec<Made<'py>>, Vec<Together<'py>>, Option<PyErr>)> {
    let observe: Observe = serde_json::from_str(observe).map_err(value_error)?;
    let mut runs = Runs::within(seconds);
    let error = py.detach(|| {
        cells.iter().find_map(|(plan, replications)| runs.make(plan, replications, &observe, stop).err())
    });
    let mut made = Vec::with_capacity(runs.made.len());
    for run in runs.made {
        made.push((run.verdict, captured(py, &run.captures)?, run.started_ns, run.wall_ns, run.processor_ns));
    }
    let mut groups = Vec::new();
    for group in runs.tables.into_groups() {
        let tables = PyDict::new(py);
        for joined in group.tables {
            tables.set_item(joined.table.name, Columns::joined(joined)?)?;
        }
        groups.push((group.runs, tables));
    }
    Ok((made, groups, error))
}

/// What was made so far, and for how long more are begun.
struct Runs {
    made: Vec<Run>,
    tables: Batch,
    began_ns: u64,
    seconds: f64,
}

struct Run {
    verdict: String,
    captures: Vec<(String, Vec<u8>)>,
    started_ns: u64,
    wall_ns: u64,
    processor_ns: u64,
}

impl Runs {
    fn within(seconds: f64) -> Self {
        Self { made: Vec::new(), tables: Batch::default(), began_ns: nanos(ClockId::Monotonic), seconds }
    }

    /// Whether there is no time for another one.
    fn is_late(&self) -> bool {
        let took_ns = nanos(ClockId::Monotonic) - self.began_ns;
        !self.made.is_empty() && took_ns as f64 >= self.seconds * 1e9
    }

    /// Makes replications of a plan, which is read once, while there is time.
    fn make(
        &mut self,
        plan: &str,
        replications: &[u64],
        observe: &Observe,
        stop: Option<&Stop>,
    ) -> PyResult<()> {
        if self.is_late() {
            return Ok(());
        }
        let plan = plan_of(plan)?;
        for &replication in replications {
            if self.is_late() {
                break;
            }
            let clocks = [ClockId::Realtime, ClockId::Monotonic, ClockId::ThreadCPUTime];
            let [started_ns, wall, processor] = clocks.map(nanos);
            // What a panic leaves half done is never looked at again.
            let report =
                catch_unwind(AssertUnwindSafe(|| simulate(plan.clone(), replication, observe, stop)))
                    .unwrap_or_else(|panic| Err(panic_error(panic.as_ref())))?;
            let [wall_ns, processor_ns] =
                [nanos(ClockId::Monotonic) - wall, nanos(ClockId::ThreadCPUTime) - processor];
            let verdict = serde_json::to_string(&report.verdict).map_err(value_error)?;
            self.tables.add(self.made.len() as u32, report.tables);
            self.made.push(Run { verdict, captures: report.captures, started_ns, wall_ns, processor_ns });
        }
        Ok(())
    }
}

/// What a clock says. A run does not depend on it: it only says how long it took.
fn nanos(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    // None is negative in our times.
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}

/// A report as Python gets it.
pub(crate) fn outcome(py: Python<'_>, report: Report) -> PyResult<Outcome<'_>> {
    let tables = PyDict::new(py);
    for table in report.tables {
        tables.set_item(table.name, Columns::of(table)?)?;
    }
    let verdict = serde_json::to_string(&report.verdict).map_err(value_error)?;
    Ok((tables, verdict, captured(py, &report.captures)?))
}

fn captured<'py>(py: Python<'py>, captures: &[(String, Vec<u8>)]) -> PyResult<Bound<'py, PyDict>> {
    let by_host = PyDict::new(py);
    for (host, bytes) in captures {
        by_host.set_item(host, PyBytes::new(py, bytes))?;
    }
    Ok(by_host)
}

fn simulate(plan: Plan, replication: u64, observe: &Observe, stop: Option<&Stop>) -> PyResult<Report> {
    let mut simulation = Simulation::new(plan, replication, observe).map_err(refused)?;
    loop {
        match stop {
            Some(stop) if stop.0.load(Ordering::Relaxed) => {
                return Err(PyRuntimeError::new_err("stopped before the run was over"));
            }
            Some(_) => {}
            None => Python::attach(|py| py.check_signals())?,
        }
        if simulation.advance(SLICE_EVENTS).done {
            return Ok(simulation.finish());
        }
    }
}

/// What [`check`] would have found.
pub(crate) fn refused(problems: Vec<Problem>) -> PyErr {
    let lines: Vec<String> = problems.iter().map(|p| format!("{}: {}", p.path, p.message)).collect();
    value_error(lines.join("; "))
}

fn panic_error(panic: &(dyn Any + Send)) -> PyErr {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message");
    PyRuntimeError::new_err(format!("the engine panicked: {message}"))
}
