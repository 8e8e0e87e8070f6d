//! Sequence numbers.

use core::cmp::Ordering;

/// A sequence number (RFC 9293 section 3.4): compares and adds modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(pub u32);

impl Seq {
    /// The number `n` octets further on.
    pub const fn wrapping_add(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }

    /// How far this number lies beyond `other`, negative if before: exact within ±2^31.
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }
}

impl PartialOrd for Seq {
    /// Order modulo 2^32: meaningful for numbers less than 2^31 apart, hence not a total order.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.distance_from(*other).cmp(&0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let before = Seq(u32::MAX - 1);
        let after = before.wrapping_add(4);
        assert_eq!(after, Seq(2));
        assert_eq!(before.partial_cmp(&after), Some(Ordering::Less));
        assert_eq!(after.partial_cmp(&before), Some(Ordering::Greater));
        assert_eq!((after.distance_from(before), before.distance_from(after)), (4, -4));
    }
}
