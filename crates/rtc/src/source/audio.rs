//! Audio as an Opus encoder makes it: a frame every 20 ms, of constant or variable size, or none while nobody speaks. Or as
//! an encoder made it that was given a recording: then every frame's size is known.

use super::{Frame, MOST_LAYERS, laplace};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_net::Stream;
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Ticks a second of the RTP clock of Opus (RFC 7587 section 4.1).
pub const CLOCK: u32 = 48_000;
/// While nobody speaks, Opus sends one frame in 400 ms.
const COMFORT: Span = Span::from_millis(400);
/// Of such a frame.
const COMFORT_BYTES: u32 = 1;

/// A microphone and its encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audio {
    /// Bits per second while somebody speaks, without headers.
    pub rate_bps: u64,
    /// Time from one frame to the next.
    pub frame_ns: u64,
    /// Scale of the Laplacian deviation of a frame's size from the mean; zero is a constant bit rate.
    pub size_spread: f64,
    /// Discontinuous transmission; somebody speaks all the time without it.
    pub dtx: Option<Dtx>,
    /// Octets of the frames of a recording, over and over; nothing is sent of one that has none. Rate, spread and `dtx` say
    /// nothing of them.
    pub sizes: Option<Vec<u32>>,
}

/// Somebody speaks and is silent in turn, each for an exponential time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dtx {
    /// Mean length of a talk spurt.
    pub talk_ns: u64,
    /// Mean length of a pause.
    pub pause_ns: u64,
}

impl Audio {
    /// What keeps the settings from being used.
    pub fn check(&self, check: &mut Check<'_>) {
        let whole = [2_500_000, 5_000_000, 10_000_000, 20_000_000, 40_000_000, 60_000_000];
        check
            .at("frame_ns")
            .need(whole.contains(&self.frame_ns), "is 2.5, 5, 10, 20, 40 or 60 ms (RFC 6716)");
        let fits = (6_000..=510_000).contains(&self.rate_bps);
        check.at("rate_bps").need(fits, "is from 6 to 510 kbit/s (RFC 6716)");
        check.at("size_spread").need((0.0..=1.0).contains(&self.size_spread), "is from 0 to 1");
        if let Some(Dtx { talk_ns, pause_ns }) = self.dtx {
            let mut dtx = check.at("dtx");
            dtx.at("talk_ns").span_above_zero(talk_ns);
            dtx.at("pause_ns").span_above_zero(pause_ns);
        }
        if let Some(sizes) = &self.sizes {
            check.at("sizes").need(sizes.iter().any(|&bytes| bytes > 0), "has a frame that is sent");
            check.at("dtx").need(self.dtx.is_none(), "contradicts sizes, which say when nothing is sent");
        }
    }

    /// Octets of a frame of the mean size.
    pub fn frame_bytes(&self) -> u32 {
        ((u128::from(self.rate_bps) * u128::from(self.frame_ns)).div_ceil(8_000_000_000)) as u32
    }

    /// Octets that a frame may have: of a recording its largest, else twice the mean.
    pub fn most_bytes(&self) -> u32 {
        match &self.sizes {
            Some(sizes) => sizes.iter().copied().max().unwrap_or(0),
            None => self.frame_bytes().saturating_mul(2),
        }
    }

    /// Settings with which nothing is wrong, for property tests.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        let sizes: Option<Vec<u32>> = (draw.below(3) == 0)
            .then(|| (0..=draw.below(20)).map(|_| draw.below(240) as u32).chain([100]).collect());
        Self {
            rate_bps: 6_000 + draw.below(30_000),
            frame_ns: [10_000_000, 20_000_000, 60_000_000][draw.below(3) as usize],
            size_spread: draw.below(2) as f64 * 0.3 * draw.unit(),
            dtx: (sizes.is_none() && draw.bit()).then(|| Dtx {
                talk_ns: 10_000_000 + draw.below(2_000_000_000),
                pause_ns: 10_000_000 + draw.below(2_000_000_000),
            }),
            sizes,
        }
    }
}

/// The first octet of an Opus packet with one frame (RFC 6716 section 3.1): wideband or fullband, mono.
pub const fn table_of_contents(frame_ns: u64) -> u8 {
    let configuration = match frame_ns {
        2_500_000 => 28,
        5_000_000 => 29,
        10_000_000 => 14,
        40_000_000 => 10,
        60_000_000 => 11,
        _ => 15,
    };
    configuration << 3
}

/// A microphone that runs.
#[derive(Debug)]
pub struct Microphone {
    audio: Audio,
    draws: Stream,
    start: Time,
    number: u32,
    /// Whether somebody speaks, and until when that stays so.
    speaks: bool,
    until: Time,
    /// When silence has a frame again.
    comfort_at: Time,
    begins: bool,
}

impl Microphone {
    /// The first frame is captured at `start`, when somebody begins to speak.
    pub fn new(audio: &Audio, start: Time, mut draws: Stream) -> Self {
        let until = match audio.dtx {
            None => Time::MAX,
            Some(Dtx { talk_ns, .. }) => start + draws.exponential(Span::from_nanos(talk_ns)),
        };
        let comfort_at = start;
        Self { audio: audio.clone(), draws, start, number: 0, speaks: true, until, comfort_at, begins: true }
    }

