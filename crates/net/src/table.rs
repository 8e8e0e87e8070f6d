//! Tables as columns: the form in which results leave the engine, and how they are declared beside what makes them.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem::discriminant;

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

/// What a column means, in the words of the metric dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning {
    /// `ns`, `B`, `bit/s`, `1` for a count or a pure number, empty for a name.
    pub unit: &'static str,
    /// Which clock a time is of, or a rate over time: `run` counts from the run's start in virtual time, `audio` along a
    /// recording; empty for what is neither.
    pub clock: &'static str,
    /// Where it is observed.
    pub place: &'static str,
    /// What it is.
    pub about: &'static str,
}

impl Meaning {
    const fn new(unit: &'static str, clock: &'static str, place: &'static str, about: &'static str) -> Self {
        Self { unit, clock, place, about }
    }

    /// A name.
    pub const fn name(place: &'static str, about: &'static str) -> Self {
        Self::new("", "", place, about)
    }

    /// A count, or a pure number.
    pub const fn count(place: &'static str, about: &'static str) -> Self {
        Self::new("1", "", place, about)
    }

    /// Octets.
    pub const fn bytes(place: &'static str, about: &'static str) -> Self {
        Self::new("B", "", place, about)
    }

    /// Nanoseconds of the run.
    pub const fn time(place: &'static str, about: &'static str) -> Self {
        Self::new("ns", "run", place, about)
    }

    /// Nanoseconds along a recording.
    pub const fn audio(place: &'static str, about: &'static str) -> Self {
        Self::new("ns", "audio", place, about)
    }

    /// Bits per second of the run.
    pub const fn rate(place: &'static str, about: &'static str) -> Self {
        Self::new("bit/s", "run", place, about)
    }

    /// A value whose unit another column decides.
    pub const fn by(unit: &'static str, place: &'static str, about: &'static str) -> Self {
        Self::new(unit, "", place, about)
    }
}

/// How a column's value comes of a row.
#[derive(Debug)]
pub enum Of<R: 'static> {
    /// A number.
    U64(fn(&R) -> u64),
    /// A number that a row may lack.
    OptU64(fn(&R) -> Option<u64>),
    /// A ratio or rate that a row may lack.
    OptF64(fn(&R) -> Option<f64>),
    /// A text.
    Text(fn(&R) -> String),
    /// One of few texts, which takes four bytes a row.
    Word(fn(&R) -> &'static str),
    /// An index into the list of names at this place of what [`TableOf::fill`] is given.
    Name(usize, fn(&R) -> u32),
}

impl<R> Of<R> {
    /// The number that a row has here; none where it lacks one, or the column has none.
    pub fn number(&self, row: &R) -> Option<u64> {
        match self {
            Self::U64(of) => Some(of(row)),
            Self::OptU64(of) => of(row),
            Self::OptF64(_) | Self::Text(_) | Self::Word(_) | Self::Name(..) => None,
        }
    }
}

/// A column: its name, which ends in its unit, what it means, and how it comes of a row.
pub type Declared<R> = (&'static str, Meaning, Of<R>);

/// A table, as it is declared beside what makes its rows.
#[derive(Debug)]
pub struct TableOf<R: 'static> {
    /// Its name in the results.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [Declared<R>],
}

impl<R> TableOf<R> {
    /// The table with these rows. `names` are the lists that [`Of::Name`] refers to.
    pub fn fill(&self, rows: &[R], names: &[&[String]]) -> Table {
        let mut table = self.empty(names);
        self.extend(&mut table, rows);
        table
    }

    /// The table without rows. `names` are the lists that [`Of::Name`] refers to.
    pub fn empty(&self, names: &[&[String]]) -> Table {
        let columns = self.columns.iter().map(|(name, _, of)| Column {
            name,
            data: match of {
                Of::U64(_) => Data::U64(Vec::new()),
                Of::OptU64(_) => Data::OptU64(Vec::new()),
                Of::OptF64(_) => Data::OptF64(Vec::new()),
                Of::Text(_) => Data::Text(Vec::new()),
                Of::Word(_) => Data::Label { names: Vec::new(), index: Vec::new() },
                Of::Name(list, _) => Data::Label { names: names[*list].to_vec(), index: Vec::new() },
            },
        });
        Table { name: self.name, columns: columns.collect() }
    }

