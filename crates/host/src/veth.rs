//! A pair of virtual Ethernet devices, for where `/dev/net/tun` is not ours to use: one end is the host's, at the
//! other one a packet socket reads from a ring and writes.
//!
//! Both ends are without ARP: the kernel then writes the device's own address into each frame, and nobody has to be
//! asked for another one. The offloads are off, so that what comes is what a wire would carry: no larger than
//! the MTU, and with its checksums.

use crate::device::{EDGE, HOST};
use crate::error::{Context, HostError};
use crate::namespace::Namespace;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::ffi::CString;
use std::io::IoSlice;
use std::mem::size_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use voxpath_wire::ethernet::{EthernetHeader, HEADER_LEN};

/// Room for a frame of an MTU of 1500 behind what the kernel says of it.
const FRAME: usize = 2048;
const BLOCK: usize = 1 << 16;
/// As many frames as a TUN device's queue holds.
const FRAMES: usize = 320 * (BLOCK / FRAME);

/// Commands of `linux/ethtool.h`, each with 0 for off: TSO, GSO, transmit checksums, scatter-gather, GRO.
const OFFLOADS: [u32; 5] = [0x1f, 0x24, 0x17, 0x19, 0x2c];

/// Our end of the pair.
#[derive(Debug)]
pub(crate) struct Veth {
    /// It keeps the namespace of our end, and with that the pair.
    socket: OwnedFd,
    ring: Ring,
    /// Frames that the ring had no room for.
    dropped: u64,
}

impl Veth {
    /// Makes a pair whose end in `namespace` is called `name`.
    pub(crate) fn new(namespace: &Namespace, name: &str) -> Result<Self, HostError> {
        let edge = Namespace::new()?;
        edge.sysctl(&[("ipv6/conf/default/disable_ipv6".into(), "1".into())])?;
        // `ip` is another process: it finds ours by its number, as /proc has it, which may be that of an outer PID namespace.
        let own = std::fs::read_link("/proc/self").context(|| "read /proc/self".into())?;
        let ours = format!("/proc/{}/fd/{}", own.display(), edge.as_fd().as_raw_fd());
        namespace.ip(&format!(
            "link add name {name} address {HOST} type veth peer name {name} address {EDGE} netns {ours}\n\
             link set {name} arp off\n",
        ))?;
        namespace.inside(|| switch_offloads_off(name))?;
        edge.ip(&format!("link set {name} arp off up\n"))?;
        let socket = edge.inside(|| packet_socket(name))?;
        let ring = Ring::new(&socket)?;
        edge.inside(|| bind(&socket, name))?;
        Ok(Self { socket, ring, dropped: 0 })
    }

    /// As [`Device::receive`](crate::Device::receive).
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.ring.take(buffer)
    }

    /// As [`Device::send`](crate::Device::send).
    pub(crate) fn send(&self, packet: &[u8]) -> bool {
        let header = EthernetHeader::of_packet(HOST, EDGE, packet).emit();
        loop {
            match rustix::io::writev(&self.socket, &[IoSlice::new(&header), IoSlice::new(packet)]) {
                Ok(_) => return true,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// How many frames of the host the ring had no room for.
    pub(crate) fn dropped(&mut self) -> Result<u64, HostError> {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes to `stats`, which outlives the call.
        let asked = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut len,
            )
        };
        done(asked).context(|| "read PACKET_STATISTICS".into())?;
        // Asking sets the kernel's count to zero.
        self.dropped += u64::from(stats.tp_drops);
        Ok(self.dropped)
    }
}

impl AsFd for Veth {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The outcome of a system call that returns -1 where it fails.
fn done(returned: libc::c_int) -> std::io::Result<()> {
    if returned < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

fn switch_offloads_off(name: &str) -> Result<(), HostError> {
    let action = || format!("switch the offloads of {name} off");
    let socket =
        socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None).context(action)?;
    for command in OFFLOADS {
        // `struct ethtool_value`
        let mut value = [command, 0];
        // SAFETY: `ifreq` is plain data, for which all zeroes are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: SIOCETHTOOL reads the request and the value that it points to; both outlive the call.
        let set = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        done(set).context(action)?;
    }
    Ok(())
}

/// A packet socket that hears nothing until it is bound.
fn packet_socket(name: &str) -> Result<OwnedFd, HostError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)
        .context(|| format!("open a packet socket at {name}"))?;
    set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
    // What we send is not for us, and has no queue of its own.
    set(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
    set(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
    Ok(socket)
}

/// Sets an option of packet sockets.
fn set<T: Copy>(socket: &OwnedFd, option: libc::c_int, value: &T) -> Result<(), HostError> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes of `value`, which outlives the call.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, std::ptr::from_ref(value).cast(), len)
    };
    done(set).context(|| format!("set option {option} of a packet socket"))
}

/// Has the socket hear what comes to the device.
fn bind(socket: &OwnedFd, name: &str) -> Result<(), HostError> {
    let action = || format!("bind a packet socket to {name}");
    let c_name = CString::new(name).map_err(|error| HostError::new(action(), error))?;
    // SAFETY: `sockaddr_ll` is plain data, for which all zeroes are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: the name is a C string that outlives the call.
    address.sll_ifindex = unsafe { libc::if_nametoindex(c_name.as_ptr()) } as i32;
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes of the address, which outlives the call.
    done(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) }).context(action)
}

/// Memory that the kernel puts frames into (`PACKET_RX_RING`, version 2), oldest first from `next` on.
#[derive(Debug)]
struct Ring {
    memory: NonNull<u8>,
    next: usize,
}

// SAFETY: the memory belongs to this value alone; that it was mapped by another thread does not matter.
unsafe impl Send for Ring {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for Ring {}

impl Ring {
    fn new(socket: &OwnedFd) -> Result<Self, HostError> {
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (FRAMES * FRAME / BLOCK) as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: FRAMES as u32,
        };
        set(socket, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping at an address of the kernel's choice, as long as the ring just made.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                FRAMES * FRAME,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(HostError::new("map a packet ring", std::io::Error::last_os_error()));
        }
        let memory = NonNull::new(mapped.cast()).expect("nothing is mapped at zero");
        Ok(Self { memory, next: 0 })
    }

    /// Copies the next frame's packet to `buffer`; its length, or none if there is no frame.
    fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        // SAFETY: `next` is below `FRAMES`, so the frame lies in the mapping, which lives as long as this value;
        // frames are aligned to their size.
        let frame = unsafe { self.memory.add(self.next * FRAME) };
        // SAFETY: a frame begins with its status, which the kernel and we only access atomically.
        let status = unsafe { AtomicU32::from_ptr(frame.as_ptr().cast()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: as the status says, the frame is ours until we give it back, and begins with this header.
        let header: libc::tpacket2_hdr = unsafe { frame.cast().read() };
        let start = usize::from(header.tp_mac) + HEADER_LEN;
        let len = (header.tp_snaplen as usize).saturating_sub(HEADER_LEN).min(buffer.len());
        assert!(start + len <= FRAME, "the kernel writes inside the frame");
        // SAFETY: the frame is ours, and `start + len` is within it.
        let packet = unsafe { std::slice::from_raw_parts(frame.as_ptr().add(start), len) };
        buffer[..len].copy_from_slice(packet);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % FRAMES;
        Some(len)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and nobody uses it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), FRAMES * FRAME) };
    }
}
