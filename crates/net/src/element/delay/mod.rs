//! Propagation: how long it takes, and the line of packets in flight. It takes no time of the serialiser.
//!
//! A way to vary is a file that has its settings, which are those of a plan, and implements [`Settings`]; and an entry in
//! [`DelayVariation`]. Plans, checks, property tests and fuzzing learn it from there, and scenarios by a file of its name in
//! `python/voxpath/scenario/elements/delays/`.

mod correlated;
mod line;
mod normal;
mod pareto;
mod steps;

pub use line::DelayLine;
pub use normal::Normal;
pub use pareto::Pareto;
pub use steps::Steps;

use super::Draw;
use crate::random::Stream;
use core::fmt::Debug;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

variations! {
    /// Normally distributed.
    "normal" => Normal,
    /// By Pareto's distribution of the first kind.
    "pareto" => Pareto,
    /// A delay from each moment on.
    "steps" => Steps,
}

/// The settings of a delay that varies. What they vary is the delay of their direction of a link, `delay_ns`.
pub(crate) trait Settings: Sized {
    /// What says how long each packet takes.
    type Process: Delays;

    /// What is wrong with the settings.
    fn check(&self, delay_ns: u64, check: &mut Check<'_>);

    /// The shortest delay that a packet may have.
    fn least_ns(&self, delay_ns: u64) -> u64;

    /// The delay at the start of a run; of settings with which nothing is wrong.
    fn process(&self, delay_ns: u64) -> Self::Process;

    /// A delay and settings with which nothing is wrong.
    fn sample(draw: &mut dyn Draw) -> (u64, Self);
}

/// What says how long each packet takes.
pub(crate) trait Delays: Debug {
    /// The delay of a packet that leaves the serialiser at `at`.
    fn of(&mut self, at: Time, stream: &mut Stream) -> Span;

    /// About how long it is at `at`: its mean, or the shortest where there is none.
    fn about(&self, at: Time) -> Span;

    /// Whether packets may be overtaken, if `of` says so.
    fn lets_overtake(&self) -> bool {
        false
    }
}

/// How long packets are on their way.
#[derive(Debug)]
pub enum Delay {
    /// All as long.
    Constant(Span),
    /// Not all as long.
    Varying(Varying),
}

impl Delay {
    /// The delay `delay_ns`, which varies if so said; of settings with which nothing is wrong.
    pub fn new(delay_ns: u64, variation: Option<&DelayVariation>) -> Self {
        match variation {
            None => Span::from_nanos(delay_ns).into(),
            Some(variation) => Self::Varying(variation.process(delay_ns)),
        }
    }

    /// The delay of a packet that leaves the serialiser at `at`.
    #[inline]
    pub fn of(&mut self, at: Time, stream: &mut Stream) -> Span {
        match self {
            Self::Constant(span) => *span,
            Self::Varying(varying) => varying.of(at, stream),
        }
    }

    /// Whether packets may be overtaken, if `of` says so.
    pub fn lets_overtake(&self) -> bool {
        matches!(self, Self::Varying(varying) if varying.lets_overtake())
    }

    /// Whether it differs from packet to packet.
    pub const fn varies(&self) -> bool {
        matches!(self, Self::Varying(_))
    }

    /// About how long it is at `at`: its mean, or the shortest where there is none.
    pub fn about(&self, at: Time) -> Span {
        match self {
            Self::Constant(span) => *span,
            Self::Varying(varying) => varying.about(at),
        }
    }
}

impl From<Span> for Delay {
    fn from(span: Span) -> Self {
        Self::Constant(span)
    }
}

macro_rules! variations {
    ($($(#[$doc:meta])* $name:literal => $settings:ident,)*) => {
        /// How a delay varies.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum DelayVariation {
            $($(#[$doc])* #[serde(rename = $name)] $settings($settings),)*
        }

        /// What says how long each packet takes, for each way to vary.
        #[derive(Debug)]
        #[allow(missing_docs, private_interfaces)]
        pub enum Varying {
            $($settings(<$settings as Settings>::Process),)*
        }

        impl DelayVariation {
            /// The names of the kinds.
            pub const KINDS: &[&str] = &[$($name),*];

            /// What is wrong with the settings, which vary `delay_ns`.
            pub fn check(&self, delay_ns: u64, check: &mut Check<'_>) {
                match self {
                    $(Self::$settings(settings) => settings.check(delay_ns, check),)*
                }
            }

            /// The shortest delay that a packet may have.
            pub fn least_ns(&self, delay_ns: u64) -> u64 {
                match self {
                    $(Self::$settings(settings) => settings.least_ns(delay_ns),)*
                }
            }

            fn process(&self, delay_ns: u64) -> Varying {
                match self {
                    $(Self::$settings(settings) => Varying::$settings(settings.process(delay_ns)),)*
                }
            }

            /// A delay that varies in any way.
            pub fn sample(draw: &mut dyn Draw) -> (u64, Self) {
                const SAMPLES: &[fn(&mut dyn Draw) -> (u64, DelayVariation)] = &[$(|draw| {
                    let (delay_ns, settings) = <$settings>::sample(draw);
                    (delay_ns, settings.into())
                }),*];
                SAMPLES[draw.below(SAMPLES.len() as u64) as usize](draw)
            }
        }

        impl Delays for Varying {
            fn of(&mut self, at: Time, stream: &mut Stream) -> Span {
                match self {
                    $(Self::$settings(process) => process.of(at, stream),)*
                }
            }

            fn about(&self, at: Time) -> Span {
                match self {
                    $(Self::$settings(process) => process.about(at),)*
                }
            }

            fn lets_overtake(&self) -> bool {
                match self {
                    $(Self::$settings(process) => process.lets_overtake(),)*
                }
            }
        }

        $(
            impl From<$settings> for DelayVariation {
                fn from(settings: $settings) -> Self {
                    Self::$settings(settings)
                }
            }
        )*
    };
}
use variations;
