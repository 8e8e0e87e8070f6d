//! What is offered above a rate is lost: a bottleneck without a queue.
//!
//! A network whose available rate is redrawn at intervals is this over a Markov chain: in the model of Hoang 2017 (section
//! 3.4.2, Figure 10) a packet is lost with a probability that follows from the incoming and the available rate.

use super::{Chance, Loses, Model};
use crate::element::capacity::{Schedule, Stretches};
use crate::element::{CHECKED, Capacity, Draw, checked};
use crate::random::Stream;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use core::fmt;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overload {
    /// The rate that is available; not opportunities, which have none.
    pub capacity: Box<Capacity>,
    /// Over how long the offered rate is measured, up to and with the packet in question.
    pub window_ns: u64,
}

/// A packet is lost with probability `1 - available / offered`, none while less is offered than is available.
///
/// Offered is what came in the window, lost or not, over the window's length; before the run's start nothing came. What is available
/// is drawn apart, so it is the same for whatever is offered.
#[derive(Debug)]
pub struct Process {
    available: Stretches,
    window: Span,
    /// When each packet of the window came, and its bytes.
    offered: VecDeque<(Time, u32)>,
    /// The sum of these bytes.
    bytes: u64,
}

impl Model for Overload {
    type Process = Process;

    fn check(&self, check: &mut Check<'_>) {
        let mut place = check.at("capacity");
        match *self.capacity {
            Capacity::Trace(_) => place.fail("must be a rate: the opportunities of a trace are none"),
            ref capacity => capacity.check(&mut place),
        }
        let mut place = check.at("window_ns");
        place.span(self.window_ns);
        place.need(self.window_ns > 0, "must be above zero");
    }

    fn process(&self, apart: &Stream) -> Process {
        let available = self.rates(apart).expect(CHECKED);
        let window = Span::from_nanos(self.window_ns);
        Process { available, window, offered: VecDeque::new(), bytes: 0 }
    }

    fn rates(&self, apart: &Stream) -> Option<Stretches> {
        self.capacity.stretches(apart.clone())
    }

    fn chance(&self, _len: u32) -> Chance {
        Chance::None("losses follow from what is offered: the forms need independent losses")
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let capacity = match Capacity::sample(draw) {
            Capacity::Trace(_) => {
                Schedule { steps: vec![(0, draw.rate_above_zero())], period_ns: None }.into()
            }
            other => other,
        };
        Self { capacity: Box::new(capacity), window_ns: 1 + draw.span() }
    }
}

impl Process {
    /// The probability that the packet is lost which comes at `at` and has `len` bytes.
    fn probability(&mut self, at: Time, len: u32) -> f64 {
        self.offered.push_back((at, len));
        self.bytes += u64::from(len);
        while let Some(&(came, bytes)) = self.offered.front()
            && at.since(came) >= self.window
        {
            self.offered.pop_front();
            self.bytes -= u64::from(bytes);
        }
        // Both in bits times 10^9 over the window, so that neither is rounded.
        let offered = u128::from(self.bytes) * 8_000_000_000;
        let available = u128::from(self.available.at(at).rate) * u128::from(self.window.as_nanos());
        offered.saturating_sub(available) as f64 / offered as f64
    }
}

impl Loses for Process {
    fn loses(&mut self, at: Time, len: u32, stream: &mut Stream) -> bool {
        // A draw for each packet, whatever its probability: the draws of others do not depend on it.
        let p = self.probability(at, len);
        stream.below(checked(p).threshold())
    }
}

