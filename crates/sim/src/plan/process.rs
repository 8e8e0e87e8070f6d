//! Processes on hosts, and the flows that they pass on.

use super::{Draw, MptcpEnd, Plan};
use alloc::string::{String, ToString};
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
    /// Where its connections go over Multipath TCP, with what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<MptcpEnds>,
    /// How long it takes from what happens at a socket until it runs, unless it runs already.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wake_ns: u64,
    /// What it does.
    pub app: ProcessApp,
}

const fn is_zero(span: &u64) -> bool {
    *span == 0
}

/// What the connections of a process over Multipath TCP have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MptcpEnds {
    /// Those that it opens.
    pub client: Arc<MptcpEnd>,
    /// Those that it accepts.
    pub server: Arc<MptcpEnd>,
}

/// A process is killed, or runs again. Its connections are reset, and what comes to its ports is refused until it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessEvent {
    /// Index of the process.
    pub process: u32,
    /// Whether it runs from then on.
    pub runs: bool,
}

impl ProcessEvent {
    /// The stop of a process that runs when its events so far have happened, or its next start; none where there is no process.
    pub(crate) fn sample(draw: &mut dyn Draw, plan: &Plan) -> Option<Self> {
        let count = plan.processes.len() as u64;
        let process = (count > 0).then(|| draw.below(count) as u32)?;
        let ran = plan.turns_of(process).next_back().is_none_or(|(_, runs)| runs);
        Some(Self { process, runs: !ran })
    }

    pub(crate) fn told(self, plan: &Plan) -> [String; 4] {
        let name = plan.processes[self.process as usize].name.clone();
        ["process".into(), name, "runs".into(), self.runs.to_string()]
    }
}
