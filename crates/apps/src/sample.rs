//! Random times and sizes, from a named stream of bits.
//!
//! Every law is drawn by inversion or by Box and Muller's method through `libm`, so that the same stream gives the same
//! values on every machine.

use serde::{Deserialize, Serialize};
use voxpath_net::Stream;
use voxpath_net::element::Draw;
use voxpath_units::Span;
use voxpath_units::check::{Check, LONGEST_NS};

/// How long something lasts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Law {
    /// Always the same.
    Constant {
        /// So long.
        mean_ns: u64,
    },
    /// Exponential.
    Exponential {
        /// Its mean.
        mean_ns: u64,
    },
    /// Pareto: heavy-tailed for a `shape` below 2, and without a mean at 1 and below.
    Pareto {
        /// Its mean.
        mean_ns: u64,
        /// The tail's exponent, above 1.
        shape: f64,
    },
}

impl Law {
    /// The mean.
    pub const fn mean(&self) -> Span {
        match *self {
            Self::Constant { mean_ns } | Self::Exponential { mean_ns } | Self::Pareto { mean_ns, .. } => {
                Span::from_nanos(mean_ns)
            }
        }
    }

    /// What keeps it from being drawn from.
    pub fn check(&self, check: &mut Check<'_>) {
        if let Self::Pareto { shape, .. } = *self {
            let has_mean = shape > 1.0 && shape.is_finite();
            check.at("shape").need(has_mean, "is above 1: below there is no mean");
        }
        check.at("mean_ns").span(self.mean().as_nanos());
    }

    /// Any law, of a mean above zero.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        let mean_ns = 1_000_000 + 3 * draw.span();
        match draw.below(3) {
            0 => Self::Constant { mean_ns },
            1 => Self::Exponential { mean_ns },
            _ => Self::Pareto { mean_ns, shape: 1.1 + 1.9 * draw.unit() },
        }
    }

    /// One value.
    pub fn draw(&self, stream: &mut Stream) -> Span {
        let mean = self.mean().as_secs_f64();
        let seconds = match *self {
            Self::Constant { mean_ns } => return Span::from_nanos(mean_ns),
            Self::Exponential { .. } => -mean * libm::log(open_unit(stream)),
            Self::Pareto { shape, .. } => {
                let scale = mean * (shape - 1.0) / shape;
                scale * libm::pow(open_unit(stream), -1.0 / shape)
            }
        };
        Span::from_secs_f64(seconds).min(Span::from_nanos(LONGEST_NS))
    }
}

/// A lognormal size, drawn again until it lies in `[least, most)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogNormal {
    mu: f64,
    sigma: f64,
    least: f64,
    most: f64,
}

impl LogNormal {
    /// Of this mean and standard deviation before it is cut, in octets.
    pub fn new(mean: u64, deviation: u64, least: u64, most: u64) -> Self {
        let (mean, deviation) = (mean as f64, deviation as f64);
        let variance = libm::log1p((deviation / mean) * (deviation / mean));
        Self {
            mu: libm::log(mean) - variance / 2.0,
            sigma: libm::sqrt(variance),
            least: least as f64,
            most: most as f64,
        }
    }

    /// The share of draws that lies inside of the bounds.
    pub fn share(&self) -> f64 {
        self.below(self.most) - self.below(self.least)
    }

    /// The probability of less than `x` before it is cut.
    fn below(&self, x: f64) -> f64 {
        if self.sigma == 0.0 {
            return if libm::log(x) > self.mu { 1.0 } else { 0.0 };
        }
        libm::erfc((self.mu - libm::log(x)) / (self.sigma * core::f64::consts::SQRT_2)) / 2.0
    }

    /// One size.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let size = libm::exp(self.mu + self.sigma * normal(stream));
            if (self.least..self.most).contains(&size) {
                return size as u64;
            }
        }
    }
}

/// A Pareto number, drawn again until it lies below `bound`, from which the scale is taken away and the fraction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The tail's exponent, above zero.
    pub shape: f64,
    /// The least value, above zero.
    pub scale: f64,
    /// Every value lies below; above the scale.
    pub bound: f64,
}

impl Count {
    /// The share of draws that lies below the bound.
    pub fn share(&self) -> f64 {
        1.0 - libm::pow(self.scale / self.bound, self.shape)
    }

    /// One number.
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        loop {
            let value = self.scale * libm::pow(open_unit(stream), -1.0 / self.shape);
            if value < self.bound {
                return (value - self.scale) as u32;
            }
        }
    }
}

