//! Virtual time: an integer count of nanoseconds from the start of a run.
//!
//! [`Time`] is a point, [`Span`] a distance between two points; neither can be negative. Wall-clock
//! time is another type in another crate: the two are never mixed.

use crate::decimal::{ParseError, Quantity};
use core::fmt;
use core::num::NonZero;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use core::str::FromStr;

/// A point in virtual time: nanoseconds from the run's start.
///
/// One more than that is stored, never zero: an optional point, of which each connection has dozens, is as small as a point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(NonZero<u64>);

const _: () = assert!(size_of::<Option<Time>>() == size_of::<Time>());

/// A distance in time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

const SPAN: Quantity = Quantity {
    expected: "a duration",
    example: "20 ms",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    smallest: "ns",
    // A tenth of the clock's range: a sum of a few spans stays inside it.
    limit: u64::MAX / 10,
    limit_text: "500000 h",
};

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(NonZero::<u64>::MIN);
    /// The end of the clock's range, about 584 years in.
    pub const MAX: Self = Self(NonZero::<u64>::MAX);

    /// The point `ns` nanoseconds after the start of the run, or the end of the clock's range if that is earlier.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(NonZero::<u64>::MIN.saturating_add(ns))
    }

    /// Nanoseconds from the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Seconds from the start of the run, for display and control laws only.
    pub fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e9
    }

    /// The distance from `earlier`, zero if `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.get().saturating_sub(earlier.0.get()))
    }

    /// The earliest of these points; none if there is none. Without branches, which for the timers of a connection count.
    pub fn earliest<const N: usize>(points: [Option<Self>; N]) -> Option<Self> {
        // Below zero is above all: what is none comes last.
        let rank = |point: Option<Self>| point.map_or(0, |time| time.0.get()).wrapping_sub(1);
        let first = points.into_iter().fold(u64::MAX, |first, point| first.min(rank(point)));
        NonZero::new(first.wrapping_add(1)).map(Self)
    }

    /// The first point at or after this one that is a whole multiple of `tick`; itself if `tick` is zero.
    pub const fn round_up(self, tick: Span) -> Self {
        if tick.0 == 0 {
            return self;
        }
        match self.as_nanos().checked_next_multiple_of(tick.0) {
            Some(ns) => Self::from_nanos(ns),
            None => Self::MAX,
        }
    }
}

impl Default for Time {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Time").field(&self.as_nanos()).finish()
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// The span of `s` seconds, rounded to the nearest nanosecond; zero if `s` is negative or not a number.
    pub fn from_secs_f64(s: f64) -> Self {
        // `as` saturates at both ends and maps NaN to zero.
        Self((s * 1e9 + 0.5) as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds, for display and control laws only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The absolute difference.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// The product, or the longest span if that cannot be represented.
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    /// Panics past the end of the clock's range, 584 years in: a wrapped clock would reorder events.
    fn add(self, span: Span) -> Self {
        Self(self.0.checked_add(span.0).expect("virtual time stays inside the clock's range"))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub for Time {
    type Output = Span;
    /// Panics if `earlier` is later: use [`Time::since`] where that is possible.
    fn sub(self, earlier: Self) -> Span {
        Span(self.0.get().checked_sub(earlier.0.get()).expect("the subtrahend is not later"))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.checked_add(other.0).expect("a span stays inside the clock's range"))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("the subtrahend is not longer"))
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.checked_mul(factor).expect("a span stays inside the clock's range"))
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZERO => f.write_str("0 s"),
            // Minutes and hours are read, but seconds are what tables are compared in.
            Self(ns) => SECONDS.print(ns, f),
        }
    }
}

/// [`SPAN`] without minutes and hours, for printing.
const SECONDS: Quantity =
    Quantity { units: &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)], ..SPAN };

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.as_nanos();
        write!(f, "{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
    }
}

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        SPAN.parse(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_clock_has_a_beginning_and_an_end() {
        assert_eq!((Time::ZERO.as_nanos(), Time::default()), (0, Time::ZERO));
        assert_eq!(Time::from_nanos(u64::MAX), Time::MAX);
        assert_eq!(Time::from_nanos(Time::MAX.as_nanos()), Time::MAX);
        assert_eq!(Time::MAX - Time::ZERO, Span::from_nanos(Time::MAX.as_nanos()));
        assert_eq!(Time::MAX.round_up(Span::from_secs(1)), Time::MAX);
        assert_eq!(Time::from_nanos(1).round_up(Span::from_secs(1)), Time::from_nanos(1_000_000_000));
    }

    #[test]
    fn the_earliest_point_is_found_among_points_and_none() {
        let at = |ns| Some(Time::from_nanos(ns));
        assert_eq!(Time::earliest([]), None);
        assert_eq!(Time::earliest([None, None]), None);
        assert_eq!(Time::earliest([None, at(7), at(5), None, at(6)]), at(5));
        assert_eq!(Time::earliest([at(0), None]), Some(Time::ZERO));
        assert_eq!(Time::earliest([None, Some(Time::MAX)]), Some(Time::MAX));
    }

    #[test]
    fn spans_are_parsed_exactly() {
        for (text, ns) in [
            ("20 ms", 20_000_000),
            ("0.1ms", 100_000),
            ("1.5 s", 1_500_000_000),
            ("3e-3 s", 3_000_000),
            ("0 s", 0),
            ("2 min", 120_000_000_000),
            ("000.000001 s", 1_000),
            ("5 µs", 5_000),
        ] {
            assert_eq!(text.parse(), Ok(Span::from_nanos(ns)), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_span_says_why() {
        for (text, part) in [
            ("20", "has no unit"),
            ("20 Mbit/s", "\"Mbit/s\" is not one of ns, us"),
            ("-1 ms", "is negative"),
            ("ms", "is not a duration"),
            ("", "is not a duration"),
            ("1. s", "is not a duration"),
            ("0.1 ns", "finer than ns"),
            ("1e30 s", "too large"),
            ("1e-9999999999999 s", "finer than ns"),
            ("99999999999999999999999999999999999999999 s", "too large"),
        ] {
            let error = text.parse::<Span>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn printing_and_parsing_are_inverse() {
        for ns in [0, 1, 999, 1_000, 1_500, 20_000_000, 112_300_000, 50_250_000_000, 86_400_000_000_001] {
            let span = Span::from_nanos(ns);
            assert_eq!(span.to_string().parse(), Ok(span), "{span}");
        }
        assert_eq!(Span::from_millis(20).to_string(), "20 ms");
        assert_eq!(Span::from_nanos(1_500_000_000).to_string(), "1.5 s");
    }

    #[test]
    fn a_tick_rounds_up() {
        let tick = Span::from_millis(500);
        assert_eq!(Time::from_nanos(1).round_up(tick), Time::from_nanos(500_000_000));
        assert_eq!(Time::from_nanos(500_000_000).round_up(tick), Time::from_nanos(500_000_000));
        assert_eq!(Time::from_nanos(7).round_up(Span::ZERO), Time::from_nanos(7));
    }
}
