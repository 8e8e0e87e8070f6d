//! When RTCP is sent (RFC 3550 section 6.3, RFC 4585 section 3).
//!
//! A call has two members and bandwidth enough, so feedback on events is sent at once: the immediate mode of RFC 4585 section 3.3.
//! It leaves alone, without the report that a compound packet begins with: reduced-size RTCP (RFC 5506 section 3).

use crate::breaker::Intervals;
use voxpath_net::Stream;
use voxpath_units::{Span, Time};

/// Share of the session's bandwidth for RTCP (RFC 3550 section 6.2).
const SHARE: f64 = 0.05;
/// Both ends.
const MEMBERS: f64 = 2.0;
/// Octets of the headers of IP and UDP, which count too (RFC 3550 section 6.2).
const BELOW: f64 = 28.0;
/// The least interval of RFC 3550, which circuit breakers count in (RFC 8083 section 4.1).
const LEAST_TD: Span = Span::from_secs(5);
/// RFC 3550 section 6.3.1: e - 3/2 makes up for reconsideration, which converges below the mean.
const COMPENSATION: f64 = core::f64::consts::E - 1.5;

/// The first of some deadlines; none if there is none. A loop, since it is asked for after every packet.
pub(crate) fn soonest<const N: usize>(deadlines: [Option<Time>; N]) -> Option<Time> {
    let mut first: Option<Time> = None;
    for at in &deadlines {
        first = match (first, *at) {
            (Some(before), Some(at)) => Some(before.min(at)),
            (before, at) => before.or(at),
        };
    }
    first
}

/// The timer of regular packets.
#[derive(Debug)]
pub(crate) struct Timing {
    least: Span,
    draws: Stream,
    /// Bits per second of the session.
    bps: u64,
    /// Mean octets of an RTCP packet.
    average: f64,
    due: Time,
    asked: Option<Time>,
}

impl Timing {
    pub(crate) const fn new(least: Span, draws: Stream) -> Self {
        Self { least, draws, bps: 0, average: 100.0 + BELOW, due: Time::ZERO, asked: None }
    }

    /// The session begins: the first packet comes after half of an interval (RFC 3550 section 6.2).
    pub(crate) fn begin(&mut self, now: Time, bps: u64) {
        self.bps = bps;
        self.due = now + self.interval() / 2;
    }

    /// Seconds between packets that take the share of the bandwidth.
    fn by_bandwidth(&self) -> f64 {
        MEMBERS * self.average * 8.0 / (SHARE * self.bps.max(1) as f64)
    }

    fn interval(&mut self) -> Span {
        let seconds = self.by_bandwidth().max(self.least.as_secs_f64());
        Span::from_secs_f64(seconds * (0.5 + self.draws.unit()) / COMPENSATION)
    }

    /// The intervals without their random part, of the sender and of the receiver, which have the same settings.
    pub(crate) fn intervals(&self) -> Intervals {
        let tdr = Span::from_secs_f64(self.by_bandwidth()).max(self.least);
        Intervals { td: tdr.max(LEAST_TD), tdr }
    }

    /// A packet of so many octets was sent or came (RFC 3550 section 6.3.3).
    pub(crate) fn hear(&mut self, bytes: usize) {
        self.average += (bytes as f64 + BELOW - self.average) / 16.0;
    }

    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    pub(crate) fn is_due(&self, now: Time) -> bool {
        now >= self.due
    }

    /// A regular packet was sent.
    pub(crate) fn sent(&mut self, now: Time) {
        self.due = now + self.interval();
    }

    /// Whether something may be asked for that was not asked for within the last `every`; if so, it is.
    pub(crate) fn may_ask(&mut self, now: Time, every: Span) -> bool {
        let may = self.asked.is_none_or(|asked| now.since(asked) >= every);
        if may {
            self.asked = Some(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_net::Seed;

    #[test]
    fn intervals_have_the_mean_that_bandwidth_or_the_least_interval_asks_for() {
        for (bps, least, expected) in [(3_000_000, 1_000, 1.0), (20_000, 1_000, 2.0 * 128.0 * 8.0 / 1_000.0)]
        {
            let draws = Seed::new(1, 0).stream("rtcp");
            let mut timing = Timing::new(Span::from_millis(least), draws);
            timing.begin(Time::ZERO, bps);
            let (mut now, packets) = (Time::ZERO, 4_000);
            for _ in 0..packets {
                timing.sent(now);
                let step = timing.due().since(now).as_secs_f64() * COMPENSATION / expected;
                assert!((0.499..1.501).contains(&step), "{step}");
                now = timing.due();
            }
            let mean = now.as_secs_f64() / f64::from(packets) * COMPENSATION;
            // Uniform over a span of one mean: a standard deviation of 0.29.
            assert!((mean / expected - 1.0).abs() < 4.0 * 0.29 / 63.0, "{mean} s");
        }
    }
}
