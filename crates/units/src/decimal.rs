//! Exact decimal numbers with a unit: the grammar shared by all quantities.
//!
//! `NUMBER SPACE? UNIT`, where `NUMBER` is `[0-9]+ [. [0-9]+]? [e [+-]? [0-9]+]?`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// Why a text is not the quantity that it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// What was given.
    pub text: String,
    /// What the text should have been, e.g. "a duration".
    pub expected: &'static str,
    /// An example that would have been accepted.
    pub example: &'static str,
    /// What is wrong with it.
    pub kind: ParseErrorKind,
}

/// The ways in which a quantity can be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The text does not begin with a decimal number.
    NotANumber,
    /// A number without its unit.
    MissingUnit {
        /// The units that are allowed.
        allowed: Vec<&'static str>,
    },
    /// A unit of another quantity, or of none.
    UnknownUnit {
        /// What stood where the unit belongs.
        unit: String,
        /// The units that are allowed.
        allowed: Vec<&'static str>,
    },
    /// Below zero.
    Negative,
    /// Zero, where only more makes sense.
    Zero,
    /// Beyond what the quantity can hold.
    TooLarge {
        /// The largest value, as a person would write it.
        limit: &'static str,
    },
    /// Not a whole number of the smallest unit.
    TooFine {
        /// The smallest unit.
        unit: &'static str,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, expected, example, kind } = self;
        match kind {
            ParseErrorKind::NotANumber => {
                write!(f, "{text:?} is not {expected}: write a number and a unit, such as {example:?}")
            }
            ParseErrorKind::MissingUnit { allowed } => {
                write!(f, "{text:?} has no unit: write {expected}, such as {example:?} (")?;
                write_list(f, allowed)?;
                f.write_str(")")
            }
            ParseErrorKind::UnknownUnit { unit, allowed } => {
                write!(f, "{text:?} is not {expected}: the unit {unit:?} is not one of ")?;
                write_list(f, allowed)
            }
            ParseErrorKind::Negative => write!(f, "{text:?} is negative: {expected} is zero or more"),
            ParseErrorKind::Zero => write!(f, "{text:?} is zero: {expected} is above zero"),
            ParseErrorKind::TooLarge { limit } => {
                write!(f, "{text:?} is too large: {expected} is at most {limit}")
            }
            ParseErrorKind::TooFine { unit } => {
                write!(f, "{text:?} is finer than {unit}, the smallest step of {expected}")
            }
        }
    }
}

impl core::error::Error for ParseError {}

fn write_list(f: &mut fmt::Formatter<'_>, items: &[&str]) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        f.write_str(item)?;
    }
    Ok(())
}

/// One quantity's vocabulary.
pub(crate) struct Quantity {
    pub(crate) expected: &'static str,
    pub(crate) example: &'static str,
    /// Name of a unit and its size in smallest units.
    pub(crate) units: &'static [(&'static str, u64)],
    pub(crate) smallest: &'static str,
    pub(crate) limit: u64,
    pub(crate) limit_text: &'static str,
}

impl Quantity {
    fn error(&self, text: &str, kind: ParseErrorKind) -> ParseError {
        ParseError { text: text.to_string(), expected: self.expected, example: self.example, kind }
    }

