//! Bit rates, and the time that bytes take at a rate.

use crate::decimal::{ParseError, Quantity};
use crate::time::Span;
use core::fmt;
use core::str::FromStr;

/// A rate in bits per second; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// The part of a nanosecond that a serialiser still owes, as a numerator over the rate.
///
/// Without it a gigabit link would round every packet to the nanosecond and drift from the rate asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Remainder(u64);

const RATE: Quantity = Quantity {
    expected: "a rate",
    example: "5 Mbit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
    ],
    smallest: "bit/s",
    limit: crate::check::FASTEST_BPS,
    limit_text: "100 Tbit/s",
};

impl Remainder {
    /// Nothing owed.
    pub const NONE: Self = Self(0);
}

impl Rate {
    /// `bits` per second, `None` for zero.
    pub const fn from_bits_per_sec(bits: u64) -> Option<Self> {
        match bits {
            0 => None,
            _ => Some(Self(bits)),
        }
    }

    /// Bits per second.
    pub const fn as_bits_per_sec(self) -> u64 {
        self.0
    }

    /// How long `bytes` take, carrying the sub-nanosecond remainder from one call to the next.
    pub fn time_for(self, bytes: u32, remainder: &mut Remainder) -> Span {
        // At most 2^35 bits × 10^9 ns/s: beyond 64 bits only for packets above two gigabytes.
        let owed = u64::from(bytes) * 8 * 1_000_000_000 + remainder.0;
        *remainder = Remainder(owed % self.0);
        Span::from_nanos(owed / self.0)
    }

    /// How long what takes `left`, and `remainder` beyond it, at this rate takes at another one.
    pub fn time_left_at(self, other: Self, left: Span, remainder: &mut Remainder) -> Span {
        let owed = u128::from(left.as_nanos()) * u128::from(self.0) + u128::from(remainder.0);
        let rate = u128::from(other.0);
        // Less than the divisor, which has 64 bits.
        *remainder = Remainder((owed % rate) as u64);
        Span::from_nanos(u64::try_from(owed / rate).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RATE.print(self.0, f)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        RATE.parse_positive(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_remainder_keeps_the_long_run_rate_exact() {
        let rate: Rate = "3 Gbit/s".parse().expect("a rate");
        let mut remainder = Remainder::default();
        let total: u64 = (0..3_000_000).map(|_| rate.time_for(1500, &mut remainder).as_nanos()).sum();
        assert_eq!(total, 12_000_000_000);
    }

    #[test]
    fn what_is_left_keeps_its_bits_at_another_rate() {
        let rate = |text: &str| text.parse::<Rate>().expect("a rate");
        let mut remainder = Remainder::default();
        // 1500 bytes at 7 Gbit/s are 1714 ns and 2 bits·Gbit/s; after 714 ns 7000 bits are left, and those.
        let took = rate("7 Gbit/s").time_for(1500, &mut remainder);
        assert_eq!(took.as_nanos(), 1714);
        let left = took - Span::from_nanos(714);
        let left = rate("7 Gbit/s").time_left_at(rate("1 Mbit/s"), left, &mut remainder);
        assert_eq!(left.as_nanos(), 7_002_000);
        assert_eq!(remainder, Remainder::NONE);
        let longest = rate("100 Tbit/s").time_left_at(rate("1 bit/s"), Span::MAX, &mut remainder);
        assert_eq!(longest, Span::MAX);
    }

    #[test]
    fn rates_are_parsed_and_printed() {
        let rate: Rate = "1.5 Mbit/s".parse().expect("a rate");
        assert_eq!(rate.as_bits_per_sec(), 1_500_000);
        assert_eq!(rate.to_string(), "1.5 Mbit/s");
        assert!("0 bit/s".parse::<Rate>().expect_err("zero").to_string().contains("above zero"));
        assert!("5 MB/s".parse::<Rate>().expect_err("bytes").to_string().contains("Mbit/s"));
    }
}
