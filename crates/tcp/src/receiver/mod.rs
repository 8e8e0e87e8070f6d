//! The receiving half of a connection: what arrives in the window, and what is acknowledged when.
//!
//! It knows nothing of the sending half. A connection gives it data that has passed the checks of RFC 9293, asks whether an
//! acknowledgment [is due](Receiver::is_ack_due), and has it [acknowledge](Receiver::acknowledge) in the header of whatever leaves.
//!
//! | file | idea |
//! | --- | --- |
//! | `reassembly.rs` | the receive buffer and SACK blocks (RFC 2018) |
//! | `window.rs` | the window that is announced (RFC 9293 section 3.8.6.2.2) |
//! | `memory.rs` | the memory that it is for, and how that follows the application |
//! | `acks.rs` | delayed acknowledgments (RFC 5681 section 4.2) |

mod acks;
mod memory;
mod reassembly;
mod window;

use crate::config::{Config, ReceiveAccounting};
use crate::shared::{Shared, timestamp};
use crate::unwrap_offset;
use acks::AckPolicy;
use core::ops::Range;
pub use memory::{FIRST_SHARE, Packets, ReceiveMemory, first_room};
use reassembly::{Arrival, Reassembly};
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::tcp::{SackBlock, SackBlocks, Seq, TcpFlags, TcpHeader, TcpOptions, Timestamps};
use window::Space;

/// RFC 7323 section 5.5: half the time in which a millisecond clock comes round.
const TS_RECENT_LIFETIME: Span = Span::from_secs(24 * 24 * 3600);

/// The throttle of RFC 5961 section 7, with the values it proposes.
const CHALLENGES: u32 = 10;
const CHALLENGE_PERIOD: Span = Span::from_secs(5);

/// The receive sequence variables (RFC 9293 section 3.3.1), as offsets from the peer's SYN, and what goes by them.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Initial receive sequence number; none before the peer's SYN.
    irs: Option<Seq>,
    buffer: Reassembly,
    /// The right edge of the window announced last.
    advertised: u64,
    /// Offset of the peer's FIN, once it is known.
    fin: Option<u64>,
    /// RCV.NXT includes the FIN.
    fin_taken: bool,
    /// An acknowledgment has to be sent now.
    ack_now: bool,
    /// It leaves before any data.
    ack_alone: bool,
    /// Another one follows it.
    ack_again: bool,
    /// The window that it announces, where the application has read since.
    window_unread: Option<u32>,
    /// Octets in order since the last acknowledgment.
    unacked: u64,
    /// The largest segment seen: what "full-sized" means here.
    full_size: u32,
    /// TS.Recent (RFC 7323 section 4.3).
    ts_recent: u32,
    /// When it was taken.
    ts_recent_at: Time,
    /// Last.ACK.sent (RFC 7323 section 4.3).
    last_ack_sent: u64,
    challenges: Challenges,
    /// When to acknowledge.
    policy: AckPolicy,
    /// Octets that came twice, for the next acknowledgment to report.
    duplicate: Option<Range<u64>>,
    space: Space,
    timers: AckTimers,
    /// The segment that is being taken in was marked (CE, RFC 3168 section 5).
    congestion_experienced: bool,
    /// ECE is due until the peer says CWR (RFC 3168 section 6.1.3).
    echo: bool,
}

/// Deadlines of the receiver; none is a timer that is off.
#[derive(Debug, Default)]
struct AckTimers {
    /// Delayed acknowledgment.
    delayed: Option<Time>,
    /// The reader wakes up whose reading may acknowledge.
    reading: Option<Time>,
    /// Acknowledgments out of order that are sent together.
    compressed: Option<Time>,
}

