//! What the encoder may make of the target (`RtpVideoSender::OnBitrateUpdated`, `FecControllerDefault`, `EncoderBitrateAdjuster`, `EncoderOvershootDetector`).
//!
//! Left out: the headroom of `EncoderBitrateAdjuster`, which is what the target has beyond the encoder's largest rate. The bounds of a
//! call hold for its target, so there is none.

use crate::rate::encoding::{Encoding, Packets};
use crate::rate::window::RateWindow;
use alloc::collections::VecDeque;
use voxpath_units::{Span, Time};

/// `kWindowSize`: how long a frame counts.
const WINDOW: Span = Span::from_secs(3);
/// `kMinFramesSinceLayoutChange`: until there are so many, `kDefaultUtilizationFactor` is used.
const FEWEST_FRAMES: u32 = 30;
const DEFAULT_UTILISATION: f64 = 1.2;
/// The encoder keeps half of its rate.
const MOST_UTILISATION: f64 = 2.0;
/// The window of `post_encode_overhead_bitrate_`.
const DESCRIPTORS_WINDOW: Span = Span::from_secs(1);
/// Of the encoder's rate, what payload descriptors may take at most.
const MOST_DESCRIPTORS: f64 = 0.5;
/// The window of rates that are sent (`kBitrateStatisticsWindow`), and the steps in which they are counted.
const SENT_WINDOW: Span = Span::from_secs(1);
const TICK: Span = Span::from_millis(1);
/// Of the encoder's rate, what packets that are sent again may take at most (`overhead_threshold_`).
const MOST_AGAIN: f64 = 0.5;
/// `kDefaultMinVideoBitrateBps`: an encoder never gets less (`DefaultVideoBitrateAllocator`, `EncoderBitrateAdjuster`).
const LEAST_BPS: f64 = 30e3;

/// The rule of `libwebrtc`.
#[derive(Debug)]
pub(super) struct Encoder {
    /// `EncoderBitrateAdjuster` is used.
    adjusts: bool,
    frames: u32,
    detector: Overshoot,
    descriptors: RateWindow,
    /// What was sent anew, and again.
    sent: [Sent; 2],
}

impl Encoder {
    pub(super) fn new(adjusts: bool) -> Self {
        Self {
            adjusts,
            frames: 0,
            detector: Overshoot::default(),
            descriptors: RateWindow::new(DESCRIPTORS_WINDOW),
            sent: Default::default(),
        }
    }

    /// `OnBitrateUpdated`: headers of packets that are all as large as they may be, the part that is sent again, and descriptors as
    /// they were.
    fn left(&mut self, now: Time, packets: &Packets, packet_bps: f64) -> f64 {
        // `CalculateOverheadRate`. What is sent again has room in each packet (`max_media_packet_header_`).
        let per_s = libm::ceil(packet_bps / 8.0 / f64::from(packets.most + packets.below));
        let overhead = f64::from(packets.header + packets.again + packets.below);
        let left = (packet_bps - per_s * overhead * 8.0).max(0.0) * (1.0 - self.again(now));
        left - self.descriptors.bps().unwrap_or(0.0).min(MOST_DESCRIPTORS * left)
    }

    /// Of what is sent, the part that is sent again (`FecControllerDefault::UpdateFecRates`).
    fn again(&mut self, now: Time) -> f64 {
        let [new, again] = self.sent.each_mut().map(|sent| sent.bps(now).unwrap_or(0.0));
        if again > 0.0 { (again / (new + again)).min(MOST_AGAIN) } else { 0.0 }
    }

    /// `link_utilization_factor`.
    fn utilisation(&mut self, now: Time) -> f64 {
        let known = self.detector.utilisation(now).filter(|_| self.frames >= FEWEST_FRAMES);
        known.unwrap_or(DEFAULT_UTILISATION).clamp(1.0, MOST_UTILISATION)
    }
}

impl Encoding for Encoder {
    fn rate(&mut self, now: Time, packets: &Packets, packet_bps: f64) -> f64 {
        // Where the call's bounds leave less they hold.
        let least = LEAST_BPS.min(packet_bps);
        let bps = self.left(now, packets, packet_bps).max(least);
        if !self.adjusts {
            return bps;
        }
        let adjusted = (bps / self.utilisation(now)).max(least);
        self.detector.set_target(now, adjusted, packets.interval);
        adjusted
    }

