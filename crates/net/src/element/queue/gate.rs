//! How a queue lets packets in, marks and drops them.

use crate::element::Count;
use crate::packet::Ecn;
use crate::pool::{Handle, Pool};
use crate::tap::{Action, Place, Tap};
use voxpath_units::Time;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// To be marked, or dropped if its ends do not understand that.
    Mark,
    Drop,
}

/// How a queue lets packets in, marks and drops them, so that each is seen and counted.
pub(crate) struct Gate<'a> {
    pub(crate) pool: &'a mut Pool,
    pub(crate) tap: &'a mut Tap,
    pub(crate) place: Place,
    pub(crate) count: &'a mut Count,
}

impl Gate<'_> {
    /// A packet is let in.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Time, packet: &Handle) {
        self.pool[packet].enqueued = now;
        self.tap.packet(now, self.place, Action::Enqueued, &self.pool[packet]);
    }

    /// A packet's way ends here.
    pub(crate) fn drop(&mut self, now: Time, packet: Handle) {
        self.count.dropped += 1;
        self.tap.packet(now, self.place, Action::Dropped, &self.pool[&packet]);
        self.pool.discard(packet);
    }

    /// Marks a packet where its ends understand that; whether they do.
    pub(crate) fn mark(&mut self, now: Time, packet: &Handle) -> bool {
        if self.pool[packet].ecn == Ecn::NotEct {
            return false;
        }
        // One that was marked before is marked here too: it would have been dropped.
        self.pool[packet].ecn = Ecn::Ce;
        self.count.marked += 1;
        self.tap.packet(now, self.place, Action::Marked, &self.pool[packet]);
        true
    }

    /// Does what a discipline has decided of a packet that comes; the packet, unless that was to drop it.
    pub(crate) fn judge(&mut self, now: Time, packet: Handle, verdict: Verdict) -> Option<Handle> {
        let stays = match verdict {
            Verdict::Pass => true,
            Verdict::Mark => self.mark(now, &packet),
            Verdict::Drop => false,
        };
        if stays {
            return Some(packet);
        }
        self.drop(now, packet);
        None
    }
}
