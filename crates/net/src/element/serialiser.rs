//! The serialiser: puts one packet after the other on the wire, at a rate.

use super::saturating_after;
use voxpath_units::{Rate, Remainder, Span, Time};

/// Which bytes occupy the serialiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Framing {
    /// The IP packet alone.
    #[default]
    Ip,
    /// The IP packet in an Ethernet frame.
    Ethernet,
}

impl Framing {
    /// Bytes beyond the IP packet: Ethernet's preamble 8, header 14, frame check sequence 4 and
    /// inter-packet gap 12 (IEEE 802.3 clauses 3.1.1 and 4.4.2).
    pub const fn overhead(self) -> u32 {
        match self {
            Self::Ip => 0,
            Self::Ethernet => 38,
        }
    }
}

/// A serialiser of constant rate; without a rate it takes no time.
#[derive(Debug, Clone)]
pub struct Serialiser {
    rate: Option<Rate>,
    framing: Framing,
    free_at: Time,
    remainder: Remainder,
}

impl Serialiser {
    /// An idle serialiser.
    pub const fn new(rate: Option<Rate>, framing: Framing) -> Self {
        Self { rate, framing, free_at: Time::ZERO, remainder: Remainder::NONE }
    }

    /// Whether a packet that arrives now would have to wait.
    pub fn is_busy(&self, now: Time) -> bool {
        self.free_at > now
    }

    /// Whether packets ever wait.
    pub const fn is_limited(&self) -> bool {
        self.rate.is_some()
    }

    /// Takes a packet of `len` IP bytes that arrived at `now` into service as soon as those before it are
    /// through, and says when its service starts and when it ends.
    pub fn serve(&mut self, now: Time, len: u32) -> (Time, Time) {
        let Some(rate) = self.rate else { return (now, now) };
        if self.free_at < now {
            // Idle since: what was owed of a nanosecond has passed. A packet that comes just as the last one
            // leaves still owes it, or packets that take less than a nanosecond would take no time at all.
            self.remainder = Remainder::NONE;
            self.free_at = now;
        }
        let start = self.free_at;
        let took: Span = rate.time_for(len + self.framing.overhead(), &mut self.remainder);
        self.free_at = saturating_after(start, took);
        (start, self.free_at)
    }

    /// Gives it another rate at `now`; when the packet in service will be through at that.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) -> Time {
        let left = match (self.rate, rate) {
            (Some(before), Some(after)) if self.free_at > now => {
                before.time_left_at(after, self.free_at.since(now), &mut self.remainder)
            }
            _ => {
                self.remainder = Remainder::NONE;
                Span::ZERO
            }
        };
        self.rate = rate;
        self.free_at = saturating_after(now, left);
        self.free_at
    }

    /// Stops serving the packet in service.
    pub fn abort(&mut self, now: Time) {
        self.free_at = now;
        self.remainder = Remainder::NONE;
    }
}
