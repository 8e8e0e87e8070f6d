//! A connection that somebody owns: see [`owner`](crate::owner).

use super::Connection;
use crate::cc::CongestionMetrics;
use crate::owner::{Mapping, Owned, Owner, Received, Receiving, Sending};
use alloc::boxed::Box;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::Seq;

impl Connection {
    /// The same connection with an owner; to be called before it does anything.
    #[must_use]
    pub fn owned_by(mut self, owner: Owner) -> Self {
        self.shared.owned = Some(Box::new(Owned::new(owner)));
        // How much waits in which subflow is the owner's to say.
        self.snd.buffer.grow(self.shared.config.send_buffer);
        self
    }

    /// What the owner asks for; none if there is no owner, or it is parting.
    pub fn owner(&self) -> Option<&Owner> {
        self.shared.owned.as_ref().filter(|owned| !owned.is_parting).map(|owned| &owned.owner)
    }

    /// What the owner asks for from now on; nothing where there is none. A window is announced by what leaves next, or by
    /// [`Connection::acknowledge_now`].
    pub fn set_owner(&mut self, owner: Owner) {
        if let Some(owned) = &mut self.shared.owned {
            owned.owner = owner;
            self.resize_segments();
        }
    }

    /// What the owner's choice of a window depends on.
    pub fn receiving(&self) -> Receiving {
        let (rcv, cx) = (&self.rcv, &self.shared);
        Receiving {
            // A window has at most 30 bits (RFC 7323 section 2.3).
            announced: (rcv.right_edge() - rcv.nxt()) as u32,
            limit: rcv.capacity(),
            round_trip: rcv.round_trip(),
            packets: rcv.has_data().then(|| rcv.packets(cx)),
        }
    }

    /// What applications take of the owner in a round trip grew to `taken` octets: the memory follows (mptcp_rcv_space_adjust()).
    pub fn follow_reader(&mut self, taken: u64) {
        if self.rcv.has_data() {
            self.rcv.follow_reader(&self.shared, taken);
        }
    }

    /// As [`Connection::release`], but the owner still hears of each segment that is taken in, and has so many octets of each that leaves for its options.
    pub fn part(&mut self, options: u32) {
        if let Some(owned) = &mut self.shared.owned {
            owned.part(options);
            self.resize_segments();
        }
    }

    /// From now on this is a connection like any other: Multipath TCP falls back to TCP (RFC 8684 section 3.7). What was
    /// written stays, without its mappings; where memory is counted, there is as much as a connection of its window has.
    pub fn release(&mut self) {
        self.shared.owned = None;
        self.resize_segments();
        self.snd.take_space_back(&self.shared, &self.recovery);
    }

    fn resize_segments(&mut self) {
        if !self.shared.is_synchronised() {
            return;
        }
        let (before, after) = (self.snd.window.smss, u64::from(self.snd.smss(&self.shared)));
        if before != after {
            self.snd.window.smss = after;
            // As many segments as before: of one that became longer, none would fit.
            self.snd.window.cwnd = (self.snd.window.cwnd * after / before.max(1)).max(after);
        }
    }

    /// As [`Connection::write`], and maps the octets that it takes: no segment has octets of two mappings (RFC 8684 section 3.3.1),
    /// and [`Connection::mapping`] tells a segment's. Without an owner it is a write like any other.
    pub fn write_mapped(&mut self, data: &Payload, value: u64) -> u32 {
        let start = self.snd.buffer.end();
        let len = self.write(data);
        if let Some(owned) = self.shared.owned.as_mut().filter(|_| len > 0) {
            owned.map(Mapping { start, len, value });
        }
        len
    }

    /// As [`Connection::write_mapped`], where what follows the last mapping in the owner's sequence too lengthens that, as long as nothing of it was
    /// sent.
    pub fn write_mapped_on(&mut self, data: &Payload, value: u64) -> u32 {
        let start = self.snd.buffer.end();
        let len = self.write(data);
        if let Some(owned) = self.shared.owned.as_mut().filter(|_| len > 0) {
            owned.map_on(Mapping { start, len, value }, self.snd.nxt);
        }
        len
    }

    /// The mapping of the octet with this sequence number, if it has one and is not acknowledged.
    pub fn mapping(&self, seq: Seq) -> Option<Mapping> {
        self.shared.owned.as_ref()?.mapping(self.snd.offset(seq)?).copied()
    }

