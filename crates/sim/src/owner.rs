//! Who drives a connection, and what is counted of its packets.

use voxpath_apps::{Record, StreamApplication, StreamMachine};
use voxpath_units::Time;

/// Packets of one endpoint.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Counters {
    pub(crate) packets_sent: u64,
    /// Bytes of them, and of the data in them; of TCP.
    pub(crate) ip_bytes_sent: u64,
    pub(crate) data_bytes_sent: u64,
    pub(crate) established_at: Option<Time>,
}

/// Who drives a connection.
#[derive(Debug)]
pub(crate) enum Owner {
    /// An application with this one socket.
    Application(StreamApplication),
    /// A process.
    Process {
        process: u32,
        /// The listener that accepted it, as long as the process does not know of it.
        accepted_at: Option<u32>,
    },
    /// The process that had it gave it back: it goes on to its end.
    Nobody,
}

impl Owner {
    /// The application of an end of a flow.
    pub(crate) fn application(self) -> StreamApplication {
        match self {
            Self::Application(application) => application,
            Self::Process { .. } | Self::Nobody => unreachable!("an end of a flow has an application"),
        }
    }

    /// The process that it is.
    pub(crate) const fn process(&self) -> Option<u32> {
        match self {
            Self::Process { process, .. } => Some(*process),
            Self::Application(_) | Self::Nobody => None,
        }
    }

    /// Whether it is this process.
    pub(crate) fn is(&self, process: u32) -> bool {
        self.process() == Some(process)
    }

    /// What its application saw.
    pub(crate) fn record(&self) -> Option<&Record> {
        match self {
            Self::Application(application) => Some(application.record()),
            Self::Process { .. } | Self::Nobody => None,
        }
    }
}
