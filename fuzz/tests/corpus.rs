//! Every input of the corpus, and a fixed number of others made from it; the search without an end is `make fuzz`.
#![allow(missing_docs)]

use voxpath_fuzz::corpus;
use voxpath_fuzz::mutate::Mutator;
use voxpath_fuzz::{TARGETS, Target, target};

/// Inputs of each target that are made from its corpus.
const MUTATIONS: u32 = 3_000;

/// Runs an input, and says which it was if something does not hold.
fn run(target: &Target, name: &str, bytes: &[u8]) {
    let run = target.run;
    let caught = std::panic::catch_unwind(|| run(bytes));
    assert!(caught.is_ok(), "target {}, {name}, {} bytes: {bytes:?}", target.name, bytes.len());
}

fn hold(name: &str) {
    let target = target(name).expect("it is listed");
    let corpus = corpus::load(name).unwrap_or_else(|error| panic!("{error}"));
    for (input, bytes) in &corpus {
        run(&target, input, bytes);
    }
    let inputs: Vec<Vec<u8>> = corpus.into_values().chain([vec![0; 64]]).collect();
    let mut mutator = Mutator::new(1);
    for number in 0..MUTATIONS {
        run(&target, &format!("mutation {number}"), &mutator.mutate(&inputs));
    }
}

#[test]
fn coap() {
    hold("coap");
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
fn mptcp() {
    hold("mptcp");
}

#[test]
fn mqtt() {
    hold("mqtt");
}

#[test]
fn plan() {
    hold("plan");
}

#[test]
fn rtp() {
    hold("rtp");
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
    let names = ["coap", "edge", "link", "mptcp", "mqtt", "plan", "rtp", "script", "tcp", "wire"];
    assert_eq!(TARGETS.map(|target| target.name), names);
}

#[test]
fn every_file_of_the_corpus_is_as_it_would_be_written() {
    for target in TARGETS {
        let corpus = corpus::load(target.name).unwrap_or_else(|error| panic!("{error}"));
        let written = std::fs::read_to_string(corpus::path(target.name)).expect("it is there");
        assert!(
            corpus::emit(&corpus) == written,
            "corpus/{}.txt: names in another order, or other escapes",
            target.name
        );
    }
}
