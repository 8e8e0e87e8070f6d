//! The filter in integers, as hardware would have it: additions and shifts, and the products of the filter itself.
//!
//! λ = 1 - 2^-m, so that forgetting is a shift too. Correlation and residual are kept times 1 - λ, which bounds them by the
//! samples' power whatever the memory is. Every word is rounded to nearest and saturates; a word of w bits with i in
//! front of the point has the fraction 2^(i - w):
//!
//! | what | bits | in front of the point |
//! | --- | --- | --- |
//! | samples of loudspeakers and microphones | [`Words::sample`] | 1 (full scale is ±1) |
//! | error | one more | 2 |
//! | taps | [`Words::tap`] | 2 |
//! | correlation and residual | [`Words::sum`] | 2 |
//!
//! Sums of products, and they alone, are exact: 64 bits wide, which is enough for 256 taps.

use alloc::vec;
use alloc::vec::Vec;

use crate::canceller::{Canceller, Invalid, Kept, Stereo, require};
use crate::dcd::{Dcd, Leading, PLANES, turn, width};
use crate::matrix::{Conjugate, Matrix, tap};
use crate::paths::Paths;
use crate::state::{Archive, Damaged, Reader, Writer};
use crate::window::Window;

/// How many bits each kind of word has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// Of a sample.
    pub sample: u32,
    /// Of an element of correlation matrix and residual.
    pub sum: u32,
    /// Of a tap.
    pub tap: u32,
}

/// What a filter in integers is made from; the names are those of [`crate::Config`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedConfig {
    /// L: samples of each path.
    pub length: usize,
    /// m of λ = 1 - 2^-m.
    pub memory_bits: u32,
    /// ε: what the correlation matrix begins with, in squared units of the samples.
    pub regularisation: f64,
    /// N_it: how often each sample is used.
    pub reuse: u32,
    /// The solver; its range is a power of two.
    pub dcd: Dcd,
    /// Word lengths.
    pub words: Words,
}

/// Bits in front of the point: of samples, and of everything else.
const SAMPLE: u32 = 1;
const WIDE: u32 = 2;

impl FixedConfig {
    fn check(&self) -> Result<(), Invalid> {
        let Words { sample, sum, tap } = self.words;
        let Dcd { range, bits, updates } = self.dcd;
        require(&[
            ((1..=256).contains(&self.length), "length", "between 1 and 256 samples in fixed point"),
            ((1..=24).contains(&self.memory_bits), "memory_bits", "between 1 and 24"),
            (self.regularisation > 0.0 && self.regularisation.is_finite(), "regularisation", "above 0"),
            ((1..=100).contains(&self.reuse), "reuse", "between 1 and 100"),
            ((4..=24).contains(&sample), "sample", "between 4 and 24 bits"),
            ((4..=32).contains(&sum), "sum", "between 4 and 32 bits"),
            ((4..=32).contains(&tap), "tap", "between 4 and 32 bits"),
            (range == 1.0, "range", "1 in fixed point"),
            (bits >= 1 && bits <= tap - WIDE, "bits", "at least 1, and at most 2 below those of a tap"),
            ((1..=1000).contains(&updates), "updates", "between 1 and 1000"),
        ])
    }

    fn visit(&mut self, archive: &mut impl Archive) {
        archive.size(&mut self.length);
        archive.parameter(&mut self.regularisation);
        archive.parameter(&mut self.dcd.range);
        let Words { sample, sum, tap } = &mut self.words;
        let Dcd { bits, updates, .. } = &mut self.dcd;
        for value in [&mut self.memory_bits, &mut self.reuse, bits, updates, sample, sum, tap] {
            let mut count = u64::from(*value);
            archive.count(&mut count);
            *value = count as u32;
        }
    }
}

/// A value shifted right by so many bits (left, if fewer than none), rounded to nearest.
fn shifted(value: i64, bits: i32) -> i64 {
    if bits <= 0 { value << -bits } else { (value + (1 << (bits - 1))) >> bits }
}

/// The nearest number of a word; what is beyond it becomes its largest, either sign.
fn saturated(value: i64, bits: u32) -> i32 {
    let most = (1_i64 << (bits - 1)) - 1;
    value.clamp(-most, most) as i32
}

