//! Tables of what flows consist of: requests, messages, datagrams, sessions. Each is declared beside what it tells of, and
//! an application says which of them it has rows in ([`Settings::TABLES`](crate::Settings::TABLES)).

use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use voxpath_net::table::{Described, Meaning, Table, TableOf};
use voxpath_units::Time;

/// What became of a flow. What stands here is looked into by who knows it, so that this file knows no application.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// Its number, from 0.
    pub flow: u32,
    /// As [`Settings::RECEIVER`](crate::Settings::RECEIVER).
    pub receiver: usize,
    /// When the run ended.
    pub ended: Time,
    /// What the plan says of its application.
    pub settings: &'a dyn Any,
    /// What the end saw that opens, and what the other one saw: a [`Record`](crate::Record) each, or what
    /// [`DatagramMachine::seen`](crate::DatagramMachine::seen) gives.
    pub ends: [&'a dyn Any; 2],
}

impl<'a> Told<'a> {
    /// What the ends saw, if it is of this kind.
    pub(crate) fn seen<T: 'static>(&self) -> Option<[&'a T; 2]> {
        let [client, server] = self.ends.map(|end| end.downcast_ref());
        Some([client?, server?])
    }

    /// Whether what the ends saw is of this kind.
    pub(crate) fn saw<T: 'static>(&self) -> bool {
        self.seen::<T>().is_some()
    }
}

/// A table with rows of flows.
#[derive(Debug)]
pub struct EntityOf<R: 'static> {
    /// Whether a flow can have such rows.
    pub is_of: fn(&Told<'_>) -> bool,
    /// Name and columns; the only list of names is that of flows.
    pub table: TableOf<R>,
    /// A flow's rows.
    pub rows: fn(&Told<'_>, &mut Vec<R>),
}

/// Such a table, whatever its rows are.
pub trait Entity: Described {
    /// Whether a flow can have rows in it.
    fn is_of(&self, told: &Told<'_>) -> bool;
    /// The rows of flows; `names` are those of all flows.
    fn table(&self, told: &[Told<'_>], names: &[String]) -> Table;
}

impl<R> Described for EntityOf<R> {
    fn name(&self) -> &'static str {
        self.table.name
    }

    fn about(&self) -> &'static str {
        self.table.about
    }

    fn columns(&self) -> Vec<(&'static str, Meaning)> {
        Described::columns(&self.table)
    }
}

impl<R> Entity for EntityOf<R> {
    fn is_of(&self, told: &Told<'_>) -> bool {
        (self.is_of)(told)
    }

    fn table(&self, told: &[Told<'_>], names: &[String]) -> Table {
        let (mut table, mut rows) = (self.table.empty(&[names]), Vec::new());
        // Flow by flow: rows take as much memory as their columns.
        for told in told {
            rows.clear();
            (self.rows)(told, &mut rows);
            self.table.extend(&mut table, &rows);
        }
        table
    }
}
