//! Probabilities.

use core::fmt;
use core::str::FromStr;

use crate::decimal::{ParseError, Quantity};

/// A probability, between 0 and 1.
///
/// Sampling compares a uniform 64-bit draw with [`Prob::threshold`], so that no draw passes through
/// floating point.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Prob(f64);

/// Written in per cent or parts per million, held in units of 10^-15.
const PROB: Quantity = Quantity {
    expected: "a probability",
    example: "0.3 %",
    units: &[("%", 10_000_000_000_000), ("ppm", 1_000_000_000)],
    smallest: "10^-15",
    limit: 1_000_000_000_000_000,
    limit_text: "100 %",
};

impl Prob {
    /// What never happens.
    pub const NEVER: Self = Self(0.0);

    /// The probability `p`, `None` unless 0 ≤ p ≤ 1.
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Self(p))
    }

    /// The value, between 0 and 1.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The count of 64-bit draws, out of 2^64, for which the event happens: it does where
    /// `u128::from(draw) < threshold`.
    pub fn threshold(self) -> u128 {
        // Exact at both ends: 2^64 is a power of two, and 1.0 × 2^64 exceeds every draw.
        (self.0 * 18_446_744_073_709_551_616.0) as u128
    }
}

impl fmt::Display for Prob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0 * 100.0)
    }
}

impl FromStr for Prob {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        PROB.parse(text).map(|parts| Self(parts as f64 / 1e15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_percentage_is_the_nearest_double() {
        assert_eq!("0.3 %".parse(), Ok(Prob(0.003)));
        assert_eq!("100 %".parse(), Ok(Prob(1.0)));
        assert_eq!("50 ppm".parse(), Ok(Prob(0.000_05)));
    }

    #[test]
    fn a_bare_number_or_more_than_all_is_refused() {
        assert!("0.003".parse::<Prob>().expect_err("no unit").to_string().contains("has no unit"));
        assert!("101 %".parse::<Prob>().expect_err("too large").to_string().contains("100 %"));
    }

    #[test]
    fn thresholds_are_exact_at_both_ends() {
        assert_eq!(Prob(0.0).threshold(), 0);
        assert_eq!(Prob(1.0).threshold(), 1 << 64);
        assert_eq!(Prob(0.5).threshold(), 1 << 63);
    }
}
