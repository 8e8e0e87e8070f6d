//! Earliest completion first (Lim et al., CoNEXT 2017).

use super::{Candidate, Chunk, Pick, Scheduler, usable};
use voxpath_units::Time;

/// The hysteresis of a decision to wait: beta of the publication is a quarter.
const BETA: u128 = 4;

/// The fastest subflow, as long as it has room. A slower one is used only if what waits is so much that it would arrive earlier by it than
/// after the next round trips of the fastest one (Algorithm 1).
#[derive(Debug, Default)]
pub(super) struct Ecf {
    waiting: bool,
}

/// Nanoseconds of a subflow's round trip.
fn rtt(one: &Candidate) -> u128 {
    one.rtt().as_nanos().into()
}

impl Ecf {
    /// Nanoseconds of the round trips in which a subflow sends so many octets.
    fn time(one: &Candidate, octets: u64) -> u128 {
        rtt(one) * u128::from(octets) / u128::from(one.cwnd.max(1))
    }
}

impl Scheduler for Ecf {
    fn pick(&mut self, _now: Time, chunk: &Chunk, candidates: &[Candidate]) -> Option<Pick> {
        let fastest = usable(candidates).filter(|one| !one.in_loss).min_by_key(|one| one.rtt())?;
        let best = usable(candidates)
            .filter(|one| !one.in_loss && one.has_room(chunk.len))
            .min_by_key(|one| (chunk.was_on(one.subflow), one.rtt()))?;
        if best.subflow != fastest.subflow && chunk.is_new && best.srtt.is_some() {
            let delta = fastest.rttvar.max(best.rttvar).map_or(0, |delta| u128::from(delta.as_nanos()));
            // n * RTT_f, with n = 1 + k / CWND_f.
            let by_fastest = rtt(fastest) + Self::time(fastest, chunk.waiting);
            let by_best = rtt(best) + delta;
            let bound = if self.waiting { by_best + by_best / BETA } else { by_best };
            if by_fastest < bound {
                if Self::time(best, chunk.waiting) >= 2 * rtt(fastest) + delta {
                    self.waiting = true;
                    return None;
                }
            } else {
                self.waiting = false;
            }
        }
        Some(best.segment_of(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, chunk};

    #[test]
    fn little_waits_for_the_fastest_and_much_does_not() {
        let full = Candidate { room: 0, ..candidate(0, 10) };
        let candidates = [full, candidate(1, 100)];
        let mut ecf = Ecf::default();
        let mut pick = |waiting| {
            let chunk = Chunk { waiting, ..chunk(1000) };
            ecf.pick(Time::ZERO, &chunk, &candidates).map(|pick| pick.subflow)
        };
        // 30 segments: 10 ms * (1 + 3) by the fastest, 100 ms by the other, in which they would take 300 ms.
        assert_eq!(pick(30_000), None);
        // Having decided to wait, it goes on to where 10 ms * (1 + n / 10) reach 125 ms.
        assert_eq!(pick(110_000), None);
        assert_eq!(pick(116_000), Some(1));
        // And not having decided so, from 100 ms on.
        assert_eq!(pick(95_000), Some(1));
    }
}
