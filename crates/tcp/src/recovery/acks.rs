//! What an acknowledgment leads to.

use super::frto::Frto;
use super::prr::Prr;
use super::{Episode, LossRecovery, Phase};
use crate::cc::{Ack, RateSample};
use crate::config::Recovery;
use crate::sender::{Delivered, Sender};
use crate::shared::{Shared, timestamp};
use voxpath_units::Time;
use voxpath_wire::tcp::{SackBlocks, TcpFlags, Timestamps};

/// What an acknowledgment said, once the sequence variables have taken it in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged<'a> {
    pub(crate) now: Time,
    /// Whether it moved SND.UNA.
    pub(crate) advanced: bool,
    /// Octets that left the retransmission queue.
    pub(crate) octets: u64,
    /// SND.UNA before it.
    pub(crate) prior: u64,
    pub(crate) delivered: &'a Delivered,
    /// What a segment that leaves now carries at most; 0 outside of [`Phase::Loss`].
    pub(crate) max_payload: u32,
    /// Its timestamps, where those are in use.
    pub(crate) echo: Option<Timestamps>,
}

/// What a segment's acknowledgment was like, whatever it delivered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentAck {
    pub(crate) now: Time,
    /// SEG.ACK.
    pub(crate) ack: u64,
    /// SND.UNA before it.
    pub(crate) prior: u64,
    /// It has reported a duplicate (RFC 2883).
    pub(crate) dsack: bool,
    /// It had no data, left the window as it was, and SACKed nothing.
    pub(crate) plain: bool,
}

impl LossRecovery {
    /// SND.UNA advanced.
    pub(crate) fn on_new_ack(&mut self, cx: &mut Shared, snd: &mut Sender, ack: &Acknowledged<'_>) {
        self.episode.dupacks = 0;
        self.episode.limited_transmit = 0;
        match self.episode.phase {
            Phase::Open => {
                self.dupacks.clear();
                self.detect_loss(cx, snd, ack.now);
                // Not with an acknowledgment that shows a loss: the state after it counts (tcp_cong_control()).
                if self.episode.phase == Phase::Open {
                    self.grow_window(cx, snd, ack);
                }
            }
            Phase::Reduction => {
                self.dupacks.clear();
                // Something above has to be acknowledged, for CWR to have arrived.
                let ends = snd.una > self.episode.recover;
                if ends {
                    self.leave_recovery(cx, snd);
                }
                self.detect_loss(cx, snd, ack.now);
                if ends {
                    self.grow_after_recovery(cx, snd, ack);
                }
            }
            Phase::Loss => self.on_ack_after_timeout(cx, snd, ack),
            Phase::Recovery if snd.una >= self.episode.recover => {
                self.dupacks.clear();
                if self.may_undo(cx, ack.echo) {
                    self.undo_recovery(cx, snd, ack.now);
                } else {
                    self.rack.on_recovered();
                    self.leave_recovery(cx, snd);
                    self.detect_further_loss(cx, snd, ack.now);
                }
                self.grow_after_recovery(cx, snd, ack);
            }
            // A hole was filled by the original: nothing more counts as lost for the time being, and if nothing of what was retransmitted is
            // in flight, nothing was lost (tcp_try_undo_partial()).
            Phase::Recovery if self.is_packet_delayed(cx, ack.echo) => {
                self.note_reordering(cx, snd, ack.prior);
                if snd.rtx_queue.retransmitted_in_flight() == 0 {
                    self.dupacks.clear();
                    self.undo_loss(cx, snd, ack.now);
                    self.grow_after_recovery(cx, snd, ack);
                }
            }
            Phase::Recovery if cx.options.sack => {
                self.update_lost(cx, snd, ack.now);
            }
            Phase::Recovery => match cx.config.recovery {
                Recovery::NewReno | Recovery::Linux => self.on_partial_ack(cx, snd, ack),
                Recovery::Reno | Recovery::Tahoe => self.leave_recovery(cx, snd),
            },
        }
    }

    /// What is lost above a recovery that has ended begins the next one at once (tcp_fastretrans_alert()).
    fn detect_further_loss(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time) {
        if cx.config.rack {
            self.detect_loss(cx, snd, now);
        }
    }

    pub(super) fn detect_loss(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time) {
        if cx.options.sack {
            self.detect_loss_by_sack(cx, snd, now);
        }
    }

