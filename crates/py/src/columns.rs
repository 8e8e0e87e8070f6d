//! Tables of the engine as Arrow record batches, which polars and others take over without a copy.
//!
//! By Arrow's PyCapsule interface: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use crate::error::value_error;
use arrow_array::builder::StringViewBuilder;
use arrow_array::ffi::to_ffi;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StructArray, UInt32Array, UInt64Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyType};
use std::ffi::CStr;
use std::sync::Arc;
use voxpath_sim::{Data, Joined, Table};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// The column that tells of which run a row is.
const RUN: &str = "run";

/// A table: one record batch.
#[pyclass(frozen, module = "voxpath._engine")]
pub(crate) struct Columns(RecordBatch);

#[pymethods]
impl Columns {
    /// A table from a stream of Arrow's IPC format with one record batch.
    #[new]
    #[pyo3(signature = (ipc, /))]
    fn new(ipc: &[u8]) -> PyResult<Self> {
        let mut batches = StreamReader::try_new(ipc, None).map_err(value_error)?;
        batches.next().ok_or_else(|| value_error("there is no table"))?.map(Self).map_err(value_error)
    }

    /// Pickles it as such a stream: a run in real time comes from another process.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyBytes>,))> {
        let batch = &slf.get().0;
        let mut ipc = Vec::new();
        let mut writer = StreamWriter::try_new(&mut ipc, &batch.schema()).map_err(value_error)?;
        writer.write(batch).and_then(|()| writer.finish()).map_err(value_error)?;
        Ok((slf.get_type(), (PyBytes::new(slf.py(), &ipc),)))
    }

    /// Arrow's schema and array as capsules.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A producer may give what it has (PyCapsule interface, "Schema Requests").
        drop(requested_schema);
        let (array, schema) = to_ffi(&StructArray::from(self.0.clone()).into_data()).map_err(value_error)?;
        Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
    }
}

impl Columns {
    /// A table alone.
    pub(crate) fn of(table: Table) -> PyResult<Self> {
        Self::with(Vec::new(), table)
    }

    /// A table of several runs, with the column `run` before its own.
    pub(crate) fn joined(joined: Joined) -> PyResult<Self> {
        let run: ArrayRef = Arc::new(UInt32Array::from(joined.run));
        Self::with(vec![(RUN, run)], joined.table)
    }

    fn with(mut columns: Vec<(&'static str, ArrayRef)>, table: Table) -> PyResult<Self> {
        columns.extend(table.columns.into_iter().map(|column| (column.name, array(column.data))));
        // What may be absent is nullable, be it absent or not: the same table has the same schema in every run.
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
            .map(Self)
            .map_err(value_error)
    }
}

fn array(data: Data) -> ArrayRef {
    match data {
        Data::U64(values) => Arc::new(UInt64Array::from(values)),
        Data::OptU64(values) => Arc::new(UInt64Array::from(values)),
        Data::F64(values) => Arc::new(Float64Array::from(values)),
        Data::OptF64(values) => Arc::new(Float64Array::from(values)),
        Data::Text(values) => views(values.iter().map(String::as_str)),
        Data::Label { names, index } => views(index.iter().map(|&name| names[name as usize].as_str())),
    }
}

/// Texts as polars holds them; each long one once.
fn views<'a>(texts: impl Iterator<Item = &'a str>) -> ArrayRef {
    let mut builder = StringViewBuilder::new().with_deduplicate_strings();
    texts.for_each(|text| builder.append_value(text));
    Arc::new(builder.finish())
}
