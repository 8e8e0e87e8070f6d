//! What a filter calculates with.

use core::fmt::Debug;
use core::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A number that a filter keeps, in whichever arithmetic.
pub trait Number: Copy + Debug + PartialOrd + Neg<Output = Self> + Send + Sync + 'static {
    /// Nothing.
    const ZERO: Self;
    /// Which arithmetic it is, in saved states.
    const NAME: u64;
    /// Octets of [`Number::bits`] that are used.
    const OCTETS: usize;

    /// Without its sign.
    fn magnitude(self) -> Self;
    /// Its representation, which [`Number::from_bits`] reads.
    fn bits(self) -> u64;
    /// The number that is represented.
    fn from_bits(bits: u64) -> Self;

    /// The larger of two numbers.
    fn larger(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

/// A number that a filter calculates with, with a point that floats.
pub trait Real:
    Number
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
{
    /// What a sum of squares has to exceed to count as sound; what is smaller slows processors down.
    const SILENCE: Self;
    /// The largest sample that is taken: its square, summed over any memory, still is a number.
    const LIMIT: Self;

    /// The nearest number.
    fn from_f64(value: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// Half of it.
    fn half(self) -> Self;
}

macro_rules! float {
    ($type:ty, $silence:expr, $limit:expr, $octets:expr, $bits:ty) => {
        impl Number for $type {
            const ZERO: Self = 0.0;
            const NAME: u64 = $octets;
            const OCTETS: usize = $octets;

            fn magnitude(self) -> Self {
                self.abs()
            }

            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }

            fn from_bits(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }
        }

        impl Real for $type {
            const SILENCE: Self = $silence;
            const LIMIT: Self = $limit;

            fn from_f64(value: f64) -> Self {
                value as $type
            }

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn half(self) -> Self {
                0.5 * self
            }
        }
    };
}

float!(f32, 1e-24, 1e6, 4, u32);
float!(f64, 1e-200, 1e6, 8, u64);

/// Words of up to 32 bits; where the point stands is their user's affair.
impl Number for i32 {
    const ZERO: Self = 0;
    const NAME: u64 = 32;
    const OCTETS: usize = 4;

    fn magnitude(self) -> Self {
        self.abs()
    }

    fn bits(self) -> u64 {
        u64::from(self.cast_unsigned())
    }

    fn from_bits(bits: u64) -> Self {
        (bits as u32).cast_signed()
    }
}