/// Uniform between zero and one, neither of them included.
fn open_unit(stream: &mut Stream) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    ((stream.bits() >> 11) as f64 + 0.5) * STEP
}

/// Standard normal (Box and Muller 1958).
fn normal(stream: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(open_unit(stream)));
    radius * libm::cos(core::f64::consts::TAU * open_unit(stream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use voxpath_net::Seed;

    const N: usize = 400_000;

    fn stream() -> Stream {
        Seed::new(5, 0).stream("sampler")
    }

    /// Mean of the values and its standard error.
    fn mean(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        (mean, libm::sqrt(variance / n))
    }

    fn assert_mean(values: &[f64], expected: f64) {
        let (seen, error) = mean(values);
        assert!((seen - expected).abs() < 4.0 * error, "{seen} is not {expected} (error {error})");
    }

    fn phi(x: f64) -> f64 {
        libm::erfc(-x / core::f64::consts::SQRT_2) / 2.0
    }

    #[test]
    fn a_lognormal_size_has_the_moments_of_the_cut_law() {
        for (mean, deviation, least) in [(10_710, 25_032, 100), (7_758, 126_168, 50)] {
            let most = 2_000_000;
            let law = LogNormal::new(mean, deviation, least, most);
            let mut stream = stream();
            let sizes: Vec<f64> = (0..N).map(|_| law.draw(&mut stream) as f64).collect();
            let (low, high) = (least as f64, most as f64);
            assert!(sizes.iter().all(|&size| (low..high).contains(&size)));
            // E[X; a < X < b] = exp(mu + s^2 / 2) (phi(z_b - s) - phi(z_a - s)); whole octets are half of one less.
            let z = |x: f64| (libm::log(x) - law.mu) / law.sigma;
            let inside = phi(z(high)) - phi(z(low));
            let moment = |order: f64| {
                let shift = order * law.sigma;
                let whole = libm::exp(order * law.mu + shift * shift / 2.0);
                whole * (phi(z(high) - shift) - phi(z(low) - shift)) / inside
            };
            assert!((law.share() - inside).abs() < 1e-12);
            assert_mean(&sizes, moment(1.0) - 0.5);
            let squares: Vec<f64> = sizes.iter().map(|size| (size + 0.5) * (size + 0.5)).collect();
            assert_mean(&squares, moment(2.0));
        }
    }

    #[test]
    fn the_number_of_objects_has_the_probabilities_of_the_cut_law() {
        let law = Count { shape: 1.1, scale: 2.0, bound: 55.0 };
        let mut stream = stream();
        let mut seen = [0_u32; 53];
        for _ in 0..N {
            seen[law.draw(&mut stream) as usize] += 1;
        }
        let below = |x: f64| 1.0 - libm::pow(law.scale / x, law.shape);
        let whole = law.share();
        for (objects, &hits) in seen.iter().enumerate() {
            let from = law.scale + objects as f64;
            let p = (below(from + 1.0) - below(from)) / whole;
            let sigma = libm::sqrt(N as f64 * p * (1.0 - p));
            assert!((f64::from(hits) - N as f64 * p).abs() < 4.5 * sigma, "{objects}: {hits}");
        }
    }

    #[test]
    fn times_have_their_means_and_their_tails() {
        let mean_ns = Span::from_secs(30).as_nanos();
        let draws = |law: Law| {
            let mut stream = stream();
            (0..N).map(move |_| law.draw(&mut stream).as_secs_f64())
        };
        let exponential: Vec<f64> = draws(Law::Exponential { mean_ns }).collect();
        assert_mean(&exponential, 30.0);
        let squares: Vec<f64> = exponential.iter().map(|x| x * x).collect();
        assert_mean(&squares, 1800.0);
        // A Pareto law of shape 3 has a variance; its median is scale * 2^(1/3), its mean 1.5 scale.
        let pareto: Vec<f64> = draws(Law::Pareto { mean_ns, shape: 3.0 }).collect();
        assert_mean(&pareto, 30.0);
        let median = 20.0 * libm::cbrt(2.0);
        let below: Vec<f64> = pareto.iter().map(|&x| f64::from(u8::from(x < median))).collect();
        assert_mean(&below, 0.5);
        assert!(draws(Law::Constant { mean_ns }).take(3).all(|x| x == 30.0));
    }
}
