//! The RTP header (RFC 3550 section 5.1), its extensions (RFC 8285), and the payload descriptor of VP8 (RFC 7741).
//!
//! A packet in the simulator is a rope: these octets, then a pattern for the media. So the header is parsed from the octets that
//! a payload begins with, and says where the rest of it starts.

use crate::error::{Header, WireError, WireErrorKind};
use crate::field::{be16, be32};
use crate::payload::Payload;
use alloc::vec::Vec;

/// The local identifiers of header extensions, as session descriptions agree on them (RFC 8285 section 5): 1 to 14, zero for
/// one that is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExtensionIds {
    /// `urn:ietf:params:rtp-hdrext:ssrc-audio-level` (RFC 6464).
    pub audio_level: u8,
    /// `http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time`.
    pub abs_send_time: u8,
    /// `http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01`.
    pub transport_sequence: u8,
}

impl ExtensionIds {
    /// Those that browsers offer first.
    pub const USUAL: Self = Self { audio_level: 1, abs_send_time: 2, transport_sequence: 3 };
}

/// What extensions say of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Extensions {
    /// Loudness of the audio in it.
    pub audio_level: Option<AudioLevel>,
    /// When it left its sender: seconds modulo 64 in units of 2^-18 s, 24 bits.
    pub abs_send_time: Option<u32>,
    /// Its number among all packets of the transport.
    pub transport_sequence: Option<u16>,
}

/// Loudness of the audio in a packet (RFC 6464).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AudioLevel {
    /// Whether it holds voice.
    pub voice: bool,
    /// Decibels below overload, 0 to 127.
    pub level: u8,
}

/// An RTP header. Contributing sources are skipped where they are read, and never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RtpHeader {
    /// By convention the last packet of a video frame, or the first of a talk spurt.
    pub marker: bool,
    /// Payload type, 7 bits.
    pub payload_type: u8,
    /// Sequence number.
    pub sequence: u16,
    /// Time of the first sample, by the media's clock.
    pub timestamp: u32,
    /// Synchronization source.
    pub ssrc: u32,
    /// Whether the packet ends in padding, whose length its last octet says.
    pub padding: bool,
    /// Header extensions.
    pub extensions: Extensions,
}

const ONE_BYTE: u16 = 0xbede;
const FIXED: usize = 12;

impl RtpHeader {
    /// The longest that [`RtpHeader::emit`] writes.
    pub const MOST: usize = FIXED + 4 + 12;

    /// Reads the header at the start of `bytes`, and says how long it is. What follows is payload, and padding if the header says so.
    /// Extensions under other identifiers are skipped.
    pub fn parse(bytes: &[u8], ids: &ExtensionIds) -> Result<(Self, usize), WireError> {
        let truncated = |offset: usize, needed| {
            WireError::truncated(Header::Rtp, offset, needed, bytes.len().saturating_sub(offset))
        };
        let fixed = bytes.first_chunk::<FIXED>().ok_or_else(|| truncated(0, FIXED))?;
        let version = fixed[0] >> 6;
        if version != 2 {
            return Err(WireError {
                header: Header::Rtp,
                offset: 0,
                kind: WireErrorKind::BadValue { value: version.into() },
            });
        }
        let mut header = Self {
            marker: fixed[1] & 0x80 != 0,
            payload_type: fixed[1] & 0x7f,
            sequence: be16(fixed, 2),
            timestamp: be32(fixed, 4),
            ssrc: be32(fixed, 8),
            padding: fixed[0] & 0x20 != 0,
            extensions: Extensions::default(),
        };
        let mut end = FIXED + 4 * usize::from(fixed[0] & 0x0f);
        if fixed[0] & 0x10 != 0 {
            let [profile, words] = match bytes.get(end..end + 4) {
                Some(&[a, b, c, d]) => [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])],
                _ => return Err(truncated(end, 4)),
            };
            let (start, length) = (end + 4, 4 * usize::from(words));
            end = start + length;
            let data = bytes.get(start..end).ok_or_else(|| truncated(start, length))?;
            header.extensions = Extensions::parse(profile, data, ids).map_err(|(at, kind)| WireError {
                header: Header::Rtp,
                offset: start + at,
                kind,
            })?;
        }
        if end > bytes.len() {
            return Err(truncated(FIXED, end - FIXED));
        }
        Ok((header, end))
    }

    /// Appends the header to `out`.
    pub fn emit(&self, ids: &ExtensionIds, out: &mut Vec<u8>) {
        let extended = self.extensions != Extensions::default();
        out.push(0x80 | u8::from(self.padding) << 5 | u8::from(extended) << 4);
        out.push(u8::from(self.marker) << 7 | self.payload_type & 0x7f);
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        out.extend_from_slice(&self.ssrc.to_be_bytes());
        if extended {
            self.extensions.emit(ids, out);
        }
    }

    /// Length on the wire, in bytes.
    pub fn octets(&self) -> usize {
        FIXED + self.extensions.octets()
    }
}

