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
    /// Both ends speak it.
    agreed: bool,
    /// The peer asked for it: a SYN|ACK says so.
    asked: bool,
    /// The segment that is being taken in was marked.
    marked: bool,
    /// ECE is due until the peer says CWR.
    echo: bool,
    /// CWR is due with the next new data.
    reduced: bool,
    /// The segment given out last may be marked.
    capable: bool,
}

impl Connection {
    /// Says that the network has marked the segment that comes next (CE): to be called before [`Connection::handle_segment`].
    pub fn congestion_experienced(&mut self) {
        self.ecn.marked = true;
    }

    /// Whether the segment that [`Connection::poll_transmit`] gave last may be marked (ECT(0)): new data of a connection that has
    /// agreed on it, no repetitions, no bare acknowledgments (sections 6.1.4, 6.1.5).
    pub fn is_ecn_capable(&self) -> bool {
        self.ecn.capable
    }

    /// The flags with which a SYN asks for it, or a SYN|ACK accepts (section 6.1.1).
    pub(super) fn ecn_setup(&self) -> TcpFlags {
        match (self.state, self.config.ecn) {
            (State::SynSent, Ecn::Request) => TcpFlags::ECE | TcpFlags::CWR,
            (State::SynReceived, Ecn::Request | Ecn::Accept) if self.ecn.asked => TcpFlags::ECE,
            _ => TcpFlags::NONE,
        }
    }

    /// Takes the flags of the peer's SYN or SYN|ACK in.
    pub(super) fn take_ecn_setup(&mut self, flags: TcpFlags) {
        let (ece, cwr) = (flags.contains(TcpFlags::ECE), flags.contains(TcpFlags::CWR));
        if flags.contains(TcpFlags::ACK) {
            self.ecn.agreed = self.config.ecn == Ecn::Request && ece && !cwr;
        } else {
            self.ecn.asked = ece && cwr;
            self.ecn.agreed = self.ecn.asked && self.config.ecn != Ecn::Off;
        }
    }

    /// Takes the mark and the flags of a segment in.
    pub(super) fn take_ecn(&mut self, flags: TcpFlags, has_data: bool) {
        let marked = core::mem::take(&mut self.ecn.marked);
        if !self.ecn.agreed || !has_data {
            return;
        }
        if flags.contains(TcpFlags::CWR) {
            self.ecn.echo = false;
            // Linux' tcp_ecn_accept_cwr(): a window as small as one segment may wait for it.
            self.rcv.ack_now |= self.config.delayed_ack.adaptive;
        }
        if marked {
            self.counters.marked += 1;
            if !self.ecn.echo {
                // Linux' __tcp_ecn_check_ce(): the sender should know at once.
                self.enter_quick_mode(2);
                self.rcv.ack_now = true;
            }
            self.ecn.echo = true;
        }
    }

    /// An acknowledgment carries the echo of a mark: once a window, as for a loss (section 6.1.2).
    pub(super) fn take_echo(&mut self, now: Time, flags: TcpFlags) {
        if !self.ecn.agreed
            || !flags.contains(TcpFlags::ECE)
            || self.recovery.phase() != Phase::Open
            || self.flight() == 0
            || self.by_rate()
        {
            return;
        }
        let prior = self.window.cwnd;
        self.reduce_ssthresh(now, self.flight());
        if !self.config.prr {
            self.window.cwnd = self.window.ssthresh;
        }
        self.recovery.enter_reduction(self.snd.nxt, Prr::new(prior));
        self.tell_reduction();
    }

    /// The window was reduced: the next new data says so, for whatever reason it was (section 6.1.2).
    pub(super) fn tell_reduction(&mut self) {
        self.ecn.reduced = self.ecn.agreed;
    }

    /// The flags of a segment that leaves, and whether it may be marked.
    pub(super) fn ecn_flags(&mut self, new_data: bool) -> TcpFlags {
        let mut flags = TcpFlags::NONE;
        self.ecn.capable = self.ecn.agreed && new_data;
        if !self.ecn.agreed {
            return flags;
        }
        if self.ecn.echo {
            flags |= TcpFlags::ECE;
        }
        if new_data && core::mem::take(&mut self.ecn.reduced) {
            flags |= TcpFlags::CWR;
        }
        flags
    }
}
