//! RTCP packets (RFC 3550 section 6, RFC 4585 section 6), as they stand one after the other in a compound packet.
//!
//! | module | what is in |
//! | --- | --- |
//! | [`report`] | SR, RR and their report blocks |
//! | [`transport_wide`] | feedback by transport-wide sequence numbers (draft-holmer-rmcat-transport-wide-cc-extensions-01) |
//! | [`congestion`] | congestion control feedback (RFC 8888) |

pub mod congestion;
pub mod report;
pub mod transport_wide;

pub use congestion::CongestionFeedback;
pub use report::{ReceiverReport, ReportBlock, SenderReport};
pub use transport_wide::TransportFeedback;

use crate::error::{Header, WireError, WireErrorKind};
use alloc::string::String;
use alloc::vec::Vec;

const SENDER_REPORT: u8 = 200;
const RECEIVER_REPORT: u8 = 201;
const SOURCE_DESCRIPTION: u8 = 202;
const GOODBYE: u8 = 203;
const APPLICATION: u8 = 204;
const TRANSPORT: u8 = 205;
const PAYLOAD: u8 = 206;

const NACK: u8 = 1;
const CONGESTION: u8 = 11;
const TRANSPORT_WIDE: u8 = 15;
const PICTURE_LOSS: u8 = 1;
const FULL_INTRA: u8 = 4;
const APPLICATION_LAYER: u8 = 15;
const CNAME: u8 = 1;

/// One RTCP packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RtcpPacket {
    /// Sender report (RFC 3550 section 6.4.1).
    SenderReport(SenderReport),
    /// Receiver report (RFC 3550 section 6.4.2).
    ReceiverReport(ReceiverReport),
    /// Source description (RFC 3550 section 6.5).
    SourceDescription(Vec<Description>),
    /// Goodbye (RFC 3550 section 6.6).
    Goodbye {
        /// Who leaves.
        ssrcs: Vec<u32>,
        /// Why, if they say so.
        reason: Vec<u8>,
    },
    /// Application-defined (RFC 3550 section 6.7).
    Application {
        /// Its subtype, 5 bits.
        subtype: u8,
        /// Who sends it.
        ssrc: u32,
        /// Whose format it is.
        name: [u8; 4],
        /// Whole words of data.
        data: Vec<u8>,
    },
    /// Generic negative acknowledgment (RFC 4585 section 6.2.1).
    Nack {
        /// Who misses packets.
        sender: u32,
        /// Whose.
        media: u32,
        /// Which ones, as the packet has them.
        lost: Vec<NackPair>,
    },
    /// Picture loss indication (RFC 4585 section 6.3.1).
    PictureLoss {
        /// Who asks for a key frame.
        sender: u32,
        /// Of whom.
        media: u32,
    },
    /// Full intra request (RFC 5104 section 4.3.1): pairs of a source and a command number.
    FullIntra {
        /// Who asks for a key frame.
        sender: u32,
        /// Of whom, and the how manyeth time.
        requests: Vec<(u32, u8)>,
    },
    /// Receiver estimated maximum bitrate (draft-alvestrand-rmcat-remb-03).
    Remb(Remb),
    /// Transport-wide feedback.
    TransportFeedback(TransportFeedback),
    /// Congestion control feedback (RFC 8888).
    CongestionFeedback(CongestionFeedback),
    /// Of another type, as it is.
    Other {
        /// Count, subtype or format, 5 bits.
        format: u8,
        /// Packet type.
        packet_type: u8,
        /// What follows the header.
        body: Vec<u8>,
    },
}

/// What a source says of itself: a chunk of SDES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Who.
    pub ssrc: u32,
    /// Items: their type, CNAME being 1, and their text of at most 255 octets.
    pub items: Vec<(u8, Vec<u8>)>,
}

impl Description {
    /// The canonical name alone, which every compound packet has.
    pub fn cname(ssrc: u32, name: &str) -> Self {
        Self { ssrc, items: alloc::vec![(CNAME, String::from(name).into_bytes())] }
    }

    fn octets(&self) -> usize {
        let items: usize = self.items.iter().map(|(_, text)| 2 + text.len()).sum();
        // At least one null octet ends the items.
        4 + (items + 1).next_multiple_of(4)
    }
}

/// A lost packet and which of the 16 that follow it are lost too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NackPair {
    /// Its sequence number (PID).
    pub first: u16,
    /// Bit `i` says that packet `first + i + 1` is lost (BLP).
    pub following: u16,
}

