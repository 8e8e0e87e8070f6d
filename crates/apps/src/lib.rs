//! Applications as machines without I/O.
//!
//! An application is its [`Settings`], which the plan holds, and a machine for each end of its flow. A machine is shown its
//! socket whenever something may have changed (connected, readable, writable, its timer) and does what can be done:
//! [`StreamMachine::drive`]. It never learns whether the socket is simulated or the operating system's; there is no second
//! implementation. What it saw stands in its [`Record`]. An application is one file in `apps/`; `apps/mod.rs` lists
//! them all. Property tests draw it by its own [`Settings::sample`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod apps;
pub mod datagrams;
mod entity;
pub mod layers;
mod machine;
pub mod process;
mod record;
mod registry;
pub mod sample;
mod settings;
mod socket;
mod switch;

pub use apps::*;
pub use entity::{Entity, EntityOf, Told};
pub use machine::{DatagramApplication, DatagramMachine, Machine, StreamApplication, StreamMachine};
pub use process::{Process, ProcessContext, ProcessEntity, ProcessSettings, Saw, Work};
pub use record::{Account, Message, Page, Record, Request, Verifier};
pub use settings::{FlowContext, Over, Settings};
pub use socket::{Datagrams, Stream};
