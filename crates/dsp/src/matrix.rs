//! A correlation matrix of blocks that is shifted by moving its origin.
//!
//! With x̃(n) = [x(n), x*(n), x(n-1), x*(n-1), …], the matrix without its first two rows and columns is the previous one
//! without its last two: only the first block column is computed. It is kept in a square array whose origin moves
//! by a row and a column for each sample, so that nothing else moves (the publication's step 2; the idea of circular
//! diagonals is that of Sutcliffe de Moraes et al., ISWCS 2024, for real numbers).
//!
//! A line of the array holds a block column; what belongs to a tap stands at its *place*, in every line and in every vector
//! that meets the matrix. What the matrix's symmetry puts into older columns is carried there a [`TILE`] of columns at a
//! time, by transposing small squares that fit the caches; blocks younger than that are fetched when a column is read.

use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::dcd::{Normal, PLANES, Unknown, width};
use crate::real::{Number, Real};
use crate::state::Archive;

/// A plane, and whether its sign changes.
pub type Signed = (usize, bool);

/// How a block of two by two complex numbers is kept: as so many real planes.
pub trait Structure: Clone + core::fmt::Debug {
    /// Planes of a block.
    const COUNT: usize;
    /// Where each plane of the conjugate transposed block comes from.
    const TRANSPOSED: &'static [Signed];
    /// Where the four planes of a column of the block come from: the column's, or j times it.
    const COLUMNS: [[[Signed; PLANES]; 2]; 2];
    /// The planes of the two diagonal elements.
    const DIAGONAL: [usize; 2];
}

/// The block of a widely linear system, [a, b; b*, a*] with a = x(i) x*(k) and b = x(i) x(k): the second column is the
/// first one, conjugated and swapped.
#[derive(Clone, Debug)]
pub struct Conjugate;

impl Structure for Conjugate {
    const COUNT: usize = 4;
    const TRANSPOSED: &'static [Signed] = &[(0, false), (1, true), (2, false), (3, false)];
    const COLUMNS: [[[Signed; PLANES]; 2]; 2] = [
        [[(0, false), (1, false), (2, false), (3, true)], [(1, true), (0, false), (3, false), (2, false)]],
        [[(2, false), (3, false), (0, false), (1, true)], [(3, true), (2, false), (1, false), (0, false)]],
    ];
    const DIAGONAL: [usize; 2] = [0, 0];
}

/// Columns that are transposed together; vectors are as long as a multiple of it.
const TILE: usize = 16;

/// Numbers between lines: lines a power of two apart would share the same few places of a cache.
const GAP: usize = 16;

/// The tap whose place this is, where `origin` is that of tap 0.
#[must_use]
pub fn tap(place: usize, origin: usize, length: usize) -> usize {
    if place >= origin { place - origin } else { place + length - origin }
}

/// A correlation matrix.
#[derive(Clone, Debug)]
pub struct Matrix<T, S> {
    length: usize,
    /// The line of the newest column, and where its first block stands in every line.
    origin: usize,
    /// `length` lines of planes of blocks.
    lines: Vec<T>,
    structure: PhantomData<S>,
}

impl<T: Number, S: Structure> Matrix<T, S> {
    /// The matrix of `length` blocks squared whose diagonal is `diagonal(tap)`.
    pub fn new(length: usize, diagonal: impl Fn(usize) -> T) -> Self {
        let mut matrix = Self { length, origin: 0, lines: Vec::new(), structure: PhantomData };
        matrix.lines = vec![T::ZERO; length * matrix.stride()];
        for tap in 0..length {
            for plane in S::DIAGONAL {
                let at = matrix.at(tap, plane) + tap;
                matrix.lines[at] = diagonal(tap);
            }
        }
        matrix
    }

    pub(crate) fn visit(&mut self, archive: &mut impl Archive) {
        archive.size(&mut self.origin);
        archive.numbers(&mut self.lines);
    }

    /// Whether its indices can be followed.
    pub(crate) fn is_sound(&self) -> bool {
        self.origin < self.length
    }

