//! Media on its way out: frames become packets, and packets octets.

use super::Party;
use crate::clock;
use crate::record::{Media, SentFrame, SentMedia};
use crate::source::Frame;
use alloc::vec::Vec;
use bytes::Bytes;
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::rtp::{AudioLevel, ExtensionIds, Extensions, RtpHeader, Vp8Descriptor};

/// Decibels below overload of voice, and of silence (RFC 6464).
const VOICE: u8 = 30;
const SILENCE: u8 = 127;

/// A packet that waits to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queued {
    pub(crate) media: Media,
    /// What it is beside media.
    pub(crate) purpose: Purpose,
    pub(crate) sequence: u16,
    pub(crate) timestamp: u32,
    pub(crate) marker: bool,
    pub(crate) descriptor: Option<Vp8Descriptor>,
    pub(crate) audio_level: Option<AudioLevel>,
    /// Octets behind descriptor and payload header.
    pub(crate) len: u32,
    /// Where its frame is in the record, if it ends it.
    pub(crate) ends: Option<usize>,
    /// Since when it waits.
    pub(crate) since: Time,
    /// Octets of the whole RTP packet.
    pub(crate) bytes: u32,
}

/// Why a packet is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Media.
    Media,
    /// To fill up a probe.
    Padding,
}

/// One of the media that an end sends.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) media: Media,
    pub(crate) ssrc: u32,
    pattern: u32,
    first: u16,
    sequence: u16,
    timestamp: u32,
    start: Time,
    /// Packets and payload octets so far, as sender reports tell them.
    pub(crate) packets: u32,
    pub(crate) octets: u32,
    /// Of packets that are no media: their source, and the next number.
    repair: (u32, u16),
    /// Octets that a packet has beside the frame: header and descriptor.
    overhead: u32,
    /// Octets of a packet at most.
    most: u32,
}

impl Outgoing {
    pub(crate) fn new(media: Media, party: &Party, start: Time, extensions: &Extensions, most: u32) -> Self {
        let index = media.index();
        let level = (media == Media::Audio).then_some(AudioLevel { voice: true, level: VOICE });
        let header = RtpHeader {
            extensions: Extensions { audio_level: level, ..*extensions },
            ..RtpHeader::default()
        };
        let descriptor = if media == Media::Video { Vp8Descriptor::LEN } else { 0 };
        Self {
            media,
            ssrc: party.ssrc[index],
            pattern: party.pattern,
            first: party.sequence[index],
            sequence: party.sequence[index],
            timestamp: party.timestamp[index],
            start,
            packets: 0,
            octets: 0,
            repair: (party.ssrc[index] | REPAIR_BIT, party.sequence[index]),
            overhead: (header.octets() + descriptor) as u32,
            most,
        }
    }

    /// What the media's clock says at `now`.
    pub(crate) fn timestamp(&self, now: Time) -> u32 {
        let hz = self.media.codec().clock;
        self.timestamp.wrapping_add(clock::ticks(now.since(self.start), hz) as u32)
    }

    /// The first sequence number, as report blocks count.
    pub(crate) fn first(&self) -> u32 {
        self.first.into()
    }

    /// Bits per second of packets with a frame of so many octets each.
    pub(crate) fn rate_of(&self, frame_bytes: u32, interval_ns: u64) -> u64 {
        u64::from(frame_bytes + self.overhead) * 8_000_000_000 / interval_ns
    }

    /// What frames may have of the rate of packets: bits per second.
    pub(crate) fn media_rate(&self, packet_bps: u64, interval_ns: u64) -> u64 {
        let frame = packet_bps as f64 * interval_ns as f64 / 8e9;
        let packets = libm::ceil(frame / f64::from(self.most));
        let headers = packets * f64::from(self.overhead) * 8e9 / interval_ns as f64;
        (packet_bps as f64 - headers).max(1_000.0) as u64
    }

