//! Schedulers: which subflow carries which octets.
//!
//! A scheduler is a file that implements [`Scheduler`], and an entry here: scenarios, plans and the property tests learn its name from
//! [`Scheduling`]. It is asked about one [`Chunk`] after the other, and answers with a subflow, or waits.

mod blest;
mod ecf;
mod kernel;
mod lowest_rtt;
mod redundant;
mod round_robin;
mod server;

use alloc::boxed::Box;
use serde::{Deserialize, Serialize};
use voxpath_units::{Span, Time};

schedulers! {
    /// The smallest round-trip time of those that have room: the default of Linux v0.9x.
    "lowest_rtt" => LowestRtt, lowest_rtt::LowestRtt,
    /// One after the other.
    "round_robin" => RoundRobin, round_robin::RoundRobin,
    /// Everything by every subflow.
    "redundant" => Redundant, redundant::Redundant,
    /// Blocking estimation (Ferlin et al. 2016).
    "blest" => Blest, blest::Blest,
    /// Earliest completion first (Lim et al. 2017).
    "ecf" => Ecf, ecf::Ecf,
    /// That of Linux since 5.17.
    "linux" => Kernel, kernel::Kernel,
    /// The latest news: for servers of mobile hosts (De Coninck and Bonaventure 2018).
    "server" => Server, server::Server,
}

/// The schedulers by the names that scenarios know them by.
macro_rules! schedulers {
    ($($(#[$doc:meta])* $name:literal => $variant:ident, $module:ident::$scheduler:ident,)*) => {
        /// Schedulers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Scheduling {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl Scheduling {
            /// Every scheduler, by name.
            pub const ALL: &[(&str, Self)] = &[$(($name, Self::$variant),)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The scheduler at the start of a connection.
            pub(crate) fn build(self) -> Box<dyn Scheduler> {
                match self {
                    $(Self::$variant => Box::new($module::$scheduler::default()),)*
                }
            }
        }
    };
}
use schedulers;

/// A subflow that can carry data now, as far as the handshake and its own end go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Which one.
    pub subflow: usize,
    /// It is to be used only if no other is there (MP_PRIO, RFC 8684 section 3.3.8).
    pub backup: bool,
    /// Smoothed round-trip time, if known.
    pub srtt: Option<Span>,
    /// Its variation.
    pub rttvar: Option<Span>,
    /// Congestion window, octets.
    pub cwnd: u64,
    /// What a full-sized segment carries.
    pub mss: u64,
    /// Octets that were written and are not acknowledged.
    pub queued: u64,
    /// What they take of memory in a send buffer (`sk_wmem_queued`), if the scheduler [weighs](Scheduler::weighs_memory) it, else zero.
    pub taken: u64,
    /// Octets that the congestion window still lets out.
    pub room: u64,
    /// Whether Linux finds the congestion window open while what was given leaves: known once all was, if the scheduler
    /// [weighs memory](Scheduler::weighs_memory) and the application waits.
    pub shows_window_open: bool,
    /// Octets that its send buffer still takes.
    pub memory: u64,
    /// A timeout is being repaired.
    pub in_loss: bool,
    /// The rate in bytes a second at which it would be paced; none before there was a round trip.
    pub pacing_rate: Option<u64>,
    /// Timeouts since it was heard of last.
    pub silent: bool,
    /// It was bad, or answers late, as the oracle has it.
    pub doubted: bool,
    /// When data, or an acknowledgment of data, that was new to the connection came last.
    pub last_news: Option<Time>,
}

impl Candidate {
    /// Whether a full segment, or all of `len`, leaves at once.
    pub fn has_room(&self, len: u64) -> bool {
        self.room >= len.min(self.mss) && self.memory > 0
    }

    /// The beginning of a chunk, a segment of it.
    fn segment_of(&self, chunk: &Chunk) -> Pick {
        Pick { subflow: self.subflow, len: chunk.len.min(self.mss).min(self.memory) }
    }

    /// Its smoothed round-trip time; the longest where none is known.
    fn rtt(&self) -> Span {
        self.srtt.unwrap_or(Span::MAX)
    }
}

/// Octets that wait for a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// The first octet, by its place in the data sequence.
    pub from: u64,
    /// The first octet of the connection that is not acknowledged.
    pub una: u64,
    /// How many may be sent from there on; where Linux' pieces are known no more than are left of the first (`struct mptcp_data_frag`).
    pub len: u64,
    /// Octets that wait behind, these included.
    pub waiting: u64,
    /// Octets of the connection's receive window that are left.
    pub window: u64,
    /// Whether no subflow has carried it before.
    pub is_new: bool,
    /// Subflows that still carry it, or carried it in vain, by bit.
    pub carried: u64,
}

