//! Loss recovery: what duplicate and selective acknowledgments mean, and what follows.
//!
//! One machine for Tahoe, Reno (RFC 5681 section 3.2), NewReno (RFC 6582) and SACK (RFC 6675). They agree on
//! *when* a loss is assumed, and differ in what the window does and in how recovery ends:
//!
//! | | on the third duplicate | during | ends with |
//! | --- | --- | --- | --- |
//! | Tahoe | cwnd = 1 SMSS, everything again | slow start | an acknowledgment of it all |
//! | Reno | cwnd = ssthresh + 3 SMSS | + 1 SMSS a duplicate | any new acknowledgment |
//! | NewReno | cwnd = ssthresh + 3 SMSS | + 1 SMSS a duplicate, a hole for each partial acknowledgment | `recover` |
//! | Linux | cwnd = ssthresh | pipe less duplicates below cwnd, a hole for each partial acknowledgment | `recover` |
//! | SACK | cwnd = ssthresh | pipe below cwnd | `RecoveryPoint` |
//!
//! With proportional rate reduction (`prr.rs`) the window moves towards ssthresh step by step in the last two. With RACK (`rack.rs`) the time
//! tells what is lost in place of the third duplicate; where a reduction was for nothing, `undo.rs` and `frto.rs` take it back.
//!
//! Tahoe goes back N as ns-2's does; 4.3BSD-Tahoe sent one segment again and left the rest to time-outs.

use super::Connection;
use super::frto::Frto;
use super::probe::TIMEOUT_MIN;
use super::prr::Prr;
use crate::cc::Ack;
use crate::config::Recovery;
use crate::sent::Delivered;
use voxpath_units::{Span, Time};
use voxpath_wire::tcp::Timestamps;

/// What the sender believes about its outstanding data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing is missing.
    #[default]
    Open,
    /// A loss is being repaired by fast retransmit and recovery.
    Recovery,
    /// The window is being reduced, though nothing was lost: the network has marked (RFC 3168).
    Reduction,
    /// The retransmission timer expired, or Tahoe saw a loss: everything is sent again in slow start.
    Loss,
}

