//! Tables of many runs, one below the other.
//!
//! Whoever takes a table over pays by its columns, so a thousand short runs cost as much as one if they come together.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use voxpath_net::table::Table;

/// The tables of runs that were made together.
#[derive(Debug, Default)]
pub struct Batch {
    groups: Vec<Group>,
}

/// Runs whose tables have the same columns, and whose flows are of the same applications over the same transports.
#[derive(Debug)]
pub struct Group {
    /// Which runs these are, as they were numbered when they were added.
    pub runs: Vec<u32>,
    /// Their tables.
    pub tables: Vec<Joined>,
    kinds: BTreeSet<[String; 2]>,
}

/// A table of several runs.
#[derive(Debug)]
pub struct Joined {
    /// The rows, run by run.
    pub table: Table,
    /// Of each row the run, by its place in [`Group::runs`].
    pub run: Vec<u32>,
}

impl Batch {
    /// Adds the tables of a run under its number.
    pub fn add(&mut self, run: u32, tables: Vec<Table>) {
        let kinds = kinds(&tables);
        match self.groups.iter_mut().find(|group| group.takes(&kinds, &tables)) {
            Some(group) => group.add(run, tables),
            None => self.groups.push(Group::of(run, tables, kinds)),
        }
    }

    /// The runs that lie together, in the order of the first of each.
    pub fn into_groups(self) -> Vec<Group> {
        self.groups
    }
}

impl Group {
    fn of(run: u32, tables: Vec<Table>, kinds: BTreeSet<[String; 2]>) -> Self {
        let joined = |table: Table| Joined { run: vec![0; table.height()], table };
        Self { runs: vec![run], tables: tables.into_iter().map(joined).collect(), kinds }
    }

    fn takes(&self, kinds: &BTreeSet<[String; 2]>, tables: &[Table]) -> bool {
        self.kinds == *kinds
            && self.tables.len() == tables.len()
            && self.tables.iter().zip(tables).all(|(own, table)| own.table.is_like(table))
    }

    fn add(&mut self, run: u32, tables: Vec<Table>) {
        let place = self.runs.len() as u32;
        self.runs.push(run);
        for (own, table) in self.tables.iter_mut().zip(tables) {
            own.run.resize(own.run.len() + table.height(), place);
            own.table.append(table);
        }
    }
}

/// Which applications flows have, and over what: their summaries depend on that.
fn kinds(tables: &[Table]) -> BTreeSet<[String; 2]> {
    let Some(flows) = tables.iter().find(|table| table.name == "flows") else { return BTreeSet::new() };
    let of = |name: &str, row| -> String {
        flows.column(name).and_then(|column| column.text(row)).unwrap_or_default().to_string()
    };
    (0..flows.height()).map(|row| [of("app", row), of("transport", row)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_net::table::{Column, Data};

    fn run(app: &str, bytes: &[u64]) -> Vec<Table> {
        let texts = |text: &str| Data::Label { names: vec![text.into()], index: vec![0; bytes.len()] };
        let columns = vec![
            Column { name: "app", data: texts(app) },
            Column { name: "transport", data: texts("tcp") },
            Column { name: "bytes", data: Data::U64(bytes.to_vec()) },
        ];
        vec![Table { name: "flows", columns }]
    }

    #[test]
    fn runs_of_one_shape_lie_one_below_the_other() {
        let mut batch = Batch::default();
        batch.add(7, run("web", &[1, 2]));
        batch.add(8, run("bulk", &[3]));
        batch.add(9, run("web", &[4]));
        let groups = batch.into_groups();
        let runs: Vec<_> = groups.iter().map(|group| group.runs.as_slice()).collect();
        assert_eq!(runs, [&[7, 9][..], &[8]]);
        let Joined { table, run } = &groups[0].tables[0];
        assert_eq!(run, &[0, 0, 1]);
        assert_eq!(table.column("bytes"), Some(&Data::U64(vec![1, 2, 4])));
        assert_eq!(table.column("app").and_then(|column| column.text(2)), Some("web"));
    }

    #[test]
    fn names_of_other_runs_keep_their_meaning() {
        let label = |names: &[&str], index: &[u32]| {
            let names = names.iter().map(|name| name.to_string()).collect();
            let data = Data::Label { names, index: index.to_vec() };
            Table { name: "series", columns: vec![Column { name: "flow", data }] }
        };
        let mut joined = label(&["a", "b"], &[1, 0]);
        joined.append(label(&["a", "b"], &[1]));
        joined.append(label(&["c"], &[0]));
        let texts: Vec<_> = (0..4).map(|row| joined.columns[0].data.text(row)).collect();
        assert_eq!(texts, [Some("b"), Some("a"), Some("b"), Some("c")]);
    }
}
