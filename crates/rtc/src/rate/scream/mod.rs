//! Self-Clocked Rate Adaptation for Multimedia (SCReAM): what version 1 (`v1.rs`, RFC 8298) and version 2 (`v2.rs`,
//! draft-johansson-ccwg-rfc8298bis-screamv2) have in common. Times are seconds here, as in their pseudocode.

mod v1;
mod v2;

pub use v1::Scream;
pub use v2::Scream2;

use super::Feedback;
use super::delay::BaseDelay;
use alloc::collections::{BTreeMap, VecDeque};
use voxpath_units::{Span, Time};

const MSS: f64 = 1000.0;
const RATE_PACE_MIN: f64 = 50_000.0;
/// Nothing was heard for this long, or for two round trips: one packet more may be sent each time, so that reports can come again. The
/// documents ask for a minimum rate and do not say how it is kept.
const SILENCE: Span = Span::from_millis(200);

/// What feedback tells, the same for both versions.
#[derive(Debug)]
struct Path {
    base: BaseDelay,
    /// The queueing delay of the last report, seconds.
    qdelay: f64,
    s_rtt: Option<f64>,
    /// Packets that a report has as missing, and when it came.
    missing: BTreeMap<u64, Time>,
    /// How late what was missing has arrived (section 4.1.2.4).
    reordering: Span,
    heard: Time,
    in_flight: u64,
    /// Bytes that may be on their way after a silence.
    opened: u64,
}

/// What a report adds.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    newly_acked: f64,
    newly_acked_ce: f64,
    packets: f64,
    packets_ce: f64,
    lost: bool,
}

impl Path {
    fn new(now: Time) -> Self {
        Self {
            base: BaseDelay::new(now),
            qdelay: 0.0,
            s_rtt: None,
            missing: BTreeMap::new(),
            reordering: Span::ZERO,
            heard: now,
            in_flight: 0,
            opened: 0,
        }
    }

    /// Another path: what is on its way remains so.
    fn change(&self, now: Time) -> Self {
        Self { in_flight: self.in_flight, ..Self::new(now) }
    }

    fn s_rtt(&self) -> f64 {
        // Before the first report; a round trip is never nothing.
        self.s_rtt.unwrap_or(0.1).max(1e-3)
    }

    fn hear(&mut self, feedback: &Feedback<'_>) -> Heard {
        let now = feedback.now;
        (self.heard, self.in_flight, self.opened) = (now, feedback.in_flight, 0);
        if let Some(sample) = feedback.round_trip().map(Span::as_secs_f64) {
            self.s_rtt = Some(self.s_rtt.map_or(sample, |s_rtt| 0.875 * s_rtt + 0.125 * sample));
        }
        if let Some((packet, arrival)) = feedback.received().last() {
            let sample = self.base.queueing_ms(now, packet.sent, arrival);
            self.qdelay = sample.map_or(self.qdelay, |ms| ms / 1e3);
        }
        let mut heard = Heard::default();
        for packet in feedback.packets {
            if packet.arrival.is_none() {
                self.missing.insert(packet.seq, now);
            } else if let Some(since) = self.missing.remove(&packet.seq) {
                let most = Span::from_secs_f64(self.s_rtt());
                self.reordering = self.reordering.max(now.since(since)).min(most);
            }
            if !packet.was_missing {
                heard.newly_acked += f64::from(packet.bytes);
                heard.packets += 1.0;
            }
            if packet.ce {
                heard.newly_acked_ce += f64::from(packet.bytes);
                heard.packets_ce += 1.0;
            }
        }
        heard.lost = self.give_up(now);
        heard
    }

    /// Whether a missing packet has not arrived within the reordering window.
    fn give_up(&mut self, now: Time) -> bool {
        let before = self.missing.len();
        let reordering = self.reordering;
        self.missing.retain(|_, since| now.since(*since) < reordering);
        self.missing.len() < before
    }

    /// Called every 50 ms.
    fn watch_silence(&mut self, now: Time) {
        let silence = SILENCE.max(Span::from_secs_f64(2.0 * self.s_rtt()));
        if now.since(self.heard) >= silence {
            self.heard = now;
            self.opened = self.in_flight + 2 * MSS as u64;
        }
    }

    /// The window, or more after a silence.
    fn window(&self, bytes: f64) -> u64 {
        (bytes as u64).max(self.opened)
    }
}

/// The target of the queueing delay, which rises where loss-based flows compete (section 4.1.2.3).
#[derive(Debug)]
struct DelayTarget {
    seconds: f64,
    low: f64,
    high: f64,
    history: VecDeque<f64>,
    loss_event_rate: f64,
    /// When the present round trip began, and whether it had a loss.
    round: (Time, bool),
}

/// Samples that the variance and the average are of.
const VARIANCE_OF: usize = 200;
const AVERAGE_OF: usize = 50;
/// Smoothing of the fraction of round trips with losses; the documents leave it open.
const LOSS_EVENT_SMOOTHING: f64 = 0.01;

