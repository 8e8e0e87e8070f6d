//! What keeps near-end speech from teaching the filter: errors that are large for what is usual are taken as smaller.
//!
//! Gänsler, Gay, Sondhi and Benesty, *Double-talk robust fast converging algorithms for network echo cancellation*, IEEE
//! Transactions on Speech and Audio Processing 8(6), 2000: the error is limited to k_0 times a scale that follows the
//! limited error, so that speech raises it slowly and a changed echo path raises it in the end.

use crate::real::Real;
use crate::state::Archive;

/// k_0: how many scales an error counts at most.
const LIMIT: f64 = 1.1;
/// β: what makes the scale that of normally distributed errors, E ψ(|z|) for z of unit variance.
const NORMAL: f64 = 0.607;
/// Full scale, which the scale begins with, and what it never falls below.
const LOUDEST: f64 = 1.0;
const QUIETEST: f64 = 1e-5;

/// The scale of a microphone's error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard<T> {
    scale: T,
    forgetting: T,
}

impl<T: Real> Guard<T> {
    /// A guard; `forgetting` is what the scale keeps of itself at each sample. Samples are taken as parts of full scale.
    #[must_use]
    pub fn new(forgetting: f64) -> Self {
        Self { scale: T::from_f64(LOUDEST), forgetting: T::from_f64(forgetting) }
    }

    /// The error as far as it is learnt from.
    pub fn limit(&mut self, error: T) -> T {
        let most = T::from_f64(LIMIT) * self.scale;
        let size = error.magnitude();
        let (limited, counted) =
            if size <= most { (error, size) } else { (if error < T::ZERO { -most } else { most }, most) };
        let fresh = (T::from_f64(1.0) - self.forgetting) * T::from_f64(1.0 / NORMAL);
        self.scale = (self.forgetting * self.scale + fresh * counted).larger(T::from_f64(QUIETEST));
        limited
    }

    pub(crate) fn visit(&mut self, archive: &mut impl Archive) {
        archive.numbers(core::slice::from_mut(&mut self.scale));
    }
}
