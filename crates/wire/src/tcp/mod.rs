//! The TCP header (RFC 9293 section 3.1) with the options of RFC 9293, 7323 and 2018, and those of Multipath TCP
//! ([`mptcp`]). Others are kept as they are.

mod foreign;
mod kind;
pub mod mptcp;
mod options;
mod seq;

pub use foreign::ForeignOptions;
pub use options::{SackBlock, SackBlocks, TcpOptions, Timestamps};
pub use seq::Seq;

use crate::error::{Header, WireError, WireErrorKind};
use crate::field::{be16, be32};
use alloc::vec::Vec;
use core::ops::{BitOr, BitOrAssign};

/// A TCP header; checksum and data offset follow from the rest, the urgent pointer is not spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpHeader {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first octet (or of the SYN).
    pub seq: Seq,
    /// Acknowledgment number, significant with ACK.
    pub ack: Seq,
    /// Control bits.
    pub flags: TcpFlags,
    /// Receive window, in units of the negotiated scale.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
}

const BASE_LEN: usize = TcpHeader::BASE_LEN as usize;

impl TcpHeader {
    /// Length without options, in bytes.
    pub const BASE_LEN: u32 = 20;

    /// Where the checksum is, in bytes from the header's start.
    pub(crate) const CHECKSUM_AT: usize = 16;

    /// Header length on the wire in bytes, options and padding included.
    pub fn wire_len(&self) -> u32 {
        Self::BASE_LEN + self.options.wire_len()
    }

    /// Reads the header at the start of `bytes` and says how long it is, options included.
    ///
    /// Reserved bits and the urgent pointer are ignored. The checksum needs addresses:
    /// [`crate::packet::parse_packet`] verifies it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), WireError> {
        let truncated = |needed| WireError::truncated(Header::Tcp, 0, needed, bytes.len());
        let fixed = bytes.first_chunk::<BASE_LEN>().ok_or_else(|| truncated(BASE_LEN))?;
        let header_len = usize::from(fixed[12] >> 4) * 4;
        if header_len < BASE_LEN {
            let kind = WireErrorKind::BadLength { stated: header_len, least: BASE_LEN };
            return Err(WireError { header: Header::Tcp, offset: 12, kind });
        }
        let options = bytes.get(BASE_LEN..header_len).ok_or_else(|| truncated(header_len))?;
        let header = Self {
            src_port: be16(fixed, 0),
            dst_port: be16(fixed, 2),
            seq: Seq(be32(fixed, 4)),
            ack: Seq(be32(fixed, 8)),
            flags: TcpFlags(fixed[13]),
            window: be16(fixed, 14),
            options: TcpOptions::parse(options).map_err(|error| error.moved_by(BASE_LEN))?,
        };
        Ok((header, header_len))
    }

    /// Appends the header to `out`, its checksum zero; [`crate::packet::emit_tcp`] fills it in.
    ///
    /// Panics if the options are longer than [`TcpOptions::MAX_WIRE_LEN`]: whoever adds SACK blocks asks
    /// [`TcpOptions::sack_room`] first.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let options_len = self.options.wire_len();
        assert!(
            options_len <= TcpOptions::MAX_WIRE_LEN,
            "TCP options take at most 40 bytes, not {options_len}"
        );
        let words = (self.wire_len() / 4) as u8;
        out.extend_from_slice(&self.src_port.to_be_bytes());
        out.extend_from_slice(&self.dst_port.to_be_bytes());
        out.extend_from_slice(&self.seq.0.to_be_bytes());
        out.extend_from_slice(&self.ack.0.to_be_bytes());
        out.extend_from_slice(&[words << 4, self.flags.0]);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0; 4]); // checksum, urgent pointer
        self.options.emit(out);
    }
}

/// The control bits (RFC 9293 section 3.1; ECE and CWR from RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No bit set.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push function.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is significant.
    pub const URG: Self = Self(0x20);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// Whether every bit of `other` is set here.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set here.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for TcpFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for TcpFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first 20 bytes of a SYN that Linux 6.18 sent, its checksum zeroed.
    const SYN: [u8; 20] =
        [0xad, 0x0c, 0xd0, 0x43, 0x2d, 0x9e, 0x64, 0x28, 0, 0, 0, 0, 0x50, 0x02, 0xff, 0xd7, 0, 0, 0, 0];

    #[test]
    fn every_field_has_its_place() {
        let header = TcpHeader {
            src_port: 44_300,
            dst_port: 53_315,
            seq: Seq(0x2d9e_6428),
            flags: TcpFlags::SYN,
            window: 65_495,
            ..TcpHeader::default()
        };
        let mut bytes = Vec::new();
        header.emit(&mut bytes);
        assert_eq!(bytes, SYN);
        assert_eq!(TcpHeader::parse(&SYN), Ok((header, 20)));
    }

    #[test]
    fn a_data_offset_inside_the_fixed_header_or_beyond_the_segment_is_an_error() {
        let with_offset = |words: u8| {
            let mut bytes = SYN;
            bytes[12] = words << 4;
            TcpHeader::parse(&bytes)
        };
        let kind = WireErrorKind::BadLength { stated: 16, least: 20 };
        assert_eq!(with_offset(4), Err(WireError { header: Header::Tcp, offset: 12, kind }));
        assert_eq!(with_offset(6), Err(WireError::truncated(Header::Tcp, 0, 24, 20)));
        assert_eq!(TcpHeader::parse(&SYN[..19]), Err(WireError::truncated(Header::Tcp, 0, 20, 19)));
    }

    #[test]
    fn an_error_in_an_option_counts_from_the_start_of_the_header() {
        let mut bytes = SYN.to_vec();
        bytes[12] = 6 << 4;
        bytes.extend_from_slice(&[1, 3, 4, 7]);
        let kind = WireErrorKind::BadOption { kind: 3, length: 4 };
        assert_eq!(TcpHeader::parse(&bytes), Err(WireError { header: Header::Tcp, offset: 21, kind }));
    }
}
