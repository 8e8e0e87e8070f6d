//! The memory that a receive buffer may take, and how it follows the application (dynamic right-sizing; `sk_rcvbuf`, `rcvq_space`).

use crate::config::{Config, ReceiveAccounting};
use core::ops::Range;
use voxpath_units::{Span, Time};

/// The receive buffer that Linux gives a connection at first, and the largest: net.ipv4.tcp_rmem.
pub(super) const FIRST_MEMORY: u32 = 128 << 10;
const MOST_MEMORY: u32 = 32 << 20;
/// What a packet needs of memory beside itself (`NET_SKB_PAD` with `NET_IP_ALIGN`, `struct skb_shared_info`), and for its `struct sk_buff`.
const BESIDE: u64 = 66 + 320;
const SK_BUFF: u64 = 256;
/// In how many shares memory is divided (TCP_RMEM_TO_WIN_SCALE).
const SHARES: u64 = 256;
/// How many of them count as data before a packet has shown it (TCP_DEFAULT_SCALING_RATIO).
pub const FIRST_SHARE: u64 = SHARES / 2;

/// Packets as a receiver sees them: what their segments carry, and their headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// Octets of data of a full segment.
    pub segment: u32,
    /// Octets of the headers of IP and TCP, options included.
    pub headers: u32,
}

impl Packets {
    /// What one takes of memory when it came by a TUN device (docs/kernel.md).
    fn truesize(self) -> u64 {
        (u64::from(self.segment + self.headers) + BESIDE).next_power_of_two() + SK_BUFF
    }

    /// How many shares of its memory are data: the `scaling_ratio` of tcp_measure_rcv_mss().
    pub fn share_of_data(self) -> u64 {
        (u64::from(self.segment) * SHARES / self.truesize()).max(1)
    }
}

/// What the buffer may take of memory.
#[derive(Debug)]
pub struct ReceiveMemory {
    size: u32,
    most: u32,
    /// Octets that the application has taken in a round trip, the most so far.
    taken: u64,
    /// What it had taken when this round trip began, and when that was.
    from: u64,
    since: Time,
}

impl ReceiveMemory {
    /// The memory at the start of a connection.
    pub fn new(config: &Config) -> Self {
        // A buffer is doubled: what an application asks for is data, what packets need beside it is not.
        let most = config.receive_buffer.saturating_mul(2).min(MOST_MEMORY);
        let size = if autotunes(config) { most.min(FIRST_MEMORY) } else { most };
        let mut memory = Self { size, most, taken: 0, from: 1, since: Time::ZERO };
        memory.expect(config, config.mss.into());
        memory
    }

    /// Has the application take the initial window in the first round trip, of segments with so many octets (tcp_init_buffer_space()).
    pub fn expect(&mut self, config: &Config, segment: u32) {
        self.taken =
            (u64::from(config.initial_window) * u64::from(segment)).min(first_part(self.size).into());
    }

    /// Octets of memory.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// The handshake is over: measuring begins (tcp_init_buffer_space()).
    pub const fn begin(&mut self, now: Time) {
        self.since = now;
    }

    /// When measuring began, or began anew.
    pub(super) const fn since(&self) -> Time {
        self.since
    }

    /// Data in order has arrived: a segment, and the octets `behind` it where it filled a gap; `waiting` octets were unread before. Octets that the
    /// application has taken in the round trip that is over, if that is more than ever (tcp_rcv_space_adjust()). The application that is told of data
    /// takes it, but for those octets, and Linux looks after each segment that it takes: so what lies behind the first is not taken yet, and what
    /// makes the memory grow is not what first uses it.
    pub fn measure(
        &mut self,
        now: Time,
        round_trip: Option<Span>,
        behind: Range<u64>,
        waiting: u64,
    ) -> Option<u64> {
        if self.size == self.most || round_trip.is_none_or(|rtt| now.since(self.since) < rtt) {
            return None;
        }
        // What is here and was not taken was counted before as if it were.
        let read = (behind.start - waiting).max(self.from);
        let taken = (read - self.from).saturating_sub(behind.end - read);
        (self.from, self.since) = (read, now);
        (taken > self.taken).then_some(taken)
    }

    /// Grows to what a window needs for two round trips of what the application takes, twice as much more as that grew by, and for `beyond` octets
    /// that span gaps, where so many `shares` of it are data; it never shrinks (tcp_rcvbuf_grow()).
    pub fn follow(&mut self, taken: u64, beyond: u64, shares: u64) {
        let before = core::mem::replace(&mut self.taken, taken);
        let double = taken * 2;
        let window = double + double * taken.saturating_sub(before) / before.max(1) * 2 + beyond;
        let size = window * SHARES / shares;
        self.size = self.size.max(u32::try_from(size).unwrap_or(self.most).min(self.most));
    }

    /// Grows with what spans gaps alone, for the peer goes on sending while a gap is repaired (tcp_data_queue_ofo()).
    pub fn span(&mut self, beyond: u64, packets: Packets) {
        self.follow(self.taken, beyond, packets.share_of_data());
    }

    /// How much data a window may be for while so many octets are held in such packets, where so many `shares` of memory are data: tcp_win_from_space().
    pub fn room(&self, held: u64, packets: Packets, shares: u64) -> u32 {
        let count = held.div_ceil(u64::from(packets.segment.max(1)));
        let free = u64::from(self.size).saturating_sub(count * packets.truesize());
        // A share of what fits `u32`.
        (free * shares / SHARES) as u32
    }
}

/// Octets that a connection has room for at first.
pub fn first_room(config: &Config) -> u32 {
    if autotunes(config) { first_part(ReceiveMemory::new(config).size) } else { config.receive_buffer }
}

/// What counts as data of so much memory before a packet has shown it.
const fn first_part(size: u32) -> u32 {
    (size as u64 * FIRST_SHARE / SHARES) as u32
}

fn autotunes(config: &Config) -> bool {
    config.receive_autotuning && config.receive_accounting == ReceiveAccounting::Memory
}
