//! Fields that a network changes in packets that are already bytes.
//!
//! At the edge to real hosts a packet keeps its bytes, options and all; what our network did to it is written
//! into them on exit. The IPv4 header checksum is updated incrementally (RFC 1624): recomputing it would hide
//! damage done elsewhere. Transport checksums cover none of these fields.

use super::{Ecn, V4_CHECKSUM_AT, V4_LEN, V6_LEN};
use crate::checksum;
use crate::error::{Header, WireError, WireErrorKind};
use crate::field::be16;
use core::net::IpAddr;

/// Sets the time to live or hop limit of the packet at the start of `packet`.
pub fn set_ttl(packet: &mut [u8], ttl: u8) -> Result<(), WireError> {
    match fixed_header(packet)? {
        FixedHeader::V4(header) => set_word(header, 8, u16::from_be_bytes([ttl, header[9]])),
        FixedHeader::V6(header) => header[7] = ttl,
    }
    Ok(())
}

/// Sets the ECN field of the packet at the start of `packet`.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) -> Result<(), WireError> {
    match fixed_header(packet)? {
        FixedHeader::V4(header) => {
            let word = be16(header, 0) & !0b11 | u16::from(ecn.bits());
            set_word(header, 0, word);
        }
        // The traffic class straddles two bytes: four bits of version, eight of class, 20 of flow label.
        FixedHeader::V6(header) => header[1] = header[1] & 0b1100_1111 | ecn.bits() << 4,
    }
    Ok(())
}

/// Sets the length of the packet at the start of `packet`, by that of what it carries.
pub fn set_payload_len(packet: &mut [u8], len: u32) -> Result<(), WireError> {
    let too_long =
        |header, stated| WireError { header, offset: 2, kind: WireErrorKind::BadLength { stated, least: 0 } };
    match fixed_header(packet)? {
        FixedHeader::V4(header) => {
            let total = usize::from(header[0] & 0x0f) * 4 + len as usize;
            let total = u16::try_from(total).map_err(|_| too_long(Header::Ipv4, total))?;
            set_word(header, 2, total);
        }
        FixedHeader::V6(header) => {
            let len = u16::try_from(len).map_err(|_| too_long(Header::Ipv6, len as usize))?;
            header[4..6].copy_from_slice(&len.to_be_bytes());
        }
    }
    Ok(())
}

/// Sets the source, or the destination, of the packet at the start of `packet`: an address of its family. What it carries has a checksum
/// over it, which [`crate::packet::set_checksum`] puts right.
///
/// Panics if the address is of the other family.
pub fn set_address(packet: &mut [u8], is_source: bool, address: IpAddr) -> Result<(), WireError> {
    match (fixed_header(packet)?, address) {
        (FixedHeader::V4(header), IpAddr::V4(address)) => {
            let at = if is_source { 12 } else { 16 };
            let [a, b, c, d] = address.octets();
            set_word(header, at, u16::from_be_bytes([a, b]));
            set_word(header, at + 2, u16::from_be_bytes([c, d]));
        }
        (FixedHeader::V6(header), IpAddr::V6(address)) => {
            let at = if is_source { 8 } else { 24 };
            header[at..at + 16].copy_from_slice(&address.octets());
        }
        _ => panic!("both addresses of a packet are of one family"),
    }
    Ok(())
}

enum FixedHeader<'a> {
    V4(&'a mut [u8; V4_LEN]),
    V6(&'a mut [u8; V6_LEN]),
}

fn fixed_header(packet: &mut [u8]) -> Result<FixedHeader<'_>, WireError> {
    let available = packet.len();
    let truncated = |header, needed| WireError::truncated(header, 0, needed, available);
    match packet.first().map(|first| first >> 4) {
        Some(4) => packet.first_chunk_mut().map(FixedHeader::V4).ok_or(truncated(Header::Ipv4, V4_LEN)),
        Some(6) => packet.first_chunk_mut().map(FixedHeader::V6).ok_or(truncated(Header::Ipv6, V6_LEN)),
        Some(version) => {
            Err(WireError { header: Header::Ip, offset: 0, kind: WireErrorKind::BadVersion { version } })
        }
        None => Err(truncated(Header::Ip, 1)),
    }
}

