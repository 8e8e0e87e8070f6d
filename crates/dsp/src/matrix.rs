//! A correlation matrix of blocks that is shifted by moving its origin.
//!
//! With x̃(n) = [x(n), x*(n), x(n-1), x*(n-1), …], the matrix without its first two rows and columns is the previous one
//! without its last two: only the first block column is computed. It is kept in a square array whose origin moves
//! by a row and a column for each sample, so that nothing else moves (the publication's step 2; the idea of circular
//! diagonals is that of Sutcliffe de Moraes et al., ISWCS 2024, for real numbers).
//!
//! A line of the array holds a block column. What the matrix's symmetry puts into older columns is filled in when such
//! a column is next read: at most one block for each sample that came since.

use alloc::vec;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::dcd::{Normal, PLANES, Unknown};
use crate::real::Real;
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

/// A correlation matrix.
#[derive(Clone, Debug)]
pub struct Matrix<T, S> {
    length: usize,
    /// The line of the newest column, and where its first block stands in every line.
    origin: usize,
    /// Samples until now.
    time: u64,
    /// The first block column, in order: what the next one is computed from.
    first: Vec<T>,
    /// `length` lines of planes of `length` blocks.
    lines: Vec<T>,
    /// Until when each line is whole.
    whole: Vec<u64>,
    structure: PhantomData<S>,
}

impl<T: Real, S: Structure> Matrix<T, S> {
    /// The matrix of `length` blocks squared whose diagonal is `diagonal(tap)`.
    pub fn new(length: usize, diagonal: impl Fn(usize) -> T) -> Self {
        let mut matrix = Self {
            length,
            origin: 0,
            time: 0,
            first: vec![T::ZERO; S::COUNT * length],
            lines: vec![T::ZERO; S::COUNT * length * length],
            whole: vec![0; length],
            structure: PhantomData,
        };
        for tap in 0..length {
            for plane in S::DIAGONAL {
                let at = matrix.place(tap, plane) + matrix.column(tap);
                matrix.lines[at] = diagonal(tap);
            }
        }
        for plane in S::DIAGONAL {
            matrix.first[plane * length] = diagonal(0);
        }
        matrix
    }

    pub(crate) fn visit(&mut self, archive: &mut impl Archive) {
        archive.size(&mut self.origin);
        archive.count(&mut self.time);
        archive.reals(&mut self.first);
        archive.reals(&mut self.lines);
        for whole in &mut self.whole {
            archive.count(whole);
        }
    }

    /// Whether its indices can be followed.
    pub(crate) fn is_sound(&self) -> bool {
        self.origin < self.length && self.whole.iter().all(|&whole| whole <= self.time)
    }

    /// Shifts the matrix, and puts in the first block column that `update` makes of the one before.
    ///
    /// The planes stand one after another, `length` numbers each.
    pub fn shift(&mut self, update: impl FnOnce(&mut [T])) {
        update(&mut self.first);
        self.origin = if self.origin == 0 { self.length - 1 } else { self.origin - 1 };
        self.time += 1;
        let split = self.length - self.origin;
        let line = &mut self.lines[self.origin * S::COUNT * self.length..][..S::COUNT * self.length];
        for (to, from) in line.chunks_exact_mut(self.length).zip(self.first.chunks_exact(self.length)) {
            to[self.origin..].copy_from_slice(&from[..split]);
            to[..self.origin].copy_from_slice(&from[split..]);
        }
        self.whole[self.origin] = self.time;
    }

    /// Forgets what is too small to matter; for silence that lasts.
    pub fn hush(&mut self) {
        self.first.fill(T::ZERO);
    }

    /// The first diagonal element.
    #[must_use]
    pub fn power(&self) -> T {
        self.first[S::DIAGONAL[0] * self.length]
    }

    fn column(&self, tap: usize) -> usize {
        let at = self.origin + tap;
        if at < self.length { at } else { at - self.length }
    }

    /// Where a plane of the line of a tap begins.
    fn place(&self, tap: usize, plane: usize) -> usize {
        (self.column(tap) * S::COUNT + plane) * self.length
    }

    /// Fills in what came after a line was last read: blocks of newer columns, transposed.
    fn complete(&mut self, tap: usize) {
        let at = self.column(tap);
        let missing = (self.time - self.whole[at]) as usize;
        for newer in 0..missing.min(tap) {
            for (plane, &(source, negative)) in S::TRANSPOSED.iter().enumerate() {
                let value = self.lines[self.place(newer, source) + at];
                let to = self.place(tap, plane) + self.column(newer);
                self.lines[to] = if negative { -value } else { value };
            }
        }
        self.whole[at] = self.time;
    }
}

impl<T: Real, S: Structure> Normal<T> for Matrix<T, S> {
    fn diagonal(&self, unknown: Unknown) -> T {
        self.lines[self.place(unknown.tap, S::DIAGONAL[unknown.channel]) + self.column(unknown.tap)]
    }

    fn subtract(&mut self, unknown: Unknown, step: T, residual: &mut [T]) {
        self.complete(unknown.tap);
        let split = self.length - self.origin;
        let column = &S::COLUMNS[unknown.channel][unknown.part];
        for (to, &(plane, negative)) in residual.chunks_exact_mut(self.length).zip(column) {
            let line = &self.lines[self.place(unknown.tap, plane)..][..self.length];
            let step = if negative { -step } else { step };
            let (newer, older) = to.split_at_mut(split);
            for (to, from) in [(newer, &line[self.origin..]), (older, &line[..self.origin])] {
                for (to, &from) in to.iter_mut().zip(from) {
                    *to -= step * from;
                }
            }
        }
    }
}