    fn on_ack_after_timeout(&mut self, cx: &mut Shared, snd: &mut Sender, ack: &Acknowledged<'_>) {
        if self.was_timeout_spurious(cx, snd, ack) {
            self.undo_loss(cx, snd, ack.now);
            snd.timers.expiries = 0;
            self.grow_after_recovery(cx, snd, ack);
            return;
        }
        if ack.advanced {
            if snd.una >= self.episode.recover {
                self.episode.phase = Phase::Open;
                self.episode.frto = Frto::Off;
            }
            self.dupacks.clear();
        }
        if self.episode.phase == Phase::Open && cx.config.rack {
            self.detect_loss(cx, snd, ack.now);
        } else if self.update_lost(cx, snd, ack.now) && cx.config.recovery == Recovery::Linux {
            // Where a retransmission is lost as well recovery begins anew (FLAG_LOST_RETRANS of tcp_fastretrans_alert()).
            self.begin_recovery(cx, snd, ack.now);
        }
        if self.episode.phase != Phase::Recovery && self.grows_window(cx, ack) {
            self.grow_window(cx, snd, ack);
        }
    }

    /// The reduction was spurious. What counts as lost all the same begins the next recovery with this acknowledgment
    /// (tcp_identify_packet_loss() follows each of the undoings).
    pub(super) fn undo_recovery(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time) {
        self.undo_cwnd_reduction(cx, snd);
        let recover = self.episode.recover;
        self.episode = Episode { recover, ..Episode::default() };
        self.timers.reordering = None;
        self.detect_loss(cx, snd, now);
    }

    /// As [`LossRecovery::undo_recovery`], and what was marked lost until now is judged afresh (the `unmark_loss` of Linux).
    fn undo_loss(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time) {
        self.unmark_lost(snd);
        self.undo_recovery(cx, snd, now);
    }

    /// RFC 6582 section 3.2 step 3: a partial acknowledgment shows the next hole.
    fn on_partial_ack(&mut self, cx: &Shared, snd: &mut Sender, ack: &Acknowledged<'_>) {
        self.episode.retransmit_first = true;
        if cx.config.recovery == Recovery::Linux || snd.by_rate() {
            return;
        }
        // Deflate by what was acknowledged; one segment more may go for one that left.
        let cwnd = snd.window.cwnd.saturating_sub(ack.octets);
        let extra = if ack.octets >= snd.window.smss { snd.window.smss } else { 0 };
        snd.window.cwnd = (cwnd + extra).max(snd.window.smss);
        if !self.episode.impatient {
            self.episode.impatient = true;
            snd.restart_retransmit_timer(cx, ack.now);
        }
    }

    /// Whether an acknowledgment of new data restarts the retransmission timer (RFC 6298 (5.3), but see
    /// RFC 6582 section 4 for partial acknowledgments).
    pub(crate) fn new_ack_restarts_timer(&self, cx: &Shared, snd: &Sender) -> bool {
        let partial = self.episode.phase == Phase::Recovery && snd.una < self.episode.recover;
        !(partial && !cx.options.sack && cx.config.recovery == Recovery::NewReno)
    }

    /// Whether the retransmission timer starts anew also where SND.UNA stands still: in Linux, with the retransmission of the first segment
    /// (tcp_xmit_retransmit_queue()) and with answers to what was sent before it (tcp_clean_rtx_queue()), unless
    /// that for reordering runs.
    pub(crate) fn extends_timer(&self, cx: &Shared, snd: &Sender) -> bool {
        cx.rtt.follows_linux() && self.timers.reordering.is_none() && snd.wnd > 0
    }

    fn leave_recovery(&mut self, cx: &Shared, snd: &mut Sender) {
        self.episode.phase = Phase::Open;
        self.episode.dupacks = 0;
        if snd.by_rate() {
            return;
        }
        if !cx.options.sack || cx.config.prr {
            // RFC 5681 section 3.2 step 6, RFC 6582 step 3 option 2: deflate. RFC 6937: converge.
            snd.window.cwnd = snd.window.ssthresh;
        }
    }

    /// Linux' tcp_cong_control() looks at the state after the acknowledgment, so that the one that ends a recovery grows the window already.
    fn grow_after_recovery(&mut self, cx: &Shared, snd: &mut Sender, ack: &Acknowledged<'_>) {
        if cx.config.whole_segments && self.episode.phase == Phase::Open {
            self.grow_window(cx, snd, ack);
        }
    }

    /// Whether the window may grow: with what is acknowledged in order and, once packets were seen to overtake each other by more
    /// than signals a loss, with what is acknowledged selectively, too (tcp_may_raise_cwnd()).
    fn grows_window(&self, cx: &Shared, ack: &Acknowledged<'_>) -> bool {
        ack.advanced || cx.config.whole_segments && self.rack.reordering() > cx.config.dupack_threshold
    }

