//! Quantities with units, as `voxpath-units` reads and prints them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use voxpath_units::{Bytes, Prob, Rate, Span};

fn parse<T>(text: &str) -> PyResult<T>
where
    T: std::str::FromStr<Err = voxpath_units::ParseError>,
{
    text.parse().map_err(|error: voxpath_units::ParseError| PyValueError::new_err(error.to_string()))
}

/// Nanoseconds of a duration such as "20 ms".
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn parse_span(text: &str) -> PyResult<u64> {
    parse::<Span>(text).map(Span::as_nanos)
}

/// Bits per second of a rate such as "5 Mbit/s".
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn parse_rate(text: &str) -> PyResult<u64> {
    parse::<Rate>(text).map(Rate::as_bits_per_sec)
}

/// Bytes of a size such as "64 KiB".
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn parse_size(text: &str) -> PyResult<u64> {
    parse::<Bytes>(text).map(|bytes| bytes.0)
}

/// A probability such as "0.3 %", between 0 and 1.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn parse_prob(text: &str) -> PyResult<f64> {
    parse::<Prob>(text).map(Prob::get)
}

/// A duration as people write it.
#[pyfunction]
#[pyo3(signature = (nanoseconds, /))]
pub(crate) fn format_span(nanoseconds: u64) -> String {
    Span::from_nanos(nanoseconds).to_string()
}

/// A rate as people write it.
#[pyfunction]
#[pyo3(signature = (bits_per_second, /))]
pub(crate) fn format_rate(bits_per_second: u64) -> PyResult<String> {
    Rate::from_bits_per_sec(bits_per_second)
        .map(|rate| rate.to_string())
        .ok_or_else(|| PyValueError::new_err("a rate is above zero"))
}

/// A size as people write it.
#[pyfunction]
#[pyo3(signature = (size, /))]
pub(crate) fn format_size(size: u64) -> String {
    Bytes(size).to_string()
}

/// A probability as people write it.
#[pyfunction]
#[pyo3(signature = (probability, /))]
pub(crate) fn format_prob(probability: f64) -> PyResult<String> {
    Prob::new(probability)
        .map(|prob| prob.to_string())
        .ok_or_else(|| PyValueError::new_err("a probability is between 0 and 1"))
}
