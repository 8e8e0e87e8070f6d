//! A TCP connection that is polled where something may come of it.

use core::ops::{Deref, DerefMut};
use voxpath_tcp::Connection;
use voxpath_units::Time;

/// The TCP connection of a subflow. Whatever happens to one subflow, all are polled: one to which nothing was done since it had nothing to
/// send answers from memory.
#[derive(Debug)]
pub(crate) struct Polled {
    connection: Connection,
    rest: Option<Rest>,
}

/// Nothing is to be sent, and nothing waits for being sent the first time: so time alone leads to nothing before `due`.
#[derive(Debug, Clone, Copy)]
struct Rest {
    due: Option<Time>,
}

impl Polled {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, rest: None }
    }

    /// Whether it has nothing to send, which is known without polling it.
    pub(crate) fn rests(&self, now: Time) -> bool {
        self.rest.is_some_and(|rest| rest.due.is_none_or(|due| now < due))
    }

    /// It was polled, and had nothing to send.
    pub(crate) fn rest(&mut self) {
        let rests = self.connection.unsent() == 0 && !self.connection.is_closing();
        self.rest = rests.then(|| Rest { due: self.connection.poll_timeout() });
    }

    /// As [`Connection::poll_timeout`].
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.rest.map_or_else(|| self.connection.poll_timeout(), |rest| rest.due)
    }

    /// As [`Connection::handle_timeout`].
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.poll_timeout().is_some_and(|due| due <= now) {
            self.rest = None;
            self.connection.handle_timeout(now);
        }
    }
}

impl Deref for Polled {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// Whoever borrows it to change it may have changed it.
impl DerefMut for Polled {
    fn deref_mut(&mut self) -> &mut Connection {
        self.rest = None;
        &mut self.connection
    }
}
