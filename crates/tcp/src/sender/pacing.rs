//! Pacing: segments leave one by one at a rate, in place of as many at once as the window allows (`tcp_update_pacing_rate()` and the internal
//! pacing of Linux).

use super::Sender;
use crate::config::JIFFY;
use crate::recovery::LossRecovery;
use crate::shared::Shared;
use voxpath_units::{Span, Time};

/// Segments at the start that Linux does not pace.
const UNPACED: u64 = 10;
/// Linux: `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`, per cent.
const SLOW_START_RATIO: u64 = 200;
const AVOIDANCE_RATIO: u64 = 120;

/// When the next segment may leave.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    next: Time,
    /// What of the time that was missed before this burst is not made good yet.
    missed: Span,
}

impl Sender {
    /// The rate in bytes a second; none where nothing is paced.
    pub(crate) fn pacing_rate(&self, cx: &Shared) -> Option<u64> {
        self.pacer.as_ref().and_then(|_| self.usual_rate(cx))
    }

    /// The rate at which it would be paced, in bytes a second; none before there was a round trip.
    pub(crate) fn usual_rate(&self, cx: &Shared) -> Option<u64> {
        if let Some(rate) = self.cc.pacing_rate() {
            return Some(rate);
        }
        let srtt = cx.rtt.srtt().filter(|&srtt| srtt > Span::ZERO)?;
        if self.by_rate() && !cx.config.pacing {
            return None;
        }
        let slow = self.window.cwnd < self.window.ssthresh / 2;
        let ratio = if slow { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
        let window = self.window.cwnd.max(self.flight());
        let rate = u128::from(window) * u128::from(ratio) * 10_000_000 / u128::from(srtt.as_nanos());
        Some(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }

    /// When data left last; where it is paced, until when that keeps the next from leaving (tcp_wstamp_ns).
    pub(crate) fn last_departure(&self) -> Option<Time> {
        let next = self.pacer.as_ref().map_or(Time::ZERO, |pacer| pacer.next);
        self.last_data.map(|last| last.max(next))
    }

    /// Octets that pacing lets out before it holds the next burst back: whole bursts of `burst` octets.
    pub(super) fn unpaced(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        if self.pacer.is_none() {
            return u64::MAX;
        }
        if self.timers.pacing.is_some() {
            return 0;
        }
        let burst = self.usual_burst(cx, recovery) * self.window.smss;
        let first = UNPACED.saturating_sub(cx.counters.data_segments_sent) * self.window.smss;
        first.next_multiple_of(burst).max(burst)
    }

    /// By how much timers are later because pacing holds the next segment: whole jiffies of it (tcp_pacing_delay()).
    pub(crate) fn pacing_delay(&self, cx: &Shared, now: Time) -> Span {
        let wait = self.pacer.as_ref().map_or(Span::ZERO, |pacer| pacer.next.since(now));
        if cx.rtt.follows_linux() { JIFFY * (wait.as_nanos() / JIFFY.as_nanos()) } else { Span::ZERO }
    }

    /// Whether a segment has to wait; if so, the timer is set.
    pub(crate) fn is_held_by_pacing(&mut self, now: Time) -> bool {
        let Some(next) = self.pacer.as_ref().map(|pacer| pacer.next) else { return false };
        let is_held = now < next && !self.continues_burst(now);
        if is_held {
            self.timers.pacing = Some(next);
        }
        is_held
    }

    /// The retransmission that a timeout calls for does not wait (tcp_retransmit_timer() sends it itself).
    pub(crate) fn release_pacing(&mut self, now: Time) {
        if let Some(pacer) = &mut self.pacer {
            pacer.next = pacer.next.min(now);
        }
        self.timers.pacing = None;
    }

    /// `octets` leave now.
    pub(crate) fn pace(&mut self, cx: &Shared, now: Time, octets: u32) {
        let Some(rate) = self.pacing_rate(cx) else { return };
        let with_burst = cx.counters.data_segments_sent + self.burst_left(now);
        let Some(pacer) = &mut self.pacer else { return };
        let nanos = u64::from(octets) * 1_000_000_000 / rate.max(1);
        // What was missed is made good by half of a burst at most (tcp_update_skb_after_send()).
        if now >= pacer.next {
            **pacer = Pacer { next: now, missed: now - pacer.next };
        }
        if with_burst < UNPACED {
            return;
        }
        let made_good = pacer.missed.min(Span::from_nanos(nanos / 2));
        pacer.missed = pacer.missed - made_good;
        pacer.next += Span::from_nanos(nanos) - made_good;
    }
}
