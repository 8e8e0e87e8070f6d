//! The rate of what came within a window of time.

use alloc::collections::VecDeque;
use voxpath_units::{Span, Time};

/// Bytes of the last `span`.
#[derive(Debug)]
pub(super) struct RateWindow {
    span: Span,
    since: Option<Time>,
    last: Option<Time>,
    items: VecDeque<(Time, u32)>,
    bytes: u64,
}

impl RateWindow {
    pub(super) fn new(span: Span) -> Self {
        Self { span, since: None, last: None, items: VecDeque::new(), bytes: 0 }
    }

    /// Something came. A clock that goes back counts as standing still.
    pub(super) fn add(&mut self, at: Time, bytes: u32) {
        let at = self.last.map_or(at, |last| last.max(at));
        if self.last.is_some_and(|last| at.since(last) > self.span * 2) {
            self.since = None;
        }
        self.since = self.since.or(Some(at));
        self.last = Some(at);
        self.items.push_back((at, bytes));
        self.bytes += u64::from(bytes);
        self.forget(at);
    }

    fn forget(&mut self, now: Time) {
        while let Some(&(at, bytes)) = self.items.front() {
            if now.since(at) < self.span {
                break;
            }
            self.items.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }

    /// Bits per second over the window that ends with what came last; none before a whole window has passed.
    pub(super) fn bps(&self) -> Option<f64> {
        let whole = self.last?.since(self.since?) >= self.span;
        whole.then(|| self.bytes as f64 * 8.0 / self.span.as_secs_f64())
    }

    /// How many there are in the window.
    pub(super) fn count(&self) -> usize {
        self.items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_known_when_it_is_full_and_forgets() {
        let mut window = RateWindow::new(Span::from_millis(500));
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        for i in 0..50 {
            window.add(at(10 * i), 1250);
        }
        assert_eq!(window.bps(), None);
        window.add(at(500), 1250);
        assert_eq!(window.bps(), Some(1e6));
        window.add(at(300), 1250);
        assert_eq!((window.bps(), window.count()), (Some(1.02e6), 51));
        window.add(at(980), 1250);
        assert_eq!((window.bps(), window.count()), (Some(0.08e6), 4));
    }
}
