//! The oracle of mobile clients (De Coninck and Bonaventure 2018; `net/mptcp/mptcp_oracle.c` of their Linux v0.9x): looks every second at what
//! subflows had to retransmit, and doubts those that fail before a timeout shows it.

use crate::subflow::Subflow;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};

/// How often it looks.
const LOOK: Span = Span::from_secs(1);
/// A subflow is bad that retransmits at least one of so many segments, and more of them than before.
const BAD: u64 = 4;
/// A retransmission timeout that is long.
const LONG_TIMEOUT: Span = Span::from_millis(1500);
/// Of counts, so that halving them loses little.
const UNIT: u64 = 64;

/// What it remembers.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    /// When it looks next; none while nothing is outstanding.
    pub(crate) next: Option<Time>,
    seen: Vec<Seen>,
}

/// What was seen of a subflow.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    /// Segments with data that it had sent, and those among them that were retransmitted.
    sent: u64,
    again: u64,
    /// The same of each second, averaged by volume: each second counts half as much as the next.
    recent_sent: u64,
    recent_again: u64,
}

impl Oracle {
    /// Looks if it is time; whether it doubts a subflow, so that another one should be opened.
    pub(crate) fn consult(&mut self, now: Time, is_outstanding: bool, subflows: &mut [Subflow]) -> bool {
        match self.next {
            _ if !is_outstanding => {
                self.next = None;
                return false;
            }
            None => {
                self.next = Some(now + LOOK);
                return false;
            }
            Some(due) if now < due => return false,
            Some(_) => self.next = Some(now + LOOK),
        }
        self.seen.resize(subflows.len(), Seen::default());
        let mut doubts = false;
        for (subflow, seen) in subflows.iter_mut().zip(&mut self.seen) {
            if !subflow.is_ready() {
                continue;
            }
            let counters = subflow.tcp.counters();
            if seen.take(counters.data_segments_sent, counters.retransmissions) {
                (subflow.was_bad, subflow.silent) = (true, true);
                doubts = true;
            }
            subflow.has_long_timeout = subflow.tcp.rto() >= LONG_TIMEOUT;
            doubts |= subflow.has_long_timeout;
        }
        doubts
    }
}

impl Seen {
    /// A second has passed, and so many segments were sent since the beginning; whether the subflow is bad.
    fn take(&mut self, sent: u64, again: u64) -> bool {
        let before = *self;
        (self.sent, self.again) = (sent, again);
        self.recent_sent = before.recent_sent / 2 + (sent - before.sent) * UNIT;
        self.recent_again = before.recent_again / 2 + (again - before.again) * UNIT;
        // Shares are compared by their products.
        let rises = self.recent_again * before.recent_sent.max(1) > before.recent_again * self.recent_sent;
        self.recent_again > 0 && self.recent_again * BAD >= self.recent_sent && rises
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_quarter_that_grows_is_bad() {
        let mut seen = Seen::default();
        assert!(!seen.take(100, 0));
        assert!(!seen.take(200, 20), "a tenth of them, or a fifteenth with the second before");
        assert!(seen.take(300, 80), "60 of 100, and before");
        assert!(!seen.take(400, 80), "it gets better");
        assert!(!seen.take(400, 80), "nothing was sent");
    }

    #[test]
    fn who_sends_nothing_but_retransmissions_is_bad() {
        let mut seen = Seen::default();
        assert!(!seen.take(10, 0));
        assert!(seen.take(14, 4));
    }
}
