//! A pretended room: coloured noise of two loudspeakers, echoes at two microphones.
#![allow(dead_code, missing_docs, unreachable_pub)]

use voxpath_dsp::{Paths, Stereo};

/// Normally distributed noise of a small generator (SplitMix64, Box and Muller).
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (core::f64::consts::TAU * self.uniform()).cos()
    }
}

/// AR(1) noise with the pole 0.9 in one far room, half-wave distorted, and four decaying random paths.
pub struct World {
    noise: Noise,
    pub paths: Paths<f64>,
    source: f64,
    history: Vec<f64>,
    rooms: [Vec<f64>; 2],
    loud: [Vec<f64>; 2],
    deviation: f64,
}

fn room(noise: &mut Noise, length: usize) -> Vec<f64> {
    let decay = 4.0 / length as f64;
    (0..length).map(|k| noise.normal() * (-decay * k as f64).exp()).collect()
}

impl World {
    pub fn new(length: usize, snr_db: f64) -> Self {
        let mut noise = Noise::new(7);
        let scale = 0.5 / (length as f64).sqrt();
        let mut path = || room(&mut noise, length).iter().map(|v| scale * v).collect();
        let paths = Paths { left_left: path(), left_right: path(), right_left: path(), right_right: path() };
        // Longer than the paths, or the four could not be told apart.
        let rooms = [room(&mut noise, 4 * length), room(&mut noise, 4 * length)];
        let silence = vec![0.0; length];
        let mut world = Self {
            noise,
            paths,
            source: 0.0,
            history: vec![0.0; 4 * length],
            rooms,
            loud: [silence.clone(), silence],
            deviation: 0.0,
        };
        let power: f64 = (0..20_000).map(|_| world.sample().1.left.powi(2)).sum::<f64>() / 20_000.0;
        world.deviation = (power * 10_f64.powf(-snr_db / 10.0)).sqrt();
        world
    }

    /// A sample of the loudspeakers and of the microphones.
    pub fn sample(&mut self) -> (Stereo<f64>, Stereo<f64>) {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        self.source = 0.9 * self.source + self.noise.normal();
        self.history.rotate_right(1);
        self.history[0] = self.source;
        let [left, right] = [0, 1].map(|side| 0.05 * dot(&self.rooms[side], &self.history));
        let far = Stereo::new(left + 0.4 * left.max(0.0), right + 0.4 * right.min(0.0));
        for (loud, value) in self.loud.iter_mut().zip([far.left, far.right]) {
            loud.rotate_right(1);
            loud[0] = value;
        }
        let [l, r] = &self.loud;
        let near = Stereo::new(
            dot(&self.paths.left_left, l) + dot(&self.paths.right_left, r),
            dot(&self.paths.left_right, l) + dot(&self.paths.right_right, r),
        );
        let mut noise = || self.deviation * self.noise.normal();
        (far, Stereo::new(near.left + noise(), near.right + noise()))
    }
}

fn all<T>(paths: &Paths<T>) -> impl Iterator<Item = &T> {
    [&paths.left_left, &paths.left_right, &paths.right_left, &paths.right_right].into_iter().flatten()
}

/// (16), in dB.
pub fn misalignment(truth: &Paths<f64>, ours: &Paths<f64>) -> f64 {
    let power = all(truth).map(|v| v * v).sum::<f64>();
    let error = all(truth).zip(all(ours)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    10.0 * (error / power).log10()
}

pub fn wide(paths: &Paths<f32>) -> Paths<f64> {
    let wide = |path: &[f32]| path.iter().map(|&v| f64::from(v)).collect();
    Paths {
        left_left: wide(&paths.left_left),
        left_right: wide(&paths.left_right),
        right_left: wide(&paths.right_left),
        right_right: wide(&paths.right_right),
    }
}