    /// Packets of a frame, into the send queue.
    pub(crate) fn packetise(
        &mut self,
        frame: &Frame,
        voice: bool,
        record: &mut SentMedia,
        mut queue: impl FnMut(Queued),
    ) {
        let room = self.most - self.overhead;
        let packets = frame.bytes.div_ceil(room);
        let index = record.frames.len();
        record.frames.push(SentFrame {
            number: frame.number,
            bytes: frame.bytes,
            captured: frame.captured,
            sent: None,
            packets: packets as u16,
            key: frame.key,
        });
        // Of equal size, as libwebrtc cuts them: the first ones have an octet more.
        let (each, more) = (frame.bytes / packets, frame.bytes % packets);
        let timestamp = self.timestamp(frame.captured);
        for i in 0..packets {
            let part = each + u32::from(i < more);
            let descriptor = (self.media == Media::Video).then_some(Vp8Descriptor {
                start: i == 0,
                picture: (frame.number & 0x7fff) as u16,
                key: frame.key && i == 0,
            });
            let audio_level = (self.media == Media::Audio)
                .then_some(AudioLevel { voice, level: if voice { VOICE } else { SILENCE } });
            let ends = i + 1 == packets;
            queue(Queued {
                media: self.media,
                purpose: Purpose::Media,
                sequence: self.sequence,
                timestamp,
                marker: if self.media == Media::Video { ends } else { frame.begins },
                descriptor,
                audio_level,
                // The payload header is the first octet of a frame of video.
                len: part - u32::from(descriptor.is_some_and(|descriptor| descriptor.start)),
                ends: ends.then_some(index),
                since: frame.captured,
                bytes: part + self.overhead,
            });
            self.sequence = self.sequence.wrapping_add(1);
        }
    }

    /// What would have been captured at `captured` is not encoded, since too much waits.
    pub(crate) fn drop_frame(&self, captured: Time, record: &mut SentMedia) {
        let number = record.frames.last().map_or(0, |frame| frame.number + u32::from(frame.packets > 0));
        record.frames.push(SentFrame { number, bytes: 0, captured, sent: None, packets: 0, key: false });
    }

    /// A packet of padding alone.
    pub(crate) fn padding(&mut self, now: Time, octets: u32) -> Queued {
        let sequence = self.repair.1;
        self.repair.1 = sequence.wrapping_add(1);
        let header = if self.media == Media::Video {
            self.overhead - Vp8Descriptor::LEN as u32
        } else {
            self.overhead
        };
        Queued {
            media: self.media,
            purpose: Purpose::Padding,
            sequence,
            timestamp: self.timestamp(now),
            marker: false,
            descriptor: None,
            audio_level: None,
            len: octets - 1,
            ends: None,
            since: now,
            bytes: header + octets,
        }
    }

    /// The octets of a packet that leaves at `now`.
    pub(crate) fn emit(
        &mut self,
        now: Time,
        packet: &Queued,
        extensions: Extensions,
        record: &mut SentMedia,
    ) -> Payload {
        let is_media = packet.purpose == Purpose::Media;
        let (payload_type, ssrc) = match is_media {
            true => (self.media.codec().payload_type, self.ssrc),
            false => (REPAIR, self.repair.0),
        };
        let header = RtpHeader {
            marker: packet.marker,
            payload_type,
            sequence: packet.sequence,
            timestamp: packet.timestamp,
            ssrc,
            padding: !is_media,
            extensions,
        };
        let mut head = Vec::with_capacity(RtpHeader::MOST + Vp8Descriptor::MOST);
        header.emit(&ExtensionIds::USUAL, &mut head);
        if let Some(descriptor) = &packet.descriptor {
            descriptor.emit(&mut head);
        }
        if !is_media {
            let zeros = Payload::pattern(self.pattern, 0, packet.len);
            let last = Payload::bytes(Bytes::from(alloc::vec![(packet.len + 1) as u8]));
            return Payload::rope([Payload::bytes(Bytes::from(head)), zeros, last]);
        }
        self.packets = self.packets.wrapping_add(1);
        self.octets = self.octets.wrapping_add(packet.bytes - header.octets() as u32);
        if let Some(frame) = packet.ends {
            record.frames[frame].sent = Some(now);
        }
        let body = Payload::pattern(self.pattern, content(self.media, packet.sequence), packet.len);
        Payload::rope([Payload::bytes(Bytes::from(head)), body])
    }
}

/// The payload type of what is no media: that of retransmissions of video, as browsers offer it.
pub(crate) const REPAIR: u8 = 97;

/// The source of what is no media differs from that of media in this bit.
pub(crate) const REPAIR_BIT: u32 = 8;

/// Where in its sender's pattern a packet's media begins: its sequence number tells.
pub(crate) fn content(media: Media, sequence: u16) -> u64 {
    (media.index() as u64) << 32 | u64::from(sequence) << 16
}
