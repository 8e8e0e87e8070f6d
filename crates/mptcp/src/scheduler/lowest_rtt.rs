//! The default scheduler of Linux v0.9x (`net/mptcp/mptcp_sched.c`).

use super::{Candidate, Chunk, Pick, Scheduler, usable};
use voxpath_units::Time;

/// The smallest smoothed round-trip time among those whose congestion window has room and that do not repair a timeout. What is sent again
/// goes by a subflow that has not carried it, if there is one.
#[derive(Debug, Default)]
pub(super) struct LowestRtt;

impl Scheduler for LowestRtt {
    fn pick(&mut self, _now: Time, chunk: &Chunk, candidates: &[Candidate]) -> Option<Pick> {
        let best = usable(candidates)
            .filter(|candidate| !candidate.in_loss && candidate.has_room(chunk.len))
            .min_by_key(|candidate| (chunk.was_on(candidate.subflow), candidate.rtt()))?;
        Some(best.segment_of(chunk))
    }
}
