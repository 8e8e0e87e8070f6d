//! Slow start and congestion avoidance of RFC 5681.

use super::hystart::SlowStart;
use super::{Ack, CongestionControl, CwndEvent, Sample, Window};
use crate::config::Config;
use voxpath_units::Time;

/// RFC 5681 section 3.1.
#[derive(Debug)]
pub(super) struct Reno {
    slow_start: SlowStart,
    byte_counting: bool,
    /// Octets acknowledged since the window last grew (`bytes_acked` of RFC 3465).
    bytes_acked: u64,
}

impl Reno {
    /// The algorithm with the configured way of counting.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            slow_start: SlowStart::new(config, false),
            byte_counting: config.byte_counting,
            bytes_acked: 0,
        }
    }
}

impl CongestionControl for Reno {
    fn ssthresh(&mut self, _now: Time, window: &Window, flight: u64) -> u64 {
        self.bytes_acked = 0;
        // Equation (4). FlightSize, not cwnd: the receiver may have limited the sender.
        (flight / 2).max(2 * window.smss)
    }

    fn cong_avoid(&mut self, ack: &Ack, window: &mut Window) {
        let Some(acked) = self.slow_start.grow(window, ack.acked) else { return };
        if self.byte_counting {
            // One segment for each window of octets (RFC 5681 section 3.1, RFC 3465 section 2.1).
            self.bytes_acked += acked;
            if self.bytes_acked >= window.cwnd {
                self.bytes_acked -= window.cwnd;
                window.cwnd += window.smss;
            }
        } else {
            // Equation (3), at least one octet.
            window.cwnd += (window.smss * window.smss / window.cwnd).max(1);
        }
    }

    fn pkts_acked(&mut self, sample: &Sample, window: &mut Window) {
        self.slow_start.pkts_acked(sample, window);
    }

    fn cwnd_event(&mut self, _now: Time, event: CwndEvent, _window: &mut Window) {
        if matches!(event, CwndEvent::Loss { .. }) {
            self.slow_start.on_loss();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;
    use alloc::vec::Vec;

    fn grow(reno: &mut Reno, window: &mut Window, acked: u64) {
        reno.cong_avoid(&Ack { now: Time::ZERO, acked, srtt: None }, window);
    }

    /// The window at the start of each round trip, from three segments on; an acknowledgment for each `b` segments,
    /// those left over being acknowledged with the next round.
    fn rounds(byte_counting: bool, b: u64, count: usize) -> Vec<u64> {
        let config = Config { byte_counting, ..Profile::Riverbed16.config() };
        let mut reno = Reno::new(&config);
        let mut window = Window { cwnd: 4380, ssthresh: 4380, smss: 1460 };
        (0..count)
            .map(|_| {
                let at_start = window.cwnd;
                for _ in 0..at_start / window.smss / b {
                    grow(&mut reno, &mut window, b * 1460);
                }
                at_start
            })
            .collect()
    }

    #[test]
    fn equation_3_applies_to_each_acknowledgment_and_not_once_a_round_trip() {
        // ../shared/facts/sarkar2022.md, C.1, against the publication's table 9, which takes 14 round trips.
        // Computed there with fractions; here each acknowledgment drops less than an octet of them.
        let each = [4380, 5707, 6762, 7945, 9207];
        let second = [4380, 4867, 5305, 5707, 6080, 6762, 7379, 7945, 8473, 8969];
        for (b, expected) in [(1, &each[..]), (2, &second[..])] {
            for (ours, &theirs) in rounds(false, b, expected.len()).iter().zip(expected) {
                assert!(theirs - 10 < *ours && *ours <= theirs, "b = {b}: {ours} against {theirs}");
            }
        }
    }

    #[test]
    fn byte_counting_adds_one_segment_a_round_trip_whatever_is_delayed() {
        let expected = [4380, 5840, 7300, 8760];
        assert_eq!(rounds(true, 1, 4), expected);
        let delayed = rounds(true, 2, 7);
        assert!(delayed.windows(2).all(|pair| pair[1] - pair[0] <= 1460), "{delayed:?}");
        assert!(delayed[6] >= 8760, "{delayed:?}");
    }

    #[test]
    fn equation_2_adds_at_most_one_segment_an_acknowledgment() {
        let mut reno = Reno::new(&Profile::Rfc.config());
        let mut window = Window { cwnd: 14_600, ssthresh: u64::MAX, smss: 1460 };
        grow(&mut reno, &mut window, 2920);
        assert_eq!(window.cwnd, 16_060);
        grow(&mut reno, &mut window, 100);
        assert_eq!(window.cwnd, 16_160);
    }

    #[test]
    fn equation_4_halves_the_flight_and_keeps_two_segments() {
        let mut reno = Reno::new(&Profile::Rfc.config());
        let window = Window { cwnd: 135_000, ssthresh: u64::MAX, smss: 1460 };
        assert_eq!(reno.ssthresh(Time::ZERO, &window, 8760), 4380);
        assert_eq!(reno.ssthresh(Time::ZERO, &window, 2000), 2920);
    }
}
