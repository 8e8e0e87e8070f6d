//! Tables of the engine as Arrow record batches, which polars and others take over without a copy.
//!
//! By Arrow's PyCapsule interface: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.

use crate::error::value_error;
use arrow_array::builder::StringViewBuilder;
use arrow_array::ffi::to_ffi;
use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, StructArray, UInt32Array, UInt64Array, make_array,
};
use arrow_data::ArrayData;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule, PyType};
use std::ffi::CStr;
use std::sync::Arc;
use voxpath_sim::{Data, Joined, Table};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// The column that tells of which run a row is.
const RUN: &str = "run";

/// A column as it is pickled, in Arrow's columnar format: its name, its data type, its length, its validity bitmap and its buffers.
/// <https://arrow.apache.org/docs/format/Columnar.html>
type Pickled<B> = (String, String, usize, Option<B>, Vec<B>);

/// What makes a table again: the type, and its argument.
type Reduced<'py> = (Bound<'py, PyType>, (Vec<Pickled<Bound<'py, PyBytes>>>,));

/// A table: one record batch.
#[pyclass(frozen, module = "voxpath._engine")]
pub(crate) struct Columns(RecordBatch);

#[pymethods]
impl Columns {
    /// A table from columns as they are pickled; `ValueError` where their buffers are not valid.
    #[new]
    #[pyo3(signature = (columns, /))]
    fn new(columns: Vec<Pickled<PyBackedBytes>>) -> PyResult<Self> {
        let columns = columns.into_iter().map(|(name, data_type, length, validity, buffers)| {
            let data = ArrayData::builder(data_type.parse().map_err(value_error)?)
                .len(length)
                .null_bit_buffer(validity.as_deref().map(Into::into))
                .buffers(buffers.iter().map(|buffer| (&**buffer).into()).collect());
            Ok((name, make_array(data.build().map_err(value_error)?)))
        });
        Self::batch(columns.collect::<PyResult<Vec<_>>>()?)
    }

    /// Pickles it: a run in real time comes from another process.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py> {
        let bytes = |bytes: &[u8]| PyBytes::new(slf.py(), bytes);
        let batch = &slf.get().0;
        let columns = batch.schema_ref().fields().iter().zip(batch.columns()).map(|(field, column)| {
            let data = column.to_data();
            assert_eq!(data.offset(), 0, "a column of the engine is not a part of another");
            let validity = data.nulls().map(|nulls| bytes(&nulls.inner().sliced()));
            let buffers = data.buffers().iter().map(|buffer| bytes(buffer)).collect();
            (field.name().clone(), data.data_type().to_string(), data.len(), validity, buffers)
        });
        (slf.get_type(), (columns.collect(),))
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
        Self::batch(columns)
    }

    fn batch(columns: Vec<(impl AsRef<str>, ArrayRef)>) -> PyResult<Self> {
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
