//! The sending half of a connection: what is to be sent, what is outstanding, and what both windows let out.
//!
//! It neither decides that something is lost nor reduces a window: that is [loss recovery](crate::recovery), which is lent the sender.
//!
//! | file | idea |
//! | --- | --- |
//! | `send_buffer.rs` | what the application has written |
//! | `retransmission_queue.rs`, `scoreboard.rs` | what is outstanding: when it was sent, and what is known of it (RFC 6675) |
//! | `pacing.rs`, `burst.rs` | when the next segment leaves |
//! | `cwnd_validation.rs` | whether the congestion window is used (RFC 7661), and what an idle one becomes (RFC 5681, 2861) |
//! | `rate.rs` | the delivery rate |
//! | `send_space.rs`, `buffers.rs` | how much an application may write, and in which buffers it waits: the send buffer's autotuning |

mod buffers;
mod burst;
mod cwnd_validation;
mod pacing;
mod rate;
mod retransmission_queue;
mod scoreboard;
mod send_buffer;
mod send_space;

use crate::cc::{CongestionControl, Sample, Window};
use crate::config::{Config, NagleRule};
use crate::shared::Shared;
use crate::unwrap_offset;
use alloc::boxed::Box;
use burst::Burst;
use core::ops::Range;
use cwnd_validation::CwndUsage;
use pacing::Pacer;
use rate::{RateSampler, Snapshot};
pub(crate) use retransmission_queue::{Delivered, RetransmissionQueue, Sent};
pub(crate) use scoreboard::Scoreboard;
pub use send_buffer::SendBuffer;
pub use send_space::{is_writeable, memory_of_segment};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::{SackBlocks, Seq, TcpFlags, TcpHeader};

/// The send sequence variables (RFC 9293 section 3.3.1), as offsets from the SYN, and what goes by them.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Initial send sequence number.
    iss: Seq,
    /// SND.UNA, the first octet not acknowledged.
    pub(crate) una: u64,
    /// SND.NXT, the first octet never sent.
    pub(crate) nxt: u64,
    /// SND.WND, octets from `una` on that the peer accepts.
    pub(crate) wnd: u64,
    /// The largest window that the peer ever offered (RFC 9293 section 3.8.6.2.1).
    pub(crate) max_wnd: u32,
    /// SND.WL1 and SND.WL2: the segment that set the window.
    wl1: u64,
    wl2: u64,
    pub(crate) buffer: SendBuffer,
    /// Where the last small segment ended, for Minshall's form of Nagle's algorithm (Linux' snd_sml).
    small_end: u64,
    /// When the last segment with data was sent, for the idle restart.
    pub(crate) last_data: Option<Time>,
    /// The SYN has to be sent (again).
    pub(crate) syn_pending: bool,
    /// A reset that has to be sent.
    pub(crate) reset: Option<Box<TcpHeader>>,
    /// The persist timer expired: send what the window would not let through.
    pub(crate) probe_pending: bool,
    pub(crate) timers: SendTimers,
    pub(crate) cc: Box<dyn CongestionControl>,
    /// The rate of delivery, where the congestion control steers the window by it.
    pub(crate) rate: Option<Box<RateSampler>>,
    /// The peer has opened the connection, and its application has neither waited at it nor written since.
    accepted: bool,
    /// Spaces segments in time, where that is asked for.
    pacer: Option<Box<Pacer>>,
    burst: Burst,
    /// Where the last of the buffers began that the application has filled.
    last_buffer: u64,
    usage: CwndUsage,
    pub(crate) window: Window,
    /// What the smallest link of the path leaves to a segment's options and data, as far as routers have told.
    pub(crate) path_mss: u32,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) rtx_queue: RetransmissionQueue,
    /// CWR is due with the next new data (RFC 3168 section 6.1.2).
    cwr: bool,
    /// The segment given out last may be marked (ECT(0), RFC 3168 section 6.1.4).
    ect: bool,
}

