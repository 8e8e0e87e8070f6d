//! Every script of `tests/scripts` that names the kernel holds there, within the tolerance that it states.
//!
//! They run one after the other: two at a time would make each other late. `VOXPATH_SCRIPT=NAME` picks those whose name has it.
#![allow(missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use voxpath_host::run_on_kernel;
use voxpath_script::{Script, Stack};

#[test]
fn every_script_of_the_kernel_holds_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts");
    let wanted = std::env::var("VOXPATH_SCRIPT").unwrap_or_default();
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the folder of scripts")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pkt"));
    paths.sort();
    let mut failed = Vec::new();
    let mut ran = 0;
    for path in paths {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let Ok(script) = fs::read_to_string(&path).expect("text").parse::<Script>() else { continue };
        if !script.stacks.contains(&Stack::Kernel) || !name.contains(&wanted) {
            continue;
        }
        ran += 1;
        match run_on_kernel(&script).expect("root, and a kernel that knows the parameters") {
            Ok(run) => println!("{name}: we were {} late, in {} runs", run.late, run.attempts),
            Err(failure) => failed.push(format!("{name}, {failure}\n    {}", failure.ladder.join("\n    "))),
        }
    }
    assert!(ran > 0, "scripts name the kernel");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