/// A number as a word of so many bits, so many of them in front of the point.
fn word(value: f64, bits: u32, front: u32) -> i32 {
    // Beyond the word in any case, and within an integer of 64 bits.
    let limited = value.clamp(-4.0, 4.0);
    saturated(libm::rint(libm::scalbn(limited, (bits - front) as i32)) as i64, bits)
}

/// The filter.
#[derive(Clone, Debug)]
pub struct FixedPoint {
    config: FixedConfig,
    window: Window<i32>,
    /// Times 1 - λ, as is the residual.
    matrix: Matrix<i32, Conjugate>,
    residual: Vec<i32>,
    paths: Paths<i32>,
}

impl FixedPoint {
    const KIND: u8 = 5;

    /// A filter that knows nothing yet; its matrix begins as that of [`crate::WidelyLinear`].
    ///
    /// # Errors
    /// A value of the configuration is not allowed.
    pub fn new(config: FixedConfig) -> Result<Self, Invalid> {
        config.check()?;
        let FixedConfig { length, memory_bits, regularisation, words, .. } = config;
        let fresh = libm::exp2(-f64::from(memory_bits));
        Ok(Self {
            config,
            window: Window::new(length),
            matrix: Matrix::new(length, |tap| {
                let grown = libm::pow(1.0 - fresh, -(tap as f64));
                word(regularisation * fresh * grown, words.sum, WIDE)
            }),
            residual: vec![0; PLANES * width(length)],
            paths: Paths::silent(length),
        })
    }

    /// The filter that was saved.
    ///
    /// # Errors
    /// The octets are not the state of such a filter.
    pub fn restore(octets: &[u8]) -> Result<Self, Damaged> {
        let mut reader = Reader::new::<i32>(Self::KIND, octets)?;
        let mut config = FixedConfig {
            length: 1,
            memory_bits: 1,
            regularisation: 1.0,
            reuse: 1,
            dcd: Dcd::PUBLISHED,
            words: Words { sample: 16, sum: 32, tap: 32 },
        };
        config.visit(&mut reader);
        let mut filter = Self::new(config).map_err(|_| Damaged::Changed)?;
        filter.visit(&mut reader);
        reader.finish()?;
        if filter.matrix.is_sound() { Ok(filter) } else { Err(Damaged::Changed) }
    }

    fn visit(&mut self, archive: &mut impl Archive) {
        self.window.visit(archive);
        self.matrix.visit(archive);
        archive.numbers(&mut self.residual);
        self.paths.visit(archive);
    }

    /// What it was made from.
    #[must_use]
    pub fn config(&self) -> &FixedConfig {
        &self.config
    }

    /// Bits that a product of two samples, times 1 - λ, is shifted by to become a word of the sums.
    fn product(&self) -> i32 {
        let Words { sample, sum, .. } = self.config.words;
        (2 * (sample - SAMPLE) + self.config.memory_bits) as i32 - (sum - WIDE) as i32
    }

    /// Step 2.
    fn correlate(&mut self) {
        let [left, right] = self.window.around();
        let Stereo { left: re, right: im } = self.window.newest();
        let (re, im) = (i64::from(re), i64::from(im));
        let (memory, product) = (self.config.memory_bits as i32, self.product());
        let sum = self.config.words.sum;
        self.matrix.shift(|plane, start, older, newer| {
            for ((to, &from), (&l, &r)) in
                newer.iter_mut().zip(older).zip(left[start..].iter().zip(&right[start..]))
            {
                let (l, r, from) = (i64::from(l), i64::from(r), i64::from(from));
                let fresh = match plane {
                    0 => l * re + r * im,
                    1 => r * re - l * im,
                    2 => l * re - r * im,
                    _ => r * re + l * im,
                };
                *to = saturated(from - shifted(from, memory) + shifted(fresh, product), sum);
            }
        });
    }

    /// Steps 3 and 4.
    fn error(&self, near: Stereo<i32>) -> Stereo<i32> {
        let Words { sample, tap, .. } = self.config.words;
        let [left, right] = [self.window.left(), self.window.right()];
        let heard = |from_left: &[i32], from_right: &[i32]| {
            let each = from_left.iter().zip(left).chain(from_right.iter().zip(right));
            shifted(each.map(|(&tap, &x)| i64::from(tap) * i64::from(x)).sum(), (tap - WIDE) as i32)
        };
        let Paths { left_left, left_right, right_left, right_right } = &self.paths;
        Stereo::new(
            saturated(i64::from(near.left) - heard(left_left, right_left), sample + 1),
            saturated(i64::from(near.right) - heard(left_right, right_right), sample + 1),
        )
    }

