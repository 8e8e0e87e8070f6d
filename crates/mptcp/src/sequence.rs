//! The data sequence (RFC 8684 section 3.3): the octets of a connection, whichever subflow they take.
//!
//! Inside, octets are numbered from 0, which is what MP_CAPABLE takes as a SYN takes one of TCP's (section 3.1); the first octet of data is 1.
//! Numbers that begin anywhere and wrap exist only in headers.

use voxpath_wire::tcp::mptcp::DataNumber;

/// One direction's data sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSequence {
    initial: u64,
}

impl DataSequence {
    /// The sequence with this initial data sequence number (IDSN).
    pub const fn new(initial: u64) -> Self {
        Self { initial }
    }

    /// The number of an octet on the wire.
    pub const fn number(self, offset: u64) -> u64 {
        self.initial.wrapping_add(offset)
    }

    /// The octet that a number stands for; of those that half a number can stand for, the one nearest to `near`. None if it lies before the
    /// first.
    pub const fn offset(self, number: DataNumber, near: u64) -> Option<u64> {
        let number = number.near(self.number(near));
        let distance = number.wrapping_sub(self.number(near)).cast_signed();
        near.checked_add_signed(distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_numbered_from_any_start_and_across_the_wrap() {
        let sequence = DataSequence::new(u64::MAX - 1);
        assert_eq!((sequence.number(1), sequence.number(2)), (u64::MAX, 0));
        for near in [0, 1, 5, 1000] {
            assert_eq!(sequence.offset(DataNumber::Long(3), near), Some(5));
            assert_eq!(sequence.offset(DataNumber::Short(3), near), Some(5));
        }
        assert_eq!(sequence.offset(DataNumber::Long(u64::MAX - 2), 7), None);
    }

    #[test]
    fn half_a_number_is_that_of_the_nearest_octet() {
        let sequence = DataSequence::new(0x1234_5678_9abc_def0);
        for offset in [0_u64, 1 << 31, (1 << 33) + 17, 1 << 62] {
            for away in [-(1_i64 << 31) + 1, -1, 0, 1, (1 << 31) - 1] {
                let Some(near) = offset.checked_add_signed(away) else { continue };
                let half = DataNumber::Short(sequence.number(offset) as u32);
                assert_eq!(sequence.offset(half, near), Some(offset));
            }
        }
    }
}
