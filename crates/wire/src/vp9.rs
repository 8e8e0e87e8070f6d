//! The payload descriptor of VP9 in its non-flexible mode, with a picture identifier of 15 bits and layer indices
//! (RFC 9628 section 4.2).

use crate::error::{Header, WireError, WireErrorKind};
use alloc::vec::Vec;

/// What a packet says of the picture and the spatial layer that it is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Vp9Descriptor {
    /// Number of the picture, 15 bits.
    pub picture: u16,
    /// Whether the picture builds upon earlier ones (P).
    pub predicted: bool,
    /// The spatial layer, 3 bits (SID); each builds upon the one below.
    pub layer: u8,
    /// Whether the packet begins its layer of the picture (B).
    pub begins: bool,
    /// Whether it ends it (E).
    pub ends: bool,
}

const PICTURE: u8 = 0x80;
const PREDICTED: u8 = 0x40;
const LAYERS: u8 = 0x20;
const FLEXIBLE: u8 = 0x10;
const BEGINS: u8 = 0x08;
const ENDS: u8 = 0x04;
const STRUCTURE: u8 = 0x02;

impl Vp9Descriptor {
    /// Octets of the descriptor.
    pub const LEN: usize = 5;

    /// Reads it at the start of a payload. Flexible mode and scalability structures are not supported.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let Some(&[first, high, low, indices, _]) = bytes.first_chunk() else {
            return Err(WireError::truncated(Header::Vp9, 0, Self::LEN, bytes.len()));
        };
        if first & (PICTURE | LAYERS | FLEXIBLE | STRUCTURE) != PICTURE | LAYERS || high & 0x80 == 0 {
            return Err(WireError { header: Header::Vp9, offset: 0, kind: WireErrorKind::Unsupported });
        }
        Ok(Self {
            picture: u16::from_be_bytes([high & 0x7f, low]),
            predicted: first & PREDICTED != 0,
            layer: indices >> 1 & 7,
            begins: first & BEGINS != 0,
            ends: first & ENDS != 0,
        })
    }

    /// Appends it to `out`; one temporal layer, whose index counts pictures.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let [high, low] = self.picture.to_be_bytes();
        // D: a layer above the lowest one builds upon the one below.
        let indices = (self.layer & 7) << 1 | u8::from(self.layer > 0);
        out.extend_from_slice(&[
            PICTURE
                | LAYERS
                | bit(self.predicted, PREDICTED)
                | bit(self.begins, BEGINS)
                | bit(self.ends, ENDS),
            0x80 | high,
            low,
            indices,
            low,
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_has_the_octets_of_the_rfc() {
        let descriptor =
            Vp9Descriptor { picture: 0x7abc, predicted: true, layer: 2, begins: false, ends: true };
        let mut bytes = Vec::new();
        descriptor.emit(&mut bytes);
        // I, P, L, E; M and the picture; SID 2 with D; TL0PICIDX.
        assert_eq!(bytes, [0xe4, 0xfa, 0xbc, 0x05, 0xbc]);
        assert_eq!(Vp9Descriptor::parse(&bytes), Ok(descriptor));
    }

    #[test]
    fn each_field_comes_back() {
        for (picture, layer) in [(0, 0), (0x7fff, 7), (300, 1)] {
            for bits in 0..8 {
                let [predicted, begins, ends] = [1, 2, 4].map(|bit| bits & bit != 0);
                let descriptor = Vp9Descriptor { picture, predicted, layer, begins, ends };
                let mut bytes = Vec::new();
                descriptor.emit(&mut bytes);
                assert_eq!(bytes.len(), Vp9Descriptor::LEN);
                assert_eq!(Vp9Descriptor::parse(&bytes), Ok(descriptor));
            }
        }
    }

    #[test]
    fn what_is_not_supported_or_ends_early_is_refused() {
        let whole = [0xac, 0x80, 1, 0, 1];
        assert!(Vp9Descriptor::parse(&whole).is_ok());
        for end in 0..whole.len() {
            assert!(Vp9Descriptor::parse(&whole[..end]).is_err(), "{end} octets");
        }
        for first in [0x2c, 0x8c, 0xbc, 0xae] {
            let bytes = [first, 0x80, 1, 0, 1];
            let error = Vp9Descriptor::parse(&bytes).expect_err("it is not supported");
            assert_eq!(error.kind, WireErrorKind::Unsupported, "{first:#x}");
        }
        assert!(Vp9Descriptor::parse(&[0xac, 0x00, 1, 0, 1]).is_err(), "a picture identifier of 7 bits");
    }
}
