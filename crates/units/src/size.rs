//! Sizes in bytes.

use crate::decimal::{ParseError, Quantity};
use core::fmt;
use core::str::FromStr;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

const BYTES: Quantity = Quantity {
    expected: "a size",
    example: "10 MB",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    smallest: "B",
    limit: 1_000_000_000_000_000,
    limit_text: "1000 TB",
};

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BYTES.print(self.0, f)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        BYTES.parse(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn decimal_and_binary_multiples_differ() {
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("64 kB".parse(), Ok(Bytes(64_000)));
        assert_eq!("8760 B".parse(), Ok(Bytes(8760)));
        assert!("1.5 B".parse::<Bytes>().is_err());
    }

    #[test]
    fn printing_and_parsing_are_inverse() {
        for bytes in [0, 1, 1460, 65_536, 10_000_000, 8_760, 1 << 30] {
            assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
        }
    }
}
