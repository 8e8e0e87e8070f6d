//! What a plan says of a call's ends.

use crate::rate::{Bounds, RateSettings};
use crate::receive::Buffer;
use crate::source::{Audio, Video};
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;

/// What one end sends to the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sends {
    /// Its camera.
    pub video: Option<Video>,
    /// Its microphone.
    pub audio: Option<Audio>,
    /// Its rate control.
    pub control: RateSettings,
    /// Rates of all its media together, RTP headers included.
    pub rate: Bounds,
    /// Octets of an RTP packet at most, its header included.
    pub packet_bytes: u32,
    /// A frame of video is dropped if what was captured before will wait longer than this to be sent.
    pub queue_ns: u64,
    /// The jitter buffer at the other end.
    pub buffer: Buffer,
}

/// Room for a header with all extensions, a payload descriptor, and some of a frame.
const LEAST_PACKET: u32 = 100;
/// IPv6's least MTU less the headers of IPv6 and UDP would be 1232; Ethernet's less those of IPv4 and UDP is 1472.
const MOST_PACKET: u32 = 1472;

impl Sends {
    /// What keeps the settings from being used.
    pub fn check(&self, check: &mut Check<'_>) {
        if let Some(video) = &self.video {
            video.check(&mut check.at("video"));
        }
        if let Some(audio) = &self.audio {
            audio.check(&mut check.at("audio"));
            let fits = audio.frame_bytes().saturating_mul(2) + 40 <= self.packet_bytes;
            check.at("audio").need(fits, "a packet has room for twice a frame of audio");
        }
        self.control.check(&mut check.at("control"));
        self.rate.check(&mut check.at("rate"));
        let fits = (LEAST_PACKET..=MOST_PACKET).contains(&self.packet_bytes);
        check
            .at("packet_bytes")
            .need(fits, format_args!("an RTP packet has {LEAST_PACKET} to {MOST_PACKET} bytes"));
        check.at("queue_ns").span(self.queue_ns);
        self.buffer.check(&mut check.at("buffer"));
    }

    /// Settings with which nothing is wrong, for property tests.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        let audio = draw.bit().then(|| Audio::sample(draw));
        let min_bps = 50_000 + draw.below(300_000);
        let max_bps = min_bps + draw.below(3_000_000);
        Self {
            video: (audio.is_none() || draw.bit()).then(|| Video::sample(draw)),
            audio,
            control: RateSettings::sample(draw.below(RateSettings::KINDS.len() as u64) as usize, draw),
            rate: Bounds { min_bps, start_bps: min_bps + draw.below(max_bps - min_bps + 1), max_bps },
            packet_bytes: 1_200 + draw.below(200) as u32,
            queue_ns: 100_000_000 + draw.below(2_000_000_000),
            buffer: Buffer::sample(draw),
        }
    }
}
