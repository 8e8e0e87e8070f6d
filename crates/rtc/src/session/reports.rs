//! What a receiver reports on single packets: transport-wide feedback, and RFC 8888.

use crate::clock::{self, ntp_middle};
use crate::rate::{Arrival, Needs, ReportKind};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use voxpath_net::Ecn;
use voxpath_units::{Span, Time};
use voxpath_wire::rtcp::congestion::{Arrived, StreamFeedback};
use voxpath_wire::rtcp::{CongestionFeedback, RtcpPacket, TransportFeedback};

/// Packets in one report: it fits an Ethernet frame.
const MOST: usize = 500;

/// When a packet came and how it was marked, if it did.
type Came = Option<(Time, Ecn)>;

/// Arrivals that wait to be reported.
#[derive(Debug)]
pub(crate) struct Reporter {
    needs: Needs,
    /// Of each source its own sequence; transport-wide all of them have one, as of source 0.
    arrivals: BTreeMap<u32, Run>,
    /// When the next report is due; none if nothing has come since the last one.
    due: Option<Time>,
    last: Time,
    bytes: u64,
    number: u8,
}

/// Arrivals of one sequence.
#[derive(Debug, Default)]
struct Run {
    /// The next number that no report covers; none before anything came.
    next: Option<u64>,
    came: Vec<(u64, Time, Ecn)>,
}

impl Reporter {
    pub(crate) fn new(needs: Needs, start: Time) -> Self {
        Self { needs, arrivals: BTreeMap::new(), due: None, last: start, bytes: 0, number: 0 }
    }

    /// A packet of a source came: its transport-wide number, or its number in that source. This end may send at `own_bps`, if it sends.
    pub(crate) fn take(
        &mut self,
        now: Time,
        source: u32,
        part: u16,
        ecn: Ecn,
        bytes: u32,
        own_bps: Option<u64>,
    ) {
        let of_all = self.needs.report != ReportKind::Ccfb;
        let run = self.arrivals.entry(if of_all { 0 } else { source }).or_default();
        // One cycle above zero, so that what was overtaken by the first has a number too.
        let near = run.came.last().map(|&(number, ..)| number).or(run.next);
        let part = u64::from(part);
        let number = near.map_or((1 << 16) + part, |near| clock::unwrap(near, part, 16));
        run.next.get_or_insert(number);
        run.came.push((number, now, ecn));
        self.bytes += u64::from(bytes);
        if self.due.is_none() {
            let took = now.since(self.last).as_secs_f64();
            let bps = if took > 0.0 { self.bytes as f64 * 8.0 / took } else { 0.0 };
            self.due = Some((self.last + self.needs.every.interval(bps as u64, own_bps)).max(now));
        }
    }

    pub(crate) const fn poll_timeout(&self) -> Option<Time> {
        self.due
    }

    /// The reports that are due at `now`; transport-wide ones name the source `media`, for show.
    pub(crate) fn poll(&mut self, now: Time, sender: u32, media: u32) -> Vec<RtcpPacket> {
        let mut reports = Vec::new();
        if self.due.is_none_or(|due| due > now) {
            return reports;
        }
        (self.due, self.last, self.bytes) = (None, now, 0);
        match self.needs.report {
            ReportKind::TransportWide => {
                let run = self.arrivals.entry(0).or_default();
                while let Some((base, run)) = run.cut() {
                    let feedback = transport_wide(sender, media, self.number, base, &run);
                    reports.push(RtcpPacket::TransportFeedback(feedback));
                    self.number = self.number.wrapping_add(1);
                }
            }
            ReportKind::Ccfb => loop {
                let mut streams = Vec::new();
                for (&ssrc, run) in &mut self.arrivals {
                    streams.extend(run.cut().map(|(base, run)| congestion(now, ssrc, base, &run)));
                }
                if streams.is_empty() {
                    break;
                }
                let feedback = CongestionFeedback { sender, streams, timestamp: ntp_middle(now) };
                reports.push(RtcpPacket::CongestionFeedback(feedback));
            },
            ReportKind::None | ReportKind::Remb => {}
        }
        reports
    }
}

