//! The send queue, and the pacer that empties it.

use super::outgoing::{Purpose, Queued};
use crate::rate::Probe;
use crate::record::Media;
use alloc::collections::VecDeque;
use voxpath_units::{Span, Time};

/// A probe that waits longer for a packet to begin with is given up when the next one is asked for (`kProbeClusterTimeout`).
const PROBE_TIMEOUT: Span = Span::from_secs(5);
/// No more of them wait for the next one (`kMaxPendingProbeClusters`).
const MOST_PROBES: usize = 5;

/// What a probe leaves to be paid for at the pacer's rate, at most (`kMaxDebtInTime`).
const MOST_DEBT: Span = Span::from_millis(500);

/// Packets that wait.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Audio: it leaves at once, as in libwebrtc.
    urgent: VecDeque<Queued>,
    /// Retransmissions, which leave before what is new.
    again: VecDeque<Queued>,
    paced: VecDeque<Queued>,
    bytes: u64,
    /// When what was sent is paid for at the pacer's rate.
    free_at: Time,
    /// What is paced does not leave before.
    held_until: Time,
    /// How far `free_at` may be ahead of what leaves.
    burst: Span,
    /// Octets of a packet below RTP that count.
    below: u32,
    bps: u64,
    /// The first one is being sent, if one is.
    probes: VecDeque<Cluster>,
    /// When the next packet of a probe leaves, once one came that is large enough to begin with (`NextProbeTime`).
    probe_at: Option<Time>,
}

/// A probe, and what was sent of it.
#[derive(Debug, Clone, Copy)]
struct Cluster {
    probe: Probe,
    asked: Time,
    started: Option<Time>,
    packets: u32,
    bytes: u64,
}

/// What leaves next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Next {
    /// A packet that waited, and the probe that it belongs to.
    Packet(Queued, Option<u32>),
    /// There is a probe to be filled up.
    Padding(Probe),
}

impl Pacer {
    /// Nothing waits, and packets leave at once until the pacer is `burst` ahead of its rate.
    /// Of each of them the octets below RTP are paid for too, as libwebrtc does (`SetIncludeOverhead`).
    pub(crate) const fn new(start: Time, burst: Span, below: u32) -> Self {
        Self {
            urgent: VecDeque::new(),
            again: VecDeque::new(),
            paced: VecDeque::new(),
            bytes: 0,
            free_at: start,
            held_until: start,
            burst,
            below,
            bps: u64::MAX,
            probes: VecDeque::new(),
            probe_at: None,
        }
    }

    /// How fast packets leave from now on.
    pub(crate) const fn set_rate(&mut self, bps: u64) {
        self.bps = bps;
    }

    /// A probe to be sent after those that were asked for before (`BitrateProber::CreateProbeCluster`).
    pub(crate) fn probe(&mut self, now: Time, probe: Probe) {
        while self.probes.len() > MOST_PROBES
            || self.probes.front().is_some_and(|first| now.since(first.asked) > PROBE_TIMEOUT)
        {
            self.probes.pop_front();
        }
        self.probes.push_back(Cluster { probe, asked: now, started: None, packets: 0, bytes: 0 });
    }

