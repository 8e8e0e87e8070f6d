//! What one end does, as far as the standard leaves it open.

use crate::cc::Coupling;
use crate::path_manager::PathManagement;
use crate::scheduler::Scheduling;
use serde::{Deserialize, Serialize};
use voxpath_units::Span;

/// The parameters of one end of a connection; those of its subflows are TCP's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which subflow carries what.
    pub scheduler: Scheduling,
    /// How the congestion windows of the subflows depend on each other.
    pub coupling: Coupling,
    /// Which subflows there are.
    pub paths: PathManagement,
    /// Require checksums over the data (bit A of MP_CAPABLE, RFC 8684 section 3.1).
    pub checksum: bool,
    /// Write data sequence numbers whole, in 64 bits; else their lower half (section 3.3.1). Linux writes them whole.
    pub long_numbers: bool,
    /// Retransmit what blocks the receive window on a faster subflow (mptcp_rcv_buf_optimization() of Linux v0.9x).
    pub opportunistic_retransmission: bool,
    /// Halve the window of the subflow that blocks it (the same).
    pub penalisation: bool,
    /// How long the connection outlives its last subflow (Linux' `net.mptcp.close_timeout`).
    #[serde(with = "voxpath_tcp::config::nanos")]
    pub close_timeout: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheduler: Scheduling::LowestRtt,
            coupling: Coupling::Uncoupled,
            paths: PathManagement::default(),
            checksum: false,
            long_numbers: true,
            opportunistic_retransmission: true,
            penalisation: true,
            close_timeout: Span::from_secs(60),
        }
    }
}