impl Extensions {
    /// Reads elements (RFC 8285 sections 4.2 and 4.3); of other profiles nothing is known.
    fn parse(profile: u16, mut data: &[u8], ids: &ExtensionIds) -> Result<Self, (usize, WireErrorKind)> {
        let mut found = Self::default();
        let whole = data.len();
        let one_byte = profile == ONE_BYTE;
        if !one_byte && profile >> 4 != 0x100 {
            return Ok(found);
        }
        while let [first, rest @ ..] = data {
            if *first == 0 {
                data = rest; // Padding.
                continue;
            }
            let (id, length, rest) = match (one_byte, rest) {
                // RFC 8285 section 4.2: identifier 15 ends the elements, and so does identifier 0 with a length.
                (true, _) if matches!(first >> 4, 0 | 15) => break,
                (true, _) => (first >> 4, usize::from(first & 0x0f) + 1, rest),
                (false, [length, rest @ ..]) => (*first, usize::from(*length), rest),
                (false, []) => return Err((whole, WireErrorKind::Truncated { needed: 1, available: 0 })),
            };
            let Some((value, rest)) = rest.split_at_checked(length) else {
                let kind = WireErrorKind::Truncated { needed: length, available: rest.len() };
                return Err((whole - rest.len(), kind));
            };
            found.take(id, value, ids);
            data = rest;
        }
        Ok(found)
    }

    /// Takes an element in; one of a length that it cannot have says nothing.
    fn take(&mut self, id: u8, value: &[u8], ids: &ExtensionIds) {
        match *value {
            [octet] if id == ids.audio_level => {
                self.audio_level = Some(AudioLevel { voice: octet & 0x80 != 0, level: octet & 0x7f });
            }
            [a, b, c] if id == ids.abs_send_time => {
                self.abs_send_time = Some(u32::from_be_bytes([0, a, b, c]))
            }
            [a, b] if id == ids.transport_sequence => {
                self.transport_sequence = Some(u16::from_be_bytes([a, b]))
            }
            _ => {}
        }
    }

    /// Octets of the elements, without what fills up the last word.
    fn of_elements(&self) -> usize {
        let octets = |is: bool, octets| if is { octets } else { 0 };
        octets(self.audio_level.is_some(), 2)
            + octets(self.abs_send_time.is_some(), 4)
            + octets(self.transport_sequence.is_some(), 3)
    }

    /// Length on the wire in bytes, that of the extension's header included; zero without extensions.
    pub fn octets(&self) -> usize {
        match self.of_elements() {
            0 => 0,
            octets => 4 + octets.next_multiple_of(4),
        }
    }

    fn emit(&self, ids: &ExtensionIds, out: &mut Vec<u8>) {
        let octets = self.of_elements();
        let words = octets.div_ceil(4);
        out.extend_from_slice(&ONE_BYTE.to_be_bytes());
        out.extend_from_slice(&(words as u16).to_be_bytes());
        if let Some(AudioLevel { voice, level }) = self.audio_level {
            out.extend_from_slice(&[ids.audio_level << 4, u8::from(voice) << 7 | level & 0x7f]);
        }
        if let Some(time) = self.abs_send_time {
            let [_, a, b, c] = time.to_be_bytes();
            out.extend_from_slice(&[ids.abs_send_time << 4 | 2, a, b, c]);
        }
        if let Some(sequence) = self.transport_sequence {
            let [a, b] = sequence.to_be_bytes();
            out.extend_from_slice(&[ids.transport_sequence << 4 | 1, a, b]);
        }
        out.resize(out.len() + 4 * words - octets, 0);
    }
}

/// Octets of padding at the end of a packet whose header says that there is some; none if it has no such ending.
pub fn padding_of(packet: &Payload, header_len: usize) -> Option<u32> {
    let last = packet.slice(packet.len().checked_sub(1)?, 1);
    let mut octet = Vec::with_capacity(1);
    last.write_to(&mut octet);
    let padding = u32::from(*octet.first()?);
    (padding > 0 && header_len as u32 + padding <= packet.len()).then_some(padding)
}

/// The payload descriptor of VP8 with a picture identifier of 15 bits (RFC 7741 section 4.2), and the bit of the payload header that
/// tells key frames from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Vp8Descriptor {
    /// Whether the packet begins a frame.
    pub start: bool,
    /// Number of the frame, 15 bits.
    pub picture: u16,
    /// In the packet that begins a frame, whether it is a key frame (the inverse of bit P, section 4.3).
    pub key: bool,
}

impl Vp8Descriptor {
    /// The longest that [`Vp8Descriptor::emit`] writes.
    pub const MOST: usize = 5;

    /// Octets of the descriptor alone: the payload header that follows it in a frame's first packet is part of the frame.
    pub const LEN: usize = 4;

