//! Loss recovery: what duplicate and selective acknowledgments mean, and what follows.
//!
//! One machine for Tahoe, Reno (RFC 5681 section 3.2), NewReno (RFC 6582) and SACK (RFC 6675). They agree on
//! *when* a loss is assumed, and differ in what the window does and in how recovery ends:
//!
//! | | on the third duplicate | during | ends with |
//! | --- | --- | --- | --- |
//! | Tahoe | cwnd = 1 SMSS, everything again | slow start | an acknowledgment of it all |
//! | Reno | cwnd = ssthresh + 3 SMSS | + 1 SMSS a duplicate | any new acknowledgment |
//! | NewReno | cwnd = ssthresh + 3 SMSS | + 1 SMSS a duplicate, a hole for each partial acknowledgment | `recover` |
//! | Linux | cwnd = ssthresh | pipe less duplicates below cwnd, a hole for each partial acknowledgment | `recover` |
//! | SACK | cwnd = ssthresh | pipe below cwnd | `RecoveryPoint` |
//!
//! With proportional rate reduction (`prr.rs`) the window moves towards ssthresh step by step in the last two. With RACK (`rack.rs`) the time
//! tells what is lost in place of the third duplicate; where a reduction was spurious, `undo.rs` and `frto.rs` take it back.
//!
//! Tahoe goes back N as ns-2's does; 4.3BSD-Tahoe sent one segment again and left the rest to time-outs.
//!
//! | file | idea |
//! | --- | --- |
//! | `acks.rs` | what an acknowledgment leads to |
//! | `detection.rs`, `rack.rs`, `dupacks.rs` | what is lost: by SACK and duplicates (RFC 5681, 6675), by time (RFC 8985), at a timeout |
//! | `retransmit.rs`, `probe.rs` | what is to be retransmitted (NextSeg of RFC 6675), pipe, limited transmit; tail loss probes |
//! | `prr.rs` | proportional rate reduction (RFC 6937) |
//! | `undo.rs`, `frto.rs` | reductions that were spurious (RFC 3522, 3708, 5682) |

mod acks;
mod detection;
mod dupacks;
mod frto;
mod probe;
mod prr;
mod rack;
mod retransmit;
mod undo;

use crate::sender::Sender;
use crate::shared::Shared;
pub(crate) use acks::{Acknowledged, SegmentAck};
use alloc::boxed::Box;
use dupacks::DuplicateAcks;
use frto::Frto;
use probe::LossProbe;
use prr::Prr;
use rack::Rack;
use undo::Undo;
use voxpath_units::{Span, Time};

/// What the sender believes about its outstanding data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Nothing is missing.
    #[default]
    Open,
    /// A loss is being repaired by fast retransmit and recovery.
    Recovery,
    /// The window is being reduced, though nothing was lost: the network has marked (RFC 3168).
    Reduction,
    /// The retransmission timer expired, or Tahoe saw a loss: everything is retransmitted in slow start.
    Loss,
}

impl Phase {
    /// The number under which series record the phase.
    pub const fn code(self) -> u64 {
        match self {
            Self::Open => 0,
            Self::Recovery => 1,
            Self::Loss => 2,
            Self::Reduction => 3,
        }
    }
}

/// Loss recovery of one connection: what it believes of the sender's outstanding data, which it is lent.
#[derive(Debug)]
pub(crate) struct LossRecovery {
    episode: Episode,
    dupacks: DuplicateAcks,
    rack: Rack,
    probe: LossProbe,
    /// The last reduction of the window, once there was one.
    undo: Option<Box<Undo>>,
    timers: RecoveryTimers,
}

/// Deadlines of loss recovery; none is a timer that is off.
#[derive(Debug, Default)]
pub(crate) struct RecoveryTimers {
    /// RACK's reordering window (RFC 8985 section 6.3).
    pub(crate) reordering: Option<Time>,
    /// Tail loss probe (RFC 8985 section 7).
    pub(crate) loss_probe: Option<Time>,
}

/// What begins anew with each phase.
#[derive(Debug, Default)]
struct Episode {
    phase: Phase,
    /// `recover` of RFC 6582, RecoveryPoint of RFC 6675: the first octet after those outstanding when
    /// the phase began.
    recover: u64,
    dupacks: u32,
    /// Octets sent by limited transmit, which FlightSize does not count (RFC 5681 section 3.2 step 2).
    limited_transmit: u64,
    /// The first outstanding segment has to be retransmitted at once.
    retransmit_first: bool,
    /// RFC 6582: the retransmission timer was restarted by a partial acknowledgment of this recovery.
    impatient: bool,
    /// RescueRxt of RFC 6675: this recovery had its rescue retransmission.
    rescued: bool,
    /// The next retransmission goes whatever the window says.
    force: bool,
    /// This acknowledgment has told of a further loss.
    newly_lost: bool,
    prr: Prr,
    frto: Frto,
}

impl LossRecovery {
    pub(crate) fn new(dupack_threshold: u32) -> Self {
        Self {
            episode: Episode::default(),
            dupacks: DuplicateAcks::new(dupack_threshold),
            rack: Rack::default(),
            probe: LossProbe::default(),
            undo: None,
            timers: RecoveryTimers::default(),
        }
    }

    /// The smallest round-trip time of the connection, with that of the handshake (tcp_min_rtt()).
    pub(crate) const fn min_rtt(&self) -> Option<Span> {
        self.rack.min_rtt()
    }

    /// By how many segments packets were seen to overtake each other, at the most.
    pub(crate) const fn reordering(&self) -> u32 {
        self.rack.reordering()
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.episode.phase
    }

    /// Everything outstanding is to be retransmitted.
    pub(crate) fn enter_loss(&mut self, nxt: u64) {
        self.episode = Episode { phase: Phase::Loss, recover: nxt, ..Episode::default() };
    }

    /// An acknowledgment is about to be taken in.
    pub(crate) const fn begin_ack(&mut self) {
        self.episode.newly_lost = false;
    }

    /// A segment leaves that is charged so many octets of the congestion window.
    pub(crate) const fn note_sent(&mut self, octets: u64) {
        self.episode.prr.note_sent(octets);
    }

    /// The earliest deadline; none if no timer runs.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        Time::earliest([self.timers.loss_probe, self.timers.reordering])
    }

    /// Does what is due at `now`.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Shared, snd: &mut Sender, now: Time) {
        let due = |timer: &mut Option<Time>| timer.take_if(|deadline| *deadline <= now).is_some();
        if due(&mut self.timers.reordering) {
            self.handle_reordering_timeout(cx, snd, now);
        }
        if due(&mut self.timers.loss_probe) {
            self.send_loss_probe(snd);
        }
    }

    /// All that was outstanding is acknowledged: nothing is waited for.
    pub(crate) fn on_all_acknowledged(&mut self) {
        self.timers.reordering = None;
        self.probe.due = false;
    }

    /// The connection has ended, or is in TIME-WAIT.
    pub(crate) fn stop_timers(&mut self) {
        self.timers = RecoveryTimers::default();
    }
}
