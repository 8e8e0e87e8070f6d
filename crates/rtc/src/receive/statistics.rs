//! What a receiver knows of a source's packets (RFC 3550 sections 6.4.1, A.1, A.3 and A.8).

use crate::clock::{ntp_middle, ticks, to_middle};
use alloc::collections::VecDeque;
use voxpath_units::Time;
use voxpath_wire::rtcp::{ReportBlock, SenderReport};

/// RFC 3550 A.1: more ahead than this is another sequence.
const MAX_DROPOUT: u16 = 3000;
/// Further behind than this too.
const MAX_MISORDER: u16 = 100;
/// Words of 64 packets in which copies are recognised.
const WINDOW: usize = 32;

/// Statistics of one source.
#[derive(Debug)]
pub struct Statistics {
    hz: u32,
    /// The first sequence number, and the highest, unwrapped; none before a packet came.
    range: Option<(u64, u64)>,
    /// If the next packet has it, the source has begun another sequence.
    bad_sequence: Option<u16>,
    /// Whether packets came, 64 to a word; the last word has the highest.
    seen: VecDeque<u64>,
    received: u64,
    transit: Option<u32>,
    /// Interarrival jitter in 1/16 ticks.
    jitter: u32,
    /// Expected and received at the last report.
    reported: (u64, u64),
    last_report: Option<(u32, Time)>,
}

/// What to do with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is new, and this is its number among all of the source.
    New(u64),
    /// It came before, or is older than what is remembered.
    Copy,
    /// Its number cannot be.
    Refused,
}

impl Statistics {
    /// Of a source whose media clock has `hz` ticks a second.
    pub fn new(hz: u32) -> Self {
        Self {
            hz,
            range: None,
            bad_sequence: None,
            seen: VecDeque::new(),
            received: 0,
            transit: None,
            jitter: 0,
            reported: (0, 0),
            last_report: None,
        }
    }

    /// A packet came (RFC 3550 A.1; sources are announced, so there is no probation).
    pub fn take(&mut self, sequence: u16) -> Taken {
        let Some((_, highest)) = self.range else {
            // One cycle above zero, so that what was overtaken by the first has a number too.
            let first = (1 << 16) + u64::from(sequence);
            self.range = Some((first, first));
            self.seen.clear();
            self.seen.push_back(1 << (first % 64));
            self.received += 1;
            return Taken::New(first);
        };
        let ahead = sequence.wrapping_sub(highest as u16);
        if ahead < MAX_DROPOUT {
            self.bad_sequence = None;
            return self.mark(highest, highest + u64::from(ahead));
        }
        let behind = (highest as u16).wrapping_sub(sequence);
        if behind <= MAX_MISORDER.max(64 * (WINDOW as u16 - 1)) {
            return self.mark(highest, highest - u64::from(behind));
        }
        if self.bad_sequence == Some(sequence) {
            // Two in a row: the source has begun anew.
            let next = (highest >> 16) + 1;
            let first = (next << 16) + u64::from(sequence);
            (self.range, self.bad_sequence) = (Some((first, first)), None);
            (self.received, self.reported) = (0, (0, 0));
            self.seen.clear();
            self.seen.push_back(1 << (first % 64));
            self.received = 1;
            return Taken::New(first);
        }
        self.bad_sequence = Some(sequence.wrapping_add(1));
        Taken::Refused
    }

    /// A packet was recovered: it is new if it is none of those that came, and reports go on to count it as lost.
    pub fn recover(&mut self, sequence: u16) -> Taken {
        let Some((_, highest)) = self.range else { return Taken::Refused };
        let behind = (highest as u16).wrapping_sub(sequence);
        if behind >= 64 * (WINDOW as u16 - 1) {
            return Taken::Refused;
        }
        let (range, received) = (self.range, self.received);
        let taken = self.mark(highest, highest - u64::from(behind));
        (self.range, self.received) = (range, received);
        taken
    }

    fn mark(&mut self, highest: u64, number: u64) -> Taken {
        let (word, newest) = (number / 64, highest / 64);
        for _ in newest..word {
            if self.seen.len() == WINDOW {
                self.seen.pop_front();
            }
            self.seen.push_back(0);
        }
        let newest = newest.max(word);
        let Some(index) = (self.seen.len() as u64 - 1).checked_sub(newest - word) else {
            // What the first packet overtook is remembered too, as far as the window reaches.
            let missing = newest - word - (self.seen.len() as u64 - 1);
            if self.seen.len() + missing as usize > WINDOW {
                return Taken::Copy;
            }
            (0..missing).for_each(|_| self.seen.push_front(0));
            self.seen[0] |= 1 << (number % 64);
            return self.count(highest, number);
        };
        let (bits, bit) = (&mut self.seen[index as usize], 1_u64 << (number % 64));
        if *bits & bit != 0 {
            return Taken::Copy;
        }
        *bits |= bit;
        self.count(highest, number)
    }

    fn count(&mut self, highest: u64, number: u64) -> Taken {
        self.received += 1;
        let (first, _) = self.range.expect("a packet came before");
        self.range = Some((first.min(number), highest.max(number)));
        Taken::New(number)
    }

