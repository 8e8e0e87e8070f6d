//! Pacing: segments leave one by one at a rate, in place of as many at once as the window allows (`tcp_update_pacing_rate()` and the internal
//! pacing of Linux).

use super::Connection;
use voxpath_units::{Span, Time};

/// Segments at the start that Linux does not pace.
const UNPACED: u64 = 10;
/// Linux: `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`, per cent.
const SLOW_START_RATIO: u64 = 200;
const AVOIDANCE_RATIO: u64 = 120;

/// When the next segment may leave.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    next: Time,
    /// What of the time that was missed before this burst is not made good yet.
    missed: Span,
}

impl Connection {
    /// The rate in bytes a second; none where nothing is paced.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        if self.paces { self.usual_rate() } else { None }
    }

    /// The rate at which it would be paced, in bytes a second; none before there was a round trip.
    pub(super) fn usual_rate(&self) -> Option<u64> {
        if let Some(rate) = self.cc.pacing_rate() {
            return Some(rate);
        }
        let srtt = self.rtt.srtt().filter(|&srtt| srtt > Span::ZERO)?;
        if self.by_rate() && !self.config.pacing {
            return None;
        }
        let slow = self.window.cwnd < self.window.ssthresh / 2;
        let ratio = if slow { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
        let window = self.window.cwnd.max(self.flight());
        let rate = u128::from(window) * u128::from(ratio) * 10_000_000 / u128::from(srtt.as_nanos());
        Some(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }

    /// Whether a segment has to wait; if so, the timer is set.
    pub(super) fn is_held_by_pacing(&mut self, now: Time) -> bool {
        if !self.paces || now >= self.pacer.next || self.continues_burst(now) {
            return false;
        }
        self.timers.pacing = Some(self.pacer.next);
        true
    }

    /// `octets` leave now.
    pub(super) fn pace(&mut self, now: Time, octets: u32) {
        if !self.paces || self.counters.data_segments_sent < UNPACED {
            return;
        }
        let Some(rate) = self.pacing_rate() else { return };
        let nanos = u64::from(octets) * 1_000_000_000 / rate.max(1);
        // What was missed is made good by half of a burst at most (tcp_update_skb_after_send()).
        if now >= self.pacer.next {
            self.pacer = Pacer { next: now, missed: now - self.pacer.next };
        }
        let made_good = self.pacer.missed.min(Span::from_nanos(nanos / 2));
        self.pacer.missed = self.pacer.missed - made_good;
        self.pacer.next += Span::from_nanos(nanos) - made_good;
    }
}
