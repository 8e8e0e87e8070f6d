//! Datagrams at a constant rate, always or in bursts.
//!
//! Datagram `n` carries the octets `n × size ..` of a pattern, so the receiver knows which one it has, and
//! since it has the sender's [`Pace`], when it was due: delays are counted from there.

use crate::datagrams::{self, DatagramRecord};
use crate::machine::{DatagramMachine, Machine};
use crate::onoff::Switch;
use crate::settings::{FlowContext, Over, Settings};
use crate::socket::Datagrams;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// `from` sends datagrams at a constant rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Payload bytes of each datagram.
    pub packet_bytes: u32,
    /// Time from one datagram to the next.
    pub interval_ns: u64,
    /// How many datagrams; none sends until the run ends.
    pub packets: Option<u64>,
}

impl Settings for Cbr {
    const TRANSPORTS: &'static [Over] = &[Over::Datagrams];
    const RECEIVER: usize = 1;

    fn check(&self, check: &mut Check<'_>) {
        datagrams::check_size(self.packet_bytes, check);
        check.at("interval_ns").need(self.interval_ns > 0, "an interval is above zero");
        check.at("interval_ns").span(self.interval_ns);
    }

    fn check_real(&self, _over: Over, check: &mut Check<'_>) {
        datagrams::check_real_size(self.packet_bytes, check);
    }

    fn is_endless(&self) -> bool {
        self.packets.is_none()
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let pace = Pace::Constant { start: flow.start, interval: Span::from_nanos(self.interval_ns) };
        let [there, _] = flow.patterns();
        Schedule { stream: there, size: self.packet_bytes, pace, count: self.packets }.ends()
    }
}

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

impl Schedule {
    /// The ends that send and receive it.
    pub(crate) fn ends(self) -> [Machine; 2] {
        [Box::new(Sender::new(self.clone())).into(), Box::new(Receiver::new(self)).into()]
    }
}

/// Sends.
#[derive(Debug)]
pub struct Sender {
    schedule: Schedule,
    next_at: Option<Time>,
    record: DatagramRecord,
}

impl Sender {
    /// Has not sent anything yet.
    pub fn new(mut schedule: Schedule) -> Self {
        let next_at = (schedule.count != Some(0)).then(|| schedule.pace.due(0));
        let record = DatagramRecord { planned: schedule.count, ..DatagramRecord::default() };
        Self { schedule, next_at, record }
    }
}

impl DatagramMachine for Sender {
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        while self.next_at.is_some_and(|due| due <= now) {
            let Schedule { stream, size, count, ref mut pace } = self.schedule;
            socket.send(datagrams::numbered(stream, self.record.sent, size));
            self.record.sent += 1;
            let more = count.is_none_or(|count| self.record.sent < count);
            self.next_at = more.then(|| pace.due(self.record.sent));
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_at
    }

    fn stop(&mut self) {
        self.next_at = None;
    }

    fn record(&self) -> &DatagramRecord {
        &self.record
    }
}

/// Receives.
#[derive(Debug)]
pub struct Receiver {
    schedule: Schedule,
    record: DatagramRecord,
}

impl Receiver {
    /// Has not received anything yet.
    pub fn new(schedule: Schedule) -> Self {
        Self { schedule, record: DatagramRecord::default() }
    }

    fn receive(&mut self, now: Time, data: &Payload) {
        let Schedule { stream, size, ref mut pace, .. } = self.schedule;
        self.record.take(now, data, stream, size, |number| pace.due(number));
    }
}

impl DatagramMachine for Receiver {
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        while let Some(data) = socket.receive() {
            self.receive(now, &data);
        }
    }

    fn record(&self) -> &DatagramRecord {
        &self.record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datagrams::LEAST_REAL;
    use alloc::vec::Vec;

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
        let reception = receiver.record.arrivals.reception();
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
                assert_eq!(
                    (receiver.record.arrivals.highest(), receiver.record.arrivals.wrong),
                    (Some(number), 0),
                    "{size} octets"
                );
                bytes[size as usize / 2] ^= 1;
                receiver.receive(now, &Payload::bytes(bytes.into()));
                assert_eq!(receiver.record.arrivals.wrong, u64::from(size), "one octet is wrong");
                receiver.record.arrivals.wrong = 0;
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
            receiver.record.arrivals.reception().jitter
        };
        assert_eq!(jitter([7; 5]), Span::ZERO);
        // By hand: |D| = 16 ms four times: J = 1, 1.9375, 2.816, 3.640 ms.
        let seen = jitter([0, 16, 0, 16, 0]).as_secs_f64();
        assert!((seen - 0.003_640).abs() < 1e-6, "{seen}");
    }
}
