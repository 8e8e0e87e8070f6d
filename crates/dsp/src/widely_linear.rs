//! WL-DR-RLS-DCD: recursive least squares of one complex system for the four echo paths, solved by dichotomous
//! coordinate descent, each sample used several times (the publication's Table II; with one use it is Table I).
//!
//! The publication's (12) and (13) are misprinted. What is meant follows from (10) and (11):
//!
//! ```text
//! e_φ = e_{φ-1} - Δg̃_{φ-1}^H x̃            (12) has plus
//! p_φ = r_{φ-1} + e_φ* x̃                  (13) has e_0
//! ```
//!
//! and Table II has to begin again with φ = 0 for each sample. [`Reading`] has the printed forms for comparison.

use alloc::vec;
use alloc::vec::Vec;

use crate::canceller::{Canceller, Invalid, Kept, Stereo, require};
use crate::dcd::{Dcd, PLANES, turn, width};
use crate::guard::Guard;
use crate::matrix::{Conjugate, Matrix, tap};
use crate::paths::Paths;
use crate::real::Real;
use crate::state::{Archive, Damaged, Reader, Writer};
use crate::window::Window;

/// How (12) and (13) are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Reading {
    /// As they follow from (10) and (11).
    #[default]
    Corrected,
    /// (12) with its printed plus; (13) with the error that (12) gives.
    PrintedSign,
    /// (13) as printed: every use has the first error, so (12) is without effect.
    PrintedError,
}

impl Reading {
    const ALL: [Self; 3] = [Self::Corrected, Self::PrintedSign, Self::PrintedError];

    pub(crate) fn visit(&mut self, archive: &mut impl Archive) {
        let mut index = *self as usize;
        archive.size(&mut index);
        *self = Self::ALL.get(index).copied().unwrap_or_default();
    }
}

/// What a filter is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// L: samples of each path.
    pub length: usize,
    /// λ: what a sample weighs after each further one.
    pub forgetting: f64,
    /// ε: what the correlation matrix begins with, in squared units of the samples.
    pub regularisation: f64,
    /// N_it: how often each sample is used.
    pub reuse: u32,
    /// The solver.
    pub dcd: Dcd,
    /// Of the equations.
    pub reading: Reading,
    /// What the guard against double-talk keeps of its scale at each sample; none is the publication's filter.
    pub guard: Option<f64>,
}

impl Config {
    /// With the publication's parameters, for paths of `length` and a memory of `memory` (K) times that.
    #[must_use]
    pub fn published(length: usize, memory: f64, reuse: u32) -> Self {
        Self {
            length,
            forgetting: 1.0 - 1.0 / (memory * length as f64),
            regularisation: 1.0,
            reuse,
            dcd: Dcd::PUBLISHED,
            reading: Reading::Corrected,
            guard: None,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), Invalid> {
        require(&[
            ((1..=Self::LONGEST).contains(&self.length), "length", "between 1 and 8192 samples"),
            (self.forgetting > 0.0 && self.forgetting <= 1.0, "forgetting", "above 0 and at most 1"),
            (self.regularisation > 0.0 && self.regularisation.is_finite(), "regularisation", "above 0"),
            ((1..=100).contains(&self.reuse), "reuse", "between 1 and 100"),
            (self.dcd.range > 0.0 && self.dcd.range.is_finite(), "range", "above 0"),
            ((1..=64).contains(&self.dcd.bits), "bits", "between 1 and 64"),
            ((1..=1000).contains(&self.dcd.updates), "updates", "between 1 and 1000"),
            (self.guard.is_none_or(|kept| kept > 0.0 && kept < 1.0), "guard", "above 0 and below 1"),
        ])
    }

    fn visit(&mut self, archive: &mut impl Archive) {
        archive.size(&mut self.length);
        for value in [&mut self.forgetting, &mut self.regularisation, &mut self.dcd.range] {
            archive.parameter(value);
        }
        for value in [&mut self.reuse, &mut self.dcd.bits, &mut self.dcd.updates] {
            let mut count = u64::from(*value);
            archive.count(&mut count);
            *value = count as u32;
        }
        self.reading.visit(archive);
        let mut guard = self.guard.unwrap_or(0.0);
        archive.parameter(&mut guard);
        self.guard = (guard != 0.0).then_some(guard);
    }

    /// The longest path: the correlation matrix of longer ones fills a gigabyte in single precision.
    pub const LONGEST: usize = 8192;
}

/// The filter.
///
/// ```
/// use voxpath_dsp::{Canceller, Config, Stereo, WidelyLinear};
///
/// let mut filter = WidelyLinear::<f64>::new(Config::published(4, 16.0, 1))?;
/// let mut noise = 1_u32;
/// for _ in 0..500 {
///     let mut draw = || {
///         noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
///         f64::from(noise >> 8) / f64::from(1 << 24) - 0.5
///     };
///     let far = Stereo::new(draw(), draw());
///     let echo = Stereo::new(0.5 * far.left, 0.25 * far.right);
///     filter.sample(far, echo)?;
/// }
/// assert!((filter.paths().right_right[0] - 0.25).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct WidelyLinear<T> {
    config: Config,
    forgetting: T,
    window: Window<T>,
    matrix: Matrix<T, Conjugate>,
    /// r: of h and h', real and imaginary parts, one after another, at the matrix's places.
    residual: Vec<T>,
    paths: Paths<T>,
    guards: Option<[Guard<T>; 2]>,
    changes: u64,
}

