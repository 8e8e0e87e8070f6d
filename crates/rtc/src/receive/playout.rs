//! The jitter buffer: when a frame is due.

use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// How long frames are kept before they are played.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Buffer {
    /// The first frame waits so long, and all others are played as far behind it as they were captured.
    Fixed {
        /// So long.
        delay_ns: u64,
    },
    /// As long as it takes for a share of the frames to be there, over the fastest of the last two seconds.
    Adaptive {
        /// The share.
        quantile: f64,
        /// Not shorter.
        least_ns: u64,
        /// Not longer.
        most_ns: u64,
    },
}

impl Buffer {
    /// What keeps the settings from being used.
    pub fn check(&self, check: &mut Check<'_>) {
        match *self {
            Self::Fixed { delay_ns } => check.at("delay_ns").span(delay_ns),
            Self::Adaptive { quantile, least_ns, most_ns } => {
                check.at("quantile").need((0.5..1.0).contains(&quantile), "is from 0.5 to below 1");
                check.at("most_ns").span(most_ns);
                check.at("least_ns").need(least_ns <= most_ns, "is at most most_ns");
            }
        }
    }

    /// Settings with which nothing is wrong, for property tests.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        match draw.bit() {
            true => Self::Fixed { delay_ns: draw.below(400_000_000) },
            false => Self::Adaptive {
                quantile: 0.5 + 0.49 * draw.unit(),
                least_ns: draw.below(50_000_000),
                most_ns: 50_000_000 + draw.below(2_000_000_000),
            },
        }
    }
}

/// Width of a class of the histogram of delays.
const CLASS: Span = Span::from_millis(5);
const CLASSES: usize = 400;
/// What a frame's delay weighs less with each frame that follows (NetEq's forgetting factor).
const FORGETTING: f64 = 0.983;
/// How long the fastest frame counts.
const WINDOW: Span = Span::from_secs(1);

/// When frames are due.
#[derive(Debug)]
pub struct Playout {
    buffer: Buffer,
    /// Of the fixed buffer: run time less media time of the first frame.
    base: Option<i64>,
    adaptive: Option<Adaptive>,
}

#[derive(Debug)]
struct Adaptive {
    histogram: [f64; CLASSES],
    weight: f64,
    /// The least run time less media time of this window and of the one before it, and when this one began.
    least: (i64, i64, Time),
    target: Span,
}

impl Playout {
    /// Nothing has come yet.
    pub const fn new(buffer: Buffer) -> Self {
        Self { buffer, base: None, adaptive: None }
    }

    /// When a frame is due that was captured at `media`, as the media's clock counts from its first frame, and is complete at
    /// `now`. Frames come in any order.
    pub fn due(&mut self, now: Time, media: Span) -> Time {
        let offset = now.as_nanos() as i64 - media.as_nanos() as i64;
        let wait = match self.buffer {
            Buffer::Fixed { delay_ns } => {
                let base = *self.base.get_or_insert(offset);
                return after(base, media, delay_ns);
            }
            Buffer::Adaptive { quantile, least_ns, most_ns } => {
                let adaptive = self.adaptive.get_or_insert_with(|| Adaptive::new(now, offset));
                adaptive.take(now, offset, quantile);
                let wait = adaptive.target.as_nanos().clamp(least_ns, most_ns);
                self.base = Some(adaptive.fastest());
                wait
            }
        };
        after(self.base.expect("it was set"), media, wait)
    }

    /// When a frame will be due, by what is known so far; none as long as none has come.
    pub fn expected(&self, media: Span) -> Option<Time> {
        let wait = match (self.buffer, &self.adaptive) {
            (Buffer::Fixed { delay_ns }, _) => delay_ns,
            (Buffer::Adaptive { least_ns, most_ns, .. }, Some(adaptive)) => {
                adaptive.target.as_nanos().clamp(least_ns, most_ns)
            }
            (Buffer::Adaptive { .. }, None) => return None,
        };
        Some(after(self.base?, media, wait))
    }
}

fn after(base: i64, media: Span, wait: u64) -> Time {
    let ns = i128::from(base) + i128::from(media.as_nanos()) + i128::from(wait);
    Time::from_nanos(u64::try_from(ns).unwrap_or(0))
}

impl Adaptive {
    fn new(now: Time, offset: i64) -> Self {
        Self { histogram: [0.0; CLASSES], weight: 0.0, least: (offset, offset, now), target: Span::ZERO }
    }

    fn fastest(&self) -> i64 {
        self.least.0.min(self.least.1)
    }

    fn take(&mut self, now: Time, offset: i64, quantile: f64) {
        let (this, _, since) = self.least;
        self.least = match now.since(since) > WINDOW {
            true => (offset, this, now),
            false => (this.min(offset), self.least.1, since),
        };
        let delay = (offset - self.fastest()).max(0) as u64;
        let class = ((delay.div_ceil(CLASS.as_nanos())) as usize).min(CLASSES - 1);
        for weight in &mut self.histogram {
            *weight *= FORGETTING;
        }
        self.weight = self.weight * FORGETTING + 1.0;
        self.histogram[class] += 1.0;
        let mut sum = 0.0;
        let place = self.histogram.iter().position(|weight| {
            sum += weight;
            sum >= quantile * self.weight
        });
        self.target = CLASS * place.unwrap_or(CLASSES - 1) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn a_fixed_buffer_keeps_the_distance_of_capture() {
        let mut playout = Playout::new(Buffer::Fixed { delay_ns: 100_000_000 });
        assert_eq!(playout.expected(ms(0)), None);
        assert_eq!(playout.due(Time::ZERO + ms(50), ms(0)), Time::ZERO + ms(150));
        assert_eq!(playout.due(Time::ZERO + ms(120), ms(20)), Time::ZERO + ms(170));
        assert_eq!(playout.expected(ms(40)), Some(Time::ZERO + ms(190)));
    }

    #[test]
    fn an_adaptive_buffer_waits_as_long_as_jitter_asks() {
        let mut playout =
            Playout::new(Buffer::Adaptive { quantile: 0.95, least_ns: 0, most_ns: 1_000_000_000 });
        let late = |n: u64| if n.is_multiple_of(10) { 60 } else { 0 };
        let mut waits = Vec::new();
        for n in 0..1_000 {
            let due = playout.due(Time::ZERO + ms(20 * n + 50 + late(n)), ms(20 * n));
            waits.push(due.since(Time::ZERO + ms(20 * n + 50)));
        }
        assert_eq!(waits[999], ms(60), "one in ten comes 60 ms late, and one in twenty may be missed");
        for n in 1_000..2_000 {
            playout.due(Time::ZERO + ms(20 * n + 50), ms(20 * n));
        }
        assert_eq!(playout.expected(ms(40_000)), Some(Time::ZERO + ms(40_050)), "it forgets");
    }
    use alloc::vec::Vec;
}
