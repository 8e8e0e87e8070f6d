//! Processes: applications with any number of sockets.
//!
//! A process lives on a host. It is told what happened at its sockets ([`Sockets::poll_event`]), reads, writes, opens and
//! gives back what it likes, and says when it wants to be woken though nothing happens. As with an application of one
//! socket, it never learns whether the host is simulated or the operating system's.

use crate::layers::Layer;
use crate::layers::tls::Tls;
use crate::settings::Over;
use crate::socket::Stream;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::net::{IpAddr, SocketAddr};
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_net::random::Seed;
use voxpath_net::table::{Described, Meaning, Table, TableOf};
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::Payload;

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

impl Event {
    /// The socket at which it happened.
    pub const fn socket(self) -> SocketId {
        match self {
            Self::Accepted { socket, .. } | Self::Ready(socket) => socket,
        }
    }
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
    /// One end of TLS over a connection that was opened or accepted: by its sizes, where nothing has to be encrypted.
    fn secure(&mut self, tls: &Tls, is_client: bool) -> Box<dyn Layer> {
        tls.by_sizes(is_client)
    }
    /// Gives a socket back; a connection that stands is reset, one that was closed goes on to its end.
    fn release(&mut self, socket: SocketId);
}

/// What a process does.
pub trait Process {
    /// Begins: opens what has to be there when it starts, with the run or again.
    fn start(&mut self, sockets: &mut impl Sockets);
    /// It is killed at `now`: its sockets are gone, and so is what it had in memory. What it stores stays, and so does
    /// what it has seen. [`Process::start`] and [`Process::drive`] begin it again.
    fn stop(&mut self, now: Time);
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

    /// What it has done so far, if it does something of its own: it has a row among the flows then, and the run waits
    /// until what it wrote to its connections is acknowledged.
    fn work(&self) -> Option<Work> {
        None
    }

    /// What it saw, for [`ProcessSettings::TABLES`].
    fn account(&self) -> &dyn Any {
        &()
    }
}

/// What a process has done that does something of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Over what: `mqtt` or `coap`.
    pub transport: &'static str,
    /// Index of the host with which it did that; its own, if others came to it.
    pub to: u32,
    /// When it began.
    pub start: Time,
    /// `completed`, `unfinished`, or how it failed.
    pub status: &'static str,
    /// When the first of it was done.
    pub first: Option<Time>,
    /// When all of it was.
    pub completed: Option<Time>,
    /// Octets of data that came, or were taken.
    pub octets: u64,
    /// Of these, octets that are not what was sent, where that is looked at.
    pub wrong: u64,
}

/// What processes saw, of which a table is made.
#[derive(Debug, Clone, Copy)]
pub struct Saw<'a> {
    /// Place of its name in the list of names.
    pub name: u32,
    /// Place of the empty name, of what nobody did.
    pub nobody: u32,
    /// Number of the process.
    pub process: u16,
    /// As [`Process::account`].
    pub account: &'a dyn Any,
}

/// A table with rows of what processes did, alone or together.
#[derive(Debug)]
pub struct ProcessTable<R: 'static> {
    /// Name and columns; its only list of names is that of flows.
    pub table: TableOf<R>,
    /// The rows of all processes.
    pub rows: fn(&[Saw<'_>], &mut Vec<R>),
}

/// Such a table, whatever its rows are.
pub trait ProcessEntity: Described {
    /// The rows of processes; `names` are those of all flows.
    fn table(&self, saw: &[Saw<'_>], names: &[String]) -> Table;
}

impl<R> Described for ProcessTable<R> {
    fn name(&self) -> &'static str {
        self.table.name
    }

    fn about(&self) -> &'static str {
        self.table.about
    }

    fn columns(&self) -> Vec<(&'static str, Meaning)> {
        Described::columns(&self.table)
    }
}

impl<R> ProcessEntity for ProcessTable<R> {
    fn table(&self, saw: &[Saw<'_>], names: &[String]) -> Table {
        let mut rows = Vec::new();
        (self.rows)(saw, &mut rows);
        self.table.fill(&rows, &[names])
    }
}

/// The process that settings belong to.
#[derive(Debug, Clone, Copy)]
pub struct ProcessContext {
    /// Its number, from 0.
    pub index: u16,
    /// Index of its host.
    pub node: u32,
    /// The root of the run's random streams.
    pub seed: Seed,
}

/// The settings of a process, as the plan has them, without its kind.
pub trait ProcessSettings: Sized {
    /// The process that they are of.
    type Machine: Process;

    /// Whether it passes flows on, so that [`ProcessSettings::sample`] draws some.
    const PASSES_ON: bool = false;
    /// The tables that such processes have rows in.
    const TABLES: &'static [&'static dyn ProcessEntity] = &[];

    /// What keeps them from being used; keys are relative to the settings. `nodes` says how many nodes there are.
    fn check(&self, nodes: u32, check: &mut Check<'_>);

    /// What keeps them from being used where its host is real.
    fn check_real(&self, _check: &mut Check<'_>) {}

    /// Whether it opens connections that are encrypted, so that both ends or none have to be real.
    fn encrypts(&self) -> bool {
        false
    }

    /// What no other process on a real host may have too.
    fn has_alone(&self) -> impl Iterator<Item = String> {
        [].into_iter()
    }

    /// Whether only the end of the run ends it, though the run waits for it.
    fn is_endless(&self) -> bool {
        false
    }

    /// The ports at which it waits for others, and over what.
    fn ports(&self) -> impl Iterator<Item = (u16, Over)> {
        [].into_iter()
    }

    /// The hosts that it sends to.
    fn targets(&self) -> impl Iterator<Item = u32>;
    /// The process itself; `address` is that of a host, as this process's host reaches it.
    fn machine(&self, context: &ProcessContext, address: impl Fn(u32) -> IpAddr) -> Self::Machine;

    /// Settings with which nothing is wrong, for property tests. Its first ports lead to these peers, in this order, each
    /// over what stands beside it; none where it passes nothing on.
    fn sample(_draw: &mut dyn Draw, _peers: &[(Peer, Over)]) -> Option<Self> {
        None
    }
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