    pub(crate) fn push(&mut self, packet: Queued) {
        self.bytes += u64::from(packet.bytes);
        if self.probe_at.is_none()
            && self.probes.front().is_some_and(|first| packet.payload() >= first.probe.starts_with)
        {
            self.probe_at = Some(packet.since);
        }
        let was_idle = self.again.is_empty() && self.paced.is_empty();
        let queue = match (packet.media, packet.purpose) {
            (Media::Audio, _) => &mut self.urgent,
            (Media::Video, Purpose::Retransmission) => &mut self.again,
            (Media::Video, _) => &mut self.paced,
        };
        let since = packet.since;
        queue.push_back(packet);
        // What was paid since the last sending counts for what comes into an empty queue (`PacingController::EnqueuePacket`). Behind
        // others it changes nothing: their time was set when the last packet left (`NextSendTime`).
        if was_idle && self.is_free(since) {
            self.held_until = self.held_until.min(since);
        }
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

    /// Discards what waits of a medium, and probes if `probes` says so.
    pub(crate) fn discard(&mut self, media: Media, probes: bool) {
        let queues: &mut [_] = match media {
            Media::Audio => &mut [&mut self.urgent],
            Media::Video => &mut [&mut self.again, &mut self.paced],
        };
        for packet in queues.iter_mut().flat_map(|queue| queue.drain(..)) {
            self.bytes -= u64::from(packet.bytes);
        }
        if probes {
            self.probes.clear();
            self.probe_at = None;
        }
    }

    /// How long the first packet has waited, or how long it takes to send what waits: the longer one.
    pub(crate) fn waits(&self, now: Time) -> Span {
        self.backlog().max(self.delay(now))
    }

    /// How long it takes to send what waits.
    fn backlog(&self) -> Span {
        span_of(self.bytes, self.bps)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.again.is_empty() && self.paced.is_empty()
    }

    /// When something may leave; none if nothing waits. A window that is full holds back what is paced.
    pub(crate) fn poll_timeout(&self, window_is_full: bool) -> Option<Time> {
        // A probe comes first, and does not wait for what was sent before it (`PacingController::NextSendTime`).
        if self.probe_at.is_some() {
            return self.probe_at;
        }
        if let Some(first) = self.urgent.front() {
            return Some(first.since);
        }
        let first = self.again.front().or(self.paced.front()).filter(|_| !window_is_full)?;
        Some(first.since.max(self.held_until))
    }

    /// What leaves at `now`.
    pub(crate) fn poll(&mut self, now: Time, window_is_full: bool) -> Option<Next> {
        if self.poll_timeout(window_is_full)? > now {
            return None;
        }
        let queues = [&mut self.urgent, &mut self.again, &mut self.paced];
        let packet = queues.into_iter().find_map(VecDeque::pop_front);
        if let Some(packet) = packet {
            self.bytes -= u64::from(packet.bytes);
            self.occupy(now, packet.bytes);
        }
        let Some(&Cluster { probe, .. }) = self.probes.front().filter(|_| self.probe_at.is_some()) else {
            return Some(Next::Packet(packet?, None));
        };
        let Some(packet) = packet else { return Some(Next::Padding(probe)) };
        self.count(now, packet.bytes);
        Some(Next::Packet(packet, Some(probe.id)))
    }

    /// Padding of so many octets has left for a probe.
    pub(crate) fn padded(&mut self, now: Time, bytes: u32) {
        self.occupy(now, bytes);
        self.count(now, bytes);
    }

    /// When something may leave that is no media: not while media or a probe waits.
    pub(crate) fn spare_at(&self) -> Option<Time> {
        (self.is_empty() && self.probe_at.is_none()).then_some(self.held_until)
    }

    /// Something that is no media has left.
    pub(crate) fn pass(&mut self, now: Time, bytes: u32) {
        self.occupy(now, bytes);
    }

    fn occupy(&mut self, now: Time, bytes: u32) {
        // What leaves while others wait, as audio does, does not have them leave sooner: until all is paid for they wait, as in
        // captures of Chromium's calls.
        let waits = now < self.held_until;
        self.free_at = self.free_at.max(now) + span_of((bytes + self.below).into(), self.bps);
        if self.probe_at.is_some() {
            self.free_at = self.free_at.min(now + MOST_DEBT);
        }
        self.held_until = if !waits && self.is_free(now) { now } else { self.free_at };
    }

    /// Whether a packet may leave at once.
    fn is_free(&self, now: Time) -> bool {
        self.free_at <= now || self.free_at.since(now) < self.burst
    }

    /// So many octets have left for a probe (`BitrateProber::ProbeSent`).
    fn count(&mut self, now: Time, bytes: u32) {
        let Some(cluster) = self.probes.front_mut() else { return };
        cluster.packets += 1;
        cluster.bytes += u64::from(bytes + self.below);
        let started = *cluster.started.get_or_insert(now);
        let Cluster { probe, packets, bytes, .. } = *cluster;
        let took = span_of(bytes, probe.bps);
        if packets >= probe.packets && took >= probe.span {
            self.probes.pop_front();
        }
        self.probe_at = (!self.probes.is_empty()).then(|| started + took);
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

    fn probe_of(id: u32, bps: u64, starts_with: u32) -> Probe {
        Probe { id, bps, packets: 5, span: Span::from_millis(15), starts_with }
    }

    /// The number of the probe that is sent next, once a packet with so many octets has come at a time.
    fn begun(pacer: &mut Pacer, at: Time, media: Media, bytes: u32) -> Option<u32> {
        pacer.push(Queued::of(media, at, bytes));
        while !pacer.is_empty() {
            let due = pacer.poll_timeout(false).expect("something waits");
            if let Some(Next::Packet(_, Some(id))) = pacer.poll(due, false) {
                return Some(id);
            }
        }
        match pacer.poll(pacer.poll_timeout(false)?, false)? {
            Next::Padding(probe) => Some(probe.id),
            Next::Packet(..) => None,
        }
    }

    #[test]
    fn a_probe_waits_for_a_packet_to_begin_with() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut pacer = Pacer::new(Time::ZERO, Span::ZERO, 0);
        pacer.set_rate(800_000);
        pacer.probe(Time::ZERO, probe_of(1, 900_000, 200));
        assert_eq!(pacer.poll_timeout(false), None);
        assert_eq!(begun(&mut pacer, at(20), Media::Audio, 199), None);
        assert_eq!(begun(&mut pacer, at(40), Media::Audio, 200), Some(1));
        let mut pacer = Pacer::new(Time::ZERO, Span::ZERO, 0);
        pacer.probe(Time::ZERO, probe_of(1, 900_000, 200));
        assert_eq!(begun(&mut pacer, at(20), Media::Video, 1000), Some(1));
    }

    #[test]
    fn a_probe_that_waits_for_five_seconds_is_given_up_for_the_next_one() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        for (ms, first) in [(5000, 1), (5001, 2)] {
            let mut pacer = Pacer::new(Time::ZERO, Span::ZERO, 0);
            pacer.set_rate(800_000);
            pacer.probe(Time::ZERO, probe_of(1, 900_000, 200));
            pacer.probe(at(ms), probe_of(2, 100_000, 25));
            assert_eq!(begun(&mut pacer, at(ms), Media::Audio, 1000), Some(first));
        }
    }