impl Phase {
    /// The number under which series record the phase.
    pub const fn code(self) -> u64 {
        match self {
            Self::Open => 0,
            Self::Recovery => 1,
            Self::Loss => 2,
            Self::Reduction => 3,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct RecoveryState {
    phase: Phase,
    /// `recover` of RFC 6582, RecoveryPoint of RFC 6675: the first octet after those outstanding when
    /// the phase began.
    recover: u64,
    duplicates: u32,
    /// Octets sent by limited transmit, which FlightSize does not count (RFC 5681 section 3.2 step 2).
    limited: u64,
    /// The first outstanding segment has to be sent again at once.
    retransmit_first: bool,
    /// RFC 6582: the retransmission timer was restarted by a partial acknowledgment of this recovery.
    impatient: bool,
    /// RescueRxt of RFC 6675: this recovery had its rescue retransmission.
    rescued: bool,
    /// The next repetition goes whatever the window says.
    force: bool,
    /// This acknowledgment has told of a further loss.
    pub(super) newly_lost: bool,
    prr: Prr,
    frto: Frto,
}

impl RecoveryState {
    pub(super) const fn phase(&self) -> Phase {
        self.phase
    }

    pub(super) fn enter_reduction(&mut self, nxt: u64, prr: Prr) {
        *self = Self { phase: Phase::Reduction, recover: nxt, prr, ..Self::default() };
    }

    pub(super) fn enter_loss(&mut self, nxt: u64) {
        *self = Self { phase: Phase::Loss, recover: nxt, ..Self::default() };
    }

    pub(super) const fn recover(&self) -> u64 {
        self.recover
    }

    pub(super) const fn prr(&mut self) -> &mut Prr {
        &mut self.prr
    }

    pub(super) const fn frto(&mut self) -> &mut Frto {
        &mut self.frto
    }

    pub(super) fn is_sending_new(&self) -> bool {
        self.frto == Frto::SendNew
    }

    /// Whether the next repetition goes in any case; asking takes the order.
    pub(super) fn take_force(&mut self) -> bool {
        core::mem::take(&mut self.force)
    }

    pub(super) const fn flight_without_limited_transmit(&self, flight: u64) -> u64 {
        flight.saturating_sub(self.limited)
    }

    /// Whether the first outstanding segment is due again.
    pub(super) const fn is_first_due(&self) -> bool {
        self.retransmit_first
    }

    /// The same; asking takes the order.
    pub(super) fn take_retransmit_first(&mut self) -> bool {
        core::mem::take(&mut self.retransmit_first)
    }

    /// Segments beyond the window that limited transmit allows (RFC 3042).
    pub(super) fn limited_segments(&self) -> u64 {
        if self.phase == Phase::Open { u64::from(self.duplicates.min(2)) } else { 0 }
    }

    pub(super) fn sent_by_limited_transmit(&mut self, octets: u64) {
        self.limited += octets;
    }

    /// Whether RFC 6675's NextSeg() rule (4) may still be used in this recovery; asking uses it.
    pub(super) fn take_rescue(&mut self) -> bool {
        !core::mem::replace(&mut self.rescued, true)
    }
}

/// What an acknowledgment said, once the sequence variables have taken it in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acknowledged<'a> {
    pub(super) now: Time,
    /// Whether it moved SND.UNA.
    pub(super) advanced: bool,
    /// Octets that left the retransmission queue.
    pub(super) octets: u64,
    /// SND.UNA before it.
    pub(super) prior: u64,
    pub(super) delivered: &'a Delivered,
    /// Its timestamps, where those are in use.
    pub(super) echo: Option<Timestamps>,
}

impl Connection {
    /// SND.UNA advanced.
    pub(super) fn on_new_ack(&mut self, ack: &Acknowledged<'_>) {
        self.recovery.duplicates = 0;
        self.recovery.limited = 0;
        match self.recovery.phase {
            Phase::Open => {
                self.dupacks.clear();
                self.grow_window(ack);
                self.look_for_loss(ack.now);
            }
            Phase::Reduction => {
                self.dupacks.clear();
                // Something above has to be acknowledged, for CWR to have arrived.
                if self.snd.una > self.recovery.recover {
                    self.leave_recovery();
                    self.grow_after_recovery(ack);
                }
                self.look_for_loss(ack.now);
            }
            Phase::Loss => self.on_ack_after_timeout(ack),
            Phase::Recovery if self.snd.una >= self.recovery.recover => {
                self.dupacks.clear();
                if self.may_undo(ack.echo) {
                    self.take_back(ack.now);
                } else {
                    self.rack.on_recovered();
                    self.leave_recovery();
                    self.look_for_further_loss(ack.now);
                }
                if self.recovery.phase == Phase::Open {
                    self.grow_after_recovery(ack);
                }
            }
            // A hole was filled by the original: nothing more counts as lost for the time being, and if nothing of what was sent again is
            // under way, nothing was lost (tcp_try_undo_partial()).
            Phase::Recovery if self.was_late(ack.echo) => {
                self.note_reordering(ack.prior);
                if self.sent.repeated() == 0 {
                    self.dupacks.clear();
                    self.absolve(ack.now);
                }
            }
            Phase::Recovery if self.shared.options.sack => self.update_lost(ack.now),
            Phase::Recovery => match self.shared.config.recovery {
                Recovery::NewReno | Recovery::Linux => self.on_partial_ack(ack),
                Recovery::Reno | Recovery::Tahoe => self.leave_recovery(),
            },
        }
    }

    /// What is lost above a recovery that has ended begins the next one at once (tcp_fastretrans_alert()).
    fn look_for_further_loss(&mut self, now: Time) {
        if self.shared.config.rack {
            self.look_for_loss(now);
        }
    }

    fn look_for_loss(&mut self, now: Time) {
        if self.shared.options.sack {
            self.detect_loss_by_sack(now);
        }
    }

    fn on_ack_after_timeout(&mut self, ack: &Acknowledged<'_>) {
        if self.was_timeout_spurious(ack) {
            self.absolve(ack.now);
            self.timers.expiries = 0;
            return;
        }
        if ack.advanced {
            if self.snd.una >= self.recovery.recover {
                self.recovery.phase = Phase::Open;
                self.recovery.frto = Frto::Off;
            }
            self.dupacks.clear();
        }
        if self.grows_window(ack) {
            self.grow_window(ack);
        }
        if self.recovery.phase == Phase::Open && self.shared.config.rack {
            self.look_for_loss(ack.now);
        } else {
            self.update_lost(ack.now);
        }
    }

    /// The reduction was for nothing. What counts as lost all the same begins the next recovery with this acknowledgment
    /// (tcp_identify_packet_loss() follows each of the undoings).
    pub(super) fn take_back(&mut self, now: Time) {
        self.undo();
        let recover = self.recovery.recover;
        self.recovery = RecoveryState { recover, ..RecoveryState::default() };
        self.timers.reordering = None;
        self.look_for_loss(now);
    }

    /// As [`Connection::take_back`], and what was held lost until now is judged afresh (the `unmark_loss` of Linux).
    fn absolve(&mut self, now: Time) {
        self.forget_losses();
        self.take_back(now);
    }

    /// RFC 6582 section 3.2 step 3: a partial acknowledgment shows the next hole.
    fn on_partial_ack(&mut self, ack: &Acknowledged<'_>) {
        self.recovery.retransmit_first = true;
        if self.shared.config.recovery == Recovery::Linux || self.by_rate() {
            return;
        }
        // Deflate by what was acknowledged; one segment more may go for one that left.
        let cwnd = self.window.cwnd.saturating_sub(ack.octets);
        let extra = if ack.octets >= self.window.smss { self.window.smss } else { 0 };
        self.window.cwnd = (cwnd + extra).max(self.window.smss);
        if !self.recovery.impatient {
            self.recovery.impatient = true;
            self.restart_retransmit_timer(ack.now);
        }
    }

    /// Whether an acknowledgment of new data restarts the retransmission timer (RFC 6298 (5.3), but see
    /// RFC 6582 section 4 for partial acknowledgments).
    pub(super) fn new_ack_restarts_timer(&self) -> bool {
        let partial = self.recovery.phase == Phase::Recovery && self.snd.una < self.recovery.recover;
        !(partial && !self.shared.options.sack && self.shared.config.recovery == Recovery::NewReno)
    }

    /// Whether the retransmission timer starts anew also where SND.UNA stands still: in Linux, with the repetition of the first segment
    /// (tcp_xmit_retransmit_queue()) and with answers to what was sent before it (tcp_clean_rtx_queue()), unless
    /// that for reordering runs.
    pub(super) fn extends_timer(&self) -> bool {
        self.shared.rtt.follows_linux() && self.timers.reordering.is_none() && self.snd.wnd > 0
    }

    fn leave_recovery(&mut self) {
        self.recovery.phase = Phase::Open;
        self.recovery.duplicates = 0;
        if self.by_rate() {
            return;
        }
        if !self.shared.options.sack || self.shared.config.prr {
            // RFC 5681 section 3.2 step 6, RFC 6582 step 3 option 2: deflate. RFC 6937: converge.
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Linux' tcp_cong_control() looks at the state after the acknowledgment, so that the one that ends a recovery grows the window already.
    fn grow_after_recovery(&mut self, ack: &Acknowledged<'_>) {
        if self.shared.config.whole_segments {
            self.grow_window(ack);
        }
    }

    /// Whether the window may grow: with what is acknowledged in order and, once packets were seen to overtake each other by more
    /// than signals a loss, with what is acknowledged selectively, too (tcp_may_raise_cwnd()).
    fn grows_window(&self, ack: &Acknowledged<'_>) -> bool {
        ack.advanced
            || self.shared.config.whole_segments && self.rack.reach() > self.shared.config.dupack_threshold
    }

    fn grow_window(&mut self, ack: &Acknowledged<'_>) {
        if self.by_rate()
            || self.shared.config.cwnd_validation && !(self.grows_window(ack) && self.is_cwnd_limited())
        {
            return;
        }
        // Linux counts what it tells of selectively, too.
        let acked = if self.shared.config.whole_segments { ack.delivered.charged() } else { ack.octets };
        let sample = Ack { now: ack.now, acked, srtt: self.shared.rtt.srtt() };
        self.cc.cong_avoid(&sample, &mut self.window);
    }

    /// A duplicate acknowledgment: RFC 5681 section 2's with or without SACK, any with new SACK information with. Octets that it shows to
    /// have been delivered, without SACK.
    pub(super) fn on_duplicate_ack(&mut self, ack: &Acknowledged<'_>, newly_sacked: u64) -> u64 {
        self.shared.counters.duplicate_acks += 1;
        if self.shared.options.sack {
            if newly_sacked > 0 {
                self.recovery.duplicates += 1;
                match self.recovery.phase {
                    Phase::Open | Phase::Reduction => {
                        self.detect_loss_by_sack(ack.now);
                        if self.recovery.phase == Phase::Open && self.grows_window(ack) {
                            self.grow_window(ack);
                        }
                    }
                    Phase::Recovery => self.update_lost(ack.now),
                    Phase::Loss => self.on_ack_after_timeout(ack),
                }
            }
            return 0;
        }
        self.recovery.duplicates += 1;
        if self.counts_duplicates() {
            return self.on_counted_duplicate(ack);
        }
        match self.recovery.phase {
            // RFC 5681 section 3.2 step 4: a segment left, another may go.
            Phase::Recovery if self.by_rate() => {}
            Phase::Recovery => self.window.cwnd += self.window.smss,
            Phase::Open | Phase::Loss | Phase::Reduction => {
                if self.recovery.phase == Phase::Loss && self.was_timeout_spurious(ack) {
                    self.absolve(ack.now);
                }
                if self.recovery.duplicates == self.shared.config.dupack_threshold
                    && self.may_fast_retransmit()
                {
                    self.fast_retransmit(ack.now);
                }
            }
        }
        0
    }

    fn on_counted_duplicate(&mut self, ack: &Acknowledged<'_>) -> u64 {
        match self.recovery.phase {
            Phase::Recovery => self.count_duplicate(),
            Phase::Loss => {
                self.on_ack_after_timeout(ack);
                // Of new data alone: repetitions after a timeout are answered by duplicates, too.
                if self.snd.nxt > self.recovery.recover { self.count_duplicate() } else { 0 }
            }
            Phase::Open | Phase::Reduction => {
                let delivered = self.count_duplicate();
                if self.dupacks.suffice() && self.may_fast_retransmit() {
                    self.fast_retransmit(ack.now);
                }
                delivered
            }
        }
    }

    /// RFC 6582 section 3.2 step 2: duplicates that a timeout's own repetitions caused are no new loss.
    /// RFC 5681 has no such guard, and Reno and Tahoe none either.
    fn may_fast_retransmit(&self) -> bool {
        let guarded = matches!(self.shared.config.recovery, Recovery::NewReno | Recovery::Linux);
        !guarded || self.snd.una > self.recovery.recover
    }

    /// RFC 5681 section 3.2 steps 2 and 3.
    fn fast_retransmit(&mut self, now: Time) {
        self.shared.counters.fast_retransmits += 1;
        self.prepare_undo();
        let prr = self.reduce(now);
        if self.shared.config.recovery == Recovery::Tahoe {
            self.window.cwnd = self.window.smss;
            self.scoreboard.lose_all(self.snd.una, self.snd.nxt);
            // Later duplicates of the same flight are not counted afresh: they tell of the same loss.
            let duplicates = self.recovery.duplicates;
            self.recovery.enter_loss(self.snd.nxt);
            self.recovery.duplicates = duplicates;
            return;
        }
        let inflation = match self.shared.config.recovery {
            Recovery::Linux => 0,
            _ => u64::from(self.shared.config.dupack_threshold) * self.window.smss,
        };
        if !self.by_rate() {
            self.window.cwnd = self.window.ssthresh + inflation;
        }
        self.recovery = RecoveryState {
            phase: Phase::Recovery,
            recover: self.snd.nxt,
            duplicates: self.recovery.duplicates,
            retransmit_first: true,
            prr,
            ..RecoveryState::default()
        };
    }

    /// RFC 6675 section 5, RFC 8985 section 6: enters recovery once an outstanding octet is lost.
    fn detect_loss_by_sack(&mut self, now: Time) {
        self.update_lost(now);
        let lost = if self.shared.config.rack {
            // Linux looks at what was given up, also where it was sent again (tcp_time_to_recover()): where losses are many, one recovery
            // goes over into the next.
            self.scoreboard.has_missing()
                || self.shared.config.recovery == Recovery::Linux && self.sent.has_given_up()
        } else {
            let duplicates = self.recovery.duplicates;
            self.scoreboard.is_lost(self.snd.una) || duplicates >= self.shared.config.dupack_threshold
        };
        if !lost || self.flight() == 0 {
            return;
        }
        self.shared.counters.fast_retransmits += 1;
        self.forget_loss_probe();
        self.prepare_undo();
        // (4.2)
        let prr = self.reduce(now);
        if !self.by_rate() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.scoreboard.start_recovery(self.snd.una);
        // (4.1), (4.3)
        self.recovery = RecoveryState {
            phase: Phase::Recovery,
            recover: self.snd.nxt,
            retransmit_first: !self.shared.config.rack,
            prr,
            ..RecoveryState::default()
        };
        if self.shared.config.rack {
            // In recovery there is no waiting for what may only be late.
            self.update_lost(now);
            // Where all was sent again already nothing has to leave whatever the window says.
            self.recovery.force = self.scoreboard.has_missing();
        }
    }

    /// Reduces the threshold for a loss, unless a mark of the same window has done so already.
    fn reduce(&mut self, now: Time) -> Prr {
        if self.recovery.phase == Phase::Reduction {
            return self.recovery.prr;
        }
        let prior = self.window.cwnd;
        self.tell_reduction();
        self.reduce_ssthresh(now, self.flight());
        Prr::new(prior)
    }

    /// RFC 5681 equation (4), from what was in flight or, as in Linux, from the window.
    pub(super) fn reduce_ssthresh(&mut self, now: Time, flight: u64) {
        let flight = if self.shared.config.ssthresh_from_cwnd {
            self.window.cwnd
        } else {
            self.recovery.flight_without_limited_transmit(flight)
        };
        let ssthresh = self.cc.ssthresh(now, &self.window, flight);
        let smss = self.window.smss;
        let whole = self.shared.config.whole_segments && ssthresh < u64::MAX;
        self.window.ssthresh = if whole { ssthresh / smss * smss } else { ssthresh };
    }

    fn update_lost(&mut self, now: Time) {
        if self.shared.options.sack && self.shared.config.rack {
            self.detect_loss_by_time(now);
        } else {
            self.scoreboard.update_lost(self.shared.config.dupack_threshold, self.window.smss);
        }
    }

    /// RFC 8985 section 6.2, step 5.
    fn detect_loss_by_time(&mut self, now: Time) {
        let eager = matches!(self.recovery.phase, Phase::Recovery | Phase::Loss)
            || self.sent.sacked() >= self.shared.config.dupack_threshold;
        let mut wait = Span::ZERO;
        let una = self.snd.una;
        let Self { rack, scoreboard, sent, recovery, .. } = self;
        let verdict = rack.judge(now, self.shared.rtt.srtt(), eager, &mut wait);
        sent.judge(verdict, |range, short| {
            recovery.newly_lost = true;
            scoreboard.lose(range.start.max(una)..range.end, short);
        });
        self.timers.reordering = (wait > Span::ZERO).then(|| self.reordering_deadline(now, wait));
    }

    /// When the reordering window is over: then, or as late as Linux' timer is (tcp_rack_mark_lost()).
    fn reordering_deadline(&self, now: Time, wait: Span) -> Time {
        if self.shared.config.rto.wheel {
            self.shared.rtt.expiry(now, wait + TIMEOUT_MIN)
        } else {
            now + wait
        }
    }

    /// RFC 8985 section 6.3: the reordering window of a segment is over.
    pub(super) fn handle_reordering_timeout(&mut self, now: Time) {
        self.recovery.newly_lost = false;
        let in_recovery = self.recovery.phase == Phase::Recovery;
        match self.recovery.phase {
            Phase::Open | Phase::Reduction => self.detect_loss_by_sack(now),
            Phase::Recovery | Phase::Loss => self.update_lost(now),
        }
        if self.shared.config.prr && !self.by_rate() && !in_recovery && self.recovery.phase == Phase::Recovery
        {
            // Where the timer begins a recovery, as if one segment had been delivered (tcp_rack_reo_timeout()). Within one the window
            // stays: what is found lost has left the pipe, and is sent again.
            self.reduce_in_proportion(self.window.smss, false);
        }
    }

    /// A timeout where losses are seen by time: what was sent too lately to have been answered is not lost.
    pub(super) fn lose_overdue(&mut self, now: Time) {
        if self.scoreboard.forget_if_reneged(self.snd.una) {
            self.sent.forget_sacks();
        }
        let (rack, una, scoreboard) = (&self.rack, self.snd.una, &mut self.scoreboard);
        self.sent.give_up(
            |at, start| start <= una || rack.is_overdue(now, at),
            |range, short| scoreboard.lose(range.start.max(una)..range.end, short),
        );
    }

    /// Everything outstanding has to be sent again, though the network lost nothing of it: a router refused it for its size, or the
    /// peer for its closed window.
    pub(super) fn lose_refused(&mut self) {
        if self.scoreboard.forget_if_reneged(self.snd.una) {
            self.sent.forget_sacks();
        }
        self.scoreboard.lose_all(self.snd.una, self.snd.nxt);
        self.sent.refuse_all();
    }
}