impl Run {
    /// Takes out what the next report covers: the number that it begins with, and what came of each from there on.
    fn cut(&mut self) -> Option<(u64, Vec<Came>)> {
        let first = self.came.iter().map(|&(number, ..)| number).min()?;
        let base = self.next.map_or(first, |next| next.min(first));
        // What is too far away to be in one report with the others begins its own, so each report takes something out.
        let base = if first - base >= MOST as u64 { first } else { base };
        let end = base + MOST as u64;
        let mut found = Vec::new();
        self.came.retain(|&(number, at, ecn)| {
            let inside = number < end;
            if inside {
                let index = (number - base) as usize;
                if found.len() <= index {
                    found.resize(index + 1, None);
                }
                found[index].get_or_insert((at, ecn));
            }
            !inside
        });
        let next = base + found.len() as u64;
        self.next = Some(self.next.map_or(next, |known| known.max(next)));
        Some((base, found))
    }
}

fn transport_wide(sender: u32, media: u32, number: u8, base: u64, run: &[Came]) -> TransportFeedback {
    // Whole units of the format, so that rounding does not add up.
    let units = |at: Time| (at.as_nanos() + TransportFeedback::DELTA_NS / 2) / TransportFeedback::DELTA_NS;
    const PER_REFERENCE: u64 = TransportFeedback::REFERENCE_NS / TransportFeedback::DELTA_NS;
    let first = run.iter().flatten().next().map_or(0, |&(at, _)| units(at));
    let reference = first / PER_REFERENCE;
    let mut last = reference * PER_REFERENCE;
    let deltas = run.iter().map(|came| {
        let &(at, _) = came.as_ref()?;
        let delta = units(at) as i64 - last as i64;
        // Eight seconds apart in one report: as if it had not come, as it cannot be said when.
        let delta = i16::try_from(delta).ok()?;
        last = last.wrapping_add_signed(delta.into());
        Some(delta)
    });
    let deltas = deltas.collect();
    // 24 bits with a sign.
    let reference = ((reference as u32) << 8) as i32 >> 8;
    TransportFeedback { sender, media, base: base as u16, reference, number, deltas }
}

fn congestion(now: Time, ssrc: u32, base: u64, run: &[Came]) -> StreamFeedback {
    let packets = run.iter().map(|came| {
        came.map(|(at, ecn)| {
            let units = (u128::from(now.since(at).as_nanos()) << 10) / 1_000_000_000;
            Arrived { ecn, offset: u16::try_from(units).unwrap_or(u16::MAX).min(Arrived::TOO_EARLY) }
        })
    });
    StreamFeedback { ssrc, begin: base as u16, packets: packets.collect() }
}

/// Reads reports at the sender.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The reference time of the last transport-wide feedback, unwrapped.
    reference: Option<u64>,
    /// The time of the last report of RFC 8888, unwrapped, in 1/65536 s.
    timestamp: Option<u64>,
}

impl Reader {
    /// What transport-wide feedback says, by numbers near `newest`.
    pub(crate) fn transport_wide(
        &mut self,
        feedback: &TransportFeedback,
        newest: u64,
    ) -> Vec<(u64, Option<Arrival>)> {
        let part = u64::from(feedback.reference as u32 & 0xff_ffff);
        let reference = self.reference.map_or(part, |near| clock::unwrap(near, part, 24));
        self.reference = Some(reference);
        let base = clock::unwrap(newest, feedback.base.into(), 16);
        let mut at = reference as i64 * TransportFeedback::REFERENCE_NS as i64;
        let results = (base..).zip(&feedback.deltas).map(|(number, delta)| {
            let arrival = delta.map(|delta| {
                at += i64::from(delta) * TransportFeedback::DELTA_NS as i64;
                Arrival { at: Time::from_nanos(at.max(0) as u64), ce: false }
            });
            (number, arrival)
        });
        results.collect()
    }

