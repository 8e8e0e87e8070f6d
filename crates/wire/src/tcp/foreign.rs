//! Options that plain TCP does not know, kept as they are.

use super::kind;

/// Options one after the other, kind and length included, without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ForeignOptions {
    len: u8,
    bytes: [u8; Self::ROOM],
}

impl ForeignOptions {
    /// Octets that are kept: as many as four SACK blocks have, which are not there then.
    pub const ROOM: usize = 32;

    /// No option.
    pub const EMPTY: Self = Self { len: 0, bytes: [0; Self::ROOM] };

    /// The first `len` of these octets, which are whole options; zeros follow.
    pub(super) const fn of(octets: [u8; Self::ROOM], len: u8) -> Self {
        Self { len, bytes: octets }
    }

    /// Appends an option, kind and length included; `false` if it is not one, or if there is no room.
    pub fn push(&mut self, option: &[u8]) -> bool {
        let at = usize::from(self.len);
        let Some(place) = self.bytes.get_mut(at..at + option.len()).filter(|_| Self::is_option(option))
        else {
            return false;
        };
        place.copy_from_slice(option);
        self.len += option.len() as u8;
        true
    }

    /// Whether these octets are one option, of a kind that is not TCP's own.
    pub(super) fn is_option(octets: &[u8]) -> bool {
        matches!(*octets, [kind, len, ..] if !kind::is_own(kind) && usize::from(len) == octets.len())
    }

    /// The options, each with kind and length.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.as_slice();
        core::iter::from_fn(move || {
            let (option, after) = rest.split_at_checked(usize::from(*rest.get(1)?))?;
            rest = after;
            Some(option)
        })
    }

    /// Their octets.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Octets that they take in a header, each padded to a multiple of four.
    pub fn padded_len(&self) -> u32 {
        self.iter().map(|option| option.len().next_multiple_of(4) as u32).sum()
    }
}
