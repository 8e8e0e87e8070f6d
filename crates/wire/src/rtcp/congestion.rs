//! RTP congestion control feedback (RFC 8888).

use super::Body;
use crate::error::WireError;
use crate::ip::Ecn;
use alloc::vec::Vec;

/// What became of packets, by source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CongestionFeedback {
    /// Who reports.
    pub sender: u32,
    /// Runs of packets, one for each source.
    pub streams: Vec<StreamFeedback>,
    /// When the report was made: the middle half of the NTP time (RTS).
    pub timestamp: u32,
}

/// What became of consecutive packets of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamFeedback {
    /// The source.
    pub ssrc: u32,
    /// Sequence number of the first.
    pub begin: u16,
    /// Of each, from `begin` on; at most 16 384. None did not come.
    pub packets: Vec<Option<Arrived>>,
}

/// How a packet came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arrived {
    /// How it was marked.
    pub ecn: Ecn,
    /// How long before the report's time it came, in 1/1024 s (ATO).
    pub offset: u16,
}

impl Arrived {
    /// It came earlier than 8189/1024 s before the report.
    pub const TOO_EARLY: u16 = 0x1ffe;
    /// It is not known when it came.
    pub const UNKNOWN: u16 = 0x1fff;
}

/// RFC 8888 section 3.1: reports of more packets are split.
const MOST: u16 = 16_384;

impl CongestionFeedback {
    pub(super) fn parse(body: &mut Body<'_>) -> Result<Self, WireError> {
        let sender = body.u32()?;
        let mut streams = Vec::new();
        while body.left.len() > 4 {
            let (ssrc, begin, count) = (body.u32()?, body.u16()?, body.u16()?);
            if count > MOST {
                return Err(body.bad(count.into()));
            }
            let packets = (0..count).map(|_| body.u16().map(Arrived::unpack)).collect::<Result<_, _>>()?;
            if count % 2 == 1 {
                body.u16()?;
            }
            streams.push(StreamFeedback { ssrc, begin, packets });
        }
        Ok(Self { sender, streams, timestamp: body.u32()? })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sender.to_be_bytes());
        for stream in &self.streams {
            let count = u16::try_from(stream.packets.len()).ok().filter(|&count| count <= MOST);
            out.extend_from_slice(&stream.ssrc.to_be_bytes());
            out.extend_from_slice(&stream.begin.to_be_bytes());
            out.extend_from_slice(&count.expect("at most 16384 packets of a source").to_be_bytes());
            for packet in &stream.packets {
                out.extend_from_slice(&Arrived::pack(*packet).to_be_bytes());
            }
            if stream.packets.len() % 2 == 1 {
                out.extend_from_slice(&[0, 0]);
            }
        }
        out.extend_from_slice(&self.timestamp.to_be_bytes());
    }
}

impl Arrived {
    fn unpack(word: u16) -> Option<Self> {
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(word >> 13 & 3)];
        (word & 0x8000 != 0).then_some(Self { ecn, offset: word & 0x1fff })
    }

    fn pack(arrived: Option<Self>) -> u16 {
        arrived.map_or(0, |Self { ecn, offset }| {
            let ecn = match ecn {
                Ecn::NotEct => 0,
                Ecn::Ect1 => 1,
                Ecn::Ect0 => 2,
                Ecn::Ce => 3,
            };
            0x8000 | ecn << 13 | offset & 0x1fff
        })
    }
}