    /// The mappings of the octets that are not acknowledged, in their order; of the first the beginning may be.
    pub fn mappings(&self) -> impl Iterator<Item = &Mapping> {
        self.shared.owned.iter().flat_map(|owned| owned.mappings())
    }

    /// Octets that were written and are not acknowledged, sent or not.
    pub fn unacknowledged(&self) -> u64 {
        self.snd.buffer.end() - self.snd.una.clamp(1, self.snd.buffer.end())
    }

    /// What these octets take of memory, as Linux counts it (`sk_wmem_queued`).
    pub fn send_memory_taken(&self) -> u64 {
        self.snd.memory_taken(&self.shared, &self.recovery)
    }

    /// The place of the octet that is written next, counted from the SYN.
    pub fn write_offset(&self) -> u64 {
        self.snd.buffer.end()
    }

    /// The place of the octet with this sequence number, counted from the SYN.
    pub fn place(&self, seq: Seq) -> Option<u64> {
        self.snd.offset(seq)
    }

    /// Octets that were written and not sent.
    pub fn unsent(&self) -> u64 {
        self.snd.unsent()
    }

    /// What the owner's choice of who carries something depends on.
    pub fn sending(&self) -> Sending {
        let waiting = self.recovery.pipe(&self.shared, &self.snd) + self.snd.unsent();
        let CongestionMetrics { cwnd, ssthresh, .. } = self.congestion_metrics();
        Sending {
            srtt: self.shared.rtt.srtt(),
            rttvar: self.shared.rtt.rttvar(),
            cwnd,
            ssthresh,
            phase: self.recovery.phase(),
            pacing_rate: self.snd.usual_rate(&self.shared),
            room: self.snd.window.cwnd.saturating_sub(waiting),
        }
    }

    /// Whether Linux finds the congestion window open while what was written leaves, so that a send buffer may grow (tcp_should_expand_sndbuf()).
    pub fn shows_window_open(&self) -> bool {
        self.snd.shows_window_open(&self.shared, &self.recovery)
    }

    /// The retransmission timeout.
    pub fn rto(&self) -> Span {
        self.shared.rtt.rto()
    }

    /// When what is outstanding is looked after next, if nothing comes: by a loss probe, the reordering timer, a retransmission or a probe of the
    /// window (Linux' `icsk_pending`, which is one of them).
    pub fn retransmission_due(&self) -> Option<Time> {
        let timers = &self.snd.timers;
        Time::earliest([timers.retransmit, timers.persist, self.recovery.poll_timeout()])
    }

    /// When a timer expires that is set for `delay` by this connection's clock.
    pub fn expiry(&self, now: Time, delay: Span) -> Time {
        self.shared.rtt.expiry(now, delay)
    }

    /// Halves the congestion window, though nothing was lost: this path holds up the others (penalisation of Multipath TCP,
    /// mptcp_rcv_buf_optimization() of Linux v0.9x). The threshold follows only past slow start.
    pub fn penalise(&mut self) {
        let window = &mut self.snd.window;
        if !window.in_slow_start() {
            window.ssthresh = (window.ssthresh / 2).max(2 * window.smss);
        }
        window.cwnd = (window.cwnd / 2).max(window.smss);
    }

    /// A segment that was taken in, in the order of arrival; none if all were told of. Those of an owned connection are kept until then.
    pub fn poll_received(&mut self) -> Option<Received> {
        self.shared.owned.as_mut()?.received.pop_front()
    }

    /// The place of the octet that is read next, counted from the peer's SYN.
    pub fn read_offset(&self) -> u64 {
        self.rcv.read_offset()
    }

    /// Has an acknowledgment leave, though nothing came: it tells of a window, or carries options.
    pub fn acknowledge_now(&mut self) {
        if self.shared.is_synchronised() && self.shared.ended.is_none() {
            self.rcv.ack_at_once();
        }
    }

    /// Likewise, and before any data where acknowledgments are those of Linux: one that completes a handshake.
    pub fn acknowledge_before_data(&mut self) {
        if self.shared.is_synchronised() && self.shared.ended.is_none() {
            self.rcv.ack_before_data(&self.shared);
        }
    }
}
