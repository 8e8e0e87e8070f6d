//! The loop: what is due happens, what has arrived is handed over, what hosts send is taken in; then sleep.
//!
//! It knows the world and an [`Edge`], and no device and no clock but through that, so that tests run it in
//! microseconds of pretended time.

use crate::error::HostError;
use crate::lateness::Lateness;
use bytes::Bytes;
use voxpath_sim::RealTime;
use voxpath_units::{Span, Time};

/// What is around the world: a clock, and devices to real hosts.
pub trait Edge {
    /// The time now; it never goes back.
    fn now(&mut self) -> Time;
    /// The next packet that a real host has sent, and whose it is; none if there is none now.
    ///
    /// # Errors
    /// A device is gone.
    fn receive(&mut self) -> Result<Option<(u32, Bytes)>, HostError>;
    /// Hands a packet to a real host; whether it was taken.
    fn deliver(&mut self, host: u32, packet: &[u8]) -> bool;
    /// Sleeps until a host sends, until `deadline` if there is one, or until it is told to look up.
    ///
    /// # Errors
    /// The kernel does not let us wait.
    fn wait(&mut self, deadline: Option<Time>) -> Result<(), HostError>;
}

/// How faithful a run was.
#[derive(Debug, Default, Clone)]
pub struct Timing {
    /// From the time a packet should have reached a host until it was handed over.
    pub deliveries: Lateness,
    /// From the time at which the loop wanted to be woken until it was.
    pub wakeups: Lateness,
    /// Packets taken in from hosts.
    pub packets_in: u64,
    /// Packets handed to hosts.
    pub packets_out: u64,
    /// Packets that hosts did not take.
    pub refused: u64,
}

/// When a run's timing counts as broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// What the 99th percentile of deliveries must not exceed.
    pub late: Span,
}

/// How the loop goes on after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Keep going.
    Continue,
    /// End the run.
    Stop,
}

/// Runs the world until `turn`, which is asked once in each turn, says otherwise; when that was.
///
/// # Errors
/// As the edge's.
pub fn drive(
    world: &mut RealTime,
    edge: &mut impl Edge,
    timing: &mut Timing,
    mut turn: impl FnMut(Time, &mut RealTime, &Timing) -> Progress,
) -> Result<Time, HostError> {
    let mut packet = Vec::with_capacity(2048);
    loop {
        let now = edge.now();
        world.handle_timeout(now);
        while let Some(delivery) = {
            packet.clear();
            world.poll_delivery(&mut packet)
        } {
            if edge.deliver(delivery.host, &packet) {
                timing.packets_out += 1;
            } else {
                timing.refused += 1;
            }
            timing.deliveries.record(edge.now().since(delivery.due));
        }
        if turn(now, world, timing) == Progress::Stop {
            return Ok(now);
        }
        if let Some((host, bytes)) = edge.receive()? {
            timing.packets_in += 1;
            let now = edge.now();
            // What was due before the packet came happens before it.
            world.handle_timeout(now);
            world.handle_frame(now, host, bytes);
            continue;
        }
        let deadline = world.poll_timeout();
        let before = edge.now();
        if deadline.is_some_and(|deadline| deadline <= before) {
            // Due already: only look at the devices.
            edge.wait(Some(before))?;
            continue;
        }
        edge.wait(deadline)?;
        if let Some(deadline) = deadline {
            let now = edge.now();
            if now >= deadline {
                timing.wakeups.record(now.since(deadline));
            }
        }
    }
}
