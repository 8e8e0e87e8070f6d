//! Bursts: the segments that Linux makes of one buffer (generic segmentation offload), as many as a millisecond at the rate of pacing has, two at
//! least (tcp_tso_autosize(), tcp_cwnd_test()).

use super::Connection;
use voxpath_units::Time;

/// tcp_min_tso_segs
const LEAST: u64 = 2;
/// Below so many bytes a second BBR asks for one (bbr_min_tso_segs()).
const SLOW: u64 = 150_000;
/// A buffer holds no more, octets.
const MOST: u64 = 65_535 - 320;

/// The burst that is leaving.
#[derive(Debug, Default)]
pub(super) struct Burst {
    at: Time,
    /// Its segments.
    size: u64,
    /// Those of them that have not left.
    left: u64,
}

impl Connection {
    /// Whether the next segment belongs to the burst that is leaving.
    pub(super) const fn continues_burst(&self, now: Time) -> bool {
        self.burst.left > 0 && self.burst.at.as_nanos() == now.as_nanos()
    }

    /// A segment of new data leaves; whether it is the last of a burst of several, which has PSH (__tcp_transmit_skb()).
    pub(super) fn take_from_burst(&mut self, now: Time) -> bool {
        if !self.config.segmentation_offload {
            return false;
        }
        if !self.continues_burst(now) {
            let size = self.burst_size();
            self.burst = Burst { at: now, size, left: size };
        }
        self.burst.left -= 1;
        self.burst.left == 0 && self.burst.size > 1
    }

    fn burst_size(&self) -> u64 {
        let smss = self.window.smss;
        let rate = self.usual_rate().unwrap_or(u64::MAX);
        let least = if self.by_rate() && rate < SLOW { 1 } else { LEAST };
        let goal = ((rate >> 10).min(MOST) / smss).max(least);
        let window = self.window.cwnd / smss;
        let room = self.window.cwnd.saturating_sub(self.pipe()) / smss;
        let unsent = self.snd.buffer.end().saturating_sub(self.snd.nxt);
        let usable = (self.snd.una + self.snd.wnd).saturating_sub(self.snd.nxt);
        let segments = if unsent <= usable { unsent.div_ceil(smss) } else { usable / smss };
        goal.min(room).min(window / 2).min(segments).max(1)
    }
}
