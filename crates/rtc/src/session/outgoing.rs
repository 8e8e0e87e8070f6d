//! Media on its way out: frames become packets, and packets octets.

use super::descriptor::Descriptor;
use super::relay::{Relayed, Renumbered};
use super::{Codec, Party};
use crate::clock;
use crate::rate::Packets;
use crate::record::{Media, SentFrame, SentMedia};
use crate::repair::history::Sent;
use crate::repair::parity::{self, Group, Protected};
use crate::repair::redundancy::{self, Block};
use crate::settings::{MOST_REDUNDANT, Repair, Sends};
use crate::source::{Frame, audio};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use bytes::Bytes;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::rtp::{AudioLevel, ExtensionIds, Extensions, RtpHeader, Vp8Descriptor};
use voxpath_wire::vp9::Vp9Descriptor;

/// Decibels below overload of voice, and of silence (RFC 6464).
const VOICE: u8 = 30;
const SILENCE: u8 = 127;

/// A packet that waits to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queued {
    pub(crate) media: Media,
    /// Why it is sent.
    pub(crate) purpose: Purpose,
    /// That of the packet, and of a retransmission that of the packet that is sent again.
    pub(crate) sequence: u16,
    pub(crate) timestamp: u32,
    pub(crate) marker: bool,
    pub(crate) descriptor: Option<Descriptor>,
    pub(crate) audio_level: Option<AudioLevel>,
    /// Earlier frames in it, and how many of these places are used.
    redundant: ([Block; MOST_REDUNDANT as usize], usize),
    /// Octets behind all headers.
    pub(crate) len: u32,
    /// Where its frame is in the record, if it ends it.
    pub(crate) ends: Option<usize>,
    /// Since when it waits.
    pub(crate) since: Time,
    /// Octets of the whole RTP packet.
    pub(crate) bytes: u32,
}

impl Queued {
    /// Octets of media, as libwebrtc's `payload_size`, without padding and the few of descriptors.
    pub(crate) const fn payload(&self) -> u32 {
        match self.purpose {
            Purpose::Padding => 0,
            Purpose::Media | Purpose::Retransmission | Purpose::Parity(_) => self.len,
        }
    }
}

#[cfg(test)]
impl Queued {
    /// A packet of a medium, of so many octets.
    pub(crate) fn of(media: Media, since: Time, bytes: u32) -> Self {
        Self {
            media,
            purpose: Purpose::Media,
            sequence: 0,
            timestamp: 0,
            marker: false,
            descriptor: None,
            audio_level: None,
            redundant: Default::default(),
            len: bytes,
            ends: None,
            since,
            bytes,
        }
    }
}

/// Why a packet is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Media.
    Media,
    /// Media that was asked for again.
    Retransmission,
    /// For any one packet of a group.
    Parity(Group),
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
    /// The next numbers of retransmissions and padding, and of parity packets.
    again: u16,
    parity: u16,
    repair: Repair,
    /// What may be asked for again.
    history: Option<Sent<Queued>>,
    /// The last frames of audio: timestamp and octets.
    earlier: VecDeque<(u32, u32)>,
    /// Octets of a packet beside the frame: header, descriptor, authentication tag.
    overhead: u32,
    /// Octets below RTP that the rate control counts.
    below: u32,
    header: u32,
    tag: u32,
    /// Time from one frame of audio to the next.
    frame_ns: u64,
    /// Where header octets are written.
    head: Vec<u8>,
    /// Octets of a packet at most.
    most: u32,
    /// Frames have layers.
    layered: bool,
}

