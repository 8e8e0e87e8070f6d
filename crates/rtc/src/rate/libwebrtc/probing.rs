//! When to probe, and for which rate (`ProbeController`); what a probe tells (`ProbeBitrateEstimator`).

use crate::rate::{Bounds, PacketResult, Probe};
use alloc::collections::{BTreeMap, VecDeque};
use voxpath_units::{Span, Time};

/// At the start, by the start rate.
const EXPONENTIAL: [f64; 2] = [3.0, 6.0];
/// Then by what was found, while a probe finds this part of its rate at least.
const FURTHER: f64 = 2.0;
const FURTHER_THRESHOLD: f64 = 0.7;
const ALR_INTERVAL: Span = Span::from_secs(5);
const ALR_SCALE: f64 = 2.0;
const LOSS_LIMITED_SCALE: f64 = 1.5;
const PACKETS: u32 = 5;
const DURATION: Span = Span::from_millis(15);
/// `BitrateProberConfig`: a packet of `min_packet_size` starts a probe, or of what the probe sends in `min_probe_delta`.
const STARTS_WITH: u32 = 200;
const DELTA: Span = Span::from_millis(2);
/// Of what media have at most, as they may come in bursts.
const OF_MEDIA: f64 = 2.0;
/// `kMaxWaitingTimeForProbingResult`.
const RESULT_WITHIN: Span = Span::from_secs(1);
/// A drop below this part is a large one, and its recovery is probed for.
const LARGE_DROP: f64 = 0.66;
const DROP_WITHIN: Span = Span::from_secs(5);
const AFTER_DROP: f64 = 0.85;
const ALR_ENDED_WITHIN: Span = Span::from_secs(3);
const BETWEEN_DROP_PROBES: Span = Span::from_secs(5);
const UNCERTAINTY: f64 = 0.05;

/// What limits the estimate (`BandwidthLimitedCause`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    DelayBased,
    /// No probes are sent: the delay grows, or falls, or the round trip is very long, or losses reduce the estimate.
    Congested,
    LossLimitedIncreasing,
}

/// Decides on probes.
#[derive(Debug)]
pub(super) struct Controller {
    bounds: Bounds,
    estimate_bps: f64,
    cause: Cause,
    /// Waiting for a result: a rate above this one is probed further.
    further_above_bps: Option<f64>,
    initiated: Option<Time>,
    pub(super) alr_started: Option<Time>,
    alr_ended: Option<Time>,
    /// When the last large drop was, and the estimate before it.
    drop: Option<(Time, f64)>,
    drop_probed: Time,
    next_id: u32,
    pending: VecDeque<Probe>,
    /// `max_total_allocated_bitrate_`, once it is known.
    pub(super) media_bps: Option<f64>,
}

impl Controller {
    /// With the probes of the start.
    pub(super) fn new(now: Time, bounds: Bounds, next_id: u32, media_bps: Option<f64>) -> Self {
        let start = bounds.start_bps as f64;
        let mut controller = Self {
            bounds,
            estimate_bps: start,
            cause: Cause::DelayBased,
            further_above_bps: None,
            initiated: None,
            alr_started: None,
            alr_ended: None,
            drop: None,
            drop_probed: now,
            next_id,
            pending: VecDeque::new(),
            media_bps,
        };
        controller.probe(now, &EXPONENTIAL.map(|scale| scale * start), true);
        controller
    }

    pub(super) fn next_id(&self) -> u32 {
        self.next_id
    }

    pub(super) fn poll(&mut self) -> Option<Probe> {
        self.pending.pop_front()
    }

    fn probe(&mut self, now: Time, rates: &[f64], further: bool) {
        let media = self.media_bps.map_or(f64::INFINITY, |bps| OF_MEDIA * bps);
        let mut most = media.min(self.bounds.max_bps as f64);
        match self.cause {
            Cause::Congested => return,
            Cause::LossLimitedIncreasing => most = most.min(self.estimate_bps * LOSS_LIMITED_SCALE),
            Cause::DelayBased => {}
        }
        let mut further = further;
        let mut last = 0.0;
        for &rate in rates {
            further &= rate < most;
            last = rate.min(most);
            let bps = (last as u64).max(1);
            let delta = (last * DELTA.as_secs_f64() / 8.0) as u32;
            let starts_with = delta.min(STARTS_WITH);
            let id = self.next_id;
            self.pending.push_back(Probe { id, bps, packets: PACKETS, span: DURATION, starts_with });
            self.next_id = self.next_id.wrapping_add(1);
        }
        self.initiated = Some(now);
        self.further_above_bps = further.then_some(last * FURTHER_THRESHOLD);
    }

    pub(super) fn set_estimate(&mut self, now: Time, bps: f64, cause: Cause) {
        self.cause = cause;
        if bps < LARGE_DROP * self.estimate_bps {
            self.drop = Some((now, self.estimate_bps));
        }
        self.estimate_bps = bps;
        if self.further_above_bps.is_some_and(|above| bps > above) {
            self.probe(now, &[FURTHER * bps], true);
        }
    }