/// Changes the 16-bit word at `at` and the checksum with it.
fn set_word(header: &mut [u8; V4_LEN], at: usize, new: u16) {
    let checksum = checksum::update(be16(header, V4_CHECKSUM_AT), be16(header, at), new);
    header[at..at + 2].copy_from_slice(&new.to_be_bytes());
    header[V4_CHECKSUM_AT..V4_CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::{IpHeader, Protocol};
    use alloc::vec::Vec;
    use core::net::Ipv6Addr;

    fn emitted(header: &IpHeader) -> Vec<u8> {
        let mut bytes = Vec::new();
        header.emit(0, &mut bytes);
        bytes
    }

    fn headers() -> [IpHeader; 2] {
        let v4 = IpHeader::new([192, 168, 0, 1].into(), [10, 1, 2, 3].into(), Protocol::Udp);
        let v6 = IpHeader::new(Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), Protocol::Udp);
        [
            IpHeader { dscp: 63, identification: 0xbeef, ..v4 },
            IpHeader { dscp: 63, flow_label: 0xf_ffff, ..v6 },
        ]
    }

    #[test]
    fn patching_gives_what_emitting_anew_gives_for_every_ttl_and_code_point() {
        for header in headers() {
            for ttl in 0..=u8::MAX {
                for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
                    let mut bytes = emitted(&header);
                    set_ttl(&mut bytes, ttl).expect("the header is whole");
                    set_ecn(&mut bytes, ecn).expect("the header is whole");
                    assert_eq!(bytes, emitted(&IpHeader { ttl, ecn, ..header }));
                }
            }
        }
    }

    #[test]
    fn lengths_and_addresses_are_what_emitting_anew_gives() {
        let others: [[IpAddr; 2]; 2] = [
            [[10, 9, 8, 7].into(), [1, 2, 3, 4].into()],
            [Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::from_bits(77).into()],
        ];
        for (header, [src, dst]) in headers().into_iter().zip(others) {
            let mut bytes = emitted(&header);
            set_payload_len(&mut bytes, 1234).expect("the header is whole");
            set_address(&mut bytes, true, src).expect("the header is whole");
            set_address(&mut bytes, false, dst).expect("the header is whole");
            let mut wanted = Vec::new();
            IpHeader { src, dst, ..header }.emit(1234, &mut wanted);
            assert_eq!(bytes, wanted);
            let before = bytes.clone();
            assert!(set_payload_len(&mut bytes, 65_536).is_err());
            assert_eq!(bytes, before);
        }
    }

    #[test]
    fn patching_does_not_repair_a_damaged_header() {
        let mut bytes = emitted(&headers()[0]);
        bytes[15] ^= 0x10;
        set_ttl(&mut bytes, 1).expect("the header is whole");
        let error = IpHeader::parse(&bytes).expect_err("the damage is still there");
        assert!(matches!(error.kind, WireErrorKind::BadChecksum { .. }));
    }

    #[test]
    fn what_is_not_a_whole_header_is_left_alone() {
        for (bytes, header) in [
            (&mut [][..], Header::Ip),
            (&mut [0x45; 19][..], Header::Ipv4),
            (&mut [0x60; 39][..], Header::Ipv6),
            (&mut [0x00; 60][..], Header::Ip),
        ] {
            let before = bytes.to_vec();
            assert_eq!(set_ttl(bytes, 9).map_err(|error| error.header), Err(header));
            assert_eq!(set_ecn(bytes, Ecn::Ce).map_err(|error| error.header), Err(header));
            assert_eq!(bytes, before);
        }
    }
}
