//! Ends of flows that run outside the simulated world: on a real host, over the operating system's sockets.
//!
//! The world makes the same application that it would run itself, hands it out with what its socket needs, and
//! takes it back at the end to report on it. Which socket drives it the application never learns.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use voxpath_apps::Machine;
use voxpath_tcp::{Config, Ended};
use voxpath_units::{Span, Time};

/// One end of a flow, to be run on a real host.
#[derive(Debug)]
pub struct Outside {
    /// Index of the flow in the plan.
    pub flow: u32,
    /// 0 opens the flow, 1 answers.
    pub end: u8,
    /// Index of the host in the plan.
    pub host: u32,
    /// What its socket is bound to.
    pub local: SocketAddr,
    /// Whom it talks to; whoever comes first without it.
    pub remote: Option<SocketAddr>,
    /// When the flow starts.
    pub start: Time,
    /// When this end has to begin nothing more, and to close.
    pub stop: Option<Time>,
    /// The stack's parameters; none over UDP.
    pub tcp: Option<Arc<Config>>,
    /// Its socket is one of Multipath TCP.
    pub is_multipath: bool,
    /// What runs on the socket.
    pub machine: Machine,
    /// What became of the socket.
    pub account: Account,
}

/// A process, to be run on a real host.
#[derive(Debug, Clone)]
pub struct OutsideProcess {
    /// Its index in the plan.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Index of the host in the plan.
    pub host: u32,
    /// Whether it waits at IPv4 addresses, or at IPv6 ones.
    pub is_ipv4: bool,
    /// The stacks of the connections that it opens, and of those that it accepts.
    pub tcp: [Arc<Config>; 2],
    /// Its connections are ones of Multipath TCP.
    pub is_multipath: bool,
    /// When it is killed, and runs again.
    pub turns: Vec<(Time, bool)>,
}

/// A connection that a process on a real host had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Index of the process in the plan.
    pub process: u32,
    /// Its own end, and the other one.
    pub ends: [SocketAddr; 2],
    /// Whether it opened it.
    pub has_opened: bool,
}

/// What the operating system says of a socket; none where it does not say.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// When the connection stood.
    pub established_at: Option<Time>,
    /// How it ended, if it did.
    pub ended: Option<Ended>,
    /// Packets sent, acknowledgments too.
    pub packets_sent: u64,
    /// Its own data that has arrived, retransmissions counted once.
    pub bytes_delivered: Option<u64>,
    /// Segments sent that carry data, retransmissions too.
    pub data_segments_sent: Option<u64>,
    /// Segments sent again.
    pub retransmissions: Option<u64>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<u64>,
    /// The smoothed round-trip time.
    pub srtt: Option<Span>,
    /// The shortest round trip.
    pub min_rtt: Option<Span>,
    /// The congestion window.
    pub cwnd_bytes: Option<u64>,
    /// Of Multipath TCP: what is known of the whole connection.
    pub multipath: Option<Multipath>,
}

/// A connection of Multipath TCP as one of its ends sees it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Multipath {
    /// It goes on as TCP.
    pub is_fallback: bool,
    /// Octets of data that the other end has acknowledged at the data level.
    pub bytes_acked: Option<u64>,
    /// Octets of data that came in order.
    pub bytes_received: Option<u64>,
    /// Octets of data that were sent again at the data level.
    pub bytes_reinjected: Option<u64>,
}
