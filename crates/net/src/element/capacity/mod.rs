//! Capacities that vary by themselves. They are known ahead of the packets, whatever these do.
//!
//! A kind is a file that has its settings, which are those of a plan, and implements [`Settings`]; and an entry in
//! [`Capacity`]. Plans, checks, property tests and fuzzing learn it from there, and scenarios by a file of its name in
//! `python/voxpath/scenario/elements/capacities/`.

mod markov;
mod schedule;
mod trace;

pub use markov::{Markov, State};
pub use schedule::Schedule;
pub(super) use trace::Opportunities;
pub use trace::Trace;

use super::Draw;
use super::serialiser::Pace;
use crate::random::Stream;
use alloc::boxed::Box;
use core::fmt::Debug;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

capacities! {
    /// A rate from each moment on.
    "schedule" => Schedule,
    /// A rate for each state of a chain.
    "markov" => Markov,
    /// The opportunities of a packet-delivery trace in Mahimahi's format, over and over.
    "trace" => Trace,
}

/// The settings of a capacity.
pub(crate) trait Settings: Sized {
    /// Whether it counts a packet's bytes by itself, whatever the framing.
    const COUNTS_ITS_OWN_BYTES: bool = false;

    /// What is wrong with the settings.
    fn check(&self, check: &mut Check<'_>);

    /// How a serialiser gets on, by settings with which nothing is wrong.
    fn pace(&self, stream: Stream) -> Pace;

    /// The rates alone, where there are any: opportunities have none.
    fn rates(&self, stream: Stream) -> Option<Box<dyn Rates>>;

    /// Settings with which nothing is wrong.
    fn sample(draw: &mut dyn Draw) -> Self;
}

/// A sequence of stretches of constant rate, asked for in the order of time.
pub(crate) trait Rates: Debug + Send + Sync {
    /// The stretch that `at` lies in; never asked for an earlier one than before.
    fn at(&mut self, at: Time) -> Stretch;

    /// Skips what does not suffice for what is owed at `at`, in bits times 10^9: one packet may need more stretches than could be
    /// walked through. When they are over, and what is owed then.
    fn skip(&self, at: Time, owed: u128) -> (Time, u128) {
        (at, owed)
    }
}

/// A rate that holds for a while; zero bit/s where nothing passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Bits per second.
    pub rate: u64,
    /// The first moment at which it may no longer hold.
    pub until: Time,
}

/// The rates of a capacity, without a serialiser.
#[derive(Debug)]
pub struct Stretches(Box<dyn Rates>);

impl Stretches {
    /// The stretch that `at` lies in; never asked for an earlier one than before.
    pub fn at(&mut self, at: Time) -> Stretch {
        self.0.at(at)
    }
}

macro_rules! capacities {
    ($($(#[$doc:meta])* $name:literal => $settings:ident,)*) => {
        /// Capacities that vary.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Capacity {
            $($(#[$doc])* #[serde(rename = $name)] $settings($settings),)*
        }

        impl Capacity {
            /// The names of the kinds.
            pub const KINDS: &[&str] = &[$($name),*];

            /// Whether it counts a packet's bytes by itself, whatever the framing.
            pub const fn counts_its_own_bytes(&self) -> bool {
                match self {
                    $(Self::$settings(_) => $settings::COUNTS_ITS_OWN_BYTES,)*
                }
            }

            /// What is wrong with the settings.
            pub fn check(&self, check: &mut Check<'_>) {
                match self {
                    $(Self::$settings(settings) => settings.check(check),)*
                }
            }

            /// How a serialiser gets on, by settings with which nothing is wrong.
            pub(crate) fn pace(&self, stream: Stream) -> Pace {
                match self {
                    $(Self::$settings(settings) => settings.pace(stream),)*
                }
            }

            /// Its stretches of constant rate from the start on, by settings with which nothing is wrong; none where it has none.
            pub fn stretches(&self, stream: Stream) -> Option<Stretches> {
                let rates = match self {
                    $(Self::$settings(settings) => settings.rates(stream),)*
                };
                rates.map(Stretches)
            }

            /// Any kind with any settings.
            pub fn sample(draw: &mut dyn Draw) -> Self {
                const SAMPLES: &[fn(&mut dyn Draw) -> Capacity] =
                    &[$(|draw| <$settings>::sample(draw).into()),*];
                SAMPLES[draw.below(SAMPLES.len() as u64) as usize](draw)
            }
        }

        $(
            impl From<$settings> for Capacity {
                fn from(settings: $settings) -> Self {
                    Self::$settings(settings)
                }
            }
        )*
    };
}
use capacities;
