//! The simulated world.
//!
//! [`check`] says whether a [`Plan`] can run; [`Simulation`] builds the world that it describes and runs it in virtual
//! time; [`Report`] is what comes of it. Same plan, same replication, same build: the same report, to the byte.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod address;
mod batch;
mod bucket;
mod build;
mod capacities;
mod check;
mod connections;
mod emit;
mod endpoint;
mod limits;
mod multipath;
mod network;
pub mod outside;
mod owner;
mod paths;
pub mod plan;
mod processes;
mod realtime;
mod report;
mod sinks;
mod sockets;
mod stack;
mod timeline;
mod ways;
mod world;

pub use batch::{Batch, Group, Joined};
pub use check::{check, edges};
pub use connections::{CONNECTIONS, Connection, ConnectionEnd, ConnectionRow, Part, Sent, SubflowOf, Whole};
pub use paths::{Paths, paths, shortest_delay};
pub use plan::{Observe, Plan};
pub use realtime::{LinkState, RealTime, Strays};
pub use report::{Report, Verdict};
pub use voxpath_net::table::{Column, Data, Described, Meaning, Table};
pub use voxpath_units::check::Problem;
pub use world::Delivery;

use alloc::vec;
use alloc::vec::Vec;
use build::Edge;
use voxpath_apps::{App, ProcessApp};
use voxpath_net::Seed;
use voxpath_units::Time;
use world::World;

/// What a report's tables can be, and what each column of theirs means; behind them stands what the series tell of.
pub fn tables() -> Vec<&'static dyn Described> {
    let mut tables: Vec<&'static dyn Described> = vec![&report::FLOWS, &CONNECTIONS, &multipath::MULTIPATH];
    tables.extend(App::all_tables().into_iter().map(|table| -> &dyn Described { table }));
    tables.extend(ProcessApp::all_tables().into_iter().map(|table| -> &dyn Described { table }));
    tables.push(&connections::WIRE);
    let others: [&dyn Described; 6] = [
        &report::ELEMENTS,
        &timeline::EVENTS,
        &sinks::SERIES,
        &sinks::PACKETS,
        &capacities::CAPACITIES,
        &sinks::SERIES_METRICS,
    ];
    tables.extend(others);
    tables
}

/// A run in virtual time.
#[derive(Debug)]
pub struct Simulation {
    plan: Plan,
    world: World,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The run is over.
    pub done: bool,
    /// Virtual time.
    pub now: Time,
}

impl Simulation {
    /// Builds the world of `plan` for one replication, with the sinks that `observe` asks for. It keeps the plan: of many flows this is
    /// no small part of what a run holds.
    ///
    /// # Errors
    /// Everything that [`check`] finds, and what cannot be observed; paths of that begin with `observe`.
    pub fn new(mut plan: Plan, replication: u64, observe: &Observe) -> Result<Self, Vec<Problem>> {
        let mut problems = check(&plan);
        problems.extend(check::observable(&plan, observe));
        if !problems.is_empty() {
            return Err(problems);
        }
        plan.share_stacks();
        let world = build::world(&plan, Seed::new(plan.seed, replication), observe, Edge::None);
        Ok(Self { plan, world })
    }

    /// Processes at most `max_events` events.
    pub fn advance(&mut self, max_events: u64) -> Progress {
        let done = self.world.advance(max_events);
        Progress { done, now: self.world.now() }
    }

    /// Processes events until the run is over.
    pub fn run(mut self) -> Report {
        while !self.advance(u64::MAX).done {}
        self.finish()
    }

    /// Ends the run where it stands and closes its books.
    pub fn finish(self) -> Report {
        report::report(&self.plan, self.world)
    }
}
