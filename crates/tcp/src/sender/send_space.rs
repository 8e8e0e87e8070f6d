//! The send buffer as Linux has it: memory, of which each buffer of segments takes more than its octets, and which grows with the congestion window
//! while the application waits for it (tcp_sndbuf_expand()).

use super::Sender;
use crate::config::{Config, WAKING};
use crate::recovery::LossRecovery;
use crate::shared::Shared;
use voxpath_units::Span;
use voxpath_wire::Payload;

/// What a buffer takes beside its octets: `struct sk_buff`, `struct skb_shared_info`, and room for headers (tcp_stream_alloc_skb()).
const BESIDE: u64 = 832;
/// What a segment is counted for beside its octets and its `struct sk_buff`, before that is rounded up to a power of two, and the latter.
const SEGMENT_BESIDE: u64 = 576;
const SK_BUFF: u64 = 256;
/// The MSS that a segment is counted for at least: that of Ethernet.
const LEAST_MSS: u64 = 1460;
/// Segments that memory is for at least: TCP_INIT_CWND.
const LEAST_SEGMENTS: u64 = 10;
/// What memory is for: the segments of two windows, of three where the rate of delivery steers them (bbr_sndbuf_expand()).
const WINDOWS: u64 = 2;
const WINDOWS_BY_RATE: u64 = 3;
/// What a socket has before its connection stands, and at the most: net.ipv4.tcp_wmem.
const FIRST: u32 = 16 << 10;

/// What a segment with so many octets is counted for where memory is sized by the congestion window; those of Ethernet at least.
pub const fn memory_of_segment(mss: u64) -> u64 {
    let octets = if mss > LEAST_MSS { mss } else { LEAST_MSS };
    (octets + SEGMENT_BESIDE).next_power_of_two() + SK_BUFF
}

/// What a buffer has before the connection stands.
pub(super) fn first(config: &Config) -> u32 {
    if config.send_autotuning { FIRST.min(config.send_buffer) } else { config.send_buffer }
}

impl Sender {
    /// Octets that an application may write now. It fills buffers as long as there is memory for the beginning of one; having waited, it is
    /// woken up once a third of the memory is free (sk_stream_write_space()).
    pub(crate) fn room(&self, cx: &Shared, recovery: &LossRecovery) -> u32 {
        if !counts_memory(cx) {
            return self.buffer.room();
        }
        let memory = u64::from(self.buffer.capacity());
        let is_asleep = |taken| self.buffer.is_awaited() && !is_writeable(memory, taken);
        if is_asleep(self.buffer.len()) {
            return 0;
        }
        let taken = self.memory_taken(cx, recovery);
        if is_asleep(taken) {
            return 0;
        }
        let start = self.nxt + self.leaves_now(cx, recovery);
        let room = if start < self.buffer.end() {
            // The last buffer is filled up, whatever that takes; others are begun.
            let (of_last, whole) = (self.room_of_last(start), self.whole_buffer());
            of_last + memory.saturating_sub(taken + of_last).div_ceil(whole + BESIDE) * whole
        } else {
            self.room_of_idle(cx, recovery, memory, taken)
        };
        u32::try_from(room).unwrap_or(u32::MAX)
    }

    /// As much as can be written where nothing waits to be sent, so that bursts leave while the application writes (tcp_sendmsg_locked()).
    fn room_of_idle(&self, cx: &Shared, recovery: &LossRecovery, memory: u64, taken: u64) -> u64 {
        let whole = self.whole_buffer();
        let burst = self.usual_burst(cx, recovery) * self.window.smss;
        let may_leave = self.goes_now(cx, recovery).saturating_sub(self.leaves_now(cx, recovery));
        let half = u64::from(self.max_wnd / 2);
        let mut room = 0;
        loop {
            let sent = may_leave.min(room);
            let buffers = sent.div_ceil(burst) + (room - sent).div_ceil(whole);
            if taken + room + BESIDE * buffers >= memory {
                return room;
            }
            if sent < room {
                room += whole;
                continue;
            }
            // A burst of the last buffer leaves as often as that is full, and it is filled up again (tcp_push_one()). All of it leaves once more than
            // half of the peer's largest window was written (forced_push()).
            let refills = (half + 1).saturating_sub(whole).div_ceil(burst) * burst;
            room += whole + refills.min(may_leave - room);
            room = if room > may_leave { may_leave + whole } else { room };
        }
    }

    /// The peer's handshake is over: an application is woken up that will take the connection.
    pub(crate) const fn accept(&mut self) {
        self.accepted = true;
    }

    /// Data has come so long after the handshake: an application that has been awake since waits for it already.
    pub(crate) fn note_data(&mut self, after: Span) {
        self.accepted &= after <= WAKING;
    }

