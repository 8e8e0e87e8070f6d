//! SCReAM, RFC 8298: names are those of its section 4.1.

use super::{DelayTarget, Heard, MSS, Most, Path, RATE_PACE_MIN};
use crate::rate::{
    Allowance, Bounds, Every, Feedback, Needs, RateControl, ReportKind, SendQueue, Sent, Settings, Value,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

const QDELAY_TARGET_LO: f64 = 0.1;
const QDELAY_TARGET_HI: f64 = 0.4;
const QDELAY_WEIGHT: f64 = 0.1;
const QDELAY_TREND_TH: f64 = 0.2;
const MIN_CWND: f64 = 3000.0;
const MAX_BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.1;
const GAIN: f64 = 1.0;
const BETA_LOSS: f64 = 0.8;
const BETA_ECN: f64 = 0.9;
const BETA_R: f64 = 0.9;
const RATE_ADJUST_INTERVAL: f64 = 0.2;
const PRE_CONGESTION_GUARD: f64 = 0.1;
const TX_QUEUE_SIZE_FACTOR: f64 = 1.0;
const RTP_QDELAY_TH: f64 = 0.02;
const TARGET_RATE_SCALE_RTP_QDELAY: f64 = 0.95;
const QDELAY_TREND_LO: f64 = 0.2;
const T_RESUME_FAST_INCREASE: Span = Span::from_secs(5);
/// The qdelay fraction is sampled this often.
const SAMPLED: Span = Span::from_millis(50);
/// Samples to a rate adjustment.
const SAMPLES_A_RATE: u32 = 4;
/// Of which there are in the trend.
const TREND_OF: usize = 20;
/// Bytes in flight count for this long.
const IN_FLIGHT_WITHIN: Span = Span::from_secs(5);
/// Rates of media in their median: more than 10 s.
const MEDIAN_OF: usize = 51;

/// Settings of SCReAM.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scream {
    /// Packets can be marked.
    pub ecn: bool,
    /// RAMP_UP_SPEED, bits per second each second.
    pub ramp_up_bps_per_s: u64,
    /// The target delay rises where loss-based flows compete.
    pub competing_flows: bool,
}

impl Default for Scream {
    fn default() -> Self {
        Self { ecn: false, ramp_up_bps_per_s: 200_000, competing_flows: true }
    }
}

impl Settings for Scream {
    fn check(&self, check: &mut Check<'_>) {
        check.at("ramp_up_bps_per_s").rate(self.ramp_up_bps_per_s);
    }

    fn needs(&self) -> Needs {
        // Section 4.2.2: 1/min(50, max(2.5, rate/10000)) seconds.
        let (least, most) = (Span::from_millis(20), Span::from_millis(400));
        let every = Every::Share { permille: 80, report_bytes: 100, least, most };
        Needs { ecn: self.ecn, ..Needs::of(ReportKind::Ccfb, every) }
    }

    fn sender(&self, now: Time, bounds: Bounds) -> Box<dyn RateControl> {
        Box::new(Sender::new(now, bounds, *self))
    }

    fn sample(draw: &mut dyn Draw) -> Self {
        Self {
            ecn: draw.bit(),
            ramp_up_bps_per_s: 10_000 + draw.below(5_000_000),
            competing_flows: draw.bit(),
        }
    }
}

/// `qdelay_trend` and what it is of (section 4.1.2).
#[derive(Debug)]
struct Trend {
    fraction_avg: f64,
    history: VecDeque<f64>,
    trend: f64,
    trend_mem: f64,
}

impl Trend {
    fn new() -> Self {
        Self { fraction_avg: 0.0, history: (0..TREND_OF).map(|_| 0.0).collect(), trend: 0.0, trend_mem: 0.0 }
    }

    fn sample(&mut self, fraction: f64) {
        self.fraction_avg = (1.0 - QDELAY_WEIGHT) * self.fraction_avg + QDELAY_WEIGHT * fraction;
        self.history.pop_front();
        self.history.push_back(fraction);
        let mean = self.history.iter().sum::<f64>() / TREND_OF as f64;
        let off: Vec<f64> = self.history.iter().map(|sample| sample - mean).collect();
        let correlation = |lag: usize| off.iter().zip(&off[lag..]).map(|(a, b)| a * b).sum::<f64>();
        let power = correlation(0);
        let a = if power > 0.0 { correlation(1) / power } else { 0.0 };
        self.trend = (a * self.fraction_avg).clamp(0.0, 1.0);
        self.trend_mem = (0.99 * self.trend_mem).max(self.trend);
    }
}

