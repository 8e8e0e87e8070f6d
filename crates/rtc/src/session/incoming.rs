//! Media on its way in.

use super::descriptor::Descriptor;
use super::outgoing::{ORIGINAL, PARITY, PARITY_BIT, REDUNDANT, RETRANSMISSION, RETRANSMISSION_BIT, content};
use super::relay::Relayed;
use super::{Codec, Party};
use crate::clock;
use crate::data;
use crate::receive::{Assembly, Piece, Statistics, Taken};
use crate::record::{Media, ReceivedMedia};
use crate::repair::nack::Missing;
use crate::repair::parity::{Group, Protected, Recovery};
use crate::repair::redundancy::{self, Block};
use crate::settings::{MOST_REDUNDANT, Sends};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::rtp::RtpHeader;

/// A whole frame waits so long for one before it until a key frame is asked for: where lost packets are asked for
/// (libwebrtc's `kMaxWaitForFrameMs`), and where a parity packet may come.
const WAIT_FOR_NACK: Span = Span::from_secs(3);
const WAIT_FOR_PARITY: Span = Span::from_millis(100);

/// One of the media that an end receives.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) media: Media,
    pub(crate) ssrc: u32,
    pattern: u32,
    timestamp: u32,
    /// Time from one frame to the next.
    interval: Span,
    /// When this end began: no frame can be younger.
    start: Time,
    pub(crate) statistics: Statistics,
    assembly: Assembly,
    /// The highest timestamp and frame number so far, unwrapped.
    newest: (u64, u32),
    /// Expected and received when the present second began.
    counted: (u64, u64),
    /// The same at the packet before.
    last_counted: (u64, u64),
    second: u64,
    pub(crate) missing: Option<Missing>,
    recovery: Option<Recovery>,
    /// Each frame tells the one before.
    inband: bool,
    /// Packets have earlier frames in them.
    redundant: bool,
    /// Frames have layers.
    layered: bool,
    /// Packets that came and are to be passed on, where media is.
    relayed: Option<VecDeque<Relayed>>,
}

/// Whether `ssrc` is a source of media, or of what mends it.
pub(crate) const fn is_of(media: u32, ssrc: u32) -> bool {
    ssrc & !(RETRANSMISSION_BIT | PARITY_BIT) == media
}

/// What came of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// New media: octets of the frame in it, and how many of them are wrong.
    New { octets: u32, wrong: u32 },
    /// Nothing new.
    Nothing,
    /// It cannot be.
    Malformed,
}

/// A packet of media, however it came.
#[derive(Debug, Clone, Copy)]
struct Part {
    sequence: u16,
    timestamp: u32,
    marker: bool,
    descriptor: Option<Descriptor>,
    repaired: bool,
}

impl Incoming {
    pub(crate) fn new(media: Media, party: &Party, start: Time, interval: Span, sends: &Sends) -> Self {
        let index = media.index();
        let (is_video, repair) = (media == Media::Video, sends.repair);
        let layered = sends.is_layered();
        Self {
            media,
            ssrc: party.ssrc[index],
            pattern: party.pattern,
            timestamp: party.timestamp[index],
            interval,
            start,
            statistics: Statistics::new(media.codec(layered).clock),
            assembly: Assembly::new(is_video, sends.buffer),
            newest: (1 << 32, 0),
            counted: (0, 0),
            last_counted: (0, 0),
            second: 0,
            missing: repair.asks_again(media).then(Missing::default),
            recovery: (is_video && repair.parity_packets.is_some()).then(Recovery::default),
            inband: !is_video && repair.inband,
            redundant: repair.is_redundant(media),
            layered,
            relayed: None,
        }
    }

    /// Has packets be passed on.
    pub(crate) fn relay(&mut self) {
        self.relayed = Some(VecDeque::new());
    }

    /// The next packet that is to be passed on.
    pub(crate) fn poll_relayed(&mut self) -> Option<Relayed> {
        self.relayed.as_mut()?.pop_front()
    }

    const fn codec(&self) -> Codec {
        self.media.codec(self.layered)
    }

    /// Whether packets of a source belong to it.
    pub(crate) const fn owns(&self, ssrc: u32) -> bool {
        is_of(self.ssrc, ssrc)
    }

