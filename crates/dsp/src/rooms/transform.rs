//! Windowed Fourier transforms of two channels at once: the left one is the real part, the right one the imaginary, as in
//! the widely linear mapping.

use alloc::vec;
use alloc::vec::Vec;

use crate::canceller::Stereo;
use crate::real::Real;

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Complex<T> {
    pub(super) re: T,
    pub(super) im: T,
}

impl<T: Real> Complex<T> {
    pub(super) const ZERO: Self = Self { re: T::ZERO, im: T::ZERO };

    pub(super) fn power(self) -> T {
        self.re * self.re + self.im * self.im
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }

    pub(super) fn times(self, gain: T) -> Self {
        Self { re: gain * self.re, im: gain * self.im }
    }
}

/// The two channels' values in a band.
pub(super) type Pair<T> = [Complex<T>; 2];

/// Windows overlap so often: a Hann window's band is then as wide as what its frames can tell apart.
pub(super) const OVERLAP: usize = 4;

/// Analysis and synthesis by Hann windows that overlap by three quarters; together they leave a signal as it is.
#[derive(Clone, Debug)]
pub(super) struct Transform<T> {
    size: usize,
    window: Vec<T>,
    twiddles: Vec<Complex<T>>,
    work: Vec<Complex<T>>,
}

impl<T: Real> Transform<T> {
    /// Of frames of `size` samples, a power of two.
    pub(super) fn new(size: usize) -> Self {
        let angle = |index: usize| core::f64::consts::TAU * index as f64 / size as f64;
        Self {
            size,
            window: (0..size).map(|i| T::from_f64(0.5 - 0.5 * libm::cos(angle(i)))).collect(),
            twiddles: (0..size / 2)
                .map(|i| Complex {
                    re: T::from_f64(libm::cos(angle(i))),
                    im: T::from_f64(-libm::sin(angle(i))),
                })
                .collect(),
            work: vec![Complex::ZERO; size],
        }
    }

    /// Bands from 0 Hz to half the rate, of both channels' last samples.
    pub(super) fn analyse(&mut self, samples: Stereo<&[T]>, bands: &mut [Pair<T>]) {
        for (index, value) in self.work.iter_mut().enumerate() {
            let weight = self.window[index];
            *value = Complex { re: weight * samples.left[index], im: weight * samples.right[index] };
        }
        self.forward();
        for (band, [left, right]) in bands.iter_mut().enumerate() {
            let (a, b) = (self.work[band], self.work[(self.size - band) % self.size]);
            *left = Complex { re: (a.re + b.re).half(), im: (a.im - b.im).half() };
            *right = Complex { re: (a.im + b.im).half(), im: (b.re - a.re).half() };
        }
    }

    /// Adds the bands' samples to what overlaps them.
    pub(super) fn synthesise(&mut self, bands: &[Pair<T>], samples: Stereo<&mut [T]>) {
        for (band, &[left, right]) in bands.iter().enumerate() {
            // The forward transform of the conjugate is the conjugate of the inverse one.
            self.work[band] = Complex { re: left.re - right.im, im: -(left.im + right.re) };
            if band > 0 && band < self.size / 2 {
                self.work[self.size - band] = Complex { re: left.re + right.im, im: left.im - right.re };
            }
        }
        self.forward();
        // The windows' squares sum to 3/8 of the overlap.
        let scale = T::from_f64(8.0 / 3.0 / (OVERLAP * self.size) as f64);
        for (index, value) in self.work.iter().enumerate() {
            let weight = scale * self.window[index];
            samples.left[index] += weight * value.re;
            samples.right[index] -= weight * value.im;
        }
    }

    /// The discrete Fourier transform, decimated in time (Cooley and Tukey 1965).
    fn forward(&mut self) {
        let shift = usize::BITS - self.size.trailing_zeros();
        for index in 1..self.size {
            let mirrored = index.reverse_bits() >> shift;
            if index < mirrored {
                self.work.swap(index, mirrored);
            }
        }
        let mut half = 1;
        while half < self.size {
            let stride = self.size / (2 * half);
            for pair in self.work.chunks_exact_mut(2 * half) {
                let (even, odd) = pair.split_at_mut(half);
                for (index, (a, b)) in even.iter_mut().zip(odd).enumerate() {
                    let turn = self.twiddles[index * stride];
                    let turned =
                        Complex { re: b.re * turn.re - b.im * turn.im, im: b.re * turn.im + b.im * turn.re };
                    *b = a.minus(turned);
                    *a = Complex { re: a.re + turned.re, im: a.im + turned.im };
                }
            }
            half *= 2;
        }
    }
}
