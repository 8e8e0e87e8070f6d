//! Exact recursive least squares of both loudspeakers' samples as one real vector, for comparison.
//!
//! The widely linear system's least squares solution is that of two real problems, one for each microphone, with one
//! correlation matrix of 2L by 2L real numbers and half the regularisation; so both share a gain vector k = R⁻¹u.
//! Using a sample N_it times, each time with the error that the last use has left, adds k Σ e_φ (Paleologu, Benesty and
//! Ciochină, SPL 29, 2022).

use alloc::vec;
use alloc::vec::Vec;

use crate::canceller::{Canceller, Invalid, Kept, Stereo, require};
use crate::paths::Paths;
use crate::real::Real;
use crate::state::{Archive, Damaged, Reader, Writer};
use crate::widely_linear::Reading;
use crate::window::{Window, dot};

/// How R⁻¹u is found.
pub trait Gain<T>: Clone {
    /// In saved states.
    const KIND: u8;
    /// Longest path.
    const LONGEST: usize;

    /// For vectors of the size of `diagonal`, which the matrix begins with.
    fn new(diagonal: &[f64]) -> Self;
    /// Takes a vector, and finds k = R(n)⁻¹ u.
    fn gain(&mut self, forgetting: T, input: &[T], gain: &mut [T]);
    /// Its numbers.
    fn numbers(&mut self) -> &mut [T];
}

/// By Woodbury's identity: the inverse matrix is kept. O(L²) for a sample; single precision loses it in time.
#[derive(Clone, Debug)]
pub struct Woodbury<T>(Vec<T>);

impl<T: Real> Gain<T> for Woodbury<T> {
    const KIND: u8 = 3;
    const LONGEST: usize = 2048;

    fn new(diagonal: &[f64]) -> Self {
        let size = diagonal.len();
        let mut inverse = vec![T::ZERO; size * size];
        for (index, &value) in diagonal.iter().enumerate() {
            inverse[index * size + index] = T::from_f64(1.0 / value);
        }
        Self(inverse)
    }

    fn gain(&mut self, forgetting: T, input: &[T], gain: &mut [T]) {
        let size = input.len();
        for (gain, row) in gain.iter_mut().zip(self.0.chunks_exact(size)) {
            *gain = dot(row, input);
        }
        let one = T::from_f64(1.0);
        let (grown, scale) = (one / forgetting, one / (forgetting + dot(gain, input)));
        for (row, &own) in self.0.chunks_exact_mut(size).zip(&*gain) {
            let factor = own * scale;
            for (element, &other) in row.iter_mut().zip(&*gain) {
                *element = (*element - factor * other) * grown;
            }
        }
        for gain in gain {
            *gain = *gain * scale;
        }
    }

    fn numbers(&mut self) -> &mut [T] {
        &mut self.0
    }
}

/// By solving with the matrix itself for each sample (R = U^T D U). O(L³) for a sample.
#[derive(Clone, Debug)]
pub struct Solved<T> {
    matrix: Vec<T>,
    factor: Vec<T>,
}

impl<T: Real> Gain<T> for Solved<T> {
    const KIND: u8 = 4;
    const LONGEST: usize = 128;

    fn new(diagonal: &[f64]) -> Self {
        let size = diagonal.len();
        let mut matrix = vec![T::ZERO; size * size];
        for (index, &value) in diagonal.iter().enumerate() {
            matrix[index * size + index] = T::from_f64(value);
        }
        Self { factor: matrix.clone(), matrix }
    }

    fn gain(&mut self, forgetting: T, input: &[T], gain: &mut [T]) {
        let size = input.len();
        for (row, &a) in self.matrix.chunks_exact_mut(size).zip(input) {
            for (element, &b) in row.iter_mut().zip(input) {
                *element = forgetting * *element + a * b;
            }
        }
        self.factor.copy_from_slice(&self.matrix);
        gain.copy_from_slice(input);
        for pivot in 0..size {
            let (done, below) = self.factor.split_at_mut((pivot + 1) * size);
            let row = &done[pivot * size..];
            let value = gain[pivot];
            for (other, lower) in below.chunks_exact_mut(size).enumerate() {
                let factor = row[pivot + 1 + other] / row[pivot];
                for (element, &above) in lower[pivot + 1..].iter_mut().zip(&row[pivot + 1..]) {
                    *element -= factor * above;
                }
                gain[pivot + 1 + other] -= factor * value;
            }
        }
        for index in (0..size).rev() {
            let row = &self.factor[index * size..][..size];
            let known = dot(&row[index + 1..], &gain[index + 1..]);
            gain[index] = (gain[index] - known) / row[index];
        }
    }

    fn numbers(&mut self) -> &mut [T] {
        &mut self.matrix
    }
}

/// Exact recursive least squares with data reuse.
#[derive(Clone, Debug)]
pub struct Dense<T, G> {
    config: DenseConfig,
    forgetting: T,
    window: Window<T>,
    input: Vec<T>,
    gain: Vec<T>,
    solver: G,
    paths: Paths<T>,
}

