//! Circuit breakers of a sender (RFC 8083): when it has to stop, whatever its rate control says.
//!
//! Each source has its own. What a breaker stopped stays silent to the end of the call: an application would have to decide to
//! go on (section 4.5). Media usability (section 4.4) is for an application to define, and is not there. Of the two answers to
//! congestion that section 4.3 leaves, to stop and to go on at a tenth of the rate for a while, the first is taken.

use alloc::collections::VecDeque;
use voxpath_units::{Span, Time};

/// Reports in turn without progress, in times of the longest of frame, round trip and reporting interval (k of section 4.2).
const STALLED: f64 = 5.0;
/// Deterministic reporting intervals without RTCP (section 4.1).
const SILENT: u64 = 3;
/// A sender may be so many times as fast as TCP (section 4.3).
const TIMES_TCP: f64 = 10.0;
/// The longest that losses are averaged over, if reports are not rarer (section 4.3).
const LONGEST: f64 = 15.0;

/// Why a source was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Media was sent, and no RTCP came (section 4.1).
    RtcpTimeout,
    /// Media was sent, and reports say that none of it comes (section 4.2).
    MediaTimeout,
    /// Ten times as much was sent as TCP would send with the same losses and round trip (section 4.3).
    Congestion,
}

impl Cause {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RtcpTimeout => "rtcp_timeout",
            Self::MediaTimeout => "media_timeout",
            Self::Congestion => "congestion",
        }
    }
}

/// Reporting intervals without their random part (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Intervals {
    /// That of the sender, with the least interval of RFC 3550: 5 s (Td).
    pub(crate) td: Span,
    /// That of the receiver (Tdr).
    pub(crate) tdr: Span,
}

/// What a report says of a source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said {
    pub(crate) now: Time,
    /// The extended highest sequence number; none if the report does not mention the source.
    pub(crate) highest: Option<u32>,
    /// Packets expected since the report before, and how many of them were lost.
    pub(crate) expected: u64,
    pub(crate) lost: f64,
    /// Packets of the source that were sent so far.
    pub(crate) sent: u32,
    /// If it is known.
    pub(crate) round_trip: Option<Span>,
}

/// The breakers of one source.
#[derive(Debug)]
pub(crate) struct Breaker {
    /// Time of a frame (Tf), and of a group of frames that begins with a key frame (G times Tf).
    frame: Span,
    group: Span,
    /// When the first packet was sent since RTCP came last.
    waiting: Option<Time>,
    highest: Option<u32>,
    /// Reports in turn that told no progress though media was sent.
    stalled: u32,
    /// The last reports that mentioned the source, the latest last.
    reports: VecDeque<Said>,
    tripped: Option<(Time, Cause)>,
}

impl Breaker {
    pub(crate) const fn new(frame: Span, group: Span) -> Self {
        Self {
            frame,
            group,
            waiting: None,
            highest: None,
            stalled: 0,
            reports: VecDeque::new(),
            tripped: None,
        }
    }

    /// When it tripped, and why.
    pub(crate) const fn tripped(&self) -> Option<(Time, Cause)> {
        self.tripped
    }

    /// A packet of the source was sent.
    pub(crate) const fn sent(&mut self, now: Time) {
        if self.waiting.is_none() {
            self.waiting = Some(now);
        }
    }

    /// RTCP came, of whatever kind.
    pub(crate) const fn heard(&mut self) {
        self.waiting = None;
    }

    /// When it trips if no RTCP comes.
    pub(crate) fn poll_timeout(&self, intervals: Intervals) -> Option<Time> {
        let waiting = self.waiting.filter(|_| self.tripped.is_none())?;
        Some(waiting + intervals.td * SILENT)
    }

    /// Time has passed.
    pub(crate) fn handle_timeout(&mut self, now: Time, intervals: Intervals) {
        if self.poll_timeout(intervals).is_some_and(|at| at <= now) {
            self.tripped = Some((now, Cause::RtcpTimeout));
        }
    }

