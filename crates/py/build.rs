//! Computes the identity of the engine's build, a part of the identity of every run.
//!
//! It is a hash of what the engine is made from: every crate's sources and manifest, and the lock
//! file. Paths are relative to the workspace and sorted, so that it is the same on every machine.

use sha2::{Digest, Sha256};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let manifest_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let root = manifest_dir.join("../..").canonicalize()?;
    let mut files = vec![root.join("Cargo.lock"), root.join("Cargo.toml")];
    for entry in fs::read_dir(root.join("crates"))? {
        let package = entry?.path();
        for part in ["Cargo.toml", "build.rs"] {
            files.extend(Some(package.join(part)).filter(|path| path.is_file()));
        }
        collect(&package.join("src"), &mut files)?;
    }
    files.sort();

    let mut hash = Sha256::new();
    for path in &files {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.strip_prefix(&root)?.to_string_lossy().replace('\\', "/");
        let contents = fs::read(path)?;
        // Lengths first, or two different trees could give the same bytes.
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
        hash.update((contents.len() as u64).to_le_bytes());
        hash.update(&contents);
    }
    // A new file changes no old one: its directory tells of it.
    println!("cargo::rerun-if-changed={}", root.join("crates").display());
    let digest: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=VOXPATH_BUILD={}+{digest}", env::var("CARGO_PKG_VERSION")?);
    Ok(())
}

/// Adds every `.rs` file below `directory`.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if !directory.is_dir() {
        return Ok(());
    }
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
