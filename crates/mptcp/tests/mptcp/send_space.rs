//! How the send buffer grows by the scheduler of Linux.

use crate::fallback::strip;
use crate::network::{Path, ms, two_paths};
use voxpath_units::Time;

/// What a segment of Ethernet's size is charged, and for how many windows there is memory (tcp_sndbuf_expand()).
const SEGMENT: u64 = 2304;
const WINDOWS: u64 = 2;
/// There is memory for a window of so many segments at least.
const LEAST_WINDOW: u64 = 10;
/// What is written at once into a buffer takes no more.
const WHOLE_BUFFER: u64 = 64 << 10;

#[test]
fn the_send_buffer_follows_a_window_that_is_always_filled() {
    let mut world = two_paths([Path::new(10, 10), Path::new(10, 10)], 20_000_000, 0);
    world.be_linux();
    world.setups[0].addresses.truncate(1);
    world.start();
    // Past slow start, and before the queue overflows.
    world.run_until(Time::ZERO + ms(300));
    let mut seen = world.end(0).app.written;
    let (mut writes, mut first_window) = (0, 0);
    while world.now < Time::ZERO + ms(1500) {
        assert!(world.step(), "it goes on");
        let end = world.end(0);
        if end.app.written == seen {
            continue;
        }
        (seen, writes) = (end.app.written, writes + 1);
        let held = end.app.written - end.connection.octets_acknowledged();
        let tcp = end.connection.subflows()[0].tcp();
        let window = tcp.metrics().cwnd / tcp.segment_size();
        first_window = if first_window == 0 { window } else { first_window };
        assert!(tcp.unsent() > 0, "the window is filled");
        // One that has just grown by a segment may not have been looked at yet.
        let memory = WINDOWS * (window - 1) * SEGMENT;
        assert!(held >= memory, "{held} octets held, and memory for {window} segments");
    }
    let tcp = world.end(0).connection.subflows()[0].tcp();
    let window = tcp.metrics().cwnd / tcp.segment_size();
    assert!(
        writes > 5 && window > 2 * first_window,
        "{writes} writes, windows from {first_window} to {window}"
    );
}

#[test]
fn a_connection_that_became_tcp_holds_no_more_than_its_window_asks_for() {
    let mut world = two_paths([Path::new(10, 10), Path::new(10, 10)], 20_000_000, 0);
    world.change = Box::new(|_, header, _| {
        strip(header);
        true
    });
    world.start();
    let mut most = 0;
    while world.now < Time::ZERO + ms(1500) {
        assert!(world.step(), "it goes on");
        let end = world.end(0);
        if !end.connection.is_connected() {
            continue;
        }
        assert!(end.connection.is_fallback());
        let held = end.app.written - end.connection.octets_acknowledged();
        let tcp = end.connection.subflows()[0].tcp();
        most = most.max(LEAST_WINDOW.max(tcp.metrics().cwnd / tcp.segment_size()));
        // The last buffer is filled up, whatever that takes.
        let memory = WINDOWS * (most + 1) * SEGMENT + WHOLE_BUFFER;
        assert!(held <= memory, "{held} octets held, and memory for {most} segments");
    }
    assert!(world.end(0).app.written > 1_000_000, "{}", world.end(0).app.written);
}