impl<T: Real> WidelyLinear<T> {
    const KIND: u8 = 1;

    /// A filter that knows nothing yet.
    ///
    /// The matrix's diagonal begins with ε λ^-k at tap k, which is what makes shifting it the same as
    /// R(n) = λ R(n-1) + x̃ x̃^H from the first sample on.
    ///
    /// # Errors
    /// A value of the configuration is not allowed.
    pub fn new(config: Config) -> Result<Self, Invalid> {
        config.check()?;
        let Config { length, forgetting, regularisation, .. } = config;
        Ok(Self {
            config,
            forgetting: T::from_f64(forgetting),
            window: Window::new(length),
            matrix: Matrix::new(length, |tap| {
                T::from_f64(regularisation * libm::pow(forgetting, -(tap as f64)))
            }),
            residual: vec![T::ZERO; PLANES * width(length)],
            paths: Paths::silent(length),
            guards: config.guard.map(|kept| [Guard::new(kept); 2]),
            changes: 0,
        })
    }

    /// The filter that was saved.
    ///
    /// # Errors
    /// The octets are not the state of such a filter.
    pub fn restore(octets: &[u8]) -> Result<Self, Damaged> {
        let mut reader = Reader::new::<T>(Self::KIND, octets)?;
        let mut config = Config::published(1, 1.0, 1);
        config.visit(&mut reader);
        let mut filter = Self::new(config).map_err(|_| Damaged::Changed)?;
        filter.visit(&mut reader);
        reader.finish()?;
        if filter.matrix.is_sound() { Ok(filter) } else { Err(Damaged::Changed) }
    }

    fn visit(&mut self, archive: &mut impl Archive) {
        self.window.visit(archive);
        self.matrix.visit(archive);
        archive.numbers(&mut self.residual);
        self.paths.visit(archive);
        for guard in self.guards.iter_mut().flatten() {
            guard.visit(archive);
        }
        archive.count(&mut self.changes);
    }

