//! When an acknowledgment is delayed, and for how long (RFC 5681 section 4.2, RFC 9293 section 3.8.6.3), with Linux' quick-ACK mode and
//! its delay that follows the rhythm of the data (`icsk_ack`).

use super::Receiver;
use crate::config::WAKING;
use crate::shared::{DEFAULT_MSS, Shared};
use voxpath_units::{Span, Time};

/// TCP_ATO_MIN, TCP_DELACK_MIN.
const ATO_MIN: Span = Span::from_millis(40);
/// TCP_DELACK_MAX.
const DELAY_MAX: Span = Span::from_millis(200);

/// Shorter segments do not let the window grow (tcp_event_data_recv()).
const GROWING: u64 = 128;

/// Acknowledgments out of order for each octet that is waited for, before they are compressed (TCP_FASTRETRANS_THRESH).
const DUPLICATES: u32 = 3;
/// net.ipv4.tcp_comp_sack_nr, tcp_comp_sack_delay_ns and tcp_comp_sack_slack_ns, and the share of a round trip that bounds the delay.
const COMPRESSED: u32 = 44;
const COMPRESSION: Span = Span::from_millis(1);
const COMPRESSION_SLACK: Span = Span::from_micros(100);
const COMPRESSION_SHARE: u64 = 20;

/// What Linux remembers to decide; idle where [`adaptive`](crate::config::DelayedAck::adaptive) is off.
#[derive(Debug, Default)]
pub(super) struct AckPolicy {
    /// Segments still to be acknowledged at once (`quick`).
    quick: u32,
    /// The estimate of the data's rhythm (`ato`); none before the first data.
    ato: Option<Span>,
    /// When data came last (`lrcvtime`).
    last: Time,
    /// Data flows both ways, so that an acknowledgment may find a segment to ride on.
    interactive: bool,
    /// The data read last was the end of what the peer had to say for now (`ICSK_ACK_PUSHED`).
    pushed: bool,
    /// And so was another one before (`ICSK_ACK_PUSHED2`).
    pushed_twice: bool,
    /// When the reader is awake that the first of what is unread has woken, and how many octets have come since it was.
    reader: (Time, u64),
    /// Acknowledgments out of order sent at once while this octet was waited for.
    duplicates: (u64, u32),
    /// Those held back since.
    compressed: u32,
}

impl Receiver {
    /// Data in order has arrived: acknowledges it now or later.
    pub(super) fn acknowledge_data(&mut self, cx: &Shared, now: Time, len: u64, pushed: bool) {
        let unread = self.note_received(cx, now, len, len);
        let config = &cx.config.delayed_ack;
        let full = u64::from(self.usual_segment(cx));
        if !config.adaptive {
            if self.unacked >= u64::from(config.max_segments) * full {
                self.ack_now = true;
            } else {
                self.delay_ack(cx, now, config.max_delay);
            }
            return;
        }
        let moves = self.window_moves(cx, unread);
        let policy = &mut self.policy;
        // A short segment counts as the end of what there was to say, a second one even where an answer would be due (tcp_measure_rcv_mss()).
        let short = len < full;
        policy.pushed_twice |= short && policy.pushed;
        policy.pushed |= short || pushed;
        let enough = self.unacked > u64::from(cx.config.delayed_ack.max_segments - 1) * full;
        if enough && moves || (policy.quick > 0 && !policy.interactive) {
            self.ack_before_data(cx);
            return;
        }
        if enough || policy.pushed_twice || policy.pushed && !policy.interactive {
            // The reader does it once it is awake (tcp_cleanup_rbuf()).
            self.timers.reading = Some(policy.reader.0);
        }
        let delay =
            if cx.config.delayed_ack.max_delay == Span::ZERO { Span::ZERO } else { self.adaptive_delay(cx) };
        // What is nearly due is sent now (tcp_send_delayed_ack()).
        if self.timers.delayed.is_some_and(|due| due <= now + delay / 4) {
            self.ack_now = true;
        } else {
            self.delay_ack(cx, now, delay);
        }
    }

    /// What a full segment of the peer's seems to be; in Linux no less than the default at first (`rcv_mss`, tcp_initialize_rcv_mss()).
    pub(super) fn usual_segment(&self, cx: &Shared) -> u32 {
        if cx.config.delayed_ack.adaptive {
            self.full_size.max(u32::from(DEFAULT_MSS))
        } else {
            self.full_size
        }
    }

