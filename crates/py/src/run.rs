//! Plans checked and run.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::any::Any;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use voxpath_mptcp::{Coupling, Scheduling};
use voxpath_net::routing::DirectionId;
use voxpath_sim::plan::{DIRECTIONS, Observe, Plan};
use voxpath_sim::{Data, Meaning, Problem, Report, Simulation, Table};
use voxpath_tcp::{Congestion, Profile};
use voxpath_units::check::Step;

/// Events between two looks at Python's signals: a few milliseconds of work, so that Ctrl-C is heard
/// well within 100 ms, and dear enough that taking the interpreter's lock does not show.
const SLICE_EVENTS: u64 = 20_000;

pub(crate) fn value_error(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

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

/// What keeps a plan from running: keys and indices of its place in the plan, message.
#[pyfunction]
#[pyo3(signature = (plan, /))]
pub(crate) fn check<'py>(py: Python<'py>, plan: &str) -> PyResult<Vec<(Bound<'py, PyTuple>, String)>> {
    let told = |Problem { path, message }| {
        let steps = path.0.into_iter().map(|step| match step {
            Step::Key(key) => key.into_bound_py_any(py),
            Step::Index(index) => index.into_bound_py_any(py),
        });
        Ok((PyTuple::new(py, steps.collect::<PyResult<Vec<_>>>()?)?, message))
    };
    voxpath_sim::check(&plan_of(plan)?).into_iter().map(told).collect()
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

/// What a run gives to Python: columns of every table, the verdict as JSON, captures by host.
pub(crate) type Outcome<'py> = (Bound<'py, PyDict>, String, Bound<'py, PyDict>);

/// Runs one replication of a plan.
///
/// Releases the interpreter while it works, raises what a signal handler raises, and turns a panic of the
/// engine into a `RuntimeError`: it is our bug, but one that costs a run and not the whole sweep.
#[pyfunction]
#[pyo3(signature = (plan, replication, observe, /))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    plan: &str,
    replication: u64,
    observe: &str,
) -> PyResult<Outcome<'py>> {
    let plan = plan_of(plan)?;
    let observe: Observe = serde_json::from_str(observe).map_err(value_error)?;
    let report = py.detach(|| {
        // What a panic leaves half done is never looked at again.
        catch_unwind(AssertUnwindSafe(|| simulate(plan, replication, &observe)))
            .unwrap_or_else(|panic| Err(panic_error(panic.as_ref())))
    })?;

    outcome(py, &report)
}

/// A report as Python gets it.
pub(crate) fn outcome<'py>(py: Python<'py>, report: &Report) -> PyResult<Outcome<'py>> {
    let tables = PyDict::new(py);
    for table in &report.tables {
        tables.set_item(table.name, columns(py, table)?)?;
    }
    let verdict = serde_json::to_string(&report.verdict).map_err(value_error)?;
    let captures = PyDict::new(py);
    for (host, bytes) in &report.captures {
        captures.set_item(host, PyBytes::new(py, bytes))?;
    }
    Ok((tables, verdict, captures))
}

fn simulate(plan: Plan, replication: u64, observe: &Observe) -> PyResult<Report> {
    let mut simulation = Simulation::new(plan, replication, observe).map_err(refused)?;
    while !simulation.advance(SLICE_EVENTS).done {
        Python::attach(|py| py.check_signals())?;
    }
    Ok(simulation.finish())
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

/// A table's columns by name, each `(kind, values, extra)`:
///
/// | kind | values | extra |
/// | --- | --- | --- |
/// | `u64`, `f64` | little-endian bytes | one byte per row, 0 where the value is absent; or `None` |
/// | `text` | list of strings | `None` |
/// | `label` | little-endian `u32` indices | list of the strings that they mean |
pub(crate) fn columns<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    for column in &table.columns {
        let (kind, values, extra) = match &column.data {
            Data::U64(values) => ("u64", bytes(py, values.iter().map(|v| v.to_le_bytes())), None),
            Data::F64(values) => ("f64", bytes(py, values.iter().map(|v| v.to_le_bytes())), None),
            Data::OptU64(values) => (
                "u64",
                bytes(py, values.iter().map(|v| v.unwrap_or_default().to_le_bytes())),
                Some(validity(py, values)),
            ),
            Data::OptF64(values) => (
                "f64",
                bytes(py, values.iter().map(|v| v.unwrap_or_default().to_le_bytes())),
                Some(validity(py, values)),
            ),
            Data::Text(values) => ("text", values.into_bound_py_any(py)?, None),
            Data::Label { names, index } => (
                "label",
                bytes(py, index.iter().map(|v| v.to_le_bytes())),
                Some(names.into_bound_py_any(py)?),
            ),
        };
        columns.set_item(column.name, (kind, values, extra))?;
    }
    Ok(columns)
}

fn bytes<'py, const N: usize>(py: Python<'py>, values: impl Iterator<Item = [u8; N]>) -> Bound<'py, PyAny> {
    PyBytes::new(py, &values.flatten().collect::<Vec<u8>>()).into_any()
}

fn validity<'py, T>(py: Python<'py>, values: &[Option<T>]) -> Bound<'py, PyAny> {
    bytes(py, values.iter().map(|value| [u8::from(value.is_some())]))
}
