//! What to send next.

use super::{Connection, State};
use core::ops::Range;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{TcpFlags, TcpHeader, TcpOptions};

impl Connection {
    /// The next segment to send, if any; ports are the socket's to fill in. Call until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        if let Some(reset) = self.snd.reset.take() {
            self.shared.counters.segments_sent += 1;
            self.snd.mark_ect(&self.shared, false);
            return Some((*reset, Payload::Empty));
        }
        if self.snd.syn_pending {
            return Some(self.syn(now));
        }
        if self.rcv.is_ack_due_alone() {
            return Some(self.segment(now, self.snd.acceptable_seq(), TcpFlags::ACK, Payload::Empty));
        }
        let may_send = !matches!(self.shared.state, State::Closed | State::SynSent | State::SynReceived);
        if let Some(segment) = may_send.then(|| self.data(now)).flatten() {
            return Some(segment);
        }
        if let Some(probe) = self.keepalive_probe(now) {
            return Some(probe);
        }
        // RFC 9293 section 3.8.6.3: a bare acknowledgment, only if no data carried it.
        self.rcv
            .is_ack_due()
            .then(|| self.segment(now, self.snd.acceptable_seq(), TcpFlags::ACK, Payload::Empty))
    }

    fn data(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        let (flight, waiting) = (self.snd.flight(), self.snd.end() - self.snd.nxt);
        if flight == 0 && waiting == 0 {
            return None;
        }
        // What options leave: the same for all that may be sent now.
        let max = self.max_payload();
        if flight > 0 {
            if self.snd.wnd == 0 {
                return self.zero_window_probe(now, max);
            }
            if self.recovery.take_probe_due() {
                return self.loss_probe(now, max);
            }
            if self.snd.is_held_by_pacing(now) {
                return None;
            }
            if let Some(range) = self.recovery.next_retransmission(&self.shared, &mut self.snd, max) {
                self.snd.take_again_from_burst(&self.shared, &self.recovery, now, range.end);
                return Some(self.retransmit(now, range));
            }
        }
        if waiting > 0
            && let Some(segment) = self.new_data(now, max)
        {
            return Some(segment);
        }
        let range = self.recovery.next_rescue(&self.shared, &mut self.snd, max)?;
        Some(self.retransmit(now, range))
    }

    /// The probe of RFC 8985 section 7.3: a new segment, whatever the congestion window says, else the last one again.
    fn loss_probe(&mut self, now: Time, max: u32) -> Option<(TcpHeader, Payload)> {
        let (unsent, usable) = (self.snd.unsent(), self.snd.usable());
        let len = self.len_of_new(unsent.min(u64::from(max)).min(usable));
        let new = len > 0;
        let segment = if new {
            let with_fin = self.snd.buffer.is_closed() && len == unsent && usable > len;
            self.transmit_new(now, len as u32, with_fin, max)
        } else {
            let range = self.recovery.loss_probe_range(&self.snd, max)?;
            self.snd.scoreboard.retransmitted(&range);
            self.retransmit_segment(now, range)
        };
        self.recovery.loss_probe_sent(&mut self.shared, &mut self.snd, now, !new);
        Some(segment)
    }

    /// A closed window with something outstanding, which is then what probes it (RFC 9293 section 3.8.6.1).
    fn zero_window_probe(&mut self, now: Time, max: u32) -> Option<(TcpHeader, Payload)> {
        if !core::mem::take(&mut self.snd.probe_pending) {
            return None;
        }
        self.shared.counters.probes += 1;
        let range = self.snd.first_outstanding(&self.shared, max);
        Some(self.retransmit(now, range))
    }

    /// New data, a FIN, or a probe, as far as both windows and the sender's silly-window avoidance let them
    /// (RFC 9293 section 3.8.6.2.1).
    fn new_data(&mut self, now: Time, max: u32) -> Option<(TcpHeader, Payload)> {
        self.snd.restart_after_idle(&self.shared, now);
        let (unsent, usable) = (self.snd.unsent(), self.snd.usable());

        let whole = unsent.min(u64::from(max)).min(usable);
        let len = self.len_of_new(whole);
        let everything = len == unsent;
        let idle = self.snd.flight() == 0;
        let may_be_small = !self.snd.holds_small(&self.shared);
        // Where a mapping ends a segment is as full as it will be: Linux holds back the last of its buffers alone (tcp_nagle_test()).
        let worth_sending = len == u64::from(max)
            || len < whole
            || (self.snd.continues_burst(now) && may_be_small)
            || (everything && (may_be_small || self.snd.buffer.is_closed()))
            || (len > 0 && len * 2 >= u64::from(self.snd.max_wnd) && may_be_small);
        // The FIN, too, takes its octet of the window.
        let with_fin = self.snd.buffer.is_closed() && everything && usable > len;
        if worth_sending && (len > 0 || with_fin) {
            if !self.recovery.lets_out(&self.shared, &self.snd, len) {
                return None;
            }
            if self.snd.is_held_by_pacing(now) || self.snd.defers_burst(&self.shared, &self.recovery, now) {
                return None;
            }
            self.recovery.note_limited_transmit(&self.shared, &self.snd, len);
            self.snd.note_idle(now);
            return Some(self.transmit_new(now, len as u32, with_fin, max));
        }
        if !idle {
            // An acknowledgment will come, and with it a new look.
            return None;
        }
        if core::mem::take(&mut self.snd.probe_pending) {
            // RFC 9293 section 3.8.6.1: an octet beyond the window, or what silly-window avoidance held back.
            self.shared.counters.probes += 1;
            let probe = len.max(unsent.min(1));
            let with_fin = self.snd.buffer.is_closed() && probe == unsent;
            // What goes to a closed window ends no silence.
            let last = self.snd.last_data;
            let segment = self.transmit_new(now, probe as u32, with_fin, max);
            self.snd.last_data = last;
            return Some(segment);
        }
        self.snd.ensure_persist_timer(&self.shared, now);
        None
    }

    /// How many of so many new octets one segment may carry.
    fn len_of_new(&self, len: u64) -> u64 {
        let start = self.snd.nxt;
        self.snd.in_one_mapping(&self.shared, start..start + len).end - start
    }

    fn transmit_new(&mut self, now: Time, len: u32, with_fin: bool, max: u32) -> (TcpHeader, Payload) {
        let start = self.snd.nxt;
        let end = start + u64::from(len);
        let ends_burst = len > 0 && self.snd.take_from_burst(&self.shared, &self.recovery, now);
        self.snd.push_new(&self.shared, now, len, with_fin, max);
        if with_fin {
            self.shared.state = match self.shared.state {
                State::CloseWait => State::LastAck,
                _ => State::FinWait1,
            };
        }
        if self.snd.flight() == end + u64::from(with_fin) - start {
            self.restart_user_timeout(now);
        }
        let (mut header, payload) = self.transmit(now, start..end, with_fin);
        header.flags |= self.snd.mark_ect(&self.shared, len > 0);
        if ends_burst {
            header.flags |= TcpFlags::PSH;
        }
        let segment = (header, payload);
        self.recovery.schedule_loss_probe(&self.shared, &self.snd, now, true);
        segment
    }

    fn retransmit(&mut self, now: Time, range: Range<u64>) -> (TcpHeader, Payload) {
        self.recovery.note_retransmission(&self.shared, now, range.end - range.start);
        if range.start == self.snd.una && self.recovery.extends_timer(&self.shared, &self.snd) {
            self.snd.restart_retransmit_timer(&self.shared, now);
        }
        self.retransmit_segment(now, range)
    }

    /// Sends octets again, be it to repair a loss or to probe for one (__tcp_retransmit_skb()).
    fn retransmit_segment(&mut self, now: Time, range: Range<u64>) -> (TcpHeader, Payload) {
        self.shared.counters.retransmissions += 1;
        self.snd.push_again(&self.shared, now, range.clone());
        let data_end = self.snd.buffer.end();
        let with_fin = self.snd.buffer.is_closed() && range.end > data_end;
        self.transmit(now, range.start..range.end.min(data_end), with_fin)
    }

    /// Sends the octets of `range`, which have offsets now.
    fn transmit(&mut self, now: Time, range: Range<u64>, with_fin: bool) -> (TcpHeader, Payload) {
        let len = (range.end - range.start) as u32;
        let charge = self.snd.charge(&self.shared, u64::from(len) + u64::from(with_fin));
        self.recovery.note_sent(charge);
        let mut flags = TcpFlags::ACK;
        let mut payload = Payload::Empty;
        if len > 0 {
            self.shared.counters.data_segments_sent += 1;
            payload = self.snd.take_payload(&self.shared, now, range.start, len);
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
            self.snd.ensure_retransmit_timer(&self.shared, now);
        } else {
            self.snd.ensure_persist_timer(&self.shared, now);
        }
        self.segment(now, range.start, flags, payload)
    }

    /// Payload that fits beside the options that a segment carries now.
    pub(super) fn max_payload(&self) -> u32 {
        // Once the handshake is over, the window knows it.
        let smss = self.snd.window.smss as u32;
        debug_assert_eq!(smss, self.snd.smss(&self.shared), "of a connection that is synchronised");
        smss - self.rcv.sack_len(&self.shared).min(smss - 1)
    }

    fn syn(&mut self, now: Time) -> (TcpHeader, Payload) {
        self.shared.counters.retransmissions += u64::from(self.snd.push_syn(now));
        self.snd.restart_retransmit_timer(&self.shared, now);
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
            seq: self.snd.seq(self.snd.nxt),
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
        let mut header = TcpHeader { seq: self.snd.seq(start), flags, ..TcpHeader::default() };
        if self.shared.is_synchronised() {
            self.snd.mark_ect(&self.shared, false);
        }
        self.rcv.acknowledge(&self.shared, now, &mut header, !payload.is_empty());
        (header, payload)
    }
}
