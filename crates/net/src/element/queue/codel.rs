//! Controlled delay (RFC 8289): packets are dropped as they leave, if all of an interval's have waited too long.

use super::waiting::Waiting;
use super::{Discipline, Gate, Limit, Room, Settings};
use crate::element::{Draw, Serialiser};
use crate::pool::Handle;
use crate::random::Stream;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Settings; the RFC's defaults are 5 ms and 100 ms (section 4.2 and 4.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// The wait that is acceptable even if it stands (TARGET).
    pub target_ns: u64,
    /// How long the wait may be above it before that counts (INTERVAL), about a round-trip time.
    pub interval_ns: u64,
    /// Whether packets are marked whose ends understand that, instead of dropped.
    pub ecn: bool,
}

impl Codel {
    const fn target(&self) -> Span {
        Span::from_nanos(self.target_ns)
    }

    const fn interval(&self) -> Span {
        Span::from_nanos(self.interval_ns)
    }
}

impl Settings for Codel {
    type Queue = Queue;

    fn check(&self, check: &mut Check<'_>) {
        check.at("target_ns").span(self.target_ns);
        check.at("interval_ns").span_above_zero(self.interval_ns);
    }

    fn queue(&self, limit: Limit, _stream: Stream) -> Queue {
        Queue {
            settings: self.clone(),
            room: Room::new(limit),
            waiting: Waiting::default(),
            control: Control::default(),
            mtu: 0,
        }
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self { target_ns: draw.span(), interval_ns: draw.span().max(1), ecn: draw.bit() }
    }
}

/// CoDel's estimator and control law over one queue (section 5).
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// When the wait will have been above target for an interval; none while it is not.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
    last_count: u32,
}

impl Control {
    /// The packet that leaves `waiting`, after those that are dropped; the length of each goes to `gone`. A queue of no more
    /// than `mtu` bytes is no standing queue, however long it waits.
    pub(crate) fn dequeue(
        &mut self,
        now: Time,
        settings: &Codel,
        mtu: u32,
        waiting: &mut Waiting,
        gone: &mut dyn FnMut(u32),
        gate: &mut Gate<'_>,
    ) -> Option<Handle> {
        let mut next = |control: &mut Self, gate: &Gate<'_>| {
            let (packet, len) = waiting.pop().or_else(|| {
                control.first_above = None;
                None
            })?;
            gone(len);
            let wait = now.since(gate.pool[&packet].enqueued);
            let ok_to_drop = control.stands(now, settings, wait, waiting.bytes() <= u64::from(mtu));
            Some((packet, ok_to_drop))
        };
        let Some((mut packet, mut ok_to_drop)) = next(self, gate) else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if settings.ecn && gate.mark(now, &packet) {
                    self.drop_next = control_law(self.drop_next, settings.interval(), self.count);
                    return Some(packet);
                }
                gate.drop(now, packet);
                let Some(following) = next(self, gate) else {
                    self.dropping = false;
                    return None;
                };
                (packet, ok_to_drop) = following;
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = control_law(self.drop_next, settings.interval(), self.count);
                }
            }
        } else if ok_to_drop {
            let marked = settings.ecn && gate.mark(now, &packet);
            let following = if marked {
                Some(packet)
            } else {
                gate.drop(now, packet);
                next(self, gate).map(|(packet, _)| packet)
            };
            self.dropping = true;
            // Dropping that was left only lately goes on at about the rate that it had (section 4.2).
            let delta = self.count.saturating_sub(self.last_count);
            let lately = now.since(self.drop_next) < settings.interval() * 16;
            self.count = if delta > 1 && lately { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = control_law(now, settings.interval(), self.count);
            return following;
        }
        Some(packet)
    }

    /// Whether the wait has been above target for an interval.
    fn stands(&mut self, now: Time, settings: &Codel, wait: Span, short: bool) -> bool {
        if wait < settings.target() || short {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + settings.interval())
    }
}

/// When to drop next: the interval over the square root of how many were dropped.
fn control_law(from: Time, interval: Span, count: u32) -> Time {
    let nanos = interval.as_nanos() as f64 / libm::sqrt(f64::from(count));
    from + Span::from_nanos(libm::round(nanos) as u64)
}

/// One queue under CoDel.
#[derive(Debug)]
pub(crate) struct Queue {
    settings: Codel,
    room: Room,
    waiting: Waiting,
    control: Control,
    /// The longest packet so far.
    mtu: u32,
}

impl Discipline for Queue {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Handle,
        waits: bool,
        _serialiser: &mut Serialiser,
        gate: &mut Gate<'_>,
    ) {
        let len = gate.pool[&packet].len;
        if waits && !self.room.has_room(len) {
            return gate.drop(now, packet);
        }
        self.mtu = self.mtu.max(len);
        self.room.enter(len);
        gate.admit(now, &packet);
        self.waiting.push(packet, len);
    }

    fn dequeue(&mut self, now: Time, gate: &mut Gate<'_>) -> Option<Handle> {
        let Self { settings, room, waiting, control, mtu } = self;
        control.dequeue(now, settings, *mtu, waiting, &mut |len| room.dequeue(len), gate)
    }

    fn remove(&mut self) -> Option<Handle> {
        let (packet, len) = self.waiting.pop()?;
        self.room.dequeue(len);
        Some(packet)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.room.set_limit(limit);
    }

    fn packets(&self) -> u32 {
        self.room.packets()
    }

    fn bytes(&self) -> u64 {
        self.room.bytes()
    }
}
