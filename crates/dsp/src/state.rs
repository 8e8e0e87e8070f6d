//! What a filter knows, as octets: saved, and restored to go on as if nothing had been between.

use alloc::vec::Vec;
use core::fmt;

use crate::real::Number;

const MARK: [u8; 4] = *b"vxec";
const VERSION: u64 = 2;

/// Why octets are not the state of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// They are no state, or of another version.
    Unknown,
    /// They are the state of another kind of filter, or of another arithmetic.
    Other,
    /// They are not what was saved.
    Changed,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "no saved state of a filter, or one of another version",
            Self::Other => "the saved state of another kind of filter, or in another precision",
            Self::Changed => "a saved state that was damaged",
        })
    }
}

impl core::error::Error for Damaged {}

/// Goes through everything that a filter knows, in one order, whether to save it or to restore it.
pub trait Archive {
    /// A count.
    fn count(&mut self, value: &mut u64);

    /// Numbers.
    fn numbers<T: Number>(&mut self, values: &mut [T]);

    /// A size.
    fn size(&mut self, value: &mut usize) {
        let mut count = *value as u64;
        self.count(&mut count);
        *value = count as usize;
    }

    /// A parameter.
    fn parameter(&mut self, value: &mut f64) {
        let mut bits = value.to_bits();
        self.count(&mut bits);
        *value = f64::from_bits(bits);
    }
}

/// Writes a state.
pub struct Writer(Vec<u8>);

impl Writer {
    /// Begins the state of a kind of filter in an arithmetic.
    #[must_use]
    pub fn new<T: Number>(kind: u8) -> Self {
        let mut writer = Self(MARK.to_vec());
        for mut value in [VERSION, u64::from(kind), T::NAME] {
            writer.count(&mut value);
        }
        writer
    }

    /// The octets, which end with their sum.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let sum = checksum(&self.0);
        self.0.extend(sum.to_le_bytes());
        self.0
    }
}

impl Archive for Writer {
    fn count(&mut self, value: &mut u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn numbers<T: Number>(&mut self, values: &mut [T]) {
        for value in values {
            self.0.extend(&value.bits().to_le_bytes()[..T::OCTETS]);
        }
    }
}

/// Reads a state.
pub struct Reader<'a> {
    rest: &'a [u8],
    short: bool,
}

impl<'a> Reader<'a> {
    /// Begins to read the state of a kind of filter.
    ///
    /// # Errors
    /// It is none, or damaged.
    pub fn new<T: Number>(kind: u8, octets: &'a [u8]) -> Result<Self, Damaged> {
        let rest = octets.strip_prefix(&MARK).ok_or(Damaged::Unknown)?;
        let (_, sum) = octets.split_last_chunk::<8>().ok_or(Damaged::Unknown)?;
        let mut reader = Self { rest: rest.strip_suffix(sum).ok_or(Damaged::Unknown)?, short: false };
        let [mut version, mut found, mut name] = [0; 3];
        reader.count(&mut version);
        if version != VERSION {
            return Err(Damaged::Unknown);
        }
        if checksum(&octets[..octets.len() - sum.len()]) != u64::from_le_bytes(*sum) {
            return Err(Damaged::Changed);
        }
        reader.count(&mut found);
        reader.count(&mut name);
        if found == u64::from(kind) && name == T::NAME { Ok(reader) } else { Err(Damaged::Other) }
    }

    /// Whether everything was read, and nothing was missing.
    ///
    /// # Errors
    /// It was not.
    pub fn finish(self) -> Result<(), Damaged> {
        if self.short || !self.rest.is_empty() { Err(Damaged::Changed) } else { Ok(()) }
    }

    fn take(&mut self, octets: usize) -> u64 {
        let Some((value, rest)) = self.rest.split_at_checked(octets) else {
            self.short = true;
            return 0;
        };
        self.rest = rest;
        value.iter().rev().fold(0, |number, &octet| number << 8 | u64::from(octet))
    }
}

impl Archive for Reader<'_> {
    fn count(&mut self, value: &mut u64) {
        *value = self.take(8);
    }

    fn numbers<T: Number>(&mut self, values: &mut [T]) {
        for value in values {
            *value = T::from_bits(self.take(T::OCTETS));
        }
    }
}

/// FNV-1a: notices what happens to files by accident.
fn checksum(octets: &[u8]) -> u64 {
    octets
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |sum, &octet| (sum ^ u64::from(octet)).wrapping_mul(0x0100_0000_01B3))
}
