//! What tells frames of video apart in packets: the payload descriptors of VP8, and of VP9 where frames have layers.

use crate::repair::parity;
use alloc::vec::Vec;
use voxpath_wire::WireError;
use voxpath_wire::rtp::Vp8Descriptor;
use voxpath_wire::vp9::Vp9Descriptor;

/// The descriptor of a packet of video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descriptor {
    /// Of a frame without layers.
    Vp8(Vp8Descriptor),
    /// Of a layer of a frame.
    Vp9(Vp9Descriptor),
}

impl Descriptor {
    /// Octets of descriptors, by whether frames have layers.
    pub(crate) const fn octets(layered: bool) -> usize {
        if layered { Vp9Descriptor::LEN } else { Vp8Descriptor::LEN }
    }

    /// Reads it at the start of a payload.
    pub(crate) fn parse(bytes: &[u8], layered: bool) -> Result<Self, WireError> {
        match layered {
            true => Vp9Descriptor::parse(bytes).map(Self::Vp9),
            false => Vp8Descriptor::parse(bytes).map(Self::Vp8),
        }
    }

    /// Appends it to `out`, and what exists of the frame's first octets.
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Vp8(descriptor) => descriptor.emit(out),
            Self::Vp9(descriptor) => descriptor.emit(out),
        }
    }

    /// Octets of the frame that [`Descriptor::emit`] writes: VP8's payload header, in the packet that begins a frame.
    pub(crate) const fn of_frame(&self) -> u32 {
        match self {
            Self::Vp8(descriptor) => descriptor.start as u32,
            Self::Vp9(_) => 0,
        }
    }

    /// The octets that parity packets protect, and how many there are.
    pub(crate) fn head(&self) -> ([u8; parity::HEAD], usize) {
        let mut octets = Vec::with_capacity(parity::HEAD);
        self.emit(&mut octets);
        let mut head = [0; parity::HEAD];
        head[..octets.len()].copy_from_slice(&octets);
        (head, octets.len())
    }

    /// Number of the frame, 15 bits.
    pub(crate) const fn picture(&self) -> u16 {
        match self {
            Self::Vp8(descriptor) => descriptor.picture,
            Self::Vp9(descriptor) => descriptor.picture,
        }
    }

    /// The same of another frame.
    pub(crate) const fn of_picture(self, picture: u16) -> Self {
        match self {
            Self::Vp8(descriptor) => Self::Vp8(Vp8Descriptor { picture, ..descriptor }),
            Self::Vp9(descriptor) => Self::Vp9(Vp9Descriptor { picture, ..descriptor }),
        }
    }

    /// Whether the packet begins a frame.
    pub(crate) const fn start(&self) -> bool {
        match self {
            Self::Vp8(descriptor) => descriptor.start,
            Self::Vp9(descriptor) => descriptor.begins && descriptor.layer == 0,
        }
    }

    /// Whether the frame can be decoded without others, as far as the packet tells: VP8 tells it where a frame begins.
    pub(crate) const fn key(&self) -> bool {
        match self {
            Self::Vp8(descriptor) => descriptor.key,
            Self::Vp9(descriptor) => !descriptor.predicted,
        }
    }

    /// The layer, from 0.
    pub(crate) const fn layer(&self) -> u8 {
        match self {
            Self::Vp8(_) => 0,
            Self::Vp9(descriptor) => descriptor.layer,
        }
    }

    /// Whether it ends a layer; of a frame without layers only the marker tells.
    pub(crate) const fn ends_layer(&self) -> bool {
        matches!(self, Self::Vp9(descriptor) if descriptor.ends)
    }
}
