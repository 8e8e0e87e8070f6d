//! Random reordering: packets are held back, so that later ones overtake them.

use super::Draw;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability that a packet is held back.
    pub p: f64,
    /// How much longer it takes.
    pub by_ns: u64,
}

impl Reorder {
    /// What is wrong with the settings.
    pub fn check(&self, check: &mut Check<'_>) {
        check.at("p").probability(self.p);
        check.at("by_ns").span(self.by_ns);
    }

    /// Any reordering.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        Self { p: draw.prob(), by_ns: draw.span() / 6 }
    }
}
