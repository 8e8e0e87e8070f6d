//! Errors as Python raises them.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use std::fmt::Display;

pub(crate) fn value_error(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