impl Outgoing {
    pub(crate) fn new(
        media: Media,
        party: &Party,
        start: Time,
        extensions: &Extensions,
        sends: &Sends,
        tag: u32,
        below: u32,
    ) -> Self {
        let (most, repair) = (sends.packet_bytes, sends.repair);
        let index = media.index();
        let level = (media == Media::Audio).then_some(AudioLevel { voice: true, level: VOICE });
        let extensions = Extensions { audio_level: level, ..*extensions };
        let header = RtpHeader { extensions, ..RtpHeader::default() }.octets() as u32;
        let layered = sends.is_layered();
        let descriptor = if media == Media::Video { Descriptor::octets(layered) as u32 } else { 0 };
        let sequence = party.sequence[index];
        Self {
            media,
            ssrc: party.ssrc[index],
            pattern: party.pattern,
            first: sequence,
            sequence,
            timestamp: party.timestamp[index],
            start,
            packets: 0,
            octets: 0,
            again: sequence,
            parity: sequence,
            repair,
            history: repair.asks_again(media).then(|| Sent::new(sequence)),
            earlier: VecDeque::new(),
            overhead: header + descriptor + tag,
            below,
            header,
            tag,
            head: Vec::new(),
            frame_ns: sends.audio.as_ref().map_or(0, |audio| audio.frame_ns),
            most,
            layered,
        }
    }

    const fn codec(&self) -> Codec {
        self.media.codec(self.layered)
    }

    /// What the media's clock says at `now`.
    pub(crate) fn timestamp(&self, now: Time) -> u32 {
        let hz = self.codec().clock;
        self.timestamp.wrapping_add(clock::ticks(now.since(self.start), hz) as u32)
    }

    /// The first sequence number, as report blocks count.
    pub(crate) fn first(&self) -> u32 {
        self.first.into()
    }

    /// Bits per second of packets with a frame of so many octets each, redundant ones too.
    pub(crate) fn rate_of(&self, frame_bytes: u32, interval_ns: u64) -> u64 {
        let redundant = self.repair.redundant_frames;
        let headers = if redundant > 0 { redundancy::header_octets(redundant as usize) } else { 0 };
        let bytes = frame_bytes * (1 + redundant) + headers as u32 + self.overhead + self.below;
        u64::from(bytes) * 8_000_000_000 / interval_ns
    }

    /// What packets of media may have of a rate that parity packets are included in: bits per second.
    pub(crate) fn without_parity(&self, packet_bps: u64, interval: Span) -> f64 {
        let bps = packet_bps as f64;
        let Some(k) = self.repair.parity_packets else { return bps };
        let frame = bps * interval.as_secs_f64() / 8.0;
        // A frame of n packets has n / k parity packets, as large as the others.
        let packets = libm::ceil(frame / f64::from(self.most + self.below));
        let parity = libm::ceil(packets / f64::from(k + 1)).min(packets);
        if packets > 1.0 { bps * (packets - parity) / packets } else { bps / 2.0 }
    }

    /// What its packets have, with frames at such intervals.
    pub(crate) fn packets(&self, interval: Span) -> Packets {
        let descriptor = Descriptor::octets(self.layered) as u32;
        Packets {
            most: self.most,
            header: self.overhead - descriptor,
            descriptor,
            again: if self.history.is_some() { ORIGINAL } else { 0 },
            below: self.below,
            interval,
        }
    }

    /// Packets of a frame, into the send queue; how many there are of media.
    pub(crate) fn packetise(
        &mut self,
        frame: &Frame,
        voice: bool,
        record: &mut SentMedia,
        mut queue: impl FnMut(Queued),
    ) -> u32 {
        let room = self.most - self.overhead - self.parity_overhead();
        let layers: Vec<u32> = frame.layers().collect();
        let packets: u32 = layers.iter().map(|octets| octets.div_ceil(room)).sum();
        let index = record.frames.len();
        record.frames.push(SentFrame {
            number: frame.number,
            bytes: frame.bytes,
            captured: frame.captured,
            sent: None,
            packets: packets as u16,
            key: frame.key,
        });
        let mut group: Option<(Group, u32, u32)> = None;
        let parts = (0..).zip(layers).flat_map(|(layer, octets)| parts(layer, octets, room));
        for (i, part) in (1..).zip(parts) {
            let ends = i == packets;
            let packet = match self.media {
                Media::Video => self.of_video(frame, &part, ends.then_some(index)),
                Media::Audio => self.of_audio(frame, voice, index),
            };
            if let Some(history) = &mut self.history {
                history.put(packet.sequence, packet);
            }
            queue(packet);
            if let Some(most) = self.repair.parity_packets.filter(|_| self.media == Media::Video) {
                let (sum, count, len) = group.take().unwrap_or((
                    Group { base: packet.sequence, mask: 0, sum: Protected::default() },
                    0,
                    0,
                ));
                let protected = protected(&packet, self.codec().payload_type);
                let next = Group { mask: sum.mask | 1 << count, sum: sum.sum.plus(&protected), ..sum };
                let len = len.max(packet.len);
                if ends || count + 1 == most {
                    queue(self.of_parity(next, len, &packet));
                } else {
                    group = Some((next, count + 1, len));
                }
            }
            self.sequence = self.sequence.wrapping_add(1);
        }
        packets
    }

