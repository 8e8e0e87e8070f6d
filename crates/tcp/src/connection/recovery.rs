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
//! | SACK | cwnd = ssthresh | pipe below cwnd | `RecoveryPoint` |
//!
//! Tahoe goes back N as ns-2's does; 4.3BSD-Tahoe sent one segment again and left the rest to time-outs.

use super::Connection;
use crate::cc::Ack;
use crate::config::Recovery;
use voxpath_units::Time;

/// What the sender believes about its outstanding data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing is missing.
    #[default]
    Open,
    /// A loss is being repaired by fast retransmit and recovery.
    Recovery,
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
}

impl RecoveryState {
    pub(super) const fn phase(&self) -> Phase {
        self.phase
    }

    pub(super) fn enter_loss(&mut self, nxt: u64) {
        *self = Self { phase: Phase::Loss, recover: nxt, ..Self::default() };
    }

    pub(super) const fn flight_without_limited_transmit(&self, flight: u64) -> u64 {
        flight.saturating_sub(self.limited)
    }

    /// Whether the first outstanding segment is due again; asking takes the order.
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
pub(super) struct Acknowledged {
    pub(super) now: Time,
    /// Octets that left the retransmission queue.
    pub(super) octets: u64,
    /// The flight before, for window validation.
    pub(super) was_window_limited: bool,
}

impl Connection {
    /// SND.UNA advanced.
    pub(super) fn on_new_ack(&mut self, ack: Acknowledged) {
        self.recovery.duplicates = 0;
        self.recovery.limited = 0;
        match self.recovery.phase {
            Phase::Open => {
                self.grow_window(ack);
                if self.options.sack {
                    self.detect_loss_by_sack(ack.now);
                }
            }
            Phase::Loss => {
                if self.snd.una >= self.recovery.recover {
                    self.recovery.phase = Phase::Open;
                }
                self.grow_window(ack);
                self.update_lost();
            }
            Phase::Recovery if self.snd.una >= self.recovery.recover => self.leave_recovery(),
            Phase::Recovery if self.options.sack => self.update_lost(),
            Phase::Recovery => match self.config.recovery {
                Recovery::NewReno => self.on_partial_ack(ack),
                Recovery::Reno | Recovery::Tahoe => self.leave_recovery(),
            },
        }
    }

    /// RFC 6582 section 3.2 step 3: a partial acknowledgment shows the next hole.
    fn on_partial_ack(&mut self, ack: Acknowledged) {
        self.recovery.retransmit_first = true;
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
        !(partial && !self.options.sack && self.config.recovery == Recovery::NewReno)
    }

    fn leave_recovery(&mut self) {
        self.recovery.phase = Phase::Open;
        self.recovery.duplicates = 0;
        if !self.options.sack {
            // RFC 5681 section 3.2 step 6, RFC 6582 step 3 option 2: deflate.
            self.window.cwnd = self.window.ssthresh;
        }
    }

    fn grow_window(&mut self, ack: Acknowledged) {
        if self.config.cwnd_validation && !ack.was_window_limited {
            return;
        }
        let sample = Ack { now: ack.now, acked: ack.octets, srtt: self.rtt.srtt() };
        self.cc.cong_avoid(&sample, &mut self.window);
    }

    /// A duplicate acknowledgment: RFC 5681 section 2's with or without SACK, any with new SACK information with.
    pub(super) fn on_duplicate_ack(&mut self, now: Time, newly_sacked: u64) {
        self.counters.duplicate_acks += 1;
        if self.options.sack {
            if newly_sacked > 0 {
                self.recovery.duplicates += 1;
                match self.recovery.phase {
                    Phase::Open => self.detect_loss_by_sack(now),
                    Phase::Recovery | Phase::Loss => self.update_lost(),
                }
            }
            return;
        }
        self.recovery.duplicates += 1;
        match self.recovery.phase {
            // RFC 5681 section 3.2 step 4: a segment left, another may go.
            Phase::Recovery => self.window.cwnd += self.window.smss,
            Phase::Open | Phase::Loss => {
                if self.recovery.duplicates == self.config.dupack_threshold && self.may_fast_retransmit() {
                    self.fast_retransmit(now);
                }
            }
        }
    }

    /// RFC 6582 section 3.2 step 2: duplicates that a timeout's own repetitions caused are no new loss.
    /// RFC 5681 has no such guard, and Reno and Tahoe none either.
    fn may_fast_retransmit(&self) -> bool {
        self.config.recovery != Recovery::NewReno || self.snd.una > self.recovery.recover
    }

    /// RFC 5681 section 3.2 steps 2 and 3.
    fn fast_retransmit(&mut self, now: Time) {
        self.counters.fast_retransmits += 1;
        self.reduce_ssthresh(now, self.flight());
        if self.config.recovery == Recovery::Tahoe {
            self.window.cwnd = self.window.smss;
            self.scoreboard.lose_all(self.snd.una, self.snd.nxt);
            // Later duplicates of the same flight are not counted afresh: they tell of the same loss.
            let duplicates = self.recovery.duplicates;
            self.recovery.enter_loss(self.snd.nxt);
            self.recovery.duplicates = duplicates;
            return;
        }
        let threshold = u64::from(self.config.dupack_threshold);
        self.window.cwnd = self.window.ssthresh + threshold * self.window.smss;
        self.recovery = RecoveryState {
            phase: Phase::Recovery,
            recover: self.snd.nxt,
            duplicates: self.recovery.duplicates,
            retransmit_first: true,
            ..RecoveryState::default()
        };
    }

    /// RFC 6675 section 5: enters recovery once the first outstanding octet is lost.
    fn detect_loss_by_sack(&mut self, now: Time) {
        self.update_lost();
        let duplicates = self.recovery.duplicates;
        let lost = self.scoreboard.is_lost(self.snd.una) || duplicates >= self.config.dupack_threshold;
        if !lost || self.flight() == 0 {
            return;
        }
        self.counters.fast_retransmits += 1;
        // (4.2)
        self.reduce_ssthresh(now, self.flight());
        self.window.cwnd = self.window.ssthresh;
        self.scoreboard.start_recovery(self.snd.una);
        // (4.1), (4.3)
        self.recovery = RecoveryState {
            phase: Phase::Recovery,
            recover: self.snd.nxt,
            retransmit_first: true,
            ..RecoveryState::default()
        };
    }

    /// RFC 5681 equation (4), from what was in flight or, as in Linux, from the window.
    pub(super) fn reduce_ssthresh(&mut self, now: Time, flight: u64) {
        let flight = if self.config.ssthresh_from_cwnd {
            self.window.cwnd
        } else {
            self.recovery.flight_without_limited_transmit(flight)
        };
        self.window.ssthresh = self.cc.ssthresh(now, &self.window, flight);
    }

    fn update_lost(&mut self) {
        self.scoreboard.update_lost(self.config.dupack_threshold, self.window.smss);
    }
}
