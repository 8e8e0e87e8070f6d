//! Whether the congestion window is what limits the sender, so that it may grow (RFC 7661 section 4.1), over a window as tcp_cwnd_validate() and
//! tcp_is_cwnd_limited() look at it; and how it falls in silence (RFC 2861).

use super::Connection;
use voxpath_units::Span;

/// How far the congestion window was used of late.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// SND.NXT when this was noted, its lower half: less than 2^31 octets are outstanding.
    until: u32,
    /// What was outstanding then, as charged but for what was SACKed or lost, in octets: also less than 2^31.
    most: u32,
    /// Whether the congestion window was all that held the sender back.
    limited: bool,
    /// New data left since this was looked at last.
    pub(super) sent: bool,
}

impl Connection {
    /// Notes how far the window is used, before an acknowledgment makes room.
    pub(super) fn note_usage(&mut self) {
        if !self.shared.config.cwnd_validation {
            return;
        }
        let sent = core::mem::take(&mut self.usage.sent);
        let limited = self.waited_for_cwnd() || self.pipe() + self.window.smss > self.window.cwnd;
        if !sent && !limited {
            return;
        }
        let outstanding = (self.flight() + self.sent.short()) as u32;
        let is_over = (self.snd.una as u32).wrapping_sub(self.usage.until) as i32 >= 0;
        if is_over || limited || (!self.usage.limited && outstanding > self.usage.most) {
            self.usage = Usage { until: self.snd.nxt as u32, most: outstanding, limited, sent: false };
        }
    }

    /// Whether the window may grow; slow start, which doubles it, needs half of it used.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.usage.limited
            || (self.window.in_slow_start() && self.window.cwnd < 2 * u64::from(self.usage.most))
    }

    /// RFC 2861 section 3.2, where nothing was sent for longer than a timeout (tcp_cwnd_restart()). The rest of that section, for a window
    /// of which a part is used, never comes about in Linux: each acknowledgment puts it off (`tests/scripts/unused-window-linux.pkt`).
    pub(super) fn halve_for_idleness(&mut self, idle: Span) {
        let (rto, least) = (self.shared.rtt.rto(), self.restart_window().min(self.window.cwnd));
        // The threshold keeps most of the window (tcp_current_ssthresh()).
        let most = self.whole(self.window.cwnd / 2) + self.whole(self.window.cwnd / 4);
        self.window.ssthresh = self.window.ssthresh.max(most);
        let mut left = idle;
        while left > rto && self.window.cwnd > least {
            left = left - rto;
            self.window.cwnd = self.whole(self.window.cwnd / 2);
        }
        self.window.cwnd = self.window.cwnd.max(least);
    }

    /// RW of RFC 5681 section 4.1.
    pub(super) fn restart_window(&self) -> u64 {
        u64::from(self.shared.config.initial_window) * self.window.smss
    }

    fn whole(&self, octets: u64) -> u64 {
        if self.shared.config.whole_segments { octets / self.window.smss * self.window.smss } else { octets }
    }
}
