//! Samples per second of processor time of the widely linear filter, and the solver's changes per sample.
//!
//! One line for each case: length, uses, samples per second, changes per sample.
#![allow(missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;

use voxpath_dsp::{Canceller, Config, Stereo, WidelyLinear};

const ADAPTED: usize = 20_000;
const SAMPLES: usize = 40_000;

/// Processor time of this process, in seconds: what else the machine does is left out.
fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/schedstat").expect("a Linux kernel with scheduler statistics");
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

fn main() {
    for length in [64, 128, 256, 512, 1024] {
        let mut world = common::World::new(length, 30.0);
        let samples: Vec<_> = (0..SAMPLES).map(|_| world.sample()).collect();
        let narrow = |s: &Stereo<f64>| Stereo::new(s.left as f32, s.right as f32);
        let samples: Vec<_> = samples.iter().map(|(far, near)| (narrow(far), narrow(near))).collect();
        for reuse in [1, 3] {
            let mut filter = WidelyLinear::<f32>::new(Config::published(length, 64.0, reuse)).expect("valid");
            for &(far, near) in &samples[..ADAPTED] {
                filter.advance(far, near);
            }
            let (changes, start) = (filter.changes(), processor_time());
            for &(far, near) in &samples[ADAPTED..] {
                filter.advance(far, near);
            }
            let took = processor_time() - start;
            let count = (SAMPLES - ADAPTED) as f64;
            let changes = (filter.changes() - changes) as f64 / count;
            println!("{length:5} {reuse:2} {:10.0} {changes:5.2}", count / took);
        }
    }
}
