//! The connection's timers.

use super::frto::Frto;
use super::recovery::Phase;
use super::{Connection, Ended, State};
use crate::cc::CwndEvent;
use voxpath_units::Time;

/// Deadlines; none is a timer that is off.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Retransmission (RFC 6298 section 5), of SYN, data and FIN.
    pub(super) retransmit: Option<Time>,
    /// Persist (RFC 9293 section 3.8.6.1).
    pub(super) persist: Option<Time>,
    /// RACK's reordering window (RFC 8985 section 6.3).
    pub(super) reordering: Option<Time>,
    /// Tail loss probe (RFC 8985 section 7).
    pub(super) loss_probe: Option<Time>,
    /// Pacing holds the next segment back until then.
    pub(super) pacing: Option<Time>,
    /// Keep-alive (RFC 9293 section 3.8.4).
    pub(super) keepalive: Option<Time>,
    /// User timeout (RFC 5482).
    pub(super) user: Option<Time>,
    /// TIME-WAIT.
    pub(super) time_wait: Option<Time>,
    /// Expiries of the retransmission timer in a row.
    pub(super) expiries: u32,
    /// Probes in a row.
    pub(super) probes: u32,
}

impl Connection {
    /// When [`Connection::handle_timeout`] is to be called; none if no timer runs.
    pub fn poll_timeout(&self) -> Option<Time> {
        let timers = &self.timers;
        let often = [timers.retransmit, timers.loss_probe, timers.pacing, self.rcv.poll_timeout()];
        let seldom = [timers.persist, timers.reordering, timers.keepalive, timers.user, timers.time_wait];
        often.into_iter().chain(seldom).flatten().min()
    }

    /// Does what is due at `now`; nothing if nothing is.
    pub fn handle_timeout(&mut self, now: Time) {
        let due = |timer: &mut Option<Time>| timer.take_if(|deadline| *deadline <= now).is_some();
        self.rcv.handle_timeout(&self.shared, now);
        // Polling goes on where it was held back.
        due(&mut self.timers.pacing);
        if due(&mut self.timers.keepalive) {
            self.handle_keepalive_timeout(now);
        }
        if due(&mut self.timers.user) {
            self.handle_user_timeout();
        }
        if due(&mut self.timers.time_wait) {
            self.end(Ended::Closed);
        }
        if due(&mut self.timers.persist) {
            self.timers.probes += 1;
            self.snd.probe_pending = true;
        }
        if due(&mut self.timers.reordering) {
            self.handle_reordering_timeout(now);
        }
        if due(&mut self.timers.loss_probe) {
            self.send_loss_probe();
        }
        // A probe that is due goes out in its place, and starts the timer anew.
        if !self.probe.due && due(&mut self.timers.retransmit) {
            self.handle_retransmission_timeout(now);
        }
    }

    fn handle_retransmission_timeout(&mut self, now: Time) {
        self.timers.expiries += 1;
        self.shared.counters.timeouts += 1;
        let synchronised = self.shared.is_synchronised();
        let limit = if synchronised { self.shared.config.retries } else { self.shared.config.syn_retries };
        if self.timers.expiries > limit {
            // RFC 9293 section 3.8.3: beyond R2 the connection is closed.
            self.end(Ended::TimedOut);
            return;
        }
        self.shared.rtt.back_off();
        if synchronised {
            self.lose_flight(now);
            self.release_pacing(now);
        } else {
            self.snd.syn_pending = true;
        }
        // RFC 6298 (5.6), already here: what holds the repetition back may also make it needless.
        self.restart_retransmit_timer(now);
    }

    /// RFC 5681 section 3.1: the flight counts as lost, and transmission starts over from one segment.
    fn lose_flight(&mut self, now: Time) {
        self.forget_loss_probe();
        self.timers.reordering = None;
        let phase = self.recovery.phase();
        let reduced_in_this_window =
            matches!(phase, Phase::Recovery | Phase::Reduction) && self.snd.una < self.recovery.recover();
        // What counts as lost is under way no more, so that no report of a duplicate is waited for (tcp_timeout_mark_lost() comes first).
        let pipe = self.pipe();
        let by_time = self.shared.options.sack && self.shared.config.rack;
        if by_time {
            self.lose_overdue(now);
        } else {
            self.scoreboard.lose_all(self.snd.una, self.snd.nxt);
        }
        // Linux does not reduce twice in a window; by RFC 5681 the timer always does.
        if self.timers.expiries == 1 && !(self.shared.config.ssthresh_from_cwnd && reduced_in_this_window) {
            self.prepare_undo();
            self.tell_reduction();
            // Equation (4) once for a segment: later timeouts of the same one hold ssthresh. FlightSize stands for what the
            // network holds; with SACK the sender knows that better: during a recovery SND.UNA stands still while
            // new data goes out, and FlightSize would grow to several windows.
            let flight = if self.shared.options.sack { pipe } else { self.flight() };
            self.reduce_ssthresh(now, flight);
        }
        self.cc.cwnd_event(now, CwndEvent::Loss);
        self.dupacks.on_timeout(self.shared.config.dupack_threshold);
        let kept = if by_time { self.pipe() } else { 0 };
        self.window.cwnd = kept + self.window.smss;
        self.recovery.enter_loss(self.snd.nxt);
        // RFC 5682 section 2.1, step 1: only where no earlier loss is being repaired.
        if self.shared.config.frto
            && (matches!(phase, Phase::Open | Phase::Reduction) || self.timers.expiries > 1)
        {
            *self.recovery.frto() = Frto::Repeated;
        }
    }

    /// RFC 6298 (5.1): starts the timer if it is off.
    pub(super) fn ensure_retransmit_timer(&mut self, now: Time) {
        if self.timers.retransmit.is_none() {
            self.restart_retransmit_timer(now);
        }
    }

    /// RFC 6298 (5.3).
    pub(super) fn restart_retransmit_timer(&mut self, now: Time) {
        self.timers.retransmit = Some(self.shared.rtt.expiry(now, self.shared.rtt.rto()));
        self.timers.persist = None;
    }

    /// Starts the persist timer if it is off: the peer's window holds back what there is to send.
    pub(super) fn ensure_persist_timer(&mut self, now: Time) {
        if self.timers.persist.is_none() {
            let persist = &self.shared.config.persist;
            let interval = self.shared.rtt.rto().saturating_mul(1 << self.timers.probes.min(16));
            let interval = interval.clamp(persist.min, persist.max.max(persist.min));
            self.timers.persist = Some(self.shared.rtt.expiry(now, interval));
        }
    }

    /// RFC 9293 section 3.6.1.
    pub(super) fn enter_time_wait(&mut self, now: Time) {
        self.shared.state = State::TimeWait;
        self.ended = Some(Ended::Closed);
        self.timers = Timers { time_wait: Some(now + self.shared.config.msl * 2), ..Timers::default() };
        self.rcv.stop_timers();
    }
}
