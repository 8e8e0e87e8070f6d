//! What was sent, kept until a report covers it.

use super::{PacketResult, Sent};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};

/// How long a packet is remembered (libwebrtc's `kSendTimeHistoryWindow`).
const REMEMBERED: Span = Span::from_secs(60);

/// What a report says of a packet that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When, on the receiver's clock.
    pub at: Time,
    /// With the mark "congestion experienced".
    pub ce: bool,
}

/// Packets that were sent, by their number.
#[derive(Debug, Default)]
pub struct History {
    /// Those from `first` on, in the order of their numbers; what has arrived leaves a gap.
    packets: VecDeque<Option<Entry>>,
    first: u64,
    /// Above every number that a report covers.
    unreported: u64,
    in_flight: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    sent: Time,
    bytes: u32,
    probe: Option<u32>,
    was_missing: bool,
}

impl History {
    /// A packet is sent; `seq` is above that of every packet before. Tells what a control is told.
    pub fn send(&mut self, now: Time, seq: u64, bytes: u32, probe: Option<u32>) -> Sent {
        self.forget(now);
        if self.packets.is_empty() {
            self.first = seq;
        }
        let next = self.first + self.packets.len() as u64;
        debug_assert!(seq >= next, "numbers grow");
        self.packets.extend((next..seq).map(|_| None));
        self.packets.push_back(Some(Entry { sent: now, bytes, probe, was_missing: false }));
        self.in_flight += u64::from(bytes);
        Sent { now, seq, bytes, probe, in_flight: self.in_flight }
    }

    /// A report covers these packets: those that it says something new of, in the order of sending.
    ///
    /// A packet that is reported as missing may arrive after all, as another report says; one that has arrived is reported once. Numbers
    /// that were never sent, and those that are forgotten, are passed over.
    pub fn report(&mut self, packets: impl IntoIterator<Item = (u64, Option<Arrival>)>) -> Vec<PacketResult> {
        let mut results = Vec::new();
        for (seq, arrival) in packets {
            let Some(slot) = self.slot(seq) else { continue };
            let Some(entry) = *slot else { continue };
            if arrival.is_none() && entry.was_missing {
                continue;
            }
            self.land(seq);
            if let Some(slot) = self.slot(seq) {
                *slot = arrival.is_none().then_some(Entry { was_missing: true, ..entry });
            }
            results.push(PacketResult {
                seq,
                sent: entry.sent,
                bytes: entry.bytes,
                arrival: arrival.map(|arrival| arrival.at),
                ce: arrival.is_some_and(|arrival| arrival.ce),
                probe: entry.probe,
                was_missing: entry.was_missing,
            });
        }
        results.sort_by_key(|result| result.seq);
        self.trim();
        results
    }

    /// Bytes sent after the last packet that a report covers. What was sent before it and is in no report, because that was lost, is on
    /// its way no longer.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// A report covers a packet: neither it nor what was sent before is on its way.
    fn land(&mut self, seq: u64) {
        for seq in self.unreported.max(self.first)..=seq {
            let bytes = self.slot(seq).and_then(|slot| slot.as_ref()).map_or(0, |entry| entry.bytes);
            self.in_flight -= u64::from(bytes);
        }
        self.unreported = self.unreported.max(seq + 1);
    }

    fn slot(&mut self, seq: u64) -> Option<&mut Option<Entry>> {
        let index = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        self.packets.get_mut(index)
    }

    /// What was sent too long ago is no longer on its way.
    fn forget(&mut self, now: Time) {
        while let Some(Some(entry)) = self.packets.front() {
            if now.since(entry.sent) <= REMEMBERED {
                break;
            }
            if self.first >= self.unreported {
                self.in_flight -= u64::from(entry.bytes);
            }
            self.packets.pop_front();
            self.first += 1;
            self.trim();
        }
    }

    fn trim(&mut self) {
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn came(ms: u64) -> Option<Arrival> {
        Some(Arrival { at: at(ms), ce: false })
    }

    #[test]
    fn a_packet_is_reported_once_and_a_missing_one_may_still_arrive() {
        let mut history = History::default();
        for seq in 10..14 {
            history.send(at(seq), seq, 100, None);
        }
        assert_eq!(history.in_flight(), 400);
        let found = history.report([(12, came(50)), (10, came(40)), (11, None)]);
        let seen: Vec<_> = found.iter().map(|result| (result.seq, result.sent, result.arrival)).collect();
        assert_eq!(seen, [(10, at(10), Some(at(40))), (11, at(11), None), (12, at(12), Some(at(50)))]);
        assert_eq!(history.in_flight(), 100);
        assert!(history.report([(10, came(40)), (11, None), (12, None)]).is_empty());
        let [late] = history.report([(11, came(60))])[..] else { panic!("one packet") };
        assert_eq!((late.seq, late.was_missing), (11, true));
        assert_eq!(history.in_flight(), 100);
        assert!(history.report([(0, came(1)), (14, came(1)), (u64::MAX, None)]).is_empty());
    }

    #[test]
    fn what_a_lost_report_covered_is_not_on_its_way() {
        let mut history = History::default();
        for seq in 0..10 {
            history.send(at(seq), seq, 100, None);
        }
        history.report([(6, came(50))]);
        assert_eq!(history.in_flight(), 300);
        // It may still be reported.
        assert_eq!(history.report([(2, came(40)), (9, None)]).len(), 2);
        assert_eq!(history.in_flight(), 0);
        history.send(at(20), 10, 100, None);
        assert_eq!(history.in_flight(), 100);
    }

    #[test]
    fn what_nobody_reports_is_forgotten() {
        let mut history = History::default();
        history.send(at(0), 0, 100, None);
        history.send(at(30_000), 7, 100, None);
        history.send(at(60_001), 8, 100, None);
        assert_eq!(history.in_flight(), 200);
        assert!(history.report([(0, came(1))]).is_empty());
        assert_eq!(history.report([(7, came(1))]).len(), 1);
    }
}
