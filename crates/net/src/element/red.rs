//! Random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993), with the gentle upper part of Floyd 2000.
//!
//! Everything is decided as a packet comes, from the average of how many wait.

use super::Serialiser;
use crate::random::Stream;
use voxpath_units::{Prob, Time};

/// Settings of random early detection; queues are counted in packets, the one in service left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedSettings {
    /// Below this average everything passes (min_th).
    pub min: f64,
    /// From this average on the probability is above `max_p` (max_th); above `min`.
    pub max: f64,
    /// The probability just below `max` (max_p).
    pub max_p: Prob,
    /// Weight of the queue that a packet finds in the average (w_q).
    pub weight: f64,
    /// Whether the probability rises from `max_p` at `max` to one at twice `max`, or is one at `max` at once.
    pub gentle: bool,
    /// Bytes of a typical packet, by which an idle link's average fades.
    pub mean_packet: u32,
    /// Whether packets are marked whose ends understand that, instead of dropped, while the probability is below one.
    pub ecn: bool,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// To be marked, or dropped if its ends do not understand that.
    Mark,
    Drop,
}

/// The state of random early detection.
#[derive(Debug)]
pub(crate) struct Red {
    settings: RedSettings,
    average: f64,
    /// Packets since the last that was dropped or marked; none while the average is below `min`.
    count: Option<u32>,
    stream: Stream,
}

impl Red {
    pub(crate) const fn new(settings: RedSettings, stream: Stream) -> Self {
        Self { settings, average: 0.0, count: None, stream }
    }

    /// Decides on a packet that comes while `queued` others wait (section 4, figure 2).
    pub(crate) fn judge(&mut self, now: Time, queued: u32, serialiser: &mut Serialiser) -> Verdict {
        let RedSettings { min, weight, ecn, .. } = self.settings;
        let idle = now.since(serialiser.free_at());
        if queued == 0 && serialiser.free_at() <= now {
            // As if so many packets as the link could have sent had found it empty.
            let bits = serialiser.rate().unwrap_or(0) as f64 * idle.as_secs_f64();
            let packets = bits / (8.0 * f64::from(self.settings.mean_packet));
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
        let RedSettings { min, max, max_p, gentle, .. } = self.settings;
        let max_p = max_p.get();
        match self.average {
            average if average < max => max_p * (average - min) / (max - min),
            average if gentle && average < 2.0 * max => max_p + (1.0 - max_p) * (average - max) / max,
            _ => 1.0,
        }
    }
}