    /// What a report of RFC 8888 says of one source, by its own sequence numbers.
    pub(crate) fn congestion(
        &mut self,
        timestamp: u32,
        stream: &StreamFeedback,
    ) -> Vec<(u16, Option<Arrival>)> {
        // A cycle above zero: arrivals are before the report.
        let part = u64::from(timestamp);
        let units = self.timestamp.map_or((1 << 32) + part, |near| clock::unwrap(near, part, 32));
        self.timestamp = Some(units);
        let reported = ((u128::from(units) * 1_000_000_000) >> 16) as u64;
        // What came at an unknown time is neither lost nor tells a delay.
        let known = |arrived: &Option<Arrived>| arrived.is_none_or(|it| it.offset != Arrived::UNKNOWN);
        let packets = (0_u16..).zip(&stream.packets).filter(|(_, arrived)| known(arrived));
        let results = packets.map(|(i, arrived)| {
            // Of what came too early to say when, the latest time that it can be.
            let arrival = arrived.map(|arrived| {
                let before = Span::from_nanos(((u128::from(arrived.offset) * 1_000_000_000) >> 10) as u64);
                let at = Time::from_nanos(reported.saturating_sub(before.as_nanos()));
                Arrival { at, ce: arrived.ecn == Ecn::Ce }
            });
            (stream.begin.wrapping_add(i), arrival)
        });
        results.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::Every;
    use alloc::vec;

    #[test]
    fn what_came_at_a_time_that_cannot_be_said_is_not_lost() {
        let came = |offset| Some(Arrived { ecn: Ecn::NotEct, offset });
        let packets = vec![came(1024), None, came(Arrived::UNKNOWN), came(Arrived::TOO_EARLY)];
        let stream = StreamFeedback { ssrc: 2, begin: 65_534, packets };
        let said = Reader::default().congestion(10 << 16, &stream);
        let [first, lost, early] = said[..] else { panic!("{said:?}") };
        let (Some(before), Some(arrival)) = (first.1, early.1) else { panic!("{said:?}") };
        assert_eq!((first.0, lost, early.0), (65_534, (65_535, None), 1));
        // 1024 and 8190 units of 1/1024 s before the report.
        assert_eq!(before.at.since(arrival.at).as_nanos(), (8190 - 1024) * 1_000_000_000 / 1024);
    }

    /// What a receiver that misses so many packets in a row reports of those behind them.
    fn after_a_gap_of(missing: u16, report: ReportKind) -> Vec<RtcpPacket> {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let mut reporter = Reporter::new(Needs::of(report, Every::Span(Span::from_millis(100))), at(0));
        reporter.take(at(0), 2, 7, Ecn::NotEct, 100, None);
        assert_eq!(reporter.poll(at(100), 1, 2).len(), 1);
        for i in 0..3 {
            reporter.take(at(10_000), 2, 8 + missing + i, Ecn::NotEct, 100, None);
        }
        reporter.poll(at(10_100), 1, 2)
    }

    #[test]
    fn every_gap_is_reported_once_and_what_came_behind_it_too() {
        for report in [ReportKind::TransportWide, ReportKind::Ccfb] {
            for missing in [0, 1, 497, 498, 499, 500, 501, 5_000] {
                let reports = after_a_gap_of(missing, report);
                let came = reports.iter().map(|report| match report {
                    RtcpPacket::TransportFeedback(feedback) => feedback.deltas.iter().flatten().count(),
                    RtcpPacket::CongestionFeedback(feedback) => {
                        feedback.streams.iter().map(|stream| stream.packets.iter().flatten().count()).sum()
                    }
                    other => panic!("{other:?}"),
                });
                assert_eq!(came.sum::<usize>(), 3, "{missing} missing: {reports:?}");
            }
        }
    }
}
