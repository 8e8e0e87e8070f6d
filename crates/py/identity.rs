//! What the results of a run depend on: the sources of the crates that it goes through, and what they are built with.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Where the sources of an identity start: a crate, and the files of the bindings that lead to it.
pub(crate) struct Roots {
    pub(crate) package: &'static str,
    pub(crate) bindings: &'static [&'static str],
}

/// A simulation. The other bindings either make plans, which an identity has by itself, or have nothing to do with runs.
pub(crate) const SIMULATION: Roots = Roots { package: "voxpath-sim", bindings: &["run.rs", "columns.rs"] };

/// A run on real hosts.
pub(crate) const REAL: Roots =
    Roots { package: "voxpath-host", bindings: &["run.rs", "columns.rs", "real.rs"] };

/// Names and contents, sorted by name: the files, relative to the workspace, and the lock file's entries of foreign packages.
pub(crate) fn parts(workspace: &Path, roots: &Roots) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = vec![workspace.join("Cargo.toml"), workspace.join("crates/py/Cargo.toml")];
    files.extend(roots.bindings.iter().map(|file| workspace.join("crates/py/src").join(file)));
    let mut parts = Vec::new();
    let lock = fs::read_to_string(workspace.join("Cargo.lock"))?;
    for entry in needed(&lock, &[roots.package, "serde_json"])? {
        match entry.name.strip_prefix("voxpath-") {
            Some(directory) => {
                let package = workspace.join("crates").join(directory);
                files.push(package.join("Cargo.toml"));
                collect(&package.join("src"), &mut files)?;
            }
            None => parts.push((format!("Cargo.lock {}", entry.id()), entry.text.as_bytes().to_vec())),
        }
    }
    for path in files {
        let name = path.strip_prefix(workspace).expect("below the workspace");
        parts.push((name.to_string_lossy().replace('\\', "/"), fs::read(&path)?));
    }
    parts.sort();
    Ok(parts)
}

/// An entry of a lock file.
struct Entry<'a> {
    name: &'a str,
    version: &'a str,
    /// Names, with a version where there are several.
    dependencies: Vec<&'a str>,
    text: &'a str,
}

impl<'a> Entry<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let quoted = |line: &'a str| line.split('"').nth(1);
        let key = |key: &str| text.lines().find(|line| line.starts_with(key)).and_then(quoted);
        let listed = text.lines().skip_while(|line| !line.starts_with("dependencies")).skip(1);
        let dependencies = listed.map_while(quoted).collect();
        Some(Self { name: key("name")?, version: key("version")?, dependencies, text: text.trim() })
    }

    fn id(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    fn is(&self, dependency: &str) -> bool {
        dependency == self.name || dependency == self.id()
    }
}

/// The entries of packages, and of all that these need.
fn needed<'a>(lock: &'a str, packages: &[&'a str]) -> Result<Vec<Entry<'a>>> {
    let entries: Vec<Entry<'_>> = lock.split("[[package]]").skip(1).filter_map(Entry::of).collect();
    let mut wanted: Vec<&str> = packages.to_vec();
    let mut found = BTreeSet::new();
    while let Some(package) = wanted.pop() {
        let index = entries
            .iter()
            .position(|entry| entry.is(package))
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("{package} is not in the lock file")))?;
        if found.insert(index) {
            wanted.extend(&entries[index].dependencies);
        }
    }
    Ok(entries.into_iter().enumerate().filter(|(i, _)| found.contains(i)).map(|(_, entry)| entry).collect())
}

/// Adds every `.rs` file below `directory`.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
