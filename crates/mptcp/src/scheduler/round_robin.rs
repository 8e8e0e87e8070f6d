//! One after the other (`net/mptcp/mptcp_rr.c` of Linux v0.9x).

use super::{Candidate, Chunk, Pick, Scheduler, usable};
use voxpath_units::Time;

/// A segment for each subflow in turn; one whose congestion window is full is passed over.
#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    /// Who had the last one.
    last: Option<usize>,
}

impl Scheduler for RoundRobin {
    fn pick(&mut self, _now: Time, chunk: &Chunk, candidates: &[Candidate]) -> Option<Pick> {
        let behind = |candidate: &&Candidate| self.last.is_none_or(|last| candidate.subflow > last);
        let free = usable(candidates).filter(|one| !one.in_loss && one.has_room(chunk.len));
        let next = free.clone().find(behind).or_else(|| free.clone().next())?;
        self.last = Some(next.subflow);
        Some(next.segment_of(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, chunk};

    #[test]
    fn each_has_its_turn_and_who_has_no_room_is_passed_over() {
        let mut scheduler = RoundRobin::default();
        let mut candidates = [candidate(0, 10), candidate(1, 20), candidate(2, 5)];
        let mut next = |candidates: &[Candidate]| {
            scheduler.pick(Time::ZERO, &chunk(10_000), candidates).map(|pick| pick.subflow)
        };
        assert_eq!([next(&candidates), next(&candidates), next(&candidates)], [Some(0), Some(1), Some(2)]);
        candidates[0].room = 0;
        assert_eq!([next(&candidates), next(&candidates)], [Some(1), Some(2)]);
    }
}
