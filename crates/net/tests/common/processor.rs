//! What a test costs, whatever else the machine does.
#![allow(missing_docs, unreachable_pub)]

use std::time::Duration;

/// The processor time that this thread has used: other processes make a test last longer, but add nothing to this.
pub fn used() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts it");
    let nanos = told.split_whitespace().next().expect("it is the first column");
    Duration::from_nanos(nanos.parse().expect("a number of nanoseconds"))
}
