//! Numbers as values of options (RFC 7252 section 3.2).

use alloc::vec::Vec;

/// A number as an option's value, as short as it can be.
pub(crate) fn emit_uint(value: u32) -> Vec<u8> {
    value.to_be_bytes().into_iter().skip_while(|&byte| byte == 0).collect()
}

/// The number that an option's value of so many octets at most means.
pub(crate) fn parse_uint(value: &[u8], most: usize) -> Option<u32> {
    (value.len() <= most).then(|| value.iter().fold(0, |value, &byte| value << 8 | u32::from(byte)))
}
