//! Middleboxes: what a link does to packets beyond carrying them. A packet meets those of its link as it enters it, in either direction,
//! in front of the queue ([`Chain`]).
//!
//! A kind is a file that has its settings, which are those of a plan, and implements [`Model`]; and an entry in [`Middlebox`]. Plans,
//! checks and property tests learn it from there, and scenarios by a file of its name in
//! `python/voxpath/scenario/elements/middleboxes/`.
//!
//! All work on the octets of a segment ([`segment::Segment`]), so that packets of simulated hosts and of real ones are changed by the same
//! code. A packet whose checksum is wrong passes as it is: its receiver drops it.

mod alter_data;
mod chain;
mod coalesce;
mod drop_unknown_options;
mod rewrite_sequence;
mod segment;
mod split;
mod strip_options;
mod translate;

pub use alter_data::AlterData;
pub use chain::{Chain, Met};
pub use coalesce::Coalesce;
pub use drop_unknown_options::DropUnknownOptions;
pub use rewrite_sequence::RewriteSequence;
pub use split::{OptionsOn, Split};
pub use strip_options::{Segments, StripOptions};
pub use translate::Translate;

use super::{Count, Draw};
use crate::packet::Packet;
use crate::random::Stream;
use crate::routing::Way;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use voxpath_units::Time;
use voxpath_units::check::Check;

middleboxes! {
    /// Takes options off.
    "strip_options" => StripOptions,
    /// Drops SYNs that carry options it does not know.
    "drop_unknown_options" => DropUnknownOptions,
    /// Adds an offset to the sequence numbers of each connection.
    "rewrite_sequence" => RewriteSequence,
    /// Cuts segments.
    "split" => Split,
    /// Joins segments.
    "coalesce" => Coalesce,
    /// Translates addresses and ports.
    "translate" => Translate,
    /// Changes octets of the data.
    "alter_data" => AlterData,
}

/// Which packets a middlebox looks at; others pass.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Those with such a source or destination port, of ranges with both ends; all if there is none.
    pub ports: Vec<(u16, u16)>,
    /// Those of one direction; none is both.
    pub way: Option<Way>,
}

impl Which {
    /// What is wrong with it.
    pub fn check(&self, check: &mut Check<'_>) {
        for (i, (first, last)) in self.ports.iter().enumerate() {
            let holds = first <= last;
            check.at("ports").at(i).need(holds, format_args!("begins at {first} and ends at {last}, before"));
        }
    }

    fn is_of(&self, way: Way, packet: &Packet) -> bool {
        let is_in = |port: u16| self.ports.iter().any(|&(first, last)| (first..=last).contains(&port));
        self.way.is_none_or(|only| only == way)
            && (self.ports.is_empty() || packet.ports().is_some_and(|(src, dst)| is_in(src) || is_in(dst)))
    }

    /// Any packets.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        let ports = if draw.bit() { Vec::new() } else { alloc::vec![(1, 49_152 + draw.below(4) as u16)] };
        let way = match draw.below(3) {
            0 => Some(Way::Ab),
            1 => Some(Way::Ba),
            _ => None,
        };
        Self { ports, way }
    }
}

/// What settings of a kind are.
pub trait Model: Clone + fmt::Debug + Into<Middlebox> {
    /// The middlebox at work.
    type Process: Works;

    /// It keeps account of what one direction has to undo of the other.
    const NEEDS_BOTH_WAYS: bool = false;

    /// It takes datagrams too.
    const TAKES_UDP: bool = false;