    /// What a parity packet has more than the packets that it protects.
    fn parity_overhead(&self) -> u32 {
        let more = (parity::HEADER + parity::HEAD - Descriptor::octets(self.layered)) as u32;
        if self.repair.parity_packets.is_some() && self.media == Media::Video { more } else { 0 }
    }

    fn of_video(&self, frame: &Frame, part: &Part, ends: Option<usize>) -> Queued {
        let picture = (frame.number & 0x7fff) as u16;
        let &Part { layer, octets, begins, ends: ends_layer } = part;
        let descriptor = match self.layered {
            false => Descriptor::Vp8(Vp8Descriptor { start: begins, picture, key: frame.key && begins }),
            true => {
                let predicted = !frame.key;
                Descriptor::Vp9(Vp9Descriptor { picture, predicted, layer, begins, ends: ends_layer })
            }
        };
        Queued {
            media: Media::Video,
            purpose: Purpose::Media,
            sequence: self.sequence,
            timestamp: self.timestamp(frame.captured),
            marker: ends.is_some(),
            descriptor: Some(descriptor),
            audio_level: None,
            redundant: Default::default(),
            len: octets - descriptor.of_frame(),
            ends,
            since: frame.captured,
            bytes: octets + self.overhead,
        }
    }

    fn of_audio(&mut self, frame: &Frame, voice: bool, index: usize) -> Queued {
        let timestamp = self.timestamp(frame.captured);
        let (mut blocks, mut count) = ([Block::default(); MOST_REDUNDANT as usize], 0);
        let (mut len, mut headers) = (frame.bytes, 0);
        if self.repair.redundant_frames > 0 {
            for &(earlier, bytes) in &self.earlier {
                let offset = timestamp.wrapping_sub(earlier);
                // What was before a long silence is of no use.
                if offset <= redundancy::MOST.offset.into() {
                    blocks[count] = Block { offset: offset as u16, len: bytes as u16 };
                    (count, len) = (count + 1, len + bytes);
                }
            }
            headers = redundancy::header_octets(count) as u32;
            if self.earlier.len() == self.repair.redundant_frames as usize {
                self.earlier.pop_front();
            }
            self.earlier.push_back((timestamp, frame.bytes));
        }
        Queued {
            media: Media::Audio,
            purpose: Purpose::Media,
            sequence: self.sequence,
            timestamp,
            marker: frame.begins,
            descriptor: None,
            audio_level: Some(AudioLevel { voice, level: if voice { VOICE } else { SILENCE } }),
            redundant: (blocks, count),
            len,
            ends: Some(index),
            since: frame.captured,
            bytes: len + headers + self.overhead,
        }
    }

