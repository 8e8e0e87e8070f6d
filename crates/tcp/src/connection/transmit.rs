//! What to send next.

use super::recovery::Phase;
use super::{Connection, State};
use crate::cc::CwndEvent;
use core::ops::Range;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{SackBlock, SackBlocks, TcpFlags, TcpHeader, TcpOptions, Timestamps};

impl Connection {
    /// The next segment to send, if any; ports are the socket's to fill in. Call until there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        if let Some(reset) = self.snd.reset.take() {
            self.counters.segments_sent += 1;
            return Some((reset, Payload::Empty));
        }
        if self.snd.syn_pending {
            return Some(self.syn(now));
        }
        if matches!(self.state, State::Closed | State::SynSent | State::SynReceived) {
            // A SYN|ACK answers by itself; nothing else leaves before the handshake is over.
            self.rcv.ack_now = false;
            return None;
        }
        if let Some(segment) = self.data(now) {
            return Some(segment);
        }
        // RFC 9293 section 3.8.6.3: a bare acknowledgment, only if no data carried it.
        self.rcv.ack_now.then(|| self.segment(now, self.snd.nxt, TcpFlags::ACK, Payload::Empty))
    }

    fn data(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        if self.flight() > 0 {
            if self.snd.wnd == 0 && core::mem::take(&mut self.snd.probe_pending) {
                self.counters.probes += 1;
                let range = self.first_outstanding();
                return Some(self.retransmit(now, range));
            }
            if self.recovery.take_retransmit_first() {
                let range = self.first_outstanding();
                return Some(self.retransmit(now, range));
            }
            if let Some(range) = self.next_lost() {
                return Some(self.retransmit(now, range));
            }
        }
        if self.snd_end() == self.snd.nxt {
            return self.next_rescue().map(|range| self.retransmit(now, range));
        }
        self.new_data(now)
    }

    /// The first segment's worth of outstanding octets.
    fn first_outstanding(&self) -> Range<u64> {
        self.snd.una..self.snd.nxt.min(self.snd.una + u64::from(self.max_payload()))
    }

    /// RFC 6675's NextSeg() rule (1) under its step (C): lost octets, while the pipe has room.
    fn next_lost(&self) -> Option<Range<u64>> {
        let range = self.scoreboard.next_lost(self.max_payload())?;
        let room = self.window.cwnd.saturating_sub(self.pipe());
        (room >= (range.end - range.start).min(self.window.smss)).then_some(range)
    }

    /// NextSeg() rules (3) and (4): with nothing new to send, octets that may be lost, and once in a recovery
    /// the last ones, lest the acknowledgments dry up.
    fn next_rescue(&mut self) -> Option<Range<u64>> {
        if !self.options.sack || self.recovery.phase() != Phase::Recovery {
            return None;
        }
        if self.window.cwnd.saturating_sub(self.pipe()) < self.window.smss {
            return None;
        }
        let max = self.max_payload();
        if let Some(range) = self.scoreboard.next_unsacked(max) {
            return Some(range);
        }
        if !self.recovery.may_rescue() || !self.scoreboard.has_sacked() {
            return None;
        }
        self.recovery.rescued();
        let last = self.snd.nxt.saturating_sub(u64::from(max)).max(self.snd.una)..self.snd.nxt;
        (self.scoreboard.sacked_octets(last.start, last.end) == 0).then_some(last)
    }

    fn pipe(&self) -> u64 {
        if self.options.sack && self.recovery.phase() == Phase::Open && !self.config.limited_transmit {
            // What was SACKed would let new data out before a loss is certain: that is limited transmit.
            return self.flight();
        }
        self.scoreboard.pipe(self.snd.una, self.snd.nxt)
    }

    /// New data, a FIN, or a probe, as far as both windows and the sender's silly-window avoidance let them
    /// (RFC 9293 section 3.8.6.2.1).
    fn new_data(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        self.restart_after_idle(now);
        let max = u64::from(self.max_payload());
        let unsent = self.snd.buffer.end().saturating_sub(self.snd.nxt);
        let usable = (self.snd.una + self.snd.wnd).saturating_sub(self.snd.nxt);
        let fin = self.snd.fin && self.snd.nxt + unsent == self.snd.buffer.end();

        let len = unsent.min(max).min(usable);
        let everything = len == unsent;
        let idle = self.flight() == 0;
        let worth_sending = len == max
            || (everything && (idle || !self.config.nagle || self.snd.fin))
            || (len > 0 && len * 2 >= self.snd.max_wnd);
        let with_fin = fin && everything;
        if worth_sending && (len > 0 || with_fin) {
            let limited = self.limited_transmit();
            if self.pipe() + len > self.window.cwnd + limited {
                return None;
            }
            if limited > 0 || self.recovery.phase() == Phase::Open && self.scoreboard.has_sacked() {
                self.recovery.sent_by_limited_transmit(len);
            }
            return Some(self.transmit_new(now, len as u32, with_fin));
        }
        if !idle {
            // An acknowledgment will come, and with it a new look.
            return None;
        }
        if core::mem::take(&mut self.snd.probe_pending) {
            // RFC 9293 section 3.8.6.1: an octet beyond the window, or what silly-window avoidance held back.
            self.counters.probes += 1;
            let probe = len.max(unsent.min(1));
            let with_fin = fin && probe == unsent;
            let segment = self.transmit_new(now, probe as u32, with_fin);
            return Some(segment);
        }
        self.ensure_persist_timer(now);
        None
    }

    /// Octets beyond the window that limited transmit allows now (RFC 3042).
    fn limited_transmit(&self) -> u64 {
        if self.config.limited_transmit && !self.options.sack {
            self.recovery.limited_segments() * self.window.smss
        } else {
            0
        }
    }

    /// RFC 5681 section 4.1.
    fn restart_after_idle(&mut self, now: Time) {
        let Some(last) = self.snd.last_data else { return };
        if !self.config.idle_restart || self.flight() > 0 || now.since(last) <= self.rtt.rto() {
            return;
        }
        let restart = u64::from(self.config.initial_window) * self.window.smss;
        if self.window.cwnd > restart {
            self.window.cwnd = restart;
        }
        self.cc.cwnd_event(now, CwndEvent::TxStart);
        self.snd.last_data = Some(now);
    }

    fn transmit_new(&mut self, now: Time, len: u32, with_fin: bool) -> (TcpHeader, Payload) {
        let start = self.snd.nxt;
        let end = start + u64::from(len);
        self.snd.nxt = end + u64::from(with_fin);
        self.sent.push(self.snd.nxt, now);
        if with_fin {
            self.state = match self.state {
                State::CloseWait => State::LastAck,
                _ => State::FinWait1,
            };
        }
        self.transmit(now, start..end, with_fin)
    }

    fn retransmit(&mut self, now: Time, range: Range<u64>) -> (TcpHeader, Payload) {
        self.counters.retransmissions += 1;
        self.sent.mark_retransmitted(range.clone());
        if self.options.sack || self.recovery.phase() != Phase::Recovery {
            self.scoreboard.retransmitted(&range);
        }
        let data_end = self.snd.buffer.end();
        let with_fin = self.snd.fin && range.end > data_end;
        self.transmit(now, range.start..range.end.min(data_end), with_fin)
    }

    /// Sends the octets of `range`, which have offsets now.
    fn transmit(&mut self, now: Time, range: Range<u64>, with_fin: bool) -> (TcpHeader, Payload) {
        let len = (range.end - range.start) as u32;
        let mut flags = TcpFlags::ACK;
        let mut payload = Payload::Empty;
        if len > 0 {
            payload = self.snd.buffer.read(range.start, len);
            self.counters.data_segments_sent += 1;
            self.snd.last_data = Some(now);
            if range.end == self.snd.buffer.end() {
                flags |= TcpFlags::PSH;
            }
        }
        if with_fin {
            flags |= TcpFlags::FIN;
        }
        // RFC 6298 (5.1); a closed window is the persist timer's (RFC 9293 section 3.8.6.1).
        if self.snd.wnd > 0 || self.timers.probes == 0 {
            self.ensure_retransmit_timer(now);
        } else {
            self.ensure_persist_timer(now);
        }
        self.segment(now, range.start, flags, payload)
    }

    /// Payload that fits beside the options that a segment carries now.
    fn max_payload(&self) -> u32 {
        let sacks = self.sack_blocks().len() as u32;
        let sack_len = if sacks > 0 { 4 + 8 * sacks } else { 0 };
        self.smss() - sack_len.min(self.smss() - 1)
    }

    /// SMSS: what a full-sized segment without SACK blocks carries.
    pub(super) fn smss(&self) -> u32 {
        let mss = u32::from(self.config.mss.min(self.options.peer_mss));
        let stamps = if self.options.timestamps { 12 } else { 0 };
        mss.saturating_sub(stamps).max(1)
    }

    fn syn(&mut self, now: Time) -> (TcpHeader, Payload) {
        self.snd.syn_pending = false;
        if self.snd.nxt == 0 {
            self.snd.nxt = 1;
            self.sent.push(1, now);
        } else {
            self.counters.retransmissions += 1;
            self.sent.mark_retransmitted(0..1);
        }
        self.restart_retransmit_timer(now);
        let answering = self.rcv.irs.is_some();
        let flags = if answering { TcpFlags::SYN | TcpFlags::ACK } else { TcpFlags::SYN };
        let (mut header, payload) = self.segment(now, 0, flags, Payload::Empty);
        // The window of a SYN is never scaled (RFC 7323 section 2.2).
        let window = self.rcv.buffer.capacity().min(u32::from(u16::MAX));
        header.window = window as u16;
        self.rcv.advertised = self.rcv.advertised.max(1 + u64::from(window));
        let offer_scale =
            if answering { self.options.rcv_shift > 0 || self.options.snd_shift > 0 } else { true };
        header.options = TcpOptions {
            mss: Some(self.config.mss),
            window_scale: (self.config.window_scaling && offer_scale).then_some(self.options.rcv_shift),
            sack_permitted: self.options.sack,
            ..header.options
        };
        (header, payload)
    }

    /// The reset that aborts this connection (RFC 9293 section 3.10.5).
    pub(super) fn reset(&self) -> TcpHeader {
        TcpHeader {
            seq: self.seq(self.snd.nxt),
            ack: self.rcv.irs.map(|irs| irs.wrapping_add(self.rcv_nxt() as u32)).unwrap_or_default(),
            flags: TcpFlags::RST | TcpFlags::ACK,
            ..TcpHeader::default()
        }
    }

    /// A segment with everything that acknowledges.
    fn segment(&mut self, now: Time, start: u64, flags: TcpFlags, payload: Payload) -> (TcpHeader, Payload) {
        self.counters.segments_sent += 1;
        let mut header = TcpHeader { seq: self.seq(start), flags, ..TcpHeader::default() };
        if self.options.timestamps {
            header.options.timestamps =
                Some(Timestamps { value: Self::timestamp(now), echo: self.rcv.ts_recent });
        }
        if let Some(irs) = self.rcv.irs {
            let next = self.rcv_nxt();
            header.ack = irs.wrapping_add(next as u32);
            header.options.sack = self.sack_blocks();
            self.rcv.advertised = self.window_edge().max(self.rcv.advertised);
            let window = self.rcv.advertised.saturating_sub(next) >> self.options.rcv_shift;
            header.window = window.min(u64::from(u16::MAX)) as u16;
            // The acknowledgment is on its way.
            self.rcv.ack_now = false;
            self.rcv.unacked = 0;
            self.rcv.last_ack_sent = next;
            self.timers.delayed_ack = None;
        }
        (header, payload)
    }

    /// The SACK blocks that fit (RFC 2018 section 3).
    fn sack_blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        let Some(irs) = self.rcv.irs.filter(|_| self.options.sack && self.is_synchronised()) else {
            return blocks;
        };
        let stamps = self.options.timestamps.then(Timestamps::default);
        let room = TcpOptions { timestamps: stamps, ..TcpOptions::default() }.sack_room();
        for range in self.rcv.buffer.sack_blocks().take(room) {
            let at = |offset: u64| irs.wrapping_add(offset as u32);
            blocks.push(SackBlock { left: at(range.start), right: at(range.end) });
        }
        blocks
    }
}
