//! The last samples of both channels.

use alloc::vec;
use alloc::vec::Vec;

use crate::canceller::Stereo;
use crate::dcd::width;
use crate::real::{Number, Real};
use crate::state::Archive;

/// How many sums a scalar product is split into. It decides the order of summation, and so the last bits.
const LANES: usize = 8;

/// The last samples, newest first, both channels side by side in memory.
///
/// Every sample is kept twice, a length apart, so that the window is always one slice; and once more where it stays until
/// it is replaced, for what turns as the window does.
#[derive(Clone, Debug)]
pub struct Window<T> {
    length: usize,
    start: usize,
    left: Vec<T>,
    right: Vec<T>,
    around: [Vec<T>; 2],
}

impl<T: Number> Window<T> {
    /// A window of `length` samples of silence.
    #[must_use]
    pub fn new(length: usize) -> Self {
        let silence = vec![T::ZERO; 2 * length];
        let around = vec![T::ZERO; width(length)];
        Self { length, start: 0, left: silence.clone(), right: silence, around: [around.clone(), around] }
    }

    /// Takes the newest sample, drops the oldest.
    pub fn push(&mut self, sample: Stereo<T>) {
        self.start = if self.start == 0 { self.length - 1 } else { self.start - 1 };
        let [left, right] = &mut self.around;
        for (channel, around, value) in
            [(&mut self.left, left, sample.left), (&mut self.right, right, sample.right)]
        {
            channel[self.start] = value;
            channel[self.start + self.length] = value;
            around[self.start] = value;
        }
    }

    pub(crate) fn visit(&mut self, archive: &mut impl Archive) {
        archive.size(&mut self.start);
        self.start = self.start.min(self.length - 1);
        archive.numbers(&mut self.left);
        archive.numbers(&mut self.right);
        for around in &mut self.around {
            archive.numbers(around);
        }
    }

    /// The left channel, newest sample first.
    #[must_use]
    pub fn left(&self) -> &[T] {
        &self.left[self.start..self.start + self.length]
    }

    /// The right channel, newest sample first.
    #[must_use]
    pub fn right(&self) -> &[T] {
        &self.right[self.start..self.start + self.length]
    }

    /// Both channels, each sample at its place: that of the newest goes down by one for each, around the end. Padded
    /// ([`width`]).
    #[must_use]
    pub fn around(&self) -> [&[T]; 2] {
        self.around.each_ref().map(Vec::as_slice)
    }

    /// The newest sample.
    #[must_use]
    pub fn newest(&self) -> Stereo<T> {
        Stereo::new(self.left[self.start], self.right[self.start])
    }
}

/// The scalar product, summed in an order that depends on the length alone.
#[must_use]
pub fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::ZERO; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a.remainder().iter().zip(b.remainder());
    let rest = rest.fold(T::ZERO, |sum, (&a, &b)| sum + a * b);
    for (a, b) in a.zip(b) {
        for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.into_iter().fold(rest, |total, sum| total + sum)
}
