//! What counts as lost, and how the window answers: RFC 5681 section 3.2, RFC 6675 section 5, RFC 8985 section 6.2.

use super::frto::Frto;
use super::probe::TIMEOUT_MIN;
use super::prr::Prr;
use super::{Episode, LossRecovery, Phase};
use crate::cc::CwndEvent;
use crate::config::Recovery;
use crate::sender::Sender;
use crate::shared::Shared;
use voxpath_units::{Span, Time};

impl LossRecovery {
    /// RFC 6582 section 3.2 step 2: duplicates that a timeout's own retransmissions caused are no new loss.
    /// RFC 5681 has no such guard, and Reno and Tahoe none either.
    pub(super) fn may_fast_retransmit(&self, cx: &Shared, snd: &Sender) -> bool {
        let guarded = matches!(cx.config.recovery, Recovery::NewReno | Recovery::Linux);
        !guarded || snd.una > self.episode.recover
    }

    /// RFC 5681 section 3.2 steps 2 and 3.
    pub(super) fn fast_retransmit(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time) {
        cx.counters.fast_retransmits += 1;
        self.init_undo(snd);
        let prr = self.reduce(cx, snd, now);
        if cx.config.recovery == Recovery::Tahoe {
            snd.window.cwnd = snd.window.smss;
            snd.scoreboard.mark_all_lost(snd.una, snd.nxt);
            // Later duplicates of the same flight are not counted afresh: they tell of the same loss.
            let dupacks = self.episode.dupacks;
            self.enter_loss(snd.nxt);
            self.episode.dupacks = dupacks;
            return;
        }
        let inflation = match cx.config.recovery {
            Recovery::Linux => 0,
            _ => u64::from(cx.config.dupack_threshold) * snd.window.smss,
        };
        if !snd.by_rate() {
            snd.window.cwnd = snd.window.ssthresh + inflation;
        }
        self.episode = Episode {
            phase: Phase::Recovery,
            recover: snd.nxt,
            dupacks: self.episode.dupacks,
            retransmit_first: true,
            prr,
            ..Episode::default()
        };
    }

    /// RFC 6675 section 5, RFC 8985 section 6: enters recovery once an outstanding octet is lost.
    pub(super) fn detect_loss_by_sack(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time) {
        self.update_lost(cx, snd, now);
        let lost = if cx.config.rack {
            // Linux looks at what was marked lost, also where it was retransmitted (tcp_time_to_recover()): where losses are many, one recovery
            // goes over into the next.
            snd.scoreboard.has_lost() || cx.config.recovery == Recovery::Linux && snd.rtx_queue.has_lost_out()
        } else {
            let dupacks = self.episode.dupacks;
            snd.scoreboard.is_lost(snd.una) || dupacks >= cx.config.dupack_threshold
        };
        if lost && snd.flight() > 0 {
            self.begin_recovery(cx, snd, now);
        }
    }

    /// Outstanding data counts as lost (tcp_enter_recovery()).
    pub(super) fn begin_recovery(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time) {
        cx.counters.fast_retransmits += 1;
        self.cancel_loss_probe();
        self.init_undo(snd);
        // (4.2)
        let prr = self.reduce(cx, snd, now);
        if !snd.by_rate() {
            snd.window.cwnd = snd.window.ssthresh;
        }
        snd.scoreboard.start_recovery(snd.una);
        // (4.1), (4.3)
        self.episode = Episode {
            phase: Phase::Recovery,
            recover: snd.nxt,
            retransmit_first: !cx.config.rack,
            newly_lost: self.episode.newly_lost,
            prr,
            ..Episode::default()
        };
        if cx.config.rack {
            // In recovery there is no waiting for what may only be late.
            self.update_lost(cx, snd, now);
            // Where all was retransmitted already nothing has to leave whatever the window says; nor where the rate of delivery steers it, for
            // the first retransmission is PRR's (tcp_cwnd_reduction()).
            self.episode.force = snd.scoreboard.has_lost() && !snd.by_rate();
        }
    }

    /// Reduces the threshold for a loss, unless a mark of the same window has done so already.
    pub(super) fn reduce(&mut self, cx: &Shared, snd: &mut Sender, now: Time) -> Prr {
        if self.episode.phase == Phase::Reduction {
            return self.episode.prr;
        }
        let prior = snd.window.cwnd;
        snd.queue_cwr(cx);
        self.reduce_ssthresh(cx, snd, now, snd.flight());
        Prr::new(prior)
    }

    /// RFC 5681 equation (4), from what was in flight or, as in Linux, from the window.
    pub(super) fn reduce_ssthresh(&mut self, cx: &Shared, snd: &mut Sender, now: Time, flight: u64) {
        let flight = if cx.config.ssthresh_from_cwnd {
            snd.window.cwnd
        } else {
            flight.saturating_sub(self.episode.limited_transmit)
        };
        let ssthresh = snd.cc.ssthresh(now, &snd.window, flight);
        let smss = snd.window.smss;
        let whole = cx.config.whole_segments && ssthresh < u64::MAX;
        snd.window.ssthresh = if whole { ssthresh / smss * smss } else { ssthresh };
    }

    /// Whether a retransmission was found lost again.
    pub(super) fn update_lost(&mut self, cx: &Shared, snd: &mut Sender, now: Time) -> bool {
        if cx.options.sack && cx.config.rack {
            return self.detect_loss_by_time(cx, snd, now);
        }
        snd.scoreboard.update_lost(cx.config.dupack_threshold, snd.window.smss);
        false
    }