    fn on_frame(&mut self, now: Time, bytes: u32, descriptors: u32) {
        self.frames = self.frames.saturating_add(1);
        self.descriptors.add(now, descriptors);
        if self.adjusts {
            self.detector.on_frame(now, f64::from(bytes) * 8.0);
        }
    }

    fn on_sent(&mut self, now: Time, bytes: u32, again: bool) {
        self.sent[usize::from(again)].add(now, bytes);
    }
}

/// The rate of what was sent (`BitrateTracker`): over the last second, or since the first packet of it.
#[derive(Debug, Default)]
struct Sent {
    packets: VecDeque<(Time, u32)>,
    bytes: u64,
    first: Option<Time>,
}

impl Sent {
    fn add(&mut self, now: Time, bytes: u32) {
        self.forget(now);
        if self.packets.is_empty() {
            self.first = Some(now);
        }
        self.packets.push_back((now, bytes));
        self.bytes += u64::from(bytes);
    }

    fn forget(&mut self, now: Time) {
        while let Some(&(_, bytes)) = self.packets.front().filter(|&&(at, _)| now.since(at) >= SENT_WINDOW) {
            self.packets.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }

    /// None without packets, and none of a single one in less than a second.
    fn bps(&mut self, now: Time) -> Option<f64> {
        self.forget(now);
        let since = now.since(self.first?) + TICK;
        let one = self.packets.len() == 1 && since < SENT_WINDOW;
        let over = since.min(SENT_WINDOW).as_secs_f64();
        (!self.packets.is_empty() && !one).then(|| self.bytes as f64 * 8.0 / over)
    }
}

/// `EncoderOvershootDetector`: whether frames can be sent at the target without a queue that grows.
#[derive(Debug, Default)]
struct Overshoot {
    target_bps: f64,
    /// A frame of the target's size.
    ideal: f64,
    /// Bits that wait in a buffer which the target empties.
    waiting: f64,
    leaked: Option<Time>,
    /// Of each frame, how many times the target it takes.
    factors: VecDeque<(Time, f64)>,
}

impl Overshoot {
    fn set_target(&mut self, now: Time, bps: f64, interval: Span) {
        self.leak(now);
        self.target_bps = bps;
        self.ideal = bps * interval.as_secs_f64();
    }

    fn leak(&mut self, now: Time) {
        if let Some(before) = self.leaked.replace(now) {
            let leaked = self.target_bps * now.since(before).as_secs_f64();
            self.waiting = (self.waiting - leaked).max(0.0);
        }
    }

    /// `OnEncodedFrame`, `HandleEncodedFrame`.
    fn on_frame(&mut self, now: Time, bits: f64) {
        self.leak(now);
        if self.ideal <= 0.0 {
            return;
        }
        // A large frame costs nothing by itself, but those behind it that still wait for it do.
        let over = (bits + self.waiting - self.ideal).clamp(0.0, self.waiting);
        let factor =
            if self.factors.is_empty() { (bits / self.ideal).max(1.0) } else { 1.0 + over / self.ideal };
        self.waiting += bits - over;
        self.factors.push_back((now, factor));
    }

