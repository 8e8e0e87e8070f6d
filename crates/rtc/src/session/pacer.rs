//! The send queue, and the pacer that empties it.

use super::outgoing::{Purpose, Queued};
use crate::rate::Probe;
use crate::record::Media;
use alloc::collections::VecDeque;
use voxpath_units::{Span, Time};

/// Packets that wait.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Audio: it leaves at once, as in libwebrtc.
    urgent: VecDeque<Queued>,
    /// Retransmissions, which leave before what is new.
    again: VecDeque<Queued>,
    paced: VecDeque<Queued>,
    bytes: u64,
    /// When the pacer is free for the next packet.
    free_at: Time,
    bps: u64,
    /// The first one is being sent.
    probes: VecDeque<Cluster>,
}

/// A probe, and what was sent of it.
#[derive(Debug, Clone, Copy)]
struct Cluster {
    probe: Probe,
    packets: u32,
    bytes: u64,
}

/// What leaves next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Next {
    /// A packet that waited, and the probe that it belongs to.
    Packet(Queued, Option<u32>),
    /// There is a probe to be filled up.
    Padding(u32),
}

impl Pacer {
    pub(crate) const fn new(start: Time) -> Self {
        Self {
            urgent: VecDeque::new(),
            again: VecDeque::new(),
            paced: VecDeque::new(),
            bytes: 0,
            free_at: start,
            bps: u64::MAX,
            probes: VecDeque::new(),
        }
    }

    /// How fast packets leave from now on.
    pub(crate) const fn set_rate(&mut self, bps: u64) {
        self.bps = bps;
    }

    /// A probe to be sent after those that were asked for before.
    pub(crate) fn probe(&mut self, probe: Probe) {
        self.probes.push_back(Cluster { probe, packets: 0, bytes: 0 });
    }

    pub(crate) fn push(&mut self, packet: Queued) {
        self.bytes += u64::from(packet.bytes);
        let queue = match (packet.media, packet.purpose) {
            (Media::Audio, _) => &mut self.urgent,
            (Media::Video, Purpose::Retransmission) => &mut self.again,
            (Media::Video, _) => &mut self.paced,
        };
        queue.push_back(packet);
    }

    /// Octets that wait.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How long the first packet has waited.
    pub(crate) fn delay(&self, now: Time) -> Span {
        let first = |queue: &VecDeque<Queued>| queue.front().map(|packet| packet.since);
        [first(&self.urgent), first(&self.again), first(&self.paced)]
            .into_iter()
            .flatten()
            .min()
            .map_or(Span::ZERO, |since| now.since(since))
    }

    /// How long it takes to send what waits.
    pub(crate) fn backlog(&self) -> Span {
        span_of(self.bytes, self.bps)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.again.is_empty() && self.paced.is_empty()
    }

    /// When something may leave; none if nothing waits. A window that is full holds back what is paced.
    pub(crate) fn poll_timeout(&self, window_is_full: bool) -> Option<Time> {
        if let Some(first) = self.urgent.front() {
            return Some(first.since);
        }
        if !self.probes.is_empty() {
            return Some(self.free_at);
        }
        let first = self.again.front().or(self.paced.front()).filter(|_| !window_is_full)?;
        Some(first.since.max(self.free_at))
    }

    /// What leaves at `now`.
    pub(crate) fn poll(&mut self, now: Time, window_is_full: bool) -> Option<Next> {
        if self.poll_timeout(window_is_full)? > now {
            return None;
        }
        if let Some(packet) = self.urgent.pop_front() {
            return Some(Next::Packet(self.sent(now, packet, self.bps), None));
        }
        let Some(&Cluster { probe, .. }) = self.probes.front() else {
            let packet = self.next()?;
            return Some(Next::Packet(self.sent(now, packet, self.bps), None));
        };
        match self.next() {
            Some(packet) => {
                let packet = self.sent(now, packet, probe.bps);
                self.count(packet.bytes);
                Some(Next::Packet(packet, Some(probe.id)))
            }
            None => Some(Next::Padding(probe.id)),
        }
    }

    fn next(&mut self) -> Option<Queued> {
        self.again.pop_front().or_else(|| self.paced.pop_front())
    }

    /// Padding of so many octets has left for a probe.
    pub(crate) fn padded(&mut self, now: Time, bytes: u32) {
        if let Some(&Cluster { probe, .. }) = self.probes.front() {
            self.occupy(now, bytes, probe.bps);
            self.count(bytes);
        }
    }

    fn sent(&mut self, now: Time, packet: Queued, bps: u64) -> Queued {
        self.bytes -= u64::from(packet.bytes);
        self.occupy(now, packet.bytes, bps);
        packet
    }

    fn occupy(&mut self, now: Time, bytes: u32, bps: u64) {
        self.free_at = self.free_at.max(now) + span_of(bytes.into(), bps);
    }

    fn count(&mut self, bytes: u32) {
        if let Some(cluster) = self.probes.front_mut() {
            cluster.packets += 1;
            cluster.bytes += u64::from(bytes);
            let Cluster { probe, packets, bytes } = *cluster;
            if packets >= probe.packets && span_of(bytes, probe.bps) >= probe.span {
                self.probes.pop_front();
            }
        }
    }
}

/// How long so many octets take at a rate.
fn span_of(bytes: u64, bps: u64) -> Span {
    // Nanoseconds of 2^40 octets are below 2^73.
    let ns = u128::from(bytes) * 8_000_000_000 / u128::from(bps.max(1));
    Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX >> 4).min(u64::MAX >> 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn probes_that_are_asked_for_together_are_sent_one_after_the_other() {
        let mut pacer = Pacer::new(Time::ZERO);
        for (id, bps) in [(1, 900_000), (2, 1_800_000)] {
            pacer.probe(Probe { id, bps, packets: 5, span: Span::from_millis(15) });
        }
        let mut sent = Vec::new();
        while let Some(at) = pacer.poll_timeout(false) {
            let Some(Next::Padding(id)) = pacer.poll(at, false) else { panic!("padding") };
            pacer.padded(at, 225);
            sent.push((id, at.as_nanos()));
        }
        // 1800 bits take 2 ms and 1 ms; 15 ms are 8 and 15 packets.
        assert_eq!(sent.iter().filter(|(id, _)| *id == 1).count(), 8);
        assert_eq!(sent.iter().filter(|(id, _)| *id == 2).count(), 15);
        assert_eq!(sent[8], (2, 16_000_000));
    }
}
