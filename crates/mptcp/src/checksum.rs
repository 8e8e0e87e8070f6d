//! The checksum of a mapping (RFC 8684 section 3.3.1): TCP's, over the data and a pseudo-header.

use alloc::vec::Vec;
use voxpath_wire::Payload;
use voxpath_wire::checksum;

/// The checksum of the octets of a mapping, whose data sequence number, place in the subflow and length (as the wire has it) are covered.
pub fn data_checksum(dsn: u64, ssn: u32, len: u16, data: &Payload) -> u16 {
    let mut octets = Vec::with_capacity(16 + data.len() as usize);
    octets.extend_from_slice(&dsn.to_be_bytes());
    octets.extend_from_slice(&ssn.to_be_bytes());
    octets.extend_from_slice(&len.to_be_bytes());
    octets.extend_from_slice(&[0; 2]);
    data.write_to(&mut octets);
    checksum::internet(&octets)
}
