//! Fast retransmit and recovery without SACK: RFC 5681 section 3.2, RFC 3042, RFC 6582.

use crate::ladder::{Ladder, ack, data, ms, plain};
use voxpath_tcp::{Config, Phase, Recovery};

const MSS: u32 = 1460;

/// The number of the `n`-th segment, from 0.
const fn s(n: u32) -> u32 {
    1 + n * MSS
}

/// Ten segments outstanding since time 0, more waiting; the time is 100 ms.
fn ten_out(recovery: Recovery) -> Ladder {
    sender(Config { recovery, limited_transmit: false, ..plain() })
}

fn sender(config: Config) -> Ladder {
    let mut t = Ladder::established(config);
    t.write(40 * MSS).expect_data(1, MSS, 10).expect_nothing();
    t.at(ms(100));
    t
}

fn duplicates(t: &mut Ladder, number: u32, count: u32) {
    for _ in 0..count {
        t.recv(ack(number));
    }
}

#[test]
fn two_duplicates_do_nothing_and_the_third_repeats() {
    // RFC 5681 section 3.2
    let mut t = ten_out(Recovery::NewReno);
    duplicates(&mut t, 1, 2);
    t.expect_nothing().phase(Phase::Open).recv(ack(1)).expect(data(1, MSS)).phase(Phase::Recovery);
    t.ssthresh(5 * 1460).cwnd(8 * 1460);
    assert_eq!(t.tcp.counters().fast_retransmits, 1);
}

#[test]
fn the_threshold_is_configured() {
    // RFC 5681 section 3.2 has three.
    let mut t = sender(Config { dupack_threshold: 5, limited_transmit: false, ..plain() });
    duplicates(&mut t, 1, 5);
    t.expect(data(1, MSS));
}

#[test]
fn data_and_window_changes_are_no_duplicates() {
    // RFC 5681 section 2, (b) and (e)
    let mut t = ten_out(Recovery::NewReno);
    for window in [65_000, 64_000, 63_000, 62_000, 61_000] {
        t.recv(ack(1).window(window));
    }
    for i in 0..6 {
        t.recv(data(1 + i * 10, 10).window(61_000));
    }
    t.skip().phase(Phase::Open);
    assert_eq!((t.tcp.counters().duplicate_acks, t.tcp.counters().retransmissions), (0, 0));
}

#[test]
fn with_nothing_outstanding_there_are_no_duplicates() {
    // RFC 5681 section 2, (a)
    let mut t = Ladder::established(plain());
    for _ in 0..5 {
        t.recv(ack(1));
    }
    t.write(MSS).expect(data(1, MSS)).expect_nothing();
    assert_eq!(t.tcp.counters().duplicate_acks, 0);
}

#[test]
fn an_older_acknowledgment_is_no_duplicate() {
    // RFC 5681 section 2, (d): "equal to the greatest acknowledgment received"
    let mut t = ten_out(Recovery::NewReno);
    t.recv(ack(s(3))).skip();
    for _ in 0..5 {
        t.recv(ack(s(1)));
    }
    t.expect_nothing().phase(Phase::Open);
}

#[test]
fn answers_to_probes_of_a_closed_window_are_no_duplicates() {
    // RFC 9293 section 3.8.6.1: they look like RFC 5681's duplicates, but nothing was lost.
    let mut t = Ladder::established(plain());
    t.write(MSS).expect(data(1, MSS)).write(5000).skip().at(ms(10)).recv(ack(6461).window(0));
    t.window = 0;
    t.write(5000).at(ms(1010)).expect(data(6461, 1));
    for _ in 0..5 {
        t.recv(ack(6461)).expect_nothing();
    }
    t.phase(Phase::Open);
    assert_eq!(t.tcp.counters().duplicate_acks, 0);
}

#[test]
fn each_further_duplicate_lets_a_segment_out() {
    // RFC 5681 section 3.2, steps 4 and 5
    let mut t = ten_out(Recovery::NewReno);
    duplicates(&mut t, 1, 3);
    t.expect(data(1, MSS)).recv(ack(1)).cwnd(9 * 1460).expect_nothing().recv(ack(1)).expect_nothing();
    t.recv(ack(1)).cwnd(11 * 1460).expect(data(s(10), MSS)).recv(ack(1)).expect(data(s(11), MSS));
}

