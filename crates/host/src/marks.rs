//! Datagrams of the kernel's sockets with the marks that the network left on them (RFC 3168), of both versions of IP.

use crate::error::{Context, HostError};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt;
use std::mem::{MaybeUninit, size_of};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use voxpath_wire::ip::Ecn;

/// Room for one control message of an integer: its header, the integer, and what aligns both.
const CONTROL: usize = 64;

/// Where a datagram came from, and how it was marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Came {
    pub(crate) len: usize,
    pub(crate) from: Option<SocketAddr>,
    pub(crate) ecn: Ecn,
}

/// Has a socket that is bound to `local` tell the marks of what comes.
pub(crate) fn tell(socket: &OwnedFd, local: SocketAddr) -> Result<(), HostError> {
    match local {
        SocketAddr::V4(_) => {
            sockopt::set_ip_recvtos(socket, true).context(|| format!("set IP_RECVTOS at {local}"))
        }
        SocketAddr::V6(_) => {
            sockopt::set_ipv6_recvtclass(socket, true).context(|| format!("set IPV6_RECVTCLASS at {local}"))
        }
    }
}

/// Marks what is sent from now on.
pub(crate) fn set(socket: &OwnedFd, is_ipv4: bool, ecn: Ecn) -> Result<(), Errno> {
    match is_ipv4 {
        true => sockopt::set_ip_tos(socket, ecn.bits()),
        false => sockopt::set_ipv6_tclass(socket, ecn.bits().into()),
    }
}

/// The next datagram that has come.
pub(crate) fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Result<Came, Errno> {
    // SAFETY: `sockaddr_storage` is plain data, for which all zeroes are valid.
    let mut name: libc::sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // Control messages begin at the alignment of their header.
    let mut control = [0_usize; CONTROL / size_of::<usize>()];
    // SAFETY: the same of `msghdr`, whose null pointers have lengths of zero.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    // SAFETY: all that `message` points to outlives the call, with the lengths that it says.
    let len = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let Ok(len) = usize::try_from(len) else {
        let errno = std::io::Error::last_os_error().raw_os_error();
        return Err(errno.map_or(Errno::IO, Errno::from_raw_os_error));
    };
    Ok(Came { len, from: address(&name), ecn: mark(&message) })
}

/// What the control messages of a datagram say of its mark.
fn mark(message: &libc::msghdr) -> Ecn {
    // SAFETY: the kernel has filled `message`, whose control buffer is still there.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    // SAFETY: it is null, or a header inside of the control buffer.
    while let Some(header) = unsafe { next.as_ref() } {
        let is_mark = [(libc::IPPROTO_IP, libc::IP_TOS), (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)]
            .contains(&(header.cmsg_level, header.cmsg_type));
        if is_mark {
            // SAFETY: a message has one octet of data at least. IPv4 sends one; IPv6 an integer, the mark in its lowest octet.
            let octet = unsafe {
                match header.cmsg_level {
                    libc::IPPROTO_IP => libc::CMSG_DATA(next).read(),
                    _ => libc::CMSG_DATA(next).cast::<libc::c_int>().read_unaligned() as u8,
                }
            };
            return Ecn::from_bits(octet);
        }
        // SAFETY: `next` is a header of this message.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    Ecn::NotEct
}

/// An address as the kernel writes it; none if it wrote none.
fn address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match libc::c_int::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says what stands there, and `sockaddr_storage` is larger and aligned for all of them.
            let name = unsafe { &*(&raw const *name).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
            Some(SocketAddr::from((ip, u16::from_be(name.sin_port))))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let name = unsafe { &*(&raw const *name).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
            Some(SocketAddr::from((ip, u16::from_be(name.sin6_port))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::OwnedFd;

    /// Two sockets of the machine itself, by its addresses.
    fn pair(address: &str) -> (OwnedFd, OwnedFd, SocketAddr) {
        let [from, to] = [0, 1].map(|_| UdpSocket::bind((address, 0)).expect("a socket of the loopback"));
        let sender = from.local_addr().expect("it is bound");
        from.connect(to.local_addr().expect("it is bound")).expect("it is there");
        tell(&OwnedFd::from(to.try_clone().expect("a descriptor")), sender).expect("the kernel tells marks");
        (from.into(), to.into(), sender)
    }

    #[test]
    fn marks_come_as_they_were_sent_over_both_versions_of_ip() {
        for address in ["127.0.0.1", "::1"] {
            let (from, to, sender) = pair(address);
            for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct] {
                set(&from, sender.is_ipv4(), ecn).expect("datagrams may have any mark");
                rustix::net::send(&from, b"media", rustix::net::SendFlags::empty()).expect("it is sent");
                let mut buffer = [0; 100];
                let came = loop {
                    match receive(&to, &mut buffer) {
                        Err(Errno::AGAIN) => std::thread::yield_now(),
                        came => break came.expect("a datagram"),
                    }
                };
                assert_eq!(came, Came { len: 5, from: Some(sender), ecn });
            }
            assert_eq!(receive(&to, &mut [0; 100]), Err(Errno::AGAIN), "nothing else came");
        }
    }
}
