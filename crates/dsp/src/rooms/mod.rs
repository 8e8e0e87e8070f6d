//! Echo paths of long rooms: weighted recursive least squares in each band of a short-time spectrum, by the solver of the
//! widely linear filter.
//!
//! Both loudspeakers' samples are transformed as one complex signal, which is the widely linear mapping; bands k and -k
//! of it are the two loudspeakers' band k, so a band is a complex system of two inputs. What is 2 048 taps at 16 kHz are
//! 19 frames of a band: 38 unknowns for each microphone. Read [`Rooms::frame`] first.
//!
//! - A frame counts by the inverse of what is left in its band (`w` = 1/φ): where the near end speaks, or is noisy, little
//!   is learnt. Weights differ between frames, so the matrix is not that of the frame before, shifted, and all of it is
//!   computed. (Shifted all the same, it diverges.)
//! - A path that has changed looks like such speech. A shadow filter, normalised least mean squares without weights,
//!   tells them apart: where it leaves clearly less than the filter does, and of the microphones' sound too, the filter
//!   goes on from it, and what was learnt before hardly counts.
//! - [`suppressor`] takes from what is left the echo that the filter does not know.

mod band;
mod suppressor;
mod transform;

use alloc::vec;
use alloc::vec::Vec;

use crate::canceller::{Canceller, Invalid, Kept, Stereo, require};
use crate::paths::Paths;
use crate::real::Real;
use crate::rooms::band::Band;
use crate::rooms::suppressor::Suppressor;
use crate::rooms::transform::{Complex, OVERLAP, Pair, Transform};
use crate::state::{Archive, Damaged, Reader, Writer};

/// Frames beyond those that the paths' length is made of: an echo lies within several overlapping windows.
const OVERHANG: usize = 3;
/// What φ keeps of itself.
const NOISE_KEPT: f64 = 0.6;
/// The least φ: below any sound, in squares of full scale times a window's energy.
const NOISE_LEAST: f64 = 1e-7;
/// What φ is at least of the loudspeakers' power: no band's model is more exact, and no single frame counts for seconds.
const MISMATCH: f64 = 1e-4;
/// What the diagonal settles at where nothing is heard.
const LOAD: f64 = 0.01;
/// Where a band's frames have less power than this, there is nothing to learn from.
const INAUDIBLE: f64 = 1e-12;
/// Added to the frames' power in the shadow's step.
const SHADOW_LOAD: f64 = 1e-5;
/// Seconds over which the two filters are compared.
const COMPARISON_S: f64 = 0.3;
/// The shadow is taken where it leaves less than this of the filter's, and less than this of the microphones'.
const BETTER: f64 = 0.6;
const CANCELLED: f64 = 0.3;
/// What was learnt before counts as much afterwards.
const REMEMBERED: f64 = 0.02;
/// The shadow goes on from the filter where that leaves less than this of the shadow's.
const WORSE: f64 = 0.5;
/// The most frames that a path is divided into by default, and the most that are allowed.
const FRAMES: usize = 16;
const MOST_FRAMES: usize = 128;

/// What a filter of long rooms is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoomsConfig {
    /// Samples of each path.
    pub length: usize,
    /// Samples in a second.
    pub rate: f64,
    /// Samples of a window, a power of two: also the delay of what goes out.
    pub window: usize,
    /// Seconds in which what was learnt comes to count 1/e.
    pub memory: f64,
    /// Whether what the filter leaves of the echo is suppressed.
    pub suppress: bool,
}

impl RoomsConfig {
    /// For paths of `length` samples: the shortest window from 256 samples that makes at most 16 frames of it, 2 s of
    /// memory, with the suppressor.
    #[must_use]
    pub fn usual(length: usize, rate: f64) -> Self {
        let window = (OVERLAP * length.min(1 << 20).div_ceil(FRAMES)).next_power_of_two().max(256);
        Self { length, rate, window, memory: 2.0, suppress: true }
    }

