//! Random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993), with the gentle upper part of Floyd 2000.
//!
//! Everything is decided as a packet comes, from the average of how many wait.

use super::waiting::Fifo;
use super::{Arrival, Limit, Settings, Verdict};
use crate::element::{Draw, Serialiser};
use crate::random::Stream;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

/// Settings; queues are counted in packets, the one in service left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Below this average everything passes (min_th).
    pub min_packets: f64,
    /// From this average on the probability is above `max_p` (max_th); above `min_packets`.
    pub max_packets: f64,
    /// The probability just below `max_packets` (max_p).
    pub max_p: f64,
    /// Weight of the queue that a packet finds in the average (w_q).
    pub weight: f64,
    /// Whether the probability rises from `max_p` at `max_packets` to one at twice that, or is one at once.
    pub gentle: bool,
    /// Bytes of a typical packet, by which an idle link's average fades.
    pub mean_packet_bytes: u32,
    /// Whether packets are marked whose ends understand that, instead of dropped, while the probability is below one.
    pub ecn: bool,
}

impl Settings for Red {
    type Queue = Fifo;

    fn check(&self, check: &mut Check<'_>) {
        let &Self { min_packets: min, max_packets: max, weight, .. } = self;
        let ordered = min >= 0.0 && max > min && max.is_finite();
        check.at("max_packets").need(ordered, format_args!("{max} packets are not above min, {min} packets"));
        check.at("max_p").probability(self.max_p);
        let possible = weight > 0.0 && weight <= 1.0;
        check.at("weight").need(possible, format_args!("{weight} is not above 0 and at most 1"));
        check.at("mean_packet_bytes").need(self.mean_packet_bytes > 0, "is above zero");
    }

    fn queue(&self, limit: Limit, stream: Stream) -> Fifo {
        Fifo::new(limit, Some(Judge::new(self.clone(), stream)))
    }

    fn arrival(&self, stream: Stream) -> Option<Arrival> {
        Some(Arrival::Judge(Box::new(Judge::new(self.clone(), stream))))
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let min_packets = 10.0 * draw.unit();
        Self {
            min_packets,
            max_packets: min_packets + 0.1 + 20.0 * draw.unit(),
            max_p: draw.prob(),
            weight: draw.pick(&[0.02, 0.5, 1.0, 1e-9]),
            gentle: draw.bit(),
            mean_packet_bytes: draw.pick(&[1000, 1, 65_535]),
            ecn: draw.bit(),
        }
    }
}

/// The state of random early detection.
#[derive(Debug)]
pub(crate) struct Judge {
    settings: Red,
    average: f64,
    /// Packets since the last that was dropped or marked; none while the average is below `min`.
    count: Option<u32>,
    stream: Stream,
}

impl Judge {
    pub(crate) const fn new(settings: Red, stream: Stream) -> Self {
        Self { settings, average: 0.0, count: None, stream }
    }

    /// Decides on a packet that comes while `queued` others wait (section 4, figure 2).
    pub(crate) fn judge(&mut self, now: Time, queued: u32, serialiser: &mut Serialiser) -> Verdict {
        let Red { min_packets: min, weight, ecn, .. } = self.settings;
        let idle = now.since(serialiser.free_at());
        if queued == 0 && serialiser.free_at() <= now {
            // As if so many packets as the link could have sent had found it empty.
            let bits = serialiser.rate().unwrap_or(0) as f64 * idle.as_secs_f64();
            let packets = bits / (8.0 * f64::from(self.settings.mean_packet_bytes));
            self.average *= libm::pow(1.0 - weight, packets);
        } else {
            self.average += weight * (f64::from(queued) - self.average);
        }
        if self.average < min {
            self.count = None;
            return Verdict::Pass;
        }
        let p = self.probability();
        if p >= 1.0 {
            self.count = Some(0);
            return Verdict::Drop;
        }
        let count = self.count.map_or(0, |count| count + 1);
        // Evens out the gaps between two losses (section 7): they are uniform where p stays the same.
        let spread = 1.0 - f64::from(count) * p;
        let p = if spread > 0.0 { p / spread } else { 1.0 };
        let hit = self.stream.unit() < p;
        self.count = Some(if hit { 0 } else { count });
        match (hit, ecn) {
            (false, _) => Verdict::Pass,
            (true, true) => Verdict::Mark,
            (true, false) => Verdict::Drop,
        }
    }

