//! Whether the peer is still there: keep-alives (RFC 9293 section 3.8.4) and the user timeout (RFC 5482).

use super::{Connection, Ended};
use crate::config::Config;
use alloc::boxed::Box;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{TcpFlags, TcpHeader};

/// The state of keep-alive and user timeout.
#[derive(Debug, Default)]
pub(super) struct Alive {
    /// When something came from the peer.
    heard: Time,
    /// Probes without an answer.
    unanswered: u32,
    /// A probe is due.
    due: bool,
    /// When to probe, or to look again.
    pub(super) keepalive: Option<Time>,
    /// User timeout (RFC 5482).
    pub(super) user: Option<Time>,
}

impl Alive {
    /// None where both are off, as they are in nearly all connections.
    pub(super) fn new(config: &Config) -> Option<Box<Self>> {
        (config.keepalive.is_some() || config.user_timeout.is_some()).then(Box::default)
    }

    /// The earliest deadline; none if no timer runs.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        Time::earliest([self.keepalive, self.user])
    }

    pub(super) fn stop_timers(&mut self) {
        (self.keepalive, self.user) = (None, None);
    }
}

impl Connection {
    /// Something came from the peer.
    pub(super) fn note_heard(&mut self, now: Time) {
        if let Some(alive) = &mut self.alive
            && let Some(keepalive) = &self.shared.config.keepalive
        {
            (alive.heard, alive.unanswered) = (now, 0);
            if self.shared.is_synchronised() && self.shared.ended.is_none() {
                // Not moved on with every segment: when it expires, it looks again.
                alive.keepalive.get_or_insert(now + keepalive.idle);
            }
        }
    }

    /// The timer expired: probes an idle connection, and gives up a dead one.
    pub(super) fn handle_keepalive_timeout(&mut self, now: Time) {
        let (Some(alive), Some(keepalive)) = (&mut self.alive, &self.shared.config.keepalive) else { return };
        let (idle, interval, probes) = (keepalive.idle, keepalive.interval, keepalive.probes);
        let quiet = now.since(alive.heard);
        if quiet < idle {
            alive.keepalive = Some(alive.heard + idle);
        } else if self.snd.flight() > 0 {
            // Outstanding data asks by itself.
            alive.keepalive = Some(now + idle);
        } else if alive.unanswered >= probes {
            self.snd.reset = Some(Box::new(self.reset()));
            self.end(Ended::TimedOut);
        } else {
            alive.unanswered += 1;
            alive.due = true;
            alive.keepalive = Some(now + interval);
        }
    }

    /// The probe: an octet before the window, without data (RFC 9293 section 3.8.4, as in Linux).
    pub(super) fn keepalive_probe(&mut self, now: Time) -> Option<(TcpHeader, Payload)> {
        let alive = self.alive.as_mut()?;
        core::mem::take(&mut alive.due)
            .then(|| self.segment(now, self.snd.nxt.saturating_sub(1), TcpFlags::ACK, Payload::Empty))
    }

    /// Octets are outstanding since `now`, or progress was made: they have the user timeout from here.
    pub(super) fn restart_user_timeout(&mut self, now: Time) {
        if let Some(alive) = &mut self.alive
            && let Some(timeout) = self.shared.config.user_timeout
        {
            alive.user = (self.snd.flight() > 0).then(|| now + timeout);
        }
    }

    /// Nothing is outstanding.
    pub(super) fn stop_user_timeout(&mut self) {
        if let Some(alive) = &mut self.alive {
            alive.user = None;
        }
    }

    /// RFC 5482 section 3: transmitted data has been unacknowledged for too long.
    pub(super) fn handle_user_timeout(&mut self) {
        self.snd.reset = Some(Box::new(self.reset()));
        self.end(Ended::TimedOut);
    }
}
