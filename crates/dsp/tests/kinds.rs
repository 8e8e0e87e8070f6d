//! The filters beside each other: exact ones agree, states are kept, nothing is allocated, errors are told.
#![allow(missing_docs)]

mod common;

use common::{Noise, World, misalignment};
use voxpath_dsp::{
    Canceller, Config, Damaged, Dcd, DenseConfig, ExactRls, Kept, Nlms, Paths, Reading, Rls, Stereo,
    Unusable, WidelyLinear,
};

fn exact(length: usize, reuse: u32, reading: Reading) -> DenseConfig {
    DenseConfig { length, forgetting: 1.0 - 1.0 / (8.0 * length as f64), regularisation: 1.0, reuse, reading }
}

fn all(paths: &Paths<f64>) -> Vec<f64> {
    [&paths.left_left, &paths.left_right, &paths.right_left, &paths.right_right]
        .into_iter()
        .flatten()
        .copied()
        .collect()
}

fn furthest(a: &Paths<f64>, b: &Paths<f64>) -> f64 {
    all(a).iter().zip(all(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn run(filter: &mut impl Canceller<f64>, samples: usize) {
    let mut world = World::new(filter.length(), 30.0);
    for _ in 0..samples {
        let (far, near) = world.sample();
        filter.sample(far, near).expect("usable");
    }
}

#[test]
fn woodbury_and_solving_are_the_same_filter() {
    for (reuse, reading) in [(1, Reading::Corrected), (3, Reading::Corrected), (2, Reading::PrintedError)] {
        let mut inverse = Rls::<f64>::new(exact(8, reuse, reading)).expect("valid");
        let mut solved = ExactRls::<f64>::new(exact(8, reuse, reading)).expect("valid");
        run(&mut inverse, 500);
        run(&mut solved, 500);
        let apart = furthest(&inverse.paths(), &solved.paths());
        assert!(apart < 1e-7, "N_it = {reuse}: {apart:e}");
    }
}

#[test]
fn with_enough_changes_coordinate_descent_is_exact() {
    let config = exact(4, 1, Reading::Corrected);
    let dcd = Dcd { range: 4.0, bits: 45, updates: 1000 };
    let mut descent = WidelyLinear::<f64>::new(Config {
        length: config.length,
        forgetting: config.forgetting,
        regularisation: config.regularisation,
        reuse: 1,
        dcd,
        reading: config.reading,
        guard: None,
    })
    .expect("valid");
    let mut solved = ExactRls::<f64>::new(config).expect("valid");
    let mut noise = Noise::new(3);
    for _ in 0..400 {
        // White and independent: the solver needs few changes then.
        let mut draw = || Stereo::new(noise.normal(), noise.normal());
        let (far, near) = (draw(), draw());
        descent.sample(far, near).expect("usable");
        solved.sample(far, near).expect("usable");
    }
    let apart = furthest(&descent.paths(), &solved.paths());
    assert!(apart < 1e-6, "{apart:e}");
}

#[test]
fn every_kind_learns_the_paths() {
    let length = 16;
    let truth = World::new(length, 30.0).paths;
    let mut descent = WidelyLinear::<f64>::new(Config::published(length, 64.0, 1)).expect("valid");
    let long = DenseConfig { forgetting: 0.999, ..exact(length, 1, Reading::Corrected) };
    let mut inverse = Rls::<f64>::new(long).expect("valid");
    let mut nlms = Nlms::<f64>::new(length, 0.5, 1e-3).expect("valid");
    run(&mut descent, 20_000);
    run(&mut inverse, 20_000);
    run(&mut nlms, 20_000);
    for (name, paths, least) in
        [("wl", descent.paths(), -25.0), ("rls", inverse.paths(), -15.0), ("nlms", nlms.paths(), -5.0)]
    {
        let level = misalignment(&truth, &paths);
        assert!(level < least, "{name}: {level:.1} dB");
    }
}

#[test]
fn the_mapping_goes_there_and_back() {
    let truth = World::new(9, 30.0).paths;
    assert!(furthest(&truth, &truth.widely_linear().paths()) < 1e-15);
}

/// Saves at some sample, restores, and compares what follows bit by bit.
fn goes_on<F: Canceller<f64> + Clone>(mut filter: F, restore: impl Fn(&[u8]) -> Result<F, Damaged>) {
    let mut world = World::new(filter.length(), 30.0);
    for _ in 0..137 {
        let (far, near) = world.sample();
        filter.advance(far, near);
    }
    let state = filter.save();
    let mut again = restore(&state).expect("its own state");
    for _ in 0..200 {
        let (far, near) = world.sample();
        assert_eq!(filter.advance(far, near), again.advance(far, near));
    }
    assert_eq!(filter.save(), again.save());
    for at in [0, 5, 30, state.len() / 2, state.len() - 1] {
        let mut damaged = state.clone();
        damaged[at] ^= 0x40;
        assert!(restore(&damaged).is_err(), "octet {at}");
    }
    assert!(restore(&state[..state.len() - 9]).is_err());
    assert!(restore(&[]).is_err());
}

#[test]
fn what_was_saved_goes_on() {
    goes_on(WidelyLinear::new(Config::published(21, 8.0, 2)).expect("valid"), WidelyLinear::restore);
    let guarded = Config { guard: Some(0.99), ..Config::published(7, 8.0, 1) };
    goes_on(WidelyLinear::new(guarded).expect("valid"), WidelyLinear::restore);
    goes_on(Rls::new(exact(5, 1, Reading::PrintedSign)).expect("valid"), Rls::restore);
    goes_on(ExactRls::new(exact(5, 2, Reading::Corrected)).expect("valid"), ExactRls::restore);
    goes_on(Nlms::new(5, 0.5, 0.1).expect("valid"), Nlms::restore);
    let single = WidelyLinear::<f32>::new(Config::published(4, 8.0, 1)).expect("valid").save();
    assert_eq!(WidelyLinear::<f64>::restore(&single).err(), Some(Damaged::Other));
    assert_eq!(Nlms::<f32>::restore(&single).err(), Some(Damaged::Other));
}

#[test]
fn a_sample_costs_no_allocation() {
    let mut world = World::new(33, 30.0);
    let samples: Vec<_> = (0..2_000).map(|_| world.sample()).collect();
    let mut filter = WidelyLinear::<f64>::new(Config::published(33, 16.0, 3)).expect("valid");
    let info = allocation_counter::measure(|| {
        for &(far, near) in &samples {
            filter.advance(far, near);
        }
    });
    assert_eq!(info.count_total, 0);
}

#[test]
fn what_is_no_sample_is_refused_and_changes_nothing() {
    let mut filter = WidelyLinear::<f32>::new(Config::published(8, 16.0, 1)).expect("valid");
    let before = filter.save();
    let fine = [0.5_f32; 4];
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e7] {
        let mut spoilt = fine;
        spoilt[2] = bad;
        let (mut left, mut right) = ([0.0; 4], [0.0; 4]);
        let refused = filter.block(
            Stereo::new(&fine, &fine),
            Stereo::new(&fine, &spoilt),
            Stereo::new(&mut left, &mut right),
        );
        assert_eq!(refused, Err(Unusable::Sample { index: 2 }));
        let one = filter.sample(Stereo::new(bad, 0.0), Stereo::default());
        assert_eq!(one, Err(Unusable::Sample { index: 0 }));
    }
    let (mut left, mut right) = ([0.0; 4], [0.0; 3]);
    let refused = filter.block(
        Stereo::new(&fine, &fine),
        Stereo::new(&fine, &fine),
        Stereo::new(&mut left, &mut right),
    );
    assert_eq!(refused, Err(Unusable::Lengths));
    assert_eq!(filter.save(), before);
}

#[test]
fn what_cannot_be_made_is_refused() {
    let fine = Config::published(8, 16.0, 1);
    for (config, key) in [
        (Config { length: 0, ..fine }, "length"),
        (Config { length: 10_000, ..fine }, "length"),
        (Config { forgetting: 0.0, ..fine }, "forgetting"),
        (Config { forgetting: f64::NAN, ..fine }, "forgetting"),
        (Config { regularisation: 0.0, ..fine }, "regularisation"),
        (Config { reuse: 0, ..fine }, "reuse"),
        (Config { guard: Some(1.0), ..fine }, "guard"),
        (Config { dcd: Dcd { bits: 0, ..fine.dcd }, ..fine }, "bits"),
        (Config { dcd: Dcd { updates: 0, ..fine.dcd }, ..fine }, "updates"),
        (Config { dcd: Dcd { range: f64::INFINITY, ..fine.dcd }, ..fine }, "range"),
    ] {
        assert_eq!(WidelyLinear::<f32>::new(config).expect_err("not allowed").key, key);
    }
}

/// Misalignment after a near-end talker has spoken for 2000 samples, and 10 000 samples after the signs have changed.
fn with_talker(guard: Option<f64>) -> (f64, f64) {
    let mut world = World::new(16, 30.0);
    let config = Config { guard, ..Config::published(16, 64.0, 1) };
    let mut filter = WidelyLinear::<f64>::new(config).expect("valid");
    let mut talker = Noise::new(9);
    for index in 0..12_000 {
        let (far, mut near) = world.sample();
        if index >= 10_000 {
            near.left += 0.5 * talker.normal();
            near.right += 0.5 * talker.normal();
        }
        filter.advance(far, near);
    }
    let spoken = misalignment(&world.paths, &filter.paths());
    for path in [
        &mut world.paths.left_left,
        &mut world.paths.left_right,
        &mut world.paths.right_left,
        &mut world.paths.right_right,
    ] {
        path.iter_mut().for_each(|tap| *tap = -*tap);
    }
    for _ in 0..10_000 {
        let (far, near) = world.sample();
        filter.advance(far, near);
    }
    (spoken, misalignment(&world.paths, &filter.paths()))
}

#[test]
fn the_guard_keeps_what_was_learnt_and_lets_go_of_what_has_changed() {
    let (open, _) = with_talker(None);
    let (guarded, changed) = with_talker(Some(0.999));
    assert!(guarded < open - 6.0, "guarded {guarded:.1} dB, open {open:.1} dB");
    assert!(changed < -15.0, "after a change {changed:.1} dB");
}
