//! Bursts: the segments that Linux makes of one buffer (generic segmentation offload), as many as a millisecond at the rate of pacing has, more for a
//! near peer, two at least (tcp_tso_autosize(), tcp_cwnd_test()); and the waiting of a burst that the next acknowledgment may make larger (tcp_tso_should_defer()).

use super::Sender;
use crate::recovery::{LossRecovery, Phase};
use crate::shared::Shared;
use voxpath_units::{Span, Time};

/// tcp_min_tso_segs
const LEAST: u64 = 2;
/// Below so many bytes a second BBR asks for one (bbr_min_tso_segs()).
const SLOW: u64 = 150_000;
/// A buffer holds no more, octets.
pub(super) const MOST: u64 = 65_535 - 320;
/// A near peer is sent larger bursts: a whole buffer, halved for each such part of the smallest round trip (tcp_tso_rtt_log).
const NEAR: Span = Span::from_micros(512);
/// A burst waits if the last one left so lately, and if an acknowledgment is that near.
const LATELY: Span = Span::from_millis(1);
/// What part of the window is worth a burst at once (tcp_tso_win_divisor).
const WINDOW_DIVISOR: u64 = 3;

/// The burst that is leaving.
#[derive(Debug, Default)]
pub(crate) struct Burst {
    at: Time,
    /// Up to where bursts leave at once though the next acknowledgment might make them larger; the lower half of the offset.
    pushed_until: u32,
    /// Its segments that have not left.
    left: u16,
    /// Whether the segment taken last is not its first.
    is_within: bool,
    /// Whether the next one waits for the congestion window.
    waits_for_cwnd: bool,
}

impl Sender {
    /// Whether the next segment belongs to the burst that is leaving.
    pub(crate) const fn continues_burst(&self, now: Time) -> bool {
        self.burst.left > 0 && self.burst.at.as_nanos() == now.as_nanos()
    }

    /// Segments of the burst that is leaving that have not left.
    pub(super) const fn burst_left(&self, now: Time) -> u64 {
        if self.continues_burst(now) { self.burst.left as u64 } else { 0 }
    }

    /// A segment of new data leaves; whether it is the last of a burst of several, which has PSH (__tcp_transmit_skb()).
    pub(crate) fn take_from_burst(&mut self, cx: &Shared, recovery: &LossRecovery, now: Time) -> bool {
        if !cx.config.segmentation_offload {
            return false;
        }
        self.burst.is_within = self.continues_burst(now);
        if !self.burst.is_within {
            // A buffer has 45 segments of the usual size, 65 535 at most.
            self.begin_burst(now, self.burst_size(cx, recovery) as u16);
            self.burst.waits_for_cwnd = false;
        }
        self.burst.left -= 1;
        self.burst.left == 0 && self.burst.is_within
    }

    /// Whether the segment taken last is not the first of its burst.
    pub(super) const fn is_within_burst(&self) -> bool {
        self.burst.is_within
    }

    const fn begin_burst(&mut self, now: Time, segments: u16) {
        (self.burst.at, self.burst.left) = (now, segments);
    }

    /// What was lost of a buffer leaves again at once, as far as the congestion window and the size of a burst let it (tcp_xmit_retransmit_queue());
    /// only pacing would tell. A segment of it leaves that ends at `end`.
    pub(crate) fn take_again_from_burst(
        &mut self,
        cx: &Shared,
        recovery: &LossRecovery,
        now: Time,
        end: u64,
    ) {
        if !cx.config.segmentation_offload || self.pacer.is_none() {
            return;
        }
        if self.continues_burst(now) {
            self.burst.left -= 1;
            return;
        }
        let room = self.cwnd_room(cx, recovery) / self.window.smss;
        let left = self.rtx_queue.lost_of_buffer(end, room.min(self.burst_goal(cx, recovery) - 1));
        self.begin_burst(now, left);
    }

    /// Whether the next burst waits because it may become larger (tcp_tso_should_defer()).
    pub(crate) fn defers_burst(&mut self, cx: &Shared, recovery: &LossRecovery, now: Time) -> bool {
        self.burst.waits_for_cwnd = false;
        if !cx.config.segmentation_offload || self.continues_burst(now) {
            return false;
        }
        let Some(sent) = self.rtx_queue.first_sent().filter(|_| self.sent_lately(now)) else { return false };
        if matches!(recovery.phase(), Phase::Recovery | Phase::Loss) {
            return false;
        }
        let smss = self.window.smss;
        let buffer = self.next_buffer(cx, recovery);
        let unsent = self.unsent();
        let (cwnd_room, usable) = (self.cwnd_room(cx, recovery), self.usable());
        let limit = cwnd_room.min(usable);
        let is_enough = buffer <= smss
            || limit >= self.burst_goal(cx, recovery) * smss
            || (buffer < unsent && limit >= buffer)
            || limit >= self.wnd.min(self.window.cwnd) / WINDOW_DIVISOR
            || (limit > buffer && self.buffer.is_closed());
        let srtt = cx.rtt.srtt().unwrap_or_default();
        if is_enough || self.is_pushed() || (sent + srtt).since(now) > LATELY.min(srtt / 2) {
            return false;
        }
        self.burst.waits_for_cwnd = cwnd_room < usable && cwnd_room <= buffer;
        true
    }

