//! The scheduler of Linux since 6.6, which forgets what is left of a burst (`mptcp_subflow_get_send()` in net/mptcp/protocol.c).

use super::{Candidate, Chunk, Pick, Scheduler};
use alloc::collections::BTreeMap;
use voxpath_units::Time;

/// `MPTCP_SEND_BURST_SIZE`: 64 KiB less the longest headers.
const BURST: u64 = 65_536 - 320;

/// What Linux charges a socket's send buffer for a segment in tcp_sndbuf_expand(), and how many windows it lets wait.
const PER_SEGMENT: u64 = 4352;
const WINDOWS: u64 = 2;
/// The send buffer that a socket has at least (`tcp_wmem[1]`).
const LEAST: u64 = 16_384;

/// Of pacing rates, in percent: in slow start and after (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const RATIOS: [u64; 2] = [200, 120];

/// Bursts of 64 KiB by the subflow whose queue would be empty first, if it goes on as fast as it was. If that one's send buffer is full, all
/// wait, though others may be free.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// Who has the burst, and how many octets are left of it.
    burst: Option<(usize, u64)>,
    /// Octets a second, averaged over what is queued (`avg_pacing_rate`).
    rates: BTreeMap<usize, u64>,
}

impl Kernel {
    /// Octets a second that a subflow may send (tcp_update_pacing_rate()); one without a measurement counts a millisecond for a round trip.
    fn pacing_rate(one: &Candidate) -> u64 {
        let ratio = if one.in_slow_start { RATIOS[0] } else { RATIOS[1] };
        let nanos = one.srtt.map_or(1_000_000, |srtt| srtt.as_nanos().max(1));
        let rate = u128::from(one.cwnd) * u128::from(ratio) * 10_000_000 / u128::from(nanos);
        u64::try_from(rate).unwrap_or(u64::MAX).max(1)
    }

    /// Whether its send buffer takes more (sk_stream_memory_free()).
    fn has_memory(one: &Candidate) -> bool {
        let room = (WINDOWS * one.cwnd / one.mss.max(1) * PER_SEGMENT).max(LEAST);
        one.memory > 0 && one.queued < room
    }
}

impl Scheduler for Kernel {
    fn begin(&mut self) {
        // All subflows are looked at each time that something is pushed (mptcp_sched_get_send()).
        self.burst = None;
    }

    fn pick(&mut self, _now: Time, chunk: &Chunk, candidates: &[Candidate]) -> Option<Pick> {
        if chunk.carried != 0 {
            // mptcp_subflow_get_retrans(): whoever has nothing queued, and was silent least.
            let idle = candidates.iter().filter(|one| one.queued == 0);
            let best = idle.min_by_key(|one| (chunk.was_on(one.subflow), one.backup, one.silent))?;
            return Some(Pick { subflow: best.subflow, len: chunk.len.min(BURST).min(best.memory) });
        }
        let of_burst = self.burst.and_then(|(subflow, left)| {
            let one = candidates.iter().find(|one| one.subflow == subflow)?;
            Some((one, left))
        });
        let (one, left) = match of_burst {
            Some((one, left)) => (one, left),
            None => {
                let lingers = |one: &&Candidate| {
                    let rate =
                        self.rates.get(&one.subflow).copied().unwrap_or_else(|| Self::pacing_rate(one));
                    (u128::from(one.queued) << 32) / u128::from(rate.max(1))
                };
                let active = candidates.iter().filter(|one| !one.backup && !one.silent);
                let backups = candidates.iter().filter(|one| one.backup && !one.silent);
                let best = active
                    .min_by_key(lingers)
                    .or_else(|| backups.min_by_key(lingers))
                    .or_else(|| candidates.iter().min_by_key(lingers))?;
                if !Self::has_memory(best) {
                    return None;
                }
                let burst = BURST.min(chunk.window);
                let average =
                    self.rates.get(&best.subflow).copied().unwrap_or_else(|| Self::pacing_rate(best));
                let weighed = u128::from(average) * u128::from(best.queued)
                    + u128::from(Self::pacing_rate(best)) * u128::from(burst);
                let average = weighed / u128::from(best.queued + burst).max(1);
                self.rates.insert(best.subflow, u64::try_from(average).unwrap_or(u64::MAX).max(1));
                (best, burst)
            }
        };
        if !Self::has_memory(one) {
            self.burst = None;
            return None;
        }
        let len = chunk.len.min(left).min(one.memory);
        self.burst = Some((one.subflow, left - len)).filter(|(_, left)| *left > 0);
        (len > 0).then_some(Pick { subflow: one.subflow, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, chunk};

    #[test]
    fn a_burst_stays_together_and_the_next_goes_where_the_queue_is_shorter() {
        let mut scheduler = Kernel::default();
        let mut candidates = [candidate(0, 10), candidate(1, 10)];
        candidates.iter_mut().for_each(|one| (one.cwnd, one.queued) = (100_000, 0));
        candidates[1].queued = 1;
        let mut pick = |candidates: &[Candidate]| {
            scheduler.pick(Time::ZERO, &Chunk { window: 1 << 20, ..chunk(60_000) }, candidates)
        };
        assert_eq!(pick(&candidates), Some(Pick { subflow: 0, len: 60_000 }));
        candidates[0].queued = 60_000;
        assert_eq!(
            pick(&candidates),
            Some(Pick { subflow: 0, len: BURST - 60_000 }),
            "the rest of the burst"
        );
        candidates[0].queued = BURST;
        assert_eq!(pick(&candidates).map(|pick| pick.subflow), Some(1));
    }

    #[test]
    fn all_wait_for_the_one_that_would_be_free_first() {
        let mut scheduler = Kernel::default();
        let mut candidates = [candidate(0, 10), candidate(1, 1000)];
        candidates[0].queued = 2 * 10 * PER_SEGMENT;
        candidates[1].queued = 9000;
        // 87 kB at 1000 segments a second, against 9 kB at 10.
        assert_eq!(scheduler.pick(Time::ZERO, &chunk(1000), &candidates), None);
    }
}