    fn allowed(&self) -> Vec<&'static str> {
        self.units.iter().map(|&(name, _)| name).collect()
    }

    /// The value in smallest units.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let fail = |kind| Err(self.error(text, kind));
        let trimmed = text.trim();
        if let Some(rest) = trimmed.strip_prefix('-')
            && Number::parse(rest).is_some()
        {
            return fail(ParseErrorKind::Negative);
        }
        let Some((number, rest)) = Number::parse(trimmed) else {
            return fail(ParseErrorKind::NotANumber);
        };
        let unit = rest.trim_start();
        if unit.is_empty() {
            return fail(ParseErrorKind::MissingUnit { allowed: self.allowed() });
        }
        let Some(&(_, scale)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return fail(ParseErrorKind::UnknownUnit { unit: unit.to_string(), allowed: self.allowed() });
        };
        match number.times(scale) {
            Ok(value) if value <= self.limit => Ok(value),
            Ok(_) | Err(Inexact::TooLarge) => fail(ParseErrorKind::TooLarge { limit: self.limit_text }),
            Err(Inexact::TooFine) => fail(ParseErrorKind::TooFine { unit: self.smallest }),
        }
    }

    /// As [`Quantity::parse`], for a quantity that cannot be zero.
    pub(crate) fn parse_positive(&self, text: &str) -> Result<u64, ParseError> {
        match self.parse(text)? {
            0 => Err(self.error(text, ParseErrorKind::Zero)),
            value => Ok(value),
        }
    }

    /// Prints `value` in the largest unit that needs at most three decimals, else in the smallest one.
    pub(crate) fn print(&self, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |scale: u64| {
            let thousandth = scale / 1000;
            value >= scale
                && (value.is_multiple_of(scale)
                    || (thousandth > 0 && scale.is_multiple_of(1000) && value.is_multiple_of(thousandth)))
        };
        let (name, scale) = self
            .units
            .iter()
            .copied()
            .filter(|&(_, scale)| fits(scale))
            .max_by_key(|&(_, scale)| scale)
            .unwrap_or((self.smallest, 1));
        let (whole, rest) = (value / scale, value % scale);
        if rest == 0 {
            return write!(f, "{whole} {name}");
        }
        let digits = alloc::format!("{:03}", rest / (scale / 1000));
        write!(f, "{whole}.{} {name}", digits.trim_end_matches('0'))
    }
}

/// `digits × 10^exponent`, exactly as written.
struct Number {
    digits: u128,
    exponent: i32,
}

enum Inexact {
    TooLarge,
    TooFine,
}

impl Number {
    /// More significant digits than any quantity needs; longer texts are refused as too large.
    const MAX_DIGITS: usize = 30;

    fn parse(text: &str) -> Option<(Self, &str)> {
        let digits_at = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits_at(text);
        if whole == 0 {
            return None;
        }
        let mut end = whole;
        let mut fraction = "";
        if let Some(after) = text[end..].strip_prefix('.') {
            let n = digits_at(after);
            if n == 0 {
                return None;
            }
            fraction = &after[..n];
            end += 1 + n;
        }
        let mut exponent: i32 = 0;
        if let Some(after) = text[end..].strip_prefix(['e', 'E']) {
            let (sign, digits) = match after.as_bytes().first() {
                Some(b'-') => (-1, &after[1..]),
                Some(b'+') => (1, &after[1..]),
                _ => (1, after),
            };
            let n = digits_at(digits);
            // "5 eggs" is a number and a wrong unit, not a broken exponent.
            if n > 0 {
                exponent = sign * digits[..n].parse::<i32>().unwrap_or(i32::MAX / 2);
                end += 1 + (after.len() - digits.len()) + n;
            }
        }
        let whole_text = text[..whole].trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        let mut digits: u128 = 0;
        for b in whole_text.bytes().chain(fraction.bytes()) {
            digits = digits.saturating_mul(10).saturating_add(u128::from(b - b'0'));
        }
        if whole_text.len() + fraction.len() > Self::MAX_DIGITS {
            digits = u128::MAX;
        }
        let exponent = exponent.saturating_sub(i32::try_from(fraction.len()).unwrap_or(i32::MAX));
        Some((Self { digits, exponent }, &text[end..]))
    }

    fn times(&self, scale: u64) -> Result<u64, Inexact> {
        if self.digits == 0 {
            return Ok(0);
        }
        if self.digits == u128::MAX {
            return Err(if self.exponent <= -(Self::MAX_DIGITS as i32) {
                Inexact::TooFine
            } else {
                Inexact::TooLarge
            });
        }
        let mut value = self.digits.checked_mul(u128::from(scale)).ok_or(Inexact::TooLarge)?;
        for _ in 0..self.exponent.clamp(0, 64) {
            value = value.checked_mul(10).ok_or(Inexact::TooLarge)?;
        }
        for _ in self.exponent.clamp(-64, 0)..0 {
            if !value.is_multiple_of(10) {
                return Err(Inexact::TooFine);
            }
            value /= 10;
        }
        u64::try_from(value).map_err(|_| Inexact::TooLarge)
    }
}
