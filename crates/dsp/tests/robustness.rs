//! What microphones and loudspeakers do to a filter: it stays finite, and recovers.
#![allow(missing_docs)]

mod common;

use common::{World, misalignment, wide};
use voxpath_dsp::{Canceller, Config, Stereo, WidelyLinear};

const LENGTH: usize = 32;

type Sample = (Stereo<f64>, Stereo<f64>);

/// Samples of trouble, then what is left once all is well again.
fn after(trouble: usize, mut spoil: impl FnMut(usize, Sample) -> Sample) -> f64 {
    let mut world = World::new(LENGTH, 30.0);
    let mut filter = WidelyLinear::<f32>::new(Config::published(LENGTH, 16.0, 2)).expect("valid");
    let narrow = |s: Stereo<f64>| Stereo::new(s.left as f32, s.right as f32);
    for index in 0..5_000 + trouble + 20_000 {
        let mut sample = world.sample();
        if (5_000..5_000 + trouble).contains(&index) {
            sample = spoil(index, sample);
        }
        let error = filter.sample(narrow(sample.0), narrow(sample.1)).expect("usable");
        assert!(error.left.is_finite() && error.right.is_finite(), "sample {index}");
    }
    misalignment(&world.paths, &wide(&filter.paths()))
}

fn assert_recovers(trouble: usize, spoil: impl FnMut(usize, Sample) -> Sample) {
    let level = after(trouble, spoil);
    assert!(level < -15.0, "{level:.1} dB");
}

const NOTHING: Stereo<f64> = Stereo::new(0.0, 0.0);

#[test]
fn silence() {
    // Long enough for everything to decay below the smallest number: λ^100000 is 10^-85.
    assert_recovers(100_000, |_, _| (NOTHING, NOTHING));
}

#[test]
fn silence_with_noise_at_the_near_end() {
    assert_recovers(20_000, |_, (_, near)| (NOTHING, near));
}

#[test]
fn direct_current() {
    assert_recovers(20_000, |_, _| (Stereo::new(0.5, 0.5), Stereo::new(0.25, -0.25)));
}

#[test]
fn clipping() {
    assert_recovers(20_000, |_, (far, near)| {
        let clip = |s: Stereo<f64>| Stereo::new(s.left.clamp(-0.05, 0.05), s.right.clamp(-0.05, 0.05));
        (far, clip(near))
    });
}

#[test]
fn the_loudest_samples() {
    assert_recovers(2_000, |index, _| {
        let sign = if index % 7 < 3 { 1e6 } else { -1e6 };
        (Stereo::new(sign, -sign), Stereo::new(-sign, sign))
    });
}

#[test]
fn mono_played_as_stereo() {
    assert_recovers(20_000, |_, (far, near)| (Stereo::new(far.left, far.left), near));
}

#[test]
fn a_dead_microphone() {
    assert_recovers(20_000, |_, (far, near)| (far, Stereo::new(near.left, 0.0)));
}

#[test]
fn a_loudspeaker_that_is_off() {
    assert_recovers(20_000, |_, (far, near)| (Stereo::new(far.left, 0.0), near));
}

#[test]
fn samples_at_another_rate() {
    // The far end's clock is 1 % fast: its samples slide against the microphones'.
    let mut kept = Vec::new();
    assert_recovers(20_000, |index, (far, near)| {
        kept.push(far);
        let at = (index - 5_000) * 99 / 100;
        (kept[at], near)
    });
}
