//! The queueing delay: the one-way delay above the smallest that was seen, as LEDBAT measures it (RFC 6817 section 3.4.2).
//!
//! The clocks of the ends need not agree: what they differ by is in both. Where they run at different speeds, the base is wrong by what
//! they drift apart in the minutes that it is kept.

use super::groups::signed_ms;
use alloc::collections::VecDeque;
use voxpath_units::{Span, Time};

/// Minutes whose minima are kept (BASE_HISTORY).
const BASE_HISTORY: usize = 10;
const MINUTE: Span = Span::from_secs(60);

/// The smallest delay of the last minutes.
#[derive(Debug, Default)]
pub(super) struct BaseDelay {
    /// The minima by minute, the present one last.
    minima_ms: VecDeque<f64>,
    began: Option<Time>,
}

impl BaseDelay {
    /// A packet that was sent and arrived, each on its own clock: its queueing delay in milliseconds; `now` is the sender's.
    pub(super) fn queueing_ms(&mut self, now: Time, sent: Time, arrival: Time) -> f64 {
        let delay = signed_ms(sent, arrival);
        if self.began.is_none_or(|began| now.since(began) >= MINUTE) {
            self.began = Some(now);
            self.minima_ms.push_back(delay);
            if self.minima_ms.len() > BASE_HISTORY {
                self.minima_ms.pop_front();
            }
        }
        if let Some(present) = self.minima_ms.back_mut() {
            *present = present.min(delay);
        }
        delay - self.minima_ms.iter().copied().fold(delay, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_the_smallest_of_ten_minutes() {
        let mut base = BaseDelay::default();
        let mut at = |s: u64, delay_ms: u64| {
            let sent = Time::ZERO + Span::from_secs(s);
            // The receiver's clock is an hour ahead.
            let arrival = sent + Span::from_secs(3600) + Span::from_millis(delay_ms);
            base.queueing_ms(sent, sent, arrival)
        };
        assert_eq!(at(0, 50), 0.0);
        assert_eq!(at(1, 80), 30.0);
        assert_eq!(at(30, 40), 0.0);
        for minute in 1..10 {
            assert_eq!(at(60 * minute, 90), 50.0, "minute {minute}");
        }
        assert_eq!(at(600, 90), 0.0);
    }
}