    #[test]
    fn probes_that_are_asked_for_together_are_sent_one_after_the_other() {
        let mut pacer = Pacer::new(Time::ZERO, Span::ZERO, 0);
        for (id, bps) in [(1, 900_000), (2, 1_800_000)] {
            pacer.probe(Time::ZERO, probe_of(id, bps, 0));
        }
        pacer.push(Queued::of(Media::Audio, Time::ZERO, 225));
        assert!(matches!(pacer.poll(Time::ZERO, false), Some(Next::Packet(_, Some(1)))));
        let mut sent = Vec::new();
        while let Some(at) = pacer.poll_timeout(false) {
            let Some(Next::Padding(Probe { id, .. })) = pacer.poll(at, false) else { panic!("padding") };
            pacer.padded(at, 225);
            sent.push((id, at.as_nanos()));
        }
        // 1800 bits take 2 ms and 1 ms; 15 ms are 8 packets, with that of audio, and 15.
        assert_eq!(sent.iter().filter(|(id, _)| *id == 1).count(), 7);
        assert_eq!(sent.iter().filter(|(id, _)| *id == 2).count(), 15);
        assert_eq!(sent[7], (2, 16_000_000));
    }

    #[test]
    fn a_probe_waits_for_no_payment_and_has_to_be_paid_for() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut pacer = Pacer::new(Time::ZERO, Span::from_millis(40), 0);
        pacer.set_rate(800_000);
        (0..4).for_each(|_| pacer.push(Queued::of(Media::Video, Time::ZERO, 1000)));
        while pacer.poll(Time::ZERO, false).is_some() {}
        assert_eq!(pacer.poll_timeout(false), None, "four packets of 10 ms have left");
        pacer.probe(at(5), probe_of(1, 1_600_000, 200));
        pacer.push(Queued::of(Media::Video, at(5), 1000));
        (0..2).for_each(|_| pacer.push(Queued::of(Media::Audio, at(5), 100)));
        let mut left = Vec::new();
        while let Some(due) = pacer.poll_timeout(false).filter(|_| left.len() < 6) {
            left.push(due.as_nanos() / 1_000);
            if let Some(Next::Padding(_)) = pacer.poll(due, false) {
                pacer.padded(due, 1000);
            }
        }
        // Audio is in it, first; 100 octets take 0.5 ms of a probe and 1000 take 5 ms.
        assert_eq!(left, [5_000, 5_500, 6_000, 11_000, 16_000]);
        // 40 ms and 32 ms of the probe are to be paid for, of which 20 have passed: what comes now waits for those beyond a burst.
        pacer.push(Queued::of(Media::Video, at(20), 1000));
        assert_eq!(pacer.poll_timeout(false), Some(at(72)));
    }

    /// When packets of video leave at 800 kbit/s, of 1000 octets, of which so many come at once at each of some milliseconds.
    fn left(burst: Span, come: &[(u64, usize)]) -> Vec<u64> {
        left_beside(burst, come, &[])
    }

    /// The same beside audio of 100 octets that comes at some milliseconds.
    fn left_beside(burst: Span, come: &[(u64, usize)], audio_ms: &[u64]) -> Vec<u64> {
        let mut pacer = Pacer::new(Time::ZERO, burst, 0);
        pacer.set_rate(800_000);
        let mut left = Vec::new();
        let video = come.iter().map(|&(ms, count)| (ms, Media::Video, count));
        let mut come: Vec<_> = video.chain(audio_ms.iter().map(|&ms| (ms, Media::Audio, 1))).collect();
        come.sort_by_key(|&(ms, ..)| ms);
        let mut come = come.into_iter().peekable();
        loop {
            let next = come.peek().map(|&(ms, ..)| Time::ZERO + Span::from_millis(ms));
            match (pacer.poll_timeout(false), next) {
                (Some(at), next) if next.is_none_or(|next| at < next) => {
                    let Some(Next::Packet(packet, _)) = pacer.poll(at, false) else { panic!("a packet") };
                    if packet.media == Media::Video {
                        left.push(at.as_nanos() / 1_000_000);
                    }
                }
                (_, Some(at)) => {
                    let (_, media, count) = come.next().expect("it was peeked");
                    let bytes = if media == Media::Video { 1000 } else { 100 };
                    (0..count).for_each(|_| pacer.push(Queued::of(media, at, bytes)));
                }
                (_, None) => return left,
            }
        }
    }

    #[test]
    fn packets_leave_one_by_one_or_in_bursts() {
        let burst = Span::from_millis(40);
        // 10 ms each.
        assert_eq!(left(Span::ZERO, &[(0, 3), (5, 1)]), [0, 10, 20, 30]);
        assert_eq!(left(burst, &[(0, 3), (5, 1)]), [0, 0, 0, 5]);
        // Four are 40 ms: what is behind them waits until all is paid for, whatever else comes.
        assert_eq!(left(burst, &[(0, 6)]), [0, 0, 0, 0, 40, 40]);
        assert_eq!(left(burst, &[(0, 6), (20, 1)]), [0, 0, 0, 0, 40, 40, 40]);
        // Nothing waits at 20 ms, when 20 of them are left to pay.
        assert_eq!(left(burst, &[(0, 4), (20, 3)]), [0, 0, 0, 0, 20, 20, 60]);
    }

    #[test]
    fn octets_below_rtp_are_paid_for() {
        let mut pacer = Pacer::new(Time::ZERO, Span::ZERO, 28);
        pacer.set_rate(800_000);
        (0..2).for_each(|_| pacer.push(Queued::of(Media::Video, Time::ZERO, 972)));
        assert!(pacer.poll(Time::ZERO, false).is_some());
        assert_eq!(pacer.poll_timeout(false), Some(Time::ZERO + Span::from_millis(10)));
    }

    #[test]
    fn audio_does_not_have_a_burst_leave_sooner_and_is_paid_for() {
        let burst = Span::from_millis(40);
        assert_eq!(left_beside(burst, &[(0, 6)], &[10, 30]), [0, 0, 0, 0, 42, 42]);
        assert_eq!(left_beside(burst, &[(0, 4), (20, 3)], &[10]), [0, 0, 0, 0, 20, 20, 61]);
    }
}
