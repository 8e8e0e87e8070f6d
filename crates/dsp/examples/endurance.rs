//! 10^8 samples through a filter, ten kinds of trouble among them: it stays finite, and knows the paths again after each.
#![allow(missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{World, misalignment, wide};
use voxpath_dsp::{Canceller, Config, Stereo, WidelyLinear};

const LENGTH: usize = 16;
const ROUNDS: usize = 10;
/// Of each round, the second half of which is well.
const SAMPLES: usize = 10_000_000;

fn main() {
    let mut world = World::new(LENGTH, 30.0);
    // What was heard is played again and again: drawing it would take longer than cancelling it.
    let samples: Vec<_> = (0..100_000).map(|_| world.sample()).collect();
    let mut filter = WidelyLinear::<f32>::new(Config::published(LENGTH, 64.0, 1)).expect("valid");
    let nothing = Stereo::new(0.0, 0.0);
    for round in 0..ROUNDS {
        for index in 0..SAMPLES {
            let (far, near) = samples[index % samples.len()];
            let (far, near) = match if index < SAMPLES / 2 { round } else { 0 } {
                1 => (nothing, nothing),
                2 => (nothing, near),
                3 => (Stereo::new(far.left, far.left), near),
                4 => (Stereo::new(far.left, 0.0), near),
                5 => (far, Stereo::new(near.left, 0.0)),
                6 => (Stereo::new(0.5, 0.5), Stereo::new(0.2, -0.2)),
                7 => (far, Stereo::new(near.left.clamp(-0.05, 0.05), near.right.clamp(-0.05, 0.05))),
                8 => (Stereo::new(1e-20 * far.left, 1e-20 * far.right), near),
                9 => (Stereo::new(1e5 * far.left, 1e5 * far.right), near),
                _ => (far, near),
            };
            let narrow = |s: Stereo<f64>| Stereo::new(s.left as f32, s.right as f32);
            let error = filter.advance(narrow(far), narrow(near));
            assert!(error.left.is_finite() && error.right.is_finite(), "round {round}, sample {index}");
        }
        let level = misalignment(&world.paths, &wide(&filter.paths()));
        println!("round {round}: {level:.1} dB");
        assert!(level < -20.0, "round {round}: {level:.1} dB");
    }
}
