//! Explicit congestion notification (RFC 3168 section 6.1): who may be marked, how a mark is echoed, and how the sender answers.

use super::{Connection, State};
use crate::config::Ecn;
use voxpath_wire::tcp::TcpFlags;

impl Connection {
    /// Says that the network has marked the segment that comes next (CE): to be called before [`Connection::handle_segment`].
    pub fn congestion_experienced(&mut self) {
        self.rcv.congestion_experienced();
    }

    /// Whether the segment that [`Connection::poll_transmit`] gave last may be marked (ECT(0)): new data of a connection that has
    /// agreed on it, no retransmissions, no bare acknowledgments (sections 6.1.4, 6.1.5).
    pub fn is_ecn_capable(&self) -> bool {
        self.snd.is_ect()
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
}
