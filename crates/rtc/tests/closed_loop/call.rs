//! A sender of video, a pacer, a receiver that reports, and the path between them, in virtual time.

use crate::network::{Bottleneck, Path};
use std::collections::{BTreeMap, VecDeque};
use voxpath_rtc::rate::{
    Arrival, Arrived, Bounds, Feedback, History, Probe, RateControl, RateSettings, ReceiverEstimator, Report,
    ReportKind, SendQueue, Value,
};
use voxpath_units::{Span, Time};

const FRAME: Span = Span::from_nanos(1_000_000_000 / 30);
const PACKET: u32 = 1200;
/// RTP, its extensions, and the payload's own header.
const HEADER: u32 = 24;
/// Media that has waited longer is discarded.
const STALE: Span = Span::from_secs(2);
const SAMPLE: Span = Span::from_millis(200);

/// What an end does to the other, beside what the path does.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(crate) path: Path,
    pub(crate) bounds: Bounds,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// Most that the source makes, bits per second; above it the sender is limited by its application.
    pub(crate) source_most_bps: u64,
    /// Of the target, what the source makes.
    pub(crate) encoder: f64,
    /// The receiver's clock gains this many parts in a million.
    pub(crate) skew_ppm: i64,
    /// No report arrives in these seconds.
    pub(crate) silent: std::ops::Range<u64>,
    /// The receiver reports whatever comes to its mind.
    pub(crate) liar: bool,
    /// The route is known to change at this second.
    pub(crate) route_change: Option<u64>,
}

impl Setting {
    pub(crate) fn of(capacity: &[(u64, u64)], seconds: u64) -> Self {
        Self {
            path: Path::of(capacity),
            bounds: Bounds { min_bps: 50_000, start_bps: 300_000, max_bps: 5_000_000 },
            seconds,
            seed: 1,
            source_most_bps: u64::MAX,
            encoder: 1.0,
            skew_ppm: 0,
            silent: 0..0,
            liar: false,
            route_change: None,
        }
    }
}

/// What was seen in 200 ms.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample {
    pub(crate) at_s: f64,
    pub(crate) target_bps: f64,
    pub(crate) received_bps: f64,
    pub(crate) queueing_ms: f64,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
}

/// What was seen of a call.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) samples: Vec<Sample>,
    pub(crate) lowest_bps: u64,
    pub(crate) highest_bps: u64,
    pub(crate) probes: Vec<(f64, u64)>,
}

impl Seen {
    fn within(&self, seconds: std::ops::Range<u64>) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |s| (seconds.start as f64..seconds.end as f64).contains(&s.at_s))
    }

    pub(crate) fn mean(&self, seconds: std::ops::Range<u64>, of: impl Fn(&Sample) -> f64) -> f64 {
        let (sum, n) = self.within(seconds).fold((0.0, 0.0), |(sum, n), s| (sum + of(s), n + 1.0));
        sum / n
    }

    pub(crate) fn target_kbps(&self, seconds: std::ops::Range<u64>) -> f64 {
        self.mean(seconds, |s| s.target_bps / 1e3)
    }

    pub(crate) fn received_kbps(&self, seconds: std::ops::Range<u64>) -> f64 {
        self.mean(seconds, |s| s.received_bps / 1e3)
    }

    pub(crate) fn queueing_ms(&self, seconds: std::ops::Range<u64>) -> f64 {
        self.mean(seconds, |s| s.queueing_ms)
    }

    pub(crate) fn loss(&self, seconds: std::ops::Range<u64>) -> f64 {
        let (lost, sent) = self.within(seconds).fold((0, 0), |(l, s), x| (l + x.lost, s + x.sent));
        lost as f64 / sent.max(1) as f64
    }

    /// Seconds from `from` until the target has been within these bounds, in kbit/s, for a second.
    pub(crate) fn settles(&self, from: u64, kbps: std::ops::RangeInclusive<f64>) -> Option<f64> {
        let mut since = None;
        for sample in self.samples.iter().filter(|s| s.at_s >= from as f64) {
            if !kbps.contains(&(sample.target_bps / 1e3)) {
                since = None;
            }
            let began = *since.get_or_insert(sample.at_s);
            if kbps.contains(&(sample.target_bps / 1e3)) && sample.at_s - began >= 1.0 {
                return Some(began - from as f64);
            }
        }
        None
    }

    /// A line for each second, to look at.
    pub(crate) fn print(&self, title: &str) {
        println!("{title}");
        for s in self.samples.iter().step_by(5) {
            println!(
                "{:6.1} s  target {:7.0}  received {:7.0} kbit/s  queue {:5.0} ms  lost {}",
                s.at_s,
                s.target_bps / 1e3,
                s.received_bps / 1e3,
                s.queueing_ms,
                s.lost
            );
        }
        println!("probes {:?}", self.probes);
    }
}

