//! Datagrams that come back: round-trip times, and losses of each direction.
//!
//! `from` sends numbered datagrams at a constant interval, and `to` sends each back as it comes. Since both count what
//! came, losses on the way there and on the way back are told apart.

use crate::datagrams::{self, DATAGRAMS, DatagramRecord};
use crate::entity::Entity;
use crate::machine::{DatagramMachine, Machine};
use crate::settings::{FlowContext, Over, Settings, sample_count};
use crate::socket::Datagrams;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// `from` sends datagrams at a constant rate, `to` sends each of them back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Payload bytes of each datagram.
    pub packet_bytes: u32,
    /// Time from one datagram to the next.
    pub interval_ns: u64,
    /// How many datagrams; none sends until the run ends.
    pub packets: Option<u64>,
    /// How long an answer to the last one is awaited.
    pub patience_ns: u64,
}

impl Settings for Ping {
    const TRANSPORTS: &'static [Over] = &[Over::Datagrams];
    const RECEIVER: usize = 0;
    const TABLES: &'static [&'static dyn Entity] = &[&DATAGRAMS];

    fn check(&self, check: &mut Check<'_>) {
        datagrams::check_size(self.packet_bytes, check);
        check.at("interval_ns").need(self.interval_ns > 0, "an interval is above zero");
        check.at("interval_ns").span(self.interval_ns);
        check.at("patience_ns").span(self.patience_ns);
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
        let [there, back] = flow.patterns();
        let size = self.packet_bytes;
        [
            Box::new(Pinger::new(self, flow.start, there, back)).into(),
            Box::new(Echo::new(there, back, size)).into(),
        ]
    }

    fn sample(draw: &mut dyn Draw, may_be_endless: bool) -> Self {
        Self {
            packet_bytes: 1 + draw.below(3_000) as u32,
            interval_ns: 1_000_000 + draw.span() / 3,
            packets: sample_count(draw, 200, may_be_endless),
            patience_ns: 3 * draw.span(),
        }
    }
}

/// Sends, and counts what comes back.
#[derive(Debug)]
pub struct Pinger {
    size: u32,
    start: Time,
    interval: Span,
    patience: Span,
    streams: [u32; 2],
    next_at: Option<Time>,
    /// Until when an answer may come, once all was sent.
    waits_until: Option<Time>,
    record: DatagramRecord,
}

impl Pinger {
    /// Sends pattern `stream` from `start` on, and expects pattern `answer`.
    pub fn new(ping: &Ping, start: Time, stream: u32, answer: u32) -> Self {
        Self {
            size: ping.packet_bytes,
            start,
            interval: Span::from_nanos(ping.interval_ns),
            patience: Span::from_nanos(ping.patience_ns),
            streams: [stream, answer],
            next_at: (ping.packets != Some(0)).then_some(start),
            waits_until: None,
            record: DatagramRecord { planned: ping.packets, ..DatagramRecord::default() },
        }
    }

    fn due(&self, number: u64) -> Time {
        self.start + self.interval * number
    }

    fn is_all_answered(&self) -> bool {
        self.record.arrivals.count() == self.record.sent()
    }
}

impl DatagramMachine for Pinger {
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        while let Some(data) = socket.receive() {
            self.record.take(now, &data, self.streams[1], self.size);
        }
        while let Some(due) = self.next_at.filter(|&due| due <= now) {
            socket.send(datagrams::numbered(self.streams[0], self.record.sent(), self.size));
            self.record.sent_at.push(due);
            let more = self.record.planned.is_none_or(|count| self.record.sent() < count);
            self.next_at = more.then(|| self.due(self.record.sent()));
            if !more {
                self.waits_until = Some(now + self.patience);
            }
        }
        if self.next_at.is_none() && self.is_all_answered() {
            self.waits_until = None;
        }
        self.waits_until.take_if(|until| *until <= now);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_at.or(self.waits_until)
    }

    fn stop(&mut self) {
        if self.next_at.take().is_some() && self.record.sent() > 0 {
            self.waits_until = Some(self.due(self.record.sent() - 1) + self.patience);
        }
    }

    fn record(&self) -> &DatagramRecord {
        &self.record
    }
}

/// Sends back what comes, once each.
#[derive(Debug)]
pub struct Echo {
    size: u32,
    streams: [u32; 2],
    record: DatagramRecord,
}

impl Echo {
    /// Expects pattern `stream`, and sends the same part of pattern `answer` back.
    pub fn new(stream: u32, answer: u32, size: u32) -> Self {
        Self { size, streams: [stream, answer], record: DatagramRecord::default() }
    }
}

impl DatagramMachine for Echo {
    fn drive(&mut self, now: Time, socket: &mut impl Datagrams) {
        while let Some(data) = socket.receive() {
            let [stream, answer] = self.streams;
            if let Some(number) = self.record.take(now, &data, stream, self.size) {
                socket.send(datagrams::numbered(answer, number, self.size));
                self.record.sent_at.push(now);
            }
        }
    }

    fn record(&self) -> &DatagramRecord {
        &self.record
    }
}
