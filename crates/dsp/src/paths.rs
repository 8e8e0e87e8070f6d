//! The four echo paths, and the one complex system that they are written as.

use alloc::vec;
use alloc::vec::Vec;

use crate::canceller::Stereo;
use crate::dcd::Way;
use crate::real::{Number, Real};
use crate::state::Archive;
use crate::window::{Window, dot};

/// The echo paths from each loudspeaker to each microphone, (1) and (2): four impulse responses of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Paths<T> {
    /// From the left loudspeaker to the left microphone.
    pub left_left: Vec<T>,
    /// From the left loudspeaker to the right microphone.
    pub left_right: Vec<T>,
    /// From the right loudspeaker to the left microphone.
    pub right_left: Vec<T>,
    /// From the right loudspeaker to the right microphone.
    pub right_right: Vec<T>,
}

impl<T: Number> Paths<T> {
    /// Paths without an echo.
    #[must_use]
    pub fn silent(length: usize) -> Self {
        let path = vec![T::ZERO; length];
        Self {
            left_left: path.clone(),
            left_right: path.clone(),
            right_left: path.clone(),
            right_right: path,
        }
    }

    /// The path that a part of an unknown belongs to.
    pub(crate) fn way(&mut self, way: Way) -> &mut [T] {
        match (way.from, way.to) {
            (0, 0) => &mut self.left_left,
            (0, _) => &mut self.left_right,
            (_, 0) => &mut self.right_left,
            (..) => &mut self.right_right,
        }
    }

    pub(crate) fn visit(&mut self, archive: &mut impl Archive) {
        for path in [&mut self.left_left, &mut self.left_right, &mut self.right_left, &mut self.right_right] {
            archive.numbers(path);
        }
    }
}

impl<T: Real> Paths<T> {
    /// The error (10): what of the microphones' samples is not the echo of the window's.
    #[must_use]
    pub fn error(&self, window: &Window<T>, near: Stereo<T>) -> Stereo<T> {
        let (left, right) = (window.left(), window.right());
        Stereo::new(
            near.left - (dot(&self.left_left, left) + dot(&self.right_left, right)),
            near.right - (dot(&self.left_right, left) + dot(&self.right_right, right)),
        )
    }

    /// Adds a vector for each loudspeaker, times a number for each microphone.
    pub(crate) fn add(&mut self, left: &[T], right: &[T], times: Stereo<T>) {
        let each = [
            (&mut self.left_left, left, times.left),
            (&mut self.right_left, right, times.left),
            (&mut self.left_right, left, times.right),
            (&mut self.right_right, right, times.right),
        ];
        for (path, vector, factor) in each {
            for (tap, &value) in path.iter_mut().zip(vector) {
                *tap += factor * value;
            }
        }
    }

    /// The widely linear system, such that (7), `y = h^H x + h'^H x*`, is (1) and (2).
    #[must_use]
    pub fn widely_linear(&self) -> WidelyLinearPaths<T> {
        let both = |a: &[T], b: &[T], combine: fn(T, T) -> T| -> Vec<T> {
            a.iter().zip(b).map(|(&a, &b)| combine(a, b).half()).collect()
        };
        WidelyLinearPaths {
            re: both(&self.left_left, &self.right_right, |a, b| a + b),
            im: both(&self.right_left, &self.left_right, |a, b| a - b),
            conjugate_re: both(&self.left_left, &self.right_right, |a, b| a - b),
            conjugate_im: both(&self.left_right, &self.right_left, |a, b| -(a + b)),
        }
    }
}

/// The widely linear system: `h`, which meets the input, and `h'`, which meets its conjugate.
///
/// Interleaved they are the publication's g̃; its squared norm is half of that of the four paths together.
#[derive(Clone, Debug, PartialEq)]
pub struct WidelyLinearPaths<T> {
    /// Real part of `h`.
    pub re: Vec<T>,
    /// Imaginary part of `h`.
    pub im: Vec<T>,
    /// Real part of `h'`.
    pub conjugate_re: Vec<T>,
    /// Imaginary part of `h'`.
    pub conjugate_im: Vec<T>,
}

impl<T: Real> WidelyLinearPaths<T> {
    /// The four paths back.
    #[must_use]
    pub fn paths(&self) -> Paths<T> {
        let both = |a: &[T], b: &[T], combine: fn(T, T) -> T| -> Vec<T> {
            a.iter().zip(b).map(|(&a, &b)| combine(a, b)).collect()
        };
        Paths {
            left_left: both(&self.re, &self.conjugate_re, |h, g| h + g),
            left_right: both(&self.im, &self.conjugate_im, |h, g| -(h + g)),
            right_left: both(&self.im, &self.conjugate_im, |h, g| h - g),
            right_right: both(&self.re, &self.conjugate_re, |h, g| h - g),
        }
    }
}
