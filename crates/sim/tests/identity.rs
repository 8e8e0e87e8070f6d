//! What an engine's identity covers: all that a run's results depend on, and nothing else.
#![allow(missing_docs)]

#[path = "../../py/identity.rs"]
mod identity;

use identity::{REAL, Roots, SIMULATION};
use std::collections::BTreeSet;
use std::path::Path;

fn names(roots: &Roots) -> BTreeSet<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let parts = identity::parts(&workspace, roots).expect("the workspace is whole");
    assert!(parts.iter().all(|(_, contents)| !contents.is_empty()));
    parts.into_iter().map(|(name, _)| name).collect()
}

fn crates(names: &BTreeSet<String>) -> BTreeSet<&str> {
    names.iter().filter_map(|name| name.strip_prefix("crates/")?.split('/').next()).collect()
}

fn locks(names: &BTreeSet<String>, package: &str) -> bool {
    names.iter().any(|name| name.starts_with(&format!("Cargo.lock {package} ")))
}

#[test]
fn a_simulation_depends_on_what_it_goes_through() {
    let names = names(&SIMULATION);
    assert_eq!(
        crates(&names),
        BTreeSet::from(["apps", "coap", "mptcp", "mqtt", "net", "py", "rtc", "sim", "tcp", "units", "wire"])
    );
    for file in ["Cargo.toml", "crates/net/src/link/mod.rs", "crates/net/Cargo.toml", "crates/py/src/run.rs"]
    {
        assert!(names.contains(file), "{file}");
    }
    assert!(locks(&names, "libm") && locks(&names, "serde_json"));
}

#[test]
fn an_edit_of_anything_else_leaves_simulations_as_they_were() {
    let names = names(&SIMULATION);
    for file in ["crates/py/src/dsp.rs", "crates/py/src/real.rs", "crates/py/src/lib.rs", "Cargo.lock"] {
        assert!(!names.contains(file), "{file}");
    }
    assert!(!locks(&names, "pyo3") && !locks(&names, "rustix"));
}

#[test]
fn a_run_on_real_hosts_depends_on_the_linux_edge_too() {
    let (simulation, real) = (names(&SIMULATION), names(&REAL));
    assert!(real.is_superset(&simulation));
    assert!(real.contains("crates/host/src/drive.rs") && real.contains("crates/py/src/real.rs"));
    assert!(locks(&real, "rustix") && !crates(&real).contains("dsp"));
}
