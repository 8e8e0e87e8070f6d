//! Addresses that come and go, and when subflows are opened.

use crate::network::{Path, World, at, ip, ms, two_paths};
use std::net::SocketAddr;
use voxpath_mptcp::{Opens, When};
use voxpath_units::{Span, Time};

const CLIENT: [&str; 2] = ["10.0.0.1", "10.0.1.1"];

fn set_address(world: &mut World, client: usize, is_up: bool) {
    world.end(0).connection.set_address(ip(CLIENT[client]), is_up);
    world.run(0);
}

/// How many subflows of an end go on.
fn live(world: &mut World, i: usize) -> usize {
    let subflows = world.end(i).connection.subflows();
    subflows.iter().filter(|subflow| subflow.tcp().ended().is_none()).count()
}

#[test]
fn an_address_that_is_gone_is_told_and_joins_again_when_it_is_back() {
    let mut world = two_paths([Path::new(10, 10), Path::new(20, 10)], 20_000_000, 0);
    world.start();
    world.run_until(at(2));
    set_address(&mut world, 1, false);
    world.run_until(Time::ZERO + ms(2200));
    // REMOVE_ADDR ended it at the other end too.
    assert_eq!((live(&mut world, 0), live(&mut world, 1)), (1, 1));
    world.run_until(at(4));
    set_address(&mut world, 1, true);
    world.run_until(Time::ZERO + ms(4500));
    assert_eq!((live(&mut world, 0), live(&mut world, 1)), (2, 2));
    world.run_until(at(100));
    world.check();
    let shares = world.shares(1);
    assert_eq!(shares.len(), 3);
    assert!(shares.iter().all(|&octets| octets > 1_000_000), "{shares:?}");
}

#[test]
fn a_connection_goes_on_from_another_address_after_its_only_one_is_gone() {
    let mut world = two_paths([Path::new(10, 10), Path::new(20, 10)], 5_000_000, 5_000_000);
    world.setups[0].addresses[1].is_up = false;
    world.start();
    world.run_until(at(1));
    assert_eq!(live(&mut world, 0), 1);
    set_address(&mut world, 0, false);
    // Nothing happens until its end for want of subflows, a minute later.
    world.now = at(3);
    assert_eq!(live(&mut world, 0), 0, "break before make");
    set_address(&mut world, 1, true);
    world.run_until(Time::ZERO + ms(3200));
    // The other end learns by the new subflow what has become of the old one.
    assert_eq!((live(&mut world, 0), live(&mut world, 1)), (1, 1));
    world.run_until(at(100));
    world.check();
}

#[test]
fn an_address_that_blinks_is_not_taken_from_what_it_opens_next() {
    let mut world = two_paths([Path::new(10, 10), Path::new(20, 10)], 5_000_000, 0);
    world.setups[0].addresses.truncate(1);
    world.setups[1].config.paths.opens = Opens::Nothing;
    world.start();
    world.run_until(at(1));
    set_address(&mut world, 0, false);
    set_address(&mut world, 0, true);
    world.run_until(at(3));
    assert_eq!(live(&mut world, 0), 1);
    world.run_until(at(100));
    world.check();
}

#[test]
fn an_application_opens_lists_spares_and_closes_subflows() {
    let mut world = two_paths([Path::new(10, 10), Path::new(20, 10)], 20_000_000, 0);
    world.setups[0].config.paths.opens = Opens::Nothing;
    world.start();
    let server = SocketAddr::new(ip("10.9.0.1"), 5001);
    let asks = |world: &mut World, local| {
        let may = world.end(0).connection.ask_for_subflow(ip(local), server);
        world.run(0);
        may
    };
    assert!(!asks(&mut world, CLIENT[1]), "the handshake goes on");
    world.run_until(at(1));
    assert_eq!(world.end(0).connection.subflows().len(), 1);
    assert!(!asks(&mut world, "10.0.2.1") && !asks(&mut world, "2001:db8::1"), "no addresses of this end");
    assert!(asks(&mut world, CLIENT[1]));
    world.run_until(at(3));
    let carried = |world: &World| world.shares(1)[1];
    let after_opening = carried(&world);
    assert!(after_opening > 1_000_000, "{after_opening}");
    world.end(0).connection.set_backup(1, true);
    world.run(0);
    world.run_until(at(5));
    // What had been queued there.
    assert!(carried(&world) < after_opening + 500_000);
    world.end(0).connection.close_subflow(1);
    world.run(0);
    world.run_until(at(6));
    assert_eq!((live(&mut world, 0), live(&mut world, 1)), (1, 1));
    assert!(asks(&mut world, CLIENT[1]), "anew");
    world.run_until(at(100));
    world.check();
    assert_eq!(world.shares(1).len(), 3);
}

/// When the second subflow of a transfer stood, of one whose second path is there from the fourth second on.
fn joined(retry: Span) -> Option<usize> {
    let mut world = two_paths([Path::new(10, 10), Path { is_up: false, ..Path::new(10, 10) }], 20_000_000, 0);
    // A SYN is given up soon.
    world.setups[0].tcp.syn_retries = 1;
    world.setups[0].config.paths.retry = retry;
    world.start();
    world.run_until(at(4));
    world.paths.values_mut().for_each(|path| path.is_up = true);
    world.run_until(at(100));
    world.check();
    world.shares(1).iter().skip(1).position(|&octets| octets > 100_000)
}

#[test]
fn what_failed_to_join_is_tried_again() {
    assert!(joined(Span::from_secs(1)).is_some());
    assert_eq!(joined(Span::ZERO), None);
}

#[test]
fn a_subflow_joins_late_when_the_others_fail() {
    let mut world = two_paths([Path::new(10, 10), Path::new(20, 10)], 5_000_000, 0);
    world.setups[0].config.paths.joins = When::OnFailure;
    world.start();
    world.run_until(at(2));
    assert_eq!(world.end(0).connection.subflows().len(), 1);
    world.paths.get_mut(&(ip(CLIENT[0]), ip("10.9.0.1"))).expect("the first path").is_up = false;
    world.run_until(at(4));
    assert_eq!(world.end(0).connection.subflows().len(), 2);
    world.run_until(at(200));
    assert_eq!(world.end(1).app.read, 5_000_000);
}

#[test]
fn a_subflow_joins_when_the_oracle_doubts_the_others_before_they_fail() {
    // Every third packet is lost: nothing fails, and much is retransmitted.
    for (loss, subflows) in [(3, 2), (0, 1)] {
        let mut world = two_paths([Path { loss, ..Path::new(10, 10) }, Path::new(20, 10)], 5_000_000, 0);
        world.setups[0].config.paths.joins = When::OnDoubt;
        world.start();
        world.run_until(at(20));
        assert_eq!(world.end(0).connection.subflows().len(), subflows, "one of {loss} is lost");
        world.run_until(at(300));
        world.check();
    }
}

#[test]
fn a_subflow_joins_late_when_throughput_is_low() {
    for (mbps, subflows) in [(1, 2), (10, 1)] {
        for (up, down) in [(400_000 * mbps, 0), (0, 400_000 * mbps)] {
            let mut world = two_paths([Path::new(10, mbps), Path::new(20, 10)], up, down);
            world.setups[0].config.paths.joins = When::OnLowThroughput;
            world.setups[0].config.paths.low_throughput_bps = 2_000_000;
            world.start();
            world.run_until(Time::ZERO + ms(500));
            assert_eq!(world.end(0).connection.subflows().len(), 1);
            world.run_until(at(2));
            assert_eq!(world.end(0).connection.subflows().len(), subflows, "{mbps} Mbit/s, {up} up");
        }
    }
}