    /// Whether data has arrived that the reader has not woken up for yet.
    pub(super) fn is_reader_behind(&self, now: Time) -> bool {
        self.policy.reader.0 > now
    }

    /// Data has arrived for the reader; how much it has not read, if it needs as long as always to wake up.
    fn wake_reader(&mut self, now: Time, len: u64) -> u64 {
        let (awake, unread) = &mut self.policy.reader;
        if *awake <= now {
            (*awake, *unread) = (now + WAKING, 0);
        }
        *unread += len;
        *unread
    }

    /// Data beyond a gap has arrived: tells of it at once, or together with what follows within a millisecond (__tcp_ack_snd_check()).
    ///
    /// If `first_the_rest`, what was held back is told, since it might be pushed out of the few blocks that fit (tcp_sack_new_ofo_skb()). A new block
    /// waits for the next acknowledgment.
    pub(super) fn acknowledge_out_of_order(
        &mut self,
        cx: &Shared,
        now: Time,
        len: u64,
        first_the_rest: bool,
    ) {
        // Without SACK a window that grew would make a duplicate acknowledgment none. What came takes no memory yet (tcp_data_queue_ofo()).
        if cx.options.sack {
            self.grow_receive_buffer(cx, self.buffer.held().saturating_sub(len));
        }
        self.grow_memory_beyond_gap(cx);
        if first_the_rest {
            self.ack_before_data(cx);
            return;
        }
        let next = self.buffer.next();
        let full = u64::from(self.usual_segment(cx));
        let policy = &mut self.policy;
        let at_once = !cx.config.delayed_ack.adaptive
            || !cx.options.sack
            || self.unacked > full
            || (policy.quick > 0 && !policy.interactive)
            || policy.compressed >= COMPRESSED;
        if policy.duplicates.0 != next {
            policy.duplicates = (next, 0);
        }
        if at_once || policy.duplicates.1 < DUPLICATES {
            policy.duplicates.1 += u32::from(!at_once);
            self.ack_before_data(cx);
            return;
        }
        // Of the round trip that the receiver sees, which is none before the first window (`rcv_rtt_est`).
        let rtt =
            self.space.round_trip().map_or(Span::ZERO, |rtt| cx.rtt.srtt().map_or(rtt, |srtt| rtt.min(srtt)));
        policy.compressed += 1;
        if self.timers.compressed.is_none() {
            self.timers.compressed =
                Some(now + (rtt / COMPRESSION_SHARE).min(COMPRESSION) + COMPRESSION_SLACK);
        }
    }

    /// Whether acknowledgments are held back that have something to report.
    pub(super) const fn holds_reports(&self) -> bool {
        self.policy.compressed > 0
    }

    /// A segment of `len` octets has arrived in order, and RCV.NXT has advanced by `advanced`, more where it fills a gap: follows the rhythm of the data, and
    /// lets the window grow (tcp_event_data_recv()). How many octets are unread then.
    pub(super) fn note_received(&mut self, cx: &Shared, now: Time, len: u64, advanced: u64) -> u64 {
        let held = self.buffer.held();
        let adaptive = cx.config.delayed_ack.adaptive;
        let unread = if adaptive { held.max(self.wake_reader(now, advanced)) } else { held };
        self.follow_rhythm(cx, now);
        if len >= GROWING {
            self.grow_receive_buffer(cx, unread);
        }
        unread
    }

    /// The estimate of how often data comes, and whether the sender has paused.
    fn follow_rhythm(&mut self, cx: &Shared, now: Time) {
        if !cx.config.delayed_ack.adaptive {
            return;
        }
        let rto = cx.rtt.rto();
        let policy = &mut self.policy;
        let Some(ato) = policy.ato else {
            (policy.ato, policy.last) = (Some(ATO_MIN), now);
            self.acknowledge_quickly(cx, cx.config.delayed_ack.quick);
            return;
        };
        let gap = now - policy.last;
        policy.last = now;
        if gap <= ATO_MIN / 2 {
            policy.ato = Some(ato / 2 + ATO_MIN / 2);
        } else if gap < ato {
            policy.ato = Some((ato / 2 + gap).min(rto));
        } else if gap > rto {
            // The sender has paused, and may have gone back to a small window.
            self.acknowledge_quickly(cx, cx.config.delayed_ack.quick);
        }
    }