    /// A sender or receiver report came.
    pub(crate) fn report(&mut self, said: &Said, intervals: Intervals) {
        if self.tripped.is_some() {
            return;
        }
        let trip = said.round_trip.unwrap_or(Span::ZERO);
        let was_sent = self.reports.back().is_none_or(|before| said.sent > before.sent) && said.sent > 0;
        // Sequence numbers wrap with their cycles.
        let progress = match (said.highest, self.highest) {
            (Some(highest), Some(before)) => highest.wrapping_sub(before) as i32 > 0,
            (highest, _) => highest.is_some(),
        };
        match progress {
            true => (self.highest, self.stalled) = (said.highest, 0),
            false => self.stalled += u32::from(was_sent),
        }
        if self.stalled >= media_timeout(self.frame, trip, intervals) {
            self.tripped = Some((said.now, Cause::MediaTimeout));
            return;
        }
        let window = congestion_interval(self.group, trip, intervals);
        self.reports.push_back(*said);
        while self.reports.len() > window + 1 {
            self.reports.pop_front();
        }
        if self.reports.len() == window + 1 && self.is_congestion() {
            self.tripped = Some((said.now, Cause::Congestion));
        }
    }

    /// Whether packets were sent ten times as fast as TCP would send packets of the same size. The size of the throughput
    /// equation is on both sides, so packets are compared and not octets.
    fn is_congestion(&self) -> bool {
        let (Some(first), Some(last)) = (self.reports.front(), self.reports.back()) else { return false };
        let Some(trip) = last.round_trip.map(Span::as_secs_f64).filter(|&trip| trip > 0.0) else {
            return false;
        };
        let later = self.reports.iter().skip(1);
        let (expected, lost) =
            later.fold((0.0, 0.0), |(e, l), said| (e + said.expected as f64, l + said.lost));
        let seconds = last.now.since(first.now).as_secs_f64();
        let rate = f64::from(last.sent.wrapping_sub(first.sent)) / seconds;
        expected > 0.0 && lost > 0.0 && rate > TIMES_TCP * tcp_rate(trip, lost / expected)
    }
}

/// Reports without progress that are one too many (section 4.2).
fn media_timeout(frame: Span, trip: Span, intervals: Intervals) -> u32 {
    let longest = frame.max(trip).max(intervals.tdr);
    libm::ceil(STALLED * longest.as_secs_f64() / intervals.tdr.as_secs_f64()) as u32
}

/// Reports that losses are averaged over (CB_INTERVAL of section 4.3).
fn congestion_interval(group: Span, trip: Span, Intervals { td, tdr }: Intervals) -> usize {
    let [td, tdr] = [td, tdr].map(Span::as_secs_f64);
    let asked = (10.0 * group.as_secs_f64()).max(10.0 * trip.as_secs_f64()).max(3.0 * tdr);
    libm::ceil(3.0 * asked.min(LONGEST.max(3.0 * td)) / (3.0 * tdr)) as usize
}

