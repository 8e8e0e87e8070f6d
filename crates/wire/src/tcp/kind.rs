//! Option kinds (IANA, TCP parameters).

pub(super) const END: u8 = 0;
pub(super) const NO_OPERATION: u8 = 1;
pub(super) const MSS: u8 = 2;
pub(super) const WINDOW_SCALE: u8 = 3;
pub(super) const SACK_PERMITTED: u8 = 4;
pub(super) const SACK: u8 = 5;
pub(super) const TIMESTAMPS: u8 = 8;

/// Whether the option is one of those that are fields, or none at all.
pub(super) const fn is_own(kind: u8) -> bool {
    matches!(kind, END | NO_OPERATION | MSS | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS)
}
