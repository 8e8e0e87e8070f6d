//! What a connection over two paths is for.

use crate::network::{Path, at, mbps, two_paths};

#[test]
fn two_subflows_carry_more_than_one() {
    let mut world = two_paths([Path::new(10, 10), Path::new(10, 10)], 10_000_000, 0);
    world.start();
    world.run_until(at(100));
    world.check();
    let took = world.end(1).app.finished.expect("it is over");
    let rate = mbps(10_000_000, took);
    assert!((17.0..20.0).contains(&rate), "{rate} Mbit/s by {:?}", world.shares(1));
    assert_eq!(world.end(0).connection.subflows().len(), 2);
}

#[test]
fn both_ends_write_and_close() {
    let mut world = two_paths([Path::new(10, 10), Path::new(50, 2)], 300_000, 500_000);
    world.start();
    world.run_until(at(100));
    world.check();
}