/// What an exact filter is made from; the names are those of [`crate::Config`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DenseConfig {
    /// L: samples of each path.
    pub length: usize,
    /// λ: what a sample weighs after each further one.
    pub forgetting: f64,
    /// ε: what the correlation matrix begins with.
    pub regularisation: f64,
    /// N_it: how often each sample is used.
    pub reuse: u32,
    /// Of (12) and (13).
    pub reading: Reading,
}

/// Exact recursive least squares by Woodbury's identity.
pub type Rls<T> = Dense<T, Woodbury<T>>;

/// Exact recursive least squares by solving for each sample.
pub type ExactRls<T> = Dense<T, Solved<T>>;

impl<T: Real, G: Gain<T>> Dense<T, G> {
    /// A filter that knows nothing yet; its matrix begins as that of [`crate::WidelyLinear`].
    ///
    /// # Errors
    /// A value of the configuration is not allowed.
    pub fn new(config: DenseConfig) -> Result<Self, Invalid> {
        let DenseConfig { length, forgetting, regularisation, reuse, .. } = config;
        let lengths =
            if G::LONGEST == 128 { "between 1 and 128 samples" } else { "between 1 and 2048 samples" };
        require(&[
            ((1..=G::LONGEST).contains(&length), "length", lengths),
            (forgetting > 0.0 && forgetting <= 1.0, "forgetting", "above 0 and at most 1"),
            (regularisation > 0.0 && regularisation.is_finite(), "regularisation", "above 0"),
            ((1..=100).contains(&reuse), "reuse", "between 1 and 100"),
        ])?;
        let diagonal: Vec<f64> = (0..2 * length)
            .map(|index| 0.5 * regularisation * libm::pow(forgetting, -((index % length) as f64)))
            .collect();
        Ok(Self {
            config,
            forgetting: T::from_f64(forgetting),
            window: Window::new(length),
            input: vec![T::ZERO; 2 * length],
            gain: vec![T::ZERO; 2 * length],
            solver: G::new(&diagonal),
            paths: Paths::silent(length),
        })
    }

    /// The filter that was saved.
    ///
    /// # Errors
    /// The octets are not the state of such a filter.
    pub fn restore(octets: &[u8]) -> Result<Self, Damaged> {
        let mut reader = Reader::new::<T>(G::KIND, octets)?;
        let mut config = DenseConfig {
            length: 1,
            forgetting: 1.0,
            regularisation: 1.0,
            reuse: 1,
            reading: Reading::Corrected,
        };
        config.visit(&mut reader);
        let mut filter = Self::new(config).map_err(|_| Damaged::Changed)?;
        filter.visit(&mut reader);
        reader.finish()?;
        Ok(filter)
    }

    fn visit(&mut self, archive: &mut impl Archive) {
        self.window.visit(archive);
        self.paths.visit(archive);
        archive.numbers(self.solver.numbers());
    }
}

impl DenseConfig {
    fn visit(&mut self, archive: &mut impl Archive) {
        archive.size(&mut self.length);
        archive.parameter(&mut self.forgetting);
        archive.parameter(&mut self.regularisation);
        let mut reuse = u64::from(self.reuse);
        archive.count(&mut reuse);
        self.reuse = reuse as u32;
        self.reading.visit(archive);
    }
}

impl<T: Real, G: Gain<T>> Kept for Dense<T, G> {
    fn save(&self) -> Vec<u8> {
        let mut kept = self.clone();
        let mut writer = Writer::new::<T>(G::KIND);
        kept.config.visit(&mut writer);
        kept.visit(&mut writer);
        writer.finish()
    }
}

impl<T: Real, G: Gain<T>> Canceller<T> for Dense<T, G>
where
    Self: Kept,
{
    fn length(&self) -> usize {
        self.config.length
    }

    fn paths(&self) -> Paths<T> {
        self.paths.clone()
    }

    fn advance(&mut self, far: Stereo<T>, near: Stereo<T>) -> Stereo<T> {
        self.window.push(far);
        let error = self.paths.error(&self.window, near);
        let (left, right) = (self.window.left(), self.window.right());
        self.input[..left.len()].copy_from_slice(left);
        self.input[left.len()..].copy_from_slice(right);
        self.solver.gain(self.forgetting, &self.input, &mut self.gain);
        let used = dot(&self.gain, &self.input);
        let one = T::from_f64(1.0);
        // What of the error each use sees, as a part of the first one's.
        let left_over = match self.config.reading {
            Reading::Corrected => one - used,
            Reading::PrintedSign => one + used,
            Reading::PrintedError => one,
        };
        let (mut seen, mut sum) = (one, T::ZERO);
        for _ in 0..self.config.reuse {
            sum += seen;
            seen = seen * left_over;
        }
        let (left, right) = self.gain.split_at(self.config.length);
        self.paths.add(left, right, Stereo::new(sum * error.left, sum * error.right));
        error
    }
}
