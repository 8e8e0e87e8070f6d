//! The buffers that an application fills and that bursts are made of: where what waits to be sent is divided (tcp_sendmsg_locked(), tso_fragment()).

use super::Sender;
use super::burst::MOST;
use crate::recovery::LossRecovery;
use crate::shared::Shared;

impl Sender {
    /// Octets that an application fills a buffer with: as many as half of the largest window lets it have (tcp_xmit_size_goal()).
    pub(super) fn whole_buffer(&self) -> u64 {
        let smss = self.window.smss;
        (MOST.min(u64::from(self.max_wnd / 2)) / smss).max(1) * smss
    }

    /// Where the last buffer begins of what waits from `start` on: what a burst has left of a buffer is one.
    fn begin_of_last(&self, start: u64) -> u64 {
        self.last_buffer.max(start)
    }

    /// How many buffers wait from `start` on. All but the first and the last are whole.
    pub(super) fn buffers_from(&self, start: u64) -> u64 {
        if start >= self.buffer.end() {
            return 0;
        }
        1 + (self.begin_of_last(start) - start).div_ceil(self.whole_buffer())
    }

    /// Octets that fill up the last buffer of what waits from `start` on.
    pub(super) fn room_of_last(&self, start: u64) -> u64 {
        let held = self.buffer.end().saturating_sub(self.begin_of_last(start));
        self.whole_buffer().saturating_sub(held)
    }

    /// Data was written behind what waits from `start` on: it has filled up the last buffer, and others.
    pub(super) fn fill_buffers(&mut self, start: u64) {
        self.last_buffer = last_of(self.last_buffer, start, self.buffer.end(), self.whole_buffer());
    }

    /// Whether the last buffer is the next one to leave, were all below `start` gone.
    pub(super) const fn is_last_next(&self, start: u64) -> bool {
        self.last_buffer <= start
    }

    /// Octets of the buffer that is next. One that a burst has left little of is filled up from the next (tcp_grow_skb()).
    pub(super) fn next_buffer(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        let whole = self.whole_buffer();
        let left = match self.last_buffer.checked_sub(self.nxt + 1) {
            Some(before) => before % whole + 1,
            None => self.unsent(),
        };
        let asked = self.burst_quota(cx, recovery) * self.window.smss;
        left.max(asked.min(left + whole)).min(self.unsent())
    }
}

/// Where the last buffer begins once what waits from `start` on, be it in a buffer that began at `last`, was filled up to `end`. While it has room it is the
/// same: whether what lies before `start` leaves at once is not certain.
fn last_of(last: u64, start: u64, end: u64, whole: u64) -> u64 {
    let begin = last.max(start);
    match end.saturating_sub(begin + 1) / whole {
        0 => last,
        full => begin + full * whole,
    }
}

#[cfg(test)]
mod tests {
    use super::last_of;

    #[test]
    fn a_buffer_is_begun_where_one_is_full() {
        assert_eq!(last_of(100, 150, 400, 300), 100, "there is room");
        assert_eq!(last_of(100, 100, 400, 300), 100, "full, and nothing more was written");
        assert_eq!(last_of(100, 100, 401, 300), 400);
        assert_eq!(last_of(100, 150, 1051, 300), 1050, "what was left of the first was filled up");
        assert_eq!(last_of(100, 500, 400, 300), 100, "all leaves");
    }
}
