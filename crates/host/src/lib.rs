//! The Linux edge: the simulated world on the wall clock, with real hosts around it.
//!
//! | | |
//! | --- | --- |
//! | [`Isolation`] | a process tree of our own, which nothing survives |
//! | [`Namespace`] | a real host: a network namespace that has no name, so that nothing of it can be left behind |
//! | [`Device`] | what joins a host to the world: a TUN device, a veth where there is none, a TAP device where one is asked for |
//! | [`drive`] | the loop: frames in, time on, frames out; over an [`Edge`], so that tests bring their own |
//! | [`sockets`] | the applications of `voxpath-apps` over the kernel's sockets |
//! | [`Relay`] | between a host and the machine's own loopback |
//! | [`run_on_kernel`] | a conformance script over the kernel's TCP |
//! | [`Run`] | all of it together |
//!
//! This is the only crate with hand-written `unsafe`; each use says what makes it sound.
#![cfg(target_os = "linux")]

mod awake;
mod clock;
mod connections;
mod device;
mod drive;
mod error;
mod isolation;
mod kernel;
mod kernel_settings;
mod lateness;
mod live;
mod marks;
mod mptcp_info;
mod namespace;
mod processes;
mod relay;
mod run;
mod sock_diag;
pub mod sockets;
mod tap;
mod tcp_info;
mod tls;
mod tun;
mod veth;

pub use clock::Clock;
pub use connections::{ConnectionReport, ConnectionSample};
pub use device::{Device, DeviceCounts, Kind};
pub use drive::{Edge, Limits, Progress, Timing, drive};
pub use error::HostError;
pub use isolation::Isolation;
pub use kernel::{KernelRun, run_on_kernel};
pub use lateness::Lateness;
pub use namespace::Namespace;
pub use relay::{Relay, Relayed};
pub use run::{Changed, DeviceReport, Outcome, Run, Scheduling, Seen, Spent};