    /// What is wrong with the settings.
    fn check(&self, check: &mut Check<'_>);

    /// The middlebox at the start of a run; of settings with which nothing is wrong.
    fn process(&self, around: &Surroundings) -> Self::Process;

    /// Settings with which nothing is wrong.
    fn sample(draw: &mut dyn Draw) -> Self;
}

/// What a middlebox knows of the world.
#[derive(Debug)]
pub struct Surroundings {
    /// What it draws from.
    pub stream: Stream,
    /// All addresses of the world, by their numbers.
    pub addresses: Arc<[IpAddr]>,
}

/// A middlebox at work.
pub trait Works: fmt::Debug {
    /// Takes in an undamaged packet of TCP, or of UDP where its kind takes that.
    fn handle(&mut self, now: Time, way: Way, packet: Packet, passed: &mut Passed<'_>);

    /// When it lets go of something that it holds.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Lets go of what is due in a direction.
    fn handle_timeout(&mut self, _now: Time, _way: Way, _passed: &mut Passed<'_>) {}

    /// Packets that it holds in a direction.
    fn held(&self, _way: Way) -> u64 {
        0
    }
}

/// What a middlebox does with packets of one direction, and its account of it.
#[derive(Debug)]
pub struct Passed<'a> {
    count: &'a mut Count,
    packets: &'a mut Vec<Packet>,
    dropped: &'a mut Vec<Packet>,
}

impl Passed<'_> {
    /// A packet goes on as it came.
    pub fn pass(&mut self, packet: Packet) {
        self.count.left += 1;
        self.packets.push(packet);
    }

    /// A packet goes on that was changed.
    pub fn pass_changed(&mut self, packet: Packet) {
        self.count.marked += 1;
        self.pass(packet);
    }

    /// A packet goes on in pieces.
    pub fn pass_pieces(&mut self, pieces: Vec<Packet>) {
        self.count.duplicated += pieces.len().saturating_sub(1) as u64;
        for piece in pieces {
            self.pass_changed(piece);
        }
    }

    /// A packet ends here.
    pub fn drop(&mut self, packet: Packet) {
        self.count.dropped += 1;
        self.dropped.push(packet);
    }

    /// A packet's data goes on in another one.
    pub fn absorb(&mut self) {
        self.count.dropped += 1;
    }
}

macro_rules! middleboxes {
    ($($(#[$doc:meta])* $name:literal => $model:ident,)*) => {
        /// Kinds of middleboxes.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", deny_unknown_fields)]
        pub enum Middlebox {
            $($(#[$doc])* #[serde(rename = $name)] $model($model),)*
        }

        /// Middleboxes at work.
        #[derive(Debug)]
        enum Working {
            $($model(<$model as Model>::Process),)*
        }

        impl Middlebox {
            /// The names of the kinds.
            pub const KINDS: &[&str] = &[$($name),*];

            /// The name of its kind.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$model(_) => $name,)* }
            }

            /// What is wrong with the settings.
            pub fn check(&self, check: &mut Check<'_>) {
                match self { $(Self::$model(model) => model.check(check),)* }
            }

            /// See [`Model::NEEDS_BOTH_WAYS`].
            pub const fn needs_both_ways(&self) -> bool {
                match self { $(Self::$model(_) => <$model as Model>::NEEDS_BOTH_WAYS,)* }
            }

            const fn takes_udp(&self) -> bool {
                match self { $(Self::$model(_) => <$model as Model>::TAKES_UDP,)* }
            }

            fn process(&self, around: &Surroundings) -> Working {
                match self { $(Self::$model(model) => Working::$model(model.process(around)),)* }
            }

            /// Any kind with any settings.
            pub fn sample(draw: &mut dyn Draw) -> Self {
                const SAMPLES: &[fn(&mut dyn Draw) -> Middlebox] = &[$(|draw| <$model>::sample(draw).into()),*];
                SAMPLES[draw.below(SAMPLES.len() as u64) as usize](draw)
            }
        }

        impl Works for Working {
            fn handle(&mut self, now: Time, way: Way, packet: Packet, passed: &mut Passed<'_>) {
                match self { $(Self::$model(process) => process.handle(now, way, packet, passed),)* }
            }

            fn poll_timeout(&self) -> Option<Time> {
                match self { $(Self::$model(process) => process.poll_timeout(),)* }
            }

            fn handle_timeout(&mut self, now: Time, way: Way, passed: &mut Passed<'_>) {
                match self { $(Self::$model(process) => process.handle_timeout(now, way, passed),)* }
            }

            fn held(&self, way: Way) -> u64 {
                match self { $(Self::$model(process) => process.held(way),)* }
            }
        }

        $(
            impl From<$model> for Middlebox {
                fn from(model: $model) -> Self {
                    Self::$model(model)
                }
            }
        )*
    };
}
use middleboxes;
