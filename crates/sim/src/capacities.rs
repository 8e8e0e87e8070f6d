//! What links that vary by themselves carry, over time: the sequence that was drawn.

use crate::plan::{DIRECTIONS, Plan};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use voxpath_net::Seed;
use voxpath_net::element::capacity::Stretches;
use voxpath_net::link::varying_rates;
use voxpath_net::table::{Meaning, Of, TableOf};
use voxpath_net::tap::{Event, Interest, Output, Sink};
use voxpath_units::Time;

/// The rates of every link, as they are drawn beside the run: no packet changes them.
pub(crate) struct Capacities {
    places: Vec<String>,
    /// Which place, which element of it, and its rates.
    varying: Vec<(u32, &'static str, Stretches)>,
}

/// A stretch of constant rate.
pub(crate) struct CapacityRow {
    at: Time,
    place: u32,
    element: &'static str,
    rate: u64,
}

/// The table of capacities. Its list of names is that of places.
pub(crate) static CAPACITIES: TableOf<CapacityRow> = TableOf {
    name: "capacities",
    about: "Rates that vary by themselves, one row per change; with --observe capacity.",
    columns: &[
        ("time_ns", Meaning::time("link", "From when on it holds."), Of::U64(|row| row.at.as_nanos())),
        (
            "link",
            Meaning::name("scenario", "Link and direction (ab is up, ba down)."),
            Of::Name(0, |row| row.place),
        ),
        (
            "element",
            Meaning::name("link", "Whose rate: serialiser, loss or corruption."),
            Of::Text(|row| row.element.into()),
        ),
        ("rate_bps", Meaning::rate("link", "What is available."), Of::U64(|row| row.rate)),
    ],
};

impl Capacities {
    pub(crate) fn new(plan: &Plan, seed: Seed) -> Self {
        let mut made = Self { places: Vec::new(), varying: Vec::new() };
        for link in &plan.links {
            for (way, direction) in DIRECTIONS.into_iter().zip([&link.ab, &link.ba]) {
                let name = format!("{} {way}", link.name);
                let place = made.places.len() as u32;
                let varying = varying_rates(direction, &name, seed);
                made.varying.extend(varying.map(|(element, rates)| (place, element, rates)));
                made.places.push(name);
            }
        }
        made
    }
}

impl Sink for Capacities {
    fn interest(&self) -> Interest {
        Interest::NOTHING
    }

    fn memory(&self) -> usize {
        0
    }

    fn record(&mut self, _event: &Event<'_>) {}

    fn finish(self: Box<Self>, ended: Time) -> Output {
        let mut rows = Vec::new();
        for (place, element, mut rates) in self.varying {
            let (mut at, mut before) = (Time::ZERO, None);
            while at <= ended {
                let stretch = rates.at(at);
                // A state may be followed by itself.
                if before != Some(stretch.rate) {
                    rows.push(CapacityRow { at, place, element, rate: stretch.rate });
                }
                before = Some(stretch.rate);
                if stretch.until == Time::MAX {
                    break;
                }
                at = stretch.until;
            }
        }
        Output::Table(CAPACITIES.fill(&rows, &[&self.places]))
    }
}