/// Bytes that were sent, acknowledged and made, and their rates in the last 200 ms.
#[derive(Debug, Default)]
struct Rates {
    sent: f64,
    acked: f64,
    queue: f64,
    queue_before: f64,
    transmit_bps: f64,
    ack_bps: f64,
    media_bps: f64,
    media_history: VecDeque<f64>,
}

impl Rates {
    fn update(&mut self) {
        let rate = |bytes: f64| (8.0 * bytes / RATE_ADJUST_INTERVAL).max(0.0);
        // What the source made has been sent, or waits.
        self.media_bps = rate(self.sent + self.queue - self.queue_before);
        (self.transmit_bps, self.ack_bps) = (rate(self.sent), rate(self.acked));
        (self.sent, self.acked, self.queue_before) = (0.0, 0.0, self.queue);
        if self.media_history.len() == MEDIAN_OF {
            self.media_history.pop_front();
        }
        self.media_history.push_back(self.media_bps);
    }

    fn media_median(&self) -> f64 {
        let mut sorted: Vec<f64> = self.media_history.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
}

/// The sender.
#[derive(Debug)]
struct Sender {
    settings: Scream,
    bounds: Bounds,
    path: Path,
    target: DelayTarget,
    trend: Trend,
    rates: Rates,
    cwnd: f64,
    max_bytes_in_flight: Most,
    in_fast_increase: bool,
    /// Since when the trend has been low.
    calm_since: Option<Time>,
    /// The last loss event and the last mark.
    reacted: Option<Time>,
    target_bps: f64,
    last_max_bps: f64,
    samples: u32,
    next: Time,
}

impl Sender {
    fn new(now: Time, bounds: Bounds, settings: Scream) -> Self {
        Self {
            settings,
            bounds,
            path: Path::new(now),
            target: DelayTarget::new(now, QDELAY_TARGET_LO, QDELAY_TARGET_HI),
            trend: Trend::new(),
            rates: Rates::default(),
            cwnd: MIN_CWND,
            max_bytes_in_flight: Most::default(),
            in_fast_increase: true,
            calm_since: None,
            reacted: None,
            target_bps: bounds.start_bps as f64,
            last_max_bps: 1.0,
            samples: 0,
            next: now + SAMPLED,
        }
    }

    /// Sections 4.1.2.1 and 4.1.3: a loss event, or a mark.
    fn on_congestion(&mut self, now: Time, beta_cwnd: f64, beta_rate: f64) {
        self.reacted = Some(now);
        self.in_fast_increase = false;
        self.calm_since = None;
        self.cwnd = (self.cwnd * beta_cwnd).max(MIN_CWND);
        self.last_max_bps = self.target_bps;
        self.target_bps = self.bounds.clamp(beta_rate * self.target_bps);
    }

    /// `update_cwnd`.
    fn update_cwnd(&mut self, newly_acked: f64) {
        let in_flight = self.path.in_flight as f64 + newly_acked;
        if self.in_fast_increase {
            if self.trend.trend < QDELAY_TREND_TH {
                if in_flight * 1.5 + newly_acked > self.cwnd {
                    self.cwnd += newly_acked;
                }
                return;
            }
            self.in_fast_increase = false;
            self.last_max_bps = self.target_bps;
        }
        let off_target = (self.target.seconds - self.path.qdelay) / self.target.seconds;
        let unused = off_target > 0.0 && in_flight * 1.25 + newly_acked <= self.cwnd;
        if !unused {
            self.cwnd += GAIN * off_target * newly_acked * MSS / self.cwnd;
        }
        self.cwnd = self.cwnd.min(self.max_bytes_in_flight.value() * MAX_BYTES_IN_FLIGHT_HEAD_ROOM);
        self.cwnd = self.cwnd.max(MIN_CWND);
    }

