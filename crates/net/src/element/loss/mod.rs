//! Loss on the wire, after the serialiser: a lost packet has used the link. The same models say which packets are damaged
//! on a wire that corrupts them.
//!
//! A model is a file that has its settings, which are those of a plan, and implements [`Model`]; and an entry in [`Loss`].
//! Plans, checks, formulas, property tests and fuzzing learn it from there, and scenarios by a file of its name in
//! `python/voxpath/scenario/elements/losses/`.

mod bernoulli;
mod bit_errors;
mod four_state;
mod gilbert_elliott;
mod list;
mod outages;
mod overload;
mod trace;

pub use bernoulli::Bernoulli;
pub use bit_errors::{BitErrorForm, BitErrors};
pub use four_state::FourState;
pub use gilbert_elliott::GilbertElliott;
pub use list::List;
pub use outages::Outages;
pub use overload::Overload;
pub use trace::Trace;

use super::Draw;
use super::capacity::Stretches;
use crate::random::Stream;
use core::fmt;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

losses! {
    /// Each packet independently.
    "bernoulli" => Bernoulli,
    /// Each bit independently; a packet with a wrong bit is lost.
    "bit_errors" => BitErrors,
    /// Exactly these packets.
    "list" => List,
    /// In bursts: by a chain of two states.
    "gilbert_elliott" => GilbertElliott,
    /// In bursts and one by one: by a chain of four states.
    "four_state" => FourState,
    /// Everything that leaves the serialiser during an outage.
    "outages" => Outages,
    /// What is offered above a rate that varies.
    "overload" => Overload,
    /// As recorded, over and over.
    "trace" => Trace,
}

/// The settings of a loss model. They print as what a table of changes says of them.
pub trait Model: fmt::Display + Sized {
    /// What decides, packet by packet.
    type Process: Loses;

    /// What is wrong with the settings.
    fn check(&self, check: &mut Check<'_>);

    /// The model at the start of a run; of settings with which nothing is wrong. What it draws whatever the packets do, it draws from
    /// a copy of `apart`.
    fn process(&self, apart: &Stream) -> Self::Process;

    /// Rates that it varies with, drawn as by [`Model::process`].
    fn rates(&self, _apart: &Stream) -> Option<Stretches> {
        None
    }

    /// What formulas may know.
    fn chance(&self, len: u32) -> Chance;

    /// Settings with which nothing is wrong.
    fn sample(draw: &mut dyn Draw) -> Self;
}

/// What decides which packets are lost.
pub trait Loses: fmt::Debug {
    /// Whether the next packet is lost, which is `len` bytes long and leaves the serialiser at `at`. What it draws, it draws from
    /// the stream it is handed.
    fn loses(&mut self, at: Time, len: u32, stream: &mut Stream) -> bool;
}

/// The chance of a packet to be lost, as far as a closed form can use it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Chance {
    /// Of each packet of this length, whatever became of others.
    Independent(f64),
    /// There is no such thing; why.
    None(&'static str),
}

/// What the models with a memory say of themselves.
const IN_BURSTS: Chance = Chance::None("packets are lost in bursts: the forms need independent losses");

macro_rules! losses {
    ($($(#[$doc:meta])* $name:literal => $model:ident,)*) => {
        /// Loss models.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Loss {
            /// Nothing is lost.
            #[default]
            #[serde(rename = "none")]
            None,
            $($(#[$doc])* #[serde(rename = $name)] $model($model),)*
        }

        /// What decides which packets are lost, for each model.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum Losing {
            None,
            $($model(<$model as Model>::Process),)*
        }

        impl Loss {
            /// The names of the models.
            pub const KINDS: &[&str] = &[$($name),*];

            /// What is wrong with the settings.
            pub fn check(&self, check: &mut Check<'_>) {
                match self {
                    Self::None => {}
                    $(Self::$model(model) => model.check(check),)*
                }
            }

            /// See [`Model::process`].
            pub fn process(&self, apart: &Stream) -> Losing {
                match self {
                    Self::None => Losing::None,
                    $(Self::$model(model) => Losing::$model(model.process(apart)),)*
                }
            }

            /// See [`Model::rates`].
            pub(crate) fn rates(&self, apart: &Stream) -> Option<Stretches> {
                match self {
                    Self::None => None,
                    $(Self::$model(model) => model.rates(apart),)*
                }
            }

            /// What formulas may know of the loss of packets of `len` bytes.
            pub fn chance(&self, len: u32) -> Chance {
                match self {
                    Self::None => Chance::Independent(0.0),
                    $(Self::$model(model) => model.chance(len),)*
                }
            }

            /// Any model with any settings; often none.
            pub fn sample(draw: &mut dyn Draw) -> Self {
                const SAMPLES: &[fn(&mut dyn Draw) -> Loss] = &[$(|draw| <$model>::sample(draw).into()),*];
                if draw.bit() {
                    return Self::None;
                }
                SAMPLES[draw.below(SAMPLES.len() as u64) as usize](draw)
            }
        }

        impl Losing {
            /// See [`Loses::loses`].
            #[inline]
            pub fn loses(&mut self, at: Time, len: u32, stream: &mut Stream) -> bool {
                // Most wires lose nothing.
                !matches!(self, Self::None) && self.decides(at, len, stream)
            }

            fn decides(&mut self, at: Time, len: u32, stream: &mut Stream) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$model(process) => process.loses(at, len, stream),)*
                }
            }
        }

        $(
            impl From<$model> for Loss {
                fn from(model: $model) -> Self {
                    Self::$model(model)
                }
            }
        )*

        impl fmt::Display for Loss {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::None => f.write_str("none"),
                    $(Self::$model(model) => model.fmt(f),)*
                }
            }
        }
    };
}
use losses;