    /// An acknowledgment was taken in: what waits then was not pushed.
    pub(crate) const fn end_push(&mut self) {
        self.burst.pushed_until = self.nxt as u32;
    }

    /// An application is about to write `data` octets, of which `room` fit. If its last buffer is the next one to leave, a burst of it leaves as often as the
    /// buffer is full while more is to be written, and does not wait (tcp_push_one() in tcp_sendmsg_locked()). Once more than half of the largest window was
    /// written, bursts wait again (forced_push()).
    pub(super) fn push_full_buffer(&mut self, cx: &Shared, recovery: &LossRecovery, room: u32, data: u32) {
        if !cx.config.segmentation_offload || self.pacer.is_some() || cx.owned.is_some() || data == 0 {
            return;
        }
        let burst = self.usual_burst(cx, recovery) * self.window.smss;
        let start = self.nxt + self.leaves_now(cx, recovery) / burst * burst;
        let filled = u64::from(room.min(data - 1).min(self.max_wnd / 2));
        let room = self.room_of_last(start);
        if room > 0
            && self.is_last_next(start)
            && let Some(refilled) = filled.checked_sub(room)
        {
            self.burst.pushed_until = (start + refilled + 1) as u32;
        }
    }

    /// Whether the next burst was pushed.
    const fn is_pushed(&self) -> bool {
        ((self.nxt as u32).wrapping_sub(self.burst.pushed_until) as i32) < 0
    }

    /// Whether the congestion window is what a burst has waited for since this was asked last.
    pub(crate) const fn waited_for_cwnd(&mut self) -> bool {
        core::mem::replace(&mut self.burst.waits_for_cwnd, false)
    }

    fn sent_lately(&self, now: Time) -> bool {
        self.last_departure().is_some_and(|last| now.since(last) <= LATELY)
    }

    fn burst_size(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        let smss = self.window.smss;
        let quota = self.burst_quota(cx, recovery);
        let usable = self.usable_in_bursts(cx, || quota * smss);
        quota.min(self.unsent().min(usable).min(self.next_buffer(cx, recovery)).div_ceil(smss)).max(1)
    }

    /// Segments that a burst is to have at this rate (tcp_tso_autosize()).
    fn burst_goal(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        let rate = self.usual_rate(cx).unwrap_or(u64::MAX);
        let halvings = recovery.min_rtt().map_or(u64::MAX, |rtt| rtt.as_nanos() / NEAR.as_nanos());
        let near = u32::try_from(halvings).ok().and_then(|halvings| MOST.checked_shr(halvings)).unwrap_or(0);
        let least = if self.by_rate() && rate < SLOW { 1 } else { LEAST };
        (((rate >> 10) + near).min(MOST) / self.window.smss).max(least)
    }

    /// Segments of them that the congestion window lets out at once (tcp_cwnd_test()).
    pub(super) fn burst_quota(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        self.usual_burst(cx, recovery).min(self.cwnd_room(cx, recovery) / self.window.smss).max(1)
    }

    /// Segments of a burst that the window does not hold back.
    pub(super) fn usual_burst(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        self.burst_goal(cx, recovery).min(self.window.cwnd / self.window.smss / 2).max(1)
    }

    /// Octets of the burst that may leave now.
    pub(crate) fn may_leave(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        if self.timers.pacing.is_some() {
            return 0;
        }
        let burst = self.usual_burst(cx, recovery) * self.window.smss;
        self.window_room(cx, recovery).min(self.unsent()).min(burst)
    }

    /// Octets that both windows let out.
    pub(super) fn window_room(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        let smss = self.window.smss;
        let usable = self.usable_in_bursts(cx, || self.usual_burst(cx, recovery) * smss);
        (self.cwnd_room(cx, recovery) / smss * smss).min(usable)
    }

    /// Octets that the peer's window lets out in bursts of so many octets: whole segments, and what it has left behind a whole one of the same burst unless
    /// Nagle's algorithm holds that back (tcp_snd_wnd_test(), tcp_mss_split_point()).
    fn usable_in_bursts(&self, cx: &Shared, burst: impl FnOnce() -> u64) -> u64 {
        let usable = self.usable();
        let cut = usable % self.window.smss;
        let leaves_cut =
            cut > 0 && cx.config.segmentation_offload && !self.holds_small(cx) && usable % burst() > cut;
        if leaves_cut { usable } else { usable - cut }
    }

    pub(super) fn cwnd_room(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        self.window.cwnd.saturating_sub(recovery.pipe(cx, self))
    }
}