    /// Shifts the matrix, and puts in the first block column.
    ///
    /// `update` makes each plane of it from the one before: it is given the plane, the first place that it makes, what
    /// the column before had at these taps, and where to put the new numbers.
    pub fn shift(&mut self, update: impl Fn(usize, usize, &[T], &mut [T])) {
        let older = self.origin * self.stride();
        self.origin = if self.origin == 0 { self.length - 1 } else { self.origin - 1 };
        let newer = self.origin * self.stride();
        let last = self.length - 1;
        for plane in 0..S::COUNT {
            let from = older + plane * width(self.length);
            let to = newer + plane * width(self.length);
            // A tap's place is one below that of the tap before it, around the end.
            let first = self.lines[from];
            if self.length > 1 {
                let (low, high) = self.lines.split_at_mut(from.max(to));
                let (older, newer) = if from < to { (&low[from..], high) } else { (&*high, &mut low[to..]) };
                update(plane, 0, &older[1..self.length], &mut newer[..last]);
            }
            update(plane, last, &[first], &mut self.lines[to + last..=to + last]);
        }
        if self.origin.is_multiple_of(TILE) {
            self.transpose();
        }
    }

    /// Forgets what is too small to matter; for silence that lasts.
    pub fn hush(&mut self) {
        let (at, stride) = (self.origin * self.stride(), self.stride());
        self.lines[at..at + stride].fill(T::ZERO);
    }

    /// The first diagonal element.
    #[must_use]
    pub fn power(&self) -> T {
        self.lines[self.at(self.origin, S::DIAGONAL[0]) + self.origin]
    }

    /// The place of tap 0.
    #[must_use]
    pub fn origin(&self) -> usize {
        self.origin
    }

    /// The diagonal element, which is real.
    #[must_use]
    pub fn diagonal(&self, unknown: Unknown) -> T {
        self.lines[self.at(unknown.place, S::DIAGONAL[unknown.channel]) + unknown.place]
    }

    /// Changes every number of the residual by that of an unknown's column (j times it for an imaginary part), of which the
    /// sign may have to be changed.
    #[inline(always)]
    pub fn apply(&mut self, unknown: Unknown, residual: &mut [T], change: impl Fn(T, T, bool) -> T) {
        self.complete(unknown.place);
        let width = width(self.length);
        let column = &S::COLUMNS[unknown.channel][unknown.part];
        for (to, &(plane, negative)) in residual.chunks_exact_mut(width).zip(column) {
            let line = &self.lines[self.at(unknown.place, plane)..][..width];
            for (to, &from) in to.iter_mut().zip(line) {
                *to = change(*to, from, negative);
            }
        }
    }

    fn stride(&self) -> usize {
        S::COUNT * width(self.length) + GAP
    }

    /// Where a plane of the line at a place begins.
    fn at(&self, place: usize, plane: usize) -> usize {
        place * self.stride() + plane * width(self.length)
    }

    /// Carries the newest tile of columns into all lines, transposed.
    fn transpose(&mut self) {
        let newest = self.origin;
        let columns = TILE.min(self.length - newest);
        for first in (0..self.length).step_by(TILE) {
            let lines = TILE.min(self.length - first);
            for (plane, &(source, negative)) in S::TRANSPOSED.iter().enumerate() {
                let mut square = [[T::ZERO; TILE]; TILE];
                for (column, row) in square.iter_mut().enumerate().take(columns) {
                    let from = self.at(newest + column, source) + first;
                    row.copy_from_slice(&self.lines[from..from + TILE]);
                }
                for line in 0..lines {
                    // In the tile itself only what is above the diagonal is missing.
                    let missing = if first == newest { line } else { columns };
                    let to = self.at(first + line, plane) + newest;
                    for (to, row) in self.lines[to..to + missing].iter_mut().zip(&square) {
                        *to = if negative { -row[line] } else { row[line] };
                    }
                }
            }
        }
    }

    /// Fills in what the columns since the last tile have for an older one.
    fn complete(&mut self, place: usize) {
        let newer = (self.length - self.origin).min(self.origin.wrapping_neg() % TILE);
        for column in self.origin..self.origin + newer.min(tap(place, self.origin, self.length)) {
            for (plane, &(source, negative)) in S::TRANSPOSED.iter().enumerate() {
                let value = self.lines[self.at(column, source) + place];
                let to = self.at(place, plane) + column;
                self.lines[to] = if negative { -value } else { value };
            }
        }
    }
}

impl<T: Real, S: Structure> Normal<T> for Matrix<T, S> {
    fn diagonal(&self, unknown: Unknown) -> T {
        self.diagonal(unknown)
    }

    fn subtract(&mut self, unknown: Unknown, step: T, residual: &mut [T]) {
        self.apply(unknown, residual, |was, element, negative| {
            was - if negative { -step } else { step } * element
        });
    }
}