/// Challenge acknowledgments sent lately.
#[derive(Debug, Default)]
struct Challenges {
    since: Time,
    count: u32,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            irs: None,
            buffer: Reassembly::new(window::first_window(config, 0), 1),
            advertised: 1,
            fin: None,
            fin_taken: false,
            ack_now: false,
            ack_alone: false,
            ack_again: false,
            window_unread: None,
            unacked: 0,
            full_size: 0,
            ts_recent: 0,
            ts_recent_at: Time::ZERO,
            last_ack_sent: 0,
            challenges: Challenges::default(),
            policy: AckPolicy::default(),
            duplicate: None,
            space: Space::new(config),
            timers: AckTimers::default(),
            congestion_experienced: false,
            echo: false,
        }
    }

    /// Takes the peer's SYN in, whose options both ends have agreed on.
    pub(crate) fn take_syn(&mut self, cx: &Shared, header: &TcpHeader) {
        self.irs = Some(header.seq);
        if let Some(stamps) = header.options.timestamps.filter(|_| cx.options.timestamps) {
            self.ts_recent = stamps.value;
        }
    }

    /// The first window of an end that answers a SYN, whose options are known.
    pub(crate) fn open_window(&mut self, cx: &Shared) {
        self.buffer = Reassembly::new(window::first_window(&cx.config, cx.options_len()), 1);
    }

    /// RCV.NXT.
    pub(crate) const fn nxt(&self) -> u64 {
        self.buffer.next() + self.fin_taken as u64
    }

    /// RCV.NXT as a sequence number, once the peer's SYN is here.
    pub(crate) fn ack_number(&self) -> Option<Seq> {
        self.irs.map(|irs| irs.wrapping_add(self.nxt() as u32))
    }

    /// The offset that a number of the peer's stands for; none before its SYN.
    pub(crate) fn offset(&self, seq: Seq) -> Option<u64> {
        self.irs.and_then(|irs| unwrap_offset(seq, irs, self.nxt()))
    }

    /// The right edge of the window announced last.
    pub(crate) fn right_edge(&self) -> u64 {
        self.advertised.max(self.nxt())
    }

    /// RFC 9293 section 3.10.7.4, first check, with its "special allowance" for the acknowledgment that comes with a
    /// probe of a closed window. A bare acknowledgment may come from the right edge, too: from there speaks a
    /// sender that has filled the window, and refusing what it acknowledges could make both ends answer each other
    /// for ever (Linux' tcp_sequence() agrees).
    pub(crate) fn is_acceptable(&self, start: u64, end: u64) -> bool {
        let (left, right) = (self.nxt(), self.right_edge());
        if start == end {
            return (left..=right).contains(&start);
        }
        (left == right && start == left) || (start < right && end > left)
    }

    /// PAWS (RFC 7323 section 5.3, R1). What was taken weeks ago is no measure any more (section 5.5). Linux lets a segment pass that is older
    /// by one tick of the clock (TCP_PAWS_WINDOW).
    pub(crate) fn is_old_duplicate(&self, cx: &Shared, now: Time, header: &TcpHeader) -> bool {
        let Some(Timestamps { value, .. }) = header.options.timestamps else { return false };
        let valid = cx.options.timestamps && now.since(self.ts_recent_at) < TS_RECENT_LIFETIME;
        let replay = i32::from(cx.rtt.follows_linux());
        valid && value.wrapping_sub(self.ts_recent).cast_signed() < -replay
    }

    /// Whether a segment is an old one by PAWS, but no older than `most`.
    pub(crate) fn is_older_by_at_most(&self, header: &TcpHeader, most: Span) -> bool {
        header.options.timestamps.is_some_and(|Timestamps { value, .. }| {
            u64::from(self.ts_recent.wrapping_sub(value)) <= most.as_nanos() / 1_000_000
        })
    }

    /// RFC 7323 section 4.3: from a segment that touches what was acknowledged last.
    pub(crate) fn take_timestamp(&mut self, now: Time, header: &TcpHeader, start: u64) {
        if let Some(Timestamps { value, .. }) = header.options.timestamps
            && start <= self.last_ack_sent
            && (value.wrapping_sub(self.ts_recent).cast_signed() >= 0
                || now.since(self.ts_recent_at) >= TS_RECENT_LIFETIME)
        {
            (self.ts_recent, self.ts_recent_at) = (value, now);
        }
    }

    /// Acknowledges with what is polled next.
    pub(crate) const fn ack_at_once(&mut self) {
        self.ack_now = true;
    }

    /// Likewise, and before any data: Linux acknowledges while it takes a segment in, before the application hears of it
    /// (__tcp_ack_snd_check()), and completes the handshake so (tcp_rcv_synsent_state_process()).
    pub(crate) fn ack_before_data(&mut self, cx: &Shared) {
        self.ack_now = true;
        self.ack_alone = cx.config.delayed_ack.adaptive;
    }

    /// Acknowledges a segment that nobody should have sent, but not without end.
    pub(crate) fn challenge(&mut self, now: Time) {
        self.ack_now |= self.may_challenge(now);
    }

    /// Whether such a segment is answered: the answer may look just as wrong to the peer (RFC 5961 section 7).
    pub(crate) fn may_challenge(&mut self, now: Time) -> bool {
        let Challenges { since, count } = &mut self.challenges;
        if now.since(*since) >= CHALLENGE_PERIOD {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count <= CHALLENGES
    }

    /// Answers data that was refused: `start` is where it begins (tcp_send_dupack()).
    pub(crate) fn answer_refused(&mut self, cx: &Shared, start: Option<u64>, len: u32) {
        if let Some(start) = start {
            self.note_duplicate(cx, start..(start + u64::from(len)).min(self.nxt()));
        }
        self.enter_quick_mode(cx, cx.config.delayed_ack.quick);
        self.ack_now = true;
    }

    /// Octets of a segment were here before: the next acknowledgment says so (RFC 2883 section 4).
    fn note_duplicate(&mut self, cx: &Shared, range: Range<u64>) {
        if cx.config.dsack && cx.options.sack && !range.is_empty() {
            self.duplicate = Some(range);
        }
    }

    /// The network has marked the segment that comes next.
    pub(crate) const fn congestion_experienced(&mut self) {
        self.congestion_experienced = true;
    }

    /// Takes the mark of a segment in, and the peer's CWR (RFC 3168 section 6.1.3); whether a mark counts.
    pub(crate) fn take_ecn(&mut self, cx: &Shared, flags: TcpFlags, has_data: bool) -> bool {
        let marked = core::mem::take(&mut self.congestion_experienced);
        if !cx.options.ecn || !has_data {
            return false;
        }
        if flags.contains(TcpFlags::CWR) {
            self.echo = false;
            // Linux' tcp_ecn_accept_cwr(): a window as small as one segment may wait for it.
            self.ack_now |= cx.config.delayed_ack.adaptive;
        }
        if marked {
            if !self.echo {
                // Linux' __tcp_ecn_check_ce(): the sender should know at once.
                self.enter_quick_mode(cx, 2);
                self.ack_now = true;
            }
            self.echo = true;
        }
        marked
    }

    /// Takes the data of a segment in (RFC 9293 section 3.10.7.4, seventh check); the octets by which RCV.NXT advances.
    pub(crate) fn take_data(
        &mut self,
        cx: &Shared,
        now: Time,
        start: u64,
        payload: &Payload,
        pushed: bool,
    ) -> u64 {
        // Trim to the window: what lies before was taken, what lies beyond was not offered.
        let from = start.max(self.nxt());
        let to = (start + u64::from(payload.len())).min(self.advertised);
        self.note_duplicate(cx, start..from.min(start + u64::from(payload.len())));
        if from >= to {
            self.ack_now = true;
            return 0;
        }
        let unread = self.buffer.readable();
        let data = payload.slice((from - start) as u32, (to - from) as u32);
        let before = self.buffer.next();
        if let Some(known) = self.buffer.first_known(from, to) {
            self.note_duplicate(cx, known);
        }
        let first_the_rest = self.holds_reports() && self.buffer.keep_report(from, to);
        let arrival = self.buffer.insert(from, &data);
        let advanced = self.buffer.next() - before;
        self.full_size = self.full_size.max(payload.len());
        match arrival {
            Arrival::InOrder => {
                self.unacked += to - from;
                self.acknowledge_data(cx, now, to - from, pushed);
            }
            // RFC 5681 section 4.2: at once, so that the sender learns of the gap, or of its end.
            Arrival::OutOfOrder => self.acknowledge_out_of_order(cx, now, to - from, first_the_rest),
            Arrival::FillsGap => {
                self.note_received(cx, now, to - from, advanced);
                self.acknowledge_before_reading(cx);
            }
            Arrival::Duplicate => self.ack_now = true,
        }
        if advanced > 0 {
            self.adjust_receive_space(cx, now, to, unread);
        }
        advanced
    }

    /// A segment with a FIN ends at `end`.
    pub(crate) fn note_fin(&mut self, end: u64) {
        self.ack_now = true;
        if end <= self.right_edge() {
            self.fin = Some(end - 1);
        }
    }

    /// RFC 9293 section 3.10.7.4, eighth check: takes the peer's FIN once everything before it has arrived; whether that is now.
    pub(crate) fn take_fin(&mut self) -> bool {
        if self.fin_taken || self.fin != Some(self.buffer.next()) {
            return false;
        }
        (self.fin_taken, self.ack_now) = (true, true);
        true
    }

    /// Gives out at most `max` octets received in order; empty if there are none.
    pub(crate) fn read(&mut self, cx: &Shared, max: u32) -> Payload {
        let data = self.buffer.read(max);
        if !data.is_empty() {
            self.announce_room(cx);
            self.acknowledge_reading(cx);
        }
        data
    }

    /// Octets that can be read.
    pub(crate) const fn readable(&self) -> u64 {
        self.buffer.readable()
    }

    /// The largest window that segments have shown that there is room for (`rcv_ssthresh`).
    pub(crate) const fn capacity(&self) -> u32 {
        self.buffer.capacity()
    }

    /// Whether data has come.
    pub(crate) const fn has_data(&self) -> bool {
        self.full_size > 0
    }

    /// The round trip as the receiver sees it, once it has.
    pub(crate) const fn round_trip(&self) -> Option<Span> {
        self.space.round_trip()
    }

    /// The place of the octet that is read next.
    pub(crate) const fn read_offset(&self) -> u64 {
        self.buffer.next() - self.buffer.readable()
    }

    /// Whether the peer has closed and everything before that was read.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.fin_taken && self.buffer.readable() == 0
    }

    /// Whether an acknowledgment has to leave, if need be without data.
    pub(crate) const fn is_ack_due(&self) -> bool {
        self.ack_now
    }

    /// Whether it has to leave before any data; asking takes the order.
    pub(crate) const fn is_ack_due_alone(&mut self) -> bool {
        core::mem::replace(&mut self.ack_alone, false) && self.ack_now
    }

    /// Fills in what a segment that leaves acknowledges, with data or without: timestamps, window, number, SACK blocks, ECE.
    pub(crate) fn acknowledge(&mut self, cx: &Shared, now: Time, header: &mut TcpHeader, has_data: bool) {
        if self.echo && cx.options.ecn && cx.is_synchronised() {
            header.flags |= TcpFlags::ECE;
        }
        if cx.options.timestamps {
            header.options.timestamps = Some(Timestamps { value: timestamp(now), echo: self.ts_recent });
        }
        header.window = self.announce_window(cx, header.flags.contains(TcpFlags::SYN));
        if let Some(irs) = self.irs {
            let next = self.nxt();
            header.ack = irs.wrapping_add(next as u32);
            header.options.sack = self.sack_blocks(cx, irs, has_data);
            self.duplicate = None;
            // The acknowledgment is on its way.
            let was_due = self.ack_now || self.unacked > 0;
            self.ack_now = core::mem::take(&mut self.ack_again);
            self.buffer.note_told();
            self.note_ack_sent(was_due);
            self.unacked = 0;
            self.last_ack_sent = next;
            self.timers.delayed = None;
        }
    }

    /// The window field, in whole units of its scale, and with it the right edge that the peer will see.
    ///
    /// Rounding may draw that edge back by less than a unit; then what was announced before still holds (RFC 7323
    /// section 2.4, rules 1 and 2). Linux rounds up (tcp_select_window()).
    fn announce_window(&mut self, cx: &Shared, in_syn: bool) -> u16 {
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        let shift = if in_syn { 0 } else { cx.options.rcv_shift };
        let next = self.nxt();
        let unread = self.window_unread.take().map(u64::from);
        let own = || {
            let window = unread.unwrap_or_else(|| self.window_edge(cx, shift).saturating_sub(next));
            let rounds_up = cx.config.receive_accounting == ReceiveAccounting::Memory;
            if rounds_up { window.next_multiple_of(1 << shift) } else { window }
        };
        let window = cx.window_of_owner().map_or_else(own, u64::from);
        if self.is_short_of_memory(cx) {
            self.take_time_to_acknowledge();
        }
        let window = (window >> shift).min(u64::from(u16::MAX));
        self.advertised = self.advertised.max(next + (window << shift));
        window as u16
    }

    /// The SACK blocks that fit (RFC 2018 section 3).
    fn sack_blocks(&self, cx: &Shared, irs: Seq, has_data: bool) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        if self.has_sacks(cx) {
            let at = |offset: u64| irs.wrapping_add(offset as u32);
            for range in self.sack_ranges(cx, has_data) {
                // A segment that came with the FIN is reported with it: else its sender would not know that all of it is here.
                let with_fin = cx.config.whole_segments && self.fin == Some(range.end);
                blocks.push(SackBlock { left: at(range.start), right: at(range.end + u64::from(with_fin)) });
            }
        }
        blocks
    }

    /// Octets that the SACK option of the next segment with data takes; 0 if there is none.
    pub(crate) fn sack_len(&self, cx: &Shared) -> u32 {
        if !self.has_sacks(cx) {
            return 0;
        }
        match self.sack_ranges(cx, true).count() {
            0 => 0,
            blocks => 4 + 8 * blocks as u32,
        }
    }

    /// Whether there is something that SACK blocks would tell: mostly not, and then nobody looks for it.
    fn has_sacks(&self, cx: &Shared) -> bool {
        let any = self.duplicate.is_some() || self.buffer.has_holes();
        any && cx.options.sack && cx.is_synchronised()
    }

    fn sack_ranges(&self, cx: &Shared, has_data: bool) -> impl Iterator<Item = Range<u64>> {
        let stamps = cx.options.timestamps.then(Timestamps::default);
        let beside = TcpOptions { timestamps: stamps, ..TcpOptions::default() };
        let room = beside.sack_room_beside(cx.reserved(has_data));
        self.duplicate.clone().into_iter().chain(self.buffer.sack_blocks()).take(room)
    }

    /// The earliest deadline; none if no timer runs.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let AckTimers { delayed, reading, compressed } = self.timers;
        Time::earliest([delayed, reading, compressed])
    }

    /// Does what is due at `now`.
    pub(crate) fn handle_timeout(&mut self, cx: &Shared, now: Time) {
        let due = |timer: &mut Option<Time>| timer.take_if(|deadline| *deadline <= now).is_some();
        if due(&mut self.timers.delayed) {
            self.handle_delayed_ack_timeout(cx);
        }
        if due(&mut self.timers.reading) && self.buffer.readable() == 0 {
            self.acknowledge_reading(cx);
        }
        if due(&mut self.timers.compressed) {
            self.ack_now = true;
        }
    }

    /// The connection is in TIME-WAIT: nothing is delayed any more.
    pub(crate) fn stop_timers(&mut self) {
        self.timers = AckTimers::default();
    }

    /// The connection has ended: nothing is acknowledged any more.
    pub(crate) fn stop(&mut self) {
        self.stop_timers();
        self.ack_now = false;
    }
}
