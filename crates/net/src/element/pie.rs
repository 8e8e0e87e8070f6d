//! PIE, the proportional integral controller enhanced (RFC 8033): packets are dropped as they come, with a probability
//! that a controller moves so that the wait stays at its target.
//!
//! This is the pseudocode of Appendix A with waits measured by time stamps, and section 5.1's marking.

use super::Serialiser;
use super::discipline::{Discipline, Gate, Waiting};
use super::queue::{DropTail, Limit};
use super::red::Verdict;
use crate::pool::Handle;
use crate::random::Stream;
use voxpath_units::{Span, Time};

/// Settings of PIE; the RFC's defaults are 15 ms, 15 ms, 150 ms, 1/8 and 5/4 (sections 4.1 to 4.4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PieSettings {
    /// The wait that is to be (QDELAY_REF).
    pub target: Span,
    /// How often the probability is updated (T_UPDATE); above zero.
    pub update: Span,
    /// How long a burst may last that is let through (MAX_BURST).
    pub max_burst: Span,
    /// Change of the probability for each second of difference to the target.
    pub alpha: f64,
    /// Change of the probability for each second of growth from one update to the next.
    pub beta: f64,
    /// Whether packets are marked whose ends understand that, instead of dropped, while the probability is at most a tenth.
    pub ecn: bool,
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
    fn is_calm(&self, settings: &PieSettings) -> bool {
        self.wait * 2 < settings.target && self.wait_before * 2 < settings.target
    }

    /// One update of the probability.
    fn update(&mut self, settings: &PieSettings) {
        let seconds = Span::as_secs_f64;
        let error = seconds(self.wait) - seconds(settings.target);
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
            Span::from_nanos(self.burst_allowance.as_nanos().saturating_sub(settings.update.as_nanos()));
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
pub(crate) struct Pie {
    settings: PieSettings,
    room: DropTail,
    waiting: Waiting,
    controller: Controller,
    /// When the next update is due; those due are made up for before anything else happens.
    next_update: Time,
    stream: Stream,
}

impl Pie {
    pub(crate) fn new(limit: Limit, settings: PieSettings, stream: Stream) -> Self {
        Self {
            settings,
            room: DropTail::new(limit),
            waiting: Waiting::default(),
            controller: Controller::IDLE,
            next_update: Time::ZERO + settings.update,
            stream,
        }
    }

    /// Makes the updates that are due; between two packets nothing changes but by them.
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            let before = self.controller;
            self.controller.update(&self.settings);
            self.next_update += self.settings.update;
            if self.controller == before {
                // Nor will the others change anything.
                let others = now.since(self.next_update).as_nanos() / self.settings.update.as_nanos();
                self.next_update += self.settings.update * others;
            }
        }
    }

    /// Appendix A's drop_early, where no burst is let through.
    fn judge(&mut self) -> Verdict {
        let Self { controller, settings, stream, .. } = self;
        let spared = controller.wait_before * 2 < settings.target && controller.p < 0.2;
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

impl Discipline for Pie {
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
            self.controller.burst_allowance = self.settings.max_burst;
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

    fn defaults() -> PieSettings {
        PieSettings {
            target: MS(15),
            update: MS(15),
            max_burst: MS(150),
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
