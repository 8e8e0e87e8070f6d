//! Datagrams at a constant rate, always or in bursts.
//!
//! Datagram `n` carries the octets `n × size ..` of a pattern, so the receiver knows which one it has, and
//! since it has the sender's [`Pace`], when it was due: delays are counted from there.

use crate::onoff::Switch;
use crate::socket::Datagrams;
use alloc::vec::Vec;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;
use voxpath_wire::payload::pattern_offset;

/// The smallest payload whose bytes tell which datagram it is, because it holds a whole block of the pattern
/// wherever it begins.
pub const LEAST_REAL: u32 = 15;

/// When datagrams leave.
#[derive(Debug, Clone)]
pub enum Pace {
    /// At a constant interval from the first on.
    Constant {
        /// When the first leaves.
        start: Time,
        /// From one datagram to the next.
        interval: Span,
    },
    /// At a constant interval while a source is on.
    OnOff {
        /// When it is.
        switch: Switch,
        /// From one datagram to the next, on-times put together.
        interval: Span,
    },
}

impl Pace {
    /// When datagram `number` is due.
    fn due(&mut self, number: u64) -> Time {
        match self {
            Self::Constant { start, interval } => *start + *interval * number,
            Self::OnOff { switch, interval } => switch.after(*interval * number),
        }
    }
}

/// What both ends have to know.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Pattern.
    pub stream: u32,
    /// Payload octets of each datagram; at least one.
    pub size: u32,
    /// When they leave.
    pub pace: Pace,
    /// How many; none never ends.
    pub count: Option<u64>,
}

/// Sends.
#[derive(Debug)]
pub struct Sender {
    schedule: Schedule,
    sent: u64,
    next_at: Option<Time>,
}

impl Sender {
    /// Has not sent anything yet.
    pub fn new(mut schedule: Schedule) -> Self {
        let next_at = (schedule.count != Some(0)).then(|| schedule.pace.due(0));
        Self { schedule, sent: 0, next_at }
    }

    /// Sends what is due at `now`.
    pub fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        while self.next_at.is_some_and(|due| due <= now) {
            let offset = self.sent * u64::from(self.schedule.size);
            socket.send(now, Payload::pattern(self.schedule.stream, offset, self.schedule.size));
            self.sent += 1;
            let more = self.schedule.count.is_none_or(|count| self.sent < count);
            self.next_at = more.then(|| self.schedule.pace.due(self.sent));
        }
    }

    /// Sends nothing more.
    pub const fn stop(&mut self) {
        self.next_at = None;
    }

    /// When the next datagram is due; none after the last.
    pub const fn poll_timeout(&self) -> Option<Time> {
        self.next_at
    }

    /// Datagrams sent.
    pub const fn sent(&self) -> u64 {
        self.sent
    }
}

/// Receives.
#[derive(Debug)]
pub struct Receiver {
    schedule: Schedule,
    /// One-way delay of each datagram, in the order of arrival; ns.
    delays: Vec<u64>,
    octets: u64,
    first_at: Option<Time>,
    last_at: Option<Time>,
    highest: Option<u64>,
    reordered: u64,
    duplicates: u64,
    /// Which datagrams came, 64 to a word.
    seen: Vec<u64>,
    jitter_16: u64,
    wrong: u64,
}

/// What the receiver saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Reception {
    /// Different datagrams received.
    pub datagrams: u64,
    /// Octets in them.
    pub octets: u64,
    /// Datagrams received again.
    pub duplicates: u64,
    /// Datagrams that came after one sent later (RFC 4737 section 3).
    pub reordered: u64,
    /// Octets in datagrams whose content was not what was sent.
    pub wrong: u64,
    /// When the last one came.
    pub last_at: Option<Time>,
    /// Interarrival jitter (RFC 3550 section 6.4.1) after the last one.
    pub jitter: Span,
    /// One-way delays, ascending; ns.
    pub delays: Vec<u64>,
}

