//! Scripts as somebody may write them: refused with line and column, or a script that runs in virtual time and holds or does not.

use voxpath_script::{Script, Stack, run_simulated};

/// Panics if something does not hold.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let script: Script = match text.parse() {
        Ok(script) => script,
        Err(error) => {
            // Its place is one of the text, or just behind it.
            let lines = text.lines().count().max(1);
            assert!((1..=lines).contains(&error.line), "line {} of {lines}", error.line);
            let line = text.lines().nth(error.line - 1).unwrap_or_default();
            let columns = line.chars().count() + 1;
            assert!((1..=columns).contains(&error.column), "column {} of {columns}", error.column);
            return;
        }
    };
    for &stack in script.stacks.iter().filter(|&&stack| stack != Stack::Kernel) {
        // Whether it holds is its author's affair; that it says the same twice is ours.
        assert_eq!(run_simulated(&script, stack), run_simulated(&script, stack));
    }
}
