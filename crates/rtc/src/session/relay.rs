//! Media that passes through: what comes of one session is sent by others, packet by packet, under their own numbers.

use super::descriptor::Descriptor;
use crate::record::Media;
use crate::repair::redundancy::Block;
use crate::settings::MOST_REDUNDANT;
use voxpath_wire::rtp::AudioLevel;

/// A packet of media that came.
#[derive(Debug, Clone, Copy)]
pub struct Relayed {
    /// Of which medium.
    pub media: Media,
    /// Its number in its source, unwrapped.
    pub number: u64,
    /// The number of its frame.
    pub frame: u32,
    /// Its timestamp, by the media's clock.
    pub timestamp: u32,
    /// It ends a frame of video, or begins a talk spurt.
    pub marker: bool,
    pub(super) descriptor: Option<Descriptor>,
    pub(super) audio_level: Option<AudioLevel>,
    pub(super) redundant: ([Block; MOST_REDUNDANT as usize], usize),
    /// Octets of frames in it.
    pub(super) octets: u32,
}

impl Relayed {
    /// The layer of the frame that it is of; zero where frames have no layers.
    pub fn layer(&self) -> u8 {
        self.descriptor.map_or(0, |descriptor| descriptor.layer())
    }

    /// Whether it ends that layer.
    pub fn ends_layer(&self) -> bool {
        self.descriptor.is_some_and(|descriptor| descriptor.ends_layer())
    }

    /// Whether its frame can be decoded without others, as far as the packet tells.
    pub fn key(&self) -> bool {
        self.descriptor.is_none_or(|descriptor| descriptor.key())
    }
}

/// What a packet is sent as that passes through: numbers count from the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renumbered {
    /// Its number.
    pub sequence: u16,
    /// The number of its frame.
    pub frame: u32,
    /// Ticks of the media's clock.
    pub ticks: u32,
    /// Its marker.
    pub marker: bool,
}

/// What an end may send at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bits per second of all media, as the rate control counts them.
    pub target_bps: u64,
    /// Bits per second of frames of video; zero where there is no video.
    pub video_bps: u64,
    /// So much waits that frames have to be left out.
    pub is_full: bool,
}
