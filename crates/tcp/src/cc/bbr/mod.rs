//! BBR version 1 (Cardwell et al. 2016, draft-cardwell-iccrg-bbr-congestion-control-00), as Linux' `tcp_bbr.c` has it: a model of the path,
//! the largest delivery rate and the smallest round-trip time, from which rate and window follow. Losses do not reduce either.
//!
//! Linux counts segments and microseconds in integers. Where it rounds decides about whole segments of the window, which short queues show, so
//! arithmetic and rounding are the kernel's ([`Bandwidth`], [`Gain`]).
//!
//! The phase in which the probing of bandwidth begins is random there; here the nanosecond and what was delivered choose it.

mod bandwidth;
mod policing;

use super::minmax::WindowedMax;
use super::{Ack, CongestionControl, CongestionMetrics, CwndEvent, RateSample, Window};
use crate::config::Config;
use bandwidth::{Bandwidth, Gain};
use core::cmp::Ordering;
use policing::{Counted, Policing, Seen, Verdict};
use voxpath_units::{Span, Time};

/// 2 / ln 2, rounded up: doubles the rate every round trip.
const HIGH_GAIN: Gain = Gain(Gain::UNIT * 2885 / 1000 + 1);
const DRAIN_GAIN: Gain = Gain(Gain::UNIT * 1000 / 2885);
const CWND_GAIN: Gain = Gain(2 * Gain::UNIT);
const NEUTRAL: Gain = Gain(Gain::UNIT);
/// One round trip above the estimated bandwidth, one below, six at it.
const PACING_GAINS: [Gain; 8] = [
    Gain(Gain::UNIT * 5 / 4),
    Gain(Gain::UNIT * 3 / 4),
    NEUTRAL,
    NEUTRAL,
    NEUTRAL,
    NEUTRAL,
    NEUTRAL,
    NEUTRAL,
];
/// Round trips over which the bandwidth is the largest.
const BW_ROUNDS: u64 = 10;
/// How long the smallest round-trip time holds.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// Segments while the round-trip time is probed, and the smallest window.
const MIN_WINDOW: u64 = 4;
/// The pipe is full when the bandwidth has grown by less than a quarter in three round trips.
const FULL_GROWTH: Gain = Gain(Gain::UNIT * 5 / 4);
const FULL_ROUNDS: u32 = 3;
/// The round trip that is assumed before one was measured.
const NOMINAL_RTT: Span = Span::from_millis(1);
/// Bounds of what acknowledgments that come together may add: rounds of one half of the window, and time.
const AGGREGATION_ROUNDS: u32 = 5;
const AGGREGATION_MAX: Span = Span::from_millis(100);
/// Segments after which what came together is counted anew (bbr_ack_epoch_acked_reset_thresh).
const MOST_OF_EPOCH: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// What is being repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repairing {
    Nothing,
    /// What acknowledgments have shown to be lost.
    Losses,
    /// What a timeout took for lost.
    Timeout,
}

/// BBR.
#[derive(Debug)]
pub(super) struct Bbr {
    /// Segments.
    initial_window: u64,
    /// As it was last.
    smss: u64,
    mode: Mode,
    /// Largest delivery rate over rounds ([`Bandwidth`]).
    bandwidth: WindowedMax,
    policing: Policing,
    /// As the last acknowledgment left them.
    counted: Counted,
    rounds: u64,
    round_start: bool,
    /// What has to be delivered for the round to end.
    round_end: u64,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    /// Bytes a second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    full_bandwidth: Bandwidth,
    full_rounds: u32,
    is_full: bool,
    phase: usize,
    phase_start: Time,
    probe_done: Option<Time>,
    probe_round_done: bool,
    prior_cwnd: u64,
    /// What was being repaired at the last acknowledgment (`prev_ca_state`).
    repairing: Repairing,
    conserving: bool,
    idle_restart: bool,
    aggregation: Aggregation,
}

/// Octets that come acknowledged beyond what the bandwidth explains.
#[derive(Debug, Default)]
struct Aggregation {
    since: Time,
    acked: u64,
    extra: [u64; 2],
    half: usize,
    rounds: u32,
}

