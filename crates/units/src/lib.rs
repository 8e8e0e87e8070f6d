//! Quantities that voxpath computes with.
//!
//! Every quantity is an integer in its smallest unit: nanoseconds, bits per second, bytes. They are
//! parsed from and printed as what people write (`"20 ms"`, `"5 Mbit/s"`, `"64 KiB"`) without passing
//! through floating point, so that `"0.1 ms"` is 100 000 ns and never 99 999. The one exception is
//! [`Prob`], whose consumers are samplers.
//!
//! Read [`time`] first, then [`rate`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod check;
mod decimal;
pub mod prob;
pub mod rate;
pub mod size;
pub mod time;

pub use decimal::{ParseError, ParseErrorKind};
pub use prob::Prob;
pub use rate::{Rate, Remainder};
pub use size::Bytes;
pub use time::{Span, Time};