    fn check_to_resume_fast_increase(&mut self, now: Time) {
        if self.trend.trend >= QDELAY_TREND_LO {
            self.calm_since = None;
        } else if now.since(*self.calm_since.get_or_insert(now)) >= T_RESUME_FAST_INCREASE {
            self.in_fast_increase = true;
        }
    }

    /// Section 4.1.3.
    fn adjust_rate(&mut self) {
        self.rates.update();
        let rates = &self.rates;
        let ramp_up = (self.settings.ramp_up_bps_per_s as f64).min(self.target_bps / 2.0);
        let off = 4.0 * (self.target_bps - self.last_max_bps) / self.last_max_bps;
        let scale = (off * off).clamp(0.2, 1.0);
        let current = rates.transmit_bps.max(rates.ack_bps);
        if self.in_fast_increase {
            self.target_bps += ramp_up * RATE_ADJUST_INTERVAL * scale;
        } else {
            let queue_bits = 8.0 * rates.queue;
            let mut delta =
                current * (1.0 - PRE_CONGESTION_GUARD * self.trend.trend) - TX_QUEUE_SIZE_FACTOR * queue_bits;
            if delta > 0.0 {
                delta = (delta * scale).min(ramp_up * RATE_ADJUST_INTERVAL);
            }
            self.target_bps += delta;
            if queue_bits / current.max(1.0) > RTP_QDELAY_TH {
                self.target_bps *= TARGET_RATE_SCALE_RTP_QDELAY;
            }
        }
        let limit = current.max(rates.media_bps).max(rates.media_median());
        self.target_bps = self.target_bps.min(limit * (2.0 - self.trend.trend_mem));
        self.target_bps = self.bounds.clamp(self.target_bps);
    }

    fn send_window(&self) -> f64 {
        let slack = if self.path.qdelay <= self.target.seconds { MSS } else { 0.0 };
        self.cwnd + slack
    }
}

impl RateControl for Sender {
    fn on_sent(&mut self, packet: &Sent) {
        self.path.in_flight = packet.in_flight;
        self.rates.sent += f64::from(packet.bytes);
        self.max_bytes_in_flight.note(packet.now, packet.in_flight as f64, IN_FLIGHT_WITHIN);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if feedback.packets.is_empty() {
            return;
        }
        let now = feedback.now;
        let heard: Heard = self.path.hear(feedback);
        let s_rtt = self.path.s_rtt();
        self.rates.acked += heard.newly_acked;
        self.target.note_loss(now, heard.lost, s_rtt);
        // At most once a round trip.
        let may_react = self.reacted.is_none_or(|at| now.since(at).as_secs_f64() >= s_rtt);
        if heard.lost && may_react {
            self.on_congestion(now, BETA_LOSS, BETA_R);
        } else if heard.packets_ce > 0.0 && may_react {
            self.on_congestion(now, BETA_ECN, BETA_ECN);
        } else {
            self.update_cwnd(heard.newly_acked);
            self.check_to_resume_fast_increase(now);
        }
        if self.settings.competing_flows {
            self.target.adjust(self.path.qdelay);
        }
    }

    fn on_queue(&mut self, queue: &SendQueue) {
        self.rates.queue = queue.bytes as f64;
    }

    fn on_route_change(&mut self, now: Time) {
        let rates = Rates { queue: self.rates.queue, ..Rates::default() };
        *self = Self { rates, path: self.path.change(now), ..Self::new(now, self.bounds, self.settings) };
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.next)
    }

    fn handle_timeout(&mut self, now: Time) {
        if now < self.next {
            return;
        }
        self.next = now + SAMPLED;
        self.path.watch_silence(now);
        self.trend.sample(self.path.qdelay / self.target.seconds);
        self.samples += 1;
        if self.samples == SAMPLES_A_RATE {
            self.samples = 0;
            self.adjust_rate();
        }
    }

    fn allowance(&self) -> Allowance {
        let pacing_bps = RATE_PACE_MIN.max(self.cwnd * 8.0 / self.path.s_rtt()) as u64;
        let window_bytes = Some(self.path.window(self.send_window()));
        Allowance { target_bps: self.target_bps as u64, pacing_bps, window_bytes }
    }

