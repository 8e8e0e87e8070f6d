//! Loss detection by time (RFC 8985): a segment is lost if one that was sent later has been delivered, and a reordering window has passed
//! since.

use crate::sender::{Delivered, Sent};
use voxpath_units::{Span, Time};

/// Recoveries after which a window that was widened for D-SACKs falls back (RFC 8985 section 6.2, step 4).
const PERSIST: u32 = 16;

/// RACK's state (RFC 8985 section 5.2).
#[derive(Debug)]
pub(super) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: when the delivered segment was sent that was sent last.
    newest: Option<Sent>,
    /// RACK.rtt.
    rtt: Span,
    /// RACK.min_RTT.
    min_rtt: Option<Span>,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// By how many segments packets were seen to overtake each other, at the most (Linux' tp->reordering).
    reordering: u32,
    /// RACK.reo_wnd_mult.
    multiplier: u32,
    /// RACK.reo_wnd_persist.
    persist: u32,
    /// RACK.dsack_round.
    dsack_round: Option<u64>,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: None,
            rtt: Span::ZERO,
            min_rtt: None,
            reordering_seen: false,
            reordering: 0,
            multiplier: 1,
            persist: 0,
            dsack_round: None,
        }
    }
}

impl Rack {
    /// Step 1: the smallest round-trip time of segments sent once.
    pub(super) fn sample(&mut self, rtt: Span) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    /// RACK.min_RTT, with that of the handshake (tcp_min_rtt()).
    pub(super) const fn min_rtt(&self) -> Option<Span> {
        self.min_rtt
    }

    /// Step 2: what was sent once has arrived so many segments after what was sent later (tcp_check_sack_reordering()).
    pub(super) fn note_reordering(&mut self, reordering: u32) {
        self.reordering_seen = true;
        self.reordering = self.reordering.max(reordering);
    }

    /// By how many segments packets were seen to overtake each other, at the most.
    pub(super) const fn reordering(&self) -> u32 {
        self.reordering
    }

    /// Step 3: what was delivered; `is_original` says whether what was retransmitted at a time has not been answered, but the original.
    ///
    /// RACK.rtt is of what was sent last. With `of_last` it is of what was taken in last (tcp_rack_advance()): an acknowledgment in order whose SACK
    /// block tells of something newer leaves the longer one.
    pub(super) fn advance(
        &mut self,
        now: Time,
        delivered: &Delivered,
        of_last: bool,
        is_original: impl Fn(Time) -> bool,
    ) {
        // A retransmission that cannot have been answered yet: it was the original, too. What was sent once counts all the same.
        let too_soon = |sent: &Sent| {
            sent.is_retransmission()
                && (self.min_rtt.is_some_and(|min| now - sent.at < min) || is_original(sent.at))
        };
        let Some(newest) = delivered.newest.filter(|sent| !too_soon(sent)).or(delivered.newest_once) else {
            return;
        };
        let last = delivered.last.filter(|sent| of_last && !too_soon(sent));
        self.rtt = now - last.unwrap_or(newest).at;
        self.newest = self.newest.max(Some(newest));
    }

    /// Step 4: a D-SACK widens the window, once a round trip; as in Linux only after reordering was seen, for else it is not what made
    /// the retransmission needless (tcp_dsack_seen()).
    pub(super) fn on_dsack(&mut self, una: u64, nxt: u64) {
        if !self.reordering_seen || self.dsack_round.is_some_and(|round| una < round) {
            return;
        }
        self.dsack_round = Some(nxt);
        self.multiplier = (self.multiplier + 1).min(u32::from(u8::MAX));
        self.persist = PERSIST;
    }

    /// Step 4: a recovery ended.
    pub(super) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// RACK_update_reo_wnd(): none while no reordering was seen and a recovery is on or `dupacks_suffice`.
    fn window(&self, srtt: Option<Span>, eager: bool) -> Span {
        if !self.reordering_seen && eager {
            return Span::ZERO;
        }
        let quarter = self.min_rtt.unwrap_or(Span::ZERO) / 4;
        let wide = quarter * u64::from(self.multiplier);
        srtt.map_or(wide, |srtt| wide.min(srtt))
    }

    /// Step 5: judges a segment at a time; `wait` becomes the longest time that one still has.
    pub(super) fn detect_loss<'a>(
        &self,
        now: Time,
        srtt: Option<Span>,
        eager: bool,
        wait: &'a mut Span,
    ) -> impl FnMut(Sent) -> Option<bool> + use<'a> {
        let (newest, limit) = (self.newest, self.rtt + self.window(srtt, eager));
        move |sent| {
            if newest.is_none_or(|newest| newest <= sent) {
                return None;
            }
            let elapsed = now - sent.at;
            if elapsed < limit {
                *wait = (*wait).max(limit - elapsed);
            }
            Some(elapsed >= limit)
        }
    }

    /// Whether what was sent at `at` had time enough to be answered (Linux' tcp_timeout_mark_lost()).
    pub(super) fn is_overdue(&self, now: Time, at: Time) -> bool {
        now - at >= self.rtt
    }
}