    /// A packet that passes through; the first one begins the media's clock.
    pub(crate) fn relay(&mut self, now: Time, packet: &Relayed, to: Renumbered) -> Queued {
        if self.packets == 0 && to.ticks == 0 {
            self.start = now;
        }
        let descriptor = packet.descriptor.map(|it| it.of_picture((to.frame & 0x7fff) as u16));
        let redundant = match self.repair.redundant_frames {
            0 => 0,
            _ => redundancy::header_octets(packet.redundant.1) as u32,
        };
        let queued = Queued {
            media: self.media,
            purpose: Purpose::Media,
            sequence: self.first.wrapping_add(to.sequence),
            timestamp: self.timestamp.wrapping_add(to.ticks),
            marker: to.marker,
            descriptor,
            audio_level: packet.audio_level,
            redundant: packet.redundant,
            len: packet.octets - descriptor.map_or(0, |descriptor| descriptor.of_frame()),
            ends: None,
            since: now,
            bytes: packet.octets + redundant + self.overhead,
        };
        if let Some(history) = &mut self.history {
            history.put(queued.sequence, queued);
        }
        queued
    }

    fn of_parity(&self, group: Group, len: u32, last: &Queued) -> Queued {
        Queued {
            purpose: Purpose::Parity(group),
            descriptor: None,
            marker: false,
            len,
            ends: None,
            bytes: self.header + (parity::HEADER + parity::HEAD) as u32 + len + self.tag,
            ..*last
        }
    }

    /// What was captured at `captured` is not encoded: too much waits, or the encoder leaves it out.
    pub(crate) fn drop_frame(&self, captured: Time, record: &mut SentMedia) {
        let number = record.frames.last().map_or(0, |frame| frame.number + u32::from(frame.packets > 0));
        record.frames.push(SentFrame { number, bytes: 0, captured, sent: None, packets: 0, key: false });
    }

    /// A packet that is asked for again, if it is to be sent.
    pub(crate) fn again(&mut self, now: Time, sequence: u16, round_trip: Span) -> Option<Queued> {
        let packet = self.history.as_mut()?.again(now, sequence, round_trip)?;
        let bytes = packet.bytes + ORIGINAL;
        Some(Queued { purpose: Purpose::Retransmission, ends: None, since: now, bytes, ..packet })
    }

    /// A packet of padding alone.
    pub(crate) fn padding(&self, now: Time, octets: u32) -> Queued {
        Queued {
            media: self.media,
            purpose: Purpose::Padding,
            sequence: 0,
            timestamp: self.timestamp(now),
            marker: false,
            descriptor: None,
            audio_level: None,
            redundant: Default::default(),
            len: octets - 1,
            ends: None,
            since: now,
            bytes: self.header + octets + self.tag,
        }
    }

    /// The source of a packet, and its number there, which is taken by that: of what leaves now.
    pub(crate) const fn label(&mut self, packet: &Queued) -> (u32, u16) {
        const fn next(number: &mut u16) -> u16 {
            core::mem::replace(number, number.wrapping_add(1))
        }
        match packet.purpose {
            Purpose::Media => (self.ssrc, packet.sequence),
            Purpose::Retransmission | Purpose::Padding => {
                (self.ssrc | RETRANSMISSION_BIT, next(&mut self.again))
            }
            Purpose::Parity(_) => (self.ssrc | PARITY_BIT, next(&mut self.parity)),
        }
    }

