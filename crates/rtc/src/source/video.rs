//! Video: an encoder that follows a target rate (RFC 8593 section 5), quality levels, recorded frame sizes, or a constant rate.

use super::{Frame, MOST_LAYERS, laplace};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_net::Stream;
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Ticks a second of the RTP clock of video (RFC 3551 section 5).
pub const CLOCK: u32 = 90_000;
/// The most frames a second.
const FASTEST: u64 = 240;
const LARGEST: u32 = 10_000_000;
/// The largest frame, in frames of the mean size.
const MOST_RATIO: f64 = 1000.0;

/// A camera and its encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Time from one frame to the next.
    pub interval_ns: u64,
    /// Time from one key frame to the next; without it only the first frame, and what is asked for.
    pub key_interval_ns: Option<u64>,
    /// How large a key frame is, in frames of the mean size. What it has too much the frames behind it lack, up to this one.
    pub key_size: f64,
    /// Frames within which the mean size is kept, a key frame included (K_d).
    pub key_frames: u32,
    /// How sizes follow the target.
    pub encoder: Encoder,
}

/// How large frames are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Encoder {
    /// Follows the target (RFC 8593 section 5).
    Adaptive {
        /// After a change of the rate the next one is ignored for so long (tau_v).
        reaction_ns: u64,
        /// Scale of the Laplacian deviation of a frame's size from the mean (SCALE_B).
        size_spread: f64,
        /// The same of the time to the next frame (SCALE_t).
        interval_spread: f64,
        /// Each second the rate is off the target by up to this share, uniformly.
        deviation: f64,
    },
    /// The highest of some rates that does not exceed the target, or the lowest.
    Steps {
        /// As in `Adaptive`.
        reaction_ns: u64,
        /// Bits per second, ascending.
        rates_bps: Vec<u64>,
        /// Each frame has a layer for each of the rates up to this one, which builds upon those below: who wants less takes fewer.
        layered: bool,
    },
    /// Recorded sizes, over and over again.
    Frames {
        /// Octets; a key frame is the first one, and each that is asked for is as large as that.
        sizes: Vec<u32>,
        /// Whether they are scaled so that their mean meets the target.
        scaled: bool,
        /// As in `Adaptive`.
        reaction_ns: u64,
    },
    /// Recorded sizes relative to what the target asked for, over and over again from one that is drawn.
    Relative {
        /// Of each frame, in frames of the mean size; zero where the encoder leaves one out.
        ratios: Vec<f64>,
        /// Which of these are key frames, ascending. One that is asked for elsewhere has `key_size`.
        keys: Vec<u32>,
        /// How much later than the frame rate says each of them is there, as an encoder takes its time; empty where none is late.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        delays_ns: Vec<u64>,
        /// As in `Adaptive`.
        reaction_ns: u64,
    },
    /// Always the same rate.
    Constant {
        /// Bits per second.
        rate_bps: u64,
    },
}

impl Video {
    /// What keeps the settings from being used.
    pub fn check(&self, check: &mut Check<'_>) {
        let shortest = 1_000_000_000 / FASTEST;
        check.at("interval_ns").span(self.interval_ns);
        check
            .at("interval_ns")
            .need(self.interval_ns >= shortest, format_args!("at most {FASTEST} frames a second"));
        if let Some(ns) = self.key_interval_ns {
            check.at("key_interval_ns").span(ns);
            check.at("key_interval_ns").need(ns >= self.interval_ns, "is no shorter than a frame");
        }
        check.at("key_size").need((1.0..=100.0).contains(&self.key_size), "is from 1 to 100");
        let room = self.key_size <= f64::from(self.key_frames) && self.key_frames <= 1000;
        check.at("key_frames").need(room, "is at least key_size, and at most 1000");
        self.encoder.check(&mut check.at("encoder"));
        if let Encoder::Relative { delays_ns, .. } = &self.encoder {
            let fit = delays_ns.iter().all(|&ns| ns <= self.interval_ns);
            check.at("encoder").at("delays_ns").need(fit, "are no longer than a frame");
        }
    }

