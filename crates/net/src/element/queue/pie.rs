//! PIE, the proportional integral controller enhanced (RFC 8033): packets are dropped as they come, with a probability
//! that a controller moves so that the wait stays at its target.
//!
//! This is the pseudocode of Appendix A with waits measured by time stamps, and section 5.1's marking.

use super::waiting::Waiting;
use super::{Discipline, Gate, Limit, Room, Settings, Verdict};
use crate::element::{Draw, Serialiser};
use crate::pool::Handle;
use crate::random::Stream;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// The shortest update: a queue with shorter ones would keep a run from getting on.
const SHORTEST_UPDATE: Span = Span::from_micros(1);

/// Settings; the RFC's defaults are 15 ms, 15 ms, 150 ms, 1/8 and 5/4 (sections 4.1 to 4.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// The wait that is to be (QDELAY_REF).
    pub target_ns: u64,
    /// How often the probability is updated (T_UPDATE).
    pub update_ns: u64,
    /// How long a burst may last that is let through (MAX_BURST).
    pub max_burst_ns: u64,
    /// Change of the probability for each second of difference to the target.
    pub alpha: f64,
    /// Change of the probability for each second of growth from one update to the next.
    pub beta: f64,
    /// Whether packets are marked whose ends understand that, instead of dropped, while the probability is at most a tenth.
    pub ecn: bool,
}

impl Pie {
    const fn target(&self) -> Span {
        Span::from_nanos(self.target_ns)
    }

    const fn update(&self) -> Span {
        Span::from_nanos(self.update_ns)
    }
}

impl Settings for Pie {
    type Queue = Queue;

    fn check(&self, check: &mut Check<'_>) {
        check.at("target_ns").span(self.target_ns);
        check.at("update_ns").span_of_at_least(self.update_ns, SHORTEST_UPDATE);
        check.at("max_burst_ns").span(self.max_burst_ns);
        for (key, gain) in [("alpha", self.alpha), ("beta", self.beta)] {
            let possible = gain >= 0.0 && gain.is_finite();
            check.at(key).need(possible, format_args!("{gain} is not zero or above"));
        }
    }

    fn queue(&self, limit: Limit, stream: Stream) -> Queue {
        Queue {
            settings: self.clone(),
            room: Room::new(limit),
            waiting: Waiting::default(),
            controller: Controller::IDLE,
            next_update: Time::ZERO + self.update(),
            stream,
        }
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        let target_ns = draw.span().max(1);
        let update_ns = draw.span().max(SHORTEST_UPDATE.as_nanos());
        let max_burst_ns = draw.span();
        // The RFC's, or one by which a wait of twice the target moves the probability by a half.
        let alpha = if draw.bit() { 0.125 } else { 0.5e9 / target_ns as f64 };
        Self { target_ns, update_ns, max_burst_ns, alpha, beta: 10.0 * alpha, ecn: draw.bit() }
    }
}

/// The probability above which packets are dropped though they could be marked (mark_ecnth).
const MARK_AT_MOST: f64 = 0.1;
/// Below this many bytes nothing is dropped: twice the mean size of a packet (MEAN_PKTSIZE).
const FEW_BYTES: u64 = 2 * 1500;

/// The controller.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Controller {
    p: f64,
    wait: Span,
    wait_before: Span,
    burst_allowance: Span,
}

impl Controller {
    const IDLE: Self =
        Self { p: 0.0, wait: Span::ZERO, wait_before: Span::ZERO, burst_allowance: Span::ZERO };

    /// Whether both waits are below half of the target.
    fn is_calm(&self, settings: &Pie) -> bool {
        self.wait * 2 < settings.target() && self.wait_before * 2 < settings.target()
    }

