//! Proportional rate reduction (RFC 6937, as RFC 9937 and Linux have it): during a recovery, how much may be sent for what was delivered.

use super::LossRecovery;
use crate::sender::Sender;
use crate::shared::Shared;

/// RFC 6937 section 3's variables; RecoverFS is the window before, as in Linux.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prr {
    prior_cwnd: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    /// A reduction begins.
    pub(super) const fn new(prior_cwnd: u64) -> Self {
        Self { prior_cwnd, delivered: 0, out: 0 }
    }

    /// So many octets are charged for what was sent.
    pub(super) const fn note_sent(&mut self, octets: u64) {
        self.out += octets;
    }
}

impl LossRecovery {
    /// An acknowledgment during a recovery for what was charged `delivered` octets; `safe` if it advanced SND.UNA and told of no
    /// further loss (SafeACK of RFC 9937).
    pub(super) fn reduce_proportionally(
        &mut self,
        cx: &Shared,
        snd: &mut Sender,
        delivered: u64,
        safe: bool,
    ) {
        let smss = snd.window.smss;
        // Without SACK the segment that is to be repeated counts as lost until then (tcp_newreno_mark_lost()).
        let lost = if self.counts_dupacks(cx) && self.episode.retransmit_first { smss } else { 0 };
        let (pipe, ssthresh) = (self.pipe(cx, snd).saturating_sub(lost), snd.window.ssthresh);
        let prr = &mut self.episode.prr;
        if delivered == 0 || prr.prior_cwnd == 0 {
            return;
        }
        prr.delivered += delivered;
        let room = if pipe > ssthresh {
            // In proportion, rounded up to whole segments.
            let share = u128::from(prr.delivered) * u128::from(ssthresh);
            let share = share.div_ceil(u128::from(prr.prior_cwnd)) as u64;
            share.next_multiple_of(smss).saturating_sub(prr.out)
        } else {
            // Slow start towards the threshold, or no faster than what is delivered (PRR-SSRB, PRR-CRB).
            let conserve = prr.delivered.saturating_sub(prr.out).max(delivered);
            (conserve + if safe { smss } else { 0 }).min(ssthresh - pipe)
        };
        // The first retransmission goes whatever the window says, and so does what follows a pipe that has run dry.
        let room = if prr.out == 0 || pipe == 0 { room.max(smss) } else { room };
        snd.window.cwnd = pipe + room;
    }
}
