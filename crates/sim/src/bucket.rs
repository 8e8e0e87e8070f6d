//! How often a node tells of errors.

use voxpath_units::{Span, Time};

/// How often a node tells of errors: RFC 1812 section 4.3.2.8 and RFC 4443 section 2.4 (f) ask for a limit. A token
/// bucket with Linux' `icmp_msgs_per_sec` and `icmp_msgs_burst`; as there, a packet that is too big is always told,
/// because path MTU discovery lives on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    tokens: u64,
    filled: Time,
}

const BURST: u64 = 50;
const EVERY: Span = Span::from_millis(1);

impl Bucket {
    pub(crate) const FULL: Self = Self { tokens: BURST, filled: Time::ZERO };

    /// Whether one more may be sent now.
    pub(crate) fn take(&mut self, now: Time) -> bool {
        let new = now.since(self.filled).as_nanos() / EVERY.as_nanos();
        if self.tokens + new >= BURST {
            (self.tokens, self.filled) = (BURST, now);
        } else {
            self.tokens += new;
            self.filled += EVERY * new;
        }
        let may = self.tokens > 0;
        self.tokens -= u64::from(may);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_in_bursts_of_fifty_and_then_one_a_millisecond() {
        let mut bucket = Bucket::FULL;
        let mut told = |ns| bucket.take(Time::from_nanos(ns));
        let at_once = (0..100).filter(|_| told(5)).count();
        assert_eq!(at_once, 50);
        assert!(!told(999_999));
        let in_the_next_second = (0..10_000).filter(|i| told(1_000_000 + i * 100_000)).count();
        assert_eq!(in_the_next_second, 1000);
    }
}
