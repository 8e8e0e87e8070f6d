//! The serialiser: puts one packet after the other on the wire, at a rate.

use super::capacity::{Opportunities, Rates, Stretch};
use super::saturating_after;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_units::{Rate, Remainder, Span, Time};

/// Which bytes occupy the serialiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// A serialiser; without a rate it takes no time.
#[derive(Debug)]
pub struct Serialiser {
    pace: Pace,
    framing: Framing,
    free_at: Time,
    remainder: Remainder,
}

/// How a serialiser gets on.
#[derive(Debug)]
pub(crate) enum Pace {
    /// Everything at once.
    Unlimited,
    /// So many bits a second.
    Constant(Rate),
    /// So many bits a second while each stretch lasts.
    Varying(Box<Varying>),
    /// Packets at the opportunities of a trace, which counts its own bytes whatever the framing.
    Trace(Box<Opportunities>),
}

/// A rate that is constant by stretches.
#[derive(Debug)]
pub(crate) struct Varying {
    rates: Box<dyn Rates>,
    /// Bits times 10^9 that are owed of the last nanosecond, as [`Remainder`] has them.
    owed: u128,
}

impl Pace {
    pub(crate) fn varying(rates: Box<dyn Rates>) -> Self {
        Self::Varying(Box::new(Varying { rates, owed: 0 }))
    }
}

impl From<Option<Rate>> for Pace {
    fn from(rate: Option<Rate>) -> Self {
        rate.map_or(Self::Unlimited, Self::Constant)
    }
}

impl Serialiser {
    /// An idle serialiser.
    pub(crate) const fn new(pace: Pace, framing: Framing) -> Self {
        Self { pace, framing, free_at: Time::ZERO, remainder: Remainder::NONE }
    }

    /// Whether a packet that arrives now would have to wait.
    pub fn is_busy(&self, now: Time) -> bool {
        // An opportunity that comes with the packet is one that was missed.
        self.free_at > now || matches!(self.pace, Pace::Trace(_))
    }

    /// Whether packets ever wait.
    pub const fn is_limited(&self) -> bool {
        !matches!(self.pace, Pace::Unlimited)
    }

    /// When it is through with all that was given to it.
    pub const fn free_at(&self) -> Time {
        self.free_at
    }

    /// About how many bits a second it carries at the time that it was last asked for.
    pub fn rate(&mut self) -> Option<u64> {
        match &mut self.pace {
            Pace::Unlimited => None,
            Pace::Constant(rate) => Some(rate.as_bits_per_sec()),
            Pace::Varying(varying) => Some(varying.rates.at(self.free_at).rate),
            Pace::Trace(trace) => Some(trace.mean_rate()),
        }
    }

    /// Takes a packet of `len` IP bytes that arrived at `now` into service as soon as those before it are
    /// through, and says when its service starts and when it ends.
    #[inline(always)]
    pub fn serve(&mut self, now: Time, len: u32) -> (Time, Time) {
        if let Pace::Trace(trace) = &mut self.pace {
            let start = if self.free_at > now { trace.go_on() } else { trace.seek_after(now) };
            return (start, self.serve_from(start, len));
        }
        if self.free_at < now {
            // Idle since: what was owed of a nanosecond has passed. A packet that comes just as the last one
            // leaves still owes it, or packets that take less than a nanosecond would take no time at all.
            self.forget();
            self.free_at = now;
        }
        let start = self.free_at;
        (start, self.serve_from(start, len))
    }

    /// When the service of a packet may start, the last one having ended, if the packet `waited` at that end.
    pub fn next_start(&mut self, now: Time, waited: bool) -> Time {
        match &mut self.pace {
            Pace::Trace(trace) if waited => trace.go_on(),
            Pace::Trace(trace) => trace.seek_after(now),
            _ => now,
        }
    }

    /// Serves a packet at its [`Serialiser::next_start`]; when its service ends.
    pub fn serve_next(&mut self, start: Time, len: u32) -> Time {
        match self.pace {
            Pace::Trace(_) => self.serve_from(start, len),
            _ => self.serve(start, len).1,
        }
    }

    /// Gives it another rate at `now`; when the packet in service will be through at that.
    ///
    /// Panics if its rate varies by itself.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) -> Time {
        let left = match (&self.pace, rate) {
            (Pace::Varying(_) | Pace::Trace(_), _) => panic!("a rate that varies by itself is not set"),
            (Pace::Constant(before), Some(after)) if self.free_at > now => {
                before.time_left_at(after, self.free_at.since(now), &mut self.remainder)
            }
            _ => {
                self.remainder = Remainder::NONE;
                Span::ZERO
            }
        };
        self.pace = rate.into();
        if self.free_at > now {
            self.free_at = saturating_after(now, left);
        }
        self.free_at.max(now)
    }

    /// Stops serving the packet in service.
    pub fn abort(&mut self, now: Time) {
        self.free_at = now;
        self.forget();
    }

    #[inline(always)]
    fn serve_from(&mut self, start: Time, len: u32) -> Time {
        let bytes = len + self.framing.overhead();
        self.free_at = match &mut self.pace {
            Pace::Constant(rate) => saturating_after(start, rate.time_for(bytes, &mut self.remainder)),
            Pace::Unlimited => start,
            Pace::Varying(varying) => varying.serve(start, bytes),
            Pace::Trace(trace) => trace.carry(len),
        };
        self.free_at
    }

    fn forget(&mut self) {
        self.remainder = Remainder::NONE;
        if let Pace::Varying(varying) = &mut self.pace {
            varying.owed = 0;
        }
    }
}

impl Varying {
    /// When the last of `bytes` leaves whose first leaves at `start`.
    fn serve(&mut self, start: Time, bytes: u32) -> Time {
        let owed = self.owed + u128::from(bytes) * 8_000_000_000;
        let (mut at, mut owed) = self.rates.skip(start, owed);
        loop {
            let Stretch { rate, until } = self.rates.at(at);
            let room = u128::from(rate) * u128::from(until.since(at).as_nanos());
            if rate > 0 && owed <= room {
                self.owed = owed % u128::from(rate);
                return saturating_after(at, Span::from_nanos((owed / u128::from(rate)) as u64));
            }
            if until == Time::MAX {
                self.owed = 0;
                return Time::MAX;
            }
            owed -= room;
            at = until;
        }
    }
}