#[test]
fn recovery_ends_with_the_window_at_ssthresh() {
    // RFC 5681 section 3.2, step 6
    let mut t = ten_out(Recovery::Reno);
    duplicates(&mut t, 1, 9);
    t.expect(data(1, MSS)).expect_data(s(10), MSS, 4).at(ms(200)).recv(ack(s(10)));
    t.cwnd(5 * 1460).phase(Phase::Open).expect(data(s(14), MSS)).expect_nothing();
}

#[test]
fn reno_leaves_recovery_on_the_first_of_two_losses_and_enters_it_again() {
    // RFC 5681 section 3.2: with two losses in a window, the second halving that NewReno was made to avoid.
    let mut t = ten_out(Recovery::Reno);
    duplicates(&mut t, 1, 8);
    t.expect(data(1, MSS)).expect_data(s(10), MSS, 3).at(ms(200)).recv(ack(s(4)));
    t.phase(Phase::Open).cwnd(5 * 1460).expect_nothing();
    duplicates(&mut t, s(4), 3);
    t.expect(data(s(4), MSS)).phase(Phase::Recovery).ssthresh(9 * 1460 / 2);
    assert_eq!(t.tcp.counters().fast_retransmits, 2);
}

#[test]
fn newreno_repairs_two_losses_in_one_recovery() {
    // RFC 6582 section 3.2, step 3: a partial acknowledgment shows the next hole.
    let mut t = ten_out(Recovery::NewReno);
    duplicates(&mut t, 1, 8);
    t.expect(data(1, MSS)).expect_data(s(10), MSS, 3).cwnd(13 * 1460);
    t.at(ms(200)).recv(ack(s(4))).expect(data(s(4), MSS)).phase(Phase::Recovery);
    // Deflated by four segments, inflated by one.
    t.cwnd(10 * 1460).expect(data(s(13), MSS)).expect_nothing();
    t.at(ms(300)).recv(ack(s(10))).phase(Phase::Open).cwnd(5 * 1460).ssthresh(5 * 1460);
    assert_eq!(t.tcp.counters().fast_retransmits, 1);
}

#[test]
fn a_small_partial_acknowledgment_gives_no_segment_back() {
    // RFC 6582 section 3.2, step 3: "if the partial ACK acknowledges at least one SMSS of new data"
    let mut t = ten_out(Recovery::NewReno);
    duplicates(&mut t, 1, 3);
    t.expect(data(1, MSS)).cwnd(8 * 1460).recv(ack(101)).cwnd(8 * 1460 - 100).expect(data(101, MSS));
}

#[test]
fn only_the_first_partial_acknowledgment_restarts_the_timer() {
    // RFC 6582 section 4, the "Impatient" variant
    let mut t = ten_out(Recovery::NewReno);
    duplicates(&mut t, 1, 3);
    t.expect(data(1, MSS)).at(ms(200)).recv(ack(s(1))).expect(data(s(1), MSS));
    assert_eq!(t.tcp.poll_timeout(), Some(ms(1200)));
    t.at(ms(300)).recv(ack(s(2))).expect(data(s(2), MSS));
    assert_eq!(t.tcp.poll_timeout(), Some(ms(1200)));
    t.at(ms(1200)).expect(data(s(2), MSS)).phase(Phase::Loss);
}

#[test]
fn newreno_does_not_fast_retransmit_below_recover() {
    // RFC 6582 section 3.2, steps 2 and 4: duplicates that a timeout's repetitions cause are no new loss.
    let mut t = ten_out(Recovery::NewReno);
    t.at(ms(1000)).expect(data(1, MSS)).ssthresh(5 * 1460);
    t.at(ms(1100)).recv(ack(s(3))).expect_data(s(3), MSS, 2);
    duplicates(&mut t, s(3), 5);
    t.expect_nothing().phase(Phase::Loss).recv(ack(s(10))).skip().phase(Phase::Open);
    duplicates(&mut t, s(10), 3);
    t.expect_nothing().phase(Phase::Open);
    t.recv(ack(s(11))).skip();
    duplicates(&mut t, s(11), 3);
    t.expect(data(s(11), MSS)).phase(Phase::Recovery);
}

