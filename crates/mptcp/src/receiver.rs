//! The receiving half of the data level: one receive buffer and one window for all subflows.

use crate::reassembly::DataReassembly;
use crate::sequence::DataSequence;
use voxpath_wire::Payload;

/// One direction's data as it comes.
#[derive(Debug)]
pub(crate) struct DataReceiver {
    /// None before the other end's key is known.
    pub(crate) sequence: Option<DataSequence>,
    pub(crate) queue: DataReassembly,
    capacity: u32,
    /// The right edge of the window that was announced.
    advertised: u64,
}

impl DataReceiver {
    pub(crate) fn new(capacity: u32) -> Self {
        Self { sequence: None, queue: DataReassembly::new(1), capacity, advertised: 1 }
    }

    /// Takes in octets that belong at `from`; how many were new. What lies beyond the window is not kept: its sender has to repeat it.
    pub(crate) fn take(&mut self, from: u64, data: &Payload) -> u64 {
        let most = self.edge().saturating_sub(from).min(u64::from(data.len())) as u32;
        if most == 0 {
            return 0;
        }
        if most == data.len() {
            self.queue.insert(from, data)
        } else {
            self.queue.insert(from, &data.slice(0, most))
        }
    }

    /// Takes in octets of TCP, whose window has been theirs.
    pub(crate) fn take_plain(&mut self, from: u64, data: &Payload) {
        self.queue.insert(from, data);
    }

    /// The other end's last octet is before `at`.
    pub(crate) fn note_fin(&mut self, at: u64) {
        self.queue.note_fin(at);
    }

    /// The right edge of what fits now; never less than what was announced (RFC 8684 section 3.3.1).
    fn edge(&self) -> u64 {
        let room = u64::from(self.capacity).saturating_sub(self.queue.readable());
        (self.queue.data_ack() + room).max(self.advertised)
    }

    /// The window to announce, counted from the data ACK.
    pub(crate) fn window(&self) -> u32 {
        // At most 1 GiB, as the buffer.
        (self.edge() - self.queue.data_ack()) as u32
    }

    /// A segment leaves with this window.
    pub(crate) fn announced(&mut self, window: u32) {
        self.advertised = self.advertised.max(self.queue.data_ack() + u64::from(window));
    }

    /// Whether the other end has to hear of the window though nothing comes: it believes in half of the buffer at most, and twice as much is
    /// there, as Linux' tcp_cleanup_rbuf() asks.
    pub(crate) fn opens(&self, mss: u64) -> bool {
        let (left, room) = (self.advertised.saturating_sub(self.queue.data_ack()), u64::from(self.window()));
        let capacity = u64::from(self.capacity);
        // Less than a segment would make for silly windows (RFC 9293 section 3.8.6.2.2).
        2 * left <= capacity && room >= 2 * left && room - left >= mss.min(capacity / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_all_subflows_closes_and_opens() {
        let mut receiver = DataReceiver::new(1000);
        receiver.announced(receiver.window());
        assert_eq!(receiver.take(1, &Payload::pattern(0, 0, 800)), 800);
        assert_eq!((receiver.window(), receiver.opens(100)), (200, false));
        assert_eq!(
            receiver.take(801, &Payload::pattern(0, 800, 300)),
            200,
            "what was not announced is not kept"
        );
        assert_eq!((receiver.window(), receiver.opens(100)), (0, false));
        receiver.queue.read(99);
        assert!(!receiver.opens(100), "a silly window");
        receiver.queue.read(1);
        assert!(receiver.opens(100));
        receiver.announced(receiver.window());
        assert_eq!((receiver.window(), receiver.opens(100)), (100, false));
    }
}
