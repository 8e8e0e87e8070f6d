//! Captures in the pcapng format (draft-ietf-opsawg-pcapng), which Wireshark and tshark read.
//!
//! A writer of our own rather than the pcap-file crate because the core crates are `no_std`: this one appends
//! to a `Vec<u8>` that its owner writes out and clears whenever it likes.
//!
//! Packets are IP packets without a link layer. Times are nanoseconds from the start of the run, so a capture
//! begins in 1970 unless it is a real one.

use alloc::vec::Vec;
use voxpath_units::Time;

/// Writes one section: its header, interfaces, and packets in any order of the interfaces.
///
/// ```
/// use voxpath_units::Time;
/// use voxpath_wire::pcapng::{CapturedPacket, Direction, Interface, PcapngWriter};
///
/// let mut out = Vec::new();
/// let mut capture = PcapngWriter::new(&mut out);
/// let client = capture.interface(&Interface { name: Some("client"), snap_len: Some(96) }, &mut out);
/// let packet = [0x45; 20];
/// capture.packet(&CapturedPacket::whole(client, Time::ZERO, Direction::Outbound, &packet), &mut out);
/// // Write `out` to a file, `out.clear()`, and go on.
/// ```
#[derive(Debug)]
pub struct PcapngWriter {
    /// How much of a packet each interface keeps, in bytes.
    snap_lens: Vec<u32>,
}

/// Where packets are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interface<'a> {
    /// What Wireshark shows as the interface's name, at most 65,535 bytes long.
    pub name: Option<&'a str>,
    /// How many bytes of each packet are kept, at least one; none: all.
    pub snap_len: Option<u32>,
}

/// An interface of one section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceId(u32);

/// A packet as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// Where it was seen.
    pub interface: InterfaceId,
    /// When it was seen.
    pub at: Time,
    /// Which way it went.
    pub direction: Direction,
    /// Its length on the wire in bytes, at least that of `bytes`: who captures headers only need not
    /// materialise payload.
    pub original_len: u32,
    /// Its first bytes; what exceeds the interface's snap length is not written.
    pub bytes: &'a [u8],
}

/// Which way a packet passed an interface, as its host sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Received by the host.
    Inbound,
    /// Sent by the host.
    Outbound,
}

impl<'a> CapturedPacket<'a> {
    /// A packet of which all bytes are at hand.
    pub fn whole(interface: InterfaceId, at: Time, direction: Direction, bytes: &'a [u8]) -> Self {
        let original_len = u32::try_from(bytes.len()).expect("a packet is shorter than 4 GiB");
        Self { interface, at, direction, original_len, bytes }
    }
}

impl PcapngWriter {
    /// Begins a section: appends its header to `out`.
    pub fn new(out: &mut Vec<u8>) -> Self {
        append_block(SECTION_HEADER_BLOCK, out, |out| {
            put_u32(out, 0x1a2b_3c4d); // byte-order magic: little endian everywhere, so that runs compare
            put_u16(out, 1); // version 1.0
            put_u16(out, 0);
            out.extend_from_slice(&u64::MAX.to_le_bytes()); // length of the section: not known
        });
        Self { snap_lens: Vec::new() }
    }

    /// Describes an interface: raw IP packets, times in nanoseconds.
    pub fn interface(&mut self, interface: &Interface<'_>, out: &mut Vec<u8>) -> InterfaceId {
        assert_ne!(interface.snap_len, Some(0), "a snap length of zero means unlimited to readers");
        append_block(INTERFACE_DESCRIPTION_BLOCK, out, |out| {
            put_u16(out, LINKTYPE_RAW);
            put_u16(out, 0); // reserved
            put_u32(out, interface.snap_len.unwrap_or(0)); // zero: no limit
            if let Some(name) = interface.name {
                append_option(IF_NAME, name.as_bytes(), out);
            }
            append_option(IF_TSRESOL, &[9], out); // 10^-9 s
            append_option(END_OF_OPTIONS, &[], out);
        });
        let id = u32::try_from(self.snap_lens.len()).expect("a section has fewer than 2^32 interfaces");
        self.snap_lens.push(interface.snap_len.unwrap_or(u32::MAX));
        InterfaceId(id)
    }

    /// Appends a packet.
    ///
    /// Panics if the packet's interface is of another section, or if it has more bytes than its original length
    /// says.
    pub fn packet(&self, packet: &CapturedPacket<'_>, out: &mut Vec<u8>) {
        let InterfaceId(interface) = packet.interface;
        let snap_len = *self.snap_lens.get(interface as usize).expect("the interface is of this section");
        assert!(
            packet.bytes.len() as u64 <= u64::from(packet.original_len),
            "no more is captured than was sent"
        );
        let captured = &packet.bytes[..packet.bytes.len().min(snap_len as usize)];
        let nanos = packet.at.as_nanos();
        append_block(ENHANCED_PACKET_BLOCK, out, |out| {
            put_u32(out, interface);
            put_u32(out, (nanos >> 32) as u32);
            put_u32(out, nanos as u32);
            put_u32(out, captured.len() as u32);
            put_u32(out, packet.original_len);
            append_padded(captured, out);
            let direction: u32 = match packet.direction {
                Direction::Inbound => 0b01,
                Direction::Outbound => 0b10,
            };
            append_option(EPB_FLAGS, &direction.to_le_bytes(), out);
            append_option(END_OF_OPTIONS, &[], out);
        });
    }
}

// Block types and options (sections 3.5 and 4.1 to 4.3), and the link type of packets that begin with an IPv4 or
// IPv6 header (tcpdump.org, link-layer header types).
const SECTION_HEADER_BLOCK: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION_BLOCK: u32 = 1;
const ENHANCED_PACKET_BLOCK: u32 = 6;
const END_OF_OPTIONS: u16 = 0;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const LINKTYPE_RAW: u16 = 101;

/// Appends a block: its type and length, what `body` appends, and its length again, by which readers can go
/// backwards (section 3.1).
fn append_block(block_type: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    put_u32(out, block_type);
    put_u32(out, 0);
    body(out);
    let length = u32::try_from(out.len() - start + 4).expect("a block is shorter than 4 GiB").to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

/// Appends an option: code, length, value (section 3.5).
fn append_option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    put_u16(out, code);
    put_u16(out, u16::try_from(value.len()).expect("an option's value is at most 65535 bytes"));
    append_padded(value, out);
}

/// Appends `bytes` and zeros up to a multiple of four, which every block and option begins at.
fn append_padded(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(bytes);
    out.resize(out.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_what_the_specification_draws() {
        let mut out = Vec::new();
        let mut writer = PcapngWriter::new(&mut out);
        let section = [
            0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
            0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0,
        ];
        assert_eq!(out, section);

        out.clear();
        let id = writer.interface(&Interface { name: Some("eth0x"), snap_len: Some(3) }, &mut out);
        let interface = [
            1, 0, 0, 0, 44, 0, 0, 0, 101, 0, 0, 0, 3, 0, 0, 0, 2, 0, 5, 0, b'e', b't', b'h', b'0', b'x', 0,
            0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 44, 0, 0, 0,
        ];
        assert_eq!(out, interface);

        out.clear();
        let at = Time::from_nanos(0x0102_0304_0506_0708);
        writer.packet(&CapturedPacket::whole(id, at, Direction::Outbound, b"12345"), &mut out);
        let packet = [
            6, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5, 3, 0, 0, 0, 5, 0, 0, 0, b'1', b'2',
            b'3', 0, 2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0,
        ];
        assert_eq!(out, packet);
    }
}
