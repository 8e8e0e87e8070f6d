//! Conformance scripts of TCP.

use crate::error::value_error;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use voxpath_script::{Failure, ParseError, Script, Stack, run_simulated};

fn script(text: &str) -> PyResult<Script> {
    text.parse().map_err(|error: ParseError| value_error(error))
}

/// Rules, stacks, and both reasons.
type Head = (Vec<String>, Vec<String>, Option<String>, Option<String>);

/// What the head of a script says: its rules, its stacks, and why kernel and `linux` differ or the kernel is left out.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn parse_script(text: &str) -> PyResult<Head> {
    let Script { rules, stacks, differs, simulated, .. } = script(text)?;
    Ok((rules, stacks.iter().map(ToString::to_string).collect(), differs, simulated))
}

/// The ladder of a run, and what does not hold, where, if anything does not.
type Ran = (Vec<String>, Option<(usize, String)>);

fn ran(result: Result<Vec<String>, Failure>) -> Ran {
    match result {
        Ok(ladder) => (ladder, None),
        Err(failure) => {
            let reason = format!("at {}: {}", failure.at, failure.reason);
            (failure.ladder, Some((failure.line, reason)))
        }
    }
}

/// Runs a script on one of its stacks.
#[pyfunction]
#[pyo3(signature = (text, stack, /))]
pub(crate) fn run_script(py: Python<'_>, text: &str, stack: &str) -> PyResult<Ran> {
    let script = script(text)?;
    let found = script.stacks.iter().copied().find(|known| known.to_string() == stack);
    match found.ok_or_else(|| value_error(format!("{stack:?} is not among the script's stacks")))? {
        Stack::Kernel => py.detach(|| on_kernel(&script)),
        simulated => Ok(ran(run_simulated(&script, simulated))),
    }
}

#[cfg(target_os = "linux")]
fn on_kernel(script: &Script) -> PyResult<Ran> {
    let result =
        voxpath_host::run_on_kernel(script).map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(ran(result.map(|run| run.ladder)))
}

#[cfg(not(target_os = "linux"))]
fn on_kernel(_: &Script) -> PyResult<Ran> {
    Err(PyOSError::new_err("the stack kernel is Linux'"))
}
