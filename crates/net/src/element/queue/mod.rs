//! What a queue decides about its packets.
//!
//! A discipline is a file that has its settings, which are those of a plan, and implements [`Settings`]; and an entry in
//! [`Queueing`]. Plans, checks, formulas, property tests and fuzzing learn it from there, and scenarios by a file of its name in
//! `python/voxpath/scenario/elements/queues/`. The limit is every queue's own, whatever its discipline.

mod codel;
mod drop_tail;
mod fq_codel;
mod gate;
mod pie;
mod red;
mod room;
mod waiting;

pub use codel::Codel;
pub use drop_tail::DropTail;
pub use fq_codel::FqCodel;
pub(crate) use gate::{Gate, Verdict};
pub use pie::Pie;
pub(crate) use red::Judge;
pub use red::Red;
pub use room::{Limit, Room};

use super::{Draw, Serialiser};
use crate::pool::Handle;
use crate::random::Stream;
use alloc::boxed::Box;
use core::fmt::Debug;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

queues! {
    /// First in, first out; what finds no room is refused.
    "drop_tail" => DropTail,
    /// Random early detection (Floyd and Jacobson 1993).
    "red" => Red,
    /// Controlled delay (RFC 8289).
    "codel" => Codel,
    /// Flow queue CoDel (RFC 8290).
    "fq_codel" => FqCodel,
    /// Proportional integral controller enhanced (RFC 8033).
    "pie" => Pie,
}

/// The settings of a discipline.
pub(crate) trait Settings: Sized {
    /// The queue that holds the packets.
    type Queue: Discipline;

    /// Whether all that it does is to refuse what finds no room: what formulas take for granted.
    const PLAIN: bool = false;

    /// What is wrong with the settings.
    fn check(&self, check: &mut Check<'_>);

    /// An empty queue, of settings with which nothing is wrong.
    fn queue(&self, limit: Limit, stream: Stream) -> Self::Queue;

    /// What decides where everything is decided as packets come, so that nothing has to hold them.
    fn arrival(&self, _stream: Stream) -> Option<Arrival> {
        None
    }

    /// Settings with which nothing is wrong.
    fn sample(draw: &mut dyn Draw) -> Self;
}

/// What decides about packets as they come.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// Whether there is room, and nothing else.
    Room,
    /// That, and how many have been waiting.
    Judge(Box<Judge>),
}

/// A queue that holds its packets, because it may decide about them as they leave.
pub(crate) trait Discipline: Debug {
    /// Takes a packet in, or drops it; it `waits` unless it can enter service at once.
    fn enqueue(
        &mut self,
        now: Time,
        packet: Handle,
        waits: bool,
        serialiser: &mut Serialiser,
        gate: &mut Gate<'_>,
    );

    /// The packet that enters service now; none if all are dropped that there were.
    fn dequeue(&mut self, now: Time, gate: &mut Gate<'_>) -> Option<Handle>;

    /// A packet in the order of leaving, whatever the discipline thinks of it.
    fn remove(&mut self) -> Option<Handle>;

    /// Changes how much may wait; what waits already may stay.
    fn set_limit(&mut self, limit: Limit);

    /// Packets waiting.
    fn packets(&self) -> u32;

    /// Bytes waiting.
    fn bytes(&self) -> u64;
}

macro_rules! queues {
    ($($(#[$doc:meta])* $name:literal => $settings:ident,)*) => {
        /// Disciplines.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Queueing {
            $($(#[$doc])* #[serde(rename = $name)] $settings($settings),)*
        }

        /// The queue of a discipline.
        #[derive(Debug)]
        pub(crate) enum Queue {
            $($settings(<$settings as Settings>::Queue),)*
        }

        impl Queueing {
            /// The names of the disciplines.
            pub const KINDS: &[&str] = &[$($name),*];

            /// The name of this one.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$settings(_) => $name,)*
                }
            }

            /// Whether all that it does is to refuse what finds no room.
            pub const fn is_plain(&self) -> bool {
                match self {
                    $(Self::$settings(_) => $settings::PLAIN,)*
                }
            }

            /// What is wrong with the settings.
            pub fn check(&self, check: &mut Check<'_>) {
                match self {
                    $(Self::$settings(settings) => settings.check(check),)*
                }
            }

            /// An empty queue, of settings with which nothing is wrong.
            pub(crate) fn queue(&self, limit: Limit, stream: Stream) -> Queue {
                match self {
                    $(Self::$settings(settings) => Queue::$settings(settings.queue(limit, stream)),)*
                }
            }

            /// See [`Settings::arrival`].
            pub(crate) fn arrival(&self, stream: Stream) -> Option<Arrival> {
                match self {
                    $(Self::$settings(settings) => settings.arrival(stream),)*
                }
            }

            /// Any discipline with any settings.
            pub fn sample(draw: &mut dyn Draw) -> Self {
                const SAMPLES: &[fn(&mut dyn Draw) -> Queueing] =
                    &[$(|draw| <$settings>::sample(draw).into()),*];
                SAMPLES[draw.below(SAMPLES.len() as u64) as usize](draw)
            }
        }

        impl Discipline for Queue {
            fn enqueue(
                &mut self,
                now: Time,
                packet: Handle,
                waits: bool,
                serialiser: &mut Serialiser,
                gate: &mut Gate<'_>,
            ) {
                match self {
                    $(Self::$settings(queue) => queue.enqueue(now, packet, waits, serialiser, gate),)*
                }
            }

            fn dequeue(&mut self, now: Time, gate: &mut Gate<'_>) -> Option<Handle> {
                match self {
                    $(Self::$settings(queue) => queue.dequeue(now, gate),)*
                }
            }

            fn remove(&mut self) -> Option<Handle> {
                match self {
                    $(Self::$settings(queue) => queue.remove(),)*
                }
            }

            fn set_limit(&mut self, limit: Limit) {
                match self {
                    $(Self::$settings(queue) => queue.set_limit(limit),)*
                }
            }

            fn packets(&self) -> u32 {
                match self {
                    $(Self::$settings(queue) => queue.packets(),)*
                }
            }

            fn bytes(&self) -> u64 {
                match self {
                    $(Self::$settings(queue) => queue.bytes(),)*
                }
            }
        }

        $(
            impl From<$settings> for Queueing {
                fn from(settings: $settings) -> Self {
                    Self::$settings(settings)
                }
            }
        )*
    };
}
use queues;

impl Default for Queueing {
    fn default() -> Self {
        DropTail {}.into()
    }
}
