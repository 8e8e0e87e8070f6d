//! A TUN device: IP packets, one for each `read` and `write`. Nothing that was tried is faster. Or a TAP device,
//! which is one for Ethernet frames.

use crate::error::{Context, HostError};
use crate::namespace::Namespace;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::{IoSlice, IoSliceMut};

/// Where TUN devices are made.
const TUN: &str = "/dev/net/tun";

/// A TUN or TAP device inside a namespace; it disappears with this value.
#[derive(Debug)]
pub(crate) struct Tun {
    descriptor: OwnedFd,
    name: String,
}

/// What a device hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// IP packets: TUN.
    Ip,
    /// Ethernet frames: TAP.
    Ethernet,
}

impl Tun {
    /// Makes the device `name` in a namespace; it is down and has no address.
    pub(crate) fn new(namespace: &Namespace, name: &str, layer: Layer) -> Result<Self, HostError> {
        namespace.inside(|| {
            let descriptor =
                rustix::fs::open(TUN, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
                    .context(|| format!("open {TUN} (as root: modprobe tun; chmod 0666 {TUN})"))?;
            let action = || format!("make the device {name}");
            // SAFETY: `ifreq` is plain data, for which all zeroes are valid.
            let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
            if name.len() >= request.ifr_name.len() {
                return Err(HostError::new(action(), "the name is too long"));
            }
            for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
                *to = from as libc::c_char;
            }
            let kind = match layer {
                Layer::Ip => libc::IFF_TUN,
                Layer::Ethernet => libc::IFF_TAP,
            };
            request.ifr_ifru.ifru_flags = (kind | libc::IFF_NO_PI) as libc::c_short;
            // SAFETY: TUNSETIFF reads and writes one `ifreq`, which outlives the call.
            let made = unsafe { libc::ioctl(descriptor.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
            if made < 0 {
                return Err(HostError::new(action(), std::io::Error::last_os_error()));
            }
            Ok(Self { descriptor, name: name.to_owned() })
        })
    }

    /// As [`Device::receive`](crate::Device::receive).
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        self.receive_parts(&mut [IoSliceMut::new(buffer)])
    }

    /// Reads what comes next into several buffers, one after the other.
    pub(crate) fn receive_parts(&self, parts: &mut [IoSliceMut<'_>]) -> Result<Option<usize>, HostError> {
        loop {
            match rustix::io::readv(&self.descriptor, parts) {
                Ok(len) => return Ok(Some(len)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno).context(|| format!("read from {}", self.name)),
            }
        }
    }

    /// As [`Device::send`](crate::Device::send).
    pub(crate) fn send(&self, packet: &[u8]) -> bool {
        self.send_parts(&[IoSlice::new(packet)])
    }

    /// Hands over what several buffers hold, one after the other.
    pub(crate) fn send_parts(&self, parts: &[IoSlice<'_>]) -> bool {
        loop {
            match rustix::io::writev(&self.descriptor, parts) {
                Ok(_) => return true,
                Err(Errno::INTR) => {}
                // A device that is down answers EIO, a full backlog EAGAIN or ENOBUFS: it is lost, and counted.
                Err(_) => return false,
            }
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