    /// Settings with which nothing is wrong, for property tests.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        let reaction_ns = draw.below(300_000_000);
        Self {
            interval_ns: 20_000_000 + draw.below(90_000_000),
            key_interval_ns: draw.bit().then(|| 200_000_000 + draw.below(3_000_000_000)),
            key_size: 1.0 + 4.0 * draw.unit(),
            key_frames: 5 + draw.below(10) as u32,
            encoder: match draw.below(5) {
                0 => Encoder::Adaptive {
                    reaction_ns,
                    size_spread: 0.3 * draw.unit(),
                    interval_spread: 0.3 * draw.unit(),
                    deviation: 0.1 * draw.unit(),
                },
                1 => Encoder::Steps {
                    reaction_ns,
                    rates_bps: (1..=1 + draw.below(4)).map(|i| i * 200_000).collect(),
                    layered: draw.bit(),
                },
                2 => Encoder::Frames {
                    sizes: (0..=draw.below(20)).map(|_| 1 + draw.below(4_000) as u32).collect(),
                    scaled: draw.bit(),
                    reaction_ns,
                },
                3 => {
                    // One is above zero, whatever is drawn.
                    let count = draw.below(20);
                    let ratio = |at| if at == 0 { 1.0 } else { 2.0 * draw.unit() };
                    let ratios: Vec<f64> = (0..=count).map(ratio).collect();
                    let keys = (0..ratios.len() as u32).filter(|_| draw.below(8) == 0).collect();
                    let late = if draw.bit() { ratios.len() } else { 0 };
                    let delays_ns = (0..late).map(|_| draw.below(20_000_000)).collect();
                    Encoder::Relative { ratios, keys, delays_ns, reaction_ns }
                }
                _ => Encoder::Constant { rate_bps: 10_000 + draw.below(800_000) },
            },
        }
    }
}

impl Encoder {
    fn check(&self, check: &mut Check<'_>) {
        let spread = |check: &mut Check<'_>, key: &'static str, spread: f64| {
            check.at(key).need((0.0..=1.0).contains(&spread), "is from 0 to 1");
        };
        match self {
            &Self::Adaptive { reaction_ns, size_spread, interval_spread, deviation } => {
                check.at("reaction_ns").span(reaction_ns);
                spread(check, "size_spread", size_spread);
                spread(check, "interval_spread", interval_spread);
                check.at("deviation").probability(deviation);
            }
            Self::Steps { reaction_ns, rates_bps, layered } => {
                check.at("reaction_ns").span(*reaction_ns);
                let ascend =
                    rates_bps.is_sorted_by(|a, b| a < b) && rates_bps.first().is_some_and(|&rate| rate > 0);
                check.at("rates_bps").need(ascend, "are at least one, above zero, and ascend");
                rates_bps.iter().enumerate().for_each(|(i, &rate)| check.at("rates_bps").at(i).rate(rate));
                let fit = !layered || rates_bps.len() <= MOST_LAYERS;
                check.at("rates_bps").need(fit, format_args!("a frame has at most {MOST_LAYERS} layers"));
            }
            Self::Frames { sizes, reaction_ns, .. } => {
                check.at("reaction_ns").span(*reaction_ns);
                check.at("sizes").need(!sizes.is_empty(), "at least one frame");
                let fit = sizes.iter().all(|size| (1..=LARGEST).contains(size));
                check.at("sizes").need(fit, format_args!("a frame has 1 to {LARGEST} bytes"));
            }
            Self::Relative { ratios, keys, delays_ns, reaction_ns } => {
                check.at("reaction_ns").span(*reaction_ns);
                let fit = delays_ns.is_empty() || delays_ns.len() == ratios.len();
                check.at("delays_ns").need(fit, "are none, or one for each of ratios");
                let fit = ratios.iter().all(|ratio| (0.0..=MOST_RATIO).contains(ratio));
                check.at("ratios").need(fit, format_args!("are from 0 to {MOST_RATIO}"));
                let some = ratios.iter().any(|&ratio| ratio > 0.0);
                check.at("ratios").need(some, "one is above zero at least");
                let fit = keys.is_sorted_by(|a, b| a < b)
                    && keys.last().is_none_or(|&last| (last as usize) < ratios.len());
                check.at("keys").need(fit, "ascend, and are places in ratios");
            }
            &Self::Constant { rate_bps } => {
                check.at("rate_bps").rate(rate_bps);
                check.at("rate_bps").need(rate_bps > 0, "is above zero");
            }
        }
    }

    /// Whether frames have layers.
    pub const fn is_layered(&self) -> bool {
        matches!(self, Self::Steps { layered: true, .. })
    }

    /// Bits per second of a frame's layers together, from one layer to all of them; none where there are none.
    pub fn layer_rates(&self) -> &[u64] {
        match self {
            Self::Steps { layered: true, rates_bps, .. } => rates_bps,
            _ => &[],
        }
    }

    /// By how much the frame of a place is late.
    fn delay(&self, place: usize) -> Span {
        let Self::Relative { delays_ns, .. } = self else { return Span::ZERO };
        delays_ns.get(place).map_or(Span::ZERO, |&ns| Span::from_nanos(ns))
    }

