//! Propagation: how long it takes, and the line of packets in flight. It has no capacity limit, and takes no time of
//! the serialiser.

use super::capacity::Steps;
use crate::event::Ticket;
use crate::pool::Handle;
use crate::random::Stream;
use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::{Ordering, Reverse};
use voxpath_units::{Prob, Span, Time};

/// How long packets are on their way.
#[derive(Debug, Clone, PartialEq)]
pub enum Delay {
    /// All as long.
    Constant(Span),
    /// At random, packet by packet.
    Random(RandomDelay),
    /// As long as the step says that holds when they leave the serialiser.
    Steps(Steps<Span>),
}

/// A delay with a distribution, correlated from packet to packet.
///
/// A stationary sequence of normal values with this correlation from one to the next (autoregressive of order 1) is turned
/// into values of the distribution by its quantiles; so the distribution is kept whatever the correlation, unlike in
/// netem. Between normal delays the correlation is as said, between others it is that of the underlying values.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomDelay {
    distribution: Distribution,
    correlation: f64,
    /// Whether packets may overtake each other; else one waits for that before it.
    overtaking: bool,
    /// The normal value of the packet before.
    last: Option<f64>,
}

/// Distributions of a delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Normal; what is below zero counts as none.
    Normal {
        /// Mean.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
    },
    /// Pareto's of the first kind: longer than d with probability (least / d)^shape.
    Pareto {
        /// The shortest delay.
        least: Span,
        /// The tail's exponent: the mean exists above 1, the variance above 2.
        shape: f64,
    },
}

impl RandomDelay {
    /// A delay of this distribution.
    pub const fn new(distribution: Distribution, correlation: Prob, overtaking: bool) -> Self {
        Self { distribution, correlation: correlation.get(), overtaking, last: None }
    }

    fn draw(&mut self, stream: &mut Stream) -> Span {
        let rho = self.correlation;
        let fresh = stream.normal();
        let value = self.last.map_or(fresh, |last| rho * last + libm::sqrt(1.0 - rho * rho) * fresh);
        self.last = Some(value);
        Span::from_secs_f64(match self.distribution {
            Distribution::Normal { mean, deviation } => mean.as_secs_f64() + deviation.as_secs_f64() * value,
            Distribution::Pareto { least, shape } => {
                let longer = 0.5 * libm::erfc(value * core::f64::consts::FRAC_1_SQRT_2);
                least.as_secs_f64() * libm::pow(longer, -1.0 / shape)
            }
        })
    }
}

impl Delay {
    /// The delay of a packet that leaves the serialiser at `at`.
    #[inline]
    pub fn of(&mut self, at: Time, stream: &mut Stream) -> Span {
        match self {
            Self::Constant(span) => *span,
            _ => self.varying(at, stream),
        }
    }

    fn varying(&mut self, at: Time, stream: &mut Stream) -> Span {
        match self {
            Self::Constant(span) => *span,
            Self::Random(random) => random.draw(stream),
            Self::Steps(steps) => steps.at(at).0,
        }
    }

    /// Whether packets may be overtaken, if `of` says so.
    pub const fn lets_overtake(&self) -> bool {
        matches!(self, Self::Random(RandomDelay { overtaking: true, .. }))
    }

    /// Whether it differs from packet to packet.
    pub const fn varies(&self) -> bool {
        !matches!(self, Self::Constant(_))
    }

    /// About how long it is at `at`: its mean, or the shortest where there is none.
    pub fn about(&self, at: Time) -> Span {
        match self {
            Self::Constant(span) => *span,
            Self::Steps(steps) => steps.at(at).0,
            Self::Random(random) => match random.distribution {
                Distribution::Normal { mean, .. } => mean,
                Distribution::Pareto { least, shape } if shape > 1.0 => {
                    Span::from_secs_f64(least.as_secs_f64() * shape / (shape - 1.0))
                }
                Distribution::Pareto { least, .. } => least,
            },
        }
    }
}

impl Default for Delay {
    fn default() -> Self {
        Self::Constant(Span::ZERO)
    }
}

impl From<Span> for Delay {
    fn from(span: Span) -> Self {
        Self::Constant(span)
    }
}

/// Packets in flight, in order of delivery.
///
/// Packets of one constant delay leave in the order in which they came: a ring holds them. Only what was held
/// back longer than its successors goes through a heap.
#[derive(Debug, Default)]
pub struct DelayLine {
    in_order: VecDeque<InFlight>,
    held_back: BinaryHeap<Reverse<InFlight>>,
}

#[derive(Debug)]
struct InFlight {
    at: Time,
    ticket: Ticket,
    packet: Handle,
}

impl DelayLine {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a packet that is to be delivered at `at`, in the place of `ticket`.
    pub fn push(&mut self, at: Time, ticket: Ticket, packet: Handle) {
        let flight = InFlight { at, ticket, packet };
        match self.in_order.back() {
            Some(last) if last.key() > flight.key() => self.held_back.push(Reverse(flight)),
            _ => self.in_order.push_back(flight),
        }
    }

    /// As [`DelayLine::push`] for a packet that others will overtake: kept out of the ring, lest all
    /// that follows looks late.
    pub fn push_held_back(&mut self, at: Time, ticket: Ticket, packet: Handle) {
        self.held_back.push(Reverse(InFlight { at, ticket, packet }));
    }

    /// When, and in which place, the next delivery is due.
    pub fn next(&self) -> Option<(Time, Ticket)> {
        match (self.in_order.front(), self.held_back.peek()) {
            (Some(ordered), Some(Reverse(late))) => Some(ordered.key().min(late.key())),
            (Some(flight), None) | (None, Some(Reverse(flight))) => Some(flight.key()),
            (None, None) => None,
        }
    }

    /// When the last of those is due that were not held back.
    pub fn last_in_order(&self) -> Option<Time> {
        self.in_order.back().map(|flight| flight.at)
    }

    /// Gives out the next packet.
    pub fn pop(&mut self) -> Option<Handle> {
        let late_first = match (self.in_order.front(), self.held_back.peek()) {
            (Some(ordered), Some(Reverse(late))) => late.key() < ordered.key(),
            (None, Some(_)) => true,
            _ => false,
        };
        if late_first {
            return self.held_back.pop().map(|Reverse(flight)| flight.packet);
        }
        self.in_order.pop_front().map(|flight| flight.packet)
    }

    /// Packets in flight.
    pub fn len(&self) -> usize {
        self.in_order.len() + self.held_back.len()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl InFlight {
    fn key(&self) -> (Time, Ticket) {
        (self.at, self.ticket)
    }
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl Eq for InFlight {}
impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
