//! What the elements of links say of themselves: their names, and what formulas may know of them.

use crate::error::value_error;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use voxpath_apps::{App, Over, ProcessApp};
use voxpath_net::element::loss::{BitErrorForm, Chance, Loss};
use voxpath_net::element::{Capacity, DelayVariation, Middlebox, Queueing};
use voxpath_rtc::rate::RateSettings;

/// The kinds of a family of elements, of applications, of processes or of rate controls, as plans name them.
#[pyfunction]
#[pyo3(signature = (family, /))]
pub(crate) fn kinds(family: &str) -> PyResult<&'static [&'static str]> {
    Ok(match family {
        "losses" => Loss::KINDS,
        "apps" => App::KINDS,
        "processes" => ProcessApp::KINDS,
        "rates" => RateSettings::KINDS,
        "queues" => Queueing::KINDS,
        "capacities" => Capacity::KINDS,
        "delays" => DelayVariation::KINDS,
        "middleboxes" => Middlebox::KINDS,
        _ => return Err(PyValueError::new_err(format!("no family of elements is called {family:?}"))),
    })
}

/// What an application of this kind may go over, its usual transport first.
#[pyfunction]
#[pyo3(signature = (app, /))]
pub(crate) fn transports(app: &str) -> PyResult<Vec<&'static str>> {
    let transport = |over: &Over| match over {
        Over::Stream => "tcp",
        Over::Datagrams => "udp",
    };
    let found = App::transports_of(app).map(|over| over.iter().map(transport).collect());
    found.ok_or_else(|| PyValueError::new_err(format!("no application is called {app:?}")))
}

/// The chance of a packet of `size` bytes to be lost, independently of others, by a plan's loss; else why there is none.
#[pyfunction]
#[pyo3(signature = (loss, size, /))]
pub(crate) fn loss_chance<'py>(py: Python<'py>, loss: &str, size: u32) -> PyResult<Bound<'py, PyAny>> {
    let loss: Loss = serde_json::from_str(loss).map_err(value_error)?;
    match loss.chance(size) {
        Chance::Independent(p) => p.into_bound_py_any(py),
        Chance::None(why) => why.into_bound_py_any(py),
    }
}

/// The probability that a packet of `size` bytes has a wrong bit; `form` as a plan names it.
#[pyfunction]
#[pyo3(signature = (bit_error_rate, size, form, /))]
pub(crate) fn packet_error_rate(bit_error_rate: f64, size: u32, form: &str) -> PyResult<f64> {
    let form = match form {
        "exact" => BitErrorForm::Exact,
        "linear" => BitErrorForm::Linear,
        _ => return Err(PyValueError::new_err(format!("no form is called {form:?}; exact or linear"))),
    };
    if !(0.0..=1.0).contains(&bit_error_rate) {
        return Err(PyValueError::new_err("a bit error rate is between 0 and 1"));
    }
    Ok(form.packet_error_rate(bit_error_rate, size).get())
}
