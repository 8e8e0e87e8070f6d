//! Vegas (Brakmo and Peterson 1995), as Linux' `tcp_vegas.c` has it: the window follows the queue that the flow itself builds, as the
//! round-trip time tells.

use super::hystart::SlowStart;
use super::{Ack, CongestionControl, CongestionMetrics, CwndEvent, Sample, Window};
use crate::config::Config;
use voxpath_units::{Span, Time};

/// Segments of its own in the queue: fewer are too few, more are too many, and more than `GAMMA` end slow start.
const ALPHA: u64 = 2;
const BETA: u64 = 4;
const GAMMA: u64 = 1;
/// Samples that a round trip needs.
const MIN_SAMPLES: u32 = 3;

/// Vegas.
#[derive(Debug)]
pub(super) struct Vegas {
    slow_start: SlowStart,
    /// The smallest round-trip time ever seen: that of the empty path.
    base: Option<Span>,
    /// The smallest of this round trip.
    smallest: Option<Span>,
    samples: u32,
    /// The first octet sent after the round trip began.
    round_end: u64,
    una: u64,
    nxt: u64,
    bytes_acked: u64,
}

impl Vegas {
    /// The algorithm at the start of a connection.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            slow_start: SlowStart::new(config, false),
            base: None,
            smallest: None,
            samples: 0,
            round_end: 0,
            una: 0,
            nxt: 0,
            bytes_acked: 0,
        }
    }

    fn begin_round(&mut self) {
        (self.round_end, self.samples, self.smallest) = (self.nxt, 0, None);
    }

    fn as_reno(&mut self, window: &mut Window, acked: u64) {
        self.bytes_acked += self.slow_start.grow(window, acked).unwrap_or(0);
        if self.bytes_acked >= window.cwnd {
            self.bytes_acked -= window.cwnd;
            window.cwnd += window.smss;
        }
    }

    /// Once a round trip: compares the rate with that of an empty path.
    fn turn(&mut self, window: &mut Window, acked: u64, base: Span, rtt: Span) {
        let smss = window.smss;
        let (base, rtt) = (base.as_nanos().max(1), rtt.as_nanos().max(1));
        // At most 2^40 octets times 2^64 nanoseconds.
        let scale = |by: u64| (u128::from(window.cwnd) * u128::from(by) / u128::from(base)) as u64;
        let queued = scale(rtt - base.min(rtt)) / smss;
        let slow_start = window.in_slow_start();
        if slow_start && queued > GAMMA {
            let target = (u128::from(window.cwnd) * u128::from(base) / u128::from(rtt)) as u64;
            window.cwnd = window.cwnd.min(target + smss);
            window.ssthresh = window.ssthresh.min(window.cwnd.saturating_sub(smss));
        } else if slow_start {
            self.slow_start.grow(window, acked);
        } else if queued > BETA {
            window.cwnd = window.cwnd.saturating_sub(smss);
            window.ssthresh = window.ssthresh.min(window.cwnd.saturating_sub(smss));
        } else if queued < ALPHA {
            window.cwnd += smss;
        }
        window.cwnd = window.cwnd.max(2 * smss);
        window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
    }
}

impl CongestionControl for Vegas {
    fn ssthresh(&mut self, _now: Time, window: &Window, flight: u64) -> u64 {
        self.bytes_acked = 0;
        self.begin_round();
        (flight / 2).max(2 * window.smss)
    }

    fn metrics(&self, window: &Window) -> CongestionMetrics {
        let own = [self.base.map(|rtt| ("base_rtt_ns", rtt.as_nanos())), None];
        CongestionMetrics { own, ..CongestionMetrics::of(window) }
    }

    fn pkts_acked(&mut self, sample: &Sample, _window: &mut Window) {
        (self.una, self.nxt) = (sample.una, sample.nxt);
        if let Some(rtt) = sample.rtt {
            self.base = self.base.into_iter().chain([rtt]).min();
            self.smallest = self.smallest.into_iter().chain([rtt]).min();
            self.samples += 1;
        }
    }

    fn cong_avoid(&mut self, ack: &Ack, window: &mut Window) {
        if self.una <= self.round_end {
            if window.in_slow_start() {
                self.slow_start.grow(window, ack.acked);
            }
            return;
        }
        match (self.base, self.smallest) {
            (Some(base), Some(rtt)) if self.samples >= MIN_SAMPLES => self.turn(window, ack.acked, base, rtt),
            // Too few to tell a queue from delayed acknowledgments.
            _ => self.as_reno(window, ack.acked),
        }
        self.begin_round();
    }

    fn cwnd_event(&mut self, _now: Time, event: CwndEvent, _window: &mut Window) {
        match event {
            CwndEvent::Loss { .. } => self.begin_round(),
            // tcp_vegas_cwnd_event(): after a pause everything is measured afresh.
            CwndEvent::TxStart { .. } => {
                self.base = None;
                self.begin_round();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    const SMSS: u64 = 1000;

    /// The window, in segments, after `rounds` round trips over a path of 100 ms and 1 segment a millisecond.
    fn after(rounds: u64, cwnd: u64, ssthresh: u64) -> u64 {
        let mut vegas = Vegas::new(&Profile::Linux.config());
        let mut window = Window { cwnd: cwnd * SMSS, ssthresh, smss: SMSS };
        vegas.pkts_acked(&Sample { rtt: Some(Span::from_millis(100)), ..Sample::default() }, &mut window);
        let mut una = 0;
        for _ in 0..rounds {
            let segments = window.cwnd / SMSS;
            let rtt = Span::from_millis(segments.max(100));
            for _ in 0..segments {
                una += SMSS;
                let sample = Sample { rtt: Some(rtt), una, nxt: una + window.cwnd, ..Sample::default() };
                vegas.pkts_acked(&sample, &mut window);
                vegas.cong_avoid(&Ack { now: Time::ZERO, acked: SMSS, srtt: None }, &mut window);
            }
        }
        window.cwnd / SMSS
    }

    #[test]
    fn the_window_settles_with_two_to_four_segments_in_the_queue() {
        for (cwnd, ssthresh) in [(50, 0), (120, 0), (10, u64::MAX)] {
            let settled = after(200, cwnd, ssthresh);
            assert!((102..=105).contains(&settled), "from {cwnd}: {settled}");
        }
    }
}
