//! Every script of `tests/scripts` holds in virtual time, on each of its stacks.
#![allow(missing_docs)]

use std::fs;
use std::path::Path;
use voxpath_script::{Script, Stack, run_simulated};

#[test]
fn every_script_holds_in_virtual_time() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts");
    let mut ran = 0;
    let mut failed = Vec::new();
    for entry in fs::read_dir(&folder).expect("the folder of scripts") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "pkt") {
            continue;
        }
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("text");
        let script: Script = match text.parse() {
            Ok(script) => script,
            Err(error) => {
                failed.push(format!("{name}:{error}"));
                continue;
            }
        };
        for &stack in script.stacks.iter().filter(|&&stack| stack != Stack::Kernel) {
            ran += 1;
            if let Err(failure) = run_simulated(&script, stack) {
                failed.push(format!("{name} on {stack}, {failure}\n    {}", failure.ladder.join("\n    ")));
            }
        }
    }
    assert!(ran > 0, "there are scripts");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
