//! Datagrams as they were recorded: each at a time and of a size of its own.
//!
//! Datagram `n` carries octets of a pattern from `n × widest` on, where the widest is the largest of all. So what comes
//! tells its number, as in [`cbr`](super::cbr).

use crate::datagrams::{self, DATAGRAMS, DatagramRecord};
use crate::entity::Entity;
use crate::machine::{DatagramMachine, Machine};
use crate::settings::{FlowContext, Over, Settings};
use crate::socket::Datagrams;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};
use voxpath_wire::Payload;

/// `from` sends datagrams at times that are given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Of each, when it leaves in nanoseconds from the flow's start, and its payload in bytes; times do not descend.
    pub datagrams: Vec<(u64, u32)>,
}

impl Settings for Recorded {
    const TRANSPORTS: &'static [Over] = &[Over::Datagrams];
    const RECEIVER: usize = 1;
    const TABLES: &'static [&'static dyn Entity] = &[&DATAGRAMS];

    fn check(&self, check: &mut Check<'_>) {
        let mut place = check.at("datagrams");
        place.need(!self.datagrams.is_empty(), "are at least one");
        let mut before = 0;
        for (i, &(at_ns, bytes)) in self.datagrams.iter().enumerate() {
            let mut place = place.at(i);
            datagrams::check_octets(bytes, &mut place);
            place.span(at_ns);
            place.need(before <= at_ns, "comes before the one listed before it: times do not descend");
            before = at_ns;
        }
    }

    fn check_real(&self, _over: Over, check: &mut Check<'_>) {
        let mut place = check.at("datagrams");
        for (i, &(_, bytes)) in self.datagrams.iter().enumerate() {
            datagrams::check_real_octets(bytes, &mut place.at(i));
        }
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let [stream, _] = flow.patterns();
        let widest = self.datagrams.iter().map(|&(_, bytes)| bytes).max().unwrap_or(1);
        let recording = Recording { datagrams: self.datagrams.as_slice().into(), stream, widest };
        let planned = Some(self.datagrams.len() as u64);
        let sender = Sender {
            recording: recording.clone(),
            start: flow.start,
            next_at: recording.due(flow.start, 0),
            record: DatagramRecord { planned, ..DatagramRecord::default() },
        };
        let receiver = Receiver { recording, record: DatagramRecord::default() };
        [Box::new(sender).into(), Box::new(receiver).into()]
    }

    fn sample(draw: &mut dyn Draw, _may_be_endless: bool) -> Self {
        let mut at_ns = draw.span() / 10;
        let datagrams = (0..=draw.below(20))
            .map(|_| {
                at_ns += draw.span() / 100;
                (at_ns, 1 + draw.below(3_000) as u32)
            })
            .collect();
        Self { datagrams }
    }
}

/// What both ends know.
#[derive(Debug, Clone)]
struct Recording {
    datagrams: Arc<[(u64, u32)]>,
    stream: u32,
    widest: u32,
}

impl Recording {
    fn due(&self, start: Time, number: u64) -> Option<Time> {
        let &(at_ns, _) = self.datagrams.get(number as usize)?;
        Some(start + Span::from_nanos(at_ns))
    }

    fn size(&self, number: u64) -> Option<u32> {
        self.datagrams.get(number as usize).map(|&(_, bytes)| bytes)
    }
}

/// Sends.
#[derive(Debug)]
pub struct Sender {
    recording: Recording,
    start: Time,
    next_at: Option<Time>,
    record: DatagramRecord,
}

impl DatagramMachine for Sender {
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        while let Some(due) = self.next_at.filter(|&due| due <= now) {
            let number = self.record.sent();
            let Recording { stream, widest, .. } = self.recording;
            let size = self.recording.size(number).expect("what is due is one of them");
            socket.send(Payload::pattern(stream, number * u64::from(widest), size));
            self.record.sent_at.push(due);
            self.next_at = self.recording.due(self.start, number + 1);
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
    recording: Recording,
    record: DatagramRecord,
}

impl DatagramMachine for Receiver {
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        while let Some(data) = socket.receive() {
            let Recording { stream, widest, .. } = self.recording;
            self.record.take_sized(now, &data, stream, widest, |number| self.recording.size(number));
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

    #[test]
    fn bytes_tell_which_datagram_they_are_though_each_has_its_own_size() {
        let datagrams = [(0, LEAST_REAL), (5, 1_200), (5, 16), (9, 40)];
        for (number, &(_, size)) in (0..).zip(&datagrams) {
            let mut bytes = Vec::new();
            Payload::pattern(7, number * 1_200, size).write_to(&mut bytes);
            let size_of = |number: u64| datagrams.get(number as usize).map(|&(_, bytes)| bytes);
            let mut record = DatagramRecord::default();
            let take = |record: &mut DatagramRecord, bytes: &[u8]| {
                let data = Payload::bytes(bytes.to_vec().into());
                record.take_sized(Time::ZERO, &data, 7, 1_200, size_of)
            };
            assert_eq!(take(&mut record, &bytes), Some(number));
            assert_eq!(record.arrivals.octets(), u64::from(size));
            // One octet less is none of them.
            assert_eq!(take(&mut record, &bytes[..bytes.len() - 1]), None);
            assert_eq!(record.arrivals.wrong, u64::from(size) - 1);
        }
    }
}
