//! What a packet meets behind the serialiser: loss → corruption → duplication → delay line.

use super::{Around, CORRUPTION_APART, Direction, LOSS_APART, unchanging};
use crate::element::{Delay, DelayLine, Losing, Loss, checked, saturating_after};
use crate::event::{EventQueue, Target, Ticket};
use crate::pool::Handle;
use crate::random::Stream;
use crate::tap::{Action, Place};
use alloc::boxed::Box;
use voxpath_units::{Prob, Span, Time};

#[derive(Debug)]
pub(super) struct Wire {
    medium: Medium,
    line: DelayLine,
    /// The earliest delivery that has an entry in the event queue.
    armed: Option<(Time, Ticket)>,
    target: Target,
    place: Place,
}

/// What happens between the serialiser and the far end. Most links delay and do no more: they are kept small, as of many links each one
/// that a packet meets has to come into the cache.
#[derive(Debug)]
enum Medium {
    Plain(Span),
    Chancy(Box<Chances>),
}

#[derive(Debug)]
struct Chances {
    loss: Losing,
    loss_stream: Stream,
    /// For what a loss draws whatever the packets do; it stays at its start.
    loss_apart: Stream,
    corruption: Losing,
    corruption_stream: Stream,
    duplicate: Prob,
    duplicate_stream: Stream,
    reorder: Option<(Prob, Span)>,
    reorder_stream: Stream,
    delay: Delay,
    delay_stream: Stream,
    /// What others are not to overtake arrives then.
    not_before: Time,
}

/// What becomes of a packet behind the serialiser.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fate {
    /// How many of it will be delivered: none if it is lost.
    pub(super) copies: u8,
    pub(super) corrupted: bool,
}

impl Wire {
    pub(super) fn new(
        direction: &Direction,
        changing: bool,
        stream: &dyn Fn(&str) -> Stream,
        target: Target,
        place: Place,
    ) -> Self {
        let delay = Delay::new(direction.delay_ns, direction.delay_variation.as_ref());
        let duplicate = checked(direction.duplicate);
        let medium = match (direction, delay) {
            (
                Direction { loss: Loss::None, corruption: Loss::None, reorder: None, .. },
                Delay::Constant(delay),
            ) if !changing && duplicate == Prob::NEVER => Medium::Plain(delay),
            (_, delay) => Medium::Chancy(Box::new(Chances {
                loss: direction.loss.process(&stream(LOSS_APART)),
                loss_stream: stream("loss"),
                loss_apart: stream(LOSS_APART),
                corruption: direction.corruption.process(&stream(CORRUPTION_APART)),
                corruption_stream: stream("corruption"),
                duplicate,
                duplicate_stream: stream("duplication"),
                reorder: direction
                    .reorder
                    .as_ref()
                    .map(|reorder| (checked(reorder.p), Span::from_nanos(reorder.by_ns))),
                reorder_stream: stream("reordering"),
                delay,
                delay_stream: stream("delay"),
                not_before: Time::ZERO,
            })),
        };
        Self { medium, line: DelayLine::new(), armed: None, target, place }
    }

    pub(super) const fn place(&self) -> Place {
        self.place
    }

    pub(super) const fn target(&self) -> Target {
        self.target
    }

    pub(super) fn delay(&self, now: Time) -> Span {
        match &self.medium {
            Medium::Plain(delay) => *delay,
            Medium::Chancy(chances) => chances.delay.about(now),
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.line.len()
    }

    pub(super) fn set_loss(&mut self, loss: &Loss) {
        let chances = self.chances();
        chances.loss = loss.process(&chances.loss_apart);
    }

    pub(super) fn set_delay(&mut self, delay: Delay) {
        let last = self.line.last_in_order();
        let chances = self.chances();
        chances.not_before = last.map_or(chances.not_before, |last| last.max(chances.not_before));
        chances.delay = delay;
    }

    fn chances(&mut self) -> &mut Chances {
        match &mut self.medium {
            Medium::Chancy(chances) => chances,
            Medium::Plain(_) => unchanging(),
        }
    }

    /// Takes a packet of `len` bytes in that leaves the serialiser at `end`.
    #[inline(always)]
    pub(super) fn take(&mut self, end: Time, packet: Handle, len: u32, around: &mut Around<'_>) -> Fate {
        let fate = match &mut self.medium {
            Medium::Plain(delay) => {
                self.line.push(saturating_after(end, *delay), around.events.ticket(), packet);
                Fate { copies: 1, corrupted: false }
            }
            Medium::Chancy(chances) => chances.take(end, packet, len, self.place, &mut self.line, around),
        };
        self.arm(around.events);
        fate
    }

    /// The delivery that `ticket` stands for; none if another was due before.
    pub(super) fn deliver(&mut self, now: Time, ticket: Ticket, events: &mut EventQueue) -> Option<Handle> {
        if self.line.next() != Some((now, ticket)) {
            // A packet that was entered later overtook the one that this wake-up was for.
            return None;
        }
        let packet = self.line.pop();
        self.armed = None;
        self.arm(events);
        packet
    }

    /// Enters the next delivery into the event queue unless that, or an earlier one, is there.
    fn arm(&mut self, events: &mut EventQueue) {
        let next = self.line.next();
        if let Some((at, ticket)) = next
            && self.armed.is_none_or(|armed| (at, ticket) < armed)
        {
            events.push_with(at, ticket, self.target);
            self.armed = next;
        }
    }
}

impl Chances {
    fn take(
        &mut self,
        end: Time,
        packet: Handle,
        len: u32,
        place: Place,
        line: &mut DelayLine,
        around: &mut Around<'_>,
    ) -> Fate {
        if self.loss.loses(end, len, &mut self.loss_stream) {
            around.tap.packet(end, place, Action::Lost, &around.pool[&packet]);
            around.pool.discard(packet);
            return Fate { copies: 0, corrupted: false };
        }
        let corrupted = self.corruption.loses(end, len, &mut self.corruption_stream);
        if corrupted {
            around.pool[&packet].corrupted = true;
            around.tap.packet(end, place, Action::Corrupted, &around.pool[&packet]);
        }
        let mut copies = 1;
        if self.duplicate > Prob::NEVER && self.duplicate_stream.happens(self.duplicate) {
            around.tap.packet(end, place, Action::Duplicated, &around.pool[&packet]);
            let copy = around.pool.insert(around.pool[&packet].clone());
            self.enter_line(end, copy, line, around.events);
            copies += 1;
        }
        self.enter_line(end, packet, line, around.events);
        Fate { copies, corrupted }
    }

    #[inline]
    fn enter_line(&mut self, end: Time, packet: Handle, line: &mut DelayLine, events: &mut EventQueue) {
        let ticket = events.ticket();
        let mut at = saturating_after(end, self.delay.of(end, &mut self.delay_stream));
        if !self.delay.lets_overtake() {
            at = at.max(self.not_before);
        }
        match self.reorder {
            Some((p, by)) if self.reorder_stream.happens(p) => {
                line.push_held_back(saturating_after(at, by), ticket, packet);
            }
            _ => {
                if self.delay.varies() {
                    self.not_before = self.not_before.max(at);
                }
                line.push(at, ticket, packet);
            }
        }
    }
}