#[derive(Debug)]
enum Event {
    Frame,
    Send,
    Arrive { seq: u64, sent: Time, bytes: u32, ce: bool },
    ReportDue,
    Reports(Vec<(u64, Option<Arrival>)>),
    ReceiverReport { expected: u64, lost: u64 },
    Remb(u64),
    ReceiverTimer,
    ReceiverReportDue,
    Timer,
    Sample,
}

/// A call under way.
#[derive(Debug)]
struct Call {
    setting: Setting,
    settings: RateSettings,
    control: Box<dyn RateControl>,
    estimator: Option<Box<dyn ReceiverEstimator>>,
    link: Bottleneck,
    events: BTreeMap<(Time, u64), Event>,
    tickets: u64,
    history: History,
    queue: VecDeque<(Time, u32)>,
    next_seq: u64,
    may_send_at: Time,
    probing: VecDeque<(Probe, u32, Time)>,
    /// At the receiver: what arrived since the last report, and up to where was reported.
    arrived: BTreeMap<u64, Arrival>,
    reported: u64,
    received_bytes: u64,
    /// Packets received and lost since the last receiver report.
    rr: (u64, u64),
    sample: Sample,
    seen: Seen,
}

/// Runs a call.
pub(crate) fn run(settings: &RateSettings, setting: &Setting) -> Seen {
    let start = Time::ZERO;
    let mut call = Call {
        settings: settings.clone(),
        control: settings.sender(start, setting.bounds),
        estimator: settings.receiver(start, setting.bounds),
        link: Bottleneck::new(setting.path.clone(), setting.seed),
        setting: setting.clone(),
        events: BTreeMap::new(),
        tickets: 0,
        history: History::default(),
        queue: VecDeque::new(),
        next_seq: 0,
        may_send_at: start,
        probing: VecDeque::new(),
        arrived: BTreeMap::new(),
        reported: 0,
        received_bytes: 0,
        rr: (0, 0),
        sample: Sample::default(),
        seen: Seen { lowest_bps: u64::MAX, ..Seen::default() },
    };
    call.run();
    call.seen
}

impl Call {
    fn at(&mut self, at: Time, event: Event) {
        self.tickets += 1;
        self.events.insert((at, self.tickets), event);
    }

    fn run(&mut self) {
        let start = Time::ZERO;
        self.at(start, Event::Frame);
        self.at(start, Event::ReportDue);
        self.at(start + Span::from_secs(1), Event::ReceiverReportDue);
        self.at(start + SAMPLE, Event::Sample);
        let end = start + Span::from_secs(self.setting.seconds);
        let mut steps = 0_u64;
        let mut route_change = self.setting.route_change;
        while let Some(((now, _), event)) = self.events.pop_first() {
            if now > end {
                break;
            }
            steps += 1;
            assert!(
                steps < 3_000_000 * self.setting.seconds.max(10) / 10,
                "no livelock, {:?}",
                self.settings
            );
            if route_change.is_some_and(|s| now >= start + Span::from_secs(s)) {
                route_change = None;

                self.control.on_route_change(now);
            }
            self.handle(now, event);
            self.drain(now);
        }
    }

    /// What a session does after each input.
    fn drain(&mut self, now: Time) {
        while let Some(probe) = self.control.poll_probe() {
            assert!(probe.bps > 0 && probe.packets > 0, "{probe:?}");
            self.seen.probes.push((now.as_secs_f64(), probe.bps));
            self.probing.push_back((probe, 0, Time::MAX));
            self.at(now, Event::Send);
        }
        let allowance = self.control.allowance();
        self.seen.lowest_bps = self.seen.lowest_bps.min(allowance.target_bps);
        self.seen.highest_bps = self.seen.highest_bps.max(allowance.target_bps);
        if let Some(at) = self.control.poll_timeout() {
            // As a session does: one entry, at the earliest deadline.
            self.events.retain(|_, event| !matches!(event, Event::Timer));
            self.at(at.max(now), Event::Timer);
        }
        if let Some(at) = self.estimator.as_ref().and_then(|half| half.poll_timeout()) {
            self.events.retain(|_, event| !matches!(event, Event::ReceiverTimer));
            self.at(at.max(now), Event::ReceiverTimer);
        }
        while let Some(bps) = self.estimator.as_mut().and_then(|half| half.poll_remb()) {
            let back = now + Span::from_millis(50);
            self.at(back, Event::Remb(bps));
        }
    }

