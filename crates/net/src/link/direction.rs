//! What one direction of a link consists of.

use crate::element::{Capacity, DelayVariation, Draw, Framing, Limit, Loss, Pace, Queueing, Reorder};
use crate::random::Stream;
use serde::{Deserialize, Serialize};
use voxpath_units::Rate;
use voxpath_units::check::Check;

/// One direction of a link, in the order that a packet meets: queue, serialiser, loss, corruption, duplication,
/// reordering, delay line. By default it has no effect.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Room for packets that wait for the serialiser, the one in service not counted; none is unlimited.
    pub queue_packets: Option<u32>,
    /// The same in bytes of IP packets; both may be given.
    pub queue_bytes: Option<u64>,
    /// What the queue decides about its packets.
    pub queueing: Queueing,
    /// Rate of the serialiser; none passes packets on at once, unless `capacity` says otherwise.
    pub rate_bps: Option<u64>,
    /// What the serialiser carries in place of a constant rate.
    pub capacity: Option<Capacity>,
    /// Which bytes the rate counts.
    pub framing: Framing,
    /// Loss after the serialiser.
    pub loss: Loss,
    /// Which packets arrive damaged, so that a checksum fails; counted as those that are not lost.
    pub corruption: Loss,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Packets that are held back so that later ones overtake them.
    pub reorder: Option<Reorder>,
    /// One-way propagation delay.
    pub delay_ns: u64,
    /// How the delay varies, where it does.
    pub delay_variation: Option<DelayVariation>,
}

impl Direction {
    /// Everything that keeps it from being built.
    pub fn check(&self, check: &mut Check<'_>) {
        if let Some(rate) = self.rate_bps {
            check.at("rate_bps").rate(rate);
        }
        match &self.capacity {
            Some(capacity) => self.check_capacity(capacity, &mut check.at("capacity")),
            None if self.rate_bps.is_none() => self.check_no_queue(check),
            None => {}
        }
        self.queueing.check(&mut check.at("queueing"));
        self.loss.check(&mut check.at("loss"));
        self.corruption.check(&mut check.at("corruption"));
        check.at("duplicate").probability(self.duplicate);
        if let Some(reorder) = &self.reorder {
            reorder.check(&mut check.at("reorder"));
        }
        check.at("delay_ns").span(self.delay_ns);
        if let Some(variation) = &self.delay_variation {
            variation.check(self.delay_ns, &mut check.at("delay_variation"));
        }
    }

    fn check_capacity(&self, capacity: &Capacity, check: &mut Check<'_>) {
        if self.rate_bps.is_some() {
            check.fail("a link has a constant rate or a capacity that varies, not both");
        }
        capacity.check(check);
        if capacity.counts_its_own_bytes() && self.framing != Framing::Ip {
            check.fail("a trace counts its own bytes: leave out the framing");
        }
    }

    fn check_no_queue(&self, check: &mut Check<'_>) {
        let bounds = [
            ("queue_packets", self.queue_packets.is_some()),
            ("queue_bytes", self.queue_bytes.is_some()),
            ("queueing", self.queueing != Queueing::default()),
        ];
        for (key, given) in bounds {
            check.at(key).need(!given, "a queue never fills without a rate: give a rate, or no queue");
        }
    }

    /// Whether a packet ever needs time for it.
    pub const fn takes_time(&self) -> bool {
        self.delay_ns > 0
            || self.rate_bps.is_some()
            || self.capacity.is_some()
            || self.delay_variation.is_some()
    }

    /// The shortest delay that a packet may have.
    pub fn least_delay_ns(&self) -> u64 {
        match &self.delay_variation {
            None => self.delay_ns,
            Some(variation) => variation.least_ns(self.delay_ns),
        }
    }

    pub(super) const fn limit(&self) -> Limit {
        Limit { packets: self.queue_packets, bytes: self.queue_bytes }
    }

    /// How the serialiser gets on; what happens by chance is drawn from the stream.
    pub(super) fn pace(&self, stream: impl FnOnce() -> Stream) -> Pace {
        match &self.capacity {
            Some(capacity) => capacity.pace(stream()),
            None => self.rate_bps.and_then(Rate::from_bits_per_sec).into(),
        }
    }

    /// Any direction that can be built.
    pub fn sample(draw: &mut dyn Draw) -> Self {
        let (rate_bps, capacity) = match draw.below(7) {
            0 => (None, None),
            1..=4 => (Some(draw.rate_above_zero()), None),
            _ => (None, Some(Capacity::sample(draw))),
        };
        let mut sampled = Self { rate_bps, capacity, ..Self::default() };
        if rate_bps.is_some() || sampled.capacity.is_some() {
            sampled.queue_packets = draw.bit().then(|| draw.below(60) as u32);
            sampled.queue_bytes = draw.bit().then(|| draw.below(100_000));
            sampled.queueing = Queueing::sample(draw);
        }
        if draw.bit() && !sampled.capacity.as_ref().is_some_and(Capacity::counts_its_own_bytes) {
            sampled.framing = Framing::Ethernet;
        }
        sampled.loss = Loss::sample(draw);
        if draw.below(4) == 3 {
            sampled.corruption = Loss::sample(draw);
        }
        if draw.below(4) == 3 {
            sampled.duplicate = draw.prob();
        }
        sampled.reorder = (draw.below(3) == 2).then(|| Reorder::sample(draw));
        if draw.below(3) == 2 {
            let (delay_ns, variation) = DelayVariation::sample(draw);
            (sampled.delay_ns, sampled.delay_variation) = (delay_ns, Some(variation));
        } else {
            sampled.delay_ns = 1 + draw.span() / 3;
        }
        sampled
    }
}
