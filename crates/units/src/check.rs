//! What is wrong with values that come from outside, and where.
//!
//! Whatever has settings says itself what is wrong with them: it is given a [`Check`], which knows the place of the settings in the
//! whole, and goes on from key to key.
//!
//! ```
//! use voxpath_units::check::{Check, Problem};
//!
//! fn check(p: f64, limits: &[u64], check: &mut Check<'_>) {
//!     check.at("p").probability(p);
//!     for (i, &limit) in limits.iter().enumerate() {
//!         if limit == 0 {
//!             check.at("limits").at(i).fail("is above zero");
//!         }
//!     }
//! }
//!
//! let found = Check::found(|root| check(0.5, &[3, 0], &mut root.at("loss")));
//! assert_eq!(found[0].to_string(), "loss.limits[1]: is above zero");
//! ```

use crate::{Prob, Span};
use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Display};

/// The longest span of a plan, and how long a run lasts at most: what is taken for a duration.
///
/// A tenth of the clock's range: sums of a few spans, round-trip times and their variation stay inside it.
pub const LONGEST_NS: u64 = 500_000 * 3_600_000_000_000;
/// The fastest link; what is taken for a rate. Above, rate and remainder do not fit 64 bits.
pub const FASTEST_BPS: u64 = 100_000_000_000_000;

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where in the whole.
    pub path: Path,
    /// What is wrong and what is allowed.
    pub message: String,
}

/// A place: keys and indices from the top. Prints as `flows[3].from`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(pub Vec<Step>);

/// A step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A key of a table.
    Key(Cow<'static, str>),
    /// An index of a list, from zero.
    Index(usize),
}

/// A place where values are checked, and what was found so far, there and elsewhere.
#[derive(Debug)]
pub struct Check<'a> {
    found: &'a mut Vec<Problem>,
    trail: Trail<'a>,
}

/// The way to a place, without a list of its own: most places have nothing wrong.
#[derive(Debug, Clone)]
struct Trail<'a> {
    up: Option<&'a Trail<'a>>,
    step: Option<Step>,
}

impl Check<'_> {
    /// What `check` finds, which is given the place of the whole.
    pub fn found(check: impl FnOnce(&mut Check<'_>)) -> Vec<Problem> {
        let mut found = Vec::new();
        check(&mut Check::new(&mut found));
        found
    }

    /// The place of the whole; what is found there goes to `found`.
    pub const fn new(found: &mut Vec<Problem>) -> Check<'_> {
        Check { found, trail: Trail { up: None, step: None } }
    }

    /// The place of a key, or of an index, of what is here.
    pub fn at(&mut self, step: impl Into<Step>) -> Check<'_> {
        Check { found: self.found, trail: Trail { up: Some(&self.trail), step: Some(step.into()) } }
    }

    /// Something is wrong here.
    pub fn fail(&mut self, message: impl Display) {
        self.found.push(Problem { path: self.trail.path(), message: message.to_string() });
    }

    /// Says what is wrong here unless `holds`.
    pub fn need(&mut self, holds: bool, message: impl Display) {
        if !holds {
            self.fail(message);
        }
    }

    /// A probability is between 0 and 1.
    pub fn probability(&mut self, p: f64) {
        self.need(Prob::new(p).is_some(), format_args!("{p} is not between 0 and 1"));
    }

    /// A span is not longer than a run can be.
    pub fn span(&mut self, ns: u64) {
        self.need(ns <= LONGEST_NS, format_args!("{ns} ns is longer than 500000 h"));
    }

    /// A span that is not zero either.
    pub fn span_above_zero(&mut self, ns: u64) {
        self.need(ns > 0, "is above zero");
        self.span(ns);
    }

    /// A span that is not shorter than `least` either.
    pub fn span_of_at_least(&mut self, ns: u64, least: Span) {
        self.need(ns >= least.as_nanos(), format_args!("is {least} at least"));
        self.span(ns);
    }

    /// A rate that may be zero is one that a link can have.
    pub fn rate_or_none(&mut self, bits_per_sec: u64) {
        self.need(bits_per_sec <= FASTEST_BPS, format_args!("{bits_per_sec} bit/s is above 100 Tbit/s"));
    }

    /// A rate that something is to be served at.
    pub fn rate(&mut self, bits_per_sec: u64) {
        self.need(bits_per_sec > 0, "a rate is above zero");
        self.rate_or_none(bits_per_sec);
    }
}

impl Trail<'_> {
    fn path(&self) -> Path {
        let mut path = self.up.map(Self::path).unwrap_or_default();
        path.0.extend(self.step.clone());
        path
    }
}

impl Path {
    /// The path that prints as `text`; keys have neither dots nor brackets.
    pub fn parse(text: &str) -> Self {
        let steps = text.split(['.', '[']).filter(|part| !part.is_empty()).map(|part| {
            let index = part.strip_suffix(']').and_then(|number| number.parse().ok());
            index.map_or_else(|| Step::Key(part.to_string().into()), Step::Index)
        });
        Self(steps.collect())
    }
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Self {
        Self::Key(Cow::Borrowed(key))
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if i == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_problem_has_the_place_at_which_it_was_found() {
        let found = Check::found(|root| {
            let mut links = root.at("links");
            for i in 0..3 {
                let mut link = links.at(i);
                link.at("ab").at("delay_ns").span(LONGEST_NS + i as u64);
            }
            root.at("version").fail("is unknown");
        });
        let places: Vec<String> = found.iter().map(|problem| problem.path.to_string()).collect();
        assert_eq!(places, ["links[1].ab.delay_ns", "links[2].ab.delay_ns", "version"]);
        assert_eq!(
            found[0].path.0,
            vec![Step::from("links"), Step::from(1), Step::from("ab"), Step::from("delay_ns")]
        );
        for place in places {
            assert_eq!(Path::parse(&place).to_string(), place);
        }
    }

    #[test]
    fn bounds_hold_from_both_sides() {
        let count = |check: fn(&mut Check<'_>)| Check::found(check).len();
        assert_eq!(count(|place| place.probability(1.0)), 0);
        assert_eq!(count(|place| place.probability(f64::NAN)), 1);
        assert_eq!(count(|place| place.rate(FASTEST_BPS)), 0);
        assert_eq!(count(|place| place.rate(FASTEST_BPS + 1)), 1);
        assert_eq!(count(|place| place.rate(0)), 1);
        assert_eq!(count(|place| place.rate_or_none(0)), 0);
        assert_eq!(count(|place| place.span_above_zero(0)), 1);
        assert_eq!(count(|place| place.span_of_at_least(999, Span::from_micros(1))), 1);
        assert_eq!(count(|place| place.span_of_at_least(1000, Span::from_micros(1))), 0);
    }
}
