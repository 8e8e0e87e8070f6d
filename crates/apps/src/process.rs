//! Processes: applications with any number of sockets.
//!
//! A process lives on a host. It is told what happened at its sockets ([`Sockets::poll_event`]), reads, writes, opens and
//! gives back what it likes, and says when it wants to be woken though nothing happens. As with an application of one
//! socket, it never learns whether the host is simulated or the operating system's.

use crate::settings::Over;
use crate::socket::Stream;
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::Payload;

pub use crate::apps::{ProcessApp, ProcessMachine};

/// A socket of a process: a connection, or a UDP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SocketId(pub u32);

/// A listener of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListenerId(pub u32);

/// What happened at a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A listener has a new connection, which stands.
    Accepted {
        /// Where it came.
        listener: ListenerId,
        /// The connection.
        socket: SocketId,
    },
    /// Something may have changed: it stands, has octets or room, was closed, or is gone.
    Ready(SocketId),
}

/// The sockets of a process, on its host.
pub trait Sockets {
    /// What happened next; none if the process has heard of everything.
    fn poll_event(&mut self) -> Option<Event>;
    /// Accepts connections of anybody to a port of the host.
    fn listen(&mut self, port: u16) -> ListenerId;
    /// Opens a connection. It is there at once, and stands later. One that is opened on behalf of another belongs to the
    /// same flow.
    fn connect(&mut self, to: SocketAddr, on_behalf_of: Option<SocketId>) -> SocketId;
    /// A connection as a stream.
    fn stream(&mut self, socket: SocketId) -> impl Stream;
    /// Whether a connection is gone: refused, reset, timed out, or closed by both ends.
    fn has_ended(&self, socket: SocketId) -> bool;
    /// Opens a UDP socket at a port of the host; any free one without it.
    fn bind(&mut self, port: Option<u16>, on_behalf_of: Option<SocketId>) -> SocketId;
    /// Sends a datagram.
    fn send_to(&mut self, socket: SocketId, to: SocketAddr, data: Payload);
    /// The next datagram that has come, and from where.
    fn receive_from(&mut self, socket: SocketId) -> Option<(SocketAddr, Payload)>;
    /// Gives a socket back; a connection that stands is reset, one that was closed goes on to its end.
    fn release(&mut self, socket: SocketId);
}

/// What a process does.
pub trait Process {
    /// Begins: opens what has to be there when the run starts.
    fn start(&mut self, sockets: &mut impl Sockets);
    /// Does what can be done at `now`.
    fn drive(&mut self, now: Time, sockets: &mut impl Sockets);

    /// When to drive it though nothing happened at its sockets.
    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    /// Whether the run has to wait for it. One that only serves others never is.
    fn is_busy(&self) -> bool {
        false
    }

    /// Octets that it was given and could not pass on.
    fn held(&self) -> u64 {
        0
    }
}

/// The settings of a process, as the plan has them, without its kind.
pub trait ProcessSettings: Sized {
    /// What keeps them from being used; keys are relative to the settings. `nodes` says how many nodes there are.
    fn check(&self, nodes: u32, check: &mut Check<'_>);
    /// The ports at which it waits for others, and over what.
    fn ports(&self) -> impl Iterator<Item = (u16, Over)>;
    /// The hosts that it sends to.
    fn targets(&self) -> impl Iterator<Item = u32>;
    /// The process itself; `address` is that of a host, as this process's host reaches it.
    fn machine(&self, address: impl Fn(u32) -> IpAddr) -> ProcessMachine;
    /// Settings with which nothing is wrong, for property tests. Its first ports lead to these peers, in this order, each
    /// over what stands beside it.
    fn sample(draw: &mut dyn Draw, peers: &[(Peer, Over)]) -> Self;
}

/// A port of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Index of the host.
    pub node: u32,
    /// Its port, above zero.
    pub port: u16,
}
