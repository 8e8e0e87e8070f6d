//! The engine as a Python module: a plan in, columns out.
//!
//! Nothing is decided here. Scenarios, results and studies live in `python/voxpath`, the simulation in
//! `voxpath-sim`; `python/voxpath/_engine.pyi` is the module's signature, checked against it by stubtest.
#![forbid(unsafe_code)]

mod columns;
mod document;
mod dsp;
mod elements;
mod error;
mod playout;
mod quantity;
#[cfg(target_os = "linux")]
mod real;
mod run;
mod script;

use pyo3::prelude::*;

/// What the module contains.
#[pymodule]
mod _engine {
    #[pymodule_export]
    const BUILD: &str = env!("VOXPATH_BUILD");
    #[pymodule_export]
    const BUILD_REAL: &str = env!("VOXPATH_BUILD_REAL");
    #[pymodule_export]
    const PLAN_VERSION: u32 = voxpath_sim::plan::VERSION;

    #[pymodule_export]
    use crate::columns::Columns;
    #[pymodule_export]
    use crate::document::{format_toml, parse_toml};
    #[pymodule_export]
    use crate::dsp::EchoFilter;
    #[pymodule_export]
    use crate::elements::{kinds, loss_chance, packet_error_rate, transports};
    #[pymodule_export]
    use crate::playout::playout;
    #[pymodule_export]
    use crate::quantity::{
        format_prob, format_rate, format_size, format_span, parse_prob, parse_rate, parse_size, parse_span,
    };
    #[pymodule_export]
    use crate::run::{
        Stop, check, congestions, couplings, mptcp, paths, profile, profiles, real_hosts, run, schedulers,
        shortest_delay, tables,
    };

    #[pymodule_export]
    use crate::script::{parse_script, run_script};

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::real::{Isolation, RealHost, RealRun, Relay};
}
