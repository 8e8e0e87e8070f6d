//! What to send next.

use super::recovery::Phase;
use super::{Connection, State};
use crate::cc::CwndEvent;
use crate::config::NagleRule;
use crate::rate::Snapshot;
use crate::shared::timestamp;
use core::ops::Range;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{TcpFlags, TcpHeader, TcpOptions};

impl Connection {
    /// The next segment to send, if any; ports are the socket's to fill in. Call until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        if let Some(reset) = self.snd.reset.take() {
            self.shared.counters.segments_sent += 1;
            self.ecn_flags(false);
            return Some((*reset, Payload::Empty));
        }
        if self.snd.syn_pending {
            return Some(self.syn(now));
        }
        if self.rcv.is_ack_due_alone() {
            return Some(self.segment(now, self.acceptable_seq(), TcpFlags::ACK, Payload::Empty));
        }
        let may_send = !matches!(self.shared.state, State::Closed | State::SynSent | State::SynReceived);
        if let Some(segment) = may_send.then(|| self.data(now)).flatten() {
            return Some(segment);
        }
        if let Some(probe) = self.keepalive_probe(now) {
            return Some(probe);
        }
        // RFC 9293 section 3.8.6.3: a bare acknowledgment, only if no data carried it.
        self.rcv.is_ack_due().then(|| self.segment(now, self.acceptable_seq(), TcpFlags::ACK, Payload::Empty))
    }

    /// The number that a segment without data carries: SND.NXT, but not beyond the peer's window, where the peer
    /// would refuse it. A probe that was not taken has moved SND.NXT there (Linux' tcp_acceptable_seq()).
    fn acceptable_seq(&self) -> u64 {
        self.snd.nxt.min((self.snd.una + self.snd.wnd).max(1))
    }

    fn data(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        if self.flight() > 0 {
            if self.snd.wnd == 0 {
                return self.repeated_probe(now);
            }
            if core::mem::take(&mut self.probe.due) {
                return self.loss_probe(now);
            }
            if self.is_held_by_pacing(now) {
                return None;
            }
            if let Some(range) = self.first_again().or_else(|| self.next_lost()) {
                return Some(self.retransmit(now, range));
            }
        }
        if self.snd_end() > self.snd.nxt
            && let Some(segment) = self.new_data(now)
        {
            return Some(segment);
        }
        if self.by_rate() && self.snd_end() - self.snd.nxt < self.window.smss {
            let pipe = self.pipe();
            let limited = pipe < self.window.cwnd;
            if let Some(rate) = self.rate.as_mut().filter(|_| limited) {
                rate.limit_by_application(pipe);
            }
        }
        self.next_rescue().map(|range| self.retransmit(now, range))
    }

    /// The probe of RFC 8985 section 7.3: a new segment, whatever the congestion window says, else the last one again.
    fn loss_probe(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        let (unsent, usable) = (self.unsent(), self.usable());
        let len = unsent.min(u64::from(self.max_payload())).min(usable);
        let new = len > 0;
        let segment = if new {
            let with_fin = self.snd.fin && len == unsent && usable > len;
            self.transmit_new(now, len as u32, with_fin)
        } else {
            let range = self.loss_probe_range()?;
            self.scoreboard.retransmitted(&range);
            self.repeat(now, range)
        };
        self.loss_probe_sent(now, !new);
        Some(segment)
    }

    /// A closed window with something outstanding, which is then what probes it (RFC 9293 section 3.8.6.1).
    fn repeated_probe(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        if !core::mem::take(&mut self.snd.probe_pending) {
            return None;
        }
        self.shared.counters.probes += 1;
        let range = self.first_outstanding();
        Some(self.retransmit(now, range))
    }

    /// The first segment's worth of outstanding octets, up to what was SACKed.
    fn first_outstanding(&self) -> Range<u64> {
        let end = self.snd.nxt.min(self.snd.una + u64::from(self.max_payload()));
        let end =
            self.scoreboard.first_sacked().filter(|&at| at > self.snd.una).map_or(end, |at| end.min(at));
        self.with_fin(self.snd.una..end)
    }

    /// A segment that carried the FIN does so again, and needs no second one for it.
    fn with_fin(&self, range: Range<u64>) -> Range<u64> {
        let data_end = self.snd.buffer.end();
        let whole = self.shared.config.whole_segments
            && range.end == data_end
            && self.snd.nxt > data_end
            && self.scoreboard.sacked_octets(data_end, self.snd.nxt) == 0;
        range.start..range.end + u64::from(whole)
    }

    /// The repetition with which recovery begins, or goes on after a partial acknowledgment; no window holds it.
    fn first_again(&mut self) -> Option<Range<u64>> {
        if !self.recovery.take_retransmit_first() || self.is_testing_timeout() {
            return None;
        }
        let range = self.first_outstanding();
        // Without SACK the inflated window accounts for it, unless a timeout had given these octets up before.
        if self.shared.options.sack || self.scoreboard.is_lost(range.start) {
            self.scoreboard.retransmitted(&range);
        }
        Some(range)
    }

    /// RFC 6675's NextSeg() rule (1) under its step (C): lost octets, while the pipe has room.
    fn next_lost(&mut self) -> Option<Range<u64>> {
        if self.is_testing_timeout() {
            return None;
        }
        let range = self.with_fin(self.scoreboard.next_lost(self.max_payload())?);
        let room = self.window.cwnd.saturating_sub(self.pipe());
        if !self.recovery.take_force() && room < self.charge(range.end - range.start).min(self.window.smss) {
            return None;
        }
        self.scoreboard.retransmitted(&range);
        Some(range)
    }

    /// NextSeg() rules (3) and (4): where nothing new can be sent, octets that may be lost, and once in a recovery
    /// the last ones not SACKed, lest the acknowledgments dry up.
    fn next_rescue(&mut self) -> Option<Range<u64>> {
        if !self.shared.options.sack || self.shared.config.rack || self.recovery.phase() != Phase::Recovery {
            return None;
        }
        if self.window.cwnd.saturating_sub(self.pipe()) < self.window.smss {
            return None;
        }
        let max = self.max_payload();
        if let Some(range) = self.scoreboard.next_unsacked(max) {
            self.scoreboard.retransmitted(&range);
            return Some(range);
        }
        // Where only the peer's window holds new data back, rule (4) would apply, too, by the letter: for a sender that is
        // limited by that window, one useless copy in every recovery. Its SHOULD is not followed there.
        if self.snd_end() > self.snd.nxt || !self.recovery.take_rescue() {
            return None;
        }
        // Step (C.2): HighRxt stays, or later losses below would not be sent again.
        self.scoreboard.last_unsacked(self.snd.nxt, max)
    }

    pub(super) fn pipe(&self) -> u64 {
        if self.shared.options.sack
            && self.recovery.phase() == Phase::Open
            && !self.shared.config.limited_transmit
        {
            // What was SACKed would let new data out before a loss is certain: that is limited transmit.
            return self.flight() + self.sent.short();
        }
        let pipe = self.scoreboard.pipe(self.snd.una, self.snd.nxt) + self.sent.short();
        pipe.saturating_sub(self.departed())
    }

    /// What a segment of so many octets is charged of the congestion window: as much as a full one, where each of them is known to be
    /// under way, lost or delivered.
    fn charge(&self, len: u64) -> u64 {
        let in_segments =
            self.shared.config.whole_segments && self.shared.options.sack && self.shared.config.rack;
        if in_segments && len > 0 { len.max(self.window.smss) } else { len }
    }

    fn short(&self, len: u64) -> u32 {
        (self.charge(len) - len) as u32
    }

    /// New data, a FIN, or a probe, as far as both windows and the sender's silly-window avoidance let them
    /// (RFC 9293 section 3.8.6.2.1).
    fn new_data(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        self.restart_after_idle(now);
        let max = u64::from(self.max_payload());
        let (unsent, usable) = (self.unsent(), self.usable());

        let len = unsent.min(max).min(usable);
        let everything = len == unsent;
        let idle = self.flight() == 0;
        let may_be_small = !self.holds_small();
        let worth_sending = len == max
            || (everything && (may_be_small || self.snd.fin))
            || (len > 0 && len * 2 >= self.snd.max_wnd && may_be_small);
        // The FIN, too, takes its octet of the window.
        let with_fin = self.snd.fin && everything && usable > len;
        if worth_sending && (len > 0 || with_fin) {
            if self.pipe() + self.charge(len) > self.window.cwnd + self.limited_transmit() {
                return None;
            }
            if self.is_held_by_pacing(now) || self.defers_burst(now) {
                return None;
            }
            self.note_limited_transmit(len);
            self.note_idle(now);
            return Some(self.transmit_new(now, len as u32, with_fin));
        }
        if !idle {
            // An acknowledgment will come, and with it a new look.
            return None;
        }
        if core::mem::take(&mut self.snd.probe_pending) {
            // RFC 9293 section 3.8.6.1: an octet beyond the window, or what silly-window avoidance held back.
            self.shared.counters.probes += 1;
            let probe = len.max(unsent.min(1));
            let with_fin = self.snd.fin && probe == unsent;
            // What goes to a closed window ends no silence.
            let last = self.snd.last_data;
            let segment = self.transmit_new(now, probe as u32, with_fin);
            self.snd.last_data = last;
            return Some(segment);
        }
        self.ensure_persist_timer(now);
        None
    }

    /// Nagle's algorithm: whether a segment that is not full has to wait.
    fn holds_small(&self) -> bool {
        let outstanding = match self.shared.config.nagle_rule {
            NagleRule::Rfc896 => self.flight() > 0,
            NagleRule::Minshall => self.snd.small_end > self.snd.una,
        };
        self.shared.config.nagle && outstanding
    }

    /// Octets that wait for being sent the first time.
    pub(super) fn unsent(&self) -> u64 {
        self.snd.buffer.end().saturating_sub(self.snd.nxt)
    }

    /// The usable window (RFC 1122 section 4.2.3.4): octets that the peer's window still lets out.
    pub(super) fn usable(&self) -> u64 {
        (self.snd.una + self.snd.wnd).saturating_sub(self.snd.nxt)
    }

    /// Octets beyond the window that limited transmit allows now (RFC 3042).
    fn limited_transmit(&self) -> u64 {
        // Where duplicates are counted out of the pipe they let new data out by themselves.
        if self.shared.config.limited_transmit && !self.shared.options.sack && !self.counts_duplicates() {
            self.recovery.limited_segments() * self.window.smss
        } else {
            0
        }
    }

    /// Counts what of `len` new octets only limited transmit lets out, for FlightSize to leave it out.
    fn note_limited_transmit(&mut self, len: u64) {
        if self.recovery.phase() == Phase::Open {
            let in_flight = if self.shared.options.sack { self.flight() } else { self.pipe() };
            self.recovery
                .sent_by_limited_transmit((in_flight + len).saturating_sub(self.window.cwnd).min(len));
        }
    }

    /// Before new data leaves, where nothing is outstanding.
    fn restart_after_idle(&mut self, now: Time) {
        if self.flight() == 0 && self.usable() > 0 {
            self.restart_after_silence(now);
        }
    }

    /// RFC 5681 section 4.1, or by halves.
    pub(super) fn restart_after_silence(&mut self, now: Time) {
        let Some(last) = self.snd.last_data else { return };
        let idle = now.since(last);
        if !self.shared.config.idle_restart || self.by_rate() || idle <= self.shared.rtt.rto() {
            return;
        }
        if self.shared.config.cwnd_validation {
            if self.unsent() == 0 {
                return;
            }
            self.halve_for_idleness(idle);
        } else {
            self.window.cwnd = self.window.cwnd.min(self.restart_window());
        }
        self.note_idle(now);
    }

    /// Tells the congestion control how long nothing was sent or outstanding.
    fn note_idle(&mut self, now: Time) {
        if self.flight() == 0
            && let Some(last) = self.snd.last_data.replace(now)
            && now > last
        {
            self.cc.cwnd_event(now, CwndEvent::TxStart { idle: now - last });
        }
    }

    fn transmit_new(&mut self, now: Time, len: u32, with_fin: bool) -> (TcpHeader, Payload) {
        let start = self.snd.nxt;
        let end = start + u64::from(len);
        let ends_burst = len > 0 && self.take_from_burst(now);
        self.snd.nxt = end + u64::from(with_fin);
        if len < self.max_payload() {
            self.snd.small_end = self.snd.nxt;
        }
        self.usage.sent = true;
        let snapshot = self.rate_snapshot(now, start == self.snd.una);
        self.sent.push(self.snd.nxt, self.short(self.snd.nxt - start), now, snapshot);
        if with_fin {
            self.shared.state = match self.shared.state {
                State::CloseWait => State::LastAck,
                _ => State::FinWait1,
            };
        }
        if self.flight() == end + u64::from(with_fin) - start {
            self.restart_user_timeout(now);
        }
        let (mut header, payload) = self.transmit(now, start..end, with_fin);
        header.flags |= self.ecn_flags(len > 0);
        if ends_burst {
            header.flags |= TcpFlags::PSH;
        }
        let segment = (header, payload);
        self.schedule_loss_probe(now);
        segment
    }

    fn retransmit(&mut self, now: Time, range: Range<u64>) -> (TcpHeader, Payload) {
        let stamp = self.shared.options.timestamps.then(|| timestamp(now));
        if let Some(undo) = &mut self.undo {
            undo.note_repetition(range.end - range.start, stamp);
        }
        if range.start == self.snd.una && self.extends_timer() {
            self.restart_retransmit_timer(now);
        }
        self.repeat(now, range)
    }

    /// Sends octets again, be it to repair a loss or to probe for one (__tcp_retransmit_skb()).
    fn repeat(&mut self, now: Time, range: Range<u64>) -> (TcpHeader, Payload) {
        self.shared.counters.retransmissions += 1;
        // Not idle, though all may count as lost: that is a guess (tcp_rate_skb_sent()).
        let snapshot = self.rate_snapshot(now, false);
        let short = self.short(range.end - range.start);
        self.sent.mark_retransmitted(range.clone(), short, now, snapshot);
        let data_end = self.snd.buffer.end();
        let with_fin = self.snd.fin && range.end > data_end;
        self.transmit(now, range.start..range.end.min(data_end), with_fin)
    }

    /// What a segment remembers that is sent now, `idle` if nothing is outstanding.
    fn rate_snapshot(&mut self, now: Time, idle: bool) -> Option<Snapshot> {
        self.rate.as_mut().map(|rate| rate.snapshot(now, idle))
    }

    /// Sends the octets of `range`, which have offsets now.
    fn transmit(&mut self, now: Time, range: Range<u64>, with_fin: bool) -> (TcpHeader, Payload) {
        let len = (range.end - range.start) as u32;
        let charge = self.charge(u64::from(len) + u64::from(with_fin));
        self.recovery.prr().note_sent(charge);
        let mut flags = TcpFlags::ACK;
        let mut payload = Payload::Empty;
        if len > 0 {
            payload = self.snd.buffer.read(range.start, len);
            self.shared.counters.data_segments_sent += 1;
            self.snd.last_data = Some(now);
            self.pace(now, len);
            self.rcv.note_data_sent(now);
            if range.end == self.snd.buffer.end() {
                flags |= TcpFlags::PSH;
            }
        }
        if with_fin {
            flags |= TcpFlags::FIN;
        }
        // RFC 6298 (5.1); a closed window is the persist timer's (RFC 9293 section 3.8.6.1).
        if self.snd.wnd > 0 {
            self.ensure_retransmit_timer(now);
        } else {
            self.ensure_persist_timer(now);
        }
        self.segment(now, range.start, flags, payload)
    }

    /// Payload that fits beside the options that a segment carries now.
    pub(super) fn max_payload(&self) -> u32 {
        let smss = self.smss();
        smss - self.rcv.sack_len(&self.shared).min(smss - 1)
    }

    /// SMSS: what a full-sized segment without SACK blocks carries.
    pub(super) fn smss(&self) -> u32 {
        let mss = u32::from(self.shared.config.mss.min(self.shared.options.peer_mss)).min(self.path_mss);
        mss.saturating_sub(self.shared.options.len()).max(1)
    }

    fn syn(&mut self, now: Time) -> (TcpHeader, Payload) {
        self.snd.syn_pending = false;
        if self.snd.nxt == 0 {
            self.snd.nxt = 1;
            let snapshot = self.rate_snapshot(now, true);
            self.sent.push(1, 0, now, snapshot);
        } else {
            self.shared.counters.retransmissions += 1;
            let snapshot = self.rate_snapshot(now, true);
            self.sent.mark_retransmitted(0..1, 0, now, snapshot);
        }
        self.restart_retransmit_timer(now);
        let answering = self.rcv.ack_number().is_some();
        let flags = if answering { TcpFlags::SYN | TcpFlags::ACK } else { TcpFlags::SYN };
        let setup = self.ecn_setup();
        let (mut header, payload) = self.segment(now, 0, flags, Payload::Empty);
        header.flags |= setup;
        header.options = TcpOptions {
            mss: Some(self.shared.config.mss),
            window_scale: self.shared.options.window_scaling.then_some(self.shared.options.rcv_shift),
            sack_permitted: self.shared.options.sack,
            ..header.options
        };
        (header, payload)
    }

    /// The reset that aborts this connection (RFC 9293 section 3.10.5).
    pub(super) fn reset(&self) -> TcpHeader {
        TcpHeader {
            seq: self.seq(self.snd.nxt),
            ack: self.rcv.ack_number().unwrap_or_default(),
            flags: TcpFlags::RST | TcpFlags::ACK,
            ..TcpHeader::default()
        }
    }

    /// A segment with everything that acknowledges.
    pub(super) fn segment(
        &mut self,
        now: Time,
        start: u64,
        flags: TcpFlags,
        payload: Payload,
    ) -> (TcpHeader, Payload) {
        self.shared.counters.segments_sent += 1;
        let mut header = TcpHeader { seq: self.seq(start), flags, ..TcpHeader::default() };
        if self.shared.is_synchronised() {
            self.ecn_flags(false);
        }
        self.rcv.acknowledge(&self.shared, now, &mut header);
        (header, payload)
    }
}
