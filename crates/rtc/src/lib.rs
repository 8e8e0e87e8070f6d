//! Real-time media, without I/O: no clock, no socket, no random generator.
//!
//! | module | idea |
//! | --- | --- |
//! | [`session`] | one end of a call: read first |
//! | [`settings`] | what a plan says of an end |
//! | [`breaker`] | when a sender has to stop, whatever its rate control says |
//! | [`source`] | when frames are captured, and how large they are |
//! | [`receive`] | statistics, frames from packets, the jitter buffer |
//! | [`repair`] | what makes up for losses |
//! | [`rate`] | how fast a sender may send: one file for each control; read `rate/mod.rs` first |
//! | [`data`] | a data channel's messages by their size |
//! | [`forward`] | a server that passes on what one end sends to many |
//! | [`record`] | what an end saw |
//! | [`clock`] | the clocks of RTP and RTCP, and numbers that wrap |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod breaker;
pub mod clock;
pub mod data;
pub mod forward;
pub mod rate;
pub mod receive;
pub mod record;
pub mod repair;
pub mod session;
pub mod settings;
pub mod source;
