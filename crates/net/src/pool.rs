//! Where packets live while they travel.
//!
//! Links and queues move a [`Handle`] of four bytes; the packet itself stays put from the socket that sent it
//! to the socket that takes it. Slots are reused last in, first out: in steady state nothing is allocated,
//! and what is touched is still in the cache. A handle is neither `Copy` nor `Clone`, so a packet cannot be
//! delivered twice, and [`Pool::len`] at the end of a run shows any that was lost.

use crate::packet::Packet;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// The only reference to a packet of a pool.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a packet whose handle is lost is leaked, and breaks conservation"]
pub struct Handle(u32);

/// All packets of a world.
#[derive(Debug, Default)]
pub struct Pool {
    slots: Vec<Option<Packet>>,
    free: Vec<u32>,
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Packets alive.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no packet is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that it holds, what packets carry not counted.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Option<Packet>>() + self.free.capacity() * size_of::<u32>()
    }

    /// Takes a packet in.
    pub fn insert(&mut self, packet: Packet) -> Handle {
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = Some(packet);
                Handle(index)
            }
            None => {
                let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets are alive");
                self.slots.push(Some(packet));
                Handle(index)
            }
        }
    }

    /// Gives a packet out and ends its stay.
    pub fn take(&mut self, handle: Handle) -> Packet {
        let packet = self.slots[handle.0 as usize].take().expect("a handle is the packet's only reference");
        self.free.push(handle.0);
        packet
    }

    /// Ends a packet's stay.
    pub fn discard(&mut self, handle: Handle) {
        drop(self.take(handle));
    }
}

impl Index<&Handle> for Pool {
    type Output = Packet;
    fn index(&self, handle: &Handle) -> &Packet {
        self.slots[handle.0 as usize].as_ref().expect("a handle is the packet's only reference")
    }
}

impl IndexMut<&Handle> for Pool {
    fn index_mut(&mut self, handle: &Handle) -> &mut Packet {
        self.slots[handle.0 as usize].as_mut().expect("a handle is the packet's only reference")
    }
}
