//! What joins a real host to the world.

use crate::error::{Context, HostError};
use crate::namespace::Namespace;
use crate::tap::Tap;
use crate::tun::{Layer, Tun};
use crate::veth::Veth;
use rustix::fd::{AsFd, BorrowedFd};
use voxpath_wire::ethernet::MacAddress;

/// The link layer's address of a host's device, where it has one: each host is alone on its wire.
pub(crate) const HOST: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// Ours, at the other end of the wire.
pub(crate) const EDGE: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

/// A device inside a namespace, and our end of it; it disappears with this value.
#[derive(Debug)]
pub struct Device {
    name: String,
    end: End,
    instead: Option<HostError>,
}

#[derive(Debug)]
enum End {
    Tun(Tun),
    Tap(Tap),
    Veth(Veth),
}

/// How a host is joined to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A TUN device.
    Tun,
    /// A TAP device, which has Ethernet frames and ARP.
    Tap,
    /// A pair of virtual Ethernet devices with a packet socket at our end: about a quarter slower.
    Veth,
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
    /// Datagrams that found their socket full: whoever reads it was too slow.
    pub unread: u64,
}

impl Device {
    /// Makes the device `name` in a namespace; it is down and has no address.
    ///
    /// Without a `kind` it is a TUN device where those can be made, else a veth.
    ///
    /// # Errors
    /// The machine does not let us, or the name is taken or too long.
    pub fn new(namespace: &Namespace, name: &str, kind: Option<Kind>) -> Result<Self, HostError> {
        let device = |end, instead| Self { name: name.to_owned(), end, instead };
        let veth = || Veth::new(namespace, name).map(End::Veth);
        match kind {
            Some(Kind::Veth) => return veth().map(|end| device(end, None)),
            Some(Kind::Tap) => return Tap::new(namespace, name).map(|end| device(End::Tap(end), None)),
            Some(Kind::Tun) | None => {}
        }
        match (Tun::new(namespace, name, Layer::Ip), kind) {
            (Ok(tun), _) => Ok(device(End::Tun(tun), None)),
            (Err(error), Some(_)) => Err(error),
            (Err(error), None) => match veth() {
                Ok(end) => Ok(device(end, Some(error))),
                Err(second) => Err(HostError::new(error.action, format!("{}; and {second}", error.reason))),
            },
        }
    }

    /// What it is.
    pub const fn kind(&self) -> Kind {
        match self.end {
            End::Tun(_) => Kind::Tun,
            End::Tap(_) => Kind::Tap,
            End::Veth(_) => Kind::Veth,
        }
    }

    /// Why it is no TUN device, if it should have been one.
    pub const fn instead(&self) -> Option<&HostError> {
        self.instead.as_ref()
    }

    /// Reads the next IP packet into `buffer`; its length, or none if there is none now.
    ///
    /// # Errors
    /// The device is gone.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        match &mut self.end {
            End::Tun(tun) => tun.receive(buffer),
            End::Tap(tap) => tap.receive(buffer),
            End::Veth(veth) => Ok(veth.receive(buffer)),
        }
    }

    /// Hands an IP packet over; whether the host's stack took it.
    pub fn send(&self, packet: &[u8]) -> bool {
        match &self.end {
            End::Tun(tun) => tun.send(packet),
            End::Tap(tap) => tap.send(packet),
            End::Veth(veth) => veth.send(packet),
        }
    }

    /// What the kernel counted.
    ///
    /// # Errors
    /// The namespace cannot be entered.
    pub fn counts(&mut self, namespace: &Namespace) -> Result<DeviceCounts, HostError> {
        let path = "/proc/thread-self/net/dev";
        let (text, unread) = namespace.inside(|| {
            let text = std::fs::read_to_string(path).context(|| format!("read {path}"))?;
            // Without IPv6 there is no table of it.
            let [v4, v6] = ["snmp", "snmp6"].map(|table| {
                std::fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default()
            });
            Ok((text, unread_v4(&v4) + unread_v6(&v6)))
        })?;
        let mut found = counts(&text, &self.name)
            .ok_or_else(|| HostError::new(format!("find {} in {path}", self.name), text))?;
        found.unread = unread;
        if let End::Veth(veth) = &mut self.end {
            // The host's end takes for sent what our ring then had no room for.
            let dropped = veth.dropped()?;
            found.sent -= dropped;
            found.send_dropped += dropped;
        }
        Ok(found)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.end {
            End::Tun(tun) => tun.as_fd(),
            End::Tap(tap) => tap.as_fd(),
            End::Veth(veth) => veth.as_fd(),
        }
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
    Some(DeviceCounts { sent, send_dropped, received, receive_dropped, unread: 0 })
}

/// `RcvbufErrors` of UDP: a line of names, then one of values.
fn unread_v4(table: &str) -> u64 {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let mut columns = names.split(' ').zip(values.split(' '));
    columns.find(|(name, _)| *name == "RcvbufErrors").and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// The same of IPv6: a name and a value a line.
fn unread_v6(table: &str) -> u64 {
    let value = table.lines().find_map(|line| line.strip_prefix("Udp6RcvbufErrors"));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
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
        let expected =
            DeviceCounts { sent: 13, send_dropped: 5, received: 11, receive_dropped: 3, unread: 0 };
        assert_eq!(counts(table, "net0"), Some(expected));
        assert_eq!(counts(table, "net"), None);
    }

    #[test]
    fn datagrams_that_found_no_room_are_read_from_the_kernels_tables() {
        let v4 = "Tcp: RtoAlgorithm RtoMin\nTcp: 1 200\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors\n\
            Udp: 9369 1 7 9377 7 0\nUdpLite: InDatagrams RcvbufErrors\nUdpLite: 0 5\n";
        let v6 = "Udp6InErrors                    \t3\nUdp6RcvbufErrors                \t2\nUdpLite6RcvbufErrors            \t9\n";
        assert_eq!((unread_v4(v4), unread_v6(v6)), (7, 2));
        assert_eq!((unread_v4(""), unread_v6("")), (0, 0));
    }
}