    /// The octets of a packet that leaves at `now`, with its label.
    pub(crate) fn emit(
        &mut self,
        now: Time,
        packet: &Queued,
        (ssrc, sequence): (u32, u16),
        extensions: Extensions,
        record: &mut SentMedia,
    ) -> Payload {
        let is_redundant = self.repair.is_redundant(self.media);
        if packet.purpose == Purpose::Retransmission
            && let Some(history) = &mut self.history
        {
            history.left_again(now, packet.sequence);
        }
        let payload_type = match packet.purpose {
            Purpose::Media if is_redundant => REDUNDANT,
            Purpose::Media => self.codec().payload_type,
            Purpose::Retransmission | Purpose::Padding => RETRANSMISSION,
            Purpose::Parity(_) => PARITY,
        };
        let header = RtpHeader {
            marker: packet.marker,
            payload_type,
            sequence,
            timestamp: packet.timestamp,
            ssrc,
            padding: packet.purpose == Purpose::Padding,
            extensions,
        };
        // One buffer for all packets: a copy of what is in it is one allocation of its size.
        let mut head = core::mem::take(&mut self.head);
        head.clear();
        header.emit(&ExtensionIds::USUAL, &mut head);
        let mut body_len = packet.len + self.tag;
        if packet.purpose == Purpose::Retransmission {
            head.extend_from_slice(&packet.sequence.to_be_bytes());
        }
        match &packet.purpose {
            Purpose::Media | Purpose::Retransmission if is_redundant => {
                let (blocks, count) = &packet.redundant;
                redundancy::emit(self.codec().payload_type, &blocks[..*count], &mut head);
            }
            Purpose::Media | Purpose::Retransmission if self.media == Media::Audio => {
                head.push(audio::table_of_contents(self.frame_ns));
                body_len -= 1;
            }
            Purpose::Parity(group) => group.emit(&mut head),
            Purpose::Media | Purpose::Retransmission | Purpose::Padding => {}
        }
        if let Some(descriptor) = &packet.descriptor {
            descriptor.emit(&mut head);
        }
        if packet.purpose == Purpose::Media {
            self.packets = self.packets.wrapping_add(1);
            self.octets = self.octets.wrapping_add(packet.bytes - header.octets() as u32 - self.tag);
        }
        if let Some(frame) = packet.ends {
            record.frames[frame].sent = Some(now);
        }
        let content = content(self.media, packet.sequence);
        let real = Payload::bytes(Bytes::copy_from_slice(&head));
        self.head = head;
        if packet.purpose == Purpose::Padding {
            let last = Payload::bytes(Bytes::from(alloc::vec![(packet.len + 1) as u8]));
            let body = Payload::pattern(self.pattern, content, packet.len);
            let tag = Payload::pattern(self.pattern, content, self.tag);
            return Payload::rope([real, body, last, tag]);
        }
        let body = Payload::pattern(self.pattern, content, body_len);
        Payload::rope([real, body])
    }
}

/// A packet's part of a layer of a frame.
struct Part {
    layer: u8,
    octets: u32,
    begins: bool,
    ends: bool,
}

/// A layer in packets that have room for so many octets: of equal size, as libwebrtc cuts them; the first ones have an octet more.
fn parts(layer: u8, octets: u32, room: u32) -> impl Iterator<Item = Part> {
    let packets = octets.div_ceil(room);
    let (each, more) = (octets / packets, octets % packets);
    (0..packets).map(move |i| Part {
        layer,
        octets: each + u32::from(i < more),
        begins: i == 0,
        ends: i + 1 == packets,
    })
}

/// What a parity packet protects of a packet of video.
fn protected(packet: &Queued, payload_type: u8) -> Protected {
    let (head, octets) = packet.descriptor.as_ref().map_or(([0; parity::HEAD], 0), Descriptor::head);
    Protected {
        marker: packet.marker,
        payload_type,
        timestamp: packet.timestamp,
        len: (octets as u32 + packet.len) as u16,
        head,
    }
}

/// Octets of the original sequence number before a retransmission's payload (RFC 4588 section 4).
pub(crate) const ORIGINAL: u32 = 2;

/// Payload types beside those of codecs, as browsers offer them: retransmissions of VP8, FlexFEC, redundant audio.
pub(crate) const RETRANSMISSION: u8 = 97;
pub(crate) const PARITY: u8 = 35;
pub(crate) const REDUNDANT: u8 = 63;

/// The sources of retransmissions and of parity packets differ from that of media in these bits.
pub(crate) const RETRANSMISSION_BIT: u32 = 8;
pub(crate) const PARITY_BIT: u32 = 16;

/// Where in its sender's pattern a packet's media begins: its sequence number tells.
pub(crate) fn content(media: Media, sequence: u16) -> u64 {
    (media.index() as u64) << 32 | u64::from(sequence) << 16
}
