//! Rates and factors as the kernel counts them: integers of segments and microseconds, whose rounding shows where a window has few segments.

use voxpath_units::Span;

/// Per cent of the estimate at which it paces, so that queues drain.
const MARGIN: u64 = 99;

/// A factor in 256ths (BBR_UNIT).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gain(pub(super) u64);

impl Gain {
    const SCALE: u32 = 8;
    pub(super) const UNIT: u64 = 1 << Self::SCALE;

    pub(super) const fn of(self, value: u64) -> u64 {
        (value * self.0) >> Self::SCALE
    }
}

/// Segments a microsecond, with 24 binary digits (BW_UNIT).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Bandwidth(pub(super) u64);

impl Bandwidth {
    const SCALE: u32 = 24;
    const UNIT: u64 = 1 << Self::SCALE;

    /// So many octets in this time, not 0; at most what the kernel's filter holds.
    pub(super) fn of(octets: u64, smss: u64, time: Span) -> Self {
        let (octets, time) = (u128::from(octets), u128::from(smss * micros(time).max(1)));
        Self(u32::try_from((octets << Self::SCALE) / time).unwrap_or(u32::MAX).into())
    }

    /// Whole segments in this time.
    pub(super) fn segments(self, time: Span) -> u64 {
        whole(u128::from(self.0) * u128::from(micros(time)))
    }

    /// So many times the segments in this time, rounded up (bbr_bdp()).
    pub(super) fn segments_by(self, time: Span, gain: Gain) -> u64 {
        let value = (u128::from(self.0 * gain.0) * u128::from(micros(time))) >> Gain::SCALE;
        u64::try_from(value.div_ceil(Self::UNIT.into())).unwrap_or(u64::MAX)
    }

    /// bbr_rate_bytes_per_sec(), which takes the margin off.
    pub(super) fn pacing_rate(self, smss: u64, gain: Gain) -> u64 {
        whole(u128::from(gain.of(self.0 * smss)) * u128::from(1_000_000 / 100 * MARGIN))
    }

    pub(super) fn bytes_per_second(self, smss: u64) -> u64 {
        whole(u128::from(self.0 * smss) * 1_000_000)
    }
}

/// Without the binary digits of a [`Bandwidth`].
fn whole(value: u128) -> u64 {
    u64::try_from(value >> Bandwidth::SCALE).unwrap_or(u64::MAX)
}

const fn micros(span: Span) -> u64 {
    span.as_nanos() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1448;

    #[test]
    fn ten_segments_in_ten_milliseconds_are_a_thousandth_of_a_segment_in_a_microsecond() {
        let rate = Bandwidth::of(10 * SMSS, SMSS, Span::from_millis(10));
        assert_eq!(rate.0, Bandwidth::UNIT / 1000);
        // 16777 of 16777.216: rounded down, and up again where a window needs it.
        assert_eq!(rate.segments(Span::from_millis(10)), 9);
        assert_eq!(rate.segments_by(Span::from_millis(10), Gain(Gain::UNIT)), 10);
        assert_eq!(rate.segments_by(Span::from_millis(10), Gain(2 * Gain::UNIT)), 20);
        assert_eq!(rate.bytes_per_second(SMSS), 1_447_981);
        assert_eq!(rate.pacing_rate(SMSS, Gain(Gain::UNIT)), 1_433_501);
    }

    #[test]
    fn what_is_too_wide_for_the_kernel_s_filter_is_the_most_that_it_holds() {
        let most = Bandwidth::of(u64::MAX, 1, Span::ZERO);
        assert_eq!(most.0, u64::from(u32::MAX));
        let long = Span::from_nanos(u64::MAX);
        assert_eq!(most.segments(long), ((u128::from(u32::MAX) * u128::from(u64::MAX / 1000)) >> 24) as u64);
        assert!(most.segments_by(long, Gain(3 * Gain::UNIT)) > most.segments(long));
        assert!(most.pacing_rate(65_535, Gain(3 * Gain::UNIT)) > most.bytes_per_second(65_535));
    }
}
