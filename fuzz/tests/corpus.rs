//! Every input of the corpus, and a fixed number of others made from it; the search without an end is `make fuzz`.
#![allow(missing_docs)]

use std::path::{Path, PathBuf};
use voxpath_fuzz::mutate::Mutator;
use voxpath_fuzz::{TARGETS, Target, target};

/// Inputs of each target that are made from its corpus.
const MUTATIONS: u32 = 3_000;

fn folder(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

/// Every input of a target, in the order of names.
fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = folder(target);
    // What was never found has no folder.
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).expect("it can be read"));
    paths.into_iter().map(read).collect()
}

/// Runs an input, and says which it was if something does not hold.
fn run(target: &Target, name: &str, bytes: &[u8]) {
    let run = target.run;
    let caught = std::panic::catch_unwind(|| run(bytes));
    assert!(caught.is_ok(), "target {}, {name}, {} bytes: {bytes:?}", target.name, bytes.len());
}

fn hold(name: &str) {
    let target = target(name).expect("it is listed");
    let corpus = corpus(&target);
    for (path, bytes) in &corpus {
        run(&target, &path.display().to_string(), bytes);
    }
    let inputs: Vec<Vec<u8>> = corpus.into_iter().map(|(_, bytes)| bytes).chain([vec![0; 64]]).collect();
    let mut mutator = Mutator::new(1);
    for number in 0..MUTATIONS {
        run(&target, &format!("mutation {number}"), &mutator.mutate(&inputs));
    }
}

#[test]
fn edge() {
    hold("edge");
}

#[test]
fn link() {
    hold("link");
}

#[test]
fn plan() {
    hold("plan");
}

#[test]
fn script() {
    hold("script");
}

#[test]
fn tcp() {
    hold("tcp");
}

#[test]
fn wire() {
    hold("wire");
}

#[test]
fn every_target_has_a_test_here() {
    assert_eq!(TARGETS.map(|target| target.name), ["edge", "link", "plan", "script", "tcp", "wire"]);
}