impl Bbr {
    /// The algorithm at the start of a connection.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            initial_window: u64::from(config.initial_window),
            smss: u64::from(config.mss),
            mode: Mode::Startup,
            bandwidth: WindowedMax::default(),
            policing: Policing::default(),
            counted: Counted::default(),
            rounds: 0,
            round_start: false,
            round_end: 0,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0,
            has_seen_rtt: false,
            full_bandwidth: Bandwidth::default(),
            full_rounds: 0,
            is_full: false,
            phase: 0,
            phase_start: Time::ZERO,
            probe_done: None,
            probe_round_done: false,
            prior_cwnd: 0,
            repairing: Repairing::Nothing,
            conserving: false,
            idle_restart: false,
            aggregation: Aggregation::default(),
        }
    }

    /// bbr_max_bw()
    const fn most(&self) -> Bandwidth {
        Bandwidth(self.bandwidth.get())
    }

    /// bbr_bw(): the rate to go at.
    fn rate(&self) -> Bandwidth {
        self.policing.held_rate().unwrap_or_else(|| self.most())
    }

    /// bbr_bdp(): segments that a rate has in the smallest round-trip time, rounded up.
    fn bdp(&self, rate: Bandwidth, gain: Gain) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window };
        rate.segments_by(min_rtt, gain)
    }

    /// bbr_quantization_budget(): what the sender's own bursts need on top of so many segments.
    fn with_budget(&self, segments: u64, smss: u64) -> u64 {
        let probing = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        (segments + 3 * self.burst(smss)).next_multiple_of(2) + if probing { 2 } else { 0 }
    }

    /// bbr_tso_segs_goal(): segments that Linux hands to a device at once.
    fn burst(&self, smss: u64) -> u64 {
        let least = if self.pacing_rate < 150_000 { 1 } else { 2 };
        ((self.pacing_rate >> 10).min(65_535 - 320) / smss).max(least).min(127)
    }

    /// Segments to have on their way.
    fn inflight(&self, smss: u64, gain: Gain) -> u64 {
        self.with_budget(self.bdp(self.most(), gain), smss)
    }

    /// bbr_packets_in_net_at_edt(): segments of `flight` that the network still holds when the next one leaves.
    fn in_network(&self, flight: u64, sample: &RateSample, smss: u64) -> u64 {
        let delivered = self.rate().segments(sample.departure.since(sample.now));
        let next = if self.pacing_gain > NEUTRAL { self.burst(smss) } else { 0 };
        (flight.div_ceil(smss) + next).saturating_sub(delivered)
    }

    fn update_model(&mut self, sample: &RateSample, window: &mut Window) {
        self.update_bandwidth(sample, window.smss);
        self.update_aggregation(sample, window);
        self.update_phase(sample, window.smss);
        self.check_full(sample);
        self.check_drain(sample, window);
        self.update_min_rtt(sample, window);
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth => (self.cycle_gain(), CWND_GAIN),
            Mode::ProbeRtt => (NEUTRAL, NEUTRAL),
        };
    }

    fn update_bandwidth(&mut self, sample: &RateSample, smss: u64) {
        self.round_start = false;
        let Some(interval) = sample.interval else { return };
        let rate = Bandwidth::of(sample.delivered, smss, interval);
        if sample.prior_delivered >= self.round_end {
            self.round_end = sample.total_delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        self.sample_policing(sample.lost > 0, sample.app_limited, smss);
        if !sample.app_limited || rate >= self.most() {
            self.bandwidth.update(BW_ROUNDS, self.rounds, rate.0);
        }
    }

    fn sample_policing(&mut self, losses: bool, app_limited: bool, smss: u64) {
        let seen = Seen {
            counted: self.counted,
            losses,
            round_start: self.round_start,
            app_limited,
            probing: self.mode == Mode::ProbeBandwidth,
        };
        match self.policing.sample(seen, smss) {
            Verdict::Unchanged => {}
            Verdict::Held => self.pacing_gain = NEUTRAL,
            Verdict::Expired => self.probe_bandwidth(),
        }
    }

    /// The gain of the phase; a policer is not probed.
    fn cycle_gain(&self) -> Gain {
        if self.policing.held_rate().is_some() { NEUTRAL } else { PACING_GAINS[self.phase] }
    }

    fn update_aggregation(&mut self, sample: &RateSample, window: &Window) {
        if sample.interval.is_none() || sample.acked == 0 {
            return;
        }
        let rate = self.rate();
        let it = &mut self.aggregation;
        if self.round_start {
            it.rounds += 1;
            if it.rounds >= AGGREGATION_ROUNDS {
                (it.rounds, it.half) = (0, 1 - it.half);
                it.extra[it.half] = 0;
            }
        }
        let mut expected = rate.segments(sample.delivered_at.since(it.since)).saturating_mul(window.smss);
        if it.acked <= expected || it.acked + sample.acked >= MOST_OF_EPOCH * window.smss {
            (it.acked, it.since, expected) = (0, sample.delivered_at, 0);
        }
        it.acked += sample.acked;
        let extra = it.acked.saturating_sub(expected).min(window.cwnd);
        it.extra[it.half] = it.extra[it.half].max(extra);
    }

    /// bbr_ack_aggregation_cwnd(), in segments.
    fn extra(&self, smss: u64) -> u64 {
        let most = self.rate().segments(AGGREGATION_MAX);
        let [one, other] = self.aggregation.extra;
        if self.is_full { (one.max(other) / smss).min(most) } else { 0 }
    }

    fn update_phase(&mut self, sample: &RateSample, smss: u64) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let full_length = self.min_rtt.is_some_and(|min| sample.delivered_at.since(self.phase_start) > min);
        let gain = self.pacing_gain;
        let in_network = self.in_network(sample.prior_in_flight, sample, smss);
        let next = match gain.cmp(&NEUTRAL) {
            Ordering::Greater => full_length && (sample.lost > 0 || in_network >= self.inflight(smss, gain)),
            Ordering::Less => full_length || in_network <= self.inflight(smss, NEUTRAL),
            Ordering::Equal => full_length,
        };
        if next {
            self.phase = (self.phase + 1) % PACING_GAINS.len();
            self.phase_start = sample.delivered_at;
        }
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.round_start || sample.app_limited {
            return;
        }
        let bandwidth = self.most();
        if bandwidth.0 >= FULL_GROWTH.of(self.full_bandwidth.0) {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, sample: &RateSample, window: &mut Window) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(window.smss, NEUTRAL) * window.smss;
        }
        let in_network = self.in_network(sample.in_flight, sample, window.smss);
        if self.mode == Mode::Drain && in_network <= self.inflight(window.smss, NEUTRAL) {
            self.probe_bandwidth();
        }
    }

    /// Begins anywhere in the cycle but with the phase that drains, so that flows do not probe together. The multiplication (Fibonacci hashing) lets
    /// the last digits of the time decide at which data was delivered last, which are as good as chance.
    fn probe_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        let Counted { now, delivered, .. } = self.counted;
        let mixed = (now.as_nanos() ^ (delivered / self.smss)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let skipped = (mixed % 7) as usize;
        self.phase = (PACING_GAINS.len() - skipped) % PACING_GAINS.len();
        self.phase_start = now;
    }

    fn update_min_rtt(&mut self, sample: &RateSample, window: &mut Window) {
        let expired = sample.now.since(self.min_rtt_at) > MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt
            && (expired || self.min_rtt.is_none_or(|min| rtt < min))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), sample.now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save(window.cwnd);
            self.probe_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_done {
                None if sample.in_flight <= MIN_WINDOW * window.smss => {
                    self.probe_done = Some(sample.now + PROBE_RTT_TIME);
                    self.probe_round_done = false;
                    self.round_end = sample.total_delivered;
                }
                Some(_) => {
                    self.probe_round_done |= self.round_start;
                    if self.probe_round_done {
                        self.check_probe_done(sample.now, window);
                    }
                }
                None => {}
            }
        }
        if sample.acked > 0 {
            self.idle_restart = false;
        }
    }

    /// bbr_check_probe_rtt_done()
    fn check_probe_done(&mut self, now: Time, window: &mut Window) {
        if self.probe_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_at = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.is_full {
            self.probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save(&mut self, cwnd: u64) {
        let repairs = self.repairing != Repairing::Nothing;
        let before = if repairs || self.mode == Mode::ProbeRtt { self.prior_cwnd } else { 0 };
        self.prior_cwnd = cwnd.max(before);
    }

    /// bbr_init_pacing_rate_from_rtt(): the window in a round trip, in which it is to double.
    fn init_pacing_rate(&mut self, rtt: Option<Span>, window: &Window) {
        self.has_seen_rtt = rtt.is_some();
        let rate = Bandwidth::of(window.cwnd, window.smss, rtt.unwrap_or(NOMINAL_RTT));
        self.pacing_rate = rate.pacing_rate(window.smss, HIGH_GAIN);
    }

    fn set_pacing_rate(&mut self, sample: &RateSample, window: &Window) {
        if !self.has_seen_rtt && sample.srtt.is_some() {
            self.init_pacing_rate(sample.srtt, window);
        }
        let rate = self.rate().pacing_rate(window.smss, self.pacing_gain);
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate.max(1);
        }
    }

    fn set_cwnd(&mut self, sample: &RateSample, window: &mut Window) {
        let smss = window.smss;
        if sample.acked > 0 && !self.recovers(sample, window) {
            let segments = self.bdp(self.rate(), self.cwnd_gain) + self.extra(smss);
            let target = self.with_budget(segments, smss) * smss;
            if self.is_full {
                window.cwnd = (window.cwnd + sample.acked).min(target);
            } else if window.cwnd < target || sample.total_delivered < self.initial_window * smss {
                window.cwnd += sample.acked;
            }
            window.cwnd = window.cwnd.max(MIN_WINDOW * smss);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_WINDOW * smss);
        }
    }

    /// bbr_set_cwnd_to_recover_or_restore(): in the first round of a recovery no more is sent than is delivered; whether that set the window.
    fn recovers(&mut self, sample: &RateSample, window: &mut Window) -> bool {
        if sample.lost > 0 {
            window.cwnd = window.cwnd.saturating_sub(sample.lost).max(window.smss);
        }
        let repairing = match sample {
            RateSample { in_recovery: true, .. } => Repairing::Losses,
            RateSample { in_loss: true, .. } => Repairing::Timeout,
            _ => Repairing::Nothing,
        };
        let before = core::mem::replace(&mut self.repairing, repairing);
        if repairing == Repairing::Losses && before != repairing {
            self.conserving = true;
            self.round_end = sample.total_delivered;
            window.cwnd = sample.in_flight + sample.acked;
        } else if before != Repairing::Nothing && repairing == Repairing::Nothing {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.conserving = false;
        }
        if self.conserving {
            window.cwnd = window.cwnd.max(sample.in_flight + sample.acked);
        }
        self.conserving
    }
}

