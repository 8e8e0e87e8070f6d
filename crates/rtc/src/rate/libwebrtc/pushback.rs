//! What is on its way beyond a window makes the encoder leave out frames (`CongestionWindowPushbackController`, with the settings that
//! are the default since 2021: `QueueSize:350,MinBitrate:30000,DropFrame:true`).

use voxpath_units::Span;

/// `QueueSize`: the window holds what the estimate sends in the shortest round trip and this.
const QUEUE: Span = Span::from_millis(350);
/// `kMinCwnd`.
const LEAST_BYTES: f64 = 3000.0;
/// `MinBitrate`.
const LEAST_BPS: f64 = 30e3;
/// `VideoStreamEncoder::UpdateTargetBitrate`: less is not worth a frame, and every second frame at most is left out.
const LEAST_REDUCTION: f64 = 0.01;
const LEAST_INTERVAL: f64 = 2.0;

/// The window, how full it is, and what it leaves of the rate.
#[derive(Debug)]
pub(super) struct Pushback {
    window_bytes: Option<f64>,
    outstanding: u64,
    /// `encoding_rate_ratio_`.
    ratio: f64,
}

impl Pushback {
    pub(super) fn new() -> Self {
        Self { window_bytes: None, outstanding: 0, ratio: 1.0 }
    }

    pub(super) fn set_outstanding(&mut self, bytes: u64) {
        self.outstanding = bytes;
    }

    /// `UpdateCongestionWindowSize`.
    pub(super) fn set_window(&mut self, bps: f64, round_trip: Span) {
        let bytes = bps / 8.0 * (round_trip + QUEUE).as_secs_f64();
        let smoothed = self.window_bytes.map_or(bytes, |before| f64::midpoint(bytes, before));
        self.window_bytes = Some(smoothed.max(LEAST_BYTES));
    }

    /// `UpdateTargetBitrate`, which libwebrtc calls with each packet that is sent and each report that comes.
    pub(super) fn update(&mut self) {
        let Some(window) = self.window_bytes else { return };
        let fill = self.outstanding as f64 / window;
        self.ratio = match fill {
            _ if fill > 1.5 => self.ratio * 0.9,
            _ if fill > 1.0 => self.ratio * 0.95,
            _ if fill < 0.1 => 1.0,
            _ => (self.ratio * 1.05).min(1.0),
        };
    }

    /// What the encoder makes of the estimate, where it never goes below `least_bps`.
    pub(super) fn encoded(&self, target_bps: f64, least_bps: f64) -> f64 {
        if self.window_bytes.is_none() {
            return target_bps;
        }
        let pushed = (target_bps * self.ratio).max(LEAST_BPS.min(target_bps)).max(least_bps);
        let reduction = target_bps - pushed;
        if reduction <= LEAST_REDUCTION * target_bps {
            return target_bps;
        }
        let interval = libm::floor(target_bps / reduction).max(LEAST_INTERVAL);
        // A frame in two may be more than is to be left out.
        (target_bps - target_bps / interval).max(least_bps.min(target_bps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(by: f64, times: u32) -> f64 {
        let mut pushback = Pushback::new();
        // (50 + 350) ms of 1 Mbit/s are 50 kB.
        pushback.set_window(1e6, Span::from_millis(50));
        pushback.set_outstanding((by * 50e3) as u64);
        for _ in 0..times {
            pushback.update();
        }
        pushback.encoded(1e6, 30e3)
    }

    #[test]
    fn a_window_that_is_not_full_leaves_the_rate() {
        assert_eq!(filled(0.99, 100), 1e6);
        assert_eq!(Pushback::new().encoded(1e6, 30e3), 1e6);
    }

    #[test]
    fn frames_are_left_out_the_more_the_longer_it_is_full_and_half_at_most() {
        // 0.95 leaves 50 kbit/s out: one frame in twenty. 0.95^2 = 0.9025: one in ten; 0.9^2 = 0.81: one in five.
        assert_eq!(filled(1.1, 1), 1e6 - 1e6 / 20.0);
        assert_eq!(filled(1.1, 2), 1e6 - 1e6 / 10.0);
        assert_eq!(filled(1.6, 2), 1e6 - 1e6 / 5.0);
        assert_eq!(filled(1.6, 100), 5e5);
    }

    #[test]
    fn the_rate_comes_back_at_once_where_little_is_on_its_way() {
        let mut pushback = Pushback::new();
        pushback.set_window(1e6, Span::from_millis(50));
        pushback.set_outstanding(100_000);
        (0..50).for_each(|_| pushback.update());
        pushback.set_outstanding(20_000);
        pushback.update();
        assert!(pushback.encoded(1e6, 30e3) < 1e6, "by a twentieth only");
        pushback.set_outstanding(4_999);
        pushback.update();
        assert_eq!(pushback.encoded(1e6, 30e3), 1e6);
    }

    #[test]
    fn the_smallest_rate_is_kept() {
        let mut pushback = Pushback::new();
        pushback.set_window(1e5, Span::from_millis(50));
        pushback.set_outstanding(100_000);
        (0..100).for_each(|_| pushback.update());
        assert_eq!(pushback.encoded(1e5, 6e4), 6e4);
        assert_eq!(pushback.encoded(5e4, 6e4), 5e4);
    }

    #[test]
    fn the_window_is_smoothed_and_has_two_packets() {
        let mut pushback = Pushback::new();
        pushback.set_window(1e6, Span::from_millis(50));
        pushback.set_window(2e6, Span::from_millis(50));
        assert_eq!(pushback.window_bytes, Some(75e3));
        let mut small = Pushback::new();
        small.set_window(1e3, Span::ZERO);
        assert_eq!(small.window_bytes, Some(LEAST_BYTES));
    }
}
