//! From bit errors to packet errors, by the rule that the simulated links lose packets by.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use voxpath_net::element::BitErrorForm;

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
