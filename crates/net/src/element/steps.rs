//! Values that hold each from its moment on, and start over after a period, if there is one.

use super::CHECKED;
use alloc::vec::Vec;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Values that hold each from its time on; over again after a period, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Steps<T> {
    /// Ascending; the first is at zero.
    steps: Vec<(Span, T)>,
    period: Option<Span>,
}

/// What is wrong with the `steps` and the `period_ns` of settings, but for the values.
pub(crate) fn check<T>(steps: &[(u64, T)], period_ns: Option<u64>, check: &mut Check<'_>) {
    let mut place = check.at("steps");
    let Some(last) = steps.last().map(|step| step.0) else {
        return place.fail("are at least one");
    };
    if steps[0].0 != 0 {
        place.at(0).at(0).fail("must be '0 s': something holds from the start");
    }
    for (i, pair) in steps.windows(2).enumerate() {
        let ordered = pair[0].0 < pair[1].0;
        place.at(i + 1).at(0).need(ordered, "does not come after the step before");
    }
    place.at(steps.len() - 1).at(0).span(last);
    if let Some(period) = period_ns {
        let mut place = check.at("period_ns");
        place.span(period);
        place.need(period > last, "must come after the last step");
    }
}

impl<T: Copy> Steps<T> {
    /// The steps of settings with which nothing is wrong.
    pub(crate) fn checked(steps: Vec<(Span, T)>, period_ns: Option<u64>) -> Self {
        let period = period_ns.map(Span::from_nanos);
        let last = steps.last().expect(CHECKED).0;
        let ordered = steps[0].0 == Span::ZERO && steps.is_sorted_by(|a, b| a.0 < b.0);
        assert!(ordered && period.is_none_or(|period| period > last), "{CHECKED}");
        Self { steps, period }
    }

    /// What holds at `at`, and until when.
    pub(crate) fn at(&self, at: Time) -> (T, Time) {
        let ns = at.as_nanos();
        let lap = self.period.map_or(0, |period| ns - ns % period.as_nanos());
        let into = Span::from_nanos(ns - lap);
        let next = self.steps.partition_point(|&(from, _)| from <= into);
        let end = self.steps.get(next).map(|&(from, _)| from).or(self.period);
        let until = end.map_or(u64::MAX, |end| lap.saturating_add(end.as_nanos()));
        (self.steps[next - 1].1, Time::from_nanos(until))
    }
}

impl Steps<u64> {
    /// The period, if there is one, and what these rates carry in it, in bits times 10^9.
    pub(crate) fn lap(&self) -> Option<(Span, u128)> {
        let period = self.period?;
        let ends = self.steps[1..].iter().map(|step| step.0).chain([period]);
        let carried = |(&(from, rate), end): (&(Span, u64), Span)| {
            u128::from(rate) * u128::from((end - from).as_nanos())
        };
        Some((period, self.steps.iter().zip(ends).map(carried).sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    fn at(ns: u64) -> Time {
        Time::from_nanos(ns)
    }

    #[test]
    fn steps_hold_until_the_next_and_start_over() {
        let span = Span::from_nanos;
        let once = Steps::checked(vec![(span(0), 'a'), (span(10), 'b')], None);
        assert_eq!([0, 9, 10].map(|ns| once.at(at(ns))), [('a', at(10)), ('a', at(10)), ('b', Time::MAX)]);
        let again = Steps::checked(vec![(span(0), 'a'), (span(10), 'b')], Some(15));
        assert_eq!(
            [14, 15, 30, 44].map(|ns| again.at(at(ns))),
            [('b', at(15)), ('a', at(25)), ('a', at(40)), ('b', at(45))]
        );
    }

    #[test]
    fn what_is_out_of_order_is_told_at_its_place() {
        type Case = (&'static [(u64, ())], Option<u64>, &'static str);
        let cases: [Case; 5] = [
            (&[], None, "steps"),
            (&[(1, ())], None, "steps[0][0]"),
            (&[(0, ()), (0, ())], None, "steps[1][0]"),
            (&[(0, ())], Some(0), "period_ns"),
            (&[(0, ()), (7, ())], Some(7), "period_ns"),
        ];
        for (steps, period, place) in cases {
            let found = Check::found(|root| check(steps, period, root));
            let places: Vec<_> = found.iter().map(|problem| problem.path.to_string()).collect();
            assert_eq!(places, [place]);
        }
        assert_eq!(Check::found(|root| check(&[(0, ()), (7, ())], Some(8), root)), []);
    }
}