impl Receiver {
    /// Has not received anything yet.
    pub const fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            delays: Vec::new(),
            octets: 0,
            first_at: None,
            last_at: None,
            highest: None,
            reordered: 0,
            duplicates: 0,
            seen: Vec::new(),
            jitter_16: 0,
            wrong: 0,
        }
    }

    /// Takes a datagram in.
    pub fn receive(&mut self, now: Time, data: &Payload) {
        let Some(number) = self.number(data) else {
            self.wrong += u64::from(data.len());
            return;
        };
        let size = u64::from(self.schedule.size);
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            self.duplicates += 1;
            return;
        }
        self.seen[word] |= bit;
        self.octets += size;
        self.first_at.get_or_insert(now);
        self.last_at = Some(now);
        if self.highest.is_some_and(|highest| number < highest) {
            self.reordered += 1;
        }
        self.highest = self.highest.max(Some(number));

        let delay = now.since(self.schedule.pace.due(number)).as_nanos();
        if let Some(&before) = self.delays.last() {
            // J += (|D| - J) / 16, held as 16 J as in RFC 3550 appendix A.8.
            self.jitter_16 = self.jitter_16 + delay.abs_diff(before) - (self.jitter_16 + 8) / 16;
        }
        self.delays.push(delay);
    }

    /// Which datagram it is; none of them, if its content is wrong.
    fn number(&self, data: &Payload) -> Option<u64> {
        let &Schedule { stream, size, .. } = &self.schedule;
        match data {
            _ if data.len() != size => None,
            Payload::Pattern { stream: s, offset, .. } => {
                let size = u64::from(size);
                (*s == stream && offset.is_multiple_of(size)).then_some(offset / size)
            }
            // The content says which datagram bytes are. One of the first eight begins a block of the pattern.
            Payload::Bytes(bytes) => (0..8).find_map(|skipped| {
                let block = *bytes.get(skipped..)?.first_chunk()?;
                let offset = pattern_offset(stream, block)?.checked_sub(skipped as u64)?;
                let mut expected = Vec::new();
                let number = offset / u64::from(size);
                Payload::pattern(stream, number * u64::from(size), size).write_to(&mut expected);
                (expected == bytes[..]).then_some(number)
            }),
            Payload::Empty => None,
        }
    }

    /// Bytes that its account holds.
    pub const fn memory(&self) -> usize {
        (self.delays.capacity() + self.seen.capacity()) * size_of::<u64>()
    }

    /// When the first datagram came.
    pub const fn first_at(&self) -> Option<Time> {
        self.first_at
    }

    /// What was received so far.
    pub fn reception(&self) -> Reception {
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        Reception {
            datagrams: self.delays.len() as u64,
            octets: self.octets,
            duplicates: self.duplicates,
            reordered: self.reordered,
            wrong: self.wrong,
            last_at: self.last_at,
            jitter: Span::from_nanos(self.jitter_16 / 16),
            delays,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        let pace = Pace::Constant { start: Time::ZERO, interval: Span::from_millis(20) };
        Schedule { stream: 1, size: 160, pace, count: Some(5) }
    }

    #[test]
    fn a_late_a_lost_and_a_repeated_datagram_are_told_apart() {
        let mut receiver = Receiver::new(schedule());
        for (number, at_ms) in [(0, 30), (2, 71), (1, 72), (2, 73), (4, 110)] {
            let now = Time::ZERO + Span::from_millis(at_ms);
            receiver.receive(now, &Payload::pattern(1, number * 160, 160));
        }
        let reception = receiver.reception();
        assert_eq!((reception.datagrams, reception.duplicates, reception.reordered), (4, 1, 1));
        assert_eq!(reception.delays, [30_000_000, 30_000_000, 31_000_000, 52_000_000]);
        assert_eq!(reception.octets, 640);
    }

    #[test]
    fn bytes_tell_which_datagram_they_are_however_many_were_lost_before() {
        for size in [LEAST_REAL, 16, 17, 160, 1472] {
            let mut receiver = Receiver::new(Schedule { size, count: None, ..schedule() });
            for number in [0, 3, 1_000_000_u64] {
                let mut bytes = Vec::new();
                Payload::pattern(1, number * u64::from(size), size).write_to(&mut bytes);
                let now = Time::ZERO + Span::from_millis(20) * number;
                receiver.receive(now, &Payload::bytes(bytes.clone().into()));
                assert_eq!((receiver.highest, receiver.wrong), (Some(number), 0), "{size} octets");
                bytes[size as usize / 2] ^= 1;
                receiver.receive(now, &Payload::bytes(bytes.into()));
                assert_eq!(receiver.wrong, u64::from(size), "one octet is wrong");
                receiver.wrong = 0;
            }
        }
    }

    #[test]
    fn a_constant_delay_has_no_jitter_and_a_changing_one_has() {
        let jitter = |delays: [u64; 5]| {
            let mut receiver = Receiver::new(schedule());
            for (number, delay) in (0..).zip(delays) {
                let now = Time::ZERO + Span::from_millis(20 * number + delay);
                receiver.receive(now, &Payload::pattern(1, number * 160, 160));
            }
            receiver.reception().jitter
        };
        assert_eq!(jitter([7; 5]), Span::ZERO);
        // By hand: |D| = 16 ms four times: J = 1, 1.9375, 2.816, 3.640 ms.
        let seen = jitter([0, 16, 0, 16, 0]).as_secs_f64();
        assert!((seen - 0.003_640).abs() < 1e-6, "{seen}");
    }
}
