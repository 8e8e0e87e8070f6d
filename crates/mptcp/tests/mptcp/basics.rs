//! What a connection over two paths is for.

use crate::network::{Path, at, mbps, two_paths};
use std::cell::RefCell;
use std::rc::Rc;
use voxpath_wire::tcp::TcpFlags;
use voxpath_wire::tcp::mptcp::{Join, MptcpOption};

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

#[test]
fn the_other_end_spares_a_first_subflow_whose_address_is_a_backup() {
    let mut world = two_paths([Path::new(10, 10), Path::new(20, 10)], 100, 5_000_000);
    world.setups[0].addresses[0].backup = true;
    world.start();
    world.run_until(at(100));
    world.check();
    let shares = world.shares(0);
    assert!(shares[0] < 500_000 && shares[1] > 4_500_000, "{shares:?}");
}

#[test]
fn who_answers_says_by_its_syn_that_its_address_is_a_backup() {
    let mut world = two_paths([Path::new(10, 10), Path::new(20, 10)], 5_000_000, 0);
    world.setups[1].addresses[0].backup = true;
    let asked = Rc::new(RefCell::new(Vec::new()));
    let seen = asked.clone();
    world.change = Box::new(move |end, header, _| {
        let join = header.options.mptcp().flatten().find_map(|option| match option {
            MptcpOption::Join(Join::SynAck { backup, .. }) => Some(backup),
            _ => None,
        });
        seen.borrow_mut().extend(join.filter(|_| end == 1));
        true
    });
    world.start();
    world.run_until(at(100));
    world.check();
    assert_eq!(*asked.borrow(), [true]);
}

#[test]
fn a_subflow_that_joins_is_acknowledged_before_any_data() {
    // The server, which has much to send, learns by the third segment that it may.
    let mut world = two_paths([Path::new(20, 10), Path::new(20, 10)], 0, 4_000_000);
    let lens = Rc::new(RefCell::new(Vec::new()));
    let (seen, mut first) = (lens.clone(), None);
    world.change = Box::new(move |end, header, payload| {
        let first = *first.get_or_insert(header.src_port);
        let is_joined = header.src_port != first && header.dst_port != first;
        if end == 1 && is_joined && !header.flags.contains(TcpFlags::SYN) {
            seen.borrow_mut().push(payload.len());
        }
        true
    });
    world.start();
    world.run_until(at(2));
    let lens = lens.borrow();
    assert_eq!(lens.first(), Some(&0));
    assert!(lens[1] > 0, "data follows");
}
