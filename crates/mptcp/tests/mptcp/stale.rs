//! A path of two that goes away, by the scheduler of Linux: who carries what the subflow there had.

use crate::network::{Path, World, at, ip, ms, two_paths};
use voxpath_units::{Span, Time};

/// The largest piece that is retransmitted at once (`SKB_FRAG_PAGE_ORDER`).
const PIECE: u64 = 32_768;

/// A client that sends by two paths, of which the first goes away after a second.
fn outage() -> World {
    let mut world = two_paths([Path::new(20, 10), Path::new(20, 10)], 12_000_000, 0);
    world.be_linux();
    world.start();
    world.run_until(at(1));
    set_first(&mut world, false);
    world
}

fn set_first(world: &mut World, is_up: bool) {
    world.paths.get_mut(&(ip("10.0.0.1"), ip("10.9.0.1"))).expect("the first path").is_up = is_up;
}

fn timeouts(world: &mut World) -> [u32; 2] {
    let connection = &world.end(0).connection;
    [connection.subflows()[0].tcp().counters().timeouts, connection.counters().timeouts]
}

#[test]
fn a_timeout_of_a_subflow_moves_none_of_its_data() {
    let mut world = outage();
    let before = world.end(0).connection.counters().octets_reinjected;
    let mut expiries = 0;
    while expiries < 4 {
        assert!(world.step(), "the timer of the data level runs");
        expiries = timeouts(&mut world)[1];
        let moved = world.end(0).connection.counters().octets_reinjected - before;
        assert!(moved <= PIECE * u64::from(expiries), "{moved} octets at {:?}", world.now);
    }
    assert!(timeouts(&mut world)[0] >= 1, "the subflow's own timer has expired");
}

#[test]
fn data_of_a_stale_subflow_goes_by_the_other_and_the_subflow_comes_back() {
    let mut world = outage();
    world.run_until(at(4));
    let moved = world.end(0).connection.counters().octets_reinjected;
    assert!(moved > 5 * PIECE, "{moved} octets");
    let before = world.shares(1);
    world.run_until(Time::ZERO + ms(4200));
    let alone = world.shares(1);
    assert_eq!(alone[0], before[0]);
    assert!(alone[1] > before[1], "the other one goes on");
    set_first(&mut world, true);
    world.run_until(at(60));
    world.check();
    assert!(world.shares(1)[0] > alone[0] + 100_000, "{:?}, and {alone:?} before", world.shares(1));
}

#[test]
fn the_only_subflow_is_never_stale() {
    let mut world = two_paths([Path::new(20, 10), Path::new(20, 10)], 6_000_000, 0);
    world.be_linux();
    world.setups[0].addresses.truncate(1);
    world.start();
    world.run_until(at(1));
    set_first(&mut world, false);
    world.run_until(at(10));
    assert!(timeouts(&mut world)[1] > 5);
    assert_eq!(world.end(0).connection.counters().octets_reinjected, 0);
    set_first(&mut world, true);
    world.run_until(Time::ZERO + Span::from_secs(60));
    world.check();
}
