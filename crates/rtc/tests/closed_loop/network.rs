//! A path in virtual time: a queue with a serialiser, a delay, losses, marks; what it does changes at given times.

use std::collections::VecDeque;
use voxpath_net::{Seed, Stream};
use voxpath_units::{Span, Time};

/// The path of media, and what may go wrong on it.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    /// From when on it carries how many bits a second.
    pub(crate) capacity: Vec<(Span, u64)>,
    /// One way, as from when.
    pub(crate) delay: Vec<(Span, Span)>,
    /// What the queue holds, as time at the capacity.
    pub(crate) queue: Span,
    /// Probability that a packet is lost, as from when.
    pub(crate) loss: Vec<(Span, f64)>,
    /// Packets that wait longer are marked.
    pub(crate) mark_above: Option<Span>,
    /// Added to the delay, uniformly between zero and this; packets stay in order.
    pub(crate) jitter: Span,
    /// Probability that a packet is held back by 30 ms, so that others pass it.
    pub(crate) reorder: f64,
    /// Probability that a packet arrives twice.
    pub(crate) duplicate: f64,
    /// Other traffic in the queue, bits per second, as from when.
    pub(crate) others: Vec<(Span, u64)>,
}

impl Path {
    /// A path that only has a capacity: 50 ms, and a queue of 300 ms (RFC 8867 section 4.1).
    pub(crate) fn of(capacity: &[(u64, u64)]) -> Self {
        Self {
            capacity: steps(capacity),
            delay: vec![(Span::ZERO, Span::from_millis(50))],
            queue: Span::from_millis(300),
            loss: vec![(Span::ZERO, 0.0)],
            mark_above: None,
            jitter: Span::ZERO,
            reorder: 0.0,
            duplicate: 0.0,
            others: vec![(Span::ZERO, 0)],
        }
    }
}

/// Steps at whole seconds.
pub(crate) fn steps<T: Copy>(steps: &[(u64, T)]) -> Vec<(Span, T)> {
    steps.iter().map(|&(s, value)| (Span::from_secs(s), value)).collect()
}

/// The value of a step function.
pub(crate) fn value<T: Copy>(steps: &[(Span, T)], at: Time) -> T {
    let since = at.since(Time::ZERO);
    steps.iter().rev().find(|(from, _)| *from <= since).expect("a value from the start").1
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    pub(crate) at: Time,
    pub(crate) ce: bool,
    pub(crate) again: Option<Time>,
}

/// The queue and what is behind it.
#[derive(Debug)]
pub(crate) struct Bottleneck {
    path: Path,
    stream: Stream,
    /// When those in the queue will have left, and their sizes.
    waiting: VecDeque<(Time, u64)>,
    free_at: Time,
    last_delivery: Time,
    other_at: Time,
}

const OTHER_BYTES: u64 = 1200;

impl Bottleneck {
    pub(crate) fn new(path: Path, seed: u64) -> Self {
        let stream = Seed::new(seed, 0).stream("bottleneck");
        let start = Time::ZERO;
        Self { path, stream, waiting: VecDeque::new(), free_at: start, last_delivery: start, other_at: start }
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.stream.bits() as f64 / u64::MAX as f64
    }

    /// How long a packet would wait that came now.
    pub(crate) fn queueing(&self, now: Time) -> Span {
        self.free_at.since(now)
    }

    fn enqueue(&mut self, now: Time, bytes: u64) -> Option<Time> {
        while self.waiting.front().is_some_and(|(left, _)| *left <= now) {
            self.waiting.pop_front();
        }
        let bps = value(&self.path.capacity, now);
        let held: u64 = self.waiting.iter().map(|(_, bytes)| bytes).sum();
        let room = (bps as f64 * self.path.queue.as_secs_f64() / 8.0) as u64;
        if held + bytes > room.max(2 * OTHER_BYTES) {
            return None;
        }
        let start = self.free_at.max(now);
        self.free_at = start + Span::from_nanos(bytes * 8 * 1_000_000_000 / bps);
        self.waiting.push_back((self.free_at, bytes));
        Some(self.free_at)
    }

    /// A packet enters the queue.
    pub(crate) fn send(&mut self, now: Time, bytes: u32) -> Option<Delivery> {
        while self.other_at <= now {
            let bps = value(&self.path.others, self.other_at);
            let at = self.other_at;
            if bps == 0 {
                self.other_at = at + Span::from_millis(10);
                continue;
            }
            self.enqueue(at, OTHER_BYTES);
            self.other_at = at + Span::from_nanos(OTHER_BYTES * 8 * 1_000_000_000 / bps);
        }
        let waits = self.queueing(now);
        // IPv4 and UDP.
        let left = self.enqueue(now, u64::from(bytes) + 28)?;
        if self.unit() < value(&self.path.loss, now) {
            return None;
        }
        let jitter = Span::from_secs_f64(self.path.jitter.as_secs_f64() * self.unit());
        let arrives = (left + value(&self.path.delay, now) + jitter).max(self.last_delivery);
        let held_back = self.unit() < self.path.reorder;
        let at = if held_back { arrives + Span::from_millis(30) } else { arrives };
        if !held_back {
            self.last_delivery = at;
        }
        let again = (self.unit() < self.path.duplicate).then(|| at + Span::from_millis(1));
        Some(Delivery { at, ce: self.path.mark_above.is_some_and(|above| waits > above), again })
    }
}