    fn visit(&mut self, archive: &mut impl Archive) {
        archive.size(&mut self.length);
        archive.parameter(&mut self.rate);
        archive.size(&mut self.window);
        archive.parameter(&mut self.memory);
        let mut suppress = usize::from(self.suppress);
        archive.size(&mut suppress);
        self.suppress = suppress == 1;
    }
}

/// Powers of the microphones' sound, and of what the filter and its shadow leave of it.
#[derive(Clone, Copy, Debug)]
struct Comparison<T> {
    heard: T,
    filter: T,
    shadow: T,
    frames: u64,
}

/// A filter of long rooms. What it gives out is late by a window ([`Canceller::delay`]).
#[derive(Clone, Debug)]
pub struct Rooms<T> {
    config: RoomsConfig,
    transform: Transform<T>,
    bands: Vec<Band<T>>,
    suppressor: Suppressor<T>,
    comparison: Comparison<T>,
    /// The last window of both loudspeakers and microphones, and of what is put together for going out.
    far: Stereo<Vec<T>>,
    near: Stereo<Vec<T>>,
    out: Stereo<Vec<T>>,
    /// Samples since the last frame.
    fresh: usize,
    loud: Vec<Pair<T>>,
    heard: Vec<Pair<T>>,
    echo: Vec<Pair<T>>,
    left: Vec<Pair<T>>,
}

impl<T: Real> Rooms<T> {
    const KIND: u8 = 6;

    /// A filter that knows nothing yet.
    ///
    /// # Errors
    /// A value is not allowed.
    pub fn new(config: RoomsConfig) -> Result<Self, Invalid> {
        let RoomsConfig { length, rate, window, memory, .. } = config;
        let hop = window / OVERLAP;
        let seconds = hop as f64 / rate;
        require(&[
            ((1.0..=1e6).contains(&rate), "rate", "between 1 and 1000000 Hz"),
            (
                window.is_power_of_two() && (64..=1 << 14).contains(&window),
                "window",
                "a power of two between 64 and 16384 samples",
            ),
            (length >= 1 && length <= MOST_FRAMES * hop.max(1), "length", "between 1 sample and 32 windows"),
            (memory >= 10.0 * seconds && memory <= 1e4, "memory", "between 2.5 windows and 10000 s"),
        ])?;
        let count = window / 2 + 1;
        let silence = || Stereo::new(vec![T::ZERO; window], vec![T::ZERO; window]);
        let nothing = vec![[Complex::ZERO; 2]; count];
        Ok(Self {
            config,
            transform: Transform::new(window),
            bands: vec![Band::new(length.div_ceil(hop) + OVERHANG); count],
            suppressor: Suppressor::new(count, seconds),
            comparison: Comparison { heard: T::ZERO, filter: T::ZERO, shadow: T::ZERO, frames: 0 },
            far: silence(),
            near: silence(),
            out: silence(),
            fresh: 0,
            loud: nothing.clone(),
            heard: nothing.clone(),
            echo: nothing.clone(),
            left: nothing,
        })
    }

    /// The filter that was saved.
    ///
    /// # Errors
    /// The octets are not the state of such a filter.
    pub fn restore(octets: &[u8]) -> Result<Self, Damaged> {
        let mut reader = Reader::new::<T>(Self::KIND, octets)?;
        let mut config = RoomsConfig::usual(1, 1.0);
        config.visit(&mut reader);
        let mut filter = Self::new(config).map_err(|_| Damaged::Changed)?;
        filter.visit(&mut reader);
        reader.finish()?;
        if filter.fresh < filter.hop() { Ok(filter) } else { Err(Damaged::Changed) }
    }

    fn visit(&mut self, archive: &mut impl Archive) {
        for band in &mut self.bands {
            band.visit(archive);
        }
        self.suppressor.visit(archive);
        let Comparison { heard, filter, shadow, frames } = &mut self.comparison;
        for power in [heard, filter, shadow] {
            archive.numbers(core::slice::from_mut(power));
        }
        archive.count(frames);
        for Stereo { left, right } in [&mut self.far, &mut self.near, &mut self.out] {
            archive.numbers(left);
            archive.numbers(right);
        }
        archive.size(&mut self.fresh);
    }

