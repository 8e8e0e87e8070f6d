//! Datagrams at a constant rate, always or in bursts.
//!
//! Datagram `n` carries the octets `n × size ..` of a pattern, so the receiver knows which one it has. Its delay counts
//! from when it was due, which the sender tells at the end.

use crate::datagrams::{self, DATAGRAMS, DatagramRecord};
use crate::entity::Entity;
use crate::machine::{DatagramMachine, Machine};
use crate::settings::{FlowContext, Over, Settings, sample_count};
use crate::socket::Datagrams;
use crate::switch::Switch;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

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
    const TABLES: &'static [&'static dyn Entity] = &[&DATAGRAMS];

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

    fn sample(draw: &mut dyn Draw, may_be_endless: bool) -> Self {
        Self {
            packet_bytes: 1 + draw.below(3_000) as u32,
            interval_ns: 1_000_000 + draw.span() / 3,
            packets: sample_count(draw, 200, may_be_endless),
        }
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

/// What is sent.
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
        let receiver = Receiver::new(self.stream, self.size);
        [Box::new(Sender::new(self)).into(), Box::new(receiver).into()]
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
        while let Some(due) = self.next_at.filter(|&due| due <= now) {
            let Schedule { stream, size, count, ref mut pace } = self.schedule;
            socket.send(datagrams::numbered(stream, self.record.sent(), size));
            self.record.sent_at.push(due);
            let more = count.is_none_or(|count| self.record.sent() < count);
            self.next_at = more.then(|| pace.due(self.record.sent()));
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
    stream: u32,
    size: u32,
    record: DatagramRecord,
}

impl Receiver {
    /// Expects pattern `stream` in datagrams of `size` octets.
    pub fn new(stream: u32, size: u32) -> Self {
        Self { stream, size, record: DatagramRecord::default() }
    }
}

impl DatagramMachine for Receiver {
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        while let Some(data) = socket.receive() {
            self.record.take(now, &data, self.stream, self.size);
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
    use voxpath_wire::Payload;

    #[test]
    fn a_late_a_lost_and_a_repeated_datagram_are_told_apart() {
        let mut record = DatagramRecord::default();
        for (number, at_ms) in [(0, 30), (2, 71), (1, 72), (2, 73), (4, 110)] {
            let now = Time::ZERO + Span::from_millis(at_ms);
            record.take(now, &Payload::pattern(1, number * 160, 160), 1, 160);
        }
        let arrivals = &record.arrivals;
        assert_eq!((arrivals.count(), arrivals.octets()), (4, 640));
        let at = |ms| Some(Time::ZERO + Span::from_millis(ms));
        assert_eq!((arrivals.first_at(), arrivals.last_at()), (at(30), at(110)));
    }

    #[test]
    fn bytes_tell_which_datagram_they_are_however_many_were_lost_before() {
        for size in [LEAST_REAL, 16, 17, 160, 1472] {
            let mut record = DatagramRecord::default();
            for number in [0, 3, 1_000_000_u64] {
                let mut bytes = Vec::new();
                Payload::pattern(1, number * u64::from(size), size).write_to(&mut bytes);
                let now = Time::ZERO + Span::from_millis(20) * number;
                let took = record.take(now, &Payload::bytes(bytes.clone().into()), 1, size);
                assert_eq!((took, record.arrivals.wrong), (Some(number), 0), "{size} octets");
                bytes[size as usize / 2] ^= 1;
                assert_eq!(record.take(now, &Payload::bytes(bytes.into()), 1, size), None);
                assert_eq!(record.arrivals.wrong, u64::from(size), "one octet is wrong");
                record.arrivals.wrong = 0;
            }
        }
    }
}