    /// Reads it at the start of a payload.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let truncated = |needed| WireError::truncated(Header::Vp8, 0, needed, bytes.len());
        let first = *bytes.first().ok_or_else(|| truncated(1))?;
        let unsupported = WireError { header: Header::Vp8, offset: 0, kind: WireErrorKind::Unsupported };
        if first & 0x80 == 0 {
            return Err(unsupported);
        }
        let [_, bits, high, low, ..] = *bytes else { return Err(truncated(Self::LEN)) };
        if bits & 0x80 == 0 || high & 0x80 == 0 {
            return Err(unsupported);
        }
        // Sections of other lengths: TL0PICIDX, and TID with KEYIDX.
        let at = Self::LEN + usize::from(bits & 0x40 != 0) + usize::from(bits & 0x30 != 0);
        let start = first & 0x1f == 0x10;
        let key = start && *bytes.get(at).ok_or_else(|| truncated(at + 1))? & 0x01 == 0;
        Ok(Self { start, picture: u16::from_be_bytes([high & 0x7f, low]), key })
    }

    /// Appends it to `out`, with the first octet of the payload header in a packet that begins a frame.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let [high, low] = self.picture.to_be_bytes();
        out.extend_from_slice(&[0x80 | u8::from(self.start) << 4, 0x80, 0x80 | high, low]);
        if self.start {
            // Show the frame, version 0, in one partition.
            out.push(0x10 | u8::from(!self.key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn header() -> RtpHeader {
        RtpHeader {
            marker: true,
            payload_type: 96,
            sequence: 0xfffe,
            timestamp: 0x0102_0304,
            ssrc: 0xdead_beef,
            padding: false,
            extensions: Extensions {
                audio_level: Some(AudioLevel { voice: true, level: 30 }),
                abs_send_time: Some(0x00ab_cdef),
                transport_sequence: Some(0x1234),
            },
        }
    }

    #[test]
    fn a_header_has_the_octets_of_the_rfcs() {
        let mut bytes = Vec::new();
        header().emit(&ExtensionIds::USUAL, &mut bytes);
        let expected = [
            0x90, 0xe0, 0xff, 0xfe, 1, 2, 3, 4, 0xde, 0xad, 0xbe, 0xef, 0xbe, 0xde, 0, 3, 0x10, 0x9e, 0x22,
            0xab, 0xcd, 0xef, 0x31, 0x12, 0x34, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(bytes.len(), header().octets());
        assert_eq!(RtpHeader::parse(&bytes, &ExtensionIds::USUAL), Ok((header(), 28)));
    }

    #[test]
    fn contributing_sources_unknown_extensions_and_the_two_byte_form_are_read_over() {
        let mut bytes = alloc::vec![0x92, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
        bytes.extend_from_slice(&[0; 8]); // Two contributing sources.
        bytes.extend_from_slice(&[0x10, 0x00, 0, 3]);
        bytes.extend_from_slice(&[9, 1, 0xff, 0, 3, 2, 0x56, 0x78, 7, 0, 0, 0]);
        let (header, len) = RtpHeader::parse(&bytes, &ExtensionIds::USUAL).expect("it is well-formed");
        assert_eq!((header.extensions.transport_sequence, len), (Some(0x5678), bytes.len()));
    }

    #[test]
    fn padding_with_a_length_and_identifier_15_end_the_elements() {
        for ends in [0x01, 0x0f, 0xf0, 0xff] {
            let mut bytes = alloc::vec![0x90, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xbe, 0xde, 0, 3];
            bytes.extend_from_slice(&[0x10, 0x9e, 0, ends, 0x31, 0x56, 0x78, 0, 0x22, 1, 2, 3]);
            let (header, len) = RtpHeader::parse(&bytes, &ExtensionIds::USUAL).expect("it is well-formed");
            let level = Some(AudioLevel { voice: true, level: 30 });
            assert_eq!(header.extensions, Extensions { audio_level: level, ..Extensions::default() });
            assert_eq!(len, bytes.len());
        }
    }

    #[test]
    fn a_header_that_ends_early_says_where() {
        let mut bytes = Vec::new();
        header().emit(&ExtensionIds::USUAL, &mut bytes);
        for end in 0..bytes.len() {
            assert!(RtpHeader::parse(&bytes[..end], &ExtensionIds::USUAL).is_err(), "{end} octets");
        }
        bytes[0] = 0x50;
        let error = RtpHeader::parse(&bytes, &ExtensionIds::USUAL).expect_err("version 1");
        assert_eq!(error.kind, WireErrorKind::BadValue { value: 1 });
    }

    #[test]
    fn padding_is_what_the_last_octet_says_if_there_is_so_much() {
        let packet = |last: u8| {
            Payload::rope([Payload::pattern(0, 0, 20), Payload::bytes(Bytes::copy_from_slice(&[last]))])
        };
        assert_eq!(padding_of(&packet(9), 12), Some(9));
        assert_eq!(padding_of(&packet(10), 12), None);
        assert_eq!(padding_of(&packet(0), 12), None);
    }

    #[test]
    fn a_descriptor_tells_where_frames_begin() {
        for (start, key) in [(true, true), (true, false), (false, false)] {
            let descriptor = Vp8Descriptor { start, picture: 0x7abc, key };
            let mut bytes = Vec::new();
            descriptor.emit(&mut bytes);
            assert_eq!(Vp8Descriptor::parse(&bytes), Ok(descriptor));
        }
        assert!(Vp8Descriptor::parse(&[0x90, 0x80, 0x80, 1]).is_err(), "a frame has octets");
        assert!(Vp8Descriptor::parse(&[0x10, 0]).is_err(), "no picture identifier");
    }
}
