//! The filter of long rooms: what it leaves, and what it withstands.
#![allow(missing_docs)]

mod common;

use common::{Noise, World, misalignment, wide};
use voxpath_dsp::{Canceller, Kept, Rooms, RoomsConfig, Stereo, Unusable};

const LENGTH: usize = 192;
const CONFIG: RoomsConfig =
    RoomsConfig { length: LENGTH, rate: 8_000.0, window: 128, memory: 1.0, suppress: false };
const SECOND: usize = 8_000;

type Sample = (Stereo<f64>, Stereo<f64>);

fn narrow(s: Stereo<f64>) -> Stereo<f32> {
    Stereo::new(s.left as f32, s.right as f32)
}

/// A world, a filter in it, and the power of what was heard and of what goes out.
struct Run {
    world: World,
    filter: Rooms<f32>,
}

impl Run {
    fn new(suppress: bool) -> Self {
        let filter = Rooms::new(RoomsConfig { suppress, ..CONFIG }).expect("valid");
        Self { world: World::new(LENGTH, 30.0), filter }
    }

    /// Echo return loss enhancement over so many samples, in dB; each is `spoil`ed first.
    fn spoilt(&mut self, samples: usize, mut spoil: impl FnMut(Sample) -> Sample) -> f64 {
        let (mut heard, mut left) = (0.0, 0.0);
        for index in 0..samples {
            let (far, near) = spoil(self.world.sample());
            let out = self.filter.sample(narrow(far), narrow(near)).expect("usable");
            assert!(out.left.is_finite() && out.right.is_finite(), "sample {index}");
            heard += near.left * near.left + near.right * near.right;
            left += f64::from(out.left).powi(2) + f64::from(out.right).powi(2);
        }
        10.0 * (heard / left).log10()
    }

    fn samples(&mut self, samples: usize) -> f64 {
        self.spoilt(samples, |sample| sample)
    }
}

fn assert_recovers(samples: usize, spoil: impl FnMut(Sample) -> Sample) {
    let mut run = Run::new(true);
    run.samples(2 * SECOND);
    run.spoilt(samples, spoil);
    run.samples(2 * SECOND);
    let left = run.samples(SECOND);
    assert!(left > 22.0, "{left:.1} dB");
}

const NOTHING: Stereo<f64> = Stereo::new(0.0, 0.0);

#[test]
fn the_echo_goes_and_the_paths_are_known() {
    let mut run = Run::new(false);
    run.samples(5 * SECOND);
    let left = run.samples(SECOND);
    assert!(left > 25.0, "{left:.1} dB");
    let level = misalignment(&run.world.paths, &wide(&run.filter.paths()));
    assert!(level < -8.0, "{level:.1} dB");
}

#[test]
fn paths_that_change_are_followed() {
    let mut run = Run::new(false);
    run.samples(3 * SECOND);
    let paths = &mut run.world.paths;
    core::mem::swap(&mut paths.left_left, &mut paths.left_right);
    core::mem::swap(&mut paths.right_left, &mut paths.right_right);
    let at_once = run.samples(SECOND / 4);
    run.samples(2 * SECOND);
    let later = run.samples(SECOND);
    assert!(at_once < 5.0 && later > 22.0, "{at_once:.1} dB, {later:.1} dB");
}

#[test]
fn near_end_speech_teaches_little_and_goes_through() {
    for suppress in [false, true] {
        let mut run = Run::new(suppress);
        run.samples(3 * SECOND);
        let mut noise = Noise::new(3);
        let (mut spoken, mut changed) = (0.0, 0.0);
        let mut waiting = std::collections::VecDeque::from(vec![0.0; run.filter.delay()]);
        for index in 0..2 * SECOND {
            let (far, mut near) = run.world.sample();
            // Syllables as loud as the echo, four in a second.
            let on = (index / 1_000) % 2 == 0;
            let word = if on { noise.normal() } else { 0.0 };
            near.left += word;
            near.right += word;
            let out = run.filter.sample(narrow(far), narrow(near)).expect("usable");
            waiting.push_back(word);
            let clean = waiting.pop_front().expect("as many as were put in");
            spoken += clean * clean;
            changed += (f64::from(out.left) - clean).powi(2);
        }
        let kept = 10.0 * (spoken / changed).log10();
        assert!(kept > 8.0, "suppress {suppress}: {kept:.1} dB");
        let left = run.samples(SECOND);
        assert!(left > 20.0, "suppress {suppress}: {left:.1} dB");
    }
}

