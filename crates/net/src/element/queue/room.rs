//! The room for packets that wait before a serialiser.

/// How much may wait, the packet in service not counted. Without either bound everything may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limit {
    /// Packets.
    pub packets: Option<u32>,
    /// Bytes of IP packets.
    pub bytes: Option<u64>,
}

/// What waits, and how much more may.
///
/// It holds no packets, only their account: where nothing is decided at dequeue, [`crate::link::Link`] computes each
/// departure on arrival.
#[derive(Debug, Clone, Copy, Default)]
pub struct Room {
    limit: Limit,
    packets: u32,
    bytes: u64,
}

impl Room {
    /// An empty queue.
    pub const fn new(limit: Limit) -> Self {
        Self { limit, packets: 0, bytes: 0 }
    }

    /// Lets a packet of `len` bytes wait; `false` if there is no room.
    pub fn enqueue(&mut self, len: u32) -> bool {
        let has_room = self.has_room(len);
        if has_room {
            self.enter(len);
        }
        has_room
    }

    /// Whether a packet of `len` bytes may wait.
    pub fn has_room(&self, len: u32) -> bool {
        let after = Self { packets: self.packets + 1, bytes: self.bytes + u64::from(len), ..*self };
        !after.exceeds(self.limit)
    }

    /// Lets a packet of `len` bytes wait, be there room or not.
    pub fn enter(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    /// Whether more waits than `limit` says.
    pub fn exceeds(&self, limit: Limit) -> bool {
        limit.packets.is_some_and(|limit| self.packets > limit)
            || limit.bytes.is_some_and(|limit| self.bytes > limit)
    }

    /// A packet of `len` bytes waits no longer.
    pub fn dequeue(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(len);
    }

    /// Gives it other bounds; what waits keeps its room.
    pub const fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Packets waiting.
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// Bytes waiting.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}