    /// RFC 8985 section 6.2, step 5.
    fn detect_loss_by_time(&mut self, cx: &Shared, snd: &mut Sender, now: Time) -> bool {
        let eager = matches!(self.episode.phase, Phase::Recovery | Phase::Loss)
            || snd.rtx_queue.sacked_out() >= cx.config.dupack_threshold;
        let mut wait = Span::ZERO;
        let una = snd.una;
        let Self { rack, episode, .. } = self;
        let Sender { scoreboard, rtx_queue, .. } = snd;
        let verdict = rack.detect_loss(now, cx.rtt.srtt(), eager, &mut wait);
        let again = rtx_queue.detect_lost(verdict, |range, short| {
            episode.newly_lost = true;
            scoreboard.mark_lost(range.start.max(una)..range.end, short);
        });
        self.timers.reordering = (wait > Span::ZERO).then(|| self.reordering_deadline(cx, now, wait));
        again
    }

    /// When the reordering window is over: then, or as late as Linux' timer is (tcp_rack_mark_lost()).
    fn reordering_deadline(&self, cx: &Shared, now: Time, wait: Span) -> Time {
        if cx.config.rto.wheel { cx.rtt.expiry(now, wait + TIMEOUT_MIN) } else { now + wait }
    }

    /// RFC 8985 section 6.3: the reordering window of a segment is over.
    pub(super) fn handle_reordering_timeout(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time) {
        self.episode.newly_lost = false;
        let in_recovery = self.episode.phase == Phase::Recovery;
        match self.episode.phase {
            Phase::Open | Phase::Reduction => self.detect_loss_by_sack(cx, snd, now),
            Phase::Recovery => {
                self.update_lost(cx, snd, now);
            }
            Phase::Loss => {
                self.update_lost(cx, snd, now);
                if self.episode.newly_lost && cx.config.recovery == Recovery::Linux {
                    self.begin_recovery(cx, snd, now);
                }
            }
        }
        if cx.config.prr && !snd.by_rate() && !in_recovery && self.episode.phase == Phase::Recovery {
            // Where the timer begins a recovery, as if one segment had been delivered (tcp_rack_reo_timeout()). Within one the window
            // stays: what is found lost has left the pipe, and is retransmitted.
            self.reduce_proportionally(cx, snd, snd.window.smss, false);
        }
    }

    /// A timeout where losses are seen by time: what was sent too lately to have been answered is not lost.
    pub(super) fn mark_overdue_lost(&mut self, snd: &mut Sender, now: Time) {
        if snd.scoreboard.clear_if_reneged(snd.una) {
            snd.rtx_queue.clear_sacks();
        }
        let (rack, una, scoreboard) = (&self.rack, snd.una, &mut snd.scoreboard);
        snd.rtx_queue.mark_lost(
            |at, start| start <= una || rack.is_overdue(now, at),
            |range, short| scoreboard.mark_lost(range.start.max(una)..range.end, short),
        );
    }

    /// Everything outstanding has to be retransmitted, though the network lost nothing of it: a router refused it for its size, or the
    /// peer for its closed window.
    pub(crate) fn mark_refused_lost(&mut self, snd: &mut Sender) {
        if snd.scoreboard.clear_if_reneged(snd.una) {
            snd.rtx_queue.clear_sacks();
        }
        snd.scoreboard.mark_all_lost(snd.una, snd.nxt);
        snd.rtx_queue.mark_all_refused();
    }

    /// RFC 5681 section 3.1: the flight counts as lost, and transmission starts over from one segment.
    pub(crate) fn enter_loss_by_timeout(&mut self, cx: &Shared, snd: &mut Sender, now: Time) {
        self.cancel_loss_probe();
        self.timers.reordering = None;
        let phase = self.episode.phase;
        let reduced_in_this_window =
            matches!(phase, Phase::Recovery | Phase::Reduction) && snd.una < self.episode.recover;
        // What counts as lost is in flight no more, so that no report of a duplicate is waited for (tcp_timeout_mark_lost() comes first).
        let pipe = self.pipe(cx, snd);
        let by_time = cx.options.sack && cx.config.rack;
        if by_time {
            self.mark_overdue_lost(snd, now);
        } else {
            snd.scoreboard.mark_all_lost(snd.una, snd.nxt);
        }
        // Linux does not reduce twice in a window; by RFC 5681 the timer always does.
        if snd.timers.expiries == 1 && !(cx.config.ssthresh_from_cwnd && reduced_in_this_window) {
            self.init_undo(snd);
            snd.queue_cwr(cx);
            // Equation (4) once for a segment: later timeouts of the same one hold ssthresh. FlightSize stands for what the
            // network holds; with SACK the sender knows that better: during a recovery SND.UNA stands still while
            // new data goes out, and FlightSize would grow to several windows.
            let flight = if cx.options.sack { pipe } else { snd.flight() };
            self.reduce_ssthresh(cx, snd, now, flight);
        }
        let total_lost = snd.scoreboard.lost_ever();
        snd.cc.cwnd_event(now, CwndEvent::Loss { total_lost }, &mut snd.window);
        self.dupacks.on_timeout(cx.config.dupack_threshold);
        let kept = if by_time { self.pipe(cx, snd) } else { 0 };
        snd.window.cwnd = kept + snd.window.smss;
        self.enter_loss(snd.nxt);
        // RFC 5682 section 2.1, step 1: only where no earlier loss is being repaired.
        if cx.config.frto && (matches!(phase, Phase::Open | Phase::Reduction) || snd.timers.expiries > 1) {
            self.episode.frto = Frto::Retransmitted;
        }
    }
}
