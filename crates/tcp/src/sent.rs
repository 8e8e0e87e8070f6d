//! When each outstanding octet was sent, for round-trip times.

use alloc::collections::VecDeque;
use core::ops::Range;
use voxpath_units::{Span, Time};

/// Outstanding segments, oldest first; together they are SND.UNA..SND.NXT.
#[derive(Debug, Default)]
pub(crate) struct SentSegments {
    segments: VecDeque<Sent>,
}

#[derive(Debug)]
struct Sent {
    end: u64,
    at: Time,
    retransmitted: bool,
}

impl SentSegments {
    /// New octets up to `end` were sent.
    pub(crate) fn push(&mut self, end: u64, now: Time) {
        self.segments.push_back(Sent { end, at: now, retransmitted: false });
    }

    /// These octets were sent again.
    pub(crate) fn mark_retransmitted(&mut self, range: Range<u64>) {
        let first = self.segments.partition_point(|sent| sent.end <= range.start);
        for sent in self.segments.range_mut(first..) {
            sent.retransmitted = true;
            if sent.end >= range.end {
                break;
            }
        }
    }

    /// Everything below `una` is acknowledged: the round-trip time that this shows.
    ///
    /// None if a segment among them had been sent twice (Karn's rule, RFC 6298 section 3): then the
    /// acknowledgment may answer the repair, and the segments behind it have waited at the receiver.
    pub(crate) fn acknowledge(&mut self, una: u64, now: Time) -> Option<Span> {
        let mut newest = None;
        let mut ambiguous = false;
        while let Some(sent) = self.segments.pop_front_if(|sent| sent.end <= una) {
            ambiguous |= sent.retransmitted;
            newest = Some(sent.at);
        }
        newest.filter(|_| !ambiguous).map(|at| now - at)
    }
}
