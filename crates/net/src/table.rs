//! Tables as columns: the form in which results leave the engine.

use alloc::string::String;
use alloc::vec::Vec;

/// A named table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The table's name in the results.
    pub name: &'static str,
    /// Its columns, all of one length.
    pub columns: Vec<Column>,
}

/// A named column; names are those of the metric dictionary and end in their unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The column's name.
    pub name: &'static str,
    /// Its values.
    pub data: Data,
}

/// A column's values.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Counts, bytes, nanoseconds.
    U64(Vec<u64>),
    /// The same, where a row may have none.
    OptU64(Vec<Option<u64>>),
    /// Ratios and rates.
    F64(Vec<f64>),
    /// The same, where a row may have none.
    OptF64(Vec<Option<f64>>),
    /// Text.
    Text(Vec<String>),
    /// Text of few different values: an index into the names for each row.
    Label {
        /// The values that occur.
        names: Vec<String>,
        /// Which of them each row has.
        index: Vec<u32>,
    },
}

impl Data {
    /// How many rows the column has.
    pub fn len(&self) -> usize {
        match self {
            Self::U64(values) => values.len(),
            Self::OptU64(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::OptF64(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Label { index, .. } => index.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
