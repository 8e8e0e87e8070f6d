//! Path MTU discovery: RFC 1191, RFC 8201, and what RFC 5927 asks for of ICMP.

use crate::ladder::{Ladder, ack, data, ms, plain};

/// What a link of 1400 bytes leaves to TCP over IPv4.
const LARGEST: u32 = 1380;

#[test]
fn what_was_too_big_is_sent_again_in_smaller_segments_and_the_window_stays() {
    // RFC 1191 section 6.4: no congestion, so no smaller window.
    let mut t = Ladder::established(plain());
    t.write(2920).expect_data(1, 1460, 2);
    let before = t.tcp.metrics();
    assert!(t.too_big(LARGEST, 1));
    let after = t.tcp.metrics();
    assert_eq!((after.cwnd, after.ssthresh), (before.cwnd, before.ssthresh));
    t.expect(data(1, 1360)).expect(data(1361, 1360)).expect(data(2721, 200));
    t.at(ms(10)).recv(ack(2921)).write(1500).expect(data(2921, 1360));
}

#[test]
fn only_what_is_outstanding_is_believed() {
    // RFC 5927 section 7.
    let mut t = Ladder::established(plain());
    assert!(!t.too_big(LARGEST, 1), "nothing is outstanding");
    t.write(1460).expect(data(1, 1460));
    for seq in [0, 1461, 1 << 31] {
        assert!(!t.too_big(LARGEST, seq), "{seq} is not outstanding");
    }
    t.expect_nothing();
    assert!(t.too_big(LARGEST, 1460), "the last octet is");
}

#[test]
fn a_path_only_becomes_smaller() {
    let mut t = Ladder::established(plain());
    t.write(1460).expect(data(1, 1460));
    assert!(t.too_big(LARGEST, 1));
    t.expect(data(1, 1360)).expect(data(1361, 100));
    assert!(!t.too_big(LARGEST, 1), "it is told of every segment that was in flight");
    assert!(!t.too_big(LARGEST + 100, 1));
    t.expect_nothing();
}

#[test]
fn a_segment_carries_what_the_smallest_packet_leaves_it_at_least() {
    let mut t = Ladder::established(plain());
    t.write(56).expect(data(1, 56));
    assert!(t.too_big(0, 1));
    t.expect(data(1, 28)).expect(data(29, 28));
}