    fn grow_window(&mut self, cx: &Shared, snd: &mut Sender, ack: &Acknowledged<'_>) {
        if snd.by_rate()
            || cx.config.cwnd_validation && !(self.grows_window(cx, ack) && snd.is_cwnd_limited())
        {
            return;
        }
        // Linux counts what it tells of selectively, too.
        let acked = if cx.config.whole_segments { ack.delivered.charged() } else { ack.octets };
        let sample = Ack { now: ack.now, acked, srtt: cx.rtt.srtt() };
        snd.cc.cong_avoid(&sample, &mut snd.window);
    }

    /// A duplicate acknowledgment: RFC 5681 section 2's with or without SACK, any with new SACK information with. Octets that it shows to
    /// have been delivered, without SACK.
    pub(crate) fn on_duplicate_ack(
        &mut self,
        cx: &mut Shared,
        snd: &mut Sender,
        ack: &Acknowledged<'_>,
        newly_sacked: u64,
    ) -> u64 {
        cx.counters.duplicate_acks += 1;
        if cx.options.sack {
            if newly_sacked > 0 {
                self.episode.dupacks += 1;
                match self.episode.phase {
                    Phase::Open | Phase::Reduction => {
                        self.detect_loss_by_sack(cx, snd, ack.now);
                        if self.episode.phase == Phase::Open && self.grows_window(cx, ack) {
                            self.grow_window(cx, snd, ack);
                        }
                    }
                    Phase::Recovery => {
                        self.update_lost(cx, snd, ack.now);
                    }
                    Phase::Loss => self.on_ack_after_timeout(cx, snd, ack),
                }
            }
            return 0;
        }
        self.episode.dupacks += 1;
        if self.counts_dupacks(cx) {
            return self.on_counted_duplicate(cx, snd, ack);
        }
        match self.episode.phase {
            // RFC 5681 section 3.2 step 4: a segment left, another may go.
            Phase::Recovery if snd.by_rate() => {}
            Phase::Recovery => snd.window.cwnd += snd.window.smss,
            Phase::Open | Phase::Loss | Phase::Reduction => {
                if self.episode.phase == Phase::Loss && self.was_timeout_spurious(cx, snd, ack) {
                    self.undo_loss(cx, snd, ack.now);
                }
                if self.episode.dupacks == cx.config.dupack_threshold && self.may_fast_retransmit(cx, snd) {
                    self.fast_retransmit(cx, snd, ack.now);
                }
            }
        }
        0
    }

    fn on_counted_duplicate(&mut self, cx: &mut Shared, snd: &mut Sender, ack: &Acknowledged<'_>) -> u64 {
        match self.episode.phase {
            Phase::Recovery => self.add_reno_sack(cx, snd),
            Phase::Loss => {
                self.on_ack_after_timeout(cx, snd, ack);
                // Of new data alone: retransmissions after a timeout are answered by duplicates, too.
                if snd.nxt > self.episode.recover { self.add_reno_sack(cx, snd) } else { 0 }
            }
            Phase::Open | Phase::Reduction => {
                let delivered = self.add_reno_sack(cx, snd);
                if self.dupacks.suffice() && self.may_fast_retransmit(cx, snd) {
                    self.fast_retransmit(cx, snd, ack.now);
                }
                delivered
            }
        }
    }

    /// What an acknowledgment leads to once all of it was taken in: undoing, the window's reduction, the loss probe.
    pub(crate) fn finish_ack(
        &mut self,
        cx: &mut Shared,
        snd: &mut Sender,
        segment: SegmentAck,
        delivered: &Delivered,
    ) {
        let SegmentAck { now, ack, prior, dsack, plain } = segment;
        let advanced = snd.una > prior;
        if dsack && self.episode.phase != Phase::Loss && self.may_undo(cx, None) {
            self.undo_recovery(cx, snd, now);
        }
        if self.has_probe_repaired(ack, dsack, plain && !advanced)
            && self.episode.phase == Phase::Open
            && !snd.by_rate()
        {
            // RFC 8985 section 7.4.2: a loss that the probe repaired was a loss.
            self.reduce_ssthresh(cx, snd, now, snd.flight());
            snd.window.cwnd = snd.window.ssthresh;
        }
        if cx.config.prr && !snd.by_rate() && matches!(self.episode.phase, Phase::Recovery | Phase::Reduction)
        {
            let safe = advanced && !self.episode.newly_lost;
            self.reduce_proportionally(cx, snd, delivered.charged(), safe);
        }
        if advanced {
            self.schedule_loss_probe(cx, snd, now, false);
        }
    }

