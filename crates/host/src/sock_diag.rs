//! The sockets of a host, of whatever process, as the kernel lists them: sock_diag(7).

use crate::error::{Context, HostError};
use crate::tcp_info::TcpInfo;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h: a question, and each answer.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP` of linux/netlink.h.
const DUMP: u16 = 0x301;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `INET_DIAG_INFO` of linux/inet_diag.h.
const INFO: u16 = 2;
/// Groups of linux/sock_diag.h: `SKNLGRP_INET_TCP_DESTROY` and `SKNLGRP_INET6_TCP_DESTROY`.
const ENDED: u32 = 1 << 0 | 1 << 2;
/// For some thousand sockets that end between two looks.
const TOLD_ROOM: usize = 4 << 20;
/// `TCP_LISTEN` of net/tcp_states.h.
pub(crate) const LISTEN: u8 = 10;
/// Sockets of these states have no connection to speak of: `TCP_TIME_WAIT`, `TCP_CLOSE`, `TCP_NEW_SYN_RECV`.
const LEFT_OUT: u32 = 1 << 6 | 1 << 7 | 1 << 12;
/// Lengths of `struct nlmsghdr`, `struct inet_diag_req_v2`, `struct inet_diag_msg`.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const MESSAGE: usize = 72;
/// Longer than what the kernel puts into one datagram of a dump.
const ROOM: usize = 1 << 16;

/// One socket, as the kernel lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) state: u8,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) info: Option<TcpInfo>,
}

/// A socket that asks for the sockets of the calling thread's network namespace.
///
/// # Errors
/// The kernel has no sock_diag.
pub(crate) fn open() -> Result<OwnedFd, HostError> {
    opened(SocketFlags::empty())
}

/// A socket that is told of the TCP sockets of the calling thread's network namespace as they end.
///
/// # Errors
/// The kernel has no sock_diag.
pub(crate) fn listen_for_ended() -> Result<OwnedFd, HostError> {
    let action = || "have the kernel tell of sockets that end (sock_diag)".to_owned();
    let socket = opened(SocketFlags::NONBLOCK)?;
    // The kernel tells nobody twice: a full buffer loses what comes then. Without privilege it stays as it is.
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, TOLD_ROOM);
    rustix::net::bind(&socket, &netlink::SocketAddrNetlink::new(0, ENDED)).context(action)?;
    Ok(socket)
}

fn opened(flags: SocketFlags) -> Result<OwnedFd, HostError> {
    let flags = flags | SocketFlags::CLOEXEC;
    rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))
        .context(|| "ask the kernel for its sockets (sock_diag)".into())
}

/// Appends the TCP sockets that have ended since it was last asked, in their order, as far as the kernel has told yet: it
/// tells some milliseconds later.
///
/// # Errors
/// The kernel does not tell.
pub(crate) fn ended(socket: &OwnedFd, listed: &mut Vec<Listed>) -> Result<(), HostError> {
    let action = || "hear of sockets that have ended".to_owned();
    let mut buffer = vec![0; ROOM];
    loop {
        match rustix::net::recv(socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, len)) => {
                read(&buffer[..len], listed).map_err(|reason| HostError::new(action(), reason))?;
            }
            // Some were lost for want of room; their connections stay without numbers.
            Err(Errno::INTR | Errno::NOBUFS) => {}
            Err(Errno::AGAIN) => return Ok(()),
            Err(errno) => return Err(errno).context(action),
        }
    }
}

/// Appends the TCP sockets of a family.
///
/// # Errors
/// The kernel does not list them.
pub(crate) fn list(
    socket: &OwnedFd,
    family: AddressFamily,
    listed: &mut Vec<Listed>,
) -> Result<(), HostError> {
    let action = || "list the sockets of a host".to_owned();
    let question = question(family);
    rustix::net::send(socket, &question, SendFlags::empty()).context(action)?;
    let mut buffer = vec![0; ROOM];
    loop {
        let len = match rustix::net::recv(socket, &mut buffer[..], RecvFlags::TRUNC) {
            Ok((_, len)) if len <= ROOM => len,
            Ok(_) => return Err(HostError::new(action(), "the kernel's answer is too long")),
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno).context(action),
        };
        if !read(&buffer[..len], listed).map_err(|reason| HostError::new(action(), reason))? {
            return Ok(());
        }
    }
}

/// Asks for all TCP sockets of a family but those that are left out, with their `tcp_info`.
fn question(family: AddressFamily) -> [u8; HEADER + REQUEST] {
    let mut question = [0; HEADER + REQUEST];
    question[..4].copy_from_slice(&((HEADER + REQUEST) as u32).to_ne_bytes());
    question[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    question[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    let request = &mut question[HEADER..];
    request[0] = family.as_raw() as u8;
    request[1] = libc::IPPROTO_TCP as u8;
    request[2] = 1 << (INFO - 1);
    request[4..8].copy_from_slice(&(!LEFT_OUT).to_ne_bytes());
    question
}

/// Reads a datagram of answers; whether there will be more of them.
fn read(mut bytes: &[u8], listed: &mut Vec<Listed>) -> Result<bool, String> {
    while let Some((len, kind, body)) = message(bytes) {
        match kind {
            DONE => return Ok(false),
            ERROR => {
                let errno = word(body, 0).map_or(0, |errno| errno as i32);
                return Err(std::io::Error::from_raw_os_error(-errno).to_string());
            }
            BY_FAMILY => listed.extend(socket_of(body)),
            _ => {}
        }
        bytes = bytes.get(aligned(len)..).unwrap_or_default();
    }
    Ok(true)
}

/// The first netlink message: its length, type and body.
fn message(bytes: &[u8]) -> Option<(usize, u16, &[u8])> {
    let len = word(bytes, 0)? as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    Some((len, kind, bytes.get(HEADER..len)?))
}

/// A socket of a `struct inet_diag_msg` with its attributes.
fn socket_of(body: &[u8]) -> Option<Listed> {
    let (fixed, mut attributes) = body.split_at_checked(MESSAGE)?;
    let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let address = |at: usize| -> IpAddr {
        let octets: [u8; 16] = fixed[at..at + 16].try_into().expect("sixteen of them");
        match i32::from(fixed[0]) {
            libc::AF_INET => Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into(),
            _ => Ipv6Addr::from(octets).to_canonical(),
        }
    };
    let mut info = None;
    while let Some(header) = attributes.get(..4) {
        let [len, kind] = [0, 2].map(|at| u16::from_ne_bytes([header[at], header[at + 1]]));
        if kind == INFO {
            info = attributes.get(4..usize::from(len)).map(TcpInfo::of_bytes);
        }
        attributes = attributes.get(aligned(len.max(4).into())..).unwrap_or_default();
    }
    let local = SocketAddr::new(address(8), port(4));
    let remote = SocketAddr::new(address(24), port(6));
    Some(Listed { state: fixed[1], local, remote, info })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|word| u32::from_ne_bytes(word.try_into().expect("four of them")))
}

/// Messages and attributes begin at multiples of four.
const fn aligned(len: usize) -> usize {
    len.next_multiple_of(4)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    pub(crate) fn pair(address: &str) -> (TcpListener, TcpStream, TcpStream) {
        let listener = TcpListener::bind(address).expect("loopback");
        let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("listening");
        let (server, _) = listener.accept().expect("connected");
        (listener, client, server)
    }

    #[test]
    fn sockets_of_ipv6_are_listed_and_mapped_addresses_are_of_ipv4() {
        let (listener, client, _server) = pair("[::1]:0");
        let mut listed = Vec::new();
        list(&open().expect("sock_diag"), AddressFamily::INET6, &mut listed).expect("listed");
        let local = client.local_addr().expect("connected");
        let found = listed.iter().find(|found| found.local == local).expect("it is there");
        assert_eq!((Some(found.remote), found.state), (client.peer_addr().ok(), 1));
        assert!(found.info.is_some_and(|info| info.cwnd >= 10));
        let bound = listener.local_addr().expect("bound");
        assert!(listed.iter().any(|found| found.local == bound && found.state == LISTEN));

        let mut body = [0; MESSAGE];
        body[0] = libc::AF_INET6 as u8;
        body[8..24].copy_from_slice(&Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped().octets());
        let mapped = socket_of(&body).expect("whole");
        assert_eq!((mapped.local.to_string(), mapped.info), ("10.0.0.1:0".into(), None));
    }

    #[test]
    fn what_the_kernel_refuses_or_cuts_off_is_said_or_skipped() {
        let refused =
            [&20_u32.to_ne_bytes()[..], &ERROR.to_ne_bytes(), &[0; 10], &(-13_i32).to_ne_bytes()].concat();
        let why = read(&refused, &mut Vec::new()).expect_err("refused");
        assert!(why.contains("Permission denied"), "{why}");
        for len in 0..refused.len() {
            assert_eq!(read(&refused[..len], &mut Vec::new()), Ok(true), "{len} octets");
        }
        assert_eq!(socket_of(&[0; MESSAGE - 1]), None);
    }
}
