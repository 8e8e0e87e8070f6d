//! Blocking estimation (Ferlin et al., IFIP Networking 2016; `net/mptcp/mptcp_blest.c` of Linux v0.9x).

use super::{Candidate, Chunk, Pick, Scheduler, usable};
use voxpath_units::{Span, Time};

/// The correction of the estimate, in thousandths: where it begins, its bounds, and its steps after a round trip with a blocked window and
/// after one without (`lambda`, `min_lambda`, `max_lambda`, `dyn_lambda_bad`, `dyn_lambda_good`).
const LAMBDA: u64 = 1200;
const BOUNDS: [u64; 2] = [1000, 1300];
const STEPS: [u64; 2] = [40, 10];

/// The fastest subflow, as long as it has room. A slower one takes a segment only if that does not keep the fastest from sending: if the
/// window has room for what the fastest sends in a round trip of the slower one.
#[derive(Debug)]
pub(super) struct Blest {
    lambda: u64,
    /// The window was blocked since.
    blocked: bool,
    since: Time,
}

impl Default for Blest {
    fn default() -> Self {
        Self { lambda: LAMBDA, blocked: false, since: Time::ZERO }
    }
}

impl Blest {
    fn adapt(&mut self, now: Time, fastest: Span) {
        if now.since(self.since) < fastest {
            return;
        }
        self.lambda = if self.blocked { self.lambda + STEPS[0] } else { self.lambda - STEPS[1] };
        self.lambda = self.lambda.clamp(BOUNDS[0], BOUNDS[1]);
        (self.blocked, self.since) = (false, now);
    }

    /// Octets that `fast` sends in a round trip of `slow`, its window growing by a segment each time: section 3 of the publication.
    fn meanwhile(&self, fast: &Candidate, slow: &Candidate) -> u64 {
        let round = fast.rtt().as_nanos().max(1);
        // Thousandths of a round trip.
        let rounds = (u128::from(slow.rtt().as_nanos()) * 1000 / u128::from(round)).min(1_000_000) as u64;
        let segments = fast.cwnd / fast.mss.max(1);
        let sent = (segments * 1000 + rounds.saturating_sub(1000) / 2).saturating_mul(rounds) / 1_000_000;
        (sent * fast.mss).saturating_mul(self.lambda) / 1000
    }
}

impl Scheduler for Blest {
    fn pick(&mut self, now: Time, chunk: &Chunk, candidates: &[Candidate]) -> Option<Pick> {
        let fastest = usable(candidates).filter(|one| !one.in_loss).min_by_key(|one| one.rtt())?;
        if let Some(rtt) = fastest.srtt {
            self.adapt(now, rtt);
        }
        let best = usable(candidates)
            .filter(|one| !one.in_loss && one.has_room(chunk.len))
            .min_by_key(|one| (chunk.was_on(one.subflow), one.rtt()))?;
        if best.subflow != fastest.subflow && chunk.is_new && best.srtt.is_some() {
            let held = best.queued + best.mss;
            if self.meanwhile(fastest, best) > chunk.window.saturating_sub(held) {
                return None;
            }
        }
        Some(best.segment_of(chunk))
    }

    fn blocked(&mut self) {
        self.blocked = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, chunk};

    #[test]
    fn a_slow_subflow_waits_where_it_would_block_the_window() {
        let full = Candidate { room: 0, ..candidate(0, 10) };
        let candidates = [full, candidate(1, 100)];
        // Ten segments of 1000, growing by one each time, in ten round trips: (10 + 4.5) * 10, times 1.2.
        assert_eq!(Blest::default().meanwhile(&candidates[0], &candidates[1]), 174_000);
        let pick = |window| Blest::default().pick(Time::ZERO, &Chunk { window, ..chunk(5000) }, &candidates);
        assert_eq!(pick(174_999), None);
        assert_eq!(pick(175_000), Some(Pick { subflow: 1, len: 1000 }));
    }

    #[test]
    fn the_correction_follows_what_happened() {
        let mut scheduler = Blest::default();
        let round = Span::from_millis(10);
        scheduler.blocked();
        scheduler.adapt(Time::ZERO + round, round);
        assert_eq!(scheduler.lambda, 1240);
        scheduler.adapt(Time::ZERO + round, round);
        assert_eq!(scheduler.lambda, 1240, "once in a round trip");
        (2..100).for_each(|rounds| scheduler.adapt(Time::ZERO + round * rounds, round));
        assert_eq!(scheduler.lambda, 1000);
    }
}