impl CongestionControl for Bbr {
    fn ssthresh(&mut self, _now: Time, window: &Window, _flight: u64) -> u64 {
        self.save(window.cwnd);
        window.ssthresh
    }

    fn init(&mut self, now: Time, rtt: Option<Span>, window: &Window) {
        (self.min_rtt, self.min_rtt_at) = (rtt, now);
        self.smss = window.smss;
        self.init_pacing_rate(rtt, window);
    }

    fn cong_avoid(&mut self, _ack: &Ack, _window: &mut Window) {}

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, sample: &RateSample, window: &mut Window) {
        self.counted =
            Counted { now: sample.delivered_at, delivered: sample.total_delivered, lost: sample.total_lost };
        self.smss = window.smss;
        self.update_model(sample, window);
        self.set_pacing_rate(sample, window);
        self.set_cwnd(sample, window);
    }

    fn limits_rate(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_rate > 0).then_some(self.pacing_rate)
    }

    fn metrics(&self, window: &Window) -> CongestionMetrics {
        let state = match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBandwidth => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        };
        let bandwidth = Some(self.most().bytes_per_second(window.smss)).filter(|&bandwidth| bandwidth > 0);
        let own = [
            bandwidth.map(|bandwidth| ("bandwidth_bytes_per_second", bandwidth)),
            self.min_rtt.map(|rtt| ("min_rtt_ns", rtt.as_nanos())),
        ];
        CongestionMetrics { state, own, ..CongestionMetrics::of(window) }
    }

    fn undo_cwnd(&mut self, window: &Window, _prior: u64) -> u64 {
        (self.full_bandwidth, self.full_rounds) = (Bandwidth::default(), 0);
        self.policing.reset();
        window.cwnd
    }

    fn cwnd_event(&mut self, now: Time, event: CwndEvent, window: &mut Window) {
        match event {
            CwndEvent::Loss { total_lost } => {
                self.repairing = Repairing::Timeout;
                self.full_bandwidth = Bandwidth::default();
                self.round_start = true;
                self.counted.lost = total_lost;
                self.sample_policing(true, false, self.smss);
            }
            CwndEvent::TxStart { app_limited: false, .. } => {}
            CwndEvent::TxStart { app_limited: true, .. } => {
                self.idle_restart = true;
                (self.aggregation.since, self.aggregation.acked) = (now, 0);
                match self.mode {
                    Mode::ProbeBandwidth => {
                        self.pacing_rate = self.rate().pacing_rate(self.smss, NEUTRAL).max(1);
                    }
                    Mode::ProbeRtt => self.check_probe_done(now, window),
                    Mode::Startup | Mode::Drain => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    const SMSS: u64 = 1448;
    const WINDOW: Window = Window { cwnd: 10 * SMSS, ssthresh: u64::MAX, smss: SMSS };

    /// What the algorithm makes of a segment that took `millis`.
    fn after_a_segment(bbr: &mut Bbr, millis: u64) -> Option<Span> {
        let now = Time::ZERO + Span::from_millis(millis);
        let rtt = Some(Span::from_millis(millis));
        let sample = RateSample {
            now,
            total_delivered: SMSS,
            delivered: SMSS,
            interval: rtt,
            acked: SMSS,
            delivered_at: now,
            departure: now,
            rtt,
            srtt: rtt,
            ..RateSample::default()
        };
        let mut window = WINDOW;
        bbr.cong_control(&sample, &mut window);
        bbr.min_rtt
    }

    #[test]
    fn the_smallest_round_trip_begins_with_the_handshakes() {
        let config = Profile::Linux.config();
        let mut bbr = Bbr::new(&config);
        bbr.init(Time::ZERO, Some(Span::from_millis(24)), &WINDOW);
        assert_eq!(after_a_segment(&mut bbr, 34), Some(Span::from_millis(24)));
        let mut untold = Bbr::new(&config);
        untold.init(Time::ZERO, None, &WINDOW);
        assert_eq!(after_a_segment(&mut untold, 34), Some(Span::from_millis(34)));
    }

    #[test]
    fn the_first_rate_is_that_of_the_handshakes_round_trip() {
        let mut bbr = Bbr::new(&Profile::Linux.config());
        bbr.init(Time::ZERO, Some(Span::from_millis(10)), &WINDOW);
        // Ten segments in 10 ms, times 739 / 256, less 1 %.
        let first = bbr.pacing_rate();
        assert_eq!(first.map(|rate| rate / 1000), Some(4138));
        after_a_segment(&mut bbr, 40);
        assert_eq!(
            bbr.pacing_rate(),
            first,
            "a longer round trip does not take it back before the pipe is full"
        );
    }

    /// bbr_cwnd_event(): data that ends a pause longer than the probing has no round to wait for.
    #[test]
    fn data_after_a_pause_ends_the_probing_of_the_round_trip() {
        let mut bbr = Bbr::new(&Profile::Linux.config());
        bbr.mode = Mode::ProbeRtt;
        bbr.prior_cwnd = 30 * SMSS;
        bbr.probe_done = Some(Time::ZERO + PROBE_RTT_TIME);
        let mut window = Window { cwnd: MIN_WINDOW * SMSS, ..WINDOW };
        let data = CwndEvent::TxStart { idle: Span::from_millis(1), app_limited: true };
        bbr.cwnd_event(Time::ZERO + PROBE_RTT_TIME, data, &mut window);
        assert_eq!((bbr.mode, window.cwnd), (Mode::ProbeRtt, 4 * SMSS), "as long as it lasts");
        bbr.cwnd_event(Time::ZERO + PROBE_RTT_TIME + Span::from_millis(1), data, &mut window);
        assert_eq!((bbr.mode, window.cwnd), (Mode::Startup, 30 * SMSS));
    }

    /// Three segments where 2.9 were due are one too many: what is due counts in whole segments.
    #[test]
    fn what_comes_beyond_the_rate_counts_in_whole_segments() {
        let mut bbr = Bbr::new(&Profile::Linux.config());
        bbr.is_full = true;
        bbr.bandwidth.update(BW_ROUNDS, 0, Bandwidth::of(29 * SMSS, SMSS, Span::from_millis(10)).0);
        let sample = |millis, segments| {
            let now = Time::ZERO + Span::from_millis(millis);
            let interval = Some(Span::from_millis(1));
            RateSample { now, delivered_at: now, interval, acked: segments * SMSS, ..RateSample::default() }
        };
        bbr.update_aggregation(&sample(1, 2), &WINDOW);
        bbr.update_aggregation(&sample(2, 1), &WINDOW);
        assert_eq!(bbr.extra(SMSS), 2, "two at once, where none was due yet");
        bbr.aggregation = Aggregation { since: Time::ZERO, acked: 3 * SMSS, ..Aggregation::default() };
        bbr.update_aggregation(&sample(1, 0), &WINDOW);
        assert_eq!(bbr.extra(SMSS), 0, "nothing was delivered");
        bbr.update_aggregation(&sample(1, 1), &WINDOW);
        assert_eq!(bbr.extra(SMSS), 2, "four, where 2.9 were due");
    }
}
