//! Receivers that lie, feedback that stops, routes that change, clocks that drift, packets lost, reordered, twice: rates stay within
//! their bounds, nothing stalls, nothing panics, every signal is a number (the call asserts it).

use crate::call::{Seen, Setting, run};
use crate::{CONTROLS, control, network};
use proptest::prelude::*;
use voxpath_net::element::Draw;
use voxpath_net::{Seed, Stream};
use voxpath_rtc::rate::{Bounds, Packets, RateSettings};
use voxpath_units::check::Check;
use voxpath_units::{Span, Time};

fn bounds_hold(seen: &Seen, bounds: Bounds, what: &str) {
    let within = bounds.min_bps <= seen.lowest_bps && seen.highest_bps <= bounds.max_bps;
    assert!(within, "{what}: {} to {}", seen.lowest_bps, seen.highest_bps);
}

/// Each control, on a path of 2 Mbit/s of which something is changed.
fn each(change: impl Fn(&mut Setting), expect: impl Fn(&str, &Seen)) {
    for json in CONTROLS {
        let mut setting = Setting::of(&[(0, 2_000_000)], 90);
        change(&mut setting);
        let seen = run(&control(json), &setting);
        bounds_hold(&seen, setting.bounds, json);
        expect(json, &seen);
    }
}

#[test]
fn feedback_that_stops_for_ten_seconds() {
    each(
        |setting| setting.silent = 30..40,
        |json, seen| {
            let (before, after) = (seen.received_kbps(20..30), seen.received_kbps(80..90));
            println!("{json}: {before:.0}, {:.0}, {after:.0}", seen.received_kbps(32..40));
            assert!(after > 0.5 * before, "{json}: {before} before, {after} after");
        },
    );
}

#[test]
fn thirty_percent_loss() {
    each(
        |setting| setting.path.loss = network::steps(&[(0, 0.0), (20, 0.3), (60, 0.0)]),
        |json, seen| {
            let (during, after) = (seen.received_kbps(30..60), seen.received_kbps(80..90));
            println!("{json}: {during:.0}, {after:.0}");
            assert!(during > 20.0, "{json}: {during} during");
            assert!(after > 1.5 * during, "{json}: {during} during, {after} after");
        },
    );
}

#[test]
fn a_route_change() {
    for known in [None, Some(40)] {
        each(
            |setting| {
                setting.route_change = known;
                setting.path.delay =
                    network::steps(&[(0, Span::from_millis(20)), (40, Span::from_millis(150))]);
                setting.path.capacity = network::steps(&[(0, 2_000_000), (40, 800_000)]);
            },
            |json, seen| {
                let after = seen.received_kbps(70..90);
                println!("{json} {known:?}: {after:.0}");
                // A delay-based control that is not told takes the longer way for a queue.
                let least = if known.is_some() { 400.0 } else { 40.0 };
                assert!((least..820.0).contains(&after), "{json} {known:?}: {after}");
            },
        );
    }
}

#[test]
fn clocks_a_hundred_parts_in_a_million_apart() {
    for ppm in [-100, 100] {
        each(
            |setting| setting.skew_ppm = ppm,
            |json, seen| {
                let received = seen.received_kbps(60..90);
                println!("{json} {ppm}: {received:.0}");
                assert!(received > 1000.0, "{json} {ppm}: {received}");
            },
        );
    }
}

#[test]
fn reordering_and_duplication() {
    each(
        |setting| (setting.path.reorder, setting.path.duplicate) = (0.02, 0.05),
        |json, seen| {
            let received = seen.received_kbps(60..90);
            println!("{json}: {received:.0}");
            assert!(received > 150.0, "{json}: {received}");
        },
    );
}

/// Settings of any control.
struct Dice(Stream);

impl Draw for Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }

    fn prob(&mut self) -> f64 {
        self.0.unit()
    }

    fn span(&mut self) -> u64 {
        self.below(10_000_000_000)
    }

    fn rate(&mut self) -> u64 {
        self.below(100_000_000)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_rates_stay_within_their_bounds(
        seed in 0_u64..1 << 48,
        kind in 0..RateSettings::KINDS.len(),
        rates in (10_000_u64..500_000, 0_u64..2_000_000, 0_u64..20_000_000),
        capacity in prop::collection::vec((1_u64..8, 20_000_u64..10_000_000), 1..4),
        loss in 0.0..0.9_f64,
        jitter_ms in 0_u64..200,
        reorder in 0.0..0.3_f64,
        duplicate in 0.0..0.3_f64,
        skew_ppm in -1000_i64..1000,
        silent in (0_u64..10, 0_u64..12),
        liar: bool,
        route_change in prop::option::of(1_u64..15),
        source_most_bps in prop::option::of(1000_u64..1_000_000),
        queue_ms in 0_u64..2000,
    ) {
        let settings = RateSettings::sample(kind, &mut Dice(Seed::new(seed, 1).stream("settings")));
        prop_assert!(Check::found(|check| settings.check(check)).is_empty(), "{settings:?}");
        let json = serde_json::to_string(&settings).expect("settings");
        prop_assert_eq!(&serde_json::from_str::<RateSettings>(&json).expect("settings"), &settings);
        let (min_bps, start_above, max_above) = rates;
        let bounds = Bounds { min_bps, start_bps: min_bps + start_above, max_bps: min_bps + start_above + max_above };
        let mut setting = Setting { bounds, seed, skew_ppm, liar, route_change, ..Setting::of(&[(0, 1)], 15) };
        setting.silent = silent.0..silent.0 + silent.1;
        setting.source_most_bps = source_most_bps.unwrap_or(u64::MAX);
        let mut from = 0;
        setting.path.capacity.clear();
        for (seconds, bps) in capacity {
            setting.path.capacity.push((Span::from_secs(from), bps));
            from += seconds;
        }
        setting.path.loss = network::steps(&[(0, 0.0), (3, loss)]);
        setting.path.jitter = Span::from_millis(jitter_ms);
        (setting.path.reorder, setting.path.duplicate) = (reorder, duplicate);
        setting.path.queue = Span::from_millis(queue_ms);
        let seen = run(&settings, &setting);
        bounds_hold(&seen, bounds, &format!("{settings:?}"));
        // It goes on sending to the end.
        let sent: u64 = seen.samples.iter().rev().take(20).map(|sample| sample.sent).sum();
        prop_assert!(sent > 0, "{settings:?} stalls");
    }

    #[test]
    fn whatever_an_encoder_makes_it_gets_no_more_than_its_packets_may_have(
        seed in 0_u64..1 << 48,
        kind in 0..RateSettings::KINDS.len(),
        (most, header, again, below) in (100_u32..1500, 12_u32..90, 0_u32..3, 0_u32..60),
        interval_ms in 4_u64..500,
        frames in prop::collection::vec((0_u64..5000, 0_u32..2_000_000, 0_f64..1e8), 1..200),
    ) {
        let settings = RateSettings::sample(kind, &mut Dice(Seed::new(seed, 1).stream("settings")));
        let mut encoding = settings.encoding();
        let interval = Span::from_millis(interval_ms);
        let packets = Packets { most, header, descriptor: 4, again, below, interval };
        let mut now = Time::ZERO;
        for (wait_ms, bytes, packet_bps) in frames {
            now += Span::from_millis(wait_ms);
            let bps = encoding.rate(now, &packets, packet_bps);
            prop_assert!(bps <= packet_bps, "{settings:?}: {bps} of {packet_bps}");
            encoding.on_frame(now, bytes, 4 * bytes.div_ceil(most));
        }
    }
}
