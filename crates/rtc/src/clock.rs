//! The clocks of RTP and RTCP, and numbers that wrap.

use voxpath_units::{Span, Time};

/// Seconds from 1900 to 1970: a run begins in 1970, as its captures do.
const NTP_1970: u64 = 2_208_988_800;
const NS: u128 = 1_000_000_000;

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
    fn ntp_counts_from_1900() {
        let half = Time::ZERO + Span::from_millis(1_500);
        assert_eq!(ntp(half), (2_208_988_801 << 32) + (1 << 31));
        assert_eq!(from_middle(to_middle(Span::from_millis(250))), Span::from_millis(250));
    }
}
