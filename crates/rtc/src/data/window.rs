//! The congestion window of a data channel's association.

use super::{COMMON, PACKET};
use voxpath_units::{Span, Time};

/// RFC 9260 section 7.2.1, with the largest DATA chunk as PMDCS; what a window counts are octets of messages and headers of chunks.
pub(super) const CHUNK: u32 = PACKET - COMMON as u32;
const INITIAL_WINDOW: u32 = 4 * CHUNK;
/// A window is no smaller after a loss (section 7.2.3).
const LEAST_THRESHOLD: u32 = 4 * CHUNK;

/// How much may be on its way (RFC 9260 section 7.2).
#[derive(Debug)]
pub(super) struct Window {
    pub(super) octets: u32,
    pub(super) threshold: u32,
    /// Acknowledged since the window grew, where it grows by one chunk in a round trip.
    acknowledged: u32,
    /// What is on its way.
    pub(super) flight: u32,
    /// A loss was repaired by reports: until the chunk before this index has come, another one does not count.
    pub(super) recovers: Option<u64>,
    /// When a chunk left last.
    left: Option<Time>,
}

impl Window {
    pub(super) const fn new() -> Self {
        let (octets, threshold) = (INITIAL_WINDOW, u32::MAX);
        Self { octets, threshold, acknowledged: 0, flight: 0, recovers: None, left: None }
    }

    /// Section 6.1, rule B: it may be exceeded by less than a chunk.
    pub(super) const fn has_room(&self) -> bool {
        self.flight < self.octets
    }

    /// A chunk leaves. After an idle time it begins again (section 7.2.1).
    pub(super) fn leaves(&mut self, now: Time, octets: u32, rto: Span) {
        if self.flight == 0 && self.left.is_some_and(|left| now.since(left) > rto) {
            self.octets = (self.octets / 2).max(INITIAL_WINDOW).min(self.octets);
        }
        (self.flight, self.left) = (self.flight + octets, Some(now));
    }

    /// So much came, when `flight` was on its way.
    pub(super) fn came(&mut self, octets: u32, flight: u32, advances: bool) {
        if self.octets <= self.threshold {
            let grows = advances && self.recovers.is_none() && flight >= self.octets;
            self.octets += if grows { octets.min(CHUNK) } else { 0 };
            return;
        }
        self.acknowledged += octets;
        if self.acknowledged >= self.octets && flight >= self.octets {
            self.acknowledged -= self.octets;
            self.octets += CHUNK;
        }
        if self.flight == 0 {
            self.acknowledged = 0;
        }
    }

    /// Reports miss a chunk, when all before `end` had left.
    pub(super) fn misses(&mut self, end: u64) {
        if self.recovers.is_none() {
            self.threshold = (self.octets / 2).max(LEAST_THRESHOLD);
            (self.octets, self.acknowledged, self.recovers) = (self.threshold, 0, Some(end));
        }
    }

    /// Nothing came for a time-out.
    pub(super) fn expires(&mut self) {
        self.threshold = (self.octets / 2).max(LEAST_THRESHOLD);
        (self.octets, self.acknowledged, self.recovers) = (CHUNK, 0, None);
    }
}
