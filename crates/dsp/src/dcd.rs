//! Dichotomous coordinate descent with a leading element (Zakharov, White and Liu, IEEE TSP 56(7), 2008): solves normal
//! equations by changing one part of one unknown at a time, by steps of powers of two.

use crate::real::Real;

/// Real vectors that two complex ones are kept as: real and imaginary parts of one, then of the other.
pub const PLANES: usize = 4;

/// Part of an unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Its delay in samples.
    pub tap: usize,
    /// 0 or 1: which of the two unknowns of a tap.
    pub channel: usize,
    /// 0 for the real part, 1 for the imaginary one.
    pub part: usize,
}

/// Normal equations.
pub trait Normal<T> {
    /// The matrix's diagonal element, which is real.
    fn diagonal(&self, unknown: Unknown) -> T;

    /// Takes `step` times the matrix's column of the unknown (j times it for an imaginary part) from the residual.
    fn subtract(&mut self, unknown: Unknown, step: T, residual: &mut [T]);
}

/// The solver's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dcd {
    /// H: unknowns change by less than this, a power of two.
    pub range: f64,
    /// M_b: how often the step may be halved.
    pub bits: u32,
    /// N_u: how many changes are made in a call at most.
    pub updates: u32,
}

impl Dcd {
    /// As in the publication.
    pub const PUBLISHED: Self = Self { range: 1.0, bits: 16, updates: 4 };

    /// Solves from zero; `residual` (its [`PLANES`] one after another) becomes what is left of the right-hand side, and
    /// `change` is told every change.
    pub fn solve<T: Real>(
        &self,
        matrix: &mut impl Normal<T>,
        residual: &mut [T],
        mut change: impl FnMut(Unknown, T),
    ) {
        let length = residual.len() / PLANES;
        let mut step = T::from_f64(0.5 * self.range);
        let mut bit = 1;
        for _ in 0..self.updates {
            let (at, leading) = largest(residual);
            let plane = at / length;
            let unknown = Unknown { tap: at % length, channel: plane / 2, part: plane % 2 };
            let diagonal = matrix.diagonal(unknown);
            while leading.magnitude() <= step.half() * diagonal {
                bit += 1;
                step = step.half();
                if bit > self.bits {
                    return;
                }
            }
            let signed = if leading < T::ZERO { -step } else { step };
            change(unknown, signed);
            matrix.subtract(unknown, signed, residual);
        }
    }
}

/// Of how many values the largest one is found at once.
const GROUP: usize = 64;
const LANES: usize = 16;

/// The value of the largest magnitude, the first of equals, and where it is.
fn largest<T: Real>(values: &[T]) -> (usize, T) {
    let mut best = T::ZERO;
    let mut group = 0;
    for (index, values) in values.chunks(GROUP).enumerate() {
        let mut lanes = [T::ZERO; LANES];
        let mut whole = values.chunks_exact(LANES);
        for values in &mut whole {
            for (lane, value) in lanes.iter_mut().zip(values) {
                *lane = lane.larger(value.magnitude());
            }
        }
        for (lane, value) in lanes.iter_mut().zip(whole.remainder()) {
            *lane = lane.larger(value.magnitude());
        }
        let most = lanes.into_iter().fold(T::ZERO, T::larger);
        if most > best {
            best = most;
            group = index;
        }
    }
    let start = group * GROUP;
    let within = values[start..].iter().position(|value| value.magnitude() >= best).unwrap_or(0);
    (start + within, values[start + within])
}