    fn silent(&self, now: Time) -> bool {
        let from = |s| Time::ZERO + Span::from_secs(s);
        (from(self.setting.silent.start)..from(self.setting.silent.end)).contains(&now)
    }

    fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Frame => self.frame(now),
            Event::Send => self.send(now),
            Event::Timer => self.control.handle_timeout(now),
            Event::ReceiverTimer => {
                if let Some(half) = &mut self.estimator {
                    half.handle_timeout(now);
                }
            }
            Event::Arrive { seq, sent, bytes, ce } => self.arrive(now, seq, sent, bytes, ce),
            Event::ReportDue => self.report(now),
            Event::Reports(reports) if !self.silent(now) => {
                let packets = self.history.report(reports);
                let in_flight = self.history.in_flight();
                self.control.on_feedback(&Feedback { now, packets: &packets, in_flight });
                self.at(now, Event::Send);
            }
            Event::ReceiverReportDue => {
                let (received, lost) = std::mem::take(&mut self.rr);
                let event = Event::ReceiverReport { expected: received + lost, lost };
                self.at(now + Span::from_millis(50), event);
                self.at(now + Span::from_secs(1), Event::ReceiverReportDue);
            }
            Event::ReceiverReport { expected, lost } if !self.silent(now) && expected > 0 => {
                let truth = lost as f64 / expected as f64;
                let fraction_lost = if self.setting.liar { self.link.unit() } else { truth };
                let round_trip = Some(Span::from_millis(100) + self.link.queueing(now));
                self.control.on_report(&Report { now, expected, fraction_lost, round_trip });
            }
            Event::Remb(bps) if !self.silent(now) => {
                let whim = if self.setting.liar { (self.link.unit() * 1e9) as u64 % 3 } else { 2 };
                self.control.on_remb(now, [0, u64::MAX, bps][whim as usize]);
            }
            Event::Reports(_) | Event::ReceiverReport { .. } | Event::Remb(_) => {}
            Event::Sample => {
                self.sample.at_s = now.as_secs_f64();
                self.sample.target_bps = self.control.allowance().target_bps as f64;
                self.sample.received_bps = self.received_bytes as f64 * 8.0 / SAMPLE.as_secs_f64();
                self.sample.queueing_ms = self.link.queueing(now).as_secs_f64() * 1e3;
                self.received_bytes = 0;
                self.seen.samples.push(std::mem::take(&mut self.sample));
                self.control.metrics(&mut |name, value| {
                    if let Value::Number(number) = value {
                        assert!(number.is_finite(), "{name} is {number}");
                    }
                });
                self.at(now + SAMPLE, Event::Sample);
            }
        }
    }

    fn tell_queue(&mut self, now: Time) {
        let bytes = self.queue.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        let delay = self.queue.front().map_or(Span::ZERO, |(since, _)| now.since(*since));
        self.control.on_queue(&SendQueue { now, bytes, delay });
    }

    /// A frame of about the size that the target asks for.
    fn frame(&mut self, now: Time) {
        let target_bps = self.control.allowance().target_bps as f64 * self.setting.encoder;
        let bps = target_bps.min(self.setting.source_most_bps as f64);
        let noise = 0.8 + 0.4 * self.link.unit();
        let mut left = (bps / 8.0 * FRAME.as_secs_f64() * noise) as u32;
        while self.queue.front().is_some_and(|(since, _)| now.since(*since) > STALE) {
            self.queue.pop_front();
        }
        while left > 0 {
            let bytes = left.min(PACKET - HEADER);
            self.queue.push_back((now, bytes + HEADER));
            left -= bytes;
        }
        self.tell_queue(now);
        self.at(now, Event::Send);
        self.at(now + FRAME, Event::Frame);
    }

    fn send(&mut self, now: Time) {
        loop {
            if now < self.may_send_at {
                self.events.retain(|_, event| !matches!(event, Event::Send));
                self.at(self.may_send_at, Event::Send);
                return;
            }
            let allowance = self.control.allowance();
            let probe = self.probing.front().map(|(probe, ..)| *probe);
            let bytes = match (self.queue.front(), probe) {
                (Some((_, bytes)), _) => *bytes,
                (None, Some(_)) => PACKET,
                (None, None) => return,
            };
            let open =
                allowance.window_bytes.is_none_or(|w| self.history.in_flight() + u64::from(bytes) <= w);
            // With nothing under way nothing would ever open the window.
            if !open && self.history.in_flight() > 0 {
                self.may_send_at = now + Span::from_millis(20);
                continue;
            }
            self.queue.pop_front();
            let seq = self.next_seq;
            self.next_seq += 1;
            let sent = self.history.send(now, seq, bytes, probe.map(|probe| probe.id));
            self.control.on_sent(&sent);
            self.tell_queue(now);
            let bps = probe.map_or(allowance.pacing_bps, |probe| probe.bps).max(1000);
            let takes = (u128::from(bytes) * 8 * 1_000_000_000 / u128::from(bps)) as u64;
            self.may_send_at = now + Span::from_nanos(takes);
            self.count_probe(now);
            self.sample.sent += 1;
            match self.link.send(now, bytes) {
                None => {
                    self.sample.lost += 1;
                    self.rr.1 += 1;
                }
                Some(delivery) => {
                    let ce = delivery.ce && self.settings.needs().ecn;
                    for at in [Some(delivery.at), delivery.again].into_iter().flatten() {
                        self.at(at, Event::Arrive { seq, sent: now, bytes, ce });
                    }
                }
            }
        }
    }

    fn count_probe(&mut self, now: Time) {
        let Some((probe, sent, began)) = self.probing.front_mut() else { return };
        *sent += 1;
        if *began == Time::MAX {
            *began = now;
        }
        if *sent >= probe.packets && now.since(*began) >= probe.span {
            self.probing.pop_front();
        }
    }

    fn receivers_clock(&self, now: Time) -> Time {
        let ns = now.as_nanos() as i128;
        let skewed = ns + ns * i128::from(self.setting.skew_ppm) / 1_000_000 + 77_000_000_000;
        // Transport-wide feedback counts in 250 µs.
        Time::from_nanos((skewed / 250_000 * 250_000) as u64)
    }

    fn arrive(&mut self, now: Time, seq: u64, sent: Time, bytes: u32, ce: bool) {
        let at = self.receivers_clock(now);
        self.received_bytes += u64::from(bytes);
        self.rr.0 += 1;
        self.arrived.entry(seq).or_insert(Arrival { at, ce });
        if let Some(half) = &mut self.estimator {
            // 24 bits of absolute send time have a resolution of 1/2^18 s.
            let sent = Time::from_nanos(sent.as_nanos() / 3815 * 3815);
            half.on_arrived(&Arrived { now, sent, bytes });
        }
    }

    fn report(&mut self, now: Time) {
        let needs = self.settings.needs();
        let bps = self.seen.samples.last().map_or(300_000.0, |s| s.received_bps);
        self.at(now + needs.every.interval(bps as u64, None), Event::ReportDue);
        let per_packet = matches!(needs.report, ReportKind::TransportWide | ReportKind::Ccfb);
        let Some((&highest, _)) = self.arrived.last_key_value().filter(|_| per_packet) else { return };
        let arrived = std::mem::take(&mut self.arrived);
        // From what was reported last, or from a straggler before it.
        let first = self.reported.min(*arrived.first_key_value().expect("not empty").0);
        let mut reports: Vec<_> = (first..=highest).map(|seq| (seq, arrived.get(&seq).copied())).collect();
        self.reported = self.reported.max(highest + 1);
        if self.setting.liar {
            for (seq, arrival) in &mut reports {
                let whim = self.link.unit();
                let at = Time::from_nanos((self.link.unit() * 1e12) as u64);
                *arrival = (whim < 0.7).then_some(Arrival { at, ce: whim < 0.1 });
                if whim > 0.95 {
                    *seq = (self.link.unit() * 1e6) as u64;
                }
            }
        }
        self.at(now + Span::from_millis(50), Event::Reports(reports));
    }
}