    /// The mean of the window (`GetNetworkRateUtilizationFactor`); none without a frame in it.
    fn utilisation(&mut self, now: Time) -> Option<f64> {
        while self.factors.front().is_some_and(|&(at, _)| now.since(at) > WINDOW) {
            self.factors.pop_front();
        }
        let sum: f64 = self.factors.iter().map(|(_, factor)| factor).sum();
        (!self.factors.is_empty()).then(|| sum / self.factors.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::encoding::tests::PACKETS;

    fn at(frame: u64) -> Time {
        Time::ZERO + PACKETS.interval * frame
    }

    #[test]
    fn headers_are_those_of_the_largest_packets_in_whole_packets_a_second() {
        let mut encoder = Encoder::new(false);
        // 125000 octets a second are 101.8 packets of 1228: 102, of 70 octets of headers each.
        assert_eq!(encoder.rate(at(0), &PACKETS, 1e6), 1e6 - 102.0 * 70.0 * 8.0);
        // One packet is 9824 bits; a bit more is a second packet.
        assert_eq!(encoder.left(at(0), &PACKETS, 9824.0), 9824.0 - 560.0);
        assert_eq!(encoder.left(at(0), &PACKETS, 9825.0), 9825.0 - 1120.0);
        assert_eq!(encoder.left(at(0), &PACKETS, 100.0), 0.0);
    }

    #[test]
    fn an_encoder_has_thirty_kilobits_or_all_that_the_call_may_send() {
        let mut encoder = Encoder::new(true);
        // 31 kbit/s are four packets a second; a fifth more is expected of the encoder.
        assert_eq!(encoder.left(at(0), &PACKETS, 31e3), 31e3 - 4.0 * 560.0);
        assert_eq!(encoder.rate(at(0), &PACKETS, 31e3), 30e3);
        assert_eq!(encoder.rate(at(0), &PACKETS, 20e3), 20e3);
    }

    #[test]
    fn descriptors_of_the_last_second_are_taken_off_up_to_half() {
        let mut encoder = Encoder::new(false);
        (0..=25).for_each(|i| encoder.on_frame(at(i), 5000, 16));
        // 25 frames of the last second have 16 octets each: 3200 bit/s.
        assert_eq!(encoder.rate(at(25), &PACKETS, 1e6), 1e6 - 57_120.0 - 3200.0);
        assert_eq!(encoder.left(at(0), &PACKETS, 5000.0), (5000.0 - 560.0) / 2.0);
    }

    /// The rate after 75 frames of these sizes by turns, of which 1 is a frame of 800 kbit/s, which the encoder keeps to.
    fn adjusted(sizes: &[f64]) -> f64 {
        let mut encoder = Encoder::new(true);
        // What leaves 800 kbit/s: 87 packets a second of 560 bits of headers.
        let packet_bps = 800e3 + 87.0 * 560.0;
        for (i, size) in (0..75).zip(sizes.iter().cycle()) {
            let rate = encoder.rate(at(i), &PACKETS, packet_bps);
            encoder.on_frame(at(i), (size * rate * 0.04 / 8.0) as u32, 0);
        }
        encoder.rate(at(75), &PACKETS, packet_bps)
    }

    #[test]
    fn an_encoder_that_keeps_to_its_rate_keeps_it() {
        assert_eq!(adjusted(&[1.0]), 800e3);
        // A large frame behind which there is room does not cost.
        assert!((adjusted(&[1.0, 1.5, 0.5, 1.0]) - 800e3).abs() < 1.0);
        // Less than the rate is not made up for.
        assert_eq!(adjusted(&[0.5]), 800e3);
    }

    #[test]
    fn large_frames_one_after_the_other_cost() {
        // Half a frame waits when the second one comes, which is 0.5 too much: 1.5 of one frame in four.
        let rate = adjusted(&[1.5, 1.5, 0.0, 1.0]);
        assert!((rate / (800e3 / 1.125) - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn an_encoder_that_makes_twice_as_much_gets_half() {
        // All of a frame waits when the next one comes, which is then 1.0 too much.
        assert!((adjusted(&[2.0]) / 400e3 - 1.0).abs() < 0.01);
        // Less than half it never gets.
        assert!((adjusted(&[4.0]) / 400e3 - 1.0).abs() < 0.01);
    }

    #[test]
    fn what_is_sent_again_is_taken_off_up_to_half() {
        let rate = |new: usize, again: usize, later: u64| {
            let mut encoder = Encoder::new(false);
            for (count, repeats) in [(new, false), (again, true)] {
                (0..count).for_each(|i| encoder.on_sent(at(i as u64 % 10), 1000, repeats));
            }
            encoder.rate(at(10 + later), &PACKETS, 1e6) / encoder_rate()
        };
        assert_eq!(rate(30, 0, 0), 1.0);
        assert_eq!(rate(30, 1, 0), 1.0, "one packet has no rate");
        assert!((rate(30, 10, 0) - 0.75).abs() < 1e-9);
        assert_eq!(rate(30, 90, 0), 0.5);
        assert_eq!(rate(30, 90, 25), 1.0, "a second later");
    }

    /// Of 1 Mbit/s, without anything that is sent again.
    fn encoder_rate() -> f64 {
        Encoder::new(false).rate(at(0), &PACKETS, 1e6)
    }

    #[test]
    fn before_it_is_known_it_is_taken_to_make_a_fifth_more() {
        let mut encoder = Encoder::new(true);
        let rate = encoder.rate(at(0), &PACKETS, 1e6);
        assert_eq!(rate, (1e6 - 57_120.0) / 1.2);
        for i in 0..30 {
            assert_eq!(encoder.rate(at(i), &PACKETS, 1e6), rate, "frame {i}");
            encoder.on_frame(at(i), (rate * 0.04 / 8.0) as u32, 0);
        }
        assert!((encoder.rate(at(30), &PACKETS, 1e6) - 942_880.0).abs() < 1.0);
    }
}
