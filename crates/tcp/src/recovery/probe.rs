//! Tail loss probes (RFC 8985 section 7): where acknowledgments stop, one segment calls for one before the retransmission timer expires.

use super::{LossRecovery, Phase};
use crate::sender::Sender;
use crate::shared::Shared;
use core::num::NonZero;
use core::ops::Range;
use voxpath_units::{Span, Time};

/// TLP's state (RFC 8985 section 7.1).
#[derive(Debug, Default)]
pub(super) struct LossProbe {
    /// The timer expired: a probe is due.
    pub(super) due: bool,
    /// TLP.is_retrans
    is_retrans: bool,
    /// TLP.end_seq, while one is outstanding.
    end_seq: Option<NonZero<u64>>,
}

impl LossRecovery {
    /// Schedules a probe after data was acknowledged, or `sent` (section 7.2). After sending, Linux has it come no later than the first
    /// outstanding segment's own RTO (tcp_rto_delta_us()), which is sooner than the timer's where the queue is long.
    pub(crate) fn schedule_loss_probe(&mut self, cx: &Shared, snd: &Sender, now: Time, sent: bool) {
        self.timers.loss_probe = None;
        let eligible = cx.config.loss_probe
            && cx.options.sack
            && cx.is_synchronised()
            && snd.flight() > 0
            && snd.wnd > 0
            && matches!(self.episode.phase, Phase::Open | Phase::Reduction)
            && snd.scoreboard.sacked().octets() == 0;
        let Some(rto) = snd.timers.retransmit.filter(|_| eligible) else { return };
        let timeout = match cx.rtt.srtt() {
            None => cx.config.rto.initial,
            // A single segment may wait for a delayed acknowledgment.
            Some(srtt) if snd.rtx_queue.len() == 1 => srtt * 2 + WORST_DELAYED_ACK,
            Some(srtt) => srtt * 2 + TIMEOUT_MIN,
        };
        let first = snd.rtx_queue.first_sent().filter(|_| sent && cx.rtt.follows_linux());
        let left = first.map_or(Span::ZERO, |first| (first + cx.rtt.rto()).since(now));
        let timeout = if left > Span::ZERO { timeout.min(left) } else { timeout };
        self.timers.loss_probe = Some(cx.rtt.expiry(now, timeout + snd.pacing_delay(cx, now)).min(rto));
    }

    /// The timer expired: new data if there is any, else the last segment again (section 7.3).
    pub(super) fn send_loss_probe(&mut self, snd: &Sender) {
        if self.probe.end_seq.is_none() && snd.flight() > 0 {
            self.probe.due = true;
        }
    }

    /// What the probe that is due has to carry; none if it is new data.
    pub(crate) fn loss_probe_range(&self, snd: &Sender, max_payload: u32) -> Option<Range<u64>> {
        let last = snd.rtx_queue.last()?;
        let data = last.end.min(snd.buffer.end());
        let start = last.start.max(snd.una).max(data.saturating_sub(u64::from(max_payload)));
        Some(start..last.end)
    }

    /// Whether a probe is due; asking takes the order.
    pub(crate) const fn take_probe_due(&mut self) -> bool {
        core::mem::replace(&mut self.probe.due, false)
    }

    /// Whether a probe is due, in place of which the retransmission timer waits.
    pub(crate) const fn is_probe_due(&self) -> bool {
        self.probe.due
    }

    /// The probe was sent.
    pub(crate) fn loss_probe_sent(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time, is_retrans: bool) {
        cx.counters.loss_probes += 1;
        self.probe = LossProbe { due: false, is_retrans, end_seq: NonZero::new(snd.nxt) };
        self.timers.loss_probe = None;
        snd.restart_retransmit_timer(cx, now);
    }

    /// Whether the probe that is outstanding ended there.
    pub(super) fn is_probe(&self, end: u64) -> bool {
        self.probe.end_seq.is_some_and(|probe| probe.get() == end)
    }

    /// Whether an acknowledgment shows that the probe has repaired a loss, so that the window has to answer for it (section 7.4.2).
    pub(super) fn has_probe_repaired(
        &mut self,
        ack: u64,
        duplicate_told: bool,
        plain_duplicate: bool,
    ) -> bool {
        let Some(end) = self.probe.end_seq.map(NonZero::get).filter(|&end| ack >= end) else { return false };
        let no_loss = !self.probe.is_retrans || duplicate_told || plain_duplicate;
        let repaired = !no_loss && ack > end;
        if no_loss || repaired {
            self.probe.end_seq = None;
        }
        repaired
    }

    /// A recovery or a timeout has taken over.
    pub(super) fn cancel_loss_probe(&mut self) {
        self.probe = LossProbe::default();
        self.timers.loss_probe = None;
    }
}

/// TLP.max_ack_delay (RFC 8985 section 7.2); Linux takes its RTO's minimum, which is the same.
const WORST_DELAYED_ACK: Span = Span::from_millis(200);

/// Linux' TCP_TIMEOUT_MIN_US, which leaves room for a timer's coarseness.
pub(super) const TIMEOUT_MIN: Span = Span::from_millis(2);
