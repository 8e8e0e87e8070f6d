//! Named random streams.
//!
//! Every component that needs chance draws from a stream of its own, named after what it is
//! (`"link bottleneck ab loss"`) and derived from the run's seed. A probe or a flow more, elsewhere, changes
//! no draw here; and the same replication number gives the same draws in every cell of a sweep (common
//! random numbers).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use voxpath_units::{Prob, Span};

/// Root of all streams of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    seed: u64,
    replication: u64,
}

/// One component's source of chance.
#[derive(Debug, Clone)]
pub struct Stream(Xoshiro256PlusPlus);

impl Seed {
    /// The root for one replication of a scenario with this seed.
    pub const fn new(seed: u64, replication: u64) -> Self {
        Self { seed, replication }
    }

    /// The stream of this name.
    pub fn stream(self, name: &str) -> Stream {
        let mut state = 0;
        for part in [self.seed, self.replication, fnv1a(name.as_bytes())] {
            state = split_mix(state ^ part);
        }
        // `seed_from_u64` expands by SplitMix64, as xoshiro's authors ask for.
        Stream(Xoshiro256PlusPlus::seed_from_u64(state))
    }
}

impl Stream {
    /// A uniform draw from all 64-bit values.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Whether an event of this probability happens. One draw, whatever the probability.
    pub fn happens(&mut self, p: Prob) -> bool {
        self.below(p.threshold())
    }

    /// Whether a draw falls below `threshold` of 2^64; see [`Prob::threshold`].
    pub fn below(&mut self, threshold: u128) -> bool {
        u128::from(self.bits()) < threshold
    }

    /// A uniform draw from between 0 and 1, both left out, for samplers alone.
    pub fn unit(&mut self) -> f64 {
        // 53 bits, shifted by half a step: never zero, whose logarithm is infinite.
        ((self.bits() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// A draw from the exponential distribution with this mean.
    pub fn exponential(&mut self, mean: Span) -> Span {
        Span::from_secs_f64(-libm::log(self.unit()) * mean.as_secs_f64())
    }

    /// A draw from the normal distribution of mean 0 and variance 1 (Box and Muller 1958; one of the two values).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }

    /// A uniform span from zero up to, not including, `limit`; zero if `limit` is.
    pub fn span_below(&mut self, limit: Span) -> Span {
        // Multiply-shift: the bias is below 2^-64 of the range's length, far under a nanosecond.
        Span::from_nanos(((u128::from(self.bits()) * u128::from(limit.as_nanos())) >> 64) as u64)
    }
}

/// FNV-1a, 64 bits: tells names apart; [`split_mix`] does the mixing.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// SplitMix64's step and output function (Steele, Lea, Flood 2014).
pub(crate) fn split_mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_replication_and_name_alone() {
        let first = |seed, replication, name| Seed::new(seed, replication).stream(name).bits();
        assert_eq!(first(1, 0, "a"), first(1, 0, "a"));
        assert_ne!(first(1, 0, "a"), first(2, 0, "a"));
        assert_ne!(first(1, 0, "a"), first(1, 1, "a"));
        assert_ne!(first(1, 0, "a"), first(1, 0, "b"));
        assert_ne!(first(1, 2, "a"), first(2, 1, "a"), "seed and replication are not interchangeable");
    }

    #[test]
    fn streams_are_frozen() {
        // Published results depend on these numbers: a change is a new major version of every result.
        let mut stream = Seed::new(1, 0).stream("link bottleneck ab loss");
        assert_eq!([stream.bits(), stream.bits()], FROZEN);
    }
    const FROZEN: [u64; 2] = [9_329_634_733_501_388_393, 14_504_895_710_254_900_080];

    #[test]
    fn frequencies_lie_inside_their_binomial_interval() {
        let mut stream = Seed::new(7, 0).stream("test");
        for p in [0.0, 0.001, 0.1, 0.5, 1.0] {
            let prob = Prob::new(p).expect("a probability");
            let n = 1_000_000;
            let hits = (0..n).filter(|_| stream.happens(prob)).count() as f64;
            let sigma = libm::sqrt(f64::from(n) * p * (1.0 - p));
            assert!((hits - f64::from(n) * p).abs() <= 4.0 * sigma, "{p}: {hits}");
        }
    }
}