    fn metrics(&self, show: &mut dyn FnMut(&'static str, Value)) {
        show("target_bps", self.target_bps.into());
        show("window_bytes", self.cwnd.into());
        show("in_flight_bytes", (self.path.in_flight as f64).into());
        show("queueing_ms", (self.path.qdelay * 1e3).into());
        show("target_queueing_ms", (self.target.seconds * 1e3).into());
        show("queueing_trend", self.trend.trend.into());
        show("round_trip_ms", (self.path.s_rtt() * 1e3).into());
        show("incoming_bps", self.rates.ack_bps.into());
        show("loss_event_rate", self.target.loss_event_rate.into());
        show("state", (if self.in_fast_increase { "fast_increase" } else { "normal" }).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { min_bps: 50_000, start_bps: 1_000_000, max_bps: 5_000_000 };

    fn sender() -> Sender {
        let mut sender = Sender::new(Time::ZERO, BOUNDS, Scream::default());
        sender.in_fast_increase = false;
        sender.cwnd = 20_000.0;
        sender.max_bytes_in_flight.note(Time::ZERO, 30_000.0, IN_FLIGHT_WITHIN);
        sender.path.in_flight = 20_000;
        sender
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }

    #[test]
    fn the_window_by_hand() {
        let mut up = sender();
        up.path.qdelay = 0.025;
        up.update_cwnd(4000.0);
        // off_target 0.75: 0.75·4000·1000/20000.
        close(up.cwnd, 20_150.0);
        let mut down = sender();
        down.path.qdelay = 0.15;
        down.update_cwnd(4000.0);
        close(down.cwnd, 19_900.0);
        let mut unused = sender();
        unused.path.in_flight = 5000;
        unused.update_cwnd(4000.0);
        close(unused.cwnd, 20_000.0);
        let mut fast = sender();
        fast.in_fast_increase = true;
        fast.update_cwnd(4000.0);
        close(fast.cwnd, 24_000.0);
        let mut limited = sender();
        limited.cwnd = 40_000.0;
        limited.update_cwnd(0.0);
        close(limited.cwnd, 33_000.0);
        let mut lost = sender();
        lost.on_congestion(Time::ZERO, BETA_LOSS, BETA_R);
        close(lost.cwnd, 16_000.0);
        close(lost.target_bps, 900_000.0);
    }

    #[test]
    fn the_rate_by_hand() {
        let mut fast = sender();
        fast.in_fast_increase = true;
        fast.rates.sent = 25_000.0;
        fast.adjust_rate();
        close(fast.target_bps, 1_040_000.0);
        // Close to the last maximum, 950 kbit/s: scale is 0.2 at least, (4·0.0526)² = 0.044.
        let mut near = sender();
        near.last_max_bps = 950_000.0;
        near.rates.sent = 25_000.0;
        near.adjust_rate();
        close(near.target_bps, 1_040_000.0);
        let mut near = sender();
        (near.last_max_bps, near.in_fast_increase) = (950_000.0, true);
        near.rates.sent = 25_000.0;
        near.adjust_rate();
        close(near.target_bps, 1_008_000.0);
        // 10 kB wait: the change is 1e6 - 8e4 before its limit, and 80 ms are above 20 ms.
        let mut queued = sender();
        (queued.rates.sent, queued.rates.queue, queued.rates.queue_before) = (25_000.0, 10_000.0, 10_000.0);
        queued.adjust_rate();
        close(queued.target_bps, 1_040_000.0 * 0.95);
    }

    #[test]
    fn the_trend_is_one_step_of_autocorrelation() {
        let mut trend = Trend::new();
        for i in 1..=20 {
            trend.sample(f64::from(i) / 20.0);
        }
        // A ramp 1..20: the products of neighbours and the squares, about the mean 10.5.
        let off: Vec<f64> = (1..=20).map(|i| f64::from(i) - 10.5).collect();
        let neighbours: f64 = off.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let squares: f64 = off.iter().map(|x| x * x).sum();
        close(trend.trend, neighbours / squares * trend.fraction_avg);
        let mut steady = Trend::new();
        for _ in 0..60 {
            steady.sample(0.5);
        }
        assert_eq!(steady.trend, 0.0);
    }
}
