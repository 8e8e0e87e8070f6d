//! Acoustic echo cancellers of a stereophonic endpoint: two loudspeakers, two microphones, four echo paths.
//!
//! Read [`widely_linear`] (the filter of Ficiu et al. 2023, below "the publication") and [`canceller`] (what all
//! filters have in common) first. [`matrix`] and [`dcd`] are its two mechanisms: a correlation matrix that is shifted
//! by moving its origin, and the dichotomous coordinate descent that solves with it. [`rooms`] is for echoes too long for
//! one filter.
//!
//! A filter's arithmetic is a [`Real`]: `f32` or `f64`. Sums are formed in a
//! fixed order, so the same samples give the same bits on every machine.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod canceller;
pub mod dcd;
pub mod dense;
pub mod fixed;
pub mod guard;
pub mod matrix;
pub mod nlms;
pub mod paths;
pub mod real;
pub mod rooms;
pub mod state;
pub mod widely_linear;
pub mod window;

pub use canceller::{Canceller, Invalid, Kept, Stereo, Unusable};
pub use dcd::Dcd;
pub use dense::{DenseConfig, ExactRls, Rls};
pub use fixed::{FixedConfig, FixedPoint, Words};
pub use nlms::Nlms;
pub use paths::{Paths, WidelyLinearPaths};
pub use real::{Number, Real};
pub use rooms::{Rooms, RoomsConfig};
pub use state::Damaged;
pub use widely_linear::{Config, Reading, WidelyLinear};