    /// One update of the probability.
    fn update(&mut self, settings: &Pie) {
        let seconds = Span::as_secs_f64;
        let error = seconds(self.wait) - seconds(settings.target());
        let growth = seconds(self.wait) - seconds(self.wait_before);
        let step = (settings.alpha * error + settings.beta * growth) / scale(self.p);
        // Above a tenth it does not grow by more than two per cent at once.
        self.p += if self.p >= 0.1 { step.min(0.02) } else { step };
        if self.is_calm(settings) {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        self.wait_before = self.wait;
        self.burst_allowance =
            Span::from_nanos(self.burst_allowance.as_nanos().saturating_sub(settings.update_ns));
    }
}

/// By how much steps are smaller while the probability is small, so that they stay in proportion.
fn scale(p: f64) -> f64 {
    match p {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

/// One queue under PIE.
#[derive(Debug)]
pub(crate) struct Queue {
    settings: Pie,
    room: Room,
    waiting: Waiting,
    controller: Controller,
    /// When the next update is due; those due are made up for before anything else happens.
    next_update: Time,
    stream: Stream,
}

impl Queue {
    /// Makes the updates that are due; between two packets nothing changes but by them.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            let before = self.controller;
            self.controller.update(&self.settings);
            self.next_update += self.settings.update();
            if self.controller == before {
                // Nor will the others change anything.
                let others = now.since(self.next_update).as_nanos() / self.settings.update_ns;
                self.next_update += self.settings.update() * others;
            }
        }
    }

    /// Appendix A's drop_early, where no burst is let through.
    fn judge(&mut self) -> Verdict {
        let Self { controller, settings, stream, .. } = self;
        let spared = controller.wait_before * 2 < settings.target() && controller.p < 0.2;
        if controller.burst_allowance > Span::ZERO
            || spared
            || self.room.bytes() <= FEW_BYTES
            || stream.unit() >= controller.p
        {
            Verdict::Pass
        } else if settings.ecn && controller.p <= MARK_AT_MOST {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }
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
        self.catch_up(now);
        let len = gate.pool[&packet].len;
        if waits && !self.room.has_room(len) {
            return gate.drop(now, packet);
        }
        let verdict = self.judge();
        if let Some(packet) = gate.judge(now, packet, verdict) {
            self.room.enter(len);
            gate.admit(now, &packet);
            self.waiting.push(packet, len);
        }
        if self.controller.p == 0.0 && self.controller.is_calm(&self.settings) {
            self.controller.burst_allowance = Span::from_nanos(self.settings.max_burst_ns);
        }
    }

    fn dequeue(&mut self, now: Time, gate: &mut Gate<'_>) -> Option<Handle> {
        self.catch_up(now);
        let packet = self.remove()?;
        // Where nobody waits there is no wait.
        let wait = now.since(gate.pool[&packet].enqueued);
        self.controller.wait = if self.waiting.is_empty() { Span::ZERO } else { wait };
        Some(packet)
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn defaults() -> Pie {
        Pie {
            target_ns: 15_000_000,
            update_ns: 15_000_000,
            max_burst_ns: 150_000_000,
            alpha: 0.125,
            beta: 1.25,
            ecn: true,
        }
    }

    /// Section 4.2: p = alpha (wait - target) + beta (wait - wait before), divided by what p so far asks for.
    #[test]
    fn the_probability_moves_as_the_rfc_says() {
        // Wait and wait before in ms, probability before and after.
        let step: f64 = 0.125 * 0.010 + 1.25 * 0.005;
        for (wait, before, p, expected) in [
            (25, 20, 0.0, step / 2048.0),
            (25, 20, 0.000_005, 0.000_005 + step / 512.0),
            (25, 20, 0.000_05, 0.000_05 + step / 128.0),
            (25, 20, 0.000_5, 0.000_5 + step / 32.0),
            (25, 20, 0.005, 0.005 + step / 8.0),
            (25, 20, 0.05, 0.05 + step / 2.0),
            (25, 20, 0.5, 0.5 + step),
            // No more than two per cent at once, but as fast down as it likes.
            (200, 20, 0.5, 0.52),
            (20, 200, 0.5, 0.5 + 0.125 * 0.005 - 1.25 * 0.180),
            // Both below half of the target: it fades.
            (5, 5, 0.5, (0.5 - 0.125 * 0.010) * 0.98),
            (0, 15, 0.001, 0.0),
            (500, 0, 0.99, 1.0),
        ] {
            let mut controller =
                Controller { p, wait: MS(wait), wait_before: MS(before), burst_allowance: MS(40) };
            controller.update(&defaults());
            assert!((controller.p - expected).abs() < 1e-12, "{wait} {before} {p}: {}", controller.p);
            assert_eq!((controller.wait_before, controller.burst_allowance), (MS(wait), MS(25)));
        }
    }
}
