//! Takes away what the filters leave of the echo, and spares what is said at the near end.
//!
//! What is left is estimated as a leak times the power of the echo that was predicted, with a tail that decays as rooms
//! do. The leak is the regression of the remainder's power on the echo's (Valin, *On adjusting the learning rate in
//! frequency domain echo cancellation with double-talk*, IEEE TASLP 15(3), 2007): near-end speech, which knows nothing of
//! the echo, does not move it. The gain is Wiener's, with the ratio estimated as decided before (Ephraim and Malah 1984).

use alloc::vec;
use alloc::vec::Vec;

use crate::real::Real;
use crate::rooms::transform::Pair;
use crate::state::Archive;

/// What remains is taken as so much more than estimated, and this amplitude is left at least: while nobody speaks at the
/// near end, and while somebody does.
const OVERESTIMATION: [f64; 2] = [2.0, 0.5];
const FLOOR: [f64; 2] = [0.1, 0.35];
/// Somebody speaks where more is left than so many times the estimate; for certain from the second on.
const SPEECH: [f64; 2] = [2.0, 8.0];
/// Seconds that speech is taken to go on.
const HANGOVER_S: f64 = 0.1;
/// The smallest leak.
const TIGHTEST: f64 = 1e-3;
/// Seconds over which powers are averaged for their deviations, and these for the regression.
const MEAN_S: f64 = 0.3;
const REGRESSION_S: f64 = 0.7;
/// Seconds in which a room's sound decays by 60 dB.
const DECAY_S: f64 = 0.3;
/// How much of the ratio is the one decided before.
const DECIDED: f64 = 0.9;
/// Below any sound.
const NOTHING: f64 = 1e-9;

/// What is known of a band of a microphone.
#[derive(Clone, Copy, Debug)]
struct Leak<T> {
    echo: T,
    left: T,
    tail: T,
    mean_echo: T,
    mean_left: T,
    joint: T,
    own: T,
    rest: T,
    near: T,
}

/// The suppressor of both microphones.
#[derive(Clone, Debug)]
pub(super) struct Suppressor<T> {
    leaks: Vec<[Leak<T>; 2]>,
    speech: [T; 2],
    hangover: T,
    decay: T,
    mean: T,
    regression: T,
}

impl<T: Real> Suppressor<T> {
    /// Of so many bands, for frames that are `hop` seconds apart.
    pub(super) fn new(bands: usize, hop: f64) -> Self {
        let z = T::ZERO;
        let leak = Leak {
            echo: z,
            left: z,
            tail: z,
            mean_echo: z,
            mean_left: z,
            joint: z,
            own: z,
            rest: z,
            near: z,
        };
        Self {
            leaks: vec![[leak; 2]; bands],
            speech: [z; 2],
            hangover: T::from_f64(libm::exp(-hop / HANGOVER_S)),
            decay: T::from_f64(libm::pow(10.0, -6.0 * hop / DECAY_S)),
            mean: T::from_f64((hop / MEAN_S).min(1.0)),
            regression: T::from_f64((hop / REGRESSION_S).min(1.0)),
        }
    }

    pub(super) fn visit(&mut self, archive: &mut impl Archive) {
        archive.numbers(&mut self.speech);
        for Leak { echo, left, tail, mean_echo, mean_left, joint, own, rest, near } in
            self.leaks.iter_mut().flatten()
        {
            for value in [echo, left, tail, mean_echo, mean_left, joint, own, rest, near] {
                archive.numbers(core::slice::from_mut(value));
            }
        }
    }

    /// Makes what is left of the microphones' frame into what goes out.
    pub(super) fn spare(&mut self, left: &mut [Pair<T>], echo: &[Pair<T>]) {
        for index in 0..2 {
            let (mut all, mut rest) = (T::ZERO, T::from_f64(NOTHING));
            for ((leaks, left), echo) in self.leaks.iter_mut().zip(&*left).zip(echo) {
                let leak = &mut leaks[index];
                leak.follow(left[index].power(), echo[index].power(), self.decay, self.mean, self.regression);
                all += leak.left;
                rest += leak.rest;
            }
            let [least, certain] = SPEECH.map(T::from_f64);
            let one = T::from_f64(1.0);
            let heard = smaller(((all / rest - least) / (certain - least)).larger(T::ZERO), one);
            self.speech[index] = heard.larger(self.hangover * self.speech[index]);
            let between = |[silent, spoken]: [f64; 2]| {
                T::from_f64(silent) + self.speech[index] * T::from_f64(spoken - silent)
            };
            let (overestimation, floor) = (between(OVERESTIMATION), between(FLOOR));
            for (leaks, left) in self.leaks.iter_mut().zip(&mut *left) {
                left[index] =
                    left[index].times(leaks[index].gain(left[index].power(), overestimation, floor));
            }
        }
    }
}

impl<T: Real> Leak<T> {
    /// Follows the powers of a frame.
    fn follow(&mut self, left: T, echo: T, decay: T, mean: T, regression: T) {
        let [one, nothing] = [1.0, NOTHING].map(T::from_f64);
        self.left = (self.left + left).half();
        self.echo = (self.echo + echo).half();
        self.tail = (decay * self.tail).larger(self.echo);
        self.mean_echo += mean * (self.tail - self.mean_echo);
        self.mean_left += mean * (self.left - self.mean_left);
        // Deviations as parts of the means, so that no level of sound is beyond the arithmetic.
        let unit = one / (self.mean_echo + self.mean_left + nothing);
        let deviation = unit * (self.tail - self.mean_echo);
        let pace = regression * smaller(self.tail / (self.left + nothing), one);
        self.joint += pace * (deviation * (unit * (self.left - self.mean_left)) - self.joint);
        self.own += pace * (deviation * deviation - self.own);
        let share = (self.joint / (self.own + nothing)).larger(T::from_f64(TIGHTEST));
        self.rest = smaller(share, one) * self.tail;
    }

    /// The amplitude that is kept.
    fn gain(&mut self, left: T, overestimation: T, floor: T) -> T {
        let [one, decided, nothing] = [1.0, DECIDED, NOTHING].map(T::from_f64);
        let rest = overestimation * self.rest + nothing;
        let now = (left / rest - one).larger(T::ZERO);
        let ratio = decided * (self.near / rest) + (one - decided) * now;
        let gain = (ratio / (one + ratio)).larger(floor);
        self.near = gain * gain * left;
        gain
    }
}

fn smaller<T: Real>(a: T, b: T) -> T {
    if b < a { b } else { a }
}
