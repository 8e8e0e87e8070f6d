//! Bulk transfer: one end writes, the other reads.

use crate::record::{Record, Verifier};
use crate::socket::Stream;
use voxpath_units::Time;
use voxpath_wire::Payload;

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

    pub(crate) fn drive(&mut self, socket: &mut impl Stream) {
        if !socket.is_connected() || self.record.finished {
            return;
        }
        write_pattern(socket, self.stream, &mut self.written, self.octets);
        if self.octets == Some(self.written) {
            socket.close();
            self.record.finished = true;
        }
    }

    /// Nothing more is written.
    pub(crate) const fn stop(&mut self) {
        self.octets = Some(self.written);
    }

    pub(crate) const fn record(&self) -> &Record {
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

    pub(crate) fn drive(&mut self, now: Time, socket: &mut impl Stream) {
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

    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }
}