#[test]
fn trouble_passes() {
    assert_recovers(20 * SECOND, |_| (NOTHING, NOTHING));
    assert_recovers(2 * SECOND, |(_, near)| (NOTHING, near));
    assert_recovers(2 * SECOND, |_| (Stereo::new(0.5, 0.5), Stereo::new(0.25, -0.25)));
    assert_recovers(2 * SECOND, |(far, near)| (Stereo::new(far.left, far.left), near));
    assert_recovers(2 * SECOND, |(far, near)| (far, Stereo::new(near.left, 0.0)));
    assert_recovers(100, |_| (Stereo::new(1.0, -1.0), Stereo::new(1.0, 1.0)));
}

#[test]
fn the_loudest_samples_are_forgotten() {
    let mut run = Run::new(true);
    run.samples(SECOND);
    run.spoilt(100, |_| (Stereo::new(1e6, -1e6), Stereo::new(1e6, 1e6)));
    run.samples(15 * SECOND);
    let left = run.samples(SECOND);
    assert!(left > 22.0, "{left:.1} dB");
}

#[test]
fn mono_played_as_stereo_is_cancelled() {
    let mut run = Run::new(false);
    let mono =
        |(far, _): Sample| (Stereo::new(far.left, far.left), Stereo::new(0.5 * far.left, -0.25 * far.left));
    run.spoilt(3 * SECOND, mono);
    let left = run.spoilt(SECOND, mono);
    assert!(left > 25.0, "{left:.1} dB");
}

#[test]
fn what_is_no_number_is_refused() {
    let mut run = Run::new(true);
    run.samples(SECOND);
    let before = run.filter.save();
    let one = [0.0_f32, f32::NAN];
    let (mut left, mut right) = ([0.0; 2], [0.0; 2]);
    let refused = run.filter.block(
        Stereo::new(&[0.0; 2], &one),
        Stereo::new(&[0.0; 2], &[0.0; 2]),
        Stereo::new(&mut left, &mut right),
    );
    assert_eq!(refused, Err(Unusable::Sample { index: 1 }));
    assert!(before == run.filter.save());
}

#[test]
fn what_was_saved_goes_on() {
    let mut run = Run::new(true);
    run.samples(SECOND + 13);
    let state = run.filter.save();
    let mut again = Rooms::<f32>::restore(&state).expect("its own state");
    for _ in 0..SECOND {
        let (far, near) = run.world.sample();
        let (far, near) = (narrow(far), narrow(near));
        assert_eq!(run.filter.advance(far, near), again.advance(far, near));
    }
    assert!(run.filter.save() == again.save());
    let mut damaged = state.clone();
    damaged[state.len() / 2] ^= 0x40;
    assert!(Rooms::<f32>::restore(&damaged).is_err());
    assert!(Rooms::<f64>::restore(&state).is_err());
    assert!(Rooms::<f32>::restore(&state[..100]).is_err());
}

#[test]
fn nothing_is_allocated_for_a_frame() {
    let mut run = Run::new(true);
    run.samples(SECOND);
    let samples: Vec<_> = (0..1_000).map(|_| run.world.sample()).collect();
    let counted = allocation_counter::measure(|| {
        for &(far, near) in &samples {
            run.filter.advance(narrow(far), narrow(near));
        }
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |config: RoomsConfig| Rooms::<f32>::new(config).expect_err("refused").key;
    assert_eq!(refused(RoomsConfig { window: 100, ..CONFIG }), "window");
    assert_eq!(refused(RoomsConfig { window: 0, ..CONFIG }), "window");
    assert_eq!(refused(RoomsConfig { length: 0, ..CONFIG }), "length");
    assert_eq!(refused(RoomsConfig { length: usize::MAX, ..CONFIG }), "length");
    assert_eq!(refused(RoomsConfig { length: 32 * 128 + 1, ..CONFIG }), "length");
    assert_eq!(refused(RoomsConfig { rate: f64::NAN, ..CONFIG }), "rate");
    assert_eq!(refused(RoomsConfig { memory: 0.0, ..CONFIG }), "memory");
    assert!(Rooms::<f32>::new(RoomsConfig { length: 32 * 128, ..CONFIG }).is_ok());
    for (length, window) in
        [(1, 256), (1024, 256), (1025, 512), (2048, 512), (4096, 1024), (usize::MAX, 1 << 18)]
    {
        assert_eq!(RoomsConfig::usual(length, 16_000.0).window, window, "{length}");
    }
}
