//! What can go wrong with the machine.

use rustix::io::Errno;
use std::fmt;

/// The machine refused something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    /// What was tried, as in "open /dev/net/tun".
    pub action: String,
    /// Why it failed.
    pub reason: String,
}

impl HostError {
    pub(crate) fn new(action: impl Into<String>, reason: impl fmt::Display) -> Self {
        Self { action: action.into(), reason: reason.to_string() }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.action, self.reason)
    }
}

impl std::error::Error for HostError {}

/// Says of a failed call what it was for.
pub(crate) trait Context<T> {
    fn context(self, action: impl FnOnce() -> String) -> Result<T, HostError>;
}

impl<T> Context<T> for Result<T, Errno> {
    fn context(self, action: impl FnOnce() -> String) -> Result<T, HostError> {
        self.map_err(|errno| HostError::new(action(), std::io::Error::from(errno)))
    }
}

impl<T> Context<T> for std::io::Result<T> {
    fn context(self, action: impl FnOnce() -> String) -> Result<T, HostError> {
        self.map_err(|error| HostError::new(action(), error))
    }
}
