//! How long a recogniser takes, drawn from what one was seen to take.
//!
//! Of a segment of speech that was heard for a while, decoding takes what a curve says, times a factor of the segment
//! (some speech is harder), times one of each piece (which is more even the more it brings to be decoded). When the segment ends,
//! it takes a time that grows with its length. All factors are lognormal with mean 1.

use super::Speech;
use crate::settings::at_least_one;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use serde::{Deserialize, Serialize};
use voxpath_net::Stream as Draws;
use voxpath_net::element::Draw;
use voxpath_units::Span;
use voxpath_units::check::Check;

/// The audio of which [`Service::jitter`] is said, in seconds.
const STEP_S: f64 = 0.25;
/// No piece counts as less: what decoding one takes varies no more for being cut finer.
const SHORTEST_S: f64 = 0.02;
/// Nothing takes longer: millions of pieces have to stay inside the clock's range.
const LONGEST: Span = Span::from_secs(3600);

/// What a recogniser takes, and its process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Decoding in all, after so much of a segment was heard: points of a curve that begins in the origin and is straight
    /// between them. They ascend.
    pub curve_ns: Vec<(u64, u64)>,
    /// For each second of a segment after the last of them.
    pub per_second_ns: u64,
    /// For each second of audio, speech or not.
    pub listening_ns: u64,
    /// When a segment ends.
    pub finishing_ns: u64,
    /// For each of its seconds.
    pub finishing_per_second_ns: u64,
    /// Standard deviation of the logarithm of a segment's factor.
    pub spread: f64,
    /// The same of the factor of a quarter of a second.
    pub jitter: f64,
    /// The same of what a segment's end takes.
    pub finishing_spread: f64,
    /// To pass a message on, to the worker or back.
    pub forwarding_ns: u64,
    /// Bytes of audio that are decoded at a time, at most.
    pub piece_bytes: u64,
}

impl Service {
    /// What keeps it from being used.
    pub(crate) fn sample(draw: &mut dyn Draw) -> Self {
        Self {
            curve_ns: [(1_000_000 + draw.span(), draw.span())].to_vec(),
            per_second_ns: draw.span(),
            listening_ns: draw.span() / 10,
            finishing_ns: draw.span(),
            finishing_per_second_ns: draw.span(),
            spread: draw.unit(),
            jitter: draw.unit(),
            finishing_spread: draw.unit(),
            forwarding_ns: draw.span() / 10,
            piece_bytes: 100 + draw.below(8_000),
        }
    }

    pub(crate) fn check(&self, check: &mut Check<'_>) {
        at_least_one(check, [("piece_bytes", self.piece_bytes)]);
        for (key, ns) in [
            ("per_second_ns", self.per_second_ns),
            ("listening_ns", self.listening_ns),
            ("finishing_ns", self.finishing_ns),
            ("finishing_per_second_ns", self.finishing_per_second_ns),
            ("forwarding_ns", self.forwarding_ns),
        ] {
            check.at(key).span(ns);
        }
        for (key, deviation) in
            [("spread", self.spread), ("jitter", self.jitter), ("finishing_spread", self.finishing_spread)]
        {
            check.at(key).need((0.0..=3.0).contains(&deviation), "is from 0 to 3");
        }
        let origin = core::iter::once((0, 0));
        for (before, point) in origin.chain(self.curve_ns.iter().copied()).zip(&self.curve_ns) {
            check.at("curve_ns").span(point.0.max(point.1));
            if point.0 <= before.0 || point.1 < before.1 {
                check.at("curve_ns").fail("its points ascend, from the origin");
            }
        }
    }

    /// Decoding in all, in seconds, after so many seconds of a segment.
    fn after(&self, heard: f64) -> f64 {
        let (mut x0, mut y0) = (0.0, 0.0);
        for (x1, y1) in self.curve_ns.iter().map(|&(x, y)| (seconds(x), seconds(y))) {
            if heard < x1 {
                return y0 + (y1 - y0) * (heard - x0) / (x1 - x0);
            }
            (x0, y0) = (x1, y1);
        }
        y0 + (heard - x0) * seconds(self.per_second_ns)
    }
}

fn seconds(ns: u64) -> f64 {
    Span::from_nanos(ns).as_secs_f64()
}

/// The time that a session's audio takes.
#[derive(Debug)]
pub struct Decoder {
    speech: Arc<Speech>,
    /// Which of its segments is next, or is being heard.
    at: usize,
    /// Of the segment that is being heard.
    factor: Option<f64>,
    draws: Draws,
}

impl Decoder {
    /// Draws from `draws`, in the order of the audio.
    pub const fn new(speech: Arc<Speech>, draws: Draws) -> Self {
        Self { speech, at: 0, factor: None, draws }
    }

    /// What octets of the audio take; `is_last` ends it.
    pub(crate) fn decode(&mut self, octets: Range<u64>, is_last: bool) -> Span {
        let Self { speech, at, factor, draws } = self;
        let service = &speech.decoder;
        let length = speech.time_of(octets.end) - speech.time_of(octets.start);
        let mut took = length.as_secs_f64() * seconds(service.listening_ns);
        let (mut spoken, mut decoded) = (0.0, 0.0);
        while let Some(segment) =
            speech.segments.get(*at).filter(|segment| segment.begins_bytes <= octets.end)
        {
            let drawn = *factor.get_or_insert_with(|| lognormal(draws, service.spread));
            let heard = |octets: u64| {
                let since = speech.time_of(octets) - speech.time_of(segment.begins_bytes);
                (Span::from_nanos(segment.lead_ns) + since).as_secs_f64()
            };
            let before = if octets.start < segment.begins_bytes { 0.0 } else { heard(octets.start) };
            let end = segment.ends_bytes.filter(|&ends| ends <= octets.end);
            let after = heard(end.unwrap_or(octets.end));
            spoken += drawn * (service.after(after) - service.after(before));
            decoded += after - before;
            if end.is_none() && !is_last {
                break;
            }
            let finish = seconds(service.finishing_ns) + after * seconds(service.finishing_per_second_ns);
            took += finish * lognormal(draws, service.finishing_spread);
            *at += 1;
            *factor = None;
        }
        if spoken > 0.0 {
            let steps = decoded.max(SHORTEST_S) / STEP_S;
            took += spoken * lognormal(draws, service.jitter / libm::sqrt(steps));
        }
        Span::from_secs_f64(took).min(LONGEST)
    }
}

/// A lognormal factor of mean 1; the logarithm's standard deviation is `sigma`.
fn lognormal(draws: &mut Draws, sigma: f64) -> f64 {
    libm::exp(sigma * draws.normal() - sigma * sigma / 2.0)
}
