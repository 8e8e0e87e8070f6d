//! A TAP device: a host that speaks Ethernet, for programs that bridge, or look at frames.
//!
//! The network is an IP network. At its edge we are the one neighbour that a host has: whatever address it asks for by
//! ARP, it hears ours, and its frames come without their header to where a TUN device's packets would.

use crate::device::{EDGE, HOST};
use crate::error::HostError;
use crate::namespace::Namespace;
use crate::tun::{Layer, Tun};
use rustix::fd::{AsFd, BorrowedFd};
use std::collections::BTreeMap;
use std::io::{IoSlice, IoSliceMut};
use std::net::Ipv4Addr;
use voxpath_wire::ethernet::{Arp, ArpOperation, EtherType, EthernetHeader, HEADER_LEN, MacAddress};

/// Where the destination of an IPv4 packet stands.
const V4_DESTINATION: std::ops::Range<usize> = 16..20;

/// A TAP device inside a namespace, and who is behind it; it disappears with this value.
#[derive(Debug)]
pub(crate) struct Tap {
    device: Tun,
    /// Who has asked us for somebody: behind a bridge there may be others than the device.
    neighbours: BTreeMap<Ipv4Addr, MacAddress>,
}

impl Tap {
    /// Makes the device `name` in a namespace; it is down and has no address.
    pub(crate) fn new(namespace: &Namespace, name: &str) -> Result<Self, HostError> {
        let device = Tun::new(namespace, name, Layer::Ethernet)?;
        // A bridge that the device is the only port of takes this address too.
        namespace.ip(&format!("link set {name} address {HOST}\n"))?;
        Ok(Self { device, neighbours: BTreeMap::new() })
    }

    /// As [`Device::receive`](crate::Device::receive).
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        let mut header = [0; HEADER_LEN];
        loop {
            let parts = &mut [IoSliceMut::new(&mut header), IoSliceMut::new(buffer)];
            let Some(len) = self.device.receive_parts(parts)? else { return Ok(None) };
            let len = len.saturating_sub(HEADER_LEN);
            match EthernetHeader::parse(&header).map(|header| header.ether_type) {
                Ok(EtherType::Ipv4 | EtherType::Ipv6) => return Ok(Some(len)),
                Ok(EtherType::Arp) => self.resolve(&buffer[..len]),
                // Other protocols, such as a bridge's spanning tree, end at the next router, which we are.
                Ok(EtherType::Other(_)) | Err(_) => {}
            }
        }
    }

    /// As [`Device::send`](crate::Device::send).
    pub(crate) fn send(&self, packet: &[u8]) -> bool {
        let mut header = EthernetHeader::of_packet(HOST, EDGE, packet);
        if header.ether_type == EtherType::Ipv4
            && let Some(&[a, b, c, d]) = packet.get(V4_DESTINATION)
            && let Some(&behind) = self.neighbours.get(&Ipv4Addr::new(a, b, c, d))
        {
            header.dst = behind;
        }
        self.device.send_parts(&[IoSlice::new(&header.emit()), IoSlice::new(packet)])
    }

    /// Answers who asks for an address, and remembers it.
    fn resolve(&mut self, message: &[u8]) {
        let Ok(Arp { operation: ArpOperation::Request, sender, target }) = Arp::parse(message) else {
            return;
        };
        let (mac, ip) = sender;
        // Who tries whether an address is free, or tells everybody its own, waits for no answer.
        if !ip.is_unspecified() {
            self.neighbours.insert(ip, mac);
        }
        if ip.is_unspecified() || ip == target.1 {
            return;
        }
        let answer = Arp { operation: ArpOperation::Reply, sender: (EDGE, target.1), target: sender };
        let mut bytes = Vec::new();
        answer.emit(&mut bytes);
        let header = EthernetHeader { dst: mac, src: EDGE, ether_type: EtherType::Arp };
        // Who hears no answer asks again.
        let _ = self.device.send_parts(&[IoSlice::new(&header.emit()), IoSlice::new(&bytes)]);
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