    /// Lets a congestion control that goes by the rate of delivery set the window.
    pub(crate) fn control_by_rate(
        &mut self,
        cx: &Shared,
        snd: &mut Sender,
        now: Time,
        delivered: &Delivered,
        prior_in_flight: u64,
        lost_before: u64,
    ) {
        let Some(rate) = &mut snd.rate else { return };
        let rtt = delivered.latest_rtt(now);
        let measured = rate.measure(now, delivered, rtt);
        let (total_delivered, delivered_at) = (rate.delivered(), rate.delivered_at());
        let in_flight = self.pipe(cx, snd);
        let sample = RateSample {
            now,
            delivered_at,
            total_delivered,
            prior_delivered: measured.prior_delivered,
            delivered: measured.delivered,
            interval: measured.interval,
            app_limited: measured.app_limited,
            acked: delivered.charged(),
            lost: snd.scoreboard.lost_ever().saturating_sub(lost_before),
            total_lost: snd.scoreboard.lost_ever(),
            departure: snd.last_departure().unwrap_or(now).max(now),
            prior_in_flight,
            in_flight,
            rtt,
            srtt: cx.rtt.srtt(),
            in_recovery: self.episode.phase == Phase::Recovery,
            in_loss: self.episode.phase == Phase::Loss,
        };
        snd.cc.cong_control(&sample, &mut snd.window);
        if snd.cc.limits_rate()
            && let Some(rate) = &mut snd.rate
        {
            rate.limit_by_application(in_flight);
        }
    }

    /// RFC 8985 section 6.2, steps 1 to 3.
    pub(crate) fn take_delivered(
        &mut self,
        cx: &Shared,
        snd: &mut Sender,
        now: Time,
        delivered: &Delivered,
        highest: u64,
        echo: Option<Timestamps>,
    ) {
        if let Some(rtt) = delivered.latest_rtt(now) {
            self.rack.sample(rtt);
        }
        if cx.config.rack {
            if let Some(lowest) = delivered.lowest_original.filter(|&lowest| lowest < highest) {
                self.note_reordering(cx, snd, lowest);
            }
            // tcp_skb_spurious_retrans()
            let is_original = |at| {
                echo.is_some_and(|stamps| {
                    stamps.echo != 0 && stamps.echo.wrapping_sub(timestamp(at)).cast_signed() < 0
                })
            };
            self.rack.advance(now, delivered, cx.rtt.follows_linux(), is_original);
        }
    }

    /// An original has arrived that begins at `lowest`, after what was sent later (tcp_check_sack_reordering()).
    pub(super) fn note_reordering(&mut self, cx: &Shared, snd: &Sender, lowest: u64) {
        let sacked = snd.scoreboard.sacked().as_slice().last().filter(|range| range.end > snd.una);
        let highest = sacked.map_or(snd.una, |range| range.end.saturating_sub(snd.window.smss));
        let reach = highest.saturating_sub(lowest).div_ceil(snd.window.smss);
        self.rack.note_reordering(u32::try_from(reach).unwrap_or(u32::MAX).min(cx.config.max_reordering));
    }

    /// RFC 2883 section 4: the first block reports a duplicate if it lies below the acknowledgment or inside the second one.
    pub(crate) fn take_dsack(&mut self, cx: &Shared, snd: &Sender, blocks: &SackBlocks, ack: u64) -> bool {
        let Some((first, rest)) = blocks.as_slice().split_first().filter(|_| cx.options.sack) else {
            return false;
        };
        let offset = |seq| snd.offset(seq);
        let (Some(left), Some(right)) = (offset(first.left), offset(first.right)) else { return false };
        let inside = rest.first().is_some_and(|second| {
            offset(second.left).is_some_and(|start| start <= left)
                && offset(second.right).is_some_and(|end| right <= end)
        });
        // Duplicates of what was never sent are lies.
        let duplicate = left < right && right <= snd.nxt && (right <= ack || inside);
        if duplicate {
            self.on_dsack(snd, right - left, right);
        }
        duplicate
    }

    /// An acknowledgment carries the echo of a mark: once a window, as for a loss (section 6.1.2).
    pub(crate) fn take_echo(&mut self, cx: &Shared, snd: &mut Sender, now: Time, flags: TcpFlags) {
        if !cx.options.ecn
            || !flags.contains(TcpFlags::ECE)
            || self.episode.phase != Phase::Open
            || snd.flight() == 0
            || snd.by_rate()
        {
            return;
        }
        let prior = snd.window.cwnd;
        self.reduce_ssthresh(cx, snd, now, snd.flight());
        if !cx.config.prr {
            snd.window.cwnd = snd.window.ssthresh;
        }
        self.episode =
            Episode { phase: Phase::Reduction, recover: snd.nxt, prr: Prr::new(prior), ..Episode::default() };
        snd.queue_cwr(cx);
    }
}
