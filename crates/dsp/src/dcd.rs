//! Dichotomous coordinate descent with a leading element (Zakharov, White and Liu, IEEE TSP 56(7), 2008): solves normal
//! equations by changing one part of one unknown at a time, by steps of powers of two.

use crate::real::{Number, Real};

/// Real vectors that two complex ones are kept as: real and imaginary parts of one, then of the other.
pub const PLANES: usize = 4;

/// Numbers that are compared side by side; vectors are padded with zeros to a multiple of it.
const LANES: usize = 16;

/// Of how many numbers the largest one is found at once.
const GROUP: usize = 128;

/// How long a vector of so many numbers is with its padding.
#[must_use]
pub const fn width(length: usize) -> usize {
    length.next_multiple_of(LANES)
}

/// Moves the numbers of padded vectors of `length` to where the places of their taps have gone with a new sample.
pub(crate) fn turn<T>(vectors: &mut [T], length: usize) {
    for vector in vectors.chunks_exact_mut(width(length)) {
        vector[..length].rotate_left(1);
    }
}

/// Part of an unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Where its tap stands in vectors.
    pub place: usize,
    /// 0 or 1: which of the two unknowns of a tap.
    pub channel: usize,
    /// 0 for the real part, 1 for the imaginary one.
    pub part: usize,
}

/// An echo path that an unknown is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Whether it is less by what the unknown is more.
    pub negative: bool,
    /// Which loudspeaker it leads from: 0 is the left one.
    pub from: usize,
    /// Which microphone it leads to.
    pub to: usize,
}

impl Unknown {
    /// The two paths, of h = ½[(LL + RR) + j(RL - LR)] and h' = ½[(LL - RR) - j(LR + RL)].
    #[must_use]
    pub fn ways(self) -> [Way; 2] {
        let second = self.channel == 1;
        if self.part == 0 {
            [Way { negative: false, from: 0, to: 0 }, Way { negative: second, from: 1, to: 1 }]
        } else {
            [Way { negative: true, from: 0, to: 1 }, Way { negative: second, from: 1, to: 0 }]
        }
    }
}

/// The element of the largest magnitude, the first of equals, of vectors that are gone through once.
#[derive(Clone, Copy, Debug)]
pub struct Leading<T> {
    magnitude: T,
    /// Where the group begins that has it.
    group: usize,
}

impl<T: Number> Leading<T> {
    /// Of padded vectors.
    #[must_use]
    pub fn of(values: &[T]) -> Self {
        let mut leading = Self { magnitude: T::ZERO, group: 0 };
        for (index, values) in values.chunks(GROUP).enumerate() {
            let mut lanes = [T::ZERO; LANES];
            for values in values.chunks_exact(LANES) {
                for (lane, value) in lanes.iter_mut().zip(values) {
                    *lane = lane.larger(value.magnitude());
                }
            }
            let most = largest(lanes);
            if most > leading.magnitude {
                leading = Self { magnitude: most, group: index * GROUP };
            }
        }
        leading
    }

    /// Which unknown it belongs to, and it itself; `residual` is [`PLANES`] vectors one after another.
    #[must_use]
    pub fn unknown(self, residual: &[T]) -> (Unknown, T) {
        let width = residual.len() / PLANES;
        let at = self.find(residual);
        let plane = at / width;
        (Unknown { place: at % width, channel: plane / 2, part: plane % 2 }, residual[at])
    }

    fn find(self, values: &[T]) -> usize {
        let mut at = self.group;
        for lanes in values[at..].chunks_exact(LANES) {
            if lanes.iter().fold(false, |found, value| found | (value.magnitude() >= self.magnitude)) {
                break;
            }
            at += LANES;
        }
        let within = values[at..].iter().position(|value| value.magnitude() >= self.magnitude);
        at + within.unwrap_or(0)
    }
}

/// The largest of some numbers, in as few steps as there are powers of two.
fn largest<T: Number>(mut values: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            values[lane] = values[lane].larger(values[lane + half]);
        }
        half /= 2;
    }
    values[0]
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

    /// Solves from zero; `residual` ([`PLANES`] padded vectors one after another) becomes what is left of the right-hand
    /// side, and `change` is told every change.
    pub fn solve<T: Real>(
        &self,
        matrix: &mut impl Normal<T>,
        residual: &mut [T],
        mut change: impl FnMut(Unknown, T),
    ) {
        let mut step = T::from_f64(0.5 * self.range);
        let mut bit = 1;
        for _ in 0..self.updates {
            let (unknown, value) = Leading::of(residual).unknown(residual);
            let diagonal = matrix.diagonal(unknown);
            while value.magnitude() <= step.half() * diagonal {
                bit += 1;
                step = step.half();
                if bit > self.bits {
                    return;
                }
            }
            let signed = if value < T::ZERO { -step } else { step };
            change(unknown, signed);
            matrix.subtract(unknown, signed, residual);
        }
    }
}
