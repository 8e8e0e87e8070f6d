//! BBR version 1 (Cardwell et al. 2016, draft-cardwell-iccrg-bbr-congestion-control-00), as Linux' `tcp_bbr.c` has it: a model of the path,
//! the largest delivery rate and the smallest round-trip time, from which rate and window follow. Losses do not reduce either.
//!
//! The phase in which the probing of bandwidth begins is random there; here the nanosecond and what was delivered choose it.

mod policing;

use super::minmax::WindowedMax;
use super::{Ack, CongestionControl, CongestionMetrics, CwndEvent, RateSample, Window};
use crate::config::Config;
use policing::{Counted, Policing, Seen, Verdict};
use voxpath_units::{Span, Time};

/// 2 / ln 2: doubles the rate every round trip.
const HIGH_GAIN: f64 = 2.885;
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
const CWND_GAIN: f64 = 2.0;
/// One round trip above the estimated bandwidth, one below, six at it.
const PACING_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Round trips over which the bandwidth is the largest.
const BW_ROUNDS: u64 = 10;
/// How long the smallest round-trip time holds.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// Segments while the round-trip time is probed, and the smallest window.
const MIN_WINDOW: u64 = 4;
/// The pipe is full when the bandwidth has grown by less than a quarter in three round trips.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Paces a little below the estimate, so that queues drain.
const MARGIN: f64 = 0.99;
/// Bounds of what acknowledgments that come together may add: rounds of one half of the window, and time.
const AGGREGATION_ROUNDS: u32 = 5;
const AGGREGATION_MAX: Span = Span::from_millis(100);

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
    initial_window: u64,
    mode: Mode,
    /// Largest delivery rate, bytes a second, over rounds.
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
    pacing_gain: f64,
    cwnd_gain: f64,
    pacing_rate: u64,
    has_seen_rtt: bool,
    full_bandwidth: f64,
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
            full_bandwidth: 0.0,
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

    /// bbr_bw(): the rate to go at, bytes a second.
    fn rate(&self) -> u64 {
        self.policing.held_rate().unwrap_or_else(|| self.bandwidth.get())
    }

    /// bbr_bdp(): a rate times the round-trip time, octets.
    fn bdp(&self, rate: u64, smss: u64, gain: f64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window * smss };
        let octets = rate as f64 * min_rtt.as_secs_f64() * gain;
        (octets as u64).next_multiple_of(smss)
    }

    /// bbr_quantization_budget(): what the sender's own bursts need on top.
    fn with_budget(&self, octets: u64, smss: u64) -> u64 {
        let segments = octets / smss + 3 * self.burst(smss);
        let probing = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        (segments.next_multiple_of(2) + if probing { 2 } else { 0 }) * smss
    }

    /// bbr_tso_segs_goal(): segments that Linux hands to a device at once.
    fn burst(&self, smss: u64) -> u64 {
        let least = if self.pacing_rate < 150_000 { 1 } else { 2 };
        ((self.pacing_rate >> 10).min(65_535 - 320) / smss).max(least).min(127)
    }

    fn inflight(&self, smss: u64, gain: f64) -> u64 {
        self.with_budget(self.bdp(self.bandwidth.get(), smss, gain), smss)
    }

    /// bbr_packets_in_net_at_edt(): what of `flight` the network still holds when the next segment leaves.
    fn in_network(&self, flight: u64, sample: &RateSample, smss: u64) -> u64 {
        let wait = sample.departure.since(sample.now);
        // Whole segments, as the kernel counts.
        let delivered = (self.rate() as f64 * wait.as_secs_f64()) as u64 / smss;
        let next = if self.pacing_gain > 1.0 { self.burst(smss) } else { 0 };
        (flight + next * smss).saturating_sub(delivered * smss)
    }

    fn update_model(&mut self, sample: &RateSample, window: &mut Window) {
        self.update_bandwidth(sample);
        self.update_aggregation(sample, window.cwnd);
        self.update_phase(sample, window.smss);
        self.check_full(sample);
        self.check_drain(sample, window);
        self.update_min_rtt(sample, window);
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth => (self.cycle_gain(), CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.round_start = false;
        let Some(rate) = sample.rate() else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = sample.total_delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        self.sample_policing(sample.now, sample.lost > 0, sample.app_limited);
        if !sample.app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.update(BW_ROUNDS, self.rounds, rate);
        }
    }

    fn sample_policing(&mut self, now: Time, losses: bool, app_limited: bool) {
        let seen = Seen {
            counted: self.counted,
            losses,
            round_start: self.round_start,
            app_limited,
            probing: self.mode == Mode::ProbeBandwidth,
        };
        if self.policing.sample(seen) == Verdict::Expired {
            self.probe_bandwidth(now, self.counted.delivered);
        }
    }

    /// The gain of the phase; a policer is not probed.
    fn cycle_gain(&self) -> f64 {
        if self.policing.held_rate().is_some() { 1.0 } else { PACING_GAINS[self.phase] }
    }

    fn update_aggregation(&mut self, sample: &RateSample, cwnd: u64) {
        if sample.rate().is_none() || sample.acked == 0 {
            return;
        }
        let bandwidth = self.rate() as f64;
        let it = &mut self.aggregation;
        if self.round_start {
            it.rounds += 1;
            if it.rounds >= AGGREGATION_ROUNDS {
                (it.rounds, it.half) = (0, 1 - it.half);
                it.extra[it.half] = 0;
            }
        }
        let mut expected = (bandwidth * sample.now.since(it.since).as_secs_f64()) as u64;
        if it.acked <= expected {
            (it.acked, it.since, expected) = (0, sample.now, 0);
        }
        it.acked += sample.acked;
        let extra = it.acked.saturating_sub(expected).min(cwnd);
        it.extra[it.half] = it.extra[it.half].max(extra);
    }

    fn extra(&self) -> u64 {
        let most = (self.rate() as f64 * AGGREGATION_MAX.as_secs_f64()) as u64;
        let [one, other] = self.aggregation.extra;
        if self.is_full { one.max(other).min(most) } else { 0 }
    }

    fn update_phase(&mut self, sample: &RateSample, smss: u64) {
        if self.mode != Mode::ProbeBandwidth {
            return;
        }
        let full_length = self.min_rtt.is_some_and(|min| sample.now.since(self.phase_start) > min);
        let gain = self.cycle_gain();
        let in_network = self.in_network(sample.prior_in_flight, sample, smss);
        let next = if gain > 1.0 {
            full_length && (sample.lost > 0 || in_network >= self.inflight(smss, gain))
        } else if gain < 1.0 {
            full_length || in_network <= self.inflight(smss, 1.0)
        } else {
            full_length
        };
        if next {
            self.phase = (self.phase + 1) % PACING_GAINS.len();
            self.phase_start = sample.now;
        }
    }

    fn check_full(&mut self, sample: &RateSample) {
        if self.is_full || !self.round_start || sample.app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get() as f64;
        if bandwidth >= self.full_bandwidth * FULL_GROWTH {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, sample: &RateSample, window: &mut Window) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight(window.smss, 1.0);
        }
        let in_network = self.in_network(sample.in_flight, sample, window.smss);
        if self.mode == Mode::Drain && in_network <= self.inflight(window.smss, 1.0) {
            self.probe_bandwidth(sample.now, sample.total_delivered / window.smss);
        }
    }

    /// Begins anywhere in the cycle but with the phase that drains, so that flows do not probe together. The multiplication (Fibonacci hashing) lets
    /// the last digits of time decide, which are as good as chance.
    fn probe_bandwidth(&mut self, now: Time, salt: u64) {
        self.mode = Mode::ProbeBandwidth;
        let mixed = (now.as_nanos() ^ salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
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
                Some(done) => {
                    self.probe_round_done |= self.round_start;
                    if self.probe_round_done && sample.now > done {
                        self.min_rtt_at = sample.now;
                        window.cwnd = window.cwnd.max(self.prior_cwnd);
                        if self.is_full {
                            self.probe_bandwidth(sample.now, sample.total_delivered / window.smss);
                        } else {
                            self.mode = Mode::Startup;
                        }
                    }
                }
                None => {}
            }
        }
        if sample.acked > 0 {
            self.idle_restart = false;
        }
    }

    fn save(&mut self, cwnd: u64) {
        let repairs = self.repairing != Repairing::Nothing;
        let before = if repairs || self.mode == Mode::ProbeRtt { self.prior_cwnd } else { 0 };
        self.prior_cwnd = cwnd.max(before);
    }

    fn set_pacing_rate(&mut self, sample: &RateSample, window: &Window) {
        if !self.has_seen_rtt {
            let rtt = sample.srtt.unwrap_or(Span::from_millis(1)).as_secs_f64();
            self.has_seen_rtt = sample.srtt.is_some();
            self.pacing_rate = (window.cwnd as f64 / rtt * HIGH_GAIN * MARGIN) as u64;
        }
        let rate = (self.rate() as f64 * self.pacing_gain * MARGIN) as u64;
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate.max(1);
        }
    }

    fn set_cwnd(&mut self, sample: &RateSample, window: &mut Window) {
        let smss = window.smss;
        if sample.acked > 0 && !self.recovers(sample, window) {
            let target = self.with_budget(self.bdp(self.rate(), smss, self.cwnd_gain) + self.extra(), smss);
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

    fn init(&mut self, now: Time, rtt: Option<Span>) {
        (self.min_rtt, self.min_rtt_at) = (rtt, now);
    }

    fn cong_avoid(&mut self, _ack: &Ack, _window: &mut Window) {}

    fn has_cong_control(&self) -> bool {
        true
    }

    fn cong_control(&mut self, sample: &RateSample, window: &mut Window) {
        self.counted =
            Counted { now: sample.now, delivered: sample.total_delivered, lost: sample.total_lost };
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
        let bandwidth = Some(self.bandwidth.get()).filter(|&bandwidth| bandwidth > 0);
        let own = [
            bandwidth.map(|bandwidth| ("bandwidth_bytes_per_second", bandwidth)),
            self.min_rtt.map(|rtt| ("min_rtt_ns", rtt.as_nanos())),
        ];
        CongestionMetrics { state, own, ..CongestionMetrics::of(window) }
    }

    fn undo_cwnd(&mut self, window: &Window, _prior: u64) -> u64 {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        self.policing.reset();
        window.cwnd
    }

    fn cwnd_event(&mut self, now: Time, event: CwndEvent) {
        match event {
            CwndEvent::Loss { total_lost } => {
                self.repairing = Repairing::Timeout;
                self.full_bandwidth = 0.0;
                self.round_start = true;
                self.counted.lost = total_lost;
                self.sample_policing(now, true, false);
            }
            CwndEvent::TxStart { .. } => {
                self.idle_restart = true;
                (self.aggregation.since, self.aggregation.acked) = (now, 0);
                if self.mode == Mode::ProbeBandwidth {
                    self.pacing_rate = ((self.rate() as f64 * MARGIN) as u64).max(1);
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
            departure: now,
            rtt,
            srtt: rtt,
            ..RateSample::default()
        };
        let mut window = Window { cwnd: 10 * SMSS, ssthresh: u64::MAX, smss: SMSS };
        bbr.cong_control(&sample, &mut window);
        bbr.min_rtt
    }

    #[test]
    fn the_smallest_round_trip_begins_with_the_handshakes() {
        let config = Profile::Linux.config();
        let mut bbr = Bbr::new(&config);
        bbr.init(Time::ZERO, Some(Span::from_millis(24)));
        assert_eq!(after_a_segment(&mut bbr, 34), Some(Span::from_millis(24)));
        let mut untold = Bbr::new(&config);
        untold.init(Time::ZERO, None);
        assert_eq!(after_a_segment(&mut untold, 34), Some(Span::from_millis(34)));
    }
}