    /// Step 5, (13).
    fn aim(&mut self, forgets: bool, error: Stereo<i32>) {
        let [left, right] = self.window.around();
        let (a, b) = (i64::from(error.left), i64::from(error.right));
        let (memory, product, sum) = (self.config.memory_bits as i32, self.product(), self.config.words.sum);
        for (plane, residual) in self.residual.chunks_exact_mut(left.len()).enumerate() {
            for (to, (&l, &r)) in residual.iter_mut().zip(left.iter().zip(right)) {
                let (l, r, was) = (i64::from(l), i64::from(r), i64::from(*to));
                let fresh = match plane {
                    0 => a * l + b * r,
                    1 => a * r - b * l,
                    2 => a * l - b * r,
                    _ => -(a * r + b * l),
                };
                let kept = if forgets { was - shifted(was, memory) } else { was };
                *to = saturated(kept + shifted(fresh, product), sum);
            }
        }
    }

    /// Steps 6 and 7, by shifts; returns by how much the output changes.
    fn solve(&mut self) -> [i64; 2] {
        let FixedConfig { length, dcd, words, .. } = self.config;
        let [left, right] = self.window.around();
        let origin = self.matrix.origin();
        let mut change = [0_i64; 2];
        let mut bit = 1;
        for _ in 0..dcd.updates {
            let (unknown, value) = Leading::of(&self.residual).unknown(&self.residual);
            let diagonal = i64::from(self.matrix.diagonal(unknown));
            while i64::from(value).abs() << (bit + 1) <= diagonal {
                bit += 1;
                if bit > dcd.bits {
                    return change;
                }
            }
            let step = i64::from(value.signum()) << (words.tap - WIDE - bit);
            for way in unknown.ways() {
                let at = &mut self.paths.way(way)[tap(unknown.place, origin, length)];
                let step = if way.negative { -step } else { step };
                let sample = if way.from == 0 { left } else { right }[unknown.place];
                change[way.to] += step * i64::from(sample);
                *at = saturated(i64::from(*at) + step, words.tap);
            }
            self.matrix.apply(unknown, &mut self.residual, |was, element, negative| {
                let part = shifted(i64::from(element), bit as i32);
                saturated(i64::from(was) + if negative == (value > 0) { part } else { -part }, words.sum)
            });
        }
        change
    }
}

impl Kept for FixedPoint {
    fn save(&self) -> Vec<u8> {
        let mut kept = self.clone();
        let mut writer = Writer::new::<i32>(Self::KIND);
        kept.config.visit(&mut writer);
        kept.visit(&mut writer);
        writer.finish()
    }
}

/// Samples are parts of full scale; what is beyond it is clipped, as a converter would.
impl Canceller<f64> for FixedPoint {
    fn length(&self) -> usize {
        self.config.length
    }

    fn paths(&self) -> Paths<f64> {
        let unit = libm::exp2(-f64::from(self.config.words.tap - WIDE));
        let floating = |path: &[i32]| path.iter().map(|&tap| unit * f64::from(tap)).collect();
        let Paths { left_left, left_right, right_left, right_right } = &self.paths;
        Paths {
            left_left: floating(left_left),
            left_right: floating(left_right),
            right_left: floating(right_left),
            right_right: floating(right_right),
        }
    }

    fn advance(&mut self, far: Stereo<f64>, near: Stereo<f64>) -> Stereo<f64> {
        let Words { sample, tap, .. } = self.config.words;
        let heard = |pair: Stereo<f64>| {
            Stereo::new(word(pair.left, sample, SAMPLE), word(pair.right, sample, SAMPLE))
        };
        self.window.push(heard(far));
        self.correlate();
        turn(&mut self.residual, self.config.length);
        let out = self.error(heard(near));
        let mut error = out;
        for using in 0..self.config.reuse {
            self.aim(using == 0, error);
            let [left, right] = self.solve();
            let less = |error: i32, change: i64| {
                saturated(i64::from(error) - shifted(change, (tap - WIDE) as i32), sample + 1)
            };
            error = Stereo::new(less(error.left, left), less(error.right, right));
        }
        let unit = libm::exp2(-f64::from(sample - SAMPLE));
        Stereo::new(unit * f64::from(out.left), unit * f64::from(out.right))
    }
}
