//! The normalised least mean squares filter: what costs least, and learns slowest from coloured signals.

use crate::canceller::{Canceller, Invalid, Kept, Stereo, require};
use crate::paths::Paths;
use crate::real::Real;
use crate::state::{Archive, Damaged, Reader, Writer};
use crate::window::{Window, dot};

use alloc::vec::Vec;

/// g(n) = g(n-1) + μ e(n) u(n) / (δ + u(n)·u(n)), u being both loudspeakers' last samples; of the widely linear system
/// the same.
#[derive(Clone, Debug)]
pub struct Nlms<T> {
    length: usize,
    step: f64,
    regularisation: f64,
    window: Window<T>,
    paths: Paths<T>,
}

impl<T: Real> Nlms<T> {
    const KIND: u8 = 2;

    /// A filter that knows nothing yet; `step` is μ, `regularisation` δ, in squared units of the samples.
    ///
    /// # Errors
    /// A value is not allowed.
    pub fn new(length: usize, step: f64, regularisation: f64) -> Result<Self, Invalid> {
        require(&[
            ((1..=1 << 20).contains(&length), "length", "between 1 and 1048576 samples"),
            (step > 0.0 && step < 2.0, "step", "above 0 and below 2"),
            (regularisation > 0.0 && regularisation.is_finite(), "regularisation", "above 0"),
        ])?;
        Ok(Self { length, step, regularisation, window: Window::new(length), paths: Paths::silent(length) })
    }

    /// The filter that was saved.
    ///
    /// # Errors
    /// The octets are not the state of such a filter.
    pub fn restore(octets: &[u8]) -> Result<Self, Damaged> {
        let mut reader = Reader::new::<T>(Self::KIND, octets)?;
        let (mut length, mut step, mut regularisation) = (0, 0.0, 0.0);
        reader.size(&mut length);
        reader.parameter(&mut step);
        reader.parameter(&mut regularisation);
        let mut filter = Self::new(length, step, regularisation).map_err(|_| Damaged::Changed)?;
        filter.visit(&mut reader);
        reader.finish()?;
        Ok(filter)
    }

    fn visit(&mut self, archive: &mut impl Archive) {
        self.window.visit(archive);
        self.paths.visit(archive);
    }
}

impl<T: Real> Kept for Nlms<T> {
    fn save(&self) -> Vec<u8> {
        let mut kept = self.clone();
        let mut writer = Writer::new::<T>(Self::KIND);
        writer.size(&mut kept.length);
        writer.parameter(&mut kept.step);
        writer.parameter(&mut kept.regularisation);
        kept.visit(&mut writer);
        writer.finish()
    }
}

impl<T: Real> Canceller<T> for Nlms<T> {
    fn length(&self) -> usize {
        self.length
    }

    fn paths(&self) -> Paths<T> {
        self.paths.clone()
    }

    fn advance(&mut self, far: Stereo<T>, near: Stereo<T>) -> Stereo<T> {
        self.window.push(far);
        let error = self.paths.error(&self.window, near);
        let (left, right) = (self.window.left(), self.window.right());
        let power = dot(left, left) + dot(right, right) + T::from_f64(self.regularisation);
        let gain = T::from_f64(self.step) / power;
        self.paths.add(left, right, Stereo::new(gain * error.left, gain * error.right));
        error
    }
}
