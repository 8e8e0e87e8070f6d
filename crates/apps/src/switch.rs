//! A source that is on and off in turn: when.

use crate::sample::Law;
use alloc::vec::Vec;
use voxpath_net::Stream as Draws;
use voxpath_units::{Span, Time};

/// When the source is on.
#[derive(Debug, Clone)]
pub struct Switch {
    on: Law,
    off: Law,
    draws: Draws,
    /// Each on-time: how long the source was on before it, and when it begins. They ascend.
    periods: Vec<(Span, Time)>,
    /// How long the last of them lasts.
    last: Span,
}

impl Switch {
    /// On from `start` on.
    pub fn new(on: Law, off: Law, start: Time, mut draws: Draws) -> Self {
        let last = on.draw(&mut draws);
        Self { on, off, draws, periods: alloc::vec![(Span::ZERO, start)], last }
    }

    /// When the source will have been on for `on`.
    pub fn after(&mut self, on: Span) -> Time {
        loop {
            let &(before, start) = self.periods.last().expect("there is a first one");
            if on < before + self.last {
                break;
            }
            let next = start + self.last + self.off.draw(&mut self.draws);
            self.periods.push((before + self.last, next));
            self.last = self.on.draw(&mut self.draws);
        }
        let found = self.periods.partition_point(|&(before, _)| before <= on);
        let (before, start) = self.periods[found - 1];
        start + (on - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_net::Seed;

    const ON: Span = Span::from_millis(100);
    const OFF: Span = Span::from_millis(300);

    fn constant(span: Span) -> Law {
        Law::Constant { mean_ns: span.as_nanos() }
    }

    fn exponential(span: Span) -> Law {
        Law::Exponential { mean_ns: span.as_nanos() }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn constant_periods_follow_each_other() {
        let draws = Seed::new(1, 0).stream("switch");
        let mut switch = Switch::new(constant(ON), constant(OFF), ms(50), draws);
        let due = [0, 40, 80, 120, 160, 200].map(|on| switch.after(Span::from_millis(on)));
        assert_eq!(due, [ms(50), ms(90), ms(130), ms(470), ms(510), ms(850)]);
        assert_eq!(switch.after(Span::from_millis(40)), ms(90), "what is asked again is the same");
    }

    #[test]
    fn the_mean_rate_is_the_rate_times_the_share_of_on_times() {
        let draws = Seed::new(1, 0).stream("switch");
        let mut switch = Switch::new(exponential(ON), exponential(OFF), Time::ZERO, draws);
        // 25 000 periods: the ratio of two means of exponentials, each with a relative error of 1 / 158.
        let took = switch.after(ON * 25_000).as_secs_f64();
        assert!((took / 10_000.0 - 1.0).abs() < 4.0 / 158.0, "{took}");
    }
}
