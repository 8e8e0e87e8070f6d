//! The arrival-time filter: the mean m(i) of the delay variation, which is not zero where a queue fills or empties.

use crate::rate::groups::Delta;
use alloc::collections::VecDeque;

/// State noise q.
const Q: f64 = 1e-3;
/// The system error covariance at the start, e(0).
const E0: f64 = 0.1;
/// Groups that the highest rate f_max is looked for in; the draft leaves K open.
const K: usize = 60;

/// A filter of the delay variation.
#[derive(Debug)]
pub(super) enum Filter {
    /// Section 5.3 of draft-ietf-rmcat-gcc-02.
    Scalar(Scalar),
    /// That of draft-alvestrand-rmcat-congestion and draft-ietf-rmcat-gcc-00, which also estimates the capacity.
    TwoStates(TwoStates),
}

impl Filter {
    /// Takes a group in: m(i), in milliseconds.
    pub(super) fn update(&mut self, delta: &Delta) -> f64 {
        match self {
            Self::Scalar(scalar) => scalar.update(delta.delay_ms(), delta.sent_ms),
            Self::TwoStates(states) => states.update(delta.delay_ms(), delta.bytes, delta.sent_ms),
        }
    }
}

/// The variance of the measurement noise v(i), in square milliseconds.
#[derive(Debug)]
struct Noise {
    var: f64,
    chi: f64,
    /// Never changes: what a filter has that is told its noise.
    fixed: bool,
    gaps_ms: VecDeque<f64>,
}

impl Noise {
    fn new(chi: f64, fixed: bool, var: f64) -> Self {
        Self { var, chi, fixed, gaps_ms: VecDeque::new() }
    }

    fn update(&mut self, z: f64, gap_ms: f64) {
        if self.fixed {
            return;
        }
        if gap_ms > 0.0 {
            self.gaps_ms.push_back(gap_ms);
        }
        if self.gaps_ms.len() > K {
            self.gaps_ms.pop_front();
        }
        // 1/f_max; before there is a gap, the 30 groups a second that chi is meant for.
        let shortest = self.gaps_ms.iter().copied().reduce(f64::min).unwrap_or(1000.0 / 30.0);
        let alpha = libm::pow(1.0 - self.chi, 30.0 * shortest / 1000.0);
        // The draft's comparison is of z, not of its size.
        let z = z.min(3.0 * libm::sqrt(self.var));
        self.var = (alpha * self.var + (1.0 - alpha) * z * z).max(1.0);
    }
}

/// One state, m.
#[derive(Debug)]
pub(super) struct Scalar {
    m: f64,
    e: f64,
    noise: Noise,
}

impl Scalar {
    pub(super) fn new(chi: f64, fixed_noise: bool) -> Self {
        Self { m: 0.0, e: E0, noise: Noise::new(chi, fixed_noise, 1.0) }
    }

    fn update(&mut self, d: f64, gap_ms: f64) -> f64 {
        let z = d - self.m;
        self.noise.update(z, gap_ms);
        let predicted = self.e + Q;
        let k = predicted / (self.noise.var + predicted);
        self.m += z * k;
        self.e = (1.0 - k) * predicted;
        self.m
    }
}

/// Two states, 1/C and m: d(i) = dL(i)/C + m(i) + v(i). Its numbers are those of libwebrtc's `OveruseEstimator`.
#[derive(Debug)]
pub(super) struct TwoStates {
    /// 1/C in milliseconds a byte.
    slope: f64,
    m: f64,
    e: [[f64; 2]; 2],
    noise: Noise,
}

impl TwoStates {
    pub(super) fn new(chi: f64, fixed_noise: bool) -> Self {
        Self {
            slope: 1.0 / 64.0,
            m: 0.0,
            e: [[100.0, 0.0], [0.0, 0.1]],
            noise: Noise::new(chi, fixed_noise, 50.0),
        }
    }

    fn update(&mut self, d: f64, bytes: f64, gap_ms: f64) -> f64 {
        self.e[0][0] += 1e-13;
        self.e[1][1] += Q;
        let h = [bytes, 1.0];
        let eh = [self.e[0][0] * h[0] + self.e[0][1] * h[1], self.e[1][0] * h[0] + self.e[1][1] * h[1]];
        let z = d - self.slope * h[0] - self.m;
        self.noise.update(z, gap_ms);
        let denominator = self.noise.var + h[0] * eh[0] + h[1] * eh[1];
        let k = [eh[0] / denominator, eh[1] / denominator];
        let ikh = [[1.0 - k[0] * h[0], -k[0] * h[1]], [-k[1] * h[0], 1.0 - k[1] * h[1]]];
        let e = self.e;
        for (row, ikh) in self.e.iter_mut().zip(ikh) {
            *row = [ikh[0] * e[0][0] + ikh[1] * e[1][0], ikh[0] * e[0][1] + ikh[1] * e[1][1]];
        }
        self.slope += k[0] * z;
        self.m += k[1] * z;
        self.m
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    #[test]
    fn two_steps_of_the_scalar_filter_by_hand() {
        let mut filter = Scalar::new(0.01, false);
        // z = 2, below 3σ = 3; α = 0.99^(30·5/1000); σ² = 1 + 3(1-α) = 1.004516...
        let m1 = filter.update(2.0, 5.0);
        let alpha = libm::exp(0.15 * libm::log(0.99));
        let var = alpha + (1.0 - alpha) * 4.0;
        let k = 0.101 / (var + 0.101);
        close(filter.noise.var, var);
        close(m1, 2.0 * k);
        let e = (1.0 - k) * 0.101;
        close(filter.e, e);
        // z = 10 - m is beyond 3σ, so the noise learns 3σ; the state learns z.
        let m2 = filter.update(10.0, 5.0);
        let var2 = alpha * var + (1.0 - alpha) * 9.0 * var;
        let k2 = (e + 1e-3) / (var2 + e + 1e-3);
        close(m2, m1 + (10.0 - m1) * k2);
    }

    #[test]
    fn the_noise_is_never_below_one_and_the_shortest_gap_counts() {
        let mut filter = Scalar::new(0.1, false);
        for _ in 0..500 {
            filter.update(0.0, 33.0);
        }
        close(filter.noise.var, 1.0);
        filter.update(0.0, 4.0);
        let m = filter.m;
        filter.update(m + 2.0, 33.0);
        let alpha = libm::pow(0.9, 30.0 * 4.0 / 1000.0);
        close(filter.noise.var, alpha + (1.0 - alpha) * 4.0);
    }

    #[test]
    fn two_states_tell_size_from_queue() {
        let mut filter = TwoStates::new(0.01, false);
        // 1 Mbit/s: 0.008 ms a byte; sizes alternate, the queue does not grow.
        let mut m = 0.0;
        for i in 0..4000 {
            let bytes = if i % 2 == 0 { 900.0 } else { -900.0 };
            m = filter.update(0.008 * bytes, bytes, 33.0);
        }
        assert!((filter.slope - 0.008).abs() < 1e-4 && m.abs() < 0.05, "{} {m}", filter.slope);
        for i in 0..200 {
            let bytes = if i % 2 == 0 { 900.0 } else { -900.0 };
            m = filter.update(0.008 * bytes + 1.0, bytes, 33.0);
        }
        assert!((0.7..1.2).contains(&m), "{m}");
    }
}