    /// tcp_incr_quickack(): the next segments are acknowledged at once, `most` of them and as many as half of the window holds.
    fn acknowledge_quickly(&mut self, cx: &Shared, most: u32) {
        let window = self.advertised.saturating_sub(self.nxt());
        let half = window / (2 * u64::from(self.usual_segment(cx).max(1)));
        let segments = u32::try_from(half).unwrap_or(u32::MAX).max(2).min(most);
        self.policy.quick = self.policy.quick.max(segments);
    }

    /// tcp_enter_quickack_mode(): something is wrong on the way, and the sender should know soon.
    pub(super) fn enter_quick_mode(&mut self, cx: &Shared, most: u32) {
        if cx.config.delayed_ack.adaptive {
            self.acknowledge_quickly(cx, most.min(cx.config.delayed_ack.quick));
            self.policy.interactive = false;
            self.policy.ato = Some(ATO_MIN);
        }
    }

    /// Leaves quick-ACK mode.
    pub(super) const fn take_time_to_acknowledge(&mut self) {
        self.policy.quick = 0;
    }

    /// The window grows (tcp_grow_window()).
    pub(super) fn acknowledge_growth(&mut self, cx: &Shared) {
        if cx.config.delayed_ack.adaptive {
            self.policy.quick |= 1;
        }
    }

    fn adaptive_delay(&self, cx: &Shared) -> Span {
        let ato = self.policy.ato.unwrap_or(ATO_MIN);
        let bound = cx.rtt.srtt().map_or(DELAY_MAX, |srtt| srtt.max(ATO_MIN));
        ato.max(cx.config.delayed_ack.max_delay).min(bound.max(ATO_MIN)).min(DELAY_MAX)
    }

    /// Starts the timer unless it runs already.
    fn delay_ack(&mut self, cx: &Shared, now: Time, delay: Span) {
        if delay == Span::ZERO {
            self.ack_now = true;
        } else {
            let due = if cx.config.rto.wheel { cx.rtt.expiry(now, delay) } else { now + delay };
            self.timers.delayed = Some(self.timers.delayed.map_or(due, |earlier| earlier.min(due)));
        }
    }

    /// The timer expired: nothing came to carry the acknowledgment (tcp_delack_timer_handler()).
    pub(super) fn handle_delayed_ack_timeout(&mut self, cx: &Shared) {
        self.ack_now = true;
        let rto = cx.rtt.rto();
        let policy = &mut self.policy;
        if core::mem::take(&mut policy.interactive) {
            policy.ato = policy.ato.map(|_| ATO_MIN);
        } else {
            policy.ato = policy.ato.map(|ato| (ato * 2).min(rto));
        }
    }

    /// A segment that acknowledges is leaving (tcp_event_ack_sent()), anything new if that `was_due` (inet_csk_ack_scheduled()).
    pub(super) fn note_ack_sent(&mut self, was_due: bool) {
        let policy = &mut self.policy;
        (policy.pushed, policy.pushed_twice) = (false, false);
        policy.compressed = 0;
        self.timers.compressed = None;
        self.timers.reading = None;
        if policy.quick > 0 && was_due {
            policy.quick -= 1;
            if policy.quick == 0 {
                policy.ato = Some(ATO_MIN);
            }
        }
    }

    /// A segment with data is leaving (tcp_event_data_sent()).
    pub(crate) fn note_data_sent(&mut self, now: Time) {
        let policy = &mut self.policy;
        if policy.ato.is_some_and(|ato| now.since(policy.last) < ato) {
            policy.interactive = true;
        }
    }

    /// The application has read: tells the sender of two segments that were not acknowledged as they came, and if all that it had to
    /// say was read (tcp_cleanup_rbuf()).
    pub(super) fn acknowledge_reading(&mut self, cx: &Shared) {
        let policy = &self.policy;
        if self.timers.reading.is_some() || !cx.config.delayed_ack.adaptive || !cx.is_synchronised() {
            return;
        }
        let enough = self.unacked > u64::from(self.usual_segment(cx));
        let ended =
            (policy.pushed_twice || policy.pushed && !policy.interactive) && self.buffer.readable() == 0;
        self.ack_now |= enough || ended && self.unacked > 0;
    }
}
