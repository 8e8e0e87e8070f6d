//! Processes on hosts, and the flows that they pass on.

use alloc::string::String;
use alloc::sync::Arc;
use serde::{Deserialize, Serialize};
use voxpath_apps::ProcessApp;
use voxpath_tcp::Config as TcpConfig;

/// A process on a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Unique name.
    pub name: String,
    /// Index of the host.
    pub node: u32,
    /// It is simulated, also where its host is real.
    pub simulated: bool,
    /// The stack that its connections have.
    pub tcp: Arc<TcpConfig>,
    /// What it does.
    pub app: ProcessApp,
}