    /// When the next frame is captured.
    pub fn next_at(&self) -> Time {
        self.start + Span::from_nanos(self.audio.frame_ns) * u64::from(self.number)
    }

    /// The microphone is off: what is due is not there, and what comes next begins a talk spurt.
    pub const fn pause(&mut self) {
        self.number += 1;
        self.begins = true;
    }

    /// The frame that is due; none where nothing is sent of it.
    pub fn capture(&mut self) -> Option<Frame> {
        let (now, number) = (self.next_at(), self.number);
        self.number += 1;
        if let Some(Dtx { talk_ns, pause_ns }) = self.audio.dtx {
            while now >= self.until {
                self.speaks = !self.speaks;
                self.begins = self.speaks;
                self.comfort_at = self.until;
                let mean = if self.speaks { talk_ns } else { pause_ns };
                // Each lasts a nanosecond at least.
                self.until =
                    self.until + self.draws.exponential(Span::from_nanos(mean)) + Span::from_nanos(1);
            }
        }
        if let Some(sizes) = &self.audio.sizes {
            let bytes = sizes[number as usize % sizes.len()];
            self.speaks = bytes > 0;
            // What follows a pause begins a talk spurt.
            self.begins |= !self.speaks;
            if !self.speaks {
                return None;
            }
        }
        let begins = core::mem::take(&mut self.begins);
        let bytes = if let Some(sizes) = &self.audio.sizes {
            sizes[number as usize % sizes.len()]
        } else if self.speaks {
            let mean = self.audio.frame_bytes();
            match self.audio.size_spread {
                0.0 => mean,
                spread => {
                    let factor = (1.0 + spread * laplace(self.draws.unit())).clamp(0.05, 1.95);
                    libm::round(f64::from(mean) * factor).max(1.0) as u32
                }
            }
        } else if now >= self.comfort_at {
            self.comfort_at = now + COMFORT;
            COMFORT_BYTES
        } else {
            return None;
        };
        Some(Frame { captured: now, number, bytes, key: true, begins, layers: [0; MOST_LAYERS] })
    }

    /// Whether somebody speaks.
    pub const fn speaks(&self) -> bool {
        self.speaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use voxpath_net::Seed;

    fn microphone(dtx: Option<Dtx>) -> Microphone {
        let audio = Audio { rate_bps: 20_000, frame_ns: 20_000_000, size_spread: 0.0, dtx, sizes: None };
        Microphone::new(&audio, Time::ZERO, Seed::new(1, 0).stream("microphone"))
    }

    #[test]
    fn twenty_kilobits_are_fifty_bytes_every_twenty_milliseconds() {
        let mut microphone = microphone(None);
        let frames: Vec<Frame> = (0..100).filter_map(|_| microphone.capture()).collect();
        assert!(frames.iter().all(|frame| frame.bytes == 50));
        assert_eq!(frames[99].captured, Time::ZERO + Span::from_millis(1980));
        assert_eq!(frames.iter().filter(|frame| frame.begins).count(), 1);
    }

    #[test]
    fn a_recording_has_the_sizes_that_its_encoder_made_and_nothing_in_its_pauses() {
        let sizes = Some([60, 0, 0, 70].into());
        let audio = Audio { rate_bps: 20_000, frame_ns: 20_000_000, size_spread: 0.0, dtx: None, sizes };
        let mut microphone = Microphone::new(&audio, Time::ZERO, Seed::new(1, 0).stream("microphone"));
        let frames: Vec<_> = (0..8).map(|_| microphone.capture().map(|it| (it.bytes, it.begins))).collect();
        let [first, again, after] = [Some((60, true)), Some((60, false)), Some((70, true))];
        assert_eq!(frames, [first, None, None, after, again, None, None, after]);
        assert_eq!(microphone.next_at(), Time::ZERO + Span::from_millis(160));
    }

    #[test]
    fn silence_has_one_small_frame_in_400_ms() {
        let dtx = Dtx { talk_ns: 1_004_000_000, pause_ns: 1_587_000_000 };
        let mut microphone = microphone(Some(dtx));
        let slots = 500_000;
        let frames: Vec<Frame> = (0..slots).filter_map(|_| microphone.capture()).collect();
        let talk = frames.iter().filter(|frame| frame.bytes == 50).count() as f64 / f64::from(slots);
        // 10 000 s have some 3860 spurts and pauses: the share's standard error is about 0.7 %.
        assert!((talk - 1004.0 / 2591.0).abs() < 0.03, "{talk}");
        let silent: Vec<&Frame> = frames.iter().filter(|frame| frame.bytes == 1).collect();
        let close = silent.windows(2).filter(|pair| pair[1].number - pair[0].number < 20);
        // Nearer than 400 ms are only those of different pauses.
        assert!(close.clone().count() < silent.len() / 2, "{} of {}", close.count(), silent.len());
    }
}