    /// A packet came; its header takes `at` octets.
    pub(crate) fn take(
        &mut self,
        now: Time,
        header: &RtpHeader,
        at: usize,
        packet: &Payload,
        record: &mut ReceivedMedia,
    ) -> Came {
        let front = packet.front();
        match (header.ssrc ^ self.ssrc, header.payload_type) {
            (0, _) => self.media(now, header, header.sequence, at, packet, record),
            (RETRANSMISSION_BIT, RETRANSMISSION) if header.padding => Came::Nothing,
            (RETRANSMISSION_BIT, RETRANSMISSION) => {
                let Some(&[high, low]) = front.get(at..at + ORIGINAL as usize) else {
                    return Came::Malformed;
                };
                let original = u16::from_be_bytes([high, low]);
                self.media(now, header, original, at + ORIGINAL as usize, packet, record)
            }
            (PARITY_BIT, PARITY) => {
                let Some(group) = Group::parse(front.get(at..).unwrap_or_default()) else {
                    return Came::Malformed;
                };
                if let Some(recovery) = &mut self.recovery {
                    recovery.wait(group);
                }
                self.recover(now, record)
            }
            _ => Came::Malformed,
        }
    }

    /// Media, by itself or sent again.
    fn media(
        &mut self,
        now: Time,
        header: &RtpHeader,
        sequence: u16,
        at: usize,
        packet: &Payload,
        record: &mut ReceivedMedia,
    ) -> Came {
        let repaired = header.ssrc != self.ssrc;
        let Codec { payload_type, .. } = self.codec();
        let rest = packet.front().get(at..).unwrap_or_default();
        let (mut part, mut headers, mut blocks) = (
            Part { sequence, timestamp: header.timestamp, marker: header.marker, descriptor: None, repaired },
            0,
            Vec::new(),
        );
        // Of what is sent again the payload type of the original is known by its source (RFC 4588 section 8.1).
        let sent_as = match repaired {
            true if self.redundant => REDUNDANT,
            true => payload_type,
            false => header.payload_type,
        };
        match (self.media, sent_as) {
            (Media::Video, sent_as) if sent_as == payload_type => {
                let Ok(descriptor) = Descriptor::parse(rest, self.layered) else { return Came::Malformed };
                part.descriptor = Some(descriptor);
                headers = Descriptor::octets(self.layered);
            }
            (Media::Audio, REDUNDANT) => {
                let Some(found) = redundancy::parse(rest) else { return Came::Malformed };
                (blocks, headers) = found;
            }
            (Media::Audio, sent_as) if sent_as == payload_type => {}
            _ => return Came::Malformed,
        }
        let begin = at + headers;
        let earlier: usize = blocks.iter().map(|block| usize::from(block.len)).sum();
        let Some(octets) = (packet.len() as usize).checked_sub(begin + earlier).filter(|&octets| octets > 0)
        else {
            return Came::Malformed;
        };
        let came = self.place(now, part, record);
        let Some(placed) = came else { return Came::Malformed };
        let Some((number, frame)) = placed else { return Came::Nothing };
        // The first octet of a frame may be real: VP8's payload header, Opus's table of contents.
        let of_audio = u32::from(sent_as != REDUNDANT);
        let real = begin + part.descriptor.map_or(of_audio, |descriptor| descriptor.of_frame()) as usize;
        let body = packet.slice(real as u32, packet.len() - real as u32);
        let wrong = if self.is_whole(sequence, &body) { 0 } else { body.len() };
        if let Some(relayed) = &mut self.relayed {
            let mut redundant = ([Block::default(); MOST_REDUNDANT as usize], 0);
            for (place, &block) in redundant.0.iter_mut().zip(&blocks) {
                *place = block;
                redundant.1 += 1;
            }
            relayed.push_back(Relayed {
                media: self.media,
                number,
                frame,
                timestamp: header.timestamp,
                marker: header.marker,
                descriptor: part.descriptor,
                audio_level: header.extensions.audio_level,
                redundant,
                octets: packet.len() - begin as u32,
            });
        }
        for block in blocks {
            self.earlier(now, number, header.timestamp.wrapping_sub(block.offset.into()), record);
        }
        if self.inband {
            let ticks = clock::ticks(self.interval, self.codec().clock) as u32;
            self.earlier(now, number, header.timestamp.wrapping_sub(ticks), record);
        }
        if let Some(descriptor) = &part.descriptor {
            let protected = self.protected(&part, descriptor, (packet.len() as usize - at) as u16);
            if let Some(recovery) = &mut self.recovery {
                recovery.take(sequence, protected);
                self.recover(now, record);
            }
        }
        Came::New { octets: octets as u32, wrong }
    }