    /// Takes in as much of `data` as fits, which is `room`; how many octets that is.
    ///
    /// The socket knows that there is no room from whoever found none (SOCK_NOSPACE): who writes, or who looks before he waits (tcp_poll()). Where
    /// epoll tells of changes alone nobody looks after he has written, but for one who found the request when he took the connection.
    pub(crate) fn write(&mut self, cx: &Shared, recovery: &LossRecovery, room: u32, data: &Payload) -> u32 {
        self.push_full_buffer(cx, recovery, room, data.len());
        let written = self.buffer.write_into(room, data);
        self.fill_buffers(self.nxt + self.leaves_now(cx, recovery));
        if written > 0 && counts_memory(cx) {
            let looks = core::mem::take(&mut self.accepted);
            self.buffer.watch(self.buffer.is_awaited() || looks && !self.is_writeable(cx, recovery));
        }
        written
    }

    /// An acknowledgment was taken in, or what pacing had held back leaves: gives an application that found no room more memory,
    /// if what was written leaves the congestion window open (tcp_new_space(), tcp_should_expand_sndbuf()).
    pub(crate) fn expand_space(&mut self, cx: &Shared, recovery: &LossRecovery) {
        if !self.buffer.is_watched() || !counts_memory(cx) {
            return;
        }
        if self.leaves_window_open(cx, recovery) {
            self.size_space(cx, recovery);
        }
        self.buffer.watch(!self.is_writeable(cx, recovery));
    }

    /// Whether what was written leaves the congestion window open (tcp_should_expand_sndbuf()).
    fn leaves_window_open(&self, cx: &Shared, recovery: &LossRecovery) -> bool {
        let usable = self.unsent().min(self.usable());
        // Of what is paced no more than a burst has left by the time that Linux looks.
        let leaves = if self.pacer.is_some() { self.may_leave(cx, recovery) } else { usable };
        let smss = self.window.smss;
        (recovery.pipe(cx, self) + leaves) / smss < self.window.cwnd / smss
    }

    /// Whether Linux finds the congestion window open while what was written leaves: it looks after each burst (tcp_event_new_data_sent()), so also between
    /// two of them.
    pub(crate) fn shows_window_open(&self, cx: &Shared, recovery: &LossRecovery) -> bool {
        let burst = self.usual_burst(cx, recovery) * self.window.smss;
        self.leaves_now(cx, recovery) > burst || self.leaves_window_open(cx, recovery)
    }

    fn is_writeable(&self, cx: &Shared, recovery: &LossRecovery) -> bool {
        is_writeable(self.buffer.capacity().into(), self.memory_taken(cx, recovery))
    }

    /// Sizes the memory by the congestion window; it never shrinks.
    pub(crate) fn size_space(&mut self, cx: &Shared, recovery: &LossRecovery) {
        if !counts_memory(cx) {
            return;
        }
        let of_segment = memory_of_segment(u64::from(cx.options.peer_mss).max(self.window.smss));
        let cwnd = self.window.cwnd / self.window.smss;
        let segments = cwnd.max(LEAST_SEGMENTS).max(u64::from(recovery.reordering()) + 1);
        let windows = if self.rate.is_some() { WINDOWS_BY_RATE } else { WINDOWS };
        let most = cx.config.send_buffer;
        let asked = u32::try_from(windows * segments * of_segment).unwrap_or(most).min(most);
        self.buffer.grow(asked);
    }

    /// The buffer was an owner's, who had all of it: from now on it has what it would have had without one.
    pub(crate) fn take_space_back(&mut self, cx: &Shared, recovery: &LossRecovery) {
        self.buffer.begin_anew(first(&cx.config));
        if cx.is_synchronised() {
            self.size_space(cx, recovery);
        }
    }

    /// What data that waits or is outstanding takes of memory: octets, and what the buffers that they are in have beside. What an acknowledgment lets leave
    /// has left by the time that Linux looks, in a buffer of its own for each burst (tcp_data_snd_check()).
    pub(crate) fn memory_taken(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        let leaves = self.leaves_now(cx, recovery);
        let bursts = leaves.div_ceil(self.usual_burst(cx, recovery) * self.window.smss);
        let waiting = self.buffers_from(self.nxt + leaves);
        self.buffer.len() + BESIDE * (waiting + bursts + u64::from(self.rtx_queue.buffers()))
    }

    /// Octets of new data that leave now, unless they wait to become a larger burst or for Nagle's algorithm. What is lost goes first, and pacing lets no
    /// more than a burst leave by the time that Linux looks, but at the start.
    pub(super) fn leaves_now(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        self.goes_now(cx, recovery).min(self.unsent())
    }

    /// The same if there were as much new data.
    fn goes_now(&self, cx: &Shared, recovery: &LossRecovery) -> u64 {
        if self.scoreboard.has_lost() {
            return 0;
        }
        self.window_room(cx, recovery).min(self.unpaced(cx, recovery))
    }
}

/// Whether an application is woken up to write: a third of the memory is free (__sk_stream_is_writeable()).
pub const fn is_writeable(memory: u64, taken: u64) -> bool {
    memory.saturating_sub(taken) >= taken / 2
}

/// Whether the buffer is counted in memory: not where its data is somebody else's.
fn counts_memory(cx: &Shared) -> bool {
    cx.config.send_autotuning && cx.owned.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_charged_by_its_size() {
        assert_eq!([536, 1428, 1460].map(memory_of_segment), [2304; 3]);
        // Of jumbo frames: 9536 octets are rounded up.
        assert_eq!(memory_of_segment(8960), 16_384 + 256);
    }
}
