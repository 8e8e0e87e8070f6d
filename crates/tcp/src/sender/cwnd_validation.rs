//! Whether the congestion window is what limits the sender, so that it may grow (RFC 7661 section 4.1), over a window as tcp_cwnd_validate() and
//! tcp_is_cwnd_limited() look at it; and how it falls in silence (RFC 2861).

use super::Sender;
use crate::cc::CwndEvent;
use crate::recovery::LossRecovery;
use crate::shared::Shared;
use voxpath_units::{Span, Time};

/// How far the congestion window was used of late.
#[derive(Debug, Default)]
pub(crate) struct CwndUsage {
    /// SND.NXT when this was noted (`cwnd_usage_seq`), its lower half: less than 2^31 octets are outstanding.
    seq: u32,
    /// What was outstanding then (`max_packets_out`), as charged but for what was SACKed or lost, in octets: also less than 2^31.
    max_out: u32,
    /// Whether the congestion window was all that held the sender back.
    is_cwnd_limited: bool,
    /// New data left since this was looked at last.
    pub(crate) sent: bool,
}

impl Sender {
    /// Notes how far the window is used, before an acknowledgment makes room.
    pub(crate) fn validate_cwnd(&mut self, cx: &Shared, recovery: &LossRecovery) {
        if !cx.config.cwnd_validation {
            return;
        }
        let sent = core::mem::take(&mut self.usage.sent);
        let is_cwnd_limited =
            self.waited_for_cwnd() || recovery.pipe(cx, self) + self.window.smss > self.window.cwnd;
        if !sent && !is_cwnd_limited {
            return;
        }
        let outstanding = (self.flight() + self.rtx_queue.short()) as u32;
        let is_over = (self.una as u32).wrapping_sub(self.usage.seq) as i32 >= 0;
        if is_over || is_cwnd_limited || (!self.usage.is_cwnd_limited && outstanding > self.usage.max_out) {
            self.usage =
                CwndUsage { seq: self.nxt as u32, max_out: outstanding, is_cwnd_limited, sent: false };
        }
    }

    /// Whether the window may grow; slow start, which doubles it, needs half of it used.
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        self.usage.is_cwnd_limited
            || (self.window.in_slow_start() && self.window.cwnd < 2 * u64::from(self.usage.max_out))
    }

    /// Before new data leaves, where nothing is outstanding.
    pub(crate) fn restart_after_idle(&mut self, cx: &Shared, now: Time) {
        if self.flight() == 0 && self.usable() > 0 {
            self.restart_after_silence(cx, now);
        }
    }

    /// RFC 5681 section 4.1, or by halves.
    pub(crate) fn restart_after_silence(&mut self, cx: &Shared, now: Time) {
        let Some(last) = self.last_data else { return };
        let idle = now.since(last);
        if !cx.config.idle_restart || self.by_rate() || idle <= cx.rtt.rto() {
            return;
        }
        if cx.config.cwnd_validation {
            if self.unsent() == 0 {
                return;
            }
            self.restart_cwnd(cx, idle);
        } else {
            self.window.cwnd = self.window.cwnd.min(self.restart_window(cx));
        }
        self.note_idle(now);
    }

    /// Tells the congestion control how long nothing was sent or outstanding.
    pub(crate) fn note_idle(&mut self, now: Time) {
        if self.flight() == 0
            && let Some(last) = self.last_data.replace(now)
            && now > last
        {
            let app_limited = self.rate.as_ref().is_some_and(|rate| rate.is_app_limited());
            self.cc.cwnd_event(now, CwndEvent::TxStart { idle: now - last, app_limited }, &mut self.window);
        }
    }

    /// RFC 2861 section 3.2, where nothing was sent for longer than a timeout (tcp_cwnd_restart()). The rest of that section, for a window
    /// of which a part is used, never comes about in Linux: each acknowledgment puts it off (`tests/scripts/unused-window-linux.pkt`).
    fn restart_cwnd(&mut self, cx: &Shared, idle: Span) {
        let (rto, least) = (cx.rtt.rto(), self.restart_window(cx).min(self.window.cwnd));
        // The threshold keeps most of the window (tcp_current_ssthresh()).
        let most = self.whole(cx, self.window.cwnd / 2) + self.whole(cx, self.window.cwnd / 4);
        self.window.ssthresh = self.window.ssthresh.max(most);
        let mut left = idle;
        while left > rto && self.window.cwnd > least {
            left = left - rto;
            self.window.cwnd = self.whole(cx, self.window.cwnd / 2);
        }
        self.window.cwnd = self.window.cwnd.max(least);
    }

    /// RW of RFC 5681 section 4.1.
    fn restart_window(&self, cx: &Shared) -> u64 {
        u64::from(cx.config.initial_window) * self.window.smss
    }

    fn whole(&self, cx: &Shared, octets: u64) -> u64 {
        if cx.config.whole_segments { octets / self.window.smss * self.window.smss } else { octets }
    }
}
