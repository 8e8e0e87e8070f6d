//! One band: weighted recursive least squares of both loudspeakers' last frames, and a shadow that learns by gradient.

use alloc::vec;
use alloc::vec::Vec;

use crate::dcd::{Dcd, Normal, PLANES, Unknown, width};
use crate::real::Real;
use crate::rooms::transform::{Complex, Pair};
use crate::state::Archive;
use crate::window::dot;

/// Steps of at most 1, down to a millionth; eight changes for each frame and microphone.
const SOLVER: Dcd = Dcd { range: 2.0, bits: 20, updates: 8 };

/// μ of the shadow's normalised least mean squares.
const SHADOW_STEP: f64 = 0.5;

/// Normal equations of two loudspeakers' last frames, as columns of [`PLANES`] each.
#[derive(Clone, Debug)]
struct Equations<T> {
    taps: usize,
    /// How long a vector of them is with its padding of zeros, which the solver asks for.
    stride: usize,
    columns: Vec<T>,
}

impl<T: Real> Equations<T> {
    fn column(&self, channel: usize, tap: usize) -> &[T] {
        let size = PLANES * self.stride;
        &self.columns[(channel * self.taps + tap) * size..][..size]
    }

    /// R = λR + w x* xᵀ, with `load` on the diagonal.
    fn add(&mut self, frames: &[T], forgetting: T, weight: T, load: T) {
        let (taps, stride) = (self.taps, self.stride);
        let size = PLANES * stride;
        for (unknown, column) in self.columns.chunks_exact_mut(size).enumerate() {
            let (channel, tap) = (unknown / taps, unknown % taps);
            let re = weight * frames[2 * channel * stride + tap];
            let im = weight * frames[(2 * channel + 1) * stride + tap];
            for (column, frames) in column.chunks_exact_mut(2 * stride).zip(frames.chunks_exact(2 * stride)) {
                conjugate_times(column, frames, forgetting, Complex { re, im });
            }
            column[2 * channel * stride + tap] += load;
        }
    }
}

impl<T: Real> Normal<T> for Equations<T> {
    fn diagonal(&self, unknown: Unknown) -> T {
        self.column(unknown.channel, unknown.place)[2 * unknown.channel * self.stride + unknown.place]
    }

    fn subtract(&mut self, unknown: Unknown, step: T, residual: &mut [T]) {
        let column = self.column(unknown.channel, unknown.place);
        for (to, from) in residual.chunks_exact_mut(2 * self.stride).zip(column.chunks_exact(2 * self.stride))
        {
            let (to_re, to_im) = to.split_at_mut(self.stride);
            let (re, im) = from.split_at(self.stride);
            let values = to_re.iter_mut().zip(to_im).zip(re.iter().zip(im));
            if unknown.part == 0 {
                for ((to_re, to_im), (&re, &im)) in values {
                    *to_re -= step * re;
                    *to_im -= step * im;
                }
            } else {
                for ((to_re, to_im), (&re, &im)) in values {
                    *to_re += step * im;
                    *to_im -= step * re;
                }
            }
        }
    }
}

/// `to` = `keep` times itself and `frames`* times a number: real parts first, then imaginary ones.
fn conjugate_times<T: Real>(to: &mut [T], frames: &[T], keep: T, factor: Complex<T>) {
    let (to_re, to_im) = to.split_at_mut(frames.len() / 2);
    let (re, im) = frames.split_at(frames.len() / 2);
    for ((to_re, to_im), (&re, &im)) in to_re.iter_mut().zip(to_im).zip(re.iter().zip(im)) {
        *to_re = keep * *to_re + (re * factor.re + im * factor.im);
        *to_im = keep * *to_im + (re * factor.im - im * factor.re);
    }
}

/// What is known of a microphone's echo.
#[derive(Clone, Debug)]
struct Microphone<T> {
    taps: Vec<T>,
    residual: Vec<T>,
    shadow: Vec<T>,
}

/// A band.
#[derive(Clone, Debug)]
pub(super) struct Band<T> {
    frames: Vec<T>,
    equations: Equations<T>,
    microphones: [Microphone<T>; 2],
    /// Smoothed power of what is left.
    noise: T,
}

impl<T: Real> Band<T> {
    pub(super) fn new(taps: usize) -> Self {
        let stride = width(taps);
        let nothing = vec![T::ZERO; PLANES * stride];
        let microphone =
            Microphone { taps: nothing.clone(), residual: nothing.clone(), shadow: nothing.clone() };
        Self {
            frames: nothing,
            equations: Equations { taps, stride, columns: vec![T::ZERO; 2 * taps * PLANES * stride] },
            microphones: [microphone.clone(), microphone],
            noise: T::ZERO,
        }
    }

