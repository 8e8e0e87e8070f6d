//! `make soak`, small.
#![allow(missing_docs)]

use voxpath_fuzz::endurance;

#[test]
fn every_octet_crosses_a_bad_link() {
    let outcome = endurance::bad_link(5_000_000);
    let weather = [outcome.lost, outcome.duplicated, outcome.reordered, outcome.damaged];
    assert!(weather.iter().all(|&count| count > 20), "{outcome:?}");
}

#[test]
fn sequence_numbers_come_round() {
    let outcome = endurance::wrap((1 << 32) + 1_000_000);
    assert!(outcome.lost > 20, "{outcome:?}");
}

#[test]
fn windows_that_close_for_an_hour_open_again() {
    let outcome = endurance::zero_windows(50);
    assert!(outcome.probes > 50 * 20, "{outcome:?}");
}

#[test]
fn both_ends_open_at_once() {
    let outcome = endurance::simultaneous_opens(500);
    assert!(outcome.lost > 100, "{outcome:?}");
}

#[test]
fn many_flows_start_at_once() {
    assert!(endurance::opens_at_once(500) > 500 * 10);
}
