//! What all filters have in common: samples of two loudspeakers and two microphones in, what is left of the
//! microphones out.

use alloc::vec::Vec;
use core::fmt;

use crate::paths::Paths;
use crate::real::Real;

/// A sample of two channels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stereo<T> {
    /// Of the left loudspeaker or microphone.
    pub left: T,
    /// Of the right one.
    pub right: T,
}

impl<T> Stereo<T> {
    /// A sample of two channels.
    pub const fn new(left: T, right: T) -> Self {
        Self { left, right }
    }
}

/// Why samples were refused; the filter is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// A sample is not a number, or larger than [`Real::LIMIT`].
    Sample {
        /// Which one of the block.
        index: usize,
    },
    /// The channels of a block are not equally long.
    Lengths,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sample { index } => {
                write!(f, "sample {index} is no number, or beyond what the filter takes")
            }
            Self::Lengths => write!(f, "the channels of a block have to be equally long"),
        }
    }
}

impl core::error::Error for Unusable {}

/// What a filter cannot be made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Which part of the configuration.
    pub key: &'static str,
    /// What is allowed.
    pub allowed: &'static str,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has to be {}", self.key, self.allowed)
    }
}

impl core::error::Error for Invalid {}

/// Checks what has to hold, and tells the first thing that does not.
pub(crate) fn require(checks: &[(bool, &'static str, &'static str)]) -> Result<(), Invalid> {
    match checks.iter().find(|(holds, ..)| !holds) {
        Some(&(_, key, allowed)) => Err(Invalid { key, allowed }),
        None => Ok(()),
    }
}

/// What can be saved; each kind has its own `restore`.
pub trait Kept {
    /// Everything it knows, as octets.
    fn save(&self) -> Vec<u8>;
}

/// A filter that learns the echo paths, and takes the echo away.
pub trait Canceller<T: Real>: Kept {
    /// Length of each path, in samples.
    fn length(&self) -> usize;

    /// By how many samples what goes out is later than what came in.
    fn delay(&self) -> usize {
        0
    }

    /// The paths as the filter knows them.
    fn paths(&self) -> Paths<T>;

    /// Cancels and learns by one sample that is known to be usable: finite and within [`Real::LIMIT`].
    ///
    /// Returns the error (10) of the filter as it was before this sample, which is what goes out.
    fn advance(&mut self, far: Stereo<T>, near: Stereo<T>) -> Stereo<T>;

    /// Cancels and learns by one sample.
    ///
    /// # Errors
    /// The sample is not usable.
    fn sample(&mut self, far: Stereo<T>, near: Stereo<T>) -> Result<Stereo<T>, Unusable> {
        if [far.left, far.right, near.left, near.right].into_iter().all(usable) {
            Ok(self.advance(far, near))
        } else {
            Err(Unusable::Sample { index: 0 })
        }
    }

    /// Cancels and learns by a block: `far` and `near` are the loudspeakers' and microphones' samples, `out` is
    /// what goes out.
    ///
    /// # Errors
    /// A sample is not usable, or the lengths differ; then nothing has happened.
    fn block(
        &mut self,
        far: Stereo<&[T]>,
        near: Stereo<&[T]>,
        out: Stereo<&mut [T]>,
    ) -> Result<(), Unusable> {
        let inputs = [far.left, far.right, near.left, near.right];
        let count = out.left.len();
        if out.right.len() != count || inputs.iter().any(|channel| channel.len() != count) {
            return Err(Unusable::Lengths);
        }
        let first = inputs.iter().filter_map(|channel| channel.iter().position(|&v| !usable(v))).min();
        if let Some(index) = first {
            return Err(Unusable::Sample { index });
        }
        for index in 0..count {
            let at = |channels: Stereo<&[T]>| Stereo::new(channels.left[index], channels.right[index]);
            let error = self.advance(at(far), at(near));
            out.left[index] = error.left;
            out.right[index] = error.right;
        }
        Ok(())
    }
}

/// Whether a filter can calculate with a sample; what is no number fails every comparison.
fn usable<T: Real>(value: T) -> bool {
    value.magnitude() <= T::LIMIT
}