impl DelayTarget {
    fn new(now: Time, low: f64, high: f64) -> Self {
        let history = VecDeque::with_capacity(VARIANCE_OF);
        Self { seconds: low, low, high, history, loss_event_rate: 0.0, round: (now, false) }
    }

    fn note_loss(&mut self, now: Time, lost: bool, s_rtt: f64) {
        self.round.1 |= lost;
        if now.since(self.round.0).as_secs_f64() >= s_rtt {
            let event = f64::from(u8::from(self.round.1));
            self.loss_event_rate += LOSS_EVENT_SMOOTHING * (event - self.loss_event_rate);
            self.round = (now, false);
        }
    }

    /// `adjust_qdelay_target`.
    fn adjust(&mut self, qdelay: f64) {
        if self.history.len() == VARIANCE_OF {
            self.history.pop_front();
        }
        self.history.push_back(qdelay / self.low);
        let mean = |samples: &mut dyn Iterator<Item = f64>| {
            let (sum, n) = samples.fold((0.0, 0.0), |(sum, n), sample| (sum + sample, n + 1.0));
            sum / n
        };
        let all = mean(&mut self.history.iter().copied());
        let variance = mean(&mut self.history.iter().map(|sample| (sample - all) * (sample - all)));
        let average = mean(&mut self.history.iter().rev().take(AVERAGE_OF).copied());
        let new = (average + libm::sqrt(variance)) * self.low;
        self.seconds = if self.loss_event_rate > 0.002 {
            1.5 * new
        } else if variance < 0.2 {
            new
        } else if new < self.low {
            new.max(0.5 * self.seconds)
        } else {
            0.9 * self.seconds
        };
        self.seconds = self.seconds.min(self.high).max(self.low);
    }
}

/// The most of the last while: of pairs of a time and a value, by steps.
#[derive(Debug, Default)]
struct Most {
    steps: VecDeque<(Time, f64)>,
}

impl Most {
    fn note(&mut self, now: Time, value: f64, within: Span) {
        while self.steps.back().is_some_and(|&(_, other)| other <= value) {
            self.steps.pop_back();
        }
        self.steps.push_back((now, value));
        while self.steps.front().is_some_and(|&(at, _)| now.since(at) > within) {
            self.steps.pop_front();
        }
    }

    fn value(&self) -> f64 {
        self.steps.front().map_or(0.0, |&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::PacketResult;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_target_rises_with_losses_and_stays_within_its_bounds() {
        let mut target = DelayTarget::new(at(0), 0.1, 0.4);
        for _ in 0..200 {
            target.adjust(0.2);
        }
        // Variance 0, average 2: the target is what the delay is.
        assert!((target.seconds - 0.2).abs() < 1e-9);
        target.note_loss(at(0), true, 0.1);
        target.note_loss(at(100), false, 0.1);
        assert!((target.loss_event_rate - 0.01).abs() < 1e-12);
        target.adjust(0.2);
        assert!((target.seconds - 0.3).abs() < 1e-9);
        for _ in 0..200 {
            target.adjust(2.0);
        }
        assert_eq!(target.seconds, 0.4);
        target.loss_event_rate = 0.0;
        // The variance is high now and the delay low: down fast, then to the lower bound.
        target.adjust(0.0);
        assert!(target.seconds <= 0.4 * 0.9 + 1e-9);
        for _ in 0..200 {
            target.adjust(0.0);
        }
        assert_eq!(target.seconds, 0.1);
    }

    #[test]
    fn a_loss_is_one_after_the_reordering_window() {
        let mut path = Path::new(at(0));
        let result = |seq: u64, arrival: Option<Time>, was_missing: bool| PacketResult {
            seq,
            sent: at(seq),
            bytes: 1000,
            arrival,
            ce: false,
            probe: None,
            was_missing,
        };
        let hear = |path: &mut Path, now: u64, packets: &[PacketResult]| {
            path.hear(&Feedback { now: at(now), packets, in_flight: 0 }).lost
        };
        assert!(hear(&mut path, 100, &[result(0, None, false), result(1, Some(at(60)), false)]));
        // One that turns out to be late opens the window.
        path.missing.insert(2, at(200));
        assert!(!hear(&mut path, 220, &[result(2, Some(at(90)), true), result(3, Some(at(80)), false)]));
        assert_eq!(path.reordering, Span::from_millis(20));
        assert!(!hear(&mut path, 300, &[result(4, None, false), result(5, Some(at(250)), false)]));
        assert!(hear(&mut path, 320, &[result(6, Some(at(260)), false)]));
    }

    #[test]
    fn the_most_of_a_while_is_kept() {
        let mut most = Most::default();
        for (ms, value) in [(0, 5.0), (100, 9.0), (200, 3.0), (300, 4.0)] {
            most.note(at(ms), value, Span::from_millis(500));
        }
        assert_eq!(most.value(), 9.0);
        most.note(at(601), 1.0, Span::from_millis(500));
        assert_eq!(most.value(), 4.0);
    }
}
