//! TOML documents with the place of every key, so that an error can name the line.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::cell::Cell;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One thing wrong with a document: line and column (from 1, in characters), message.
type Fault = (usize, usize, String);

/// `(data, places, faults)`: the document as plain Python values, the line and column of every key and
/// array element by its path, and what is wrong with the document; with faults, data and places are
/// what could be read.
///
/// Keys are placed where they are written, tables at their header, elements at their value.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn parse_toml<'py>(
    py: Python<'py>,
    text: &str,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>, Vec<Fault>)> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let lines = Lines::of(text);
    let faults = errors
        .iter()
        .map(|error| {
            let (line, column) = lines.place(error.span().map_or(text.len(), |span| span.start));
            (line, column, error.message().replace('\n', ", "))
        })
        .collect();
    let mut reader = Reader { py, lines, places: PyDict::new(py), path: Vec::new(), faults };
    let data = reader.table(table.get_ref())?;
    reader.faults.sort();
    Ok((data, reader.places, reader.faults))
}

/// The TOML document of a JSON object; keys keep their order.
#[pyfunction]
#[pyo3(signature = (json, /))]
pub(crate) fn format_toml(json: &str) -> PyResult<String> {
    let table: toml::Table =
        serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    toml::to_string(&table).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Where each line begins.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    /// The offset that was asked for last, and its characters from its line's begin: a line may have all of a list.
    last: Cell<(usize, usize)>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Self { text, starts, last: Cell::new((0, 0)) }
    }

    /// Line and column of a byte offset, both from 1.
    fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts[line - 1];
        let (from, counted) =
            Some(self.last.get()).filter(|(at, _)| (start..=offset).contains(at)).unwrap_or((start, 0));
        let before = counted + self.text.get(from..offset).unwrap_or_default().chars().count();
        self.last.set((offset, before));
        (line, before + 1)
    }
}

/// Walks a document, building Python values and noting places.
struct Reader<'py, 't> {
    py: Python<'py>,
    lines: Lines<'t>,
    places: Bound<'py, PyDict>,
    path: Vec<Py<PyAny>>,
    faults: Vec<Fault>,
}

impl<'py> Reader<'py, '_> {
    fn table(&mut self, table: &DeTable<'_>) -> PyResult<Bound<'py, PyDict>> {
        let data = PyDict::new(self.py);
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            self.path.push(name.into_py_any(self.py)?);
            self.note(key.span())?;
            data.set_item(name, self.value(value)?)?;
            self.path.pop();
        }
        Ok(data)
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>) -> PyResult<Bound<'py, PyAny>> {
        match value.get_ref() {
            DeValue::String(text) => text.as_ref().into_bound_py_any(self.py),
            DeValue::Boolean(truth) => truth.into_bound_py_any(self.py),
            DeValue::Integer(number) => {
                let digits = number.as_str().replace('_', "");
                match i64::from_str_radix(&digits, number.radix()) {
                    Ok(number) => number.into_bound_py_any(self.py),
                    Err(_) => self.fault(value.span(), "this whole number does not fit in 64 bits"),
                }
            }
            DeValue::Float(number) => match number.as_str().replace('_', "").parse::<f64>() {
                Ok(number) if number.is_finite() => number.into_bound_py_any(self.py),
                _ => self.fault(value.span(), "this number is not finite"),
            },
            DeValue::Datetime(_) => self.fault(
                value.span(),
                "a date or time has no place in a scenario: times are spans from the run's start, \
                 written as text, such as \"20 ms\"",
            ),
            DeValue::Array(elements) => {
                let list = PyList::empty(self.py);
                for (index, element) in elements.iter().enumerate() {
                    self.path.push(index.into_py_any(self.py)?);
                    self.note(element.span())?;
                    list.append(self.value(element)?)?;
                    self.path.pop();
                }
                Ok(list.into_any())
            }
            DeValue::Table(table) => Ok(self.table(table)?.into_any()),
        }
    }

    fn note(&self, span: Range<usize>) -> PyResult<()> {
        let path = PyTuple::new(self.py, &self.path)?;
        self.places.set_item(path, self.lines.place(span.start))
    }

    /// Notes what is wrong; the value's place is taken by `None`.
    fn fault(&mut self, span: Range<usize>, message: &str) -> PyResult<Bound<'py, PyAny>> {
        let (line, column) = self.lines.place(span.start);
        self.faults.push((line, column, message.to_owned()));
        Ok(self.py.None().into_bound(self.py))
    }
}
