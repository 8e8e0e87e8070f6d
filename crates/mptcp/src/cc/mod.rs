//! Congestion control of several subflows together (RFC 6356): how one window grows by what the others are.
//!
//! A coupled control is a file that says by how much, and an entry here. Slow start, losses and all that a window has for itself are as in
//! Reno (RFC 5681), as in the kernel's modules.

use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_tcp::Config;
use voxpath_tcp::cc::{Congestion, CongestionControl, CongestionFactory};

/// How the congestion windows of the subflows depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Coupling {
    /// Not at all: each subflow has TCP's own control.
    #[serde(rename = "uncoupled")]
    Uncoupled,
}

/// The controls of a connection's subflows.
#[derive(Debug)]
pub(crate) struct Couplings {
    coupling: Coupling,
}

impl Couplings {
    pub(crate) const fn new(coupling: Coupling) -> Self {
        Self { coupling }
    }

    /// Makes the control of the next subflow; `own` is what it has where it is not coupled.
    pub(crate) fn of_next(&mut self, own: Congestion) -> Factory {
        match self.coupling {
            Coupling::Uncoupled => Factory::Own(own),
        }
    }

    /// A subflow has ended.
    pub(crate) fn leave(&mut self, _subflow: usize) {}
}

/// Makes the control of a subflow.
pub(crate) enum Factory {
    /// TCP's.
    Own(Congestion),
}

impl CongestionFactory for Factory {
    fn build(&self, config: &Config) -> Box<dyn CongestionControl> {
        match self {
            Self::Own(own) => own.build(config),
        }
    }
}
