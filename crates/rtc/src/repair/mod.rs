//! What makes up for losses.
//!
//! | module | what is in |
//! | --- | --- |
//! | [`by_sequence`] | something for each of the last packets of a source |
//! | [`nack`] | the receiver asks for what is missing (RFC 4585 section 6.2.1) |
//! | [`history`] | the sender keeps what it may be asked for (RFC 4588) |
//! | [`parity`] | a packet that stands for any one of some others (RFC 8627) |
//! | [`redundancy`] | audio packets with earlier frames in them (RFC 2198) |

pub mod by_sequence;
pub mod history;
pub mod nack;
pub mod parity;
pub mod redundancy;