    /// What it was made from.
    #[must_use]
    pub fn config(&self) -> &RoomsConfig {
        &self.config
    }

    fn hop(&self) -> usize {
        self.config.window / OVERLAP
    }

    /// Takes a frame: transforms, cancels, learns, suppresses, and puts together what goes out.
    fn frame(&mut self) {
        let hop = self.hop();
        self.transform.analyse(Stereo::new(&self.far.left, &self.far.right), &mut self.loud);
        self.transform.analyse(Stereo::new(&self.near.left, &self.near.right), &mut self.heard);
        for ((band, &loud), (heard, (echo, left))) in self
            .bands
            .iter_mut()
            .zip(&self.loud)
            .zip(self.heard.iter().zip(self.echo.iter_mut().zip(&mut self.left)))
        {
            band.push(loud);
            *echo = band.echo();
            *left = [heard[0].minus(echo[0]), heard[1].minus(echo[1])];
        }
        self.learn();
        if self.config.suppress {
            self.suppressor.spare(&mut self.left, &self.echo);
        }
        for samples in [&mut self.far, &mut self.near, &mut self.out] {
            for channel in [&mut samples.left, &mut samples.right] {
                channel.copy_within(hop.., 0);
            }
        }
        for channel in [&mut self.out.left, &mut self.out.right] {
            channel[self.config.window - hop..].fill(T::ZERO);
        }
        self.transform.synthesise(&self.left, Stereo::new(&mut self.out.left, &mut self.out.right));
    }

    /// Learns by what is left of the frame, and compares the filter with its shadow.
    fn learn(&mut self) {
        let one = T::from_f64(1.0);
        let seconds = self.hop() as f64 / self.config.rate;
        let forgetting = T::from_f64(1.0 - seconds / self.config.memory);
        let load = T::from_f64(LOAD * seconds / self.config.memory);
        let [kept, least, inaudible, shadow_load] =
            [NOISE_KEPT, NOISE_LEAST, INAUDIBLE, SHADOW_LOAD].map(T::from_f64);
        let frames = 2 * (self.config.length.div_ceil(self.hop()) + OVERHANG);
        let mismatch = T::from_f64(MISMATCH / frames as f64);
        let (mut heard, mut filter, mut shadow) = (T::ZERO, T::ZERO, T::ZERO);
        for index in 0..self.bands.len() {
            let near = &self.left[index.saturating_sub(1)..(index + 2).min(self.bands.len())];
            let total = near.iter().fold(T::ZERO, |sum, pair| sum + pair[0].power() + pair[1].power());
            let band = &mut self.bands[index];
            let level = band.follow(total / T::from_f64(2.0 * near.len() as f64), kept);
            let power = band.power();
            if power < inaudible {
                // Numbers too small to matter slow processors down.
                band.hush();
                continue;
            }
            let left = &self.left[index];
            band.learn(left, one / (level + (mismatch * power + least)), forgetting, load);
            let other = band.shadow(&self.heard[index], power + shadow_load);
            for ([a, b], sum) in
                [(&self.heard[index], &mut heard), (left, &mut filter), (&other, &mut shadow)]
            {
                *sum += a.power() + b.power();
            }
        }
        self.compare(Comparison { heard, filter, shadow, frames: 1 }, seconds);
    }

