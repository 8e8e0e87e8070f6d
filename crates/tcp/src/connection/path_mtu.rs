//! Path MTU discovery (RFC 1191, RFC 8201): segments become as small as the smallest link of the path asks.
//!
//! Every packet forbids its fragmentation, so a router that cannot pass one on says what the next link takes. That is no
//! loss by congestion, and the window stays (RFC 1191 section 6.4).

use super::Connection;
use voxpath_wire::tcp::Seq;

/// What a segment without options has besides its data.
const HEADER: u32 = 20;
/// The least that a segment may carry: what the smallest packet of IPv4 (RFC 791 section 3.1) leaves it.
const LEAST: u32 = 68 - 20 - HEADER;

impl Connection {
    /// A router could not pass on the segment that begins at `seq`: a link takes `largest` bytes of TCP header and data.
    /// Whether there is something to send for it.
    ///
    /// What does not belong to anything outstanding is not believed (RFC 5927 section 7), nor what would enlarge segments:
    /// it is late.
    pub fn handle_too_big(&mut self, largest: u32, seq: Seq) -> bool {
        let ahead = seq.distance_from(self.snd.seq(self.snd.una));
        let is_outstanding = u64::try_from(ahead).is_ok_and(|ahead| ahead < self.snd.flight());
        let mss = largest.saturating_sub(HEADER).max(LEAST);
        if !is_outstanding || mss >= self.snd.path_mss || !self.shared.is_synchronised() {
            return false;
        }
        self.snd.path_mss = mss;
        self.snd.window.smss = u64::from(self.snd.smss(&self.shared));
        self.recovery.mark_refused_lost(&mut self.snd);
        self.recovery.enter_loss(self.snd.nxt);
        true
    }
}