    const fn reaction(&self) -> Span {
        match *self {
            Self::Adaptive { reaction_ns, .. }
            | Self::Steps { reaction_ns, .. }
            | Self::Frames { reaction_ns, .. }
            | Self::Relative { reaction_ns, .. } => Span::from_nanos(reaction_ns),
            Self::Constant { .. } => Span::ZERO,
        }
    }
}

/// A camera that runs.
#[derive(Debug)]
pub struct Camera {
    video: Video,
    draws: Stream,
    next_at: Time,
    /// By how much `next_at` is later than the frame rate says.
    late: Span,
    number: u32,
    key_at: Option<Time>,
    key_wanted: bool,
    /// What the frames behind a key frame lack, in frames of the mean size, and how many of these are left.
    owed: (f64, u32),
    /// The rate that the encoder works at, and since when.
    rate: f64,
    changed: Option<Time>,
    /// By how much the rate is off the target, and until when.
    off: (f64, Time),
    /// The mean of recorded sizes.
    mean: f64,
    /// The place of the next of recorded ratios.
    place: usize,
}

impl Camera {
    /// The first frame is captured at `start`.
    pub fn new(video: &Video, start: Time, mut draws: Stream) -> Self {
        let place = match &video.encoder {
            // So that two cameras with one recording have no large frames together.
            Encoder::Relative { ratios, .. } => (draws.unit() * ratios.len() as f64) as usize,
            _ => 0,
        };
        let mean = match &video.encoder {
            Encoder::Frames { sizes, .. } => {
                sizes.iter().map(|&size| f64::from(size)).sum::<f64>() / sizes.len() as f64
            }
            _ => 0.0,
        };
        let late = video.encoder.delay(place);
        Self {
            video: video.clone(),
            draws,
            next_at: start + late,
            late,
            number: 0,
            key_at: None,
            key_wanted: true,
            owed: (0.0, 0),
            rate: 0.0,
            changed: None,
            off: (1.0, start),
            mean,
            place,
        }
    }

    /// When the next frame is captured.
    pub const fn next_at(&self) -> Time {
        self.next_at
    }

    /// Has the next frame be a key frame.
    pub fn request_key(&mut self) {
        self.key_wanted = true;
    }

    /// The camera is off: what is due is not there, and what comes next a key frame.
    pub fn pause(&mut self) {
        self.skip();
        self.request_key();
    }

    /// What is due is not encoded.
    pub fn skip(&mut self) {
        self.advance(Span::from_nanos(self.video.interval_ns));
    }

    /// The next frame is due `step` after this one, as far as neither is late.
    fn advance(&mut self, step: Span) {
        let due = Time::from_nanos(self.next_at.as_nanos() - self.late.as_nanos()) + step;
        self.late = self.video.encoder.delay(self.place);
        self.next_at = due + self.late;
    }

    /// The frame that is due, where the encoder shall make `target` bits a second; none if the encoder leaves it out.
    pub fn capture(&mut self, target: u64) -> Option<Frame> {
        let now = self.next_at;
        self.follow(now, target as f64);
        let asked = core::mem::take(&mut self.key_wanted) || self.key_at.is_some_and(|at| now >= at);
        let (ratio, recorded) = self.next_ratio();
        let key = asked || recorded;
        if ratio == 0.0 && !key {
            self.skip();
            return None;
        }
        if key {
            self.key_at = self.video.key_interval_ns.map(|ns| now + Span::from_nanos(ns));
        }
        let interval = Span::from_nanos(self.video.interval_ns);
        let mean = self.rate * interval.as_secs_f64() / 8.0;
        let (mut size, mut step) = (mean * ratio, interval);
        if !recorded {
            size = if asked { mean } else { size } * self.share(asked);
        }
        match &self.video.encoder {
            &Encoder::Adaptive { size_spread, interval_spread, deviation, .. } => {
                if now >= self.off.1 {
                    let unit = 2.0 * self.draws.unit() - 1.0;
                    self.off = (1.0 + deviation * unit, now + Span::from_secs(1));
                }
                // Beyond a frame of nothing, and one of twice the mean, there is no deviation.
                let spread = |unit, scale: f64| (1.0 + scale * laplace(unit)).clamp(0.05, 1.95);
                size *= self.off.0 * spread(self.draws.unit(), size_spread);
                if interval_spread > 0.0 {
                    let factor = spread(self.draws.unit(), interval_spread);
                    step = Span::from_secs_f64(interval.as_secs_f64() * factor);
                }
            }
            Encoder::Frames { sizes, scaled, .. } => {
                let index = if key && self.number > 0 { 0 } else { self.number as usize % sizes.len() };
                let factor = if *scaled { mean / self.mean } else { 1.0 };
                size = f64::from(sizes[index]) * factor;
            }
            Encoder::Steps { .. } | Encoder::Relative { .. } | Encoder::Constant { .. } => {}
        }
        let number = self.number;
        self.number += 1;
        self.advance(step);
        let octets = |size: f64| libm::round(size.clamp(1.0, f64::from(LARGEST))) as u32;
        let mut layers = [0; MOST_LAYERS];
        let mut below = 0.0;
        let rates = self.video.encoder.layer_rates().iter().map(|&rate| rate as f64);
        for (layer, rate) in layers.iter_mut().zip(rates.take_while(|&rate| rate <= self.rate)) {
            *layer = octets(size * (rate - below) / self.rate);
            below = rate;
        }
        let bytes = if layers[0] > 0 { layers.iter().sum() } else { octets(size) };
        Some(Frame { captured: now, number, bytes, key, begins: false, layers })
    }