impl NackPair {
    /// The fewest pairs that name `lost`, which ascends (modulo 2^16).
    pub fn of(lost: impl IntoIterator<Item = u16>) -> Vec<Self> {
        let mut pairs: Vec<Self> = Vec::new();
        for sequence in lost {
            match pairs.last_mut() {
                Some(Self { first, following }) if (1..=16).contains(&sequence.wrapping_sub(*first)) => {
                    *following |= 1 << (sequence.wrapping_sub(*first) - 1);
                }
                _ => pairs.push(Self { first: sequence, following: 0 }),
            }
        }
        pairs
    }

    /// The packets that it names.
    pub fn sequences(self) -> impl Iterator<Item = u16> {
        let follows = (0..16).filter(move |i| self.following & 1 << i != 0);
        core::iter::once(self.first).chain(follows.map(move |i| self.first.wrapping_add(i + 1)))
    }
}

/// The rate that a receiver thinks is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remb {
    /// Who estimates.
    pub sender: u32,
    /// Bits per second: 18 bits times a power of two up to 2^63.
    pub bitrate: u64,
    /// Whose packets together.
    pub ssrcs: Vec<u32>,
}

impl Remb {
    const NAME: [u8; 4] = *b"REMB";

    /// The largest rate that the format can say which is not above this one.
    pub const fn representable(bitrate: u64) -> u64 {
        let exponent = Self::exponent(bitrate);
        bitrate >> exponent << exponent
    }

    const fn exponent(bitrate: u64) -> u32 {
        (64 - bitrate.leading_zeros()).saturating_sub(18)
    }
}

