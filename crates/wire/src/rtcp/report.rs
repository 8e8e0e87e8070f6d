//! Sender and receiver reports (RFC 3550 sections 6.4.1 and 6.4.2).

use super::Body;
use crate::error::WireError;
use alloc::vec::Vec;

/// A sender report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SenderReport {
    /// Who reports.
    pub ssrc: u32,
    /// When, by the wall clock: seconds since 1900 with 32 bits behind the point (NTP).
    pub ntp: u64,
    /// The same moment by the media's clock.
    pub rtp: u32,
    /// Packets sent so far.
    pub packets: u32,
    /// Payload octets sent so far.
    pub octets: u32,
    /// What came from others, at most 31.
    pub blocks: Vec<ReportBlock>,
}

/// A receiver report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverReport {
    /// Who reports.
    pub ssrc: u32,
    /// What came from others, at most 31.
    pub blocks: Vec<ReportBlock>,
}

/// What came from one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ReportBlock {
    /// The source.
    pub ssrc: u32,
    /// Share of packets lost since the last report, in 1/256.
    pub fraction_lost: u8,
    /// Packets lost so far, 24 bits with a sign: copies make it fall.
    pub lost: i32,
    /// Highest sequence number, with the number of cycles in the upper half.
    pub highest: u32,
    /// Interarrival jitter, by the media's clock.
    pub jitter: u32,
    /// Middle half of the NTP time of the last sender report; zero without one (LSR).
    pub last_sender_report: u32,
    /// Since that came, in 1/65536 s (DLSR).
    pub delay: u32,
}

/// The range of a number of 24 bits with a sign.
pub const LOST_RANGE: core::ops::RangeInclusive<i32> = -(1 << 23)..=(1 << 23) - 1;

impl SenderReport {
    pub(super) fn parse(count: u8, body: &mut Body<'_>) -> Result<Self, WireError> {
        Ok(Self {
            ssrc: body.u32()?,
            ntp: body.array().map(u64::from_be_bytes)?,
            rtp: body.u32()?,
            packets: body.u32()?,
            octets: body.u32()?,
            blocks: blocks(count, body)?,
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ssrc.to_be_bytes());
        out.extend_from_slice(&self.ntp.to_be_bytes());
        for word in [self.rtp, self.packets, self.octets] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        self.blocks.iter().for_each(|block| block.emit(out));
    }
}

impl ReceiverReport {
    pub(super) fn parse(count: u8, body: &mut Body<'_>) -> Result<Self, WireError> {
        Ok(Self { ssrc: body.u32()?, blocks: blocks(count, body)? })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.ssrc.to_be_bytes());
        self.blocks.iter().for_each(|block| block.emit(out));
    }
}

fn blocks(count: u8, body: &mut Body<'_>) -> Result<Vec<ReportBlock>, WireError> {
    (0..count).map(|_| ReportBlock::parse(body)).collect()
}

impl ReportBlock {
    fn parse(body: &mut Body<'_>) -> Result<Self, WireError> {
        let (ssrc, lost) = (body.u32()?, body.u32()?);
        Ok(Self {
            ssrc,
            fraction_lost: (lost >> 24) as u8,
            // The sign of 24 bits is spread over 32.
            lost: (lost << 8) as i32 >> 8,
            highest: body.u32()?,
            jitter: body.u32()?,
            last_sender_report: body.u32()?,
            delay: body.u32()?,
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let lost = self.lost.clamp(*LOST_RANGE.start(), *LOST_RANGE.end()) as u32 & 0xff_ffff;
        let words = [
            self.ssrc,
            u32::from(self.fraction_lost) << 24 | lost,
            self.highest,
            self.jitter,
            self.last_sender_report,
            self.delay,
        ];
        words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
    }
}
