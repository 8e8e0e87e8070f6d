//! Computes the identities of the engine's build, a part of the identity of every run: one of simulations, one of runs on real
//! hosts. Each is a hash of [`identity::parts`], the same on every machine.

mod identity;

use identity::{REAL, Roots, SIMULATION};
use sha2::{Digest, Sha256};
use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let workspace = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let version = env::var("CARGO_PKG_VERSION")?;
    for (name, roots) in [("VOXPATH_BUILD", SIMULATION), ("VOXPATH_BUILD_REAL", REAL)] {
        println!("cargo::rustc-env={name}={version}+{}", digest(&workspace, &roots)?);
    }
    for part in ["Cargo.lock", "Cargo.toml", "crates"] {
        println!("cargo::rerun-if-changed={}", workspace.join(part).display());
    }
    Ok(())
}

fn digest(workspace: &Path, roots: &Roots) -> Result<String, Box<dyn Error>> {
    let mut hash = Sha256::new();
    for (name, contents) in identity::parts(workspace, roots)? {
        // Lengths first, or two different trees could give the same bytes.
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
        hash.update((contents.len() as u64).to_le_bytes());
        hash.update(&contents);
    }
    Ok(hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}
