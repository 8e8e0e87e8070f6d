//! A source that is on and off in turn, and while it is on sends blocks at a constant rate.
//!
//! Only the time that it is on counts: a block that an on-time had no room for leaves as far into the next one as was
//! missing, so that the mean rate is the rate times the share of time that the source is on.

use crate::apps::bulk::{self, write_pattern};
use crate::apps::cbr::{Pace, Schedule};
use crate::datagrams::{self, DATAGRAMS};
use crate::entity::Entity;
use crate::machine::{Machine, StreamMachine};
use crate::record::Record;
use crate::sample::Law;
use crate::settings::{FlowContext, Over, Settings, at_least_one, sample_count, transfer};
use crate::socket::Stream;
pub use crate::switch::Switch;
use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// `from` sends at a constant rate while it is on, and it is on and off in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Payload bytes of each datagram, or of each piece that is written to the stream.
    pub packet_bytes: u32,
    /// Time from one to the next while the source is on.
    pub interval_ns: u64,
    /// How long it is on.
    pub on: Law,
    /// How long it is off.
    pub off: Law,
    /// How many datagrams or pieces; none sends until the run ends.
    pub packets: Option<u64>,
}

impl Settings for OnOff {
    const TRANSPORTS: &'static [Over] = &[Over::Stream, Over::Datagrams];
    const RECEIVER: usize = 1;
    const TABLES: &'static [&'static dyn Entity] = &[&DATAGRAMS];

    fn check(&self, check: &mut Check<'_>) {
        datagrams::check_size(self.packet_bytes, check);
        transfer(&mut check.at("packets"), self.packet_bytes.into(), self.packets.unwrap_or_default());
        check.at("interval_ns").span(self.interval_ns);
        at_least_one(check, [("interval_ns", self.interval_ns)]);
        self.on.check(&mut check.at("on"));
        self.off.check(&mut check.at("off"));
        // Each on-time is kept: a thousandth of an interval each would be a thousand for each packet.
        let on = self.on.mean().as_nanos();
        check.at("on").need(
            on >= self.interval_ns / 1000 && on > 0,
            "lasts a thousandth of the time from one packet to the next at least",
        );
    }

    fn check_real(&self, over: Over, check: &mut Check<'_>) {
        if over == Over::Datagrams {
            datagrams::check_real_size(self.packet_bytes, check);
        }
    }

    fn is_endless(&self) -> bool {
        self.packets.is_none()
    }

    fn is_paced(&self) -> bool {
        true
    }

    fn ends(&self, flow: &FlowContext<'_>, over: Over) -> [Machine; 2] {
        let &Self { packet_bytes, interval_ns, on, off, packets } = self;
        let interval = Span::from_nanos(interval_ns);
        let switch = Switch::new(on, off, flow.start, flow.draws("switch"));
        let [there, _] = flow.patterns();
        match over {
            Over::Stream => {
                let size = u64::from(packet_bytes);
                let source = Source::new(switch, there, size, interval, packets);
                let sink = bulk::Sink::new(there, packets.map(|packets| packets * size));
                [Box::new(source).into(), sink.into()]
            }
            Over::Datagrams => {
                let pace = Pace::OnOff { switch, interval };
                Schedule { stream: there, size: packet_bytes, pace, count: packets }.ends()
            }
        }
    }

    fn sample(draw: &mut dyn Draw, may_be_endless: bool) -> Self {
        Self {
            packet_bytes: 1 + draw.below(3_000) as u32,
            interval_ns: 1_000_000 + draw.span() / 3,
            on: Law::sample(draw),
            off: Law::sample(draw),
            packets: sample_count(draw, 200, may_be_endless),
        }
    }
}

/// Writes blocks of a pattern as they are due, over a byte stream; what the socket cannot take waits.
#[derive(Debug)]
pub struct Source {
    switch: Switch,
    stream: u32,
    /// Octets of each block.
    size: u64,
    interval: Span,
    /// How many; none never ends.
    blocks: Option<u64>,
    /// Blocks that were due so far.
    due: u64,
    /// When the next one is due; none before the connection stands, and in the end.
    next_at: Option<Time>,
    is_begun: bool,
    written: u64,
    record: Record,
}

impl Source {
    /// Blocks of `size` octets of pattern `stream`, one every `interval` while `switch` is on.
    pub fn new(switch: Switch, stream: u32, size: u64, interval: Span, blocks: Option<u64>) -> Self {
        Self {
            switch,
            stream,
            size,
            interval,
            blocks,
            due: 0,
            next_at: None,
            is_begun: false,
            written: 0,
            record: Record::default(),
        }
    }

    fn schedule(&mut self) {
        let more = self.blocks.is_none_or(|blocks| self.due < blocks);
        self.next_at = more.then(|| self.switch.after(self.interval * self.due));
    }
}

impl StreamMachine for Source {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        if !socket.is_connected() || self.record.finished {
            return;
        }
        if !core::mem::replace(&mut self.is_begun, true) {
            self.schedule();
        }
        while self.next_at.is_some_and(|at| at <= now) {
            self.due += 1;
            self.schedule();
        }
        write_pattern(socket, self.stream, &mut self.written, Some(self.due * self.size));
        if self.next_at.is_none() && self.written == self.due * self.size {
            socket.close();
            self.record.finished = true;
        }
    }

    fn stop(&mut self) {
        self.is_begun = true;
        self.next_at = None;
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next_at
    }

    fn record(&self) -> &Record {
        &self.record
    }
}
