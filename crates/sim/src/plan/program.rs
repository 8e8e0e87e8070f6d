//! Programs that real hosts run.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_tcp::Config as TcpConfig;

/// A program that a real host runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Index of the host.
    pub node: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The TCP port at which it serves: the run starts when it listens, and the program is ended with the run.
    /// Without one the run lasts until the program ends by itself.
    pub listens: Option<u16>,
    /// When it starts; zero where it serves.
    pub start_ns: u64,
    /// Whether its end ends the run, whatever is still going on.
    pub ends: bool,
    /// The stack that its sockets are to have.
    pub tcp: TcpConfig,
}