    /// p_b of the average, where that is not below `min`.
    fn probability(&self) -> f64 {
        let Red { min_packets: min, max_packets: max, max_p, gentle, .. } = self.settings;
        match self.average {
            average if average < max => max_p * (average - min) / (max - min),
            average if gentle && average < 2.0 * max => max_p + (1.0 - max_p) * (average - max) / max,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Framing;
    use crate::random::Seed;
    use alloc::vec::Vec;
    use voxpath_units::{Rate, Span};

    fn red(settings: Red) -> (Judge, Serialiser) {
        let stream = |name| Seed::new(4, 0).stream(name);
        let pace = Rate::from_bits_per_sec(1_000_000).into();
        (Judge::new(settings, stream("red")), Serialiser::new(pace, Framing::Ip))
    }

    fn settings() -> Red {
        Red {
            min_packets: 5.0,
            max_packets: 15.0,
            max_p: 0.02,
            weight: 0.002,
            gentle: true,
            mean_packet_bytes: 500,
            ecn: false,
        }
    }

    /// Section 6.1: L packets on an empty average bring it to L + 1 + ((1 - w)^(L + 1) - 1) / w.
    #[test]
    fn a_burst_moves_the_average_by_equation_2_of_the_paper() {
        let (mut red, mut serialiser) = red(settings());
        serialiser.serve(Time::ZERO, 65_535);
        let weight = 0.002_f64;
        for burst in 1..=50_u32 {
            red.judge(Time::from_nanos(1), burst, &mut serialiser);
            let expected =
                f64::from(burst) + 1.0 + (libm::pow(1.0 - weight, f64::from(burst) + 1.0) - 1.0) / weight;
            assert!((red.average - expected).abs() < 1e-9, "{burst}: {} not {expected}", red.average);
        }
    }

    #[test]
    fn an_idle_link_forgets_as_many_packets_as_it_could_have_sent() {
        let (mut red, mut serialiser) = red(settings());
        red.average = 10.0;
        // 4 ms a packet of 500 bytes.
        red.judge(Time::ZERO + Span::from_millis(400), 0, &mut serialiser);
        assert!((red.average - 10.0 * libm::pow(0.998, 100.0)).abs() < 1e-9, "{}", red.average);
    }

    /// Section 7: while p stays the same, each gap from 1 to 1/p is as likely.
    #[test]
    fn gaps_between_losses_are_uniform() {
        let (mut red, mut serialiser) = red(settings());
        serialiser.serve(Time::ZERO, 65_535);
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..1_000_000 {
            // Half-way: a hundredth.
            red.average = 10.0;
            gap += 1;
            if red.judge(Time::from_nanos(1), 10, &mut serialiser) == Verdict::Drop {
                gaps.push(gap);
                gap = 0;
            }
        }
        let longest = *gaps.iter().max().expect("some");
        assert!((98..=100).contains(&longest), "{longest}");
        for part in 0..4 {
            let share = gaps.iter().filter(|&&gap| (gap - 1) / 25 == part).count() as f64 / gaps.len() as f64;
            assert!((share - 0.25).abs() < 0.015, "quarter {part}: {share}");
        }
    }

    #[test]
    fn the_probability_rises_in_two_slopes_or_jumps() {
        let p = |average, gentle| {
            let (mut red, _) = red(Red { gentle, ..settings() });
            red.average = average;
            red.probability()
        };
        let close = |p: f64, expected: f64| (p - expected).abs() < 1e-12;
        assert!(close(p(10.0, true), 0.01) && close(p(10.0, false), 0.01));
        assert!(close(p(22.5, true), 0.02 + 0.98 / 2.0) && close(p(15.0, false), 1.0));
        assert!(close(p(30.0, true), 1.0));
    }
}
