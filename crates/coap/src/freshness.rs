//! Which of two notifications is the newer one (RFC 7641 section 3.4), and until when it tells the present state (section 3.3.1).

use voxpath_units::{Span, Time};

/// Max-Age of a response that does not say it (RFC 7252 section 5.10.5).
const MAX_AGE: Span = Span::from_secs(60);
/// After so long any notification is newer.
const APART: Span = Span::from_secs(128);
/// A client waits for so long behind Max-Age, and for as much again as it draws below the second one.
const SLACK: [Span; 2] = [Span::from_secs(5), Span::from_secs(10)];

/// The last notification that was taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Freshness {
    sequence: u32,
    at: Time,
}

impl Freshness {
    pub(crate) const fn new(sequence: u32, at: Time) -> Self {
        Self { sequence, at }
    }

    /// Whether this one is newer than that one, which came before.
    pub(crate) fn is_newer_than(self, that: Self) -> bool {
        const HALF: u32 = 1 << 23;
        let (this, known) = (self.sequence, that.sequence);
        known < this && this - known < HALF
            || known > this && known - this > HALF
            || self.at > that.at + APART
    }
}

/// When a client asks again that has heard nothing since `now`. `below` draws a span below a limit.
pub(crate) fn stale_at(now: Time, max_age: Option<u32>, below: &mut impl FnMut(Span) -> Span) -> Time {
    let age = max_age.map_or(MAX_AGE, |seconds| Span::from_secs(seconds.into()));
    let [least, most] = SLACK;
    now + age + least + below(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_around_and_two_minutes_make_any_of_them_newer() {
        let at = |sequence, seconds| Freshness::new(sequence, Time::ZERO + Span::from_secs(seconds));
        let newer = |this: Freshness, that: Freshness| this.is_newer_than(that);
        assert!(newer(at(2, 1), at(1, 0)) && !newer(at(1, 1), at(2, 0)) && !newer(at(1, 1), at(1, 0)));
        assert!(newer(at(0, 1), at(0xff_ffff, 0)) && !newer(at(0xff_ffff, 1), at(0, 0)));
        assert!(newer(at(1, 129), at(2, 0)) && !newer(at(1, 128), at(2, 0)));
    }
}