    /// What it was made from.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How many changes the solver has made in all: what a sample costs depends on it.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Step 2: the first block column, for the sample just taken.
    fn correlate(&mut self) {
        let [left, right] = self.window.around();
        let newest = self.window.newest();
        let (re, im) = (newest.left, newest.right);
        let forgetting = self.forgetting;
        self.matrix.shift(|plane, start, older, newer| {
            let fresh = left[start..].iter().zip(&right[start..]);
            let each = newer.iter_mut().zip(older).zip(fresh);
            match plane {
                0 => each.for_each(|((to, &from), (&l, &r))| *to = forgetting * from + (l * re + r * im)),
                1 => each.for_each(|((to, &from), (&l, &r))| *to = forgetting * from + (r * re - l * im)),
                2 => each.for_each(|((to, &from), (&l, &r))| *to = forgetting * from + (l * re - r * im)),
                _ => each.for_each(|((to, &from), (&l, &r))| *to = forgetting * from + (r * re + l * im)),
            }
        });
        if self.matrix.power() < T::SILENCE {
            self.matrix.hush();
            self.residual.fill(T::ZERO);
        }
    }

    /// Step 5, (13): what is left of the last right-hand side, weighed, and e* x̃.
    fn aim(&mut self, weight: T, error: Stereo<T>) {
        let [left, right] = self.window.around();
        let (h, conjugate) = self.residual.split_at_mut(2 * left.len());
        let (h_re, h_im) = h.split_at_mut(left.len());
        let (c_re, c_im) = conjugate.split_at_mut(left.len());
        let planes = h_re.iter_mut().zip(h_im).zip(c_re.iter_mut().zip(c_im));
        for (((h_re, h_im), (c_re, c_im)), (&l, &r)) in planes.zip(left.iter().zip(right)) {
            let (ll, rr) = (error.left * l, error.right * r);
            let (lr, rl) = (error.left * r, error.right * l);
            *h_re = weight * *h_re + (ll + rr);
            *h_im = weight * *h_im + (lr - rl);
            *c_re = weight * *c_re + (ll - rr);
            *c_im = weight * *c_im - (lr + rl);
        }
    }

    /// Steps 6 and 7; returns by how much the output changes, Δg̃^H x̃.
    fn solve(&mut self) -> Stereo<T> {
        let Self { config, matrix, residual, paths, window, changes, .. } = self;
        let [left, right] = window.around();
        let origin = matrix.origin();
        let mut change = Stereo::new(T::ZERO, T::ZERO);
        config.dcd.solve(matrix, residual, |unknown, step| {
            *changes += 1;
            let tap = tap(unknown.place, origin, config.length);
            for way in unknown.ways() {
                let step = if way.negative { -step } else { step };
                paths.way(way)[tap] += step;
                let part = step * if way.from == 0 { left } else { right }[unknown.place];
                if way.to == 0 { change.left += part } else { change.right += part }
            }
        });
        change
    }
}

impl<T: Real> Kept for WidelyLinear<T> {
    fn save(&self) -> Vec<u8> {
        let mut kept = self.clone();
        let mut writer = Writer::new::<T>(Self::KIND);
        kept.config.visit(&mut writer);
        kept.visit(&mut writer);
        writer.finish()
    }
}

impl<T: Real> Canceller<T> for WidelyLinear<T> {
    fn length(&self) -> usize {
        self.config.length
    }

    fn paths(&self) -> Paths<T> {
        self.paths.clone()
    }

    fn advance(&mut self, far: Stereo<T>, near: Stereo<T>) -> Stereo<T> {
        self.window.push(far);
        self.correlate();
        turn(&mut self.residual, self.config.length);
        let out = self.paths.error(&self.window, near);
        let first = match &mut self.guards {
            Some([left, right]) => Stereo::new(left.limit(out.left), right.limit(out.right)),
            None => out,
        };
        let mut error = first;
        for using in 0..self.config.reuse {
            let weight = if using == 0 { self.forgetting } else { T::from_f64(1.0) };
            self.aim(weight, error);
            let change = self.solve();
            error = match self.config.reading {
                Reading::Corrected => Stereo::new(error.left - change.left, error.right - change.right),
                Reading::PrintedSign => Stereo::new(error.left + change.left, error.right + change.right),
                Reading::PrintedError => first,
            };
        }
        out
    }
}
