//! When packets left and came, as libwebrtc takes it.

use voxpath_units::{Span, Time};

/// From one packet of a burst to the next.
///
/// libwebrtc has no such constant: its pacer sends what is due in one loop, and this is the time that a packet takes to be encrypted and
/// written there. It was read off captures of Chromium's calls; `make webrtc-record` keeps its quartiles with each call (`apart_us`).
const APART: Span = Span::from_micros(70);
/// The resolution of `SentPacket::send_time_ms`, and of `PacketResult::receive_time` (`TransportFeedbackAdapter`).
const RESOLUTION: u64 = 1_000_000;

/// The millisecond that a time lies in.
pub(super) const fn whole(at: Time) -> Time {
    Time::from_nanos(at.as_nanos() / RESOLUTION * RESOLUTION)
}

/// When packets were sent, as libwebrtc notes it: in milliseconds, and one packet of a burst after the other.
///
/// So a burst whose packets were queued has several groups, where packets of one instant would be one with all that was queued behind them.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    last: Option<Time>,
    /// Packets of that instant before.
    before: u64,
}

impl Stamps {
    /// Of the packet that was sent next, of which a report came at `now`.
    pub(super) fn stamp(&mut self, sent: Time, now: Time) -> Time {
        self.before = if self.last.replace(sent) == Some(sent) { self.before + 1 } else { 0 };
        whole((sent + APART * self.before).min(now))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GROUP, Groups};
    use super::*;
    use alloc::vec::Vec;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    #[test]
    fn packets_of_a_burst_are_stamped_one_after_the_other_in_milliseconds() {
        let mut stamps = Stamps::default();
        let late = at(1_000_000);
        let burst: Vec<Time> = (0..8).map(|_| stamps.stamp(at(7_700), late)).collect();
        // 7.70, 7.77, 7.84, 7.91, 7.98; then 8.05.
        assert_eq!(burst, [[at(7_000); 5].as_slice(), &[at(8_000); 3]].concat());
        assert_eq!(stamps.stamp(at(7_990), late), at(7_000), "another one");
        // A report never comes before what it reports on was sent.
        assert_eq!(stamps.stamp(at(7_990), at(7_995)), at(7_000));
    }

    /// Deltas of five bursts of eight packets each, 50 ms apart, which leave a queue one after the other.
    fn queued(mut stamp: impl FnMut(Time) -> Time) -> usize {
        let mut groups = Groups::new(GROUP);
        let packets = (0..40).map(|i| (at(700 + 50_000 * (i / 8)), at(100_000 + 4_900 * i)));
        packets.filter_map(|(sent, arrival)| groups.on_packet(stamp(sent), arrival, arrival, 1200)).count()
    }

    #[test]
    fn bursts_that_wait_are_not_all_one_group() {
        let mut stamps = Stamps::default();
        assert!(queued(|sent| stamps.stamp(sent, at(1_000_000))) > queued(|sent| sent));
    }
}
