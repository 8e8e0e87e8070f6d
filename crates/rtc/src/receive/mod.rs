//! What comes of one source: statistics, frames, playout.
//!
//! | module | what is in |
//! | --- | --- |
//! | [`statistics`] | losses and jitter as reports tell them (RFC 3550 appendix A) |
//! | [`frames`] | frames from packets, and when they can be decoded |
//! | [`playout`] | when a frame is due |

pub mod frames;
pub mod playout;
pub mod statistics;

pub use frames::{Assembly, Piece};
pub use playout::{Buffer, Playout};
pub use statistics::{Statistics, Taken};
