//! Real-time media, without I/O: no clock, no socket, no random generator.
//!
//! | folder | idea |
//! | --- | --- |
//! | `rate/` | how fast a sender may send: one file for each control; read `rate/mod.rs` first |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod rate;