    pub(super) fn on_alr_ended(&mut self, now: Time) {
        self.alr_ended = Some(now);
    }

    /// The delay is normal again after a large drop: was it a short one?
    pub(super) fn on_recovered(&mut self, now: Time) {
        let recently = self.alr_ended.is_some_and(|ended| now.since(ended) < ALR_ENDED_WITHIN);
        let Some((dropped, before)) = self.drop else { return };
        if (self.alr_started.is_none() && !recently) || self.further_above_bps.is_some() {
            return;
        }
        let rate = AFTER_DROP * before;
        if (1.0 - UNCERTAINTY) * rate > self.estimate_bps
            && now.since(dropped) < DROP_WITHIN
            && now.since(self.drop_probed) > BETWEEN_DROP_PROBES
        {
            self.drop_probed = now;
            self.probe(now, &[rate], false);
        }
    }

    pub(super) fn process(&mut self, now: Time) {
        let since = |at: Time| now.since(at);
        if self.initiated.is_some_and(|at| since(at) > RESULT_WITHIN) {
            self.further_above_bps = None;
        }
        if self.further_above_bps.is_some() {
            return;
        }
        if let Some(started) = self.alr_started {
            let from = self.initiated.map_or(started, |at| at.max(started));
            if since(from) >= ALR_INTERVAL {
                self.probe(now, &[ALR_SCALE * self.estimate_bps], true);
            }
        }
    }
}

/// Of a probe's packets and bytes, what has to arrive for a result.
const RECEIVED: f64 = 0.8;
const MOST_RATIO: f64 = 2.0;
/// What arrives more slowly than this part has found the capacity, of which less is used.
const UNSATURATED: f64 = 0.9;
const UTILISATION: f64 = 0.95;
/// A probe lasts no longer, at either end, and is remembered no longer.
const LONGEST: Span = Span::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Cluster {
    packets: u32,
    bytes: u64,
    first_sent: Time,
    last_sent: Time,
    bytes_last_sent: u32,
    first_arrival: Time,
    bytes_first_arrival: u32,
    last_arrival: Time,
}

/// Tells a rate from the packets of a probe.
#[derive(Debug, Default)]
pub(super) struct Estimator {
    /// Packets and bytes that are needed, by the probe's number.
    asked: BTreeMap<u32, (f64, f64)>,
    clusters: BTreeMap<u32, Cluster>,
}

impl Estimator {
    pub(super) fn on_probe(&mut self, probe: &Probe) {
        let bytes = probe.bps as f64 * probe.span.as_secs_f64() / 8.0;
        // The number of packets is cut to a whole one.
        let packets = libm::floor(f64::from(probe.packets) * RECEIVED);
        self.asked.insert(probe.id, (packets, bytes * RECEIVED));
        while self.asked.len() > 64 {
            self.asked.pop_first();
        }
    }

    /// A packet of a probe has arrived: the rate, if that suffices to tell it.
    pub(super) fn on_packet(&mut self, packet: &PacketResult, arrival: Time) -> Option<f64> {
        let id = packet.probe?;
        let (packets, bytes) = *self.asked.get(&id)?;
        self.clusters.retain(|_, cluster| arrival.since(cluster.last_arrival) <= LONGEST);
        let new = Cluster {
            packets: 0,
            bytes: 0,
            first_sent: packet.sent,
            last_sent: packet.sent,
            bytes_last_sent: packet.bytes,
            first_arrival: arrival,
            bytes_first_arrival: packet.bytes,
            last_arrival: arrival,
        };
        let cluster = self.clusters.entry(id).or_insert(new);
        cluster.add(packet, arrival);
        if f64::from(cluster.packets) < packets || (cluster.bytes as f64) < bytes {
            return None;
        }
        cluster.rate()
    }
}

impl Cluster {
    fn add(&mut self, packet: &PacketResult, arrival: Time) {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.first_sent = self.first_sent.min(packet.sent);
        if packet.sent > self.last_sent {
            (self.last_sent, self.bytes_last_sent) = (packet.sent, packet.bytes);
        }
        if arrival < self.first_arrival {
            (self.first_arrival, self.bytes_first_arrival) = (arrival, packet.bytes);
        }
        self.last_arrival = self.last_arrival.max(arrival);
    }

