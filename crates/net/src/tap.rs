//! Observation: one event schema, any number of sinks.
//!
//! Whatever can be seen in a run (a packet at a place, a value of an endpoint) is an [`Event`]. A [`Tap`]
//! hands events to sinks that asked for their kind; with no such sink it costs one predicted branch.
//! Nothing that a sink does can reach back: observation is not behaviour.
//!
//! A link decides on arrival when a packet will leave and whether it will be lost, so events are
//! handed over in the order of decision and carry the time at which they happen; sinks that want the
//! order of time sort by it.

use crate::packet::{FlowId, Packet};
use crate::table::Table;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use voxpath_units::Time;

/// Where a packet was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The interface of the host with this index.
    Host(u32),
    /// The direction of a link with this index.
    Link(u32),
}

/// What happened to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A host sent it.
    Sent,
    /// A host received it.
    Received,
    /// A link's queue or serialiser took it in.
    Enqueued,
    /// A queue marked it: its ends learn of congestion.
    Marked,
    /// A queue had no room for it, or chose it.
    Dropped,
    /// The wire lost it.
    Lost,
    /// The wire damaged it.
    Corrupted,
    /// A copy of it was made.
    Duplicated,
    /// A link delivered it.
    Delivered,
}

impl Action {
    /// The name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
            Self::Enqueued => "enqueued",
            Self::Marked => "marked",
            Self::Dropped => "dropped",
            Self::Lost => "lost",
            Self::Corrupted => "corrupted",
            Self::Duplicated => "duplicated",
            Self::Delivered => "delivered",
        }
    }
}

/// One thing that can be seen.
#[derive(Debug)]
pub enum Event<'a> {
    /// A packet, somewhere.
    Packet {
        /// When.
        at: Time,
        /// Where.
        place: Place,
        /// What.
        action: Action,
        /// The packet.
        packet: &'a Packet,
    },
    /// A value of an endpoint, on change.
    Sample {
        /// When.
        at: Time,
        /// The flow that the endpoint belongs to.
        flow: FlowId,
        /// Which end: 0 opened the flow, 1 answered.
        end: u16,
        /// Which subflow of Multipath TCP, from 1 on; 0 where there is none.
        subflow: u16,
        /// The value's name in the metric dictionary.
        metric: &'static str,
        /// The value, in the dictionary's unit.
        value: u64,
    },
}

/// Kinds of events, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interest(u8);

impl Interest {
    /// No event.
    pub const NOTHING: Self = Self(0);
    /// Packets at links.
    pub const LINKS: Self = Self(1);
    /// Packets at hosts.
    pub const HOSTS: Self = Self(2);
    /// Values of endpoints.
    pub const SAMPLES: Self = Self(4);

    const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Takes events in.
pub trait Sink: Send {
    /// The kinds that this sink wants to see.
    fn interest(&self) -> Interest;
    /// Bytes that it holds.
    fn memory(&self) -> usize;
    /// One event of such a kind.
    fn record(&mut self, event: &Event<'_>);
    /// What came of it, once the run has ended at `ended`: what was to happen later has not happened.
    fn finish(self: Box<Self>, ended: Time) -> Output;
}

/// What a sink leaves behind.
#[derive(Debug)]
pub enum Output {
    /// Columns.
    Table(Table),
    /// A file's content.
    File {
        /// Name of what was recorded, for the file's name.
        name: String,
        /// The content.
        bytes: Vec<u8>,
    },
}

/// Hands events to sinks.
#[derive(Default)]
pub struct Tap {
    interest: Interest,
    sinks: Vec<Box<dyn Sink>>,
}

impl Tap {
    /// A tap without sinks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sink.
    pub fn attach(&mut self, sink: Box<dyn Sink>) {
        self.interest.0 |= sink.interest().0;
        self.sinks.push(sink);
    }

    /// Bytes that the sinks hold.
    pub fn memory(&self) -> usize {
        self.sinks.iter().map(|sink| sink.memory()).sum()
    }

    /// Whether any sink wants events of these kinds.
    pub const fn wants(&self, kinds: Interest) -> bool {
        !cfg!(feature = "untapped") && self.interest.overlaps(kinds)
    }

    /// A packet was seen.
    #[inline]
    pub fn packet(&mut self, at: Time, place: Place, action: Action, packet: &Packet) {
        let kind = match place {
            Place::Host(_) => Interest::HOSTS,
            Place::Link(_) => Interest::LINKS,
        };
        if self.wants(kind) {
            self.show(kind, at, place, action, packet);
        }
    }

    /// Out of line with all that it makes: what nobody observes is not to push what it passes through out of the cache of instructions.
    #[cold]
    #[inline(never)]
    fn show(&mut self, kind: Interest, at: Time, place: Place, action: Action, packet: &Packet) {
        self.emit(kind, &Event::Packet { at, place, action, packet });
    }

    /// An endpoint's value changed. Ask [`Tap::wants`] before computing it.
    pub fn sample(
        &mut self,
        at: Time,
        (flow, end, subflow): (FlowId, u16, u16),
        metric: &'static str,
        value: u64,
    ) {
        self.emit(Interest::SAMPLES, &Event::Sample { at, flow, end, subflow, metric, value });
    }

    /// Ends the recording of a run that ended at `ended`.
    pub fn finish(self, ended: Time) -> impl Iterator<Item = Output> {
        self.sinks.into_iter().map(move |sink| sink.finish(ended))
    }

    fn emit(&mut self, kind: Interest, event: &Event<'_>) {
        for sink in &mut self.sinks {
            if sink.interest().overlaps(kind) {
                sink.record(event);
            }
        }
    }
}

impl core::fmt::Debug for Tap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tap").field("interest", &self.interest).field("sinks", &self.sinks.len()).finish()
    }
}