/// Deadlines of the sender; none is a timer that is off.
#[derive(Debug, Default)]
pub(crate) struct SendTimers {
    /// Retransmission (RFC 6298 section 5), of SYN, data and FIN.
    pub(crate) retransmit: Option<Time>,
    /// Persist (RFC 9293 section 3.8.6.1).
    pub(crate) persist: Option<Time>,
    /// Pacing holds the next segment back until then.
    pub(crate) pacing: Option<Time>,
    /// Expiries of the retransmission timer in a row.
    pub(crate) expiries: u32,
    /// Probes in a row.
    pub(crate) probes: u32,
}

impl Sender {
    pub(crate) fn new(config: &Config, iss: Seq, cc: Box<dyn CongestionControl>) -> Self {
        let by_rate = cc.has_cong_control();
        let smss = u64::from(config.mss);
        Self {
            iss,
            una: 0,
            nxt: 0,
            wnd: 0,
            max_wnd: 0,
            wl1: 0,
            wl2: 0,
            buffer: SendBuffer::new(send_space::first(config), 1),
            small_end: 0,
            last_data: None,
            syn_pending: true,
            reset: None,
            probe_pending: false,
            timers: SendTimers::default(),
            cc,
            rate: by_rate.then(Box::default),
            accepted: false,
            pacer: (by_rate || config.pacing).then(Box::default),
            burst: Burst::default(),
            last_buffer: 0,
            usage: CwndUsage::default(),
            window: Window {
                cwnd: smss * u64::from(config.initial_window),
                ssthresh: config.initial_ssthresh.map_or(u64::MAX, u64::from),
                smss,
            },
            path_mss: u32::MAX,
            scoreboard: Scoreboard::default(),
            rtx_queue: RetransmissionQueue::default(),
            cwr: false,
            ect: false,
        }
    }

    /// Whether the congestion control steers the window by the rate of delivery.
    pub(crate) const fn by_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// FlightSize.
    pub(crate) const fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// The offset after everything that is to be sent, the FIN included.
    pub(crate) const fn end(&self) -> u64 {
        self.buffer.end() + self.buffer.is_closed() as u64
    }

    /// Octets that wait for being sent the first time.
    pub(crate) const fn unsent(&self) -> u64 {
        self.buffer.end().saturating_sub(self.nxt)
    }

    /// The usable window (RFC 1122 section 4.2.3.4): octets that the peer's window still lets out.
    pub(crate) const fn usable(&self) -> u64 {
        (self.una + self.wnd).saturating_sub(self.nxt)
    }

    pub(crate) fn seq(&self, offset: u64) -> Seq {
        // Sequence numbers are offsets modulo 2^32.
        self.iss.wrapping_add(offset as u32)
    }

    /// The offset that an acknowledgment number stands for.
    pub(crate) fn offset(&self, seq: Seq) -> Option<u64> {
        unwrap_offset(seq, self.iss, self.una)
    }

    /// The number that a segment without data carries: SND.NXT, but not beyond the peer's window, where the peer
    /// would refuse it. A probe that was not taken has moved SND.NXT there (Linux' tcp_acceptable_seq()).
    pub(crate) fn acceptable_seq(&self) -> u64 {
        self.nxt.min((self.una + self.wnd).max(1))
    }

    /// SMSS: what a full-sized segment without SACK blocks carries.
    pub(crate) fn smss(&self, cx: &Shared) -> u32 {
        let mss = u32::from(cx.config.mss.min(cx.options.peer_mss)).min(self.path_mss);
        mss.saturating_sub(cx.options_len()).max(1)
    }

    /// The handshake is over: sizes the window by what both ends agreed on, after so many losses of the SYN.
    pub(crate) fn establish(&mut self, cx: &Shared, syn_losses: u64) {
        self.timers.retransmit = None;
        self.timers.expiries = 0;
        if cx.options.sack && cx.config.rack {
            self.scoreboard.see_losses_by_time();
        }
        let smss = u64::from(self.smss(cx));
        let whole = syn_losses <= u64::from(cx.config.tolerated_syn_losses);
        let segments = if whole { cx.config.initial_window } else { 1 };
        self.window.smss = smss;
        self.window.cwnd = smss * u64::from(segments);
    }

