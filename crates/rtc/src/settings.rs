//! What a plan says of a call's ends.

use crate::data::DataChannel;
use crate::rate::{Bounds, RateSettings};
use crate::receive::Buffer;
use crate::record::Media;
use crate::repair::{parity, redundancy};
use crate::source::{Audio, Video};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::Span;
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
    /// What makes up for losses.
    pub repair: Repair,
    /// Media stops where RFC 8083 says so, for the rest of the call.
    pub circuit_breaker: bool,
    /// Messages beside its media.
    pub data: Option<DataChannel>,
    /// When its camera and its microphone are off, one after another.
    #[serde(default)]
    pub pauses: Vec<Pause>,
}

/// Camera and microphone are off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// From so long on after the end has begun to send.
    pub at_ns: u64,
    /// For so long.
    pub length_ns: u64,
}

impl Pause {
    /// One with which nothing is wrong, for property tests.
    fn sample(draw: &mut dyn Draw) -> Self {
        Self { at_ns: draw.below(3_000_000_000), length_ns: draw.below(3_000_000_000) }
    }

    const fn end_ns(self) -> u64 {
        self.at_ns.saturating_add(self.length_ns)
    }
}

/// What makes up for losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repair {
    /// Lost packets of video are asked for, and sent again (RFC 4585, RFC 4588).
    pub nack: bool,
    /// Lost packets of audio, likewise.
    pub audio_nack: bool,
    /// One parity packet for each so many packets of a frame of video (RFC 8627).
    pub parity_packets: Option<u32>,
    /// So many earlier frames in each packet of audio (RFC 2198).
    pub redundant_frames: u32,
    /// Each frame of audio tells the one before at a lower quality; the encoder makes room for it (Opus's in-band correction).
    pub inband: bool,
}

impl Repair {
    /// Whether lost packets of a medium are asked for.
    pub(crate) fn asks_again(&self, media: Media) -> bool {
        match media {
            Media::Audio => self.audio_nack,
            Media::Video => self.nack,
        }
    }

    /// Whether packets of a medium have earlier frames in them.
    pub(crate) fn is_redundant(&self, media: Media) -> bool {
        media == Media::Audio && self.redundant_frames > 0
    }
}

/// Earlier frames in a packet of audio at most.
pub const MOST_REDUNDANT: u32 = 3;

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
            let copies = 1 + self.repair.redundant_frames.min(MOST_REDUNDANT);
            let most = audio.most_bytes();
            let fits = most.saturating_mul(copies).saturating_add(100) <= self.packet_bytes;
            check.at("audio").need(
                fits,
                "a packet has room for frames of audio of twice the mean size, or the largest of a recording, and redundant ones",
            );
            let fits = self.repair.redundant_frames == 0 || most <= u32::from(redundancy::MOST.len);
            check.at("audio").need(fits, "a redundant frame has at most 1023 bytes (RFC 2198)");
        }
        if let Some(data) = &self.data {
            data.check(&mut check.at("data"));
        }
        self.control.check(&mut check.at("control"));
        self.rate.check(&mut check.at("rate"));
        let fits = (LEAST_PACKET..=MOST_PACKET).contains(&self.packet_bytes);
        check
            .at("packet_bytes")
            .need(fits, format_args!("an RTP packet has {LEAST_PACKET} to {MOST_PACKET} bytes"));
        check.at("queue_ns").span(self.queue_ns);
        self.buffer.check(&mut check.at("buffer"));
        let mut repair = check.at("repair");
        let fits = self.repair.redundant_frames <= MOST_REDUNDANT;
        repair.at("redundant_frames").need(fits, format_args!("at most {MOST_REDUNDANT} earlier frames"));
        let fits = self.repair.parity_packets.is_none_or(|packets| (1..=parity::MOST).contains(&packets));
        repair.at("parity_packets").need(fits, format_args!("1 to {} packets", parity::MOST));
        let mut begins = 0;
        for (i, pause) in self.pauses.iter().enumerate() {
            let mut pauses = check.at("pauses");
            let mut check = pauses.at(i);
            check.at("at_ns").span(pause.at_ns);
            check
                .at("at_ns")
                .need(pause.at_ns >= begins, "begins when the one before it has ended, or later");
            check.at("length_ns").span(pause.length_ns);
            begins = pause.end_ns();
        }
    }

    /// Whether camera and microphone are off so long after the end has begun to send.
    pub(crate) fn is_paused(&self, after: Span) -> bool {
        let ns = after.as_nanos();
        self.pauses.iter().any(|pause| (pause.at_ns..pause.end_ns()).contains(&ns))
    }

    /// Whether frames of video have layers.
    pub fn is_layered(&self) -> bool {
        self.video.as_ref().is_some_and(|video| video.encoder.is_layered())
    }

    /// Settings with which nothing is wrong, for property tests.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        let audio = draw.bit().then(|| Audio::sample(draw));
        let min_bps = 50_000 + draw.below(300_000);
        let max_bps = min_bps + draw.below(700_000);
        Self {
            video: (audio.is_none() || draw.bit()).then(|| Video::sample(draw)),
            audio,
            control: RateSettings::sample(draw.below(RateSettings::KINDS.len() as u64) as usize, draw),
            rate: Bounds { min_bps, start_bps: min_bps + draw.below(max_bps - min_bps + 1), max_bps },
            packet_bytes: 1_272 + draw.below(200) as u32,
            queue_ns: 100_000_000 + draw.below(2_000_000_000),
            buffer: Buffer::sample(draw),
            repair: Repair {
                nack: draw.bit(),
                audio_nack: draw.bit(),
                parity_packets: draw.bit().then(|| 1 + draw.below(parity::MOST.into()) as u32),
                redundant_frames: draw.below(2) as u32,
                inband: draw.bit(),
            },
            circuit_breaker: draw.bit(),
            data: draw.bit().then(|| DataChannel::sample(draw)),
            pauses: (draw.below(4) == 0).then(|| Pause::sample(draw)).into_iter().collect(),
        }
    }
}