    /// Puts rows below those of a table that [`TableOf::empty`] made.
    ///
    /// # Panics
    /// The table is of another kind.
    pub fn extend(&self, table: &mut Table, rows: &[R]) {
        for ((_, _, of), column) in self.columns.iter().zip(&mut table.columns) {
            match (of, &mut column.data) {
                (Of::U64(of), Data::U64(values)) => values.extend(rows.iter().map(of)),
                (Of::OptU64(of), Data::OptU64(values)) => values.extend(rows.iter().map(of)),
                (Of::OptF64(of), Data::OptF64(values)) => values.extend(rows.iter().map(of)),
                (Of::Text(of), Data::Text(values)) => values.extend(rows.iter().map(of)),
                (Of::Word(of), Data::Label { names, index }) => {
                    index.extend(rows.iter().map(|row| place(names, of(row))));
                }
                (Of::Name(_, of), Data::Label { index, .. }) => index.extend(rows.iter().map(of)),
                _ => unreachable!("a column is as it was declared"),
            }
        }
    }
}

/// The place of a word among few, which it is added to.
fn place(words: &mut Vec<String>, word: &str) -> u32 {
    let found = words.iter().position(|known| known == word).unwrap_or_else(|| {
        words.push(word.into());
        words.len() - 1
    });
    found as u32
}

/// What the metric dictionary says of a table.
pub trait Described: Sync {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What a row is.
    fn about(&self) -> &'static str;
    /// Names and meanings of its columns.
    fn columns(&self) -> Vec<(&'static str, Meaning)>;
}

impl<R> Described for TableOf<R> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn columns(&self) -> Vec<(&'static str, Meaning)> {
        self.columns.iter().map(|(name, meaning, _)| (*name, *meaning)).collect()
    }
}

impl Table {
    /// How many rows it has.
    pub fn height(&self) -> usize {
        self.columns.first().map_or(0, |column| column.data.len())
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Data> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.data)
    }

    /// Whether it has the other one's name and columns.
    pub fn is_like(&self, other: &Self) -> bool {
        let kinds = |table: &Self| -> Vec<_> {
            table.columns.iter().map(|column| (column.name, discriminant(&column.data))).collect()
        };
        self.name == other.name && kinds(self) == kinds(other)
    }

    /// Puts the rows of a table that [is like](Self::is_like) this one below its own.
    ///
    /// # Panics
    /// It is not like this one.
    pub fn append(&mut self, other: Self) {
        assert!(self.is_like(&other), "{} has other columns than {}", other.name, self.name);
        for (own, more) in self.columns.iter_mut().zip(other.columns) {
            own.data.append(more.data);
        }
    }
}

impl Data {
    /// Puts a column of the same kind below this one.
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::U64(own), Self::U64(more)) => own.extend(more),
            (Self::OptU64(own), Self::OptU64(more)) => own.extend(more),
            (Self::F64(own), Self::F64(more)) => own.extend(more),
            (Self::OptF64(own), Self::OptF64(more)) => own.extend(more),
            (Self::Text(own), Self::Text(more)) => own.extend(more),
            (Self::Label { names, index }, Self::Label { names: more_names, index: more }) => {
                // Replications of one plan have the same names.
                let offset = if *names == more_names { 0 } else { names.len() as u32 };
                if offset > 0 {
                    names.extend(more_names);
                }
                index.extend(more.into_iter().map(|name| name + offset));
            }
            _ => unreachable!("columns of one name are of one kind"),
        }
    }

    /// The text of a row; none of a number.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Text(values) => Some(&values[row]),
            Self::Label { names, index } => Some(&names[index[row] as usize]),
            _ => None,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    static TABLE: TableOf<(u32, &'static str)> = TableOf {
        name: "words",
        about: "One row per word.",
        columns: &[
            ("flow", Meaning::name("test", "Its flow."), Of::Name(0, |row| row.0)),
            ("word", Meaning::name("test", "The word."), Of::Word(|row| row.1)),
            ("letters", Meaning::count("test", "Its letters."), Of::U64(|row| row.1.len() as u64)),
        ],
    };

    #[test]
    fn rows_that_come_in_parts_are_those_of_one_table() {
        let (rows, names) = ([(0, "late"), (1, "lost"), (1, "late"), (0, "")], ["a".into(), "b".into()]);
        let whole = TABLE.fill(&rows, &[&names]);
        let mut parts = TABLE.empty(&[&names]);
        rows.chunks(3).for_each(|rows| TABLE.extend(&mut parts, rows));
        assert_eq!(parts, whole);
        let words = whole.column("word").expect("a column");
        assert_eq!(
            *words,
            Data::Label { names: vec!["late".into(), "lost".into(), "".into()], index: vec![0, 1, 0, 2] }
        );
        assert_eq!([0, 1, 2, 3].map(|row| words.text(row)), ["late", "lost", "late", ""].map(Some));
    }
}