/// Packets a second of a TCP with this round trip, in seconds, and this share of losses: the simplified equation of section 4.3,
/// with each packet acknowledged.
fn tcp_rate(trip: f64, lost: f64) -> f64 {
    1.0 / (trip * libm::sqrt(2.0 * lost / 3.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVALS: Intervals = Intervals { td: Span::from_secs(5), tdr: Span::from_secs(1) };

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// A report each second: so many packets sent and expected in each, so many lost.
    fn reports(
        breaker: &mut Breaker,
        seconds: core::ops::RangeInclusive<u64>,
        pps: u32,
        lost: f64,
        trip: Span,
    ) {
        for s in seconds {
            let sent = s as u32 * pps;
            let (expected, lost) = (pps.into(), lost * f64::from(pps));
            let said = Said { now: at(s), highest: Some(sent), expected, lost, sent, round_trip: Some(trip) };
            breaker.report(&said, INTERVALS);
        }
    }

    #[test]
    fn windows_are_those_of_the_document() {
        // max(5 * 1) / 1; a round trip of 1.5 s: ceil(7.5).
        assert_eq!(media_timeout(ms(33), ms(100), INTERVALS), 5);
        assert_eq!(media_timeout(ms(33), ms(1_500), INTERVALS), 8);
        // max(0.33, 1, 3) s; max(0.33, 5, 3) s; max(100, ...) s, of which 15 count.
        assert_eq!(congestion_interval(ms(33), ms(100), INTERVALS), 3);
        assert_eq!(congestion_interval(ms(33), ms(500), INTERVALS), 5);
        assert_eq!(congestion_interval(Span::from_secs(10), ms(100), INTERVALS), 15);
        // Reports every 20 s: ceil(3 * min(60, 60) / 60).
        let rare = Intervals { td: Span::from_secs(20), tdr: Span::from_secs(20) };
        assert_eq!(congestion_interval(ms(33), ms(100), rare), 3);
    }

    #[test]
    fn tcp_at_six_percent_and_a_tenth_of_a_second_sends_fifty_packets_a_second() {
        assert!((tcp_rate(0.1, 0.06) - 50.0).abs() < 1e-9);
        for (pps, trips) in [(499, false), (501, true)] {
            let mut breaker = Breaker::new(ms(33), ms(33));
            reports(&mut breaker, 1..=20, pps, 0.06, ms(100));
            assert_eq!(breaker.tripped().is_some(), trips, "{pps} packets a second");
        }
    }

    #[test]
    fn congestion_counts_once_it_has_lasted_for_a_window() {
        let mut breaker = Breaker::new(ms(33), ms(33));
        reports(&mut breaker, 1..=10, 600, 0.0, ms(100));
        assert_eq!(breaker.tripped(), None);
        // Ten times TCP is 600 packets a second at 2/3 of 0.0417: 0.1 in one of three reports is 0.033, in two 0.067.
        reports(&mut breaker, 11..=11, 600, 0.1, ms(100));
        assert_eq!(breaker.tripped(), None);
        reports(&mut breaker, 12..=12, 600, 0.1, ms(100));
        assert_eq!(breaker.tripped(), Some((at(12), Cause::Congestion)));
    }

    #[test]
    fn media_that_does_not_come_is_noticed_by_the_fifth_report() {
        for highest in [Some(70), None] {
            let mut breaker = Breaker::new(ms(33), ms(33));
            for s in 1..=6 {
                let said = Said {
                    now: at(s),
                    highest,
                    expected: 0,
                    lost: 0.0,
                    sent: 70 + 30 * s as u32,
                    round_trip: Some(ms(100)),
                };
                breaker.report(&said, INTERVALS);
                // The first report with a number is progress; one that does not mention the source is none.
                let trips = if highest.is_some() { s >= 6 } else { s >= 5 };
                assert_eq!(breaker.tripped().is_some(), trips, "report {s}");
            }
            assert_eq!(breaker.tripped().map(|it| it.1), Some(Cause::MediaTimeout));
        }
    }

    #[test]
    fn a_source_that_is_silent_makes_no_progress_and_goes_on() {
        let mut breaker = Breaker::new(ms(20), ms(20));
        for s in 1..=30 {
            let said =
                Said { now: at(s), highest: Some(9), expected: 0, lost: 0.0, sent: 10, round_trip: None };
            breaker.report(&said, INTERVALS);
        }
        assert_eq!(breaker.tripped(), None);
    }

    #[test]
    fn without_rtcp_it_stops_after_three_intervals_of_five_seconds() {
        let mut breaker = Breaker::new(ms(33), ms(33));
        assert_eq!(breaker.poll_timeout(INTERVALS), None, "nothing was sent");
        breaker.sent(at(1));
        breaker.sent(at(2));
        assert_eq!(breaker.poll_timeout(INTERVALS), Some(at(16)));
        breaker.heard();
        breaker.sent(at(10));
        breaker.handle_timeout(at(24), INTERVALS);
        assert_eq!(breaker.tripped(), None);
        breaker.handle_timeout(at(25), INTERVALS);
        assert_eq!(breaker.tripped(), Some((at(25), Cause::RtcpTimeout)));
        assert_eq!(breaker.poll_timeout(INTERVALS), None);
    }
}