    pub(super) fn visit(&mut self, archive: &mut impl Archive) {
        archive.numbers(&mut self.frames);
        archive.numbers(&mut self.equations.columns);
        for microphone in &mut self.microphones {
            archive.numbers(&mut microphone.taps);
            archive.numbers(&mut microphone.residual);
            archive.numbers(&mut microphone.shadow);
        }
        archive.numbers(core::slice::from_mut(&mut self.noise));
    }

    /// Takes the loudspeakers' newest frame, drops the oldest.
    pub(super) fn push(&mut self, newest: Pair<T>) {
        let taps = self.equations.taps;
        let values = newest.into_iter().flat_map(|value| [value.re, value.im]);
        for (plane, value) in self.frames.chunks_exact_mut(self.equations.stride).zip(values) {
            plane.copy_within(..taps - 1, 1);
            plane[0] = value;
        }
    }

    /// The echo at both microphones, as the filter knows it.
    pub(super) fn echo(&self) -> Pair<T> {
        [0, 1].map(|microphone| self.apply(&self.microphones[microphone].taps))
    }

    fn apply(&self, taps: &[T]) -> Complex<T> {
        let length = 2 * self.equations.stride;
        let mut sum = Complex::ZERO;
        for (frames, taps) in self.frames.chunks_exact(length).zip(taps.chunks_exact(length)) {
            let ((re, im), (to_re, to_im)) = (frames.split_at(length / 2), taps.split_at(length / 2));
            sum.re += dot(re, to_re) - dot(im, to_im);
            sum.im += dot(re, to_im) + dot(im, to_re);
        }
        sum
    }

    /// Follows the power of what is left, `fresh` being that of this frame; returns what the frame's weight is made from.
    pub(super) fn follow(&mut self, fresh: T, keep: T) -> T {
        self.noise = keep * self.noise + (T::from_f64(1.0) - keep) * fresh;
        self.noise.larger(fresh)
    }

    /// Learns by a frame: what was left of the microphones, how much that counts, λ, and the load on the diagonal.
    pub(super) fn learn(&mut self, left: &Pair<T>, weight: T, forgetting: T, load: T) {
        self.equations.add(&self.frames, forgetting, weight, load);
        let length = 2 * self.equations.stride;
        for (microphone, error) in self.microphones.iter_mut().zip(left) {
            let planes = microphone.residual.chunks_exact_mut(length).zip(self.frames.chunks_exact(length));
            for (residual, frames) in planes {
                conjugate_times(residual, frames, forgetting, error.times(weight));
            }
            let (taps, length) = (&mut microphone.taps, self.equations.stride);
            SOLVER.solve(&mut self.equations, &mut microphone.residual, |unknown, step| {
                taps[(2 * unknown.channel + unknown.part) * length + unknown.place] += step;
            });
        }
    }

    /// What the shadow leaves of the microphones' frame, by which it learns.
    pub(super) fn shadow(&mut self, heard: &Pair<T>, power: T) -> Pair<T> {
        let length = 2 * self.equations.stride;
        let gain = T::from_f64(SHADOW_STEP) / power;
        [0, 1].map(|index| {
            let left = heard[index].minus(self.apply(&self.microphones[index].shadow));
            let planes = self.microphones[index].shadow.chunks_exact_mut(length);
            for (taps, frames) in planes.zip(self.frames.chunks_exact(length)) {
                conjugate_times(taps, frames, T::from_f64(1.0), left.times(gain));
            }
            left
        })
    }

    /// Goes on from the shadow: what was learnt counts `keep` from now on.
    pub(super) fn begin_anew(&mut self, keep: T) {
        for value in &mut self.equations.columns {
            *value = keep * *value;
        }
        for microphone in &mut self.microphones {
            microphone.taps.copy_from_slice(&microphone.shadow);
            microphone.residual.fill(T::ZERO);
        }
    }

    /// The shadow goes on from the filter.
    pub(super) fn teach_shadow(&mut self) {
        for microphone in &mut self.microphones {
            microphone.shadow.copy_from_slice(&microphone.taps);
        }
    }

    /// Power of all the loudspeakers' frames together.
    pub(super) fn power(&self) -> T {
        dot(&self.frames, &self.frames)
    }

    /// Forgets the loudspeakers' frames.
    pub(super) fn hush(&mut self) {
        self.frames.fill(T::ZERO);
    }
}