    fn rate(&self) -> Option<f64> {
        let sent = self.last_sent.since(self.first_sent);
        let arrived = self.last_arrival.since(self.first_arrival);
        let valid = |span: Span| span > Span::ZERO && span <= LONGEST;
        if !valid(sent) || !valid(arrived) {
            return None;
        }
        // The last packet takes time beyond the last sending, the first one before the first arrival.
        let bits = |without: u32| self.bytes.saturating_sub(u64::from(without)) as f64 * 8.0;
        let send_rate = bits(self.bytes_last_sent) / sent.as_secs_f64();
        let receive_rate = bits(self.bytes_first_arrival) / arrived.as_secs_f64();
        if receive_rate > MOST_RATIO * send_rate {
            return None;
        }
        let saturated = receive_rate < UNSATURATED * send_rate;
        Some(if saturated { UTILISATION * receive_rate } else { send_rate.min(receive_rate) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const BOUNDS: Bounds = Bounds { min_bps: 30_000, start_bps: 300_000, max_bps: 10_000_000 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn rates(controller: &mut Controller) -> Vec<u64> {
        core::iter::from_fn(|| controller.poll()).map(|probe| probe.bps).collect()
    }

    #[test]
    fn probes_go_on_while_they_find_more() {
        let mut controller = Controller::new(at(0), BOUNDS, 1, None);
        assert_eq!(rates(&mut controller), [900_000, 1_800_000]);
        controller.set_estimate(at(100), 900_000.0, Cause::DelayBased);
        assert!(rates(&mut controller).is_empty(), "0.7 of 1.8 Mbit/s is 1.26");
        controller.set_estimate(at(150), 1_700_000.0, Cause::DelayBased);
        assert_eq!(rates(&mut controller), [3_400_000]);
        controller.set_estimate(at(300), 2_300_000.0, Cause::DelayBased);
        controller.process(at(1200));
        controller.set_estimate(at(1300), 5_000_000.0, Cause::DelayBased);
        assert!(rates(&mut controller).is_empty(), "the result came too late");
    }

    #[test]
    fn an_application_limited_sender_probes_every_five_seconds() {
        let mut controller = Controller::new(at(0), BOUNDS, 1, None);
        rates(&mut controller);
        controller.alr_started = Some(at(2000));
        let due: Vec<_> = (0..400)
            .filter(|i| {
                controller.process(at(50 * i));
                !rates(&mut controller).is_empty()
            })
            .map(|i| 50 * i)
            .collect();
        assert_eq!(due, [7000, 12_000, 17_000]);
        controller.set_estimate(at(20_000), 200_000.0, Cause::Congested);
        controller.process(at(30_000));
        assert!(rates(&mut controller).is_empty());
    }

    #[test]
    fn a_probe_has_twice_what_media_have_at_most() {
        let mut controller = Controller::new(at(0), BOUNDS, 1, Some(54_400.0));
        // 2 ms of 108.8 kbit/s are 27 octets; of 900 kbit/s they are more than 200.
        let first = controller.poll().expect("a probe");
        assert_eq!((first.bps, first.starts_with), (108_800, 27));
        assert_eq!(rates(&mut controller), [108_800]);
        controller.set_estimate(at(100), 108_000.0, Cause::DelayBased);
        assert!(rates(&mut controller).is_empty(), "there is nothing to find");
        let mut alone = Controller::new(at(0), BOUNDS, 1, None);
        let first = alone.poll().expect("a probe");
        assert_eq!((first.bps, first.starts_with), (900_000, 200));
    }

    #[test]
    fn a_short_drop_is_probed_away() {
        let mut controller = Controller::new(at(0), BOUNDS, 1, None);
        controller.process(at(1500));
        controller.set_estimate(at(8000), 2e6, Cause::DelayBased);
        rates(&mut controller);
        controller.set_estimate(at(9000), 1e6, Cause::DelayBased);
        controller.on_recovered(at(9500));
        assert!(rates(&mut controller).is_empty(), "not application-limited");
        controller.on_alr_ended(at(9000));
        controller.on_recovered(at(9500));
        assert_eq!(rates(&mut controller), [1_700_000]);
        controller.on_recovered(at(9600));
        assert!(rates(&mut controller).is_empty(), "only once in five seconds");
    }

    /// What a probe of 2 Mbit/s finds whose packets of 1000 bytes arrive this far apart.
    fn found(apart_us: u64) -> Option<f64> {
        let mut estimator = Estimator::default();
        estimator.on_probe(&Probe { id: 3, bps: 2_000_000, packets: 5, span: DURATION, starts_with: 200 });
        (0..5).fold(None, |_, i| {
            let sent = at(4 * i);
            let arrival = at(50) + Span::from_micros(apart_us * i);
            let packet = PacketResult {
                seq: i,
                sent,
                bytes: 1000,
                arrival: None,
                ce: false,
                probe: Some(3),
                was_missing: false,
            };
            estimator.on_packet(&packet, arrival)
        })
    }

    #[test]
    fn a_probe_tells_its_rate_or_the_capacity() {
        assert_eq!(found(4000), Some(2e6));
        assert_eq!(found(8000), Some(0.95 * 1e6));
        assert_eq!(found(3000), Some(2e6));
        assert_eq!(found(1500), None, "faster than twice what was sent");
        assert_eq!(found(0), None);
        assert_eq!(found(300_000), None, "more than a second");
    }
}