impl RtcpPacket {
    /// Reads the packet at the start of `bytes`, and says how long it is.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), WireError> {
        let truncated =
            |offset, needed| WireError::truncated(Header::Rtcp, offset, needed, bytes.len() - offset);
        let &[first, packet_type, high, low, ref rest @ ..] = bytes else { return Err(truncated(0, 4)) };
        let failed = |offset, kind| WireError { header: Header::Rtcp, offset, kind };
        if first >> 6 != 2 {
            return Err(failed(0, WireErrorKind::BadValue { value: u32::from(first >> 6) }));
        }
        let length = 4 * usize::from(u16::from_be_bytes([high, low]));
        let mut body = rest.get(..length).ok_or_else(|| truncated(4, length))?;
        if first & 0x20 != 0 {
            let padding = usize::from(body.last().copied().unwrap_or_default());
            if padding == 0 || padding > body.len() || padding % 4 != 0 {
                return Err(failed(length + 3, WireErrorKind::BadValue { value: padding as u32 }));
            }
            body = &body[..body.len() - padding];
        }
        let packet =
            Self::parse_body(first & 0x1f, packet_type, &mut Body { left: body, whole: body.len() })?;
        Ok((packet, 4 + length))
    }

    fn parse_body(format: u8, packet_type: u8, body: &mut Body<'_>) -> Result<Self, WireError> {
        Ok(match (packet_type, format) {
            (SENDER_REPORT, count) => Self::SenderReport(SenderReport::parse(count, body)?),
            (RECEIVER_REPORT, count) => Self::ReceiverReport(ReceiverReport::parse(count, body)?),
            (SOURCE_DESCRIPTION, count) => {
                Self::SourceDescription((0..count).map(|_| body.description()).collect::<Result<_, _>>()?)
            }
            (GOODBYE, count) => {
                let ssrcs = (0..count).map(|_| body.u32()).collect::<Result<_, _>>()?;
                let reason = if body.left.is_empty() { Vec::new() } else { body.text()? };
                Self::Goodbye { ssrcs, reason }
            }
            (APPLICATION, subtype) => {
                let (ssrc, name) = (body.u32()?, body.u32()?.to_be_bytes());
                Self::Application { subtype, ssrc, name, data: body.rest().to_vec() }
            }
            (TRANSPORT, NACK) => {
                let (sender, media) = (body.u32()?, body.u32()?);
                let mut lost = Vec::new();
                while !body.left.is_empty() {
                    lost.push(NackPair { first: body.u16()?, following: body.u16()? });
                }
                Self::Nack { sender, media, lost }
            }
            (TRANSPORT, TRANSPORT_WIDE) => Self::TransportFeedback(TransportFeedback::parse(body)?),
            (TRANSPORT, CONGESTION) => Self::CongestionFeedback(CongestionFeedback::parse(body)?),
            (PAYLOAD, PICTURE_LOSS) => Self::PictureLoss { sender: body.u32()?, media: body.u32()? },
            (PAYLOAD, FULL_INTRA) => {
                let sender = body.u32()?;
                body.u32()?;
                let mut requests = Vec::new();
                while !body.left.is_empty() {
                    requests.push((body.u32()?, (body.u32()? >> 24) as u8));
                }
                Self::FullIntra { sender, requests }
            }
            (PAYLOAD, APPLICATION_LAYER) if body.left.get(8..12) == Some(&Remb::NAME) => {
                let sender = body.u32()?;
                body.take(8)?;
                let word = body.u32()?;
                let (count, exponent, mantissa) = (word >> 24, word >> 18 & 0x3f, u64::from(word & 0x3_ffff));
                // A rate that 64 bits cannot hold is above any that there is.
                let bitrate = mantissa.saturating_mul(1 << exponent);
                let ssrcs = (0..count).map(|_| body.u32()).collect::<Result<_, _>>()?;
                Self::Remb(Remb { sender, bitrate, ssrcs })
            }
            _ => Self::Other { format, packet_type, body: body.rest().to_vec() },
        })
    }

    /// Appends the packet to `out`.
    ///
    /// Panics if a list is longer than its count can say, or the packet longer than 256 kB.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let count = |len: usize| u8::try_from(len).ok().filter(|&len| len < 32).expect("at most 31 of them");
        let words = |values: &[u32], out: &mut Vec<u8>| {
            values.iter().for_each(|value| out.extend_from_slice(&value.to_be_bytes()));
        };
        let (format, packet_type) = match self {
            Self::SenderReport(report) => (count(report.blocks.len()), SENDER_REPORT),
            Self::ReceiverReport(report) => (count(report.blocks.len()), RECEIVER_REPORT),
            Self::SourceDescription(chunks) => (count(chunks.len()), SOURCE_DESCRIPTION),
            Self::Goodbye { ssrcs, .. } => (count(ssrcs.len()), GOODBYE),
            Self::Application { subtype, .. } => (subtype & 0x1f, APPLICATION),
            Self::Nack { .. } => (NACK, TRANSPORT),
            Self::TransportFeedback(_) => (TRANSPORT_WIDE, TRANSPORT),
            Self::CongestionFeedback(_) => (CONGESTION, TRANSPORT),
            Self::PictureLoss { .. } => (PICTURE_LOSS, PAYLOAD),
            Self::FullIntra { .. } => (FULL_INTRA, PAYLOAD),
            Self::Remb(_) => (APPLICATION_LAYER, PAYLOAD),
            &Self::Other { format, packet_type, .. } => (format & 0x1f, packet_type),
        };
        out.extend_from_slice(&[0x80 | format, packet_type, 0, 0]);
        match self {
            Self::SenderReport(report) => report.emit(out),
            Self::ReceiverReport(report) => report.emit(out),
            Self::SourceDescription(chunks) => chunks.iter().for_each(|chunk| {
                let end = out.len() + chunk.octets();
                words(&[chunk.ssrc], out);
                for (kind, text) in &chunk.items {
                    out.extend_from_slice(&[
                        *kind,
                        u8::try_from(text.len()).expect("an item of at most 255 octets"),
                    ]);
                    out.extend_from_slice(text);
                }
                out.resize(end, 0);
            }),
            Self::Goodbye { ssrcs, reason } => {
                words(ssrcs, out);
                if !reason.is_empty() {
                    out.push(u8::try_from(reason.len()).expect("a reason of at most 255 octets"));
                    out.extend_from_slice(reason);
                }
            }
            Self::Application { ssrc, name, data, .. } => {
                words(&[*ssrc, u32::from_be_bytes(*name)], out);
                out.extend_from_slice(data);
            }
            Self::Nack { sender, media, lost } => {
                words(&[*sender, *media], out);
                for pair in lost {
                    out.extend_from_slice(&pair.first.to_be_bytes());
                    out.extend_from_slice(&pair.following.to_be_bytes());
                }
            }
            Self::TransportFeedback(feedback) => feedback.emit(out),
            Self::CongestionFeedback(feedback) => feedback.emit(out),
            Self::PictureLoss { sender, media } => words(&[*sender, *media], out),
            Self::FullIntra { sender, requests } => {
                words(&[*sender, 0], out);
                requests.iter().for_each(|&(ssrc, number)| words(&[ssrc, u32::from(number) << 24], out));
            }
            Self::Remb(Remb { sender, bitrate, ssrcs }) => {
                words(&[*sender, 0, u32::from_be_bytes(Remb::NAME)], out);
                let exponent = Remb::exponent(*bitrate);
                let count =
                    u32::try_from(ssrcs.len()).ok().filter(|&n| n < 256).expect("at most 255 sources");
                words(&[count << 24 | exponent << 18 | (bitrate >> exponent) as u32], out);
                words(ssrcs, out);
            }
            Self::Other { body, .. } => out.extend_from_slice(body),
        }
        // The body is a whole number of words.
        out.resize(start + (out.len() - start).next_multiple_of(4), 0);
        let length = u16::try_from((out.len() - start) / 4 - 1).expect("a packet of at most 256 kB");
        out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Whether the octets of a datagram are RTCP, where RTP and RTCP share a port (RFC 5761 section 4).
    pub fn is_rtcp(datagram: &[u8]) -> bool {
        matches!(datagram, [first, packet_type, ..] if first >> 6 == 2 && (192..=223).contains(packet_type))
    }
}

