//! Keeps idle processors from sleeping deeply while packets are on their way.
//!
//! What wakes a processor that has gone to sleep takes its time: on virtual machines, whose sleeping processors the
//! hypervisor gives away, up to milliseconds. The kernel lets root ask for none of that (PM QoS,
//! Documentation/power/pm_qos_interface): for as long as `/dev/cpu_dma_latency` is held open with a zero written to it, idle
//! processors wait awake. It is held while the network carries something, and let go when it is silent.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use voxpath_units::{Span, Time};

const DEVICE: &str = "/dev/cpu_dma_latency";
/// How long nothing may happen before processors may sleep again.
const SILENCE: Span = Span::from_secs(1);

/// Whether, and since when, processors are kept awake.
#[derive(Debug)]
pub(crate) struct Awake {
    allowed: bool,
    held: Option<OwnedFd>,
    /// When something last happened.
    last: Time,
}

impl Awake {
    /// Finds out whether we may; processors sleep as they like until [`Awake::active`].
    pub(crate) fn new() -> Self {
        Self { allowed: hold().is_some(), held: None, last: Time::ZERO }
    }

    /// Whether processors are kept awake while the network is active.
    pub(crate) const fn is_allowed(&self) -> bool {
        self.allowed
    }

    /// Something happens at `now`.
    pub(crate) fn active(&mut self, now: Time) {
        self.last = now;
        if self.allowed && self.held.is_none() {
            self.held = hold();
        }
    }

    /// Lets processors sleep if it has been silent until `now`.
    pub(crate) fn rest(&mut self, now: Time) {
        if now >= self.last + SILENCE {
            self.held = None;
        }
    }

    /// When to come back to see whether it is silent, while that matters.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.held.as_ref().map(|_| self.last + SILENCE)
    }
}

fn hold() -> Option<OwnedFd> {
    let device = rustix::fs::open(DEVICE, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    rustix::io::write(&device, &0_i32.to_ne_bytes()).ok()?;
    Some(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_kept_awake_from_activity_until_it_has_been_silent_for_a_while() {
        let may = std::fs::OpenOptions::new().write(true).open(DEVICE).is_ok();
        let mut awake = Awake::new();
        assert_eq!(awake.is_allowed(), may);
        assert_eq!(awake.poll_timeout(), None, "nothing has happened yet");

        let active = Time::from_nanos(5_000_000_000);
        awake.active(active);
        let silent = active + SILENCE;
        assert_eq!(awake.poll_timeout(), may.then_some(silent));
        awake.rest(Time::from_nanos(silent.as_nanos() - 1));
        assert_eq!(awake.poll_timeout(), may.then_some(silent));
        awake.rest(silent);
        assert_eq!(awake.poll_timeout(), None);
    }
}
