//! F-RTO (RFC 5682): after a timeout, new data tells whether it was spurious.
//!
//! The first retransmission goes out. If its acknowledgment shows progress, new data follows in place of more retransmissions. What the next
//! acknowledgment covers then decides: originals that were never retransmitted have arrived, and the timeout was spurious, or a duplicate
//! comes, and it was not. As in Linux the SACK-enhanced version (section 3) decides wherever an original is SACKed.

use super::LossRecovery;
use super::{Acknowledged, Phase};
use crate::sender::Sender;
use crate::shared::Shared;

/// Where the test stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Frto {
    /// Not under test.
    #[default]
    Off,
    /// Step 1: the first retransmission is in flight.
    Retransmitted,
    /// Step 2b: new data is sent, retransmissions wait.
    SendNew,
    /// Neither proof has come: retransmissions go on, and originals would still be one.
    Watching,
}

impl LossRecovery {
    /// An acknowledgment after a timeout: whether that turned out to have been spurious.
    pub(super) fn was_timeout_spurious(&mut self, cx: &Shared, snd: &Sender, ack: &Acknowledged<'_>) -> bool {
        let recover = self.episode.recover;
        let advanced = ack.advanced;
        if advanced && self.may_undo(cx, ack.echo) {
            return true;
        }
        if self.episode.frto == Frto::Off {
            return false;
        }
        // Step 3b: octets that were never retransmitted have arrived. Without SACK that is not known of what is acknowledged together with a
        // retransmission: it may have waited behind the hole (Linux' tcp_clean_rtx_queue()).
        let distinct = cx.options.sack || !ack.delivered.ambiguous;
        if distinct && ack.delivered.lowest_original_end.is_some_and(|end| end <= recover) {
            return true;
        }
        let state = &mut self.episode.frto;
        match *state {
            Frto::SendNew | Frto::Watching => *state = if advanced { Frto::Watching } else { Frto::Off },
            Frto::Retransmitted if advanced && snd.una < recover => {
                // A whole segment: less might wait for what it should tell about.
                let next = snd.nxt + u64::from(ack.max_payload);
                let may_send_new = snd.end() >= next && snd.una + snd.wnd >= next;
                self.episode.frto = if may_send_new { Frto::SendNew } else { Frto::Off };
            }
            _ => {}
        }
        false
    }

    /// Whether retransmissions wait for the verdict.
    pub(super) fn is_testing_timeout(&self) -> bool {
        self.episode.phase == Phase::Loss && self.episode.frto == Frto::SendNew
    }
}
