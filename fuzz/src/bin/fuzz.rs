//! libFuzzer over the target that `VOXPATH_FUZZ` names; called by `make fuzz`.
#![no_main]

use std::sync::OnceLock;
use voxpath_fuzz::{TARGETS, Target, target};

static TARGET: OnceLock<Target> = OnceLock::new();

/// # Panics
/// `VOXPATH_FUZZ` names no target.
fn chosen() -> Target {
    let name = std::env::var("VOXPATH_FUZZ").unwrap_or_default();
    target(&name).unwrap_or_else(|| panic!("VOXPATH_FUZZ={name:?} is none of {:?}", TARGETS.map(|t| t.name)))
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.get_or_init(chosen).run)(data));