#[test]
fn reno_may_fast_retransmit_while_it_repairs_a_timeout_and_ends() {
    // RFC 5681 has no such guard. What the timeout gave up goes on being repeated behind the fast retransmit.
    let mut t = ten_out(Recovery::Reno);
    t.at(ms(1000)).expect(data(1, MSS)).at(ms(1100)).recv(ack(s(3))).expect_data(s(3), MSS, 2);
    duplicates(&mut t, s(3), 3);
    t.expect(data(s(3), MSS)).phase(Phase::Recovery).cwnd((7 * 1460 / 2) + 3 * 1460);
    t.expect_data(s(5), MSS, 4).expect_nothing();
    t.at(ms(1200)).recv(ack(s(10))).phase(Phase::Open).skip();
    t.at(ms(1300)).recv(ack(s(13)));
}

#[test]
fn tahoe_starts_over_from_one_segment() {
    // Jacobson 1988: fast retransmit, then slow start
    let mut t = ten_out(Recovery::Tahoe);
    duplicates(&mut t, 1, 3);
    t.expect(data(1, MSS)).cwnd(1460).ssthresh(5 * 1460).phase(Phase::Loss);
    t.at(ms(200)).recv(ack(s(4))).cwnd(2920).expect_data(s(4), MSS, 2);
}

#[test]
fn tahoe_counts_a_flights_duplicates_once() {
    // 4.3BSD-Tahoe: t_dupacks passes the threshold once until new data is acknowledged.
    let mut t = ten_out(Recovery::Tahoe);
    duplicates(&mut t, 1, 3);
    t.expect(data(1, MSS));
    duplicates(&mut t, 1, 6);
    t.expect_nothing();
    assert_eq!(t.tcp.counters().fast_retransmits, 1);
}

#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    // RFC 3042; RFC 5681 section 3.2, step 2: FlightSize is without it.
    let mut t = sender(plain());
    t.recv(ack(1)).expect(data(s(10), MSS)).recv(ack(1)).expect(data(s(11), MSS)).cwnd(10 * 1460);
    t.recv(ack(1)).expect(data(1, MSS)).expect_nothing().ssthresh(5 * 1460).cwnd(8 * 1460);
}

#[test]
fn limited_transmit_respects_the_peers_window() {
    // RFC 3042 section 2, first condition
    let mut t = Ladder::established(plain());
    t.window = 10 * 1460;
    t.recv(ack(1)).write(40 * MSS).expect_data(1, MSS, 10);
    duplicates(&mut t, 1, 2);
    t.expect_nothing();
}

#[test]
fn data_that_the_window_had_room_for_is_not_limited_transmit() {
    // RFC 3042 speaks of data beyond cwnd; the rest is FlightSize.
    let mut t = Ladder::established(plain());
    t.write(4 * MSS).expect_data(1, MSS, 4).at(ms(100)).recv(ack(1));
    t.write(2 * MSS).expect_data(s(4), MSS, 2);
    duplicates(&mut t, 1, 2);
    t.expect(data(1, MSS)).ssthresh(3 * 1460);
}

#[test]
fn a_lost_repetition_needs_the_timer() {
    // RFC 5681 section 3.2; RFC 6298
    let mut t = ten_out(Recovery::NewReno);
    duplicates(&mut t, 1, 9);
    t.expect(data(1, MSS)).expect_data(s(10), MSS, 4).ssthresh(5 * 1460);
    duplicates(&mut t, 1, 4);
    t.skip().at(ms(1000)).expect(data(1, MSS)).phase(Phase::Loss).cwnd(1460);
}

#[test]
fn a_lost_tail_needs_the_timer() {
    // RFC 6298: no duplicates can come.
    let mut t = Ladder::established(plain());
    t.write(4 * MSS).expect_data(1, MSS, 4).at(ms(100)).recv(ack(s(3)));
    t.at(ms(1100)).expect(data(s(3), MSS)).at(ms(1200)).recv(ack(s(4))).idle();
}

#[test]
fn ssthresh_comes_from_the_flight_and_not_from_the_congestion_window() {
    // RFC 5681 section 3.1, equation (4)
    let mut t = Ladder::established(Config { initial_window: 40, limited_transmit: false, ..plain() });
    t.window = 8760;
    t.recv(ack(1)).write(40 * MSS).expect_data(1, MSS, 6).cwnd(40 * 1460);
    duplicates(&mut t, 1, 3);
    t.expect(data(1, MSS)).ssthresh(4380).cwnd(2 * 4380);
}

#[test]
fn ssthresh_is_two_segments_at_least() {
    // RFC 5681 section 3.1, equation (4)
    let mut t = Ladder::established(plain());
    t.write(MSS).expect(data(1, MSS)).at(ms(1000)).expect(data(1, MSS)).ssthresh(2920);
}