impl Chunk {
    /// Whether a subflow has carried it before.
    pub fn was_on(&self, subflow: usize) -> bool {
        self.carried & bit(subflow) != 0
    }
}

/// The bit of a subflow. After 64 of them the bits come round: what counts as carried may be sent by another subflow for nothing.
pub(crate) const fn bit(subflow: usize) -> u64 {
    1 << (subflow % 64)
}

/// Who carries how much of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// The subflow.
    pub subflow: usize,
    /// Octets; at most those of the chunk.
    pub len: u64,
}

/// Decides which subflow carries what.
pub trait Scheduler: core::fmt::Debug + Send {
    /// Who carries `chunk`, or its beginning; none waits until something changes.
    fn pick(&mut self, now: Time, chunk: &Chunk, candidates: &[Candidate]) -> Option<Pick>;

    /// Whether it looks at the memory that data takes, which costs much to count.
    fn weighs_memory(&self) -> bool {
        false
    }

    /// Whether a subflow keeps what it carries until it is stale, as in Linux (`connection/stale.rs`); else each of its timeouts gives that
    /// to the others.
    fn waits_until_stale(&self) -> bool {
        false
    }

    /// Something has changed, and what can be sent is scheduled.
    fn begin(&mut self) {}

    /// All was given that can be now; `candidates` are as that left them. `is_awaited` if the application waits for room in the send buffer.
    fn settled(&mut self, candidates: &[Candidate], is_awaited: bool) {
        let _ = (candidates, is_awaited);
    }

    /// Octets of memory that the connection's send buffer may take, if the scheduler counts those of its subflows.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// The other end's window was blocked, and what blocks it retransmitted.
    fn blocked(&mut self) {}

    /// Whether it asks for data to be carried twice.
    fn duplicates(&self) -> bool {
        false
    }

    /// Data between `una` and `nxt` that a subflow with room should carry as well, when nothing else is to be sent by it.
    fn duplicate(&mut self, now: Time, una: u64, nxt: u64, candidates: &[Candidate]) -> Option<(u64, Pick)> {
        let _ = (now, una, nxt, candidates);
        None
    }
}

/// Those that may be used: all but backups, and these only where no other is there that could be (RFC 8684 section 3.3.8).
fn usable(candidates: &[Candidate]) -> impl Iterator<Item = &Candidate> + Clone {
    let only_backups = !candidates.iter().any(|candidate| !candidate.backup && !candidate.silent);
    candidates.iter().filter(move |candidate| only_backups || !candidate.backup)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A subflow with a window of ten segments of 1000 octets, of which all are free.
    pub(crate) fn candidate(subflow: usize, rtt_ms: u64) -> Candidate {
        Candidate {
            subflow,
            backup: false,
            srtt: Some(Span::from_millis(rtt_ms)),
            rttvar: None,
            cwnd: 10_000,
            mss: 1000,
            queued: 0,
            taken: 0,
            room: 10_000,
            shows_window_open: true,
            memory: 1 << 20,
            in_loss: false,
            pacing_rate: None,
            silent: false,
            doubted: false,
            last_news: None,
        }
    }

    /// New data, so many octets of it.
    pub(crate) fn chunk(len: u64) -> Chunk {
        Chunk { from: 1, una: 1, len, waiting: len, window: 1 << 20, is_new: true, carried: 0 }
    }

    #[test]
    fn what_is_missing_goes_again_though_the_window_is_full_and_nobody_carries_it() {
        let lost = Chunk { is_new: false, window: 0, ..chunk(1000) };
        for &(name, scheduling) in Scheduling::ALL {
            let mut scheduler = scheduling.build();
            scheduler.begin();
            let pick = scheduler.pick(Time::ZERO, &lost, &[candidate(0, 10), candidate(1, 20)]);
            assert_eq!(pick.map(|pick| pick.len), Some(1000), "{name}");
        }
    }

    #[test]
    fn backups_are_used_where_nothing_else_is_heard_of() {
        let mut all = [candidate(0, 10), Candidate { backup: true, ..candidate(1, 1) }];
        let of = |all: &[Candidate]| usable(all).map(|one| one.subflow).collect::<alloc::vec::Vec<_>>();
        assert_eq!(of(&all), [0]);
        all[0].silent = true;
        assert_eq!(of(&all), [0, 1]);
        assert_eq!(of(&all[1..]), [1]);
    }
}