    /// The recorded size of the frame that is due, in frames of the mean size, and whether it is a key frame; one of others.
    fn next_ratio(&mut self) -> (f64, bool) {
        let Encoder::Relative { ratios, keys, .. } = &self.video.encoder else { return (1.0, false) };
        let place = self.place;
        self.place = (place + 1) % ratios.len();
        (ratios[place], keys.binary_search(&(place as u32)).is_ok())
    }

    /// The encoder reacts to a target, unless it has just done so (RFC 8593 section 5.1).
    fn follow(&mut self, now: Time, target: f64) {
        let wanted = match &self.video.encoder {
            Encoder::Adaptive { .. } | Encoder::Frames { .. } | Encoder::Relative { .. } => target,
            Encoder::Steps { rates_bps, .. } => {
                let below = rates_bps.partition_point(|&rate| rate as f64 <= target);
                rates_bps[below.saturating_sub(1)] as f64
            }
            Encoder::Constant { rate_bps } => *rate_bps as f64,
        };
        let reaction = self.video.encoder.reaction();
        if wanted != self.rate && self.changed.is_none_or(|changed| now.since(changed) >= reaction) {
            self.rate = wanted;
            self.changed = Some(now);
        }
    }

    /// The size of a frame in frames of the mean size, whatever else makes it deviate (RFC 8593 section 5.2).
    fn share(&mut self, key: bool) -> f64 {
        let (owed, frames) = self.owed;
        if key {
            // What an earlier key frame left is forgotten: asked for one after another, they all are large.
            self.owed = (self.video.key_size - 1.0, self.video.key_frames - 1);
            return self.video.key_size;
        }
        if frames == 0 {
            return 1.0;
        }
        let less = owed / f64::from(frames);
        self.owed = (owed - less, frames - 1);
        1.0 - less
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_net::Seed;

    fn video(encoder: Encoder) -> Video {
        Video { interval_ns: 33_333_333, key_interval_ns: None, key_size: 3.0, key_frames: 8, encoder }
    }

    fn adaptive() -> Encoder {
        Encoder::Adaptive {
            reaction_ns: 100_000_000,
            size_spread: 0.15,
            interval_spread: 0.15,
            deviation: 0.05,
        }
    }

    fn next(camera: &mut Camera, target: u64) -> Frame {
        camera.capture(target).expect("the encoder leaves none out")
    }

    fn camera(video: &Video) -> Camera {
        Camera::new(video, Time::ZERO, Seed::new(1, 0).stream("camera"))
    }

    #[test]
    fn the_mean_rate_is_the_target() {
        let mut camera = camera(&video(adaptive()));
        let frames: Vec<Frame> = (0..30_000).map(|_| next(&mut camera, 1_000_000)).collect();
        let bits: f64 = frames.iter().map(|frame| 8.0 * f64::from(frame.bytes)).sum();
        let seconds = camera.next_at().as_secs_f64();
        // Of 1000 s with independent deviations the standard error is below 0.2 %.
        assert!((bits / seconds - 1e6).abs() < 8e3, "{} bit/s", bits / seconds);
        assert!((seconds - 1000.0).abs() < 8.0, "{seconds} s");
    }

    #[test]
    fn a_key_frame_is_large_and_those_behind_it_make_up_for_it() {
        let encoder =
            Encoder::Adaptive { reaction_ns: 0, size_spread: 0.0, interval_spread: 0.0, deviation: 0.0 };
        let mut camera = camera(&video(encoder));
        let mean = 1_000_000.0 / 8.0 / 30.0;
        for _ in 0..2 {
            camera.request_key();
            let group: Vec<Frame> = (0..8).map(|_| next(&mut camera, 1_000_000)).collect();
            assert!(group[0].key && group[1..].iter().all(|frame| !frame.key));
            assert!((f64::from(group[0].bytes) - 3.0 * mean).abs() < 1.0);
            let sum: u32 = group.iter().map(|frame| frame.bytes).sum();
            assert!((f64::from(sum) - 8.0 * mean).abs() < 8.0, "{sum}");
        }
    }

    #[test]
    fn changes_within_the_reaction_time_are_ignored() {
        let encoder = Encoder::Adaptive {
            reaction_ns: 100_000_000,
            size_spread: 0.0,
            interval_spread: 0.0,
            deviation: 0.0,
        };
        let mut camera = camera(&Video { key_size: 1.0, ..video(encoder) });
        let sizes: Vec<u32> = [1_000_000, 500_000, 500_000, 500_000, 250_000, 500_000, 250_000]
            .map(|target| next(&mut camera, target).bytes)
            .into();
        assert_eq!(sizes, [4167, 4167, 4167, 4167, 1042, 1042, 1042]);
    }

    #[test]
    fn steps_stay_below_the_target_and_recorded_sizes_repeat() {
        let mut steps = camera(&Video {
            key_size: 1.0,
            ..video(Encoder::Steps {
                reaction_ns: 0,
                rates_bps: alloc::vec![240_000, 480_000],
                layered: false,
            })
        });
        let sizes = [100_000, 300_000, 480_000, 9_000_000].map(|target| next(&mut steps, target).bytes);
        assert_eq!(sizes, [1000, 1000, 2000, 2000]);
        let encoder =
            Encoder::Steps { reaction_ns: 0, rates_bps: alloc::vec![240_000, 480_000], layered: true };
        let mut layered = camera(&Video { key_size: 1.0, ..video(encoder) });
        let layers =
            [100_000, 480_000].map(|target| next(&mut layered, target).layers().collect::<Vec<u32>>());
        assert_eq!(layers, [alloc::vec![1000], alloc::vec![1000, 1000]]);
        let mut recorded =
            camera(&video(Encoder::Frames { sizes: alloc::vec![9, 1, 2], scaled: false, reaction_ns: 0 }));
        let sizes: Vec<u32> = (0..5).map(|_| next(&mut recorded, 1).bytes).collect();
        assert_eq!(sizes, [9, 1, 2, 9, 1]);
    }

    #[test]
    fn recorded_ratios_scale_the_target_and_leave_frames_out() {
        let video = video(Encoder::Relative {
            ratios: alloc::vec![2.0, 0.5, 0.0, 1.5],
            keys: alloc::vec![0],
            delays_ns: alloc::vec![],
            reaction_ns: 0,
        });
        let mut places = alloc::collections::BTreeSet::new();
        // 240 kbit/s are 1000 octets a frame.
        for seed in 1..20 {
            let mut camera = Camera::new(
                &Video { key_size: 1.0, ..video.clone() },
                Time::ZERO,
                Seed::new(seed, 0).stream("camera"),
            );
            places.insert(camera.place);
            (0..8 - camera.place).for_each(|_| {
                camera.capture(240_000);
            });
            let sent = [0; 4].map(|_| camera.capture(240_000).map(|it| (it.bytes, it.key)));
            assert_eq!(sent, [Some((2000, true)), Some((500, false)), None, Some((1500, false))]);
            camera.request_key();
            let _ = camera.capture(240_000);
            camera.request_key();
            assert_eq!(camera.capture(480_000).map(|it| (it.bytes, it.key)), Some((2000, true)));
        }
        assert_eq!(places.len(), 4, "it begins anywhere");
    }

    #[test]
    fn recorded_delays_do_not_add_up_and_go_with_their_frames() {
        let delays = [1, 7, 0, 4].map(|ms: u64| ms * 1_000_000);
        let video = video(Encoder::Relative {
            ratios: alloc::vec![1.0; 4],
            keys: alloc::vec![],
            delays_ns: delays.to_vec(),
            reaction_ns: 0,
        });
        for seed in 1..20 {
            let mut camera = Camera::new(&video, Time::ZERO, Seed::new(seed, 0).stream("camera"));
            for frame in 0..40 {
                let due = frame * video.interval_ns + delays[camera.place];
                assert_eq!(camera.next_at().as_nanos(), due, "frame {frame}");
                // One that is not encoded is due when it is due all the same.
                if frame % 7 == 3 { camera.skip() } else { assert!(camera.capture(240_000).is_some()) }
            }
        }
    }
}
