//! How long a recogniser takes, drawn from what one was seen to take.
//!
//! Of a segment of speech that was heard for a while, decoding takes what a curve says, times a factor of the segment
//! (some speech is harder), times one of each piece (which is more even the longer the piece is). When the segment ends,
//! it takes a time that grows with its length. All factors are lognormal with mean 1.

use super::Talk;
use alloc::vec::Vec;
use core::ops::Range;
use voxpath_net::Stream as Draws;
use voxpath_units::Span;

/// The audio of which [`Service::jitter`] is told, in seconds.
const STEP_S: f64 = 0.25;
/// No piece counts as shorter: what decoding one takes varies no more for being cut finer.
const SHORTEST_S: f64 = 0.02;
/// Nothing takes longer: millions of pieces have to stay inside the clock's range.
const LONGEST: Span = Span::from_secs(3600);

/// What a recogniser takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// Decoding in all, after so much of a segment was heard: points of a curve that begins in the origin and is straight
    /// between them. They ascend.
    pub curve: Vec<(Span, Span)>,
    /// For each second of a segment after the last of them.
    pub per_second: Span,
    /// For each second of audio, speech or not.
    pub listening: Span,
    /// When a segment ends.
    pub finishing: Span,
    /// For each of its seconds.
    pub finishing_per_second: Span,
    /// Standard deviation of the logarithm of a segment's factor.
    pub spread: f64,
    /// The same of the factor of a quarter of a second.
    pub jitter: f64,
    /// The same of what a segment's end takes.
    pub finishing_spread: f64,
}

impl Service {
    /// Decoding in all, in seconds, after so many seconds of a segment.
    fn after(&self, heard: f64) -> f64 {
        let (mut x0, mut y0) = (0.0, 0.0);
        for (x1, y1) in self.curve.iter().map(|(x, y)| (x.as_secs_f64(), y.as_secs_f64())) {
            if heard < x1 {
                return y0 + (y1 - y0) * (heard - x0) / (x1 - x0);
            }
            (x0, y0) = (x1, y1);
        }
        y0 + (heard - x0) * self.per_second.as_secs_f64()
    }
}

/// A segment of speech, as its recogniser found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Octets of audio after which it is known to have begun.
    pub begins: u64,
    /// How much of it is heard by then.
    pub lead: Span,
    /// Octets of audio after which it is known to have ended; none where only the end of the audio ends it.
    pub ends: Option<u64>,
}

/// The time that a session's audio takes.
#[derive(Debug)]
pub struct Decoder {
    service: Service,
    segments: Vec<Segment>,
    /// Which of them is next, or is being heard.
    at: usize,
    /// Of the segment that is being heard.
    factor: Option<f64>,
    draws: Draws,
}

impl Decoder {
    /// Draws from `draws`, in the order of the audio.
    pub const fn new(service: Service, segments: Vec<Segment>, draws: Draws) -> Self {
        Self { service, segments, at: 0, factor: None, draws }
    }

    /// What octets of the audio take; `is_last` ends it.
    pub(crate) fn decode(&mut self, talk: &Talk, octets: Range<u64>, is_last: bool) -> Span {
        let length = talk.time_of(octets.end) - talk.time_of(octets.start);
        let mut took = length.as_secs_f64() * self.service.listening.as_secs_f64();
        let mut speech = 0.0;
        while let Some(&segment) = self.segments.get(self.at).filter(|segment| segment.begins <= octets.end) {
            let Service { spread, .. } = self.service;
            let factor = *self.factor.get_or_insert_with(|| lognormal(&mut self.draws, spread));
            let heard = |octets: u64| {
                let since = talk.time_of(octets) - talk.time_of(segment.begins);
                (segment.lead + since).as_secs_f64()
            };
            let before = if octets.start < segment.begins { 0.0 } else { heard(octets.start) };
            let end = segment.ends.filter(|&ends| ends <= octets.end);
            let after = heard(end.unwrap_or(octets.end));
            speech += factor * (self.service.after(after) - self.service.after(before));
            if end.is_none() && !is_last {
                break;
            }
            let Service { finishing, finishing_per_second, finishing_spread, .. } = self.service;
            let finish = finishing.as_secs_f64() + after * finishing_per_second.as_secs_f64();
            took += finish * lognormal(&mut self.draws, finishing_spread);
            self.at += 1;
            self.factor = None;
        }
        if speech > 0.0 {
            let steps = length.as_secs_f64().max(SHORTEST_S) / STEP_S;
            took += speech * lognormal(&mut self.draws, self.service.jitter / libm::sqrt(steps));
        }
        Span::from_secs_f64(took).min(LONGEST)
    }
}

/// A lognormal factor of mean 1; the logarithm's standard deviation is `sigma`.
fn lognormal(draws: &mut Draws, sigma: f64) -> f64 {
    libm::exp(sigma * draws.normal() - sigma * sigma / 2.0)
}
