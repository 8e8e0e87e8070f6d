//! Explicit congestion notification (RFC 3168 section 6.1): who may be marked, how a mark is echoed, and how the sender answers.

use super::prr::Prr;
use super::recovery::Phase;
use super::{Connection, State};
use crate::config::Ecn;
use voxpath_units::Time;
use voxpath_wire::tcp::TcpFlags;

/// What both ends agreed on, and what is to be told.
#[derive(Debug, Default)]
pub(super) struct EcnState {
    /// CWR is due with the next new data.
    reduced: bool,
    /// The segment given out last may be marked.
    capable: bool,
}

impl Connection {
    /// Says that the network has marked the segment that comes next (CE): to be called before [`Connection::handle_segment`].
    pub fn congestion_experienced(&mut self) {
        self.rcv.congestion_experienced();
    }

    /// Whether the segment that [`Connection::poll_transmit`] gave last may be marked (ECT(0)): new data of a connection that has
    /// agreed on it, no repetitions, no bare acknowledgments (sections 6.1.4, 6.1.5).
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn.capable
    }

    /// The flags with which a SYN asks for it, or a SYN|ACK accepts (section 6.1.1).
    pub(super) fn ecn_setup(&self) -> TcpFlags {
        match (self.shared.state, self.shared.config.ecn) {
            (State::SynSent, Ecn::Request) => TcpFlags::ECE | TcpFlags::CWR,
            (State::SynReceived, Ecn::Request | Ecn::Accept) if self.shared.options.ecn => TcpFlags::ECE,
            _ => TcpFlags::NONE,
        }
    }

    /// Takes the flags of the peer's SYN or SYN|ACK in.
    pub(super) fn take_ecn_setup(&mut self, flags: TcpFlags) {
        let (ece, cwr) = (flags.contains(TcpFlags::ECE), flags.contains(TcpFlags::CWR));
        if flags.contains(TcpFlags::ACK) {
            self.shared.options.ecn = self.shared.config.ecn == Ecn::Request && ece && !cwr;
        } else {
            self.shared.options.ecn = ece && cwr && self.shared.config.ecn != Ecn::Off;
        }
    }

    /// An acknowledgment carries the echo of a mark: once a window, as for a loss (section 6.1.2).
    pub(super) fn take_echo(&mut self, now: Time, flags: TcpFlags) {
        if !self.shared.options.ecn
            || !flags.contains(TcpFlags::ECE)
            || self.recovery.phase() != Phase::Open
            || self.flight() == 0
            || self.by_rate()
        {
            return;
        }
        let prior = self.window.cwnd;
        self.reduce_ssthresh(now, self.flight());
        if !self.shared.config.prr {
            self.window.cwnd = self.window.ssthresh;
        }
        self.recovery.enter_reduction(self.snd.nxt, Prr::new(prior));
        self.tell_reduction();
    }

    /// The window was reduced: the next new data says so, for whatever reason it was (section 6.1.2).
    pub(super) fn tell_reduction(&mut self) {
        self.ecn.reduced = self.shared.options.ecn;
    }

    /// The flags of a segment that leaves, and whether it may be marked.
    pub(super) fn ecn_flags(&mut self, new_data: bool) -> TcpFlags {
        let mut flags = TcpFlags::NONE;
        self.ecn.capable = self.shared.options.ecn && new_data;
        if !self.shared.options.ecn {
            return flags;
        }
        if new_data && core::mem::take(&mut self.ecn.reduced) {
            flags |= TcpFlags::CWR;
        }
        flags
    }
}
