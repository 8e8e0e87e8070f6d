//! Media on its way in.

use super::outgoing::content;
use super::{Codec, Party};
use crate::clock;
use crate::receive::{Assembly, Buffer, Piece, Statistics, Taken};
use crate::record::{Media, ReceivedMedia};
use alloc::vec::Vec;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::rtp::{RtpHeader, Vp8Descriptor};

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
    second: u64,
}

/// What came of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// New media: its number, octets of the frame in it, and how many of them are wrong.
    New { number: u64, octets: u32, wrong: u32 },
    /// Nothing new.
    Copy,
    /// It cannot be.
    Malformed,
}

impl Incoming {
    pub(crate) fn new(media: Media, party: &Party, start: Time, interval: Span, buffer: Buffer) -> Self {
        let index = media.index();
        Self {
            media,
            ssrc: party.ssrc[index],
            pattern: party.pattern,
            timestamp: party.timestamp[index],
            interval,
            start,
            statistics: Statistics::new(media.codec().clock),
            assembly: Assembly::new(media == Media::Video, buffer),
            newest: (1 << 32, 0),
            counted: (0, 0),
            second: 0,
        }
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
        let Codec { clock: hz, payload_type, .. } = self.media.codec();
        if header.payload_type != payload_type || packet.len() as usize <= at {
            return Came::Malformed;
        }
        let descriptor = match self.media {
            Media::Audio => None,
            Media::Video => match Vp8Descriptor::parse(front.get(at..).unwrap_or_default()) {
                Ok(descriptor) => Some(descriptor),
                Err(_) => return Came::Malformed,
            },
        };
        // One cycle above zero, so that what is older than the first frame has a number too.
        let elapsed = header.timestamp.wrapping_sub(self.timestamp);
        let ticks = clock::unwrap(self.newest.0, elapsed.into(), 32);
        let Some(since_first) = ticks.checked_sub(1 << 32) else { return Came::Malformed };
        let media = clock::of_ticks(since_first, hz);
        let (frame, start, end, key) = match descriptor {
            None => ((media.as_nanos() / self.interval.as_nanos()) as u32, true, true, true),
            Some(Vp8Descriptor { start, picture, key }) => {
                let number = clock::unwrap(self.newest.1.into(), picture.into(), 15) as u32;
                (number, start, header.marker, key)
            }
        };
        // No more frames than can have been captured, twice as fast as agreed.
        let most = 1_000 + 2 * now.since(self.start).as_nanos() / self.interval.as_nanos();
        if u64::from(frame) > most {
            return Came::Malformed;
        }
        let number = match self.statistics.take(header.sequence) {
            Taken::New(number) => number,
            Taken::Copy => return Came::Copy,
            Taken::Refused => return Came::Malformed,
        };
        self.newest = (self.newest.0.max(ticks), self.newest.1.max(frame));
        self.statistics.time(now, header.timestamp);
        let before =
            at + descriptor.map_or(0, |descriptor| Vp8Descriptor::LEN + usize::from(descriptor.start));
        let body = packet.slice(before as u32, packet.len() - before as u32);
        let wrong = if self.is_whole(header.sequence, &body) { 0 } else { body.len() };
        let octets = packet.len() - at as u32 - descriptor.map_or(0, |_| Vp8Descriptor::LEN as u32);
        let piece = Piece { sequence: number, frame, media, start, end, key, repaired: false };
        self.assembly.take(now, &piece, &mut record.frames);
        Came::New { number, octets, wrong }
    }

    /// Whether a packet's media is what was sent.
    fn is_whole(&self, sequence: u16, body: &Payload) -> bool {
        let expected = Payload::pattern(self.pattern, content(self.media, sequence), body.len());
        if *body == expected {
            return true;
        }
        let (mut came, mut sent) = (Vec::new(), Vec::new());
        body.write_to(&mut came);
        expected.write_to(&mut sent);
        came == sent
    }

    /// Counts a packet of `bytes` that was `delay` nanoseconds on its way, if that is known.
    pub(crate) fn count(&mut self, now: Time, bytes: u32, delay: Option<i64>, record: &mut ReceivedMedia) {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            // What was expected until now belongs to the seconds before.
            self.second = second;
            self.counted = (self.statistics.expected(), self.statistics.received());
            if let Some(expected) = self.counted.0.checked_sub(1) {
                // The packet that has just come is already among them.
                self.counted = (expected, self.counted.1 - 1);
            }
        }
        let (expected, received) = (self.statistics.expected(), self.statistics.received());
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

    /// Since when a whole frame waits for one that is missing.
    pub(crate) fn blocked_since(&self) -> Option<Time> {
        self.assembly.blocked_since()
    }
}
