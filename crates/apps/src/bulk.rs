//! Bulk transfer: one end writes, the other reads.

use crate::record::{Record, Verifier};
use crate::socket::Stream;
use voxpath_units::Time;
use voxpath_wire::Payload;

/// Writes a pattern as fast as the socket takes it, then closes.
#[derive(Debug)]
pub struct Source {
    stream: u32,
    /// Octets still to write; none never ends.
    left: Option<u64>,
    written: u64,
    record: Record,
}

impl Source {
    /// Sends `octets` of pattern `stream`; without a number it never ends.
    pub fn new(stream: u32, octets: Option<u64>) -> Self {
        Self { stream, left: octets, written: 0, record: Record::default() }
    }

    pub(crate) fn drive(&mut self, socket: &mut impl Stream) {
        if !socket.is_connected() || self.record.finished {
            return;
        }
        self.written += write_pattern(socket, self.stream, self.written, &mut self.left);
        if self.left == Some(0) {
            socket.close();
            self.record.finished = true;
        }
    }

    pub(crate) const fn record(&self) -> &Record {
        &self.record
    }
}

/// Writes what fits of the `left` octets of pattern `stream` from `offset` on; how many octets that is.
pub(crate) fn write_pattern(
    socket: &mut impl Stream,
    stream: u32,
    offset: u64,
    left: &mut Option<u64>,
) -> u64 {
    let room = u64::from(socket.writable());
    let len = left.map_or(room, |left| left.min(room));
    // Bounded by `room`, hence u32.
    let written = u64::from(socket.write(&Payload::pattern(stream, offset, len as u32)));
    if let Some(left) = left {
        *left -= written;
    }
    written
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
        loop {
            let data = socket.read(u32::MAX);
            if data.is_empty() {
                break;
            }
            self.record.first_at.get_or_insert(now);
            self.record.wrong_octets += self.verifier.take(&data);
            self.record.octets = self.verifier.octets();
            if self.expected == Some(self.record.octets) {
                self.record.completed_at = Some(now);
            }
        }
        if socket.is_at_end() && !self.record.finished {
            if self.expected == Some(0) {
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
