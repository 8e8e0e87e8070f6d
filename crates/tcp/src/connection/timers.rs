//! The connection's timers.

use super::{Connection, Ended, State};
use voxpath_units::Time;

impl Connection {
    /// When [`Connection::handle_timeout`] is to be called; none if no timer runs.
    pub fn poll_timeout(&self) -> Option<Time> {
        let timers = &self.snd.timers;
        Time::earliest([
            timers.retransmit,
            self.recovery.poll_timeout(),
            timers.pacing,
            self.rcv.poll_timeout(),
            timers.persist,
            self.alive.as_ref().and_then(|alive| alive.poll_timeout()),
            self.time_wait,
        ])
    }

    /// Does what is due at `now`; nothing if nothing is.
    pub fn handle_timeout(&mut self, now: Time) {
        // Drivers call this whenever something happens, mostly for nothing.
        if self.poll_timeout().is_none_or(|due| now < due) {
            return;
        }
        let due = |timer: &mut Option<Time>| timer.take_if(|deadline| *deadline <= now).is_some();
        self.rcv.handle_timeout(&self.shared, now);
        // Polling goes on where it was held back. Who waits for room is looked after when data leaves, too (tcp_event_new_data_sent()).
        if due(&mut self.snd.timers.pacing) && self.snd.may_leave(&self.shared, &self.recovery) > 0 {
            self.snd.expand_space(&self.shared, &self.recovery);
        }
        if self.alive.as_mut().is_some_and(|alive| due(&mut alive.keepalive)) {
            self.handle_keepalive_timeout(now);
        }
        if self.alive.as_mut().is_some_and(|alive| due(&mut alive.user)) {
            self.handle_user_timeout();
        }
        if due(&mut self.time_wait) {
            self.end(Ended::Closed);
        }
        if due(&mut self.snd.timers.persist) {
            self.snd.timers.probes += 1;
            self.snd.probe_pending = true;
        }
        self.recovery.handle_timeout(&mut self.shared, &mut self.snd, now);
        // A probe that is due goes out in its place, and starts the timer anew.
        if !self.recovery.is_probe_due() && due(&mut self.snd.timers.retransmit) {
            self.handle_retransmission_timeout(now);
        }
    }

    fn handle_retransmission_timeout(&mut self, now: Time) {
        self.snd.timers.expiries += 1;
        self.shared.counters.timeouts += 1;
        let synchronised = self.shared.is_synchronised();
        let limit = if synchronised { self.shared.config.retries } else { self.shared.config.syn_retries };
        if self.snd.timers.expiries > limit {
            // RFC 9293 section 3.8.3: beyond R2 the connection is closed.
            self.end(Ended::TimedOut);
            return;
        }
        self.shared.rtt.back_off();
        if synchronised {
            self.recovery.enter_loss_by_timeout(&self.shared, &mut self.snd, now);
            self.snd.release_pacing(now);
        } else {
            self.snd.syn_pending = true;
        }
        // RFC 6298 (5.6), already here: what holds the retransmission back may also make it needless.
        self.snd.restart_retransmit_timer(&self.shared, now);
    }

    /// RFC 9293 section 3.6.1.
    pub(super) fn enter_time_wait(&mut self, now: Time) {
        self.shared.state = State::TimeWait;
        self.shared.ended = Some(Ended::Closed);
        self.stop_timers();
        self.time_wait = Some(now + self.shared.config.msl * 2);
    }

    /// Stops every timer: of the connection nothing is left, or TIME-WAIT.
    pub(super) fn stop_timers(&mut self) {
        self.snd.stop_timers();
        self.rcv.stop_timers();
        self.recovery.stop_timers();
        if let Some(alive) = &mut self.alive {
            alive.stop_timers();
        }
        self.time_wait = None;
    }
}
