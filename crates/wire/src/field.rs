//! Big-endian fields of a header whose length is known: the position is a constant of the caller, so that a
//! position outside of the header is our bug and never the sender's.

/// The 16-bit field at `at`.
pub(crate) const fn be16<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

/// The 32-bit field at `at`.
pub(crate) const fn be32<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}