    /// Notes a packet: its number among all of the source and that of its frame, none in that if it is not new; none if it
    /// cannot be.
    fn place(&mut self, now: Time, part: Part, record: &mut ReceivedMedia) -> Option<Option<(u64, u32)>> {
        // One cycle above zero, so that what is older than the first frame has a number too.
        let elapsed = part.timestamp.wrapping_sub(self.timestamp);
        let ticks = clock::unwrap(self.newest.0, elapsed.into(), 32);
        let media = clock::of_ticks(ticks.checked_sub(1 << 32)?, self.codec().clock);
        let (frame, start, end, key) = match part.descriptor {
            None => ((media.as_nanos() / self.interval.as_nanos()) as u32, true, true, true),
            Some(descriptor) => {
                let number = clock::unwrap(self.newest.1.into(), descriptor.picture().into(), 15) as u32;
                (number, descriptor.start(), part.marker, descriptor.key())
            }
        };
        // No more frames than can have been captured, twice as fast as agreed.
        let most = 1_000 + 2 * now.since(self.start).as_nanos() / self.interval.as_nanos();
        if u64::from(frame) > most {
            return None;
        }
        let taken = if part.repaired {
            self.statistics.recover(part.sequence)
        } else {
            self.statistics.take(part.sequence)
        };
        let number = match taken {
            Taken::New(number) => number,
            Taken::Copy => return Some(None),
            Taken::Refused => return None,
        };
        self.newest = (self.newest.0.max(ticks), self.newest.1.max(frame));
        if !part.repaired {
            self.statistics.time(now, part.timestamp);
        }
        let piece = Piece { sequence: number, frame, media, start, end, key, repaired: part.repaired };
        self.assembly.take(now, &piece, &mut record.frames);
        if let Some(missing) = &mut self.missing {
            missing.take(now, number);
        }
        Some(Some((number, frame)))
    }

    /// A frame of audio that came with packet `number`, for the second time or for the first.
    fn earlier(&mut self, now: Time, number: u64, timestamp: u32, record: &mut ReceivedMedia) {
        let ticks = clock::unwrap(self.newest.0, timestamp.wrapping_sub(self.timestamp).into(), 32);
        let Some(since_first) = ticks.checked_sub(1 << 32) else { return };
        let media = clock::of_ticks(since_first, self.codec().clock);
        let frame = (media.as_nanos() / self.interval.as_nanos()) as u32;
        let piece =
            Piece { sequence: number, frame, media, start: true, end: true, key: true, repaired: true };
        self.assembly.take(now, &piece, &mut record.frames);
    }

    /// Recovers what parity packets tell.
    fn recover(&mut self, now: Time, record: &mut ReceivedMedia) -> Came {
        while let Some((sequence, packet)) = self.recovery.as_mut().and_then(Recovery::poll) {
            let Ok(descriptor) = Descriptor::parse(&packet.head, self.layered) else { continue };
            let Protected { timestamp, marker, .. } = packet;
            let part = Part { sequence, timestamp, marker, descriptor: Some(descriptor), repaired: true };
            self.place(now, part, record);
            if let Some(recovery) = &mut self.recovery {
                recovery.take(sequence, packet);
            }
        }
        Came::Nothing
    }

    /// Whether a packet's media is what was sent.
    fn is_whole(&self, sequence: u16, body: &Payload) -> bool {
        let expected = Payload::pattern(self.pattern, content(self.media, sequence), body.len());
        data::same(body, &expected)
    }

    /// Counts a packet of `bytes` that was `delay` nanoseconds on its way, if that is known.
    pub(crate) fn count(&mut self, now: Time, bytes: u32, delay: Option<i64>, record: &mut ReceivedMedia) {
        let (expected, received) = (self.statistics.expected(), self.statistics.received());
        let second = record.seconds.second(now);
        if second != self.second {
            // What was expected until now belongs to the seconds before.
            self.second = second;
            self.counted = self.last_counted;
        }
        self.last_counted = (expected, received);
        let of_second = record.seconds.at(now);
        of_second.packets += 1;
        of_second.bytes += u64::from(bytes);
        of_second.expected = expected.saturating_sub(self.counted.0);
        of_second.arrived = received.saturating_sub(self.counted.1);
        if let Some(delay) = delay {
            of_second.delay.0 += delay;
            of_second.delay.1 += 1;
            of_second.delay_min = Some(of_second.delay_min.map_or(delay, |min| min.min(delay)));
            of_second.delay_max = Some(of_second.delay_max.map_or(delay, |max| max.max(delay)));
        }
    }

    /// Whether frames cannot be decoded, and nothing but a key frame is likely to help.
    pub(crate) fn wants_key(&mut self, now: Time) -> bool {
        let Some(since) = self.assembly.blocked_since() else { return false };
        if !self.assembly.has_decoded() {
            return true;
        }
        let waits = now.since(since);
        match &mut self.missing {
            Some(missing) => missing.gave_up() || waits >= WAIT_FOR_NACK,
            None => self.recovery.is_none() || waits >= WAIT_FOR_PARITY,
        }
    }

    /// What a parity packet protects of a packet whose payload has `len` octets.
    fn protected(&self, part: &Part, descriptor: &Descriptor, len: u16) -> Protected {
        let Codec { payload_type, .. } = self.codec();
        let (head, _) = descriptor.head();
        Protected { marker: part.marker, payload_type, timestamp: part.timestamp, len, head }
    }
}
