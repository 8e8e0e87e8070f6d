//! The scheduler of Linux since 6.6, which forgets what is left of a burst (`mptcp_subflow_get_send()` in net/mptcp/protocol.c).

use super::{Candidate, Chunk, Pick, Scheduler};
use alloc::collections::BTreeMap;
use voxpath_units::Time;

/// `MPTCP_SEND_BURST_SIZE`: 64 KiB less the longest headers.
const BURST: u64 = 65_536 - 320;

/// What Linux charges a socket's send buffer for a segment in tcp_sndbuf_expand(): memory that is rounded up to a power of two.
const fn per_segment(mss: u64) -> u64 {
    let data = if mss > LEAST_MSS { mss } else { LEAST_MSS };
    (data + HEADERS + SHARED_INFO).next_power_of_two() + SK_BUFF
}
/// The MSS that the ends agree on over Ethernet, options included: a segment is counted for no less.
const LEAST_MSS: u64 = 1460;
/// `MAX_TCP_HEADER` with room for tunnels, `struct skb_shared_info`, `struct sk_buff`.
const HEADERS: u64 = 320;
const SHARED_INFO: u64 = 320;
const SK_BUFF: u64 = 256;
/// How many windows it lets wait, and of how many segments a window is at least (TCP_INIT_CWND).
const WINDOWS: u64 = 2;
const LEAST_SEGMENTS: u64 = 10;

/// Of pacing rates, in percent: in slow start and after (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const RATIOS: [u64; 2] = [200, 120];

/// Bursts of 64 KiB by the subflow whose queue would be empty first, if it goes on as fast as it was. If that one's send buffer is full, all
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
        Self { rate: Kernel::pacing_rate(one), memory: WINDOWS * LEAST_SEGMENTS * per_segment(one.mss) }
    }

    /// Grows the send buffer with the congestion window, where what is queued leaves some of that open (tcp_sndbuf_expand(),
    /// tcp_should_expand_sndbuf()).
    fn expand(&mut self, one: &Candidate) {
        if one.room >= one.mss {
            self.memory = self.memory.max(WINDOWS * (one.cwnd / one.mss.max(1)) * per_segment(one.mss));
        }
    }
}

impl Kernel {
    /// Octets a second that a subflow may send (tcp_update_pacing_rate()); one without a measurement counts a millisecond for a round trip.
    fn pacing_rate(one: &Candidate) -> u64 {
        let ratio = if one.in_slow_start { RATIOS[0] } else { RATIOS[1] };
        let nanos = one.srtt.map_or(1_000_000, |srtt| srtt.as_nanos().max(1));
        let rate = u128::from(one.cwnd) * u128::from(ratio) * 10_000_000 / u128::from(nanos);
        u64::try_from(rate).unwrap_or(u64::MAX).max(1)
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
            Some((one, left))
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
        if !self.has_memory(one) {
            self.burst = None;
            return None;
        }
        let len = chunk.len.min(left).min(one.memory);
        self.burst = Some((one.subflow, left - len)).filter(|(_, left)| *left > 0);
        (len > 0).then_some(Pick { subflow: one.subflow, len })
    }

    fn settled(&mut self, candidates: &[Candidate]) {
        for one in candidates {
            self.subflows.entry(one.subflow).or_insert_with(|| Known::of(one)).expand(one);
        }
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
        candidates.iter_mut().for_each(|one| one.cwnd = 100_000);
        candidates[1].taken = 1;
        let mut pick = |candidates: &[Candidate]| {
            scheduler.pick(Time::ZERO, &Chunk { window: 1 << 20, ..chunk(60_000) }, candidates)
        };
        assert_eq!(pick(&candidates), Some(Pick { subflow: 0, len: 60_000 }));
        candidates[0].taken = 60_000;
        assert_eq!(
            pick(&candidates),
            Some(Pick { subflow: 0, len: BURST - 60_000 }),
            "the rest of the burst"
        );
        candidates[0].taken = BURST;
        assert_eq!(pick(&candidates).map(|pick| pick.subflow), Some(1));
    }

    #[test]
    fn all_wait_for_the_one_that_would_be_free_first() {
        let mut scheduler = Kernel::default();
        let mut candidates = [candidate(0, 10), candidate(1, 1000)];
        candidates[0].taken = 2 * 10 * per_segment(1000);
        candidates[1].taken = 9000;
        // 87 kB at 1000 segments a second, against 9 kB at 10.
        assert_eq!(scheduler.pick(Time::ZERO, &chunk(1000), &candidates), None);
    }
    #[test]
    fn a_segment_is_charged_by_its_size() {
        assert_eq!([536, 1428, 1460].map(per_segment), [4352; 3]);
        // Of jumbo frames: 9600 octets are rounded up.
        assert_eq!(per_segment(8960), 16_384 + 256);
    }

    #[test]
    fn a_send_buffer_grows_where_its_queue_leaves_the_congestion_window_open() {
        let mut scheduler = Kernel::default();
        let full = Candidate { cwnd: 40_000, room: 0, taken: 2 * 10 * per_segment(1000), ..candidate(0, 10) };
        scheduler.settled(&[full]);
        assert_eq!(scheduler.pick(Time::ZERO, &chunk(1000), &[full]), None);
        scheduler.settled(&[Candidate { room: 1000, ..full }]);
        assert!(scheduler.pick(Time::ZERO, &chunk(1000), &[full]).is_some());
        // It never shrinks.
        scheduler.settled(&[Candidate { cwnd: 2000, room: 1000, ..full }]);
        let fuller = Candidate { taken: 2 * 40 * per_segment(1000) - 1, ..full };
        assert!(scheduler.pick(Time::ZERO, &chunk(1000), &[fuller]).is_some());
        assert_eq!(
            scheduler.pick(Time::ZERO, &chunk(1000), &[Candidate { taken: fuller.taken + 1, ..fuller }]),
            None
        );
    }
}
