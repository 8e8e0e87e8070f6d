//! The scheduler of Linux since 6.6, which forgets what is left of a burst (`mptcp_subflow_get_send()` in net/mptcp/protocol.c).

use super::{Candidate, Chunk, Pick, Scheduler};
use alloc::collections::BTreeMap;
use voxpath_tcp::memory_of_segment;
use voxpath_units::Time;

/// `MPTCP_SEND_BURST_SIZE`: 64 KiB less the longest headers of TCP and IPv6.
const BURST: u64 = 65_536 - 20 - 40 - 40 - 8;

/// A send buffer lets two windows wait, and a window is of so many segments at least (tcp_sndbuf_expand(), TCP_INIT_CWND).
const WINDOWS: u64 = 2;
const LEAST_SEGMENTS: u64 = 10;
/// What the connection has beside the send buffers of its subflows (`__mptcp_sync_sndbuf()`): the least of `net.ipv4.tcp_wmem`.
const BESIDE: u64 = 4096;

/// Bursts of 64 KiB, up to the end of a piece, by the subflow whose queue would be empty first, if it goes on as fast as it was. If that one's send buffer is full, all
/// wait, though others may be free.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// Who has the burst, and how many octets are left of it.
    burst: Option<(usize, u64)>,
    /// What it knows of subflows.
    subflows: BTreeMap<usize, Known>,
}

/// What the scheduler remembers of a subflow.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// Octets a second, averaged over what is queued (`avg_pacing_rate`).
    rate: u64,
    /// The send buffer, which never shrinks (`sk_sndbuf`).
    memory: u64,
}

impl Known {
    fn of(one: &Candidate) -> Self {
        Self { rate: Kernel::pacing_rate(one), memory: WINDOWS * LEAST_SEGMENTS * memory_of_segment(one.mss) }
    }

    /// Grows the send buffer with the congestion window, where an application waits and that window is found open (tcp_sndbuf_expand(),
    /// tcp_should_expand_sndbuf()).
    fn expand(&mut self, one: &Candidate) {
        if one.shows_window_open {
            let asked = WINDOWS * (one.cwnd / one.mss.max(1)) * memory_of_segment(one.mss);
            self.memory = self.memory.max(asked.min(one.memory + one.queued));
        }
    }
}

impl Kernel {
    /// Octets a second that a subflow may send; one without a measurement counts a millisecond for a round trip, and twice the window
    /// (tcp_update_pacing_rate()).
    fn pacing_rate(one: &Candidate) -> u64 {
        one.pacing_rate.unwrap_or(2 * 1000 * one.cwnd)
    }

    fn known(&self, one: &Candidate) -> Known {
        self.subflows.get(&one.subflow).copied().unwrap_or_else(|| Known::of(one))
    }

    /// Whether its send buffer takes more (sk_stream_memory_free()).
    fn has_memory(&self, one: &Candidate) -> bool {
        one.memory > 0 && one.taken < self.known(one).memory
    }

    /// When its queue would be empty, in units of 2^-32 s.
    fn lingers(&self, one: &Candidate) -> u128 {
        (u128::from(one.taken) << 32) / u128::from(self.known(one).rate.max(1))
    }
}

impl Scheduler for Kernel {
    fn weighs_memory(&self) -> bool {
        true
    }

    fn waits_until_stale(&self) -> bool {
        true
    }

    fn begin(&mut self) {
        // All subflows are looked at each time that something is pushed (mptcp_sched_get_send()).
        self.burst = None;
    }

    fn pick(&mut self, _now: Time, chunk: &Chunk, candidates: &[Candidate]) -> Option<Pick> {
        let of_burst = self.burst.and_then(|(subflow, left)| {
            let one = candidates.iter().find(|one| one.subflow == subflow)?;
            (left > 0 && self.has_memory(one)).then_some((one, left))
        });
        let (one, left) = match of_burst {
            Some((one, left)) => (one, left),
            None => {
                let lingers = |one: &&Candidate| self.lingers(one);
                // One that is stale is no candidate. What its timeouts say counts for nothing here.
                let active = candidates.iter().filter(|one| !one.backup);
                let best = active.min_by_key(lingers).or_else(|| candidates.iter().min_by_key(lingers))?;
                if !self.has_memory(best) {
                    return None;
                }
                let burst = if chunk.is_new { BURST.min(chunk.window) } else { BURST };
                let known = self.known(best);
                let weighed = u128::from(known.rate) * u128::from(best.taken)
                    + u128::from(Self::pacing_rate(best)) * u128::from(burst);
                let average = weighed / u128::from(best.taken + burst).max(1);
                let rate = u64::try_from(average).unwrap_or(u64::MAX).max(1);
                self.subflows.insert(best.subflow, Known { rate, ..known });
                (best, burst)
            }
        };
        // A piece goes whole; only then is looked at what is left of the burst, and of memory (`__subflow_push_pending()`).
        let len = chunk.len.min(one.memory);
        self.burst = Some((one.subflow, left.saturating_sub(len)));
        (len > 0).then_some(Pick { subflow: one.subflow, len })
    }

