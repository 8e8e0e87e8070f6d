//! What the kernel says of a connection of Multipath TCP: `MPTCP_INFO`.

use rustix::fd::{AsFd, AsRawFd};
use voxpath_sim::outside::Multipath;

/// `SOL_MPTCP` and `MPTCP_INFO` of linux/mptcp.h.
const LEVEL: libc::c_int = 284;
const INFO: libc::c_int = 1;

/// The length of `struct mptcp_info`, of which an older kernel gives less: it only ever grows at its end.
const LEN: usize = 96;
/// Where its fields are.
const FLAGS: usize = 8;
const BYTES_RETRANSMITTED: usize = 48;
const BYTES_SENT: usize = 56;
const BYTES_RECEIVED: usize = 64;
const BYTES_ACKED: usize = 72;
const SUBFLOWS: usize = 80;

/// `MPTCP_INFO_FLAG_FALLBACK`.
const FALLBACK: u32 = 1;

/// What the kernel says of `socket`. One that it accepted without Multipath TCP is a socket of TCP, of which it says nothing else.
pub(crate) fn mptcp_info(socket: impl AsFd) -> Multipath {
    asked(socket).map_or(Multipath { is_fallback: true, ..Multipath::default() }, |bytes| of_bytes(&bytes))
}

/// How many subflows of `socket` stand; a socket of TCP is one, and a kernel older than 6.7 does not tell.
pub(crate) fn subflows(socket: impl AsFd) -> Option<u8> {
    asked(socket).map_or(Some(1), |bytes| bytes.get(SUBFLOWS).copied())
}

/// The `struct mptcp_info` of a socket of Multipath TCP.
fn asked(socket: impl AsFd) -> Option<Vec<u8>> {
    let mut bytes = vec![0_u8; LEN];
    let mut len = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `bytes`, which outlives the call.
    let asked = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), LEVEL, INFO, bytes.as_mut_ptr().cast(), &raw mut len)
    };
    bytes.truncate(len as usize);
    (asked == 0).then_some(bytes)
}

/// Reads a `struct mptcp_info`; what an older kernel does not tell has no value (bytes are told since Linux 6.5).
fn of_bytes(bytes: &[u8]) -> Multipath {
    let long = |at: usize| {
        let octets = bytes.get(at..at + 8)?;
        Some(u64::from_ne_bytes(octets.try_into().expect("eight of them")))
    };
    let flags = bytes
        .get(FLAGS..FLAGS + 4)
        .map_or(0, |octets| u32::from_ne_bytes(octets.try_into().expect("four of them")));
    Multipath {
        is_fallback: flags & FALLBACK != 0,
        // A DATA_FIN is acknowledged as an octet: what was sent bounds it.
        bytes_acked: long(BYTES_ACKED).zip(long(BYTES_SENT)).map(|(acked, sent)| acked.min(sent)),
        bytes_received: long(BYTES_RECEIVED),
        bytes_reinjected: long(BYTES_RETRANSMITTED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
    use rustix::net::{accept, bind, connect, getsockname, ipproto, listen, recv, send, socket_with};
    use std::net::{Ipv4Addr, SocketAddr, TcpStream};

    fn socket() -> rustix::fd::OwnedFd {
        let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
        socket_with(family, kind, SocketFlags::CLOEXEC, Some(ipproto::MPTCP))
            .expect("the kernel has Multipath TCP")
    }

    #[test]
    fn a_connection_over_loopback_is_described_at_both_ends() {
        let listener = socket();
        bind(&listener, &SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)).expect("a port is free");
        listen(&listener, 2).expect("bound");
        let at = SocketAddr::try_from(getsockname(&listener).expect("bound")).expect("of IPv4");
        let client = socket();
        connect(&client, &at).expect("listening");
        let server = accept(&listener).expect("connected");
        send(&client, b"hello", SendFlags::empty()).expect("open");
        recv(&server, &mut [0; 5][..], RecvFlags::WAITALL).expect("sent");
        let found = mptcp_info(&server);
        assert_eq!((found.is_fallback, found.bytes_received), (false, Some(5)));
        assert_eq!(subflows(&server), Some(1));
        assert_eq!(mptcp_info(&client).bytes_reinjected, Some(0));
        // Who opens without Multipath TCP gets TCP.
        let _plain = TcpStream::connect(at).expect("listening");
        let server = accept(&listener).expect("connected");
        assert!(mptcp_info(&server).is_fallback);
    }

    #[test]
    fn what_an_older_kernel_does_not_tell_has_no_value() {
        let mut bytes = [0_u8; BYTES_RETRANSMITTED];
        bytes[FLAGS..FLAGS + 4].copy_from_slice(&FALLBACK.to_ne_bytes());
        assert_eq!(of_bytes(&bytes), Multipath { is_fallback: true, ..Multipath::default() });
    }
}
