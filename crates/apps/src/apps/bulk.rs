//! Bulk transfer: one end writes, the other reads.

use crate::machine::{Machine, StreamMachine};
use crate::record::{Record, Verifier};
use crate::settings::{FlowContext, Over, Settings, sample_count, transfer};
use crate::socket::Stream;
use serde::{Deserialize, Serialize};
use voxpath_net::element::Draw;
use voxpath_units::Time;
use voxpath_units::check::Check;
use voxpath_wire::Payload;

/// `from` sends to `to`, then closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// How many bytes; none sends until the run ends.
    pub bytes: Option<u64>,
}

impl Settings for Bulk {
    const TRANSPORTS: &'static [Over] = &[Over::Stream];
    const RECEIVER: usize = 1;

    fn check(&self, check: &mut Check<'_>) {
        transfer(&mut check.at("bytes"), self.bytes.unwrap_or_default(), 1);
    }

    fn is_endless(&self) -> bool {
        self.bytes.is_none()
    }

    fn ends(&self, flow: &FlowContext<'_>, _over: Over) -> [Machine; 2] {
        let [there, _] = flow.patterns();
        [Source::new(there, self.bytes).into(), Sink::new(there, self.bytes).into()]
    }

    fn sample(draw: &mut dyn Draw, may_be_endless: bool) -> Self {
        Self { bytes: sample_count(draw, 300_000, may_be_endless) }
    }
}

/// Writes a pattern as fast as the socket takes it, then closes.
#[derive(Debug)]
pub struct Source {
    stream: u32,
    /// Octets to write in all; none never ends.
    octets: Option<u64>,
    written: u64,
    record: Record,
}

impl Source {
    /// Sends `octets` of pattern `stream`; without a number it never ends.
    pub fn new(stream: u32, octets: Option<u64>) -> Self {
        Self { stream, octets, written: 0, record: Record::default() }
    }
}

impl StreamMachine for Source {
    fn drive(&mut self, _now: Time, socket: &mut impl Stream) {
        if !socket.is_connected() || self.record.finished {
            return;
        }
        write_pattern(socket, self.stream, &mut self.written, self.octets);
        if self.octets == Some(self.written) {
            socket.close();
            self.record.finished = true;
        }
    }

    fn stop(&mut self) {
        self.octets = Some(self.written);
    }

    fn record(&self) -> &Record {
        &self.record
    }
}

/// Writes what fits of pattern `stream`, of which `written` octets were written before, up to the offset `end`.
pub(crate) fn write_pattern(socket: &mut impl Stream, stream: u32, written: &mut u64, end: Option<u64>) {
    let room = u64::from(socket.writable());
    let len = end.map_or(room, |end| room.min(end - *written));
    // Bounded by `room`, hence u32.
    *written += u64::from(socket.write(&Payload::pattern(stream, *written, len as u32)));
}

/// Reads a pattern to its end, then closes.
#[derive(Debug)]
pub struct Sink {
    verifier: Verifier,
    expected: Option<u64>,
    record: Record,
}

impl Sink {
    /// Expects `octets` of pattern `stream`; without a number any that come.
    pub fn new(stream: u32, octets: Option<u64>) -> Self {
        Self { verifier: Verifier::new(stream), expected: octets, record: Record::default() }
    }
}

impl StreamMachine for Sink {
    fn drive(&mut self, now: Time, socket: &mut impl Stream) {
        let read = self.record.read(now, socket, &mut self.verifier);
        if read > 0 && self.expected == Some(self.record.octets) {
            self.record.completed_at = Some(now);
        }
        if socket.is_at_end() && !self.record.finished {
            // A source without an end that was stopped: all that it sent is here.
            if self.expected.is_none_or(|expected| expected == 0) {
                self.record.completed_at = Some(now);
            }
            self.record.finished = true;
            socket.close();
        }
    }

    fn record(&self) -> &Record {
        &self.record
    }
}