    fn settled(&mut self, candidates: &[Candidate], is_awaited: bool) {
        for one in candidates {
            let known = self.subflows.entry(one.subflow).or_insert_with(|| Known::of(one));
            if is_awaited {
                known.expand(one);
            }
        }
    }

    fn memory(&self) -> Option<u64> {
        let least = WINDOWS * LEAST_SEGMENTS * memory_of_segment(0);
        Some(BESIDE + self.subflows.values().map(|known| known.memory).sum::<u64>().max(least))
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
        scheduler.settled(&candidates, false);
        candidates[1].taken = 1;
        let piece = Chunk { window: 1 << 20, ..chunk(32_728) };
        let mut pick = |candidates: &[Candidate]| scheduler.pick(Time::ZERO, &piece, candidates);
        let whole = |subflow| Some(Pick { subflow, len: 32_728 });
        assert_eq!(pick(&candidates), whole(0));
        candidates[0].taken = 32_728;
        assert_eq!(pick(&candidates), whole(0), "what is left of the burst, and the rest of the piece");
        candidates[0].taken += 32_728;
        assert_eq!(pick(&candidates), whole(1));
    }

    #[test]
    fn a_burst_ends_with_the_piece_that_fills_memory() {
        let mut scheduler = Kernel::default();
        let mut candidates = [candidate(0, 10), Candidate { taken: 45_000, ..candidate(1, 10) }];
        let mut pick = |candidates: &[Candidate]| scheduler.pick(Time::ZERO, &chunk(20_000), candidates);
        assert_eq!(pick(&candidates), Some(Pick { subflow: 0, len: 20_000 }));
        candidates[0].taken = WINDOWS * LEAST_SEGMENTS * memory_of_segment(1000);
        // The burst is not over, but for another one now.
        assert_eq!(pick(&candidates).map(|pick| pick.subflow), Some(1));
        candidates[1].taken = candidates[0].taken;
        assert_eq!(pick(&candidates), None);
    }

    #[test]
    fn all_wait_for_the_one_that_would_be_free_first() {
        let mut scheduler = Kernel::default();
        let mut candidates = [candidate(0, 10), candidate(1, 1000)];
        candidates[0].pacing_rate = Some(1_000_000);
        candidates[0].taken = WINDOWS * LEAST_SEGMENTS * memory_of_segment(1000);
        candidates[1].pacing_rate = Some(10_000);
        candidates[1].taken = 9000;
        // 46 kB at 1 MB a second, against 9 kB at 10 kB.
        assert_eq!(scheduler.pick(Time::ZERO, &chunk(1000), &candidates), None);
    }

    #[test]
    fn a_send_buffer_grows_where_an_application_waits_and_the_congestion_window_is_found_open() {
        let mut scheduler = Kernel::default();
        let least = WINDOWS * LEAST_SEGMENTS * memory_of_segment(1000);
        let full = Candidate { cwnd: 40_000, shows_window_open: false, taken: least, ..candidate(0, 10) };
        let open = Candidate { shows_window_open: true, ..full };
        scheduler.settled(&[full], true);
        scheduler.settled(&[open], false);
        assert_eq!(scheduler.memory(), Some(least + BESIDE));
        assert_eq!(scheduler.pick(Time::ZERO, &chunk(1000), &[full]), None);
        scheduler.settled(&[open], true);
        assert_eq!(scheduler.memory(), Some(4 * least + BESIDE));
        assert!(scheduler.pick(Time::ZERO, &chunk(1000), &[full]).is_some());
        // It never shrinks, and each subflow has its own.
        scheduler
            .settled(&[Candidate { cwnd: 2000, ..open }, Candidate { taken: 0, ..candidate(1, 10) }], true);
        assert_eq!(scheduler.memory(), Some(5 * least + BESIDE));
        let fuller = Candidate { taken: 4 * least - 1, ..full };
        assert!(scheduler.pick(Time::ZERO, &chunk(1000), &[fuller]).is_some());
        assert_eq!(scheduler.pick(Time::ZERO, &chunk(1000), &[Candidate { taken: 4 * least, ..full }]), None);
        // Nor does it grow beyond what the system allows.
        scheduler.settled(&[Candidate { cwnd: 1 << 30, ..open }], true);
        assert_eq!(scheduler.memory(), Some((1 << 20) + least + BESIDE));
    }
}