/// The packets of a compound packet, in their order. It ends with the first one that is malformed: where the next one would begin is not known.
pub fn parse_compound(bytes: &[u8]) -> impl Iterator<Item = Result<RtcpPacket, WireError>> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let left = bytes.get(at..).filter(|left| !left.is_empty())?;
        let parsed = RtcpPacket::parse(left).map_err(|error| error.moved_by(at));
        at += parsed.as_ref().map_or(left.len(), |(_, len)| *len);
        Some(parsed.map(|(packet, _)| packet))
    })
}

/// What is left of a packet's body. Positions in errors count from the packet's header.
pub(crate) struct Body<'a> {
    left: &'a [u8],
    whole: usize,
}

impl<'a> Body<'a> {
    fn position(&self) -> usize {
        4 + self.whole - self.left.len()
    }

    fn bad(&self, value: u32) -> WireError {
        WireError { header: Header::Rtcp, offset: self.position(), kind: WireErrorKind::BadValue { value } }
    }

    fn take(&mut self, octets: usize) -> Result<&'a [u8], WireError> {
        let (taken, left) = self
            .left
            .split_at_checked(octets)
            .ok_or_else(|| WireError::truncated(Header::Rtcp, self.position(), octets, self.left.len()))?;
        self.left = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        Ok(*self.take(N)?.first_chunk().expect("as many octets were taken"))
    }

    fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(|[octet]| octet)
    }

    fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.left)
    }

    /// A text with its length before it.
    fn text(&mut self) -> Result<Vec<u8>, WireError> {
        let length = self.u8()?;
        Ok(self.take(length.into())?.to_vec())
    }

    /// A chunk of SDES.
    fn description(&mut self) -> Result<Description, WireError> {
        let ssrc = self.u32()?;
        let mut items = Vec::new();
        loop {
            match self.u8()? {
                0 => break,
                kind => items.push((kind, self.text()?)),
            }
        }
        // Up to the next word.
        let filled = (self.whole - self.left.len()).next_multiple_of(4) - (self.whole - self.left.len());
        self.take(filled)?;
        Ok(Description { ssrc, items })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_rate_is_cut_to_eighteen_bits() {
        for bitrate in [0, 1, 262_143, 262_144, 262_145, 2_500_001, u64::from(u32::MAX), u64::MAX] {
            let packet = |bitrate| RtcpPacket::Remb(Remb { sender: 1, bitrate, ssrcs: vec![2, 3] });
            let mut bytes = Vec::new();
            packet(bitrate).emit(&mut bytes);
            assert_eq!(bytes.len(), 28, "20 octets, and 4 of each source");
            let expected = packet(Remb::representable(bitrate));
            assert_eq!(RtcpPacket::parse(&bytes), Ok((expected, 28)));
        }
    }

    #[test]
    fn seventeen_packets_are_named_by_one_pair() {
        let lost = [65_530, 65_531, 65_535, 0, 10, 11];
        let pairs = NackPair::of(lost);
        assert_eq!(pairs.len(), 2, "{pairs:?}");
        assert!(pairs.iter().flat_map(|pair| pair.sequences()).eq(lost));
    }

    #[test]
    fn a_compound_packet_ends_where_one_is_malformed() {
        let mut bytes = Vec::new();
        let bye = RtcpPacket::Goodbye { ssrcs: vec![7], reason: b"done".to_vec() };
        RtcpPacket::SourceDescription(vec![Description::cname(7, "a@b")]).emit(&mut bytes);
        bye.emit(&mut bytes);
        let whole: Vec<_> = parse_compound(&bytes).collect();
        assert_eq!(whole[1], Ok(bye));
        let at = bytes.len();
        bytes.extend_from_slice(&[0x80, 201, 0, 9, 0, 0, 0, 0]);
        let last = parse_compound(&bytes).last().expect("three packets").expect_err("it is cut");
        assert_eq!(last, WireError::truncated(Header::Rtcp, at + 4, 36, 4));
    }

    #[test]
    fn padding_is_taken_off_and_has_to_be_whole_words() {
        let bytes = [0xa0, 201, 0, 2, 0, 0, 0, 9, 0, 0, 0, 4];
        let report = ReceiverReport { ssrc: 9, blocks: vec![] };
        assert_eq!(RtcpPacket::parse(&bytes), Ok((RtcpPacket::ReceiverReport(report), 12)));
        let mut odd = bytes;
        odd[11] = 3;
        assert!(RtcpPacket::parse(&odd).is_err());
    }
}
