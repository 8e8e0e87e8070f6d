//! The Internet checksum (RFC 1071), over whole messages and incrementally (RFC 1624).

use core::net::IpAddr;

/// The checksum of `bytes`, a missing last byte taken as zero (RFC 1071 section 1).
///
/// Over a message that carries its own checksum the result is zero if the message is undamaged.
pub fn internet(bytes: &[u8]) -> u16 {
    !fold(sum(bytes))
}

/// The checksum of a TCP segment or UDP datagram behind its pseudo header: the addresses, the protocol
/// number and the length (RFC 9293 section 3.1 for IPv4, RFC 8200 section 8.1 for IPv6).
///
/// With the segment's own checksum in place the result is zero if the segment is undamaged. Panics if the
/// addresses are of different families.
pub fn transport(src: IpAddr, dst: IpAddr, protocol: u8, segment: &[u8]) -> u16 {
    let addresses = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => sum(&src.octets()) + sum(&dst.octets()),
        (IpAddr::V6(src), IpAddr::V6(dst)) => sum(&src.octets()) + sum(&dst.octets()),
        _ => panic!("both addresses of a packet are of one family"),
    };
    // IPv4 has a 16-bit length and IPv6 a 32-bit one: as a ones'-complement sum both come to this.
    !fold(addresses + u64::from(protocol) + segment.len() as u64 + sum(segment))
}

/// The checksum after one 16-bit word of the message changed from `old` to `new` (RFC 1624 section 3,
/// equation 3), exactly what recomputing gives.
///
/// The older rule of RFC 1141 may yield 0xffff where recomputing yields 0; this one does not. A checksum
/// that was wrong stays wrong, so that damage is not hidden.
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(!checksum as u64 + !old as u64 + new as u64)
}

/// The sum of big-endian words before carries are folded in: 2^48 words fit.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    words + rest.first().map_or(0, |&last| u64::from(last) << 8)
}

/// The ones'-complement sum: carries return at the low end until there are none.
const fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        // Section 3 gives the sum 0xddf2; the checksum is its complement.
        assert_eq!(internet(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn an_odd_last_byte_counts_as_the_high_half_of_a_word() {
        assert_eq!(internet(&[0x12, 0x34, 0x56]), internet(&[0x12, 0x34, 0x56, 0x00]));
        assert_eq!(internet(&[]), 0xffff);
    }

    #[test]
    fn the_example_of_rfc_1624_that_rfc_1141_gets_wrong() {
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn a_sum_folds_until_no_carry_is_left() {
        assert_eq!(fold(0x1_ffff), 0x0001);
        assert_eq!(fold(0xffff_ffff), 0xffff);
        assert_eq!(fold(u64::MAX), 0xffff);
    }
}