impl fmt::Display for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "overload, {}", Span::from_nanos(self.window_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::capacity::{Markov, State};
    use crate::random::Seed;

    const MS: u64 = 1_000_000;

    fn stream(name: &str) -> Stream {
        Seed::new(5, 0).stream(name)
    }

    fn steady(rate: u64, window_ms: u64) -> Process {
        let capacity = Schedule { steps: vec![(0, rate)], period_ns: None }.into();
        let overload = Overload { capacity: Box::new(capacity), window_ns: window_ms * MS };
        overload.process(&stream("apart"))
    }

    /// Table 8 of Hoang 2017, its 25 % split evenly, the first status drawn as all others.
    fn statuses() -> Markov {
        let next = [0.7, 0.125, 0.125, 0.05];
        let states = [5_760_000, 4_320_000, 2_880_000, 0].map(|rate_bps| State {
            rate_bps,
            dwell_ns: 2_000 * MS,
            exponential: false,
            next: next.into(),
        });
        Markov { states: states.into(), start: Some(next.into()) }
    }

    #[test]
    fn the_probability_is_one_less_available_over_offered() {
        // 900 bytes every ms are 7.2 Mbit/s. Of a window of 100 ms the first packet is 0.072 Mbit/s; 80 are 5.76.
        let mut process = steady(5_760_000, 100);
        for i in 0..300_u64 {
            let offered = 72_000.0 * (i + 1).min(100) as f64;
            let expected = (1.0 - 5_760_000.0 / offered).max(0.0);
            let found = process.probability(Time::from_nanos(i * MS), 900);
            assert!((found - expected).abs() < 1e-12, "packet {i}: {found}, not {expected}");
        }
        // After a pause as long as the window only the packet itself is in it.
        assert_eq!(process.probability(Time::from_nanos(399 * MS), 900), 0.0);
    }

    #[test]
    fn all_is_lost_where_nothing_is_available() {
        let capacity = Schedule { steps: vec![(0, 1_000_000_000), (10 * MS, 0)], period_ns: None }.into();
        let overload = Overload { capacity: Box::new(capacity), window_ns: 5 * MS };
        let (mut process, mut draws) = (overload.process(&stream("apart")), stream("loss"));
        let lost: alloc::vec::Vec<bool> =
            (0..20).map(|i| process.loses(Time::from_nanos(i * MS), 100, &mut draws)).collect();
        assert_eq!(lost, [[false; 10], [true; 10]].concat());
    }

    #[test]
    fn what_is_available_does_not_depend_on_what_is_offered() {
        let overload = Overload { capacity: Box::new(statuses().into()), window_ns: 100 * MS };
        let (mut dense, mut sparse) = (overload.process(&stream("x")), overload.process(&stream("x")));
        for second in 0..1_000_u64 {
            for ms in 0..10 {
                dense.probability(Time::from_nanos(second * 1_000 * MS + ms * MS), 1_000);
            }
            if second % 7 == 0 {
                let at = Time::from_nanos((second * 1_000 + 10) * MS);
                assert_eq!(dense.available.at(at).rate, sparse.available.at(at).rate, "second {second}");
            }
        }
    }

    #[test]
    fn losses_over_the_statuses_of_hoang_2017_are_as_their_mean() {
        // A sender that stays at 7.2 Mbit/s loses 1 - 4.932/7.2, if its statuses are those of Table 8.
        let (rates, shares) = ([5.76, 4.32, 2.88, 0.0], [0.7, 0.125, 0.125, 0.05]);
        let mean: f64 = rates.iter().zip(shares).map(|(rate, share)| rate * share).sum();
        let expected = 1.0 - mean / 7.2;
        let overload = Overload { capacity: Box::new(statuses().into()), window_ns: 100 * MS };
        let (mut process, mut draws) = (overload.process(&stream("apart")), stream("loss"));
        let seconds = 40_000;
        let lost = (0..seconds * 100)
            .filter(|i| process.loses(Time::from_nanos(i * 10 * MS), 9_000, &mut draws))
            .count() as f64;
        let found = lost / (seconds * 100) as f64;
        let square: f64 =
            rates.iter().zip(shares).map(|(rate, share)| share * ((rate - mean) / 7.2).powi(2)).sum();
        let error = libm::sqrt(square / (seconds / 2) as f64);
        assert!((found - expected).abs() < 3.5 * error, "{found}, not {expected} +- {error}");
    }
}
