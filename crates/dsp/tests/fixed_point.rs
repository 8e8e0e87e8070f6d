//! The filter in integers: with wide words it is the filter, with narrow ones it is finite, whatever it hears.
#![allow(missing_docs)]

mod common;

use common::{World, misalignment};
use voxpath_dsp::{
    Canceller, Config, Damaged, Dcd, FixedConfig, FixedPoint, Kept, Stereo, WidelyLinear, Words,
};

const LENGTH: usize = 16;
/// K L = 1024.
const MEMORY_BITS: u32 = 10;

fn config(words: Words, reuse: u32) -> FixedConfig {
    FixedConfig {
        length: LENGTH,
        memory_bits: MEMORY_BITS,
        regularisation: 1.0,
        reuse,
        dcd: Dcd { bits: Dcd::PUBLISHED.bits.min(words.tap - 2), ..Dcd::PUBLISHED },
        words,
    }
}

/// As loud as peaks allow: what is quieter leaves bits of the sums unused.
fn placed(sample: Stereo<f64>) -> Stereo<f64> {
    Stereo::new(0.3 * sample.left, 0.3 * sample.right)
}

fn steady(filter: &mut impl Canceller<f64>) -> f64 {
    let mut world = World::new(LENGTH, 30.0);
    let (mut sum, mut count) = (0.0, 0.0);
    for index in 0..12_000 {
        let (far, near) = world.sample();
        filter.sample(placed(far), placed(near)).expect("usable");
        if index > 8_000 && index % 50 == 0 {
            sum += misalignment(&world.paths, &filter.paths());
            count += 1.0;
        }
    }
    sum / count
}

fn loss(words: Words, reuse: u32) -> f64 {
    let float = Config { regularisation: 1.0, ..Config::published(LENGTH, 64.0, reuse) };
    let reference = steady(&mut WidelyLinear::<f64>::new(float).expect("valid"));
    assert!(reference < -20.0, "{reference:.1} dB");
    steady(&mut FixedPoint::new(config(words, reuse)).expect("valid")) - reference
}

#[test]
fn with_wide_words_next_to_nothing_is_lost() {
    for reuse in [1, 3] {
        let lost = loss(Words { sample: 24, sum: 32, tap: 32 }, reuse);
        assert!(lost.abs() < 0.5, "N_it = {reuse}: {lost:.2} dB");
    }
}

#[test]
fn sums_of_sixteen_bits_forget_what_a_sample_adds() {
    let lost = loss(Words { sample: 16, sum: 16, tap: 16 }, 1);
    assert!(lost > 3.0, "{lost:.2} dB");
}

#[test]
fn it_stays_a_number_and_recovers() {
    let mut world = World::new(LENGTH, 30.0);
    let mut filter = FixedPoint::new(config(Words { sample: 16, sum: 32, tap: 16 }, 2)).expect("valid");
    for index in 0..24_000 {
        let (far, near) = world.sample();
        let loud = 1e6 * if index % 3 == 0 { 1.0 } else { -1.0 };
        let (far, near) = match index / 2_000 {
            1 => (Stereo::new(0.0, 0.0), placed(near)),
            2 => (Stereo::new(0.5, 0.5), Stereo::new(0.2, -0.2)),
            3 => (Stereo::new(loud, -loud), Stereo::new(-loud, loud)),
            _ => (placed(far), placed(near)),
        };
        let error = filter.sample(far, near).expect("usable");
        assert!(error.left.abs() <= 2.0 && error.right.abs() <= 2.0);
    }
    let level = misalignment(&world.paths, &filter.paths());
    assert!(level < -15.0, "{level:.1} dB");
}

#[test]
fn what_was_saved_goes_on() {
    let mut world = World::new(LENGTH, 30.0);
    let mut filter = FixedPoint::new(config(Words { sample: 16, sum: 32, tap: 24 }, 2)).expect("valid");
    let mut next = |filter: &mut FixedPoint| {
        let (far, near) = world.sample();
        (filter.advance(placed(far), placed(near)), (far, near))
    };
    for _ in 0..150 {
        next(&mut filter);
    }
    let mut again = FixedPoint::restore(&filter.save()).expect("its own state");
    for _ in 0..150 {
        let (error, (far, near)) = next(&mut filter);
        assert_eq!(error, again.advance(placed(far), placed(near)));
    }
    assert_eq!(filter.save(), again.save());
    assert_eq!(WidelyLinear::<f32>::restore(&filter.save()).err(), Some(Damaged::Other));
}

#[test]
fn what_cannot_be_made_is_refused() {
    let fine = config(Words { sample: 16, sum: 24, tap: 16 }, 1);
    let words = fine.words;
    for (config, key) in [
        (FixedConfig { length: 257, ..fine }, "length"),
        (FixedConfig { memory_bits: 0, ..fine }, "memory_bits"),
        (FixedConfig { words: Words { sample: 25, ..words }, ..fine }, "sample"),
        (FixedConfig { words: Words { sum: 33, ..words }, ..fine }, "sum"),
        (FixedConfig { words: Words { tap: 3, ..words }, ..fine }, "tap"),
        (FixedConfig { dcd: Dcd { bits: 15, ..fine.dcd }, ..fine }, "bits"),
        (FixedConfig { dcd: Dcd { range: 2.0, ..fine.dcd }, ..fine }, "range"),
    ] {
        assert_eq!(FixedPoint::new(config).expect_err("not allowed").key, key);
    }
}
