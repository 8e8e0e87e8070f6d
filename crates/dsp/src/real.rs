//! What a filter calculates with.

use core::fmt::Debug;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A number that a filter calculates with.
pub trait Real:
    Copy
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + Send
    + Sync
    + 'static
{
    /// Nothing.
    const ZERO: Self;
    /// What a sum of squares has to exceed to count as sound; what is smaller slows processors down.
    const SILENCE: Self;
    /// The largest sample that is taken: its square, summed over any memory, still is a number.
    const LIMIT: Self;
    /// Which arithmetic it is, in saved states.
    const NAME: u64;
    /// Octets of [`Real::bits`] that are used.
    const OCTETS: usize;

    /// The nearest number.
    fn from_f64(value: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// Without its sign.
    fn magnitude(self) -> Self;
    /// Half of it.
    fn half(self) -> Self;
    /// Its representation, which [`Real::from_bits`] reads.
    fn bits(self) -> u64;
    /// The number that is represented.
    fn from_bits(bits: u64) -> Self;

    /// The larger of two numbers.
    fn larger(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

macro_rules! float {
    ($type:ty, $silence:expr, $limit:expr, $octets:expr, $bits:ty) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const SILENCE: Self = $silence;
            const LIMIT: Self = $limit;
            const NAME: u64 = $octets;
            const OCTETS: usize = $octets;

            fn from_f64(value: f64) -> Self {
                value as $type
            }

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn magnitude(self) -> Self {
                self.abs()
            }

            fn half(self) -> Self {
                0.5 * self
            }

            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }

            fn from_bits(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }
        }
    };
}

float!(f32, 1e-24, 1e6, 4, u32);
float!(f64, 1e-200, 1e6, 8, u64);
