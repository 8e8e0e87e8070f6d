//! The UDP header (RFC 768).

use crate::error::{Header, WireError, WireErrorKind};
use crate::field::be16;
use alloc::vec::Vec;
use core::ops::Range;

/// A UDP header; length and checksum follow from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct UdpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}

impl UdpHeader {
    /// Length on the wire, in bytes.
    pub const LEN: u32 = 8;

    /// Where the checksum is, in bytes from the header's start.
    pub(crate) const CHECKSUM_AT: usize = 6;

    /// Reads the header at the start of `bytes` and says where its payload is.
    ///
    /// The payload ends where the length field says; what may follow (RFC 9868 calls it the surplus area) is
    /// left out. The checksum needs addresses: [`crate::packet::parse_packet`] verifies it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Range<usize>), WireError> {
        const LEN: usize = UdpHeader::LEN as usize;
        let truncated =
            |offset, needed| WireError::truncated(Header::Udp, offset, needed, bytes.len() - offset);
        let fixed = bytes.first_chunk::<LEN>().ok_or_else(|| truncated(0, LEN))?;
        let stated = usize::from(be16(fixed, 4));
        if stated < LEN {
            let kind = WireErrorKind::BadLength { stated, least: LEN };
            return Err(WireError { header: Header::Udp, offset: 4, kind });
        }
        if stated > bytes.len() {
            return Err(truncated(0, stated));
        }
        Ok((Self { src_port: be16(fixed, 0), dst_port: be16(fixed, 2) }, LEN..stated))
    }

    /// Appends the header of a datagram with `payload_len` bytes of payload to `out`, its checksum zero: that
    /// says "none" in IPv4, and [`crate::packet::emit_udp`] fills it in.
    ///
    /// Panics if the datagram is longer than the length field can say, 65,535 bytes.
    pub fn emit(&self, payload_len: u32, out: &mut Vec<u8>) {
        let length = u16::try_from(u64::from(Self::LEN) + u64::from(payload_len))
            .expect("a UDP datagram is at most 65535 bytes");
        out.extend_from_slice(&self.src_port.to_be_bytes());
        out.extend_from_slice(&self.dst_port.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_does_not_cover_the_header_is_an_error() {
        let kind = WireErrorKind::BadLength { stated: 7, least: 8 };
        let error = WireError { header: Header::Udp, offset: 4, kind };
        assert_eq!(UdpHeader::parse(&[0, 1, 0, 2, 0, 7, 0, 0]), Err(error));
    }

    #[test]
    fn a_datagram_may_be_shorter_but_not_longer_than_its_carrier() {
        let header = UdpHeader { src_port: 1, dst_port: 2 };
        let bytes = [0, 1, 0, 2, 0, 9, 0, 0, 0xaa, 0xbb];
        assert_eq!(UdpHeader::parse(&bytes), Ok((header, 8..9)));
        assert_eq!(UdpHeader::parse(&bytes[..8]), Err(WireError::truncated(Header::Udp, 0, 9, 8)));
        assert_eq!(UdpHeader::parse(&bytes[..7]), Err(WireError::truncated(Header::Udp, 0, 8, 7)));
    }
}