    /// Takes the announced window from this segment unless it is an older one (RFC 9293 section 3.10.7.4, WL1 and WL2); whether
    /// that was so, and reopened a closed one. A segment that acknowledges something new never is older, though it may repeat old data and
    /// so be below WL1: without its window SND.WND would count from the wrong octet (Linux' tcp_may_update_window()).
    pub(crate) fn update_window(&mut self, cx: &Shared, header: &TcpHeader, start: u64, ack: u64) -> bool {
        let wnd = u64::from(announced(cx, header));
        let ignored = !cx.config.window_from_duplicates && 0 < wnd && wnd < self.wnd;
        let newer = ack > self.una || self.wl1 < start || (self.wl1 == start && self.wl2 <= ack && !ignored);
        if !newer {
            return false;
        }
        let was_closed = self.wnd == 0;
        self.set_window(cx, header, start, ack);
        self.wnd > 0 && was_closed
    }

    pub(crate) fn set_window(&mut self, cx: &Shared, header: &TcpHeader, start: u64, ack: u64) {
        let wnd = announced(cx, header);
        self.wnd = u64::from(wnd);
        self.max_wnd = self.max_wnd.max(wnd);
        (self.wl1, self.wl2) = (start, ack);
    }

    /// Takes SACK blocks in; octets that are newly SACKed.
    pub(crate) fn take_sack(&mut self, cx: &Shared, blocks: &SackBlocks, delivered: &mut Delivered) -> u64 {
        if !cx.options.sack {
            return 0;
        }
        let before = self.scoreboard.sacked().octets();
        let mut ranges = [0..0, 0..0, 0..0, 0..0];
        for (range, block) in ranges.iter_mut().zip(blocks.as_slice()) {
            // What lies outside of the flight is a duplicate's report, old, or nonsense.
            if let (Some(left), Some(right)) = (self.offset(block.left), self.offset(block.right))
                && self.una < left
                && right <= self.nxt
            {
                *range = left..right;
            }
        }
        // In the order of octets, as Linux does: which one is the last to be delivered tells the round-trip time.
        ranges.sort_unstable_by_key(|range| range.start);
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            let mut from = range.start;
            while let Some(gap) = self.scoreboard.sacked().first_gap(from, range.end) {
                from = gap.end;
                self.scoreboard.sack(gap.clone());
                self.rtx_queue.sack(gap, self.scoreboard.sacked(), delivered);
            }
        }
        self.scoreboard.sacked().octets() - before
    }

    /// What a segment of so many octets is charged of the congestion window: as much as a full one, where each of them is known to be
    /// in flight, lost or delivered.
    pub(crate) fn charge(&self, cx: &Shared, len: u64) -> u64 {
        let in_segments = cx.config.whole_segments && cx.options.sack && cx.config.rack;
        if in_segments && len > 0 { len.max(self.window.smss) } else { len }
    }

    /// By how many octets a segment falls short of what it is charged: less than a full one, whose size has 16 bits.
    fn short(&self, cx: &Shared, len: u64) -> u16 {
        (self.charge(cx, len) - len) as u16
    }

    /// Nagle's algorithm: whether a segment that is not full has to wait.
    pub(crate) fn holds_small(&self, cx: &Shared) -> bool {
        let outstanding = match cx.config.nagle_rule {
            NagleRule::Rfc896 => self.flight() > 0,
            NagleRule::Minshall => self.small_end > self.una,
        };
        cx.config.nagle && outstanding
    }

    /// The first segment's worth of outstanding octets, up to what was SACKed.
    pub(crate) fn first_outstanding(&self, cx: &Shared, max_payload: u32) -> Range<u64> {
        let end = self.nxt.min(self.una + u64::from(max_payload));
        let end = self.scoreboard.first_sacked().filter(|&at| at > self.una).map_or(end, |at| end.min(at));
        self.with_fin(cx, self.first_again(cx, self.una..end))
    }

    /// The first of these octets that one segment carries again: where segments are repeated as they were sent, as many whole ones as fit
    /// (tcp_retrans_try_collapse()).
    pub(crate) fn first_again(&self, cx: &Shared, range: Range<u64>) -> Range<u64> {
        let range = if cx.config.whole_segments { self.rtx_queue.first_whole(range) } else { range };
        self.in_one_mapping(cx, range)
    }

    /// The first of these octets that one segment may carry: those of one mapping of the owner's, where there is one.
    pub(crate) fn in_one_mapping(&self, cx: &Shared, range: Range<u64>) -> Range<u64> {
        // The FIN follows the last data, whatever that is mapped to.
        let data = range.start..range.end.min(self.buffer.end());
        let first = cx.first_of_one_mapping(data.clone());
        if first.end < data.end { first } else { range }
    }

    /// Likewise the last of them.
    fn in_last_mapping(&self, cx: &Shared, range: Range<u64>) -> Range<u64> {
        let data = range.start..range.end.min(self.buffer.end());
        if data.is_empty() { range } else { cx.last_of_one_mapping(data).start..range.end }
    }

    /// As [`Scoreboard::last_unsacked`], of one mapping.
    pub(crate) fn last_unsacked(&self, cx: &Shared, max_payload: u32) -> Option<Range<u64>> {
        let range = self.scoreboard.last_unsacked(self.nxt, max_payload)?;
        Some(self.in_last_mapping(cx, range))
    }

    /// A segment that carried the FIN does so again, and needs no second one for it.
    pub(crate) fn with_fin(&self, cx: &Shared, range: Range<u64>) -> Range<u64> {
        let data_end = self.buffer.end();
        let whole = cx.config.whole_segments
            && range.end == data_end
            && self.nxt > data_end
            && self.scoreboard.sacked_octets(data_end, self.nxt) == 0;
        range.start..range.end + u64::from(whole)
    }

    /// New octets leave in one segment, `len` of them data.
    pub(crate) fn push_new(&mut self, cx: &Shared, now: Time, len: u32, with_fin: bool, max_payload: u32) {
        let start = self.nxt;
        self.nxt = start + u64::from(len) + u64::from(with_fin);
        if len < max_payload {
            self.small_end = self.nxt;
        }
        self.usage.sent = true;
        let snapshot = self.rate_snapshot(now, start == self.una);
        self.rtx_queue.push(self.nxt, self.short(cx, self.nxt - start), now, snapshot);
        if len > 0 && self.is_within_burst() {
            self.rtx_queue.continue_buffer();
        }
    }

    /// These octets leave again in one segment.
    pub(crate) fn push_again(&mut self, cx: &Shared, now: Time, range: Range<u64>) {
        // Not idle, though all may count as lost: that is a guess (tcp_rate_skb_sent()).
        let snapshot = self.rate_snapshot(now, false);
        let short = self.short(cx, range.end - range.start);
        self.rtx_queue.mark_retransmitted(range, short, now, snapshot);
    }

    /// The SYN leaves; whether it had been sent before.
    pub(crate) fn push_syn(&mut self, now: Time) -> bool {
        self.syn_pending = false;
        let again = self.nxt > 0;
        let snapshot = self.rate_snapshot(now, true);
        if again {
            self.rtx_queue.mark_retransmitted(0..1, 0, now, snapshot);
        } else {
            self.nxt = 1;
            self.rtx_queue.push(1, 0, now, snapshot);
        }
        again
    }

    /// The handshake is over; its round trip is what congestion control begins with (tcp_init_congestion_control()).
    pub(crate) fn init_congestion_control(&mut self, now: Time, rtt: Option<Span>) {
        self.cc.init(now, rtt, &self.window);
        if let Some(rate) = &mut self.rate {
            rate.init(rtt, self.window.smss);
        }
    }

    /// Tells congestion control the round-trip time of what was delivered, if that was sent once.
    pub(crate) fn measure(&mut self, now: Time, delivered: &Delivered) {
        let sample = Sample { now, rtt: delivered.latest_rtt(now), una: self.una, nxt: self.nxt };
        self.cc.pkts_acked(&sample, &mut self.window);
    }

    /// The application has less to send than the window allows, with `pipe` octets in flight.
    pub(crate) fn note_application_limit(&mut self, pipe: u64) {
        let limited = pipe < self.window.cwnd;
        if let Some(rate) = self.rate.as_mut().filter(|_| limited) {
            rate.limit_by_application(pipe);
        }
    }

    /// What a segment remembers that is sent now, `idle` if nothing is outstanding.
    fn rate_snapshot(&mut self, now: Time, idle: bool) -> Option<Snapshot> {
        self.rate.as_mut().map(|rate| rate.snapshot(now, idle))
    }

    /// The data of a segment that leaves, as it was written.
    pub(crate) fn take_payload(&mut self, cx: &Shared, now: Time, start: u64, len: u32) -> Payload {
        self.last_data = Some(now);
        self.pace(cx, now, len);
        self.buffer.read(start, len)
    }

    /// The window was reduced: the next new data says so, for whatever reason it was (RFC 3168 section 6.1.2).
    pub(crate) const fn queue_cwr(&mut self, cx: &Shared) {
        self.cwr = cx.options.ecn;
    }

    /// Notes whether the segment that leaves may be marked: new data of a connection that has agreed on it (RFC 3168 sections 6.1.4,
    /// 6.1.5). The flag that it has for that.
    pub(crate) fn mark_ect(&mut self, cx: &Shared, new_data: bool) -> TcpFlags {
        self.ect = cx.options.ecn && new_data;
        let cwr = self.ect && core::mem::take(&mut self.cwr);
        if cwr { TcpFlags::CWR } else { TcpFlags::NONE }
    }

    /// Whether the segment given out last may be marked.
    pub(crate) const fn is_ect(&self) -> bool {
        self.ect
    }

    /// RFC 6298 (5.1): starts the timer if it is off.
    pub(crate) fn ensure_retransmit_timer(&mut self, cx: &Shared, now: Time) {
        if self.timers.retransmit.is_none() {
            self.restart_retransmit_timer(cx, now);
        }
    }

    /// RFC 6298 (5.3).
    pub(crate) fn restart_retransmit_timer(&mut self, cx: &Shared, now: Time) {
        self.timers.retransmit = Some(cx.rtt.expiry(now, cx.rtt.rto() + self.pacing_delay(cx, now)));
        self.timers.persist = None;
    }

    /// Starts the persist timer if it is off: the peer's window holds back what there is to send.
    pub(crate) fn ensure_persist_timer(&mut self, cx: &Shared, now: Time) {
        if self.timers.persist.is_none() {
            let persist = &cx.config.persist;
            let interval = cx.rtt.rto().saturating_mul(1 << self.timers.probes.min(16));
            let interval = interval.clamp(persist.min, persist.max.max(persist.min));
            self.timers.persist = Some(cx.rtt.expiry(now, interval));
        }
    }

    /// The connection has ended, or is in TIME-WAIT: nothing is retransmitted any more.
    pub(crate) fn stop_timers(&mut self) {
        self.timers = SendTimers::default();
    }
}

/// The window that a segment announces, in octets.
fn announced(cx: &Shared, header: &TcpHeader) -> u32 {
    // The window of a SYN is never scaled (RFC 7323 section 2.2), nor is that of a SYN|ACK. The shift is 14 at most.
    let shift = if header.flags.contains(TcpFlags::SYN) { 0 } else { cx.options.snd_shift };
    u32::from(header.window) << shift
}
