//! The clocks of ends, of RTP and of RTCP, and numbers that wrap.

use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

/// Seconds from 1900 to 1970: a run begins in 1970, as its captures do.
const NTP_1970: u64 = 2_208_988_800;
const NS: u128 = 1_000_000_000;

/// Parts in a thousand million.
const PPB: i128 = 1_000_000_000;

/// The clock of an end, which may gain or lose against that of the run. Both show the same when the call starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drift {
    start: Time,
    ppb: i64,
}

impl Drift {
    /// The most that a clock may gain or lose: one part in a hundred.
    const MOST: i64 = 10_000_000;

    /// A clock that gains so many parts in a thousand million from `start` on, or loses them.
    pub const fn new(start: Time, ppb: i64) -> Self {
        Self { start, ppb }
    }

    /// What keeps a drift from being used.
    pub fn check(ppb: i64, check: &mut Check<'_>) {
        check.need(ppb.abs() <= Self::MOST, "is from -1 % to 1 %, in parts in a thousand million");
    }

    /// What it shows at a time of the run.
    pub fn local(self, run: Time) -> Time {
        match self.ppb {
            0 => run,
            ppb => {
                let since = i128::from(run.since(self.start).as_nanos());
                self.at(run, since * (PPB + i128::from(ppb)) / PPB)
            }
        }
    }

    /// The time of the run from which on it shows `local` or more.
    pub fn run(self, local: Time) -> Time {
        match self.ppb {
            0 => local,
            ppb => {
                let since = i128::from(local.since(self.start).as_nanos());
                let speed = PPB + i128::from(ppb);
                self.at(local, (since * PPB + speed - 1) / speed)
            }
        }
    }

    /// So many nanoseconds after the start; what was before it stays.
    fn at(self, now: Time, since: i128) -> Time {
        match now > self.start {
            true => Time::from_nanos(self.start.as_nanos().saturating_add(since as u64)),
            false => now,
        }
    }
}

/// Seconds since 1900 with 32 bits behind the point (RFC 3550 section 4).
pub fn ntp(now: Time) -> u64 {
    let fixed = (u128::from(now.as_nanos()) << 32) / NS;
    (NTP_1970 << 32).wrapping_add(fixed as u64)
}

/// The middle half of an NTP time: what report blocks and RFC 8888 count in.
pub fn ntp_middle(now: Time) -> u32 {
    (ntp(now) >> 16) as u32
}

/// A span in units of 2^-16 s, at most what 32 bits hold.
pub fn to_middle(span: Span) -> u32 {
    u32::try_from((u128::from(span.as_nanos()) << 16) / NS).unwrap_or(u32::MAX)
}

/// A span of so many units of 2^-16 s.
pub fn from_middle(units: u32) -> Span {
    Span::from_nanos(((u128::from(units) * NS) >> 16) as u64)
}

/// Seconds modulo 64 in units of 2^-18 s: the header extension abs-send-time.
pub fn abs_send_time(now: Time) -> u32 {
    (((u128::from(now.as_nanos()) << 18) / NS) & 0xff_ffff) as u32
}

/// How long ago an abs-send-time was; below zero, in the second place, if it is taken to lie ahead.
pub fn since_abs_send_time(now: Time, sent: u32) -> i64 {
    // 24 bits with a sign.
    let units = (abs_send_time(now).wrapping_sub(sent) << 8) as i32 >> 8;
    i64::from(units) * 1_000_000_000 / (1 << 18)
}

/// Ticks of a media clock in a span.
pub fn ticks(span: Span, hz: u32) -> u64 {
    (u128::from(span.as_nanos()) * u128::from(hz) / NS) as u64
}

/// The span of so many ticks of a media clock.
pub fn of_ticks(ticks: u64, hz: u32) -> Span {
    Span::from_nanos((u128::from(ticks) * NS / u128::from(hz)) as u64)
}

/// The whole number whose lower `bits` are `part` that is nearest to `near`; not below zero.
pub fn unwrap(near: u64, part: u64, bits: u32) -> u64 {
    let size = 1_u64 << bits;
    let ahead = part.wrapping_sub(near) & (size - 1);
    match ahead < size / 2 {
        true => near + ahead,
        false => (near + ahead).checked_sub(size).unwrap_or(near + ahead),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stands_for_the_nearest_whole_number() {
        assert_eq!(unwrap(0, 0xffff, 16), 0xffff, "nothing is below zero");
        assert_eq!(unwrap(0x1_0002, 0xffff, 16), 0xffff);
        assert_eq!(unwrap(0xffff, 2, 16), 0x1_0002);
        assert_eq!(unwrap(0x5_8000, 0x8001, 16), 0x5_8001);
    }

    #[test]
    fn send_times_are_told_apart_by_half_of_their_range() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        for (sent, now) in [(0, 100), (63_990, 64_010), (10_000, 41_000)] {
            let delay = since_abs_send_time(at(now), abs_send_time(at(sent)));
            assert!((delay - ((now - sent) * 1_000_000) as i64).abs() < 8_000, "{delay}");
        }
        assert!(since_abs_send_time(at(10), abs_send_time(at(20))) < 0);
    }

    #[test]
    fn a_clock_that_gains_a_hundred_parts_in_a_million_is_ten_milliseconds_ahead_after_a_hundred_seconds() {
        let at = |s| Time::ZERO + Span::from_secs(s);
        let (fast, slow) = (Drift::new(at(1), 100_000), Drift::new(at(1), -100_000));
        assert_eq!(fast.local(at(101)), at(101) + Span::from_millis(10));
        assert_eq!(slow.local(at(101)) + Span::from_millis(10), at(101));
        assert_eq!((fast.local(at(1)), fast.run(at(1)), slow.local(Time::ZERO)), (at(1), at(1), Time::ZERO));
        for clock in [fast, slow, Drift::new(at(1), 9_999_999), Drift::new(Time::ZERO, -3)] {
            for ns in (0..50).map(|i| 1_000_000_000 + i * 7_777_777_777 + i) {
                let local = Time::from_nanos(ns);
                let run = clock.run(local);
                // A timer that is set for it does not fire too early, nor a nanosecond too late.
                assert!(clock.local(run) >= local, "{clock:?} {ns}");
                let before = Time::from_nanos(run.as_nanos() - 1);
                assert!(clock.local(before) < local, "{clock:?} {ns}");
            }
        }
    }

    #[test]
    fn ntp_counts_from_1900() {
        let half = Time::ZERO + Span::from_millis(1_500);
        assert_eq!(ntp(half), (2_208_988_801 << 32) + (1 << 31));
        assert_eq!(from_middle(to_middle(Span::from_millis(250))), Span::from_millis(250));
    }
}