    /// A packet that came in order tells the jitter (RFC 3550 A.8).
    pub fn time(&mut self, now: Time, timestamp: u32) {
        let arrival = ticks(now.since(Time::ZERO), self.hz) as u32;
        let transit = arrival.wrapping_sub(timestamp);
        if let Some(before) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(before) as i32).unsigned_abs();
            self.jitter =
                self.jitter.wrapping_add(difference).wrapping_sub((self.jitter.wrapping_add(8)) >> 4);
        }
    }

    /// Packets that were expected so far, by the highest number.
    pub fn expected(&self) -> u64 {
        self.range.map_or(0, |(first, highest)| highest - first + 1)
    }

    /// Different packets that came so far.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// The highest number so far.
    pub fn highest(&self) -> Option<u64> {
        self.range.map(|(_, highest)| highest)
    }

    /// Interarrival jitter, in ticks.
    pub const fn jitter(&self) -> u32 {
        self.jitter >> 4
    }

    /// A sender report came.
    pub fn hear(&mut self, now: Time, report: &SenderReport) {
        self.last_report = Some(((report.ntp >> 16) as u32, now));
    }

    /// What to report of the source now; none if nothing has come.
    pub fn report(&mut self, now: Time, ssrc: u32) -> Option<ReportBlock> {
        let (_, highest) = self.range?;
        let (expected, received) = (self.expected(), self.received);
        let (expected_before, received_before) = core::mem::replace(&mut self.reported, (expected, received));
        let interval = expected - expected_before.min(expected);
        let lost = interval.saturating_sub(received - received_before);
        let fraction_lost = (lost * 256).checked_div(interval).unwrap_or(0).min(255) as u8;
        let cycles = (highest >> 16).wrapping_sub(1) as u32;
        let (last_sender_report, delay) = match self.last_report {
            Some((middle, at)) => (middle, to_middle(now.since(at))),
            None => (0, 0),
        };
        Some(ReportBlock {
            ssrc,
            fraction_lost,
            lost: i32::try_from(expected as i64 - received as i64).unwrap_or(i32::MAX),
            highest: cycles << 16 | (highest as u32 & 0xffff),
            jitter: self.jitter(),
            last_sender_report,
            delay,
        })
    }
}

/// The round trip that a report block tells the sender of the report that it answers (RFC 3550 section 6.4.1).
pub fn round_trip(now: Time, block: &ReportBlock) -> Option<voxpath_units::Span> {
    if block.last_sender_report == 0 {
        return None;
    }
    let units = ntp_middle(now).wrapping_sub(block.last_sender_report).wrapping_sub(block.delay);
    // A round trip below zero is one of a lying or an imprecise receiver.
    (units < 1 << 31).then(|| crate::clock::from_middle(units))
}

#[cfg(test)]
mod tests {
    use super::*;
    use voxpath_units::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn losses_and_copies_are_counted_as_rfc_3550_counts_them() {
        let mut statistics = Statistics::new(90_000);
        for sequence in [65_533, 65_534, 0, 1, 1, 65_535, 4] {
            statistics.take(sequence);
        }
        // 65533 to 4 are eight packets; 2 and 3 are missing.
        let block = statistics.report(at(0), 7).expect("packets came");
        assert_eq!((block.lost, block.fraction_lost, block.highest), (2, 64, 0x1_0004));
        assert_eq!(statistics.take(2), Taken::New((2 << 16) + 2));
        let block = statistics.report(at(0), 7).expect("packets came");
        assert_eq!((block.lost, block.fraction_lost), (1, 0));
    }

    #[test]
    fn a_jump_is_refused_once_and_then_is_a_new_sequence() {
        let mut statistics = Statistics::new(8_000);
        statistics.take(10);
        assert_eq!(statistics.take(30_000), Taken::Refused);
        assert_eq!(statistics.take(11), Taken::New((1 << 16) + 11));
        assert_eq!(statistics.take(40_000), Taken::Refused);
        assert!(matches!(statistics.take(40_001), Taken::New(_)));
        assert_eq!(statistics.expected(), 1);
    }

    #[test]
    fn what_the_first_packet_overtook_is_new() {
        let mut statistics = Statistics::new(8_000);
        for sequence in [200, 199, 100, 150, 150] {
            statistics.take(sequence);
        }
        assert_eq!((statistics.expected(), statistics.received()), (101, 4));
        assert_eq!(statistics.take(200), Taken::Copy);
    }

    #[test]
    fn jitter_is_that_of_the_appendix() {
        // Transit times in ticks of 8 kHz: 0, 8, 8, 0: differences 8, 0, 8.
        let mut statistics = Statistics::new(8_000);
        for (ms, timestamp) in [(0, 0), (21, 160), (41, 320), (60, 480)] {
            statistics.time(at(ms), timestamp);
        }
        // Integer form of A.8: 8; 8 - 1 = 7 and 0 more; 7 + 8 - 0.
        assert_eq!(statistics.jitter, 15);
    }

    #[test]
    fn a_round_trip_is_what_the_receiver_did_not_wait() {
        let block = ReportBlock {
            last_sender_report: ntp_middle(at(1_000)),
            delay: to_middle(Span::from_millis(30)),
            ..ReportBlock::default()
        };
        let trip = round_trip(at(1_130), &block).expect("a report was answered");
        assert!(trip.abs_diff(Span::from_millis(100)) < Span::from_micros(50), "{trip:?}");
        let lying = ReportBlock { delay: to_middle(Span::from_secs(9)), ..block };
        assert_eq!(round_trip(at(1_130), &lying), None);
    }
}
