//! The TUN device between a host and the world: IP packets, one for each `read` and `write`.

use crate::error::{Context, HostError};
use crate::namespace::Namespace;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Where TUN devices are made.
const TUN: &str = "/dev/net/tun";

/// A TUN device inside a namespace; it disappears with this value.
#[derive(Debug)]
pub struct Tun {
    descriptor: OwnedFd,
    name: String,
}

/// What the kernel counted at a device, from the host's point of view.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Packets that the host sent into it and we read or still could.
    pub sent: u64,
    /// Packets that the host sent and nobody will see: its queue was full.
    pub send_dropped: u64,
    /// Packets that we handed over.
    pub received: u64,
    /// Packets that we handed over and the host did not take.
    pub receive_dropped: u64,
}

impl Tun {
    /// Makes the device `name` in a namespace; it is down and has no address.
    ///
    /// # Errors
    /// `/dev/net/tun` is missing or not ours to use, or the name is taken or too long.
    pub fn new(namespace: &Namespace, name: &str) -> Result<Self, HostError> {
        namespace.inside(|| {
            let descriptor =
                rustix::fs::open(TUN, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
                    .context(|| format!("open {TUN}"))?;
            let action = || format!("make the device {name}");
            // SAFETY: `ifreq` is plain data, for which all zeroes are valid.
            let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
            if name.len() >= request.ifr_name.len() {
                return Err(HostError::new(action(), "the name is too long"));
            }
            for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
            // SAFETY: TUNSETIFF reads and writes one `ifreq`, which outlives the call.
            let made = unsafe { libc::ioctl(descriptor.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
            if made < 0 {
                return Err(HostError::new(action(), std::io::Error::last_os_error()));
            }
            Ok(Self { descriptor, name: name.to_owned() })
        })
    }

    /// Reads the next packet into `buffer`; its length, or none if there is none now.
    ///
    /// # Errors
    /// The device is gone.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        loop {
            match rustix::io::read(&self.descriptor, &mut *buffer) {
                Ok(len) => return Ok(Some(len)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno).context(|| format!("read from {}", self.name)),
            }
        }
    }

    /// Hands a packet over; whether the host's stack took it.
    pub fn send(&self, packet: &[u8]) -> bool {
        loop {
            match rustix::io::write(&self.descriptor, packet) {
                Ok(_) => return true,
                Err(Errno::INTR) => {}
                // A device that is down answers EIO, a full backlog EAGAIN or ENOBUFS: it is lost, and counted.
                Err(_) => return false,
            }
        }
    }

    /// What the kernel counted.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub fn counts(&self, namespace: &Namespace) -> Result<DeviceCounts, HostError> {
        let path = "/proc/thread-self/net/dev";
        let text = namespace.inside(|| std::fs::read_to_string(path).context(|| format!("read {path}")))?;
        counts(&text, &self.name).ok_or_else(|| HostError::new(format!("find {} in {path}", self.name), text))
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The counts of `device` in the kernel's table: eight columns of what it received, then eight of what it sent.
fn counts(table: &str, device: &str) -> Option<DeviceCounts> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    let columns: Vec<u64> = line.split_whitespace().map_while(|column| column.parse().ok()).collect();
    let &[_, received, _, receive_dropped, _, _, _, _, _, sent, _, send_dropped, ..] = columns.as_slice()
    else {
        return None;
    };
    Some(DeviceCounts { sent, send_dropped, received, receive_dropped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_the_kernels_table() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
            lo:     100       2    0    0    0     0          0         0      100       2    0    0    0     0       0          0\n  \
            net0: 9000      11    1    3    0     0          0         0     7000      13    0    5    0     0       0          0\n";
        let expected = DeviceCounts { sent: 13, send_dropped: 5, received: 11, receive_dropped: 3 };
        assert_eq!(counts(table, "net0"), Some(expected));
        assert_eq!(counts(table, "net"), None);
    }
}
