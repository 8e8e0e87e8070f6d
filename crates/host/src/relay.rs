//! Between a host and the machine itself, through user space: what arrives at an address on one side goes on to an
//! address on the other.
//!
//! A socket belongs to the network namespace of the thread that made it. A relay's listening socket is made on one
//! side, and the thread that serves it lives on the other, where it and its children make the sockets that lead on.
//! Relays end with the process.

use crate::error::{Context, HostError};
use crate::namespace::Namespace;
use rustix::net::sockopt::{set_socket_linger, set_socket_reuseaddr};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, bind, ipproto, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a conversation in datagrams may be silent before it is forgotten (RFC 4787 section 4.3: two minutes at
/// least).
const SILENCE: Duration = Duration::from_secs(120);
/// Connections that wait to be accepted, at most.
const BACKLOG: i32 = 128;
/// The longest datagram.
const LONGEST: usize = 65_507;

/// What a relay passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relayed {
    /// TCP connections.
    Connections,
    /// Connections of Multipath TCP, and of TCP from whoever does not speak it.
    Multipath,
    /// UDP datagrams; those between the same two ends are a conversation.
    Datagrams,
}

/// A relay that serves.
#[derive(Debug)]
pub struct Relay(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicU64,
    refused: AtomicU64,
}

enum Listening {
    Connections(TcpListener),
    Datagrams(UdpSocket),
}

impl Relay {
    /// Listens on a host, and passes on to the machine.
    ///
    /// # Errors
    /// The address is taken, or is not the host's.
    pub fn to_machine(
        host: &Namespace,
        relayed: Relayed,
        address: SocketAddr,
        target: SocketAddr,
    ) -> Result<Self, HostError> {
        let listening = host.inside(|| listen(relayed, address, "the host"))?;
        Self::serve(listening, None, target)
    }

    /// Listens on the machine, and passes on into the network from a host.
    ///
    /// # Errors
    /// The address is taken, or needs a privilege.
    pub fn from_machine(
        host: &Namespace,
        relayed: Relayed,
        address: SocketAddr,
        target: SocketAddr,
    ) -> Result<Self, HostError> {
        let listening = listen(relayed, address, "this machine")?;
        let namespace = host.as_fd().try_clone_to_owned().context(|| "hold a network namespace".into())?;
        Self::serve(listening, Some(namespace), target)
    }

    /// Connections and conversations so far.
    pub fn accepted(&self) -> u64 {
        self.0.accepted.load(Ordering::Relaxed)
    }

    /// Those of them that found nobody at the target.
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    fn serve(listening: Listening, inside: Option<OwnedFd>, target: SocketAddr) -> Result<Self, HostError> {
        let counts = Arc::new(Counts::default());
        let its = Arc::clone(&counts);
        let work = move || {
            if let Some(namespace) = inside
                && move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).is_err()
            {
                return;
            }
            match listening {
                Listening::Connections(listener) => connections(&listener, target, &its),
                Listening::Datagrams(socket) => datagrams(&Arc::new(socket), target, &its),
            }
        };
        thread::Builder::new()
            .name("voxpath-relay".into())
            .spawn(work)
            .context(|| "start a thread".into())?;
        Ok(Self(counts))
    }
}

fn listen(relayed: Relayed, address: SocketAddr, whose: &str) -> Result<Listening, HostError> {
    match relayed {
        Relayed::Connections => TcpListener::bind(address).map(Listening::Connections),
        Relayed::Multipath => listen_multipath(address).map(Listening::Connections),
        Relayed::Datagrams => UdpSocket::bind(address).map(Listening::Datagrams),
    }
    .context(|| format!("listen at {address} of {whose}"))
}

/// As `TcpListener::bind`.
fn listen_multipath(address: SocketAddr) -> io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::MPTCP))?;
    set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    net::listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}

fn connections(listener: &TcpListener, target: SocketAddr, counts: &Arc<Counts>) {
    loop {
        let Ok((near, _)) = listener.accept() else {
            // No descriptors left, or the peer has gone again: neither ends a relay.
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        counts.accepted.fetch_add(1, Ordering::Relaxed);
        let counts = Arc::clone(counts);
        // A thread that cannot be started drops the connection.
        let _ = thread::Builder::new().spawn(move || match TcpStream::connect(target) {
            Ok(far) => connection(near, far),
            Err(_) => {
                counts.refused.fetch_add(1, Ordering::Relaxed);
                reset(&near);
            }
        });
    }
}

fn connection(near: TcpStream, far: TcpStream) {
    // What comes in has waited already for whatever its sender wanted it to wait for.
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    thread::scope(|scope| {
        scope.spawn(|| pass_on(&near, &far));
        pass_on(&far, &near);
    });
}

/// Passes on until one side ends, and tells the other side how it did.
fn pass_on(mut from: &TcpStream, mut to: &TcpStream) {
    if io::copy(&mut from, &mut to).is_ok() {
        let _ = to.shutdown(Shutdown::Write);
        return;
    }
    for stream in [from, to] {
        reset(stream);
        // Who reads from it is woken; nothing is said to its peer before the reset.
        let _ = stream.shutdown(Shutdown::Read);
    }
}

/// Lets the connection end by a reset once it is closed.
fn reset(stream: &TcpStream) {
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

fn datagrams(near: &Arc<UdpSocket>, target: SocketAddr, counts: &Arc<Counts>) {
    let known: Arc<Mutex<BTreeMap<SocketAddr, Arc<UdpSocket>>>> = Arc::default();
    let mut buffer = [0; LONGEST];
    loop {
        let Ok((len, peer)) = near.recv_from(&mut buffer) else { continue };
        let mut sockets = known.lock().unwrap_or_else(PoisonError::into_inner);
        let far = match sockets.get(&peer) {
            Some(far) => Arc::clone(far),
            None => {
                counts.accepted.fetch_add(1, Ordering::Relaxed);
                let Ok(far) = towards(target).map(Arc::new) else {
                    counts.refused.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                sockets.insert(peer, Arc::clone(&far));
                let (near, its, known, counts) =
                    (Arc::clone(near), Arc::clone(&far), Arc::clone(&known), Arc::clone(counts));
                let _ = thread::Builder::new().spawn(move || {
                    if answers(&near, &its, peer).kind() == io::ErrorKind::ConnectionRefused {
                        counts.refused.fetch_add(1, Ordering::Relaxed);
                    }
                    known.lock().unwrap_or_else(PoisonError::into_inner).remove(&peer);
                });
                far
            }
        };
        drop(sockets);
        // A datagram may be lost; the thread that reads hears of a target that is not there.
        let _ = far.send(&buffer[..len]);
    }
}

/// A socket for one conversation.
fn towards(target: SocketAddr) -> io::Result<UdpSocket> {
    let socket = match target {
        SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)),
    }?;
    socket.connect(target)?;
    socket.set_read_timeout(Some(SILENCE))?;
    Ok(socket)
}

/// Passes answers on until there are none any more; why.
fn answers(near: &UdpSocket, far: &UdpSocket, peer: SocketAddr) -> io::Error {
    let mut buffer = vec![0; LONGEST];
    loop {
        match far.recv(&mut buffer) {
            Ok(len) => {
                let _ = near.send_to(&buffer[..len], peer);
            }
            Err(error) => return error,
        }
    }
}
