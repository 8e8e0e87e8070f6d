//! The window that is announced: what of the receive buffer, and when (RFC 9293 section 3.8.6.2.2).

use super::{Connection, MAX_UNSCALED_WINDOW};
use crate::config::ReceiveAccounting;

/// The largest receive buffer that Linux gives a connection, net.ipv4.tcp_rmem.
const MOST_MEMORY: u64 = 6 << 20;
/// What a packet needs of memory beside itself (`NET_SKB_PAD` with `NET_IP_ALIGN`, `struct skb_shared_info`), and for its `struct sk_buff`.
const BESIDE: u64 = 66 + 320;
const SK_BUFF: u64 = 256;

impl Connection {
    /// The application made room: tells the peer if that opens the window by enough (RFC 9293 section
    /// 3.8.6.2.2; two segments or half the buffer, one segment if the window was closed).
    pub(super) fn announce_room(&mut self) {
        let gained = self.window_edge().saturating_sub(self.rcv.advertised);
        let segment = u64::from(self.rcv.full_size.max(1));
        let closed = self.rcv.advertised <= self.rcv_nxt();
        let worth = if closed { segment } else { 2 * segment };
        if self.is_synchronised()
            && gained >= worth.min(u64::from(self.rcv.buffer.capacity()) / 2)
            && !self.rcv.fin_taken
        {
            self.rcv.ack_now = true;
        }
    }

    /// The right edge that can be announced: never to the left of an earlier one, and moved only by a
    /// segment or half the buffer (silly window syndrome avoidance, RFC 9293 section 3.8.6.2.2).
    pub(super) fn window_edge(&self) -> u64 {
        let limit = MAX_UNSCALED_WINDOW << self.options.rcv_shift;
        let mut room = self.rcv.buffer.room().min(limit);
        if self.config.receive_accounting == ReceiveAccounting::Memory && self.options.rcv_shift == 0 {
            room -= room % self.rcv.full_size.max(1).min(self.rcv.buffer.capacity());
        }
        let edge = self.rcv.buffer.next() + u64::from(room);
        let step = (self.rcv.buffer.capacity() / 2).min(u32::from(self.config.mss));
        if edge < self.rcv.advertised + u64::from(step) { self.rcv.advertised } else { edge }
    }

    /// Lets the window grow towards what full segments have shown that there is room for, by two segments.
    pub(super) fn grow_receive_buffer(&mut self) {
        if self.config.receive_accounting == ReceiveAccounting::Octets {
            return;
        }
        let segment = self.rcv.full_size;
        let headers = if self.options.timestamps { 52 } else { 40 };
        let most = room_in_memory(self.config.receive_buffer, segment, headers);
        let capacity = self.rcv.buffer.capacity();
        self.rcv.buffer.grow(capacity.saturating_add(2 * segment).min(most));
    }
}

/// How much data a window may be for while one segment of that size waits in the buffer: tcp_win_from_space() with the `scaling_ratio` of
/// tcp_measure_rcv_mss(), for packets that came by a TUN device (docs/kernel.md).
fn room_in_memory(buffer: u32, segment: u32, headers: u32) -> u32 {
    let memory = (2 * u64::from(buffer)).min(MOST_MEMORY);
    let truesize = (u64::from(segment + headers) + BESIDE).next_power_of_two() + SK_BUFF;
    let ratio = u64::from(segment) * 256 / truesize;
    // A share of what fits `u32`.
    (memory.saturating_sub(truesize) * ratio / 256) as u32
}

#[cfg(test)]
mod tests {
    use super::room_in_memory;

    #[test]
    fn windows_grow_to_what_the_kernel_announced() {
        // Linux 6.18 over TUN: SO_RCVBUF, segment, headers, and the window in the end, which is of whole segments.
        for (buffer, segment, headers, window) in [
            (8760, 1448, 52, 8688),
            (12_000, 1448, 52, 13_032),
            (20_000, 1448, 52, 23_168),
            (31_250, 1448, 52, 36_200),
            (46_875, 1448, 52, 56_472),
            (46_875, 1460, 40, 56_940),
        ] {
            let room = room_in_memory(buffer, segment, headers).max(buffer);
            assert_eq!(room / segment * segment, window, "{buffer} octets");
        }
    }
}
