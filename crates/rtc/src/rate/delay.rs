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
#[derive(Debug)]
pub(super) struct BaseDelay {
    /// What was sent before took another path.
    since: Time,
    /// The minima by minute, the present one last.
    minima_ms: VecDeque<f64>,
    began: Option<Time>,
}

impl BaseDelay {
    /// Of a path that packets take that are sent from now on.
    pub(super) fn new(now: Time) -> Self {
        Self { since: now, minima_ms: VecDeque::new(), began: None }
    }

    /// A packet that was sent and arrived, each on its own clock: its queueing delay in milliseconds; `now` is the sender's. None if it
    /// took another path.
    pub(super) fn queueing_ms(&mut self, now: Time, sent: Time, arrival: Time) -> Option<f64> {
        if sent < self.since {
            return None;
        }
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
        Some(delay - self.minima_ms.iter().copied().fold(delay, f64::min))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_the_smallest_of_ten_minutes() {
        let mut base = BaseDelay::new(Time::ZERO);
        let mut at = |s: u64, delay_ms: u64| {
            let sent = Time::ZERO + Span::from_secs(s);
            // The receiver's clock is an hour ahead.
            let arrival = sent + Span::from_secs(3600) + Span::from_millis(delay_ms);
            base.queueing_ms(sent, sent, arrival).expect("sent on this path")
        };
        assert_eq!(at(0, 50), 0.0);
        assert_eq!(at(1, 80), 30.0);
        assert_eq!(at(30, 40), 0.0);
        for minute in 1..10 {
            assert_eq!(at(60 * minute, 90), 50.0, "minute {minute}");
        }
        assert_eq!(at(600, 90), 0.0);
    }

    #[test]
    fn what_took_the_path_before_does_not_count() {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let mut base = BaseDelay::new(at(1000));
        assert_eq!(base.queueing_ms(at(1020), at(990), at(1010)), None);
        assert_eq!(base.queueing_ms(at(1200), at(1000), at(1150)), Some(0.0));
    }
}