    fn compare(&mut self, fresh: Comparison<T>, seconds: f64) {
        let keep = T::from_f64((1.0 - seconds / COMPARISON_S).max(0.0));
        let so_far = &mut self.comparison;
        so_far.heard = keep * so_far.heard + fresh.heard;
        so_far.filter = keep * so_far.filter + fresh.filter;
        so_far.shadow = keep * so_far.shadow + fresh.shadow;
        so_far.frames += fresh.frames;
        let since = so_far.frames as f64 * seconds;
        let [better, cancelled, remembered, worse] = [BETTER, CANCELLED, REMEMBERED, WORSE].map(T::from_f64);
        let taken = so_far.shadow < better * so_far.filter && so_far.shadow < cancelled * so_far.heard;
        if taken && since > 0.5 * COMPARISON_S {
            so_far.frames = 0;
            so_far.filter = so_far.shadow;
            for band in &mut self.bands {
                band.begin_anew(remembered);
            }
        } else if so_far.filter < worse * so_far.shadow && since > COMPARISON_S {
            so_far.frames = 0;
            so_far.shadow = so_far.filter;
            for band in &mut self.bands {
                band.teach_shadow();
            }
        }
    }

    /// What the filter makes of a click of one loudspeaker: the paths from it to both microphones, heard from the click on.
    fn response(&self, right: bool, position: usize) -> Stereo<Vec<T>> {
        let (window, hop) = (self.config.window, self.hop());
        let mut transform = self.transform.clone();
        let mut bands = self.bands.clone();
        let count = self.config.length + 2 * window;
        let mut out = Stereo::new(vec![T::ZERO; count + window], vec![T::ZERO; count + window]);
        let (mut loud, mut echo) = (self.loud.clone(), self.echo.clone());
        for band in &mut bands {
            band.hush();
        }
        // The click is at `window - hop + position` of the first frame's samples.
        for start in (0..count).step_by(hop) {
            let mut far = Stereo::new(vec![T::ZERO; window], vec![T::ZERO; window]);
            if let Some(at) = (window - hop + position).checked_sub(start) {
                let channel = if right { &mut far.right } else { &mut far.left };
                channel[at] = T::from_f64(1.0);
            }
            transform.analyse(Stereo::new(&far.left, &far.right), &mut loud);
            for (band, (&loud, echo)) in bands.iter_mut().zip(loud.iter().zip(&mut echo)) {
                band.push(loud);
                *echo = band.echo();
            }
            let part = start..start + window;
            transform.synthesise(&echo, Stereo::new(&mut out.left[part.clone()], &mut out.right[part]));
        }
        let heard = window - hop + position..window - hop + position + self.config.length;
        Stereo::new(out.left[heard.clone()].to_vec(), out.right[heard].to_vec())
    }
}

impl<T: Real> Kept for Rooms<T> {
    fn save(&self) -> Vec<u8> {
        let mut kept = self.clone();
        let mut writer = Writer::new::<T>(Self::KIND);
        kept.config.visit(&mut writer);
        kept.visit(&mut writer);
        writer.finish()
    }
}

impl<T: Real> Canceller<T> for Rooms<T> {
    fn length(&self) -> usize {
        self.config.length
    }

    fn delay(&self) -> usize {
        self.config.window
    }

    /// The mean of what the filter makes of clicks at [`OVERLAP`] places between two frames.
    fn paths(&self) -> Paths<T> {
        let mut paths = Paths::silent(self.config.length);
        let share = T::from_f64(1.0 / OVERLAP as f64);
        for place in 0..OVERLAP {
            let position = place * self.hop() / OVERLAP;
            let (left, right) = (self.response(false, position), self.response(true, position));
            let each = [
                (&mut paths.left_left, left.left),
                (&mut paths.left_right, left.right),
                (&mut paths.right_left, right.left),
                (&mut paths.right_right, right.right),
            ];
            for (path, response) in each {
                for (tap, value) in path.iter_mut().zip(response) {
                    *tap += share * value;
                }
            }
        }
        paths
    }

    fn advance(&mut self, far: Stereo<T>, near: Stereo<T>) -> Stereo<T> {
        let at = self.config.window - self.hop() + self.fresh;
        self.far.left[at] = far.left;
        self.far.right[at] = far.right;
        self.near.left[at] = near.left;
        self.near.right[at] = near.right;
        let out = Stereo::new(self.out.left[self.fresh], self.out.right[self.fresh]);
        self.fresh += 1;
        if self.fresh == self.hop() {
            self.fresh = 0;
            self.frame();
        }
        out
    }
}
