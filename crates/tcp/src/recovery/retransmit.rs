//! What is to be retransmitted, and what the congestion window lets out: NextSeg() and SetPipe() of RFC 6675, limited transmit (RFC 3042).

use super::{LossRecovery, Phase};
use crate::sender::Sender;
use crate::shared::Shared;
use core::ops::Range;

impl LossRecovery {
    /// What is to be retransmitted next, if anything may be.
    pub(crate) fn next_retransmission(
        &mut self,
        cx: &Shared,
        snd: &mut Sender,
        max_payload: u32,
    ) -> Option<Range<u64>> {
        self.first_retransmission(cx, snd, max_payload).or_else(|| self.next_lost(cx, snd, max_payload))
    }

    /// The retransmission with which recovery begins, or goes on after a partial acknowledgment; no window holds it.
    fn first_retransmission(
        &mut self,
        cx: &Shared,
        snd: &mut Sender,
        max_payload: u32,
    ) -> Option<Range<u64>> {
        if !core::mem::take(&mut self.episode.retransmit_first) || self.is_testing_timeout() {
            return None;
        }
        let range = snd.first_outstanding(cx, max_payload);
        // Without SACK the inflated window accounts for it, unless a timeout had given these octets up before.
        if cx.options.sack || snd.scoreboard.is_lost(range.start) {
            snd.scoreboard.retransmitted(&range);
        }
        Some(range)
    }

    /// RFC 6675's NextSeg() rule (1) under its step (C): lost octets, while the pipe has room.
    fn next_lost(&mut self, cx: &Shared, snd: &mut Sender, max_payload: u32) -> Option<Range<u64>> {
        if self.is_testing_timeout() {
            return None;
        }
        let range = snd.first_again(cx, snd.scoreboard.next_lost(max_payload)?);
        let range = snd.with_fin(cx, range);
        let room = snd.window.cwnd.saturating_sub(self.pipe(cx, snd));
        if !core::mem::take(&mut self.episode.force)
            && room < snd.charge(cx, range.end - range.start).min(snd.window.smss)
        {
            return None;
        }
        snd.scoreboard.retransmitted(&range);
        Some(range)
    }

    /// NextSeg() rules (3) and (4): where nothing new can be sent, octets that may be lost, and once in a recovery
    /// the last ones not SACKed, lest the acknowledgments dry up.
    pub(crate) fn next_rescue(
        &mut self,
        cx: &Shared,
        snd: &mut Sender,
        max_payload: u32,
    ) -> Option<Range<u64>> {
        if !cx.options.sack || cx.config.rack || self.episode.phase != Phase::Recovery {
            return None;
        }
        if snd.window.cwnd.saturating_sub(self.pipe(cx, snd)) < snd.window.smss {
            return None;
        }
        if let Some(range) = snd.scoreboard.next_unsacked(max_payload) {
            let range = snd.first_again(cx, range);
            snd.scoreboard.retransmitted(&range);
            return Some(range);
        }
        // Where only the peer's window holds new data back, rule (4) would apply, too, by the letter: for a sender that is
        // limited by that window, one useless copy in every recovery. Its SHOULD is not followed there.
        if snd.end() > snd.nxt || core::mem::replace(&mut self.episode.rescued, true) {
            return None;
        }
        // Step (C.2): HighRxt stays, or later losses below would not be retransmitted.
        snd.last_unsacked(cx, max_payload)
    }

    pub(crate) fn pipe(&self, cx: &Shared, snd: &Sender) -> u64 {
        if cx.options.sack && self.episode.phase == Phase::Open && !cx.config.limited_transmit {
            // What was SACKed would let new data out before a loss is certain: that is limited transmit.
            return snd.flight() + snd.rtx_queue.short();
        }
        let pipe = snd.scoreboard.pipe(snd.una, snd.nxt) + snd.rtx_queue.short();
        pipe.saturating_sub(self.reno_sacked(cx, snd))
    }

    /// Whether the congestion window lets a segment with so many new octets out.
    pub(crate) fn lets_out(&self, cx: &Shared, snd: &Sender, len: u64) -> bool {
        self.pipe(cx, snd) + snd.charge(cx, len) <= snd.window.cwnd + self.limited_transmit(cx, snd)
    }

    /// Segments beyond the window that limited transmit allows (RFC 3042).
    fn limited_segments(&self) -> u64 {
        if self.episode.phase == Phase::Open { u64::from(self.episode.dupacks.min(2)) } else { 0 }
    }

    /// Octets beyond the window that limited transmit allows now (RFC 3042).
    fn limited_transmit(&self, cx: &Shared, snd: &Sender) -> u64 {
        // Where duplicates are counted out of the pipe they let new data out by themselves.
        if cx.config.limited_transmit && !cx.options.sack && !self.counts_dupacks(cx) {
            self.limited_segments() * snd.window.smss
        } else {
            0
        }
    }

    /// Counts what of `len` new octets only limited transmit lets out, for FlightSize to leave it out.
    pub(crate) fn note_limited_transmit(&mut self, cx: &Shared, snd: &Sender, len: u64) {
        if self.episode.phase == Phase::Open {
            let in_flight = if cx.options.sack { snd.flight() } else { self.pipe(cx, snd) };
            self.episode.limited_transmit += (in_flight + len).saturating_sub(snd.window.cwnd).min(len);
        }
    }
}
