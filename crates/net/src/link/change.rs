//! What can change of one direction of a link during a run.

use super::{Direction, Link};
use crate::element::{Draw, Limit, Loss};
use crate::event::EventQueue;
use crate::pool::Pool;
use crate::tap::Tap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Rate, Span, Time};

/// What changes of a direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LinkChange {
    /// The serialiser's rate; what is left of the packet in service takes its time at the new one.
    Rate {
        /// Bits per second.
        rate_bps: u64,
    },
    /// The propagation delay, of packets that leave the serialiser from now on; none overtakes one before it.
    Delay {
        /// Nanoseconds.
        delay_ns: u64,
    },
    /// Loss, of packets that leave the serialiser from now on.
    Loss {
        /// The model; a list counts from here.
        loss: Loss,
    },
    /// Room in the queue; packets that have it already keep it.
    Queue {
        /// In packets.
        packets: Option<u32>,
        /// In bytes of IP packets.
        bytes: Option<u64>,
    },
    /// Down, a direction drops what waits, what is in service, and what is sent into it.
    Up {
        /// Whether it is up.
        up: bool,
    },
}

impl LinkChange {
    /// What is wrong with it.
    pub fn check(&self, check: &mut Check<'_>) {
        match self {
            Self::Rate { rate_bps } => check.at("rate_bps").rate(*rate_bps),
            Self::Delay { delay_ns } => check.at("delay_ns").span(*delay_ns),
            Self::Loss { loss } => loss.check(&mut check.at("loss")),
            Self::Queue { .. } | Self::Up { .. } => {}
        }
    }

    /// A change with which nothing is wrong, of such a direction, for property tests.
    pub fn sample(draw: &mut dyn Draw, of: &Direction) -> Self {
        match draw.below(5) {
            // The rate of what varies by itself is nobody's to set.
            0 if of.capacity.is_none() => Self::Rate { rate_bps: draw.rate_above_zero() },
            1 => Self::Loss { loss: Loss::sample(draw) },
            2 => Self::Queue {
                packets: draw.bit().then(|| draw.below(60) as u32),
                bytes: draw.bit().then(|| draw.below(100_000)),
            },
            3 => Self::Up { up: draw.bit() },
            _ => Self::Delay { delay_ns: draw.span() / 3 },
        }
    }

    /// What changes, and to what, for people.
    pub fn told(&self) -> (&'static str, String) {
        match self {
            Self::Rate { rate_bps } => ("rate_bps", rate_bps.to_string()),
            Self::Delay { delay_ns } => ("delay_ns", delay_ns.to_string()),
            Self::Loss { loss } => ("loss", loss.to_string()),
            Self::Queue { packets, bytes } => {
                let bounds = [
                    packets.map(|packets| format!("{packets} packets")),
                    bytes.map(|bytes| format!("{bytes} bytes")),
                ];
                ("queue", bounds.into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
            Self::Up { up } => ("up", up.to_string()),
        }
    }
}

impl Link {
    /// Changes as said; of a change with which nothing is wrong. Panics unless the link is [`Link::changing`].
    pub fn change(
        &mut self,
        now: Time,
        change: &LinkChange,
        pool: &mut Pool,
        events: &mut EventQueue,
        tap: &mut Tap,
    ) {
        match change {
            LinkChange::Rate { rate_bps } => self.set_rate(now, Rate::from_bits_per_sec(*rate_bps), events),
            LinkChange::Delay { delay_ns } => self.set_delay(Span::from_nanos(*delay_ns)),
            LinkChange::Loss { loss } => self.set_loss(loss),
            LinkChange::Queue { packets, bytes } => {
                self.set_limit(Limit { packets: *packets, bytes: *bytes });
            }
            LinkChange::Up { up } => self.set_up(now, *up, pool, events, tap),
        }
    }
}
