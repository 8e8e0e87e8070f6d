//! Everything by every subflow (`net/mptcp/mptcp_redundant.c` of Linux v0.9x).

use super::{Candidate, Chunk, Pick, Scheduler, usable};
use alloc::collections::BTreeMap;
use voxpath_units::Time;

/// Each subflow carries all data, as fast as it can; what another has brought already is skipped.
#[derive(Debug, Default)]
pub(super) struct Redundant {
    /// The octet with which each subflow goes on.
    next: BTreeMap<usize, u64>,
}

impl Redundant {
    fn next_of(&self, subflow: usize) -> u64 {
        self.next.get(&subflow).copied().unwrap_or(0)
    }
}

impl Scheduler for Redundant {
    fn pick(&mut self, _now: Time, chunk: &Chunk, candidates: &[Candidate]) -> Option<Pick> {
        let free = usable(candidates).filter(|one| one.has_room(chunk.len));
        if !chunk.is_new {
            // Another subflow's: those that carry all by themselves have it already, or will.
            let best = free.min_by_key(|one| (chunk.was_on(one.subflow), one.rtt()))?;
            return Some(best.segment_of(chunk));
        }
        // Who is behind sends what is older first.
        let newest = |one: &&Candidate| self.next_of(one.subflow).max(chunk.una) >= chunk.from;
        let best = free.filter(newest).min_by_key(|one| one.rtt())?;
        let pick = best.segment_of(chunk);
        self.next.insert(best.subflow, chunk.from + pick.len);
        Some(pick)
    }

    fn duplicates(&self) -> bool {
        true
    }

    fn duplicate(&mut self, _now: Time, una: u64, nxt: u64, candidates: &[Candidate]) -> Option<(u64, Pick)> {
        usable(candidates).find_map(|one| {
            let from = self.next_of(one.subflow).max(una);
            let len = nxt.saturating_sub(from).min(one.mss).min(one.memory);
            (len > 0 && one.has_room(len)).then(|| {
                self.next.insert(one.subflow, from + len);
                (from, Pick { subflow: one.subflow, len })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, chunk};

    #[test]
    fn who_is_behind_catches_up_before_it_takes_what_is_new() {
        let mut scheduler = Redundant::default();
        let both = [candidate(0, 10), candidate(1, 50)];
        let first = scheduler.pick(Time::ZERO, &chunk(2000), &both);
        assert_eq!(first, Some(Pick { subflow: 0, len: 1000 }));
        let second = Chunk { from: 1001, ..chunk(1000) };
        assert_eq!(scheduler.pick(Time::ZERO, &second, &both[1..]), None);
        let again = scheduler.duplicate(Time::ZERO, 1, 1001, &both);
        assert_eq!(again, Some((1, Pick { subflow: 1, len: 1000 })));
        assert_eq!(scheduler.duplicate(Time::ZERO, 1, 1001, &both), None);
        assert_eq!(scheduler.pick(Time::ZERO, &second, &both[1..]).map(|pick| pick.subflow), Some(1));
    }

    #[test]
    fn what_was_acknowledged_is_skipped() {
        let mut scheduler = Redundant::default();
        let slow = [candidate(1, 50)];
        assert_eq!(
            scheduler.duplicate(Time::ZERO, 5001, 5501, &slow),
            Some((5001, Pick { subflow: 1, len: 500 }))
        );
    }
}
