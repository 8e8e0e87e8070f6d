//! Recovery with selective acknowledgment: RFC 2018, RFC 6675.

use crate::ladder::{Ladder, Seg, ack, data, fin, ms, with_sack};
use voxpath_tcp::{Config, Phase};

const MSS: u32 = 1460;

/// The number of the `n`-th segment, from 0.
const fn s(n: u32) -> u32 {
    1 + n * MSS
}

/// An acknowledgment of everything before segment `n`, with these runs of segments SACKed.
fn sacked(n: u32, runs: &[(u32, u32)]) -> Seg {
    let blocks: Vec<_> = runs.iter().map(|&(from, to)| (s(from), s(to))).collect();
    ack(s(n)).sack(&blocks)
}

/// Ten segments outstanding since time 0, `waiting` more to be sent; the time is 100 ms.
fn sender(config: Config, waiting: u32) -> Ladder {
    let mut t = Ladder::established(config);
    t.write((10 + waiting) * MSS).expect_data(1, MSS, 10).expect_nothing();
    t.at(ms(100));
    t
}

fn ten_out(waiting: u32) -> Ladder {
    sender(Config { limited_transmit: false, ..with_sack() }, waiting)
}

#[test]
fn three_sacked_segments_above_are_a_loss() {
    // RFC 6675 section 4, IsLost(); section 5, steps (4.1) to (4.3)
    let mut t = ten_out(30);
    t.recv(sacked(0, &[(1, 2)])).recv(sacked(0, &[(1, 3)])).expect_nothing().phase(Phase::Open);
    t.recv(sacked(0, &[(1, 4)])).expect(data(1, MSS)).expect_nothing().phase(Phase::Recovery);
    t.ssthresh(5 * 1460).cwnd(5 * 1460);
}

#[test]
fn three_duplicates_are_a_loss_even_of_small_segments() {
    // RFC 6675 section 5, step (1)
    let mut t = Ladder::established(Config { limited_transmit: false, ..with_sack() });
    t.write(MSS).write(100).write(100).write(100).skip().at(ms(100));
    t.recv(ack(1).sack(&[(1461, 1561)])).recv(ack(1).sack(&[(1461, 1661)])).expect_nothing();
    t.recv(ack(1).sack(&[(1461, 1761)])).expect(data(1, MSS)).phase(Phase::Recovery);
}

#[test]
fn one_acknowledgment_may_say_enough() {
    // RFC 6675 section 5, step (2): IsLost(HighACK + 1), where the duplicates before were lost
    ten_out(30).recv(sacked(0, &[(1, 4)])).expect(data(1, MSS)).phase(Phase::Recovery);
    ten_out(30).recv(sacked(0, &[(1, 2), (3, 4), (5, 6)])).expect(data(1, MSS)).phase(Phase::Recovery);
}

#[test]
fn a_duplicate_without_new_blocks_is_none() {
    // RFC 6675 section 2: it must identify octets that were not SACKed before.
    let mut t = ten_out(30);
    t.recv(sacked(0, &[(1, 2)]));
    for _ in 0..5 {
        t.recv(sacked(0, &[(1, 2)])).recv(ack(1));
    }
    t.expect_nothing().phase(Phase::Open);
}

#[test]
fn blocks_count_whatever_else_the_segment_says() {
    // RFC 6675 section 2: "even if it carries new data, changes the advertised window, or moves the ... point"
    let mut t = ten_out(30);
    t.recv(sacked(0, &[(2, 3)]).window(60_000)).recv(data(1, 9).ack(1).sack(&[(s(2), s(4))]));
    t.recv(sacked(1, &[(2, 5)])).expect(data(s(1), MSS)).phase(Phase::Recovery);
}

#[test]
fn the_pipe_lets_out_as_much_as_arrives() {
    // RFC 6675 section 5, step (C)
    let mut t = ten_out(30);
    t.recv(sacked(0, &[(1, 4)])).expect(data(1, MSS));
    // Six not SACKed above, and one sent again: seven in the pipe, for a window of five.
    assert_eq!(t.tcp.metrics().pipe, 7 * 1460);
    t.recv(sacked(0, &[(1, 5)])).recv(sacked(0, &[(1, 6)])).expect_nothing();
    t.recv(sacked(0, &[(1, 7)])).expect(data(s(10), MSS)).recv(sacked(0, &[(1, 8)])).expect(data(s(11), MSS));
}

#[test]
fn two_losses_are_repaired_in_one_recovery_and_at_once() {
    // RFC 6675 section 4, NextSeg() rule (1)
    let mut t = ten_out(30);
    t.recv(sacked(0, &[(1, 2), (3, 7)])).expect(data(1, MSS)).expect(data(s(2), MSS)).expect_nothing();
    t.at(ms(200)).recv(sacked(2, &[(3, 10)])).expect_data(s(10), MSS, 4).phase(Phase::Recovery);
    t.at(ms(300))
        .recv(ack(s(10)))
        .phase(Phase::Open)
        .cwnd(5 * 1460)
        .expect(data(s(14), MSS))
        .expect_nothing();
    assert_eq!((t.tcp.counters().retransmissions, t.tcp.counters().fast_retransmits), (2, 1));
}

#[test]
fn what_is_lost_goes_before_what_is_new() {
    // RFC 6675 section 4, NextSeg() rules (1) and (2)
    let mut t = ten_out(30);
    t.recv(sacked(0, &[(1, 2), (3, 4), (5, 10)]));
    t.expect_data(1, MSS, 1).expect(data(s(2), MSS)).expect(data(s(4), MSS));
    t.expect_data(s(10), MSS, 2).expect_nothing();
}

#[test]
fn with_nothing_new_what_may_be_lost_is_repeated() {
    // RFC 6675 section 4, NextSeg() rule (3)
    let mut t = ten_out(0);
    t.recv(sacked(0, &[(1, 6), (7, 8)])).expect(data(1, MSS)).expect(data(s(6), MSS)).expect_nothing();
}

#[test]
fn a_rescue_repeats_the_last_segment_once_and_only_once() {
    // RFC 6675 section 4, NextSeg() rule (4)
    let mut t = ten_out(0);
    t.recv(sacked(0, &[(1, 7)])).expect(data(1, MSS)).expect(data(s(9), MSS)).expect_nothing();
    t.at(ms(200)).recv(sacked(7, &[])).expect_nothing().phase(Phase::Recovery);
}

#[test]
fn a_rescue_does_not_hide_later_losses() {
    // RFC 6675 section 5, step (C.2): HighRxt stays with rule (4).
    let mut t = ten_out(0);
    t.recv(sacked(0, &[(1, 5)])).expect(data(1, MSS)).expect_nothing();
    t.recv(sacked(0, &[(1, 6)])).expect_nothing().recv(sacked(0, &[(1, 7)])).expect(data(s(9), MSS));
    // 7 turns out to be missing, too.
    t.write(6 * MSS).recv(sacked(7, &[(8, 10)])).skip();
    t.at(ms(200)).recv(sacked(7, &[(8, 11)])).expect(data(s(7), MSS)).phase(Phase::Recovery);
}

#[test]
fn a_rescue_repeats_what_is_highest_of_what_was_not_sacked() {
    // RFC 6675 section 4, NextSeg() rule (4): "MUST include the highest outstanding unSACKed sequence number"
    let mut t = ten_out(0);
    t.recv(sacked(0, &[(1, 4)])).expect(data(1, MSS)).expect_nothing();
    t.recv(sacked(0, &[(1, 4), (5, 10)])).expect(data(s(4), MSS));
}

#[test]
fn what_may_be_lost_is_repeated_where_the_peers_window_stops_new_data() {
    // RFC 6675 section 4, NextSeg() rule (2): "and the receiver's advertised window allows"; but no rescue, rule (4)
    let mut t = Ladder::established(Config { limited_transmit: false, ..with_sack() });
    t.window = 10 * 1460;
    t.recv(ack(1)).write(40 * MSS).expect_data(1, MSS, 10).at(ms(100));
    t.recv(sacked(0, &[(1, 6), (7, 8)])).expect(data(1, MSS)).expect(data(s(6), MSS)).expect_nothing();
    t.recv(sacked(0, &[(1, 6), (7, 9)])).expect_nothing();
}

#[test]
fn a_hole_is_repeated_and_not_what_lies_behind_it() {
    // RFC 6675 section 5, step (4.3): the data that is missing.
    let mut t = Ladder::established(Config { limited_transmit: false, ..with_sack() });
    t.write(100).write(1000).write(1000).write(1000).write(1000).skip().at(ms(100));
    t.recv(ack(1).sack(&[(101, 4101)])).expect(data(1, 100));
}

#[test]
fn limited_transmit_is_what_the_pipe_has_room_for() {
    // RFC 6675 section 5, step (3); RFC 5681 section 3.2: FlightSize is without it.
    let mut t = sender(with_sack(), 30);
    t.recv(sacked(0, &[(1, 2)])).expect(data(s(10), MSS)).recv(sacked(0, &[(1, 3)])).expect(data(s(11), MSS));
    t.recv(sacked(0, &[(1, 4)])).expect(data(1, MSS)).ssthresh(5 * 1460).cwnd(5 * 1460).expect_nothing();
}

#[test]
fn a_lost_repetition_needs_the_timer() {
    // RFC 6675 section 5.1, RFC 6298: HighRxt is past it.
    let mut t = ten_out(0);
    t.recv(sacked(0, &[(1, 10)])).expect(data(1, MSS)).expect_nothing();
    t.at(ms(1000)).expect(data(1, MSS)).phase(Phase::Loss).cwnd(1460);
    t.at(ms(1100)).recv(ack(s(10))).idle().phase(Phase::Open);
}

#[test]
fn after_a_timeout_no_recovery_begins_before_the_recovery_point() {
    // RFC 6675 section 5.1
    let mut t = ten_out(30);
    t.recv(sacked(0, &[(1, 4)])).expect(data(1, MSS)).at(ms(1000)).expect(data(1, MSS)).phase(Phase::Loss);
    let before = t.tcp.counters().fast_retransmits;
    t.at(ms(1100)).recv(sacked(1, &[(2, 4)])).skip().recv(sacked(1, &[(2, 8)])).skip();
    t.phase(Phase::Loss).recv(ack(s(10))).phase(Phase::Open).skip();
    assert_eq!(t.tcp.counters().fast_retransmits, before);
}

#[test]
fn a_timeout_repeats_what_was_not_sacked() {
    // RFC 6675 section 5.1: SACK information "SHOULD" be used in the slow start that follows.
    let mut t = ten_out(0);
    t.recv(sacked(0, &[(5, 7)])).expect_nothing().at(ms(1000)).expect(data(1, MSS)).cwnd(1460);
    t.at(ms(1100)).recv(sacked(1, &[(5, 7)])).expect_data(s(1), MSS, 2);
    t.at(ms(1200))
        .recv(sacked(3, &[(5, 7)]))
        .expect_data(s(3), MSS, 2)
        .expect(data(s(7), MSS))
        .expect_nothing();
}

#[test]
fn a_receiver_that_reneges_gets_everything_again() {
    // RFC 2018 section 8
    let mut t = ten_out(0);
    t.recv(sacked(0, &[(1, 3)])).at(ms(500)).recv(ack(s(1))).expect_nothing();
    t.at(ms(1500)).expect(data(s(1), MSS)).recv(ack(s(2))).expect_data(s(2), MSS, 2);
}

#[test]
fn nonsense_blocks_are_ignored() {
    // RFC 2018 section 4, RFC 2883: outside of the flight, empty, reversed, below the left edge
    let mut t = ten_out(30);
    t.recv(sacked(2, &[])).skip();
    for (left, right) in [(50, 60), (0, 1), (5, 5), (7, 6), (0, 9), (2, 9)] {
        t.recv(sacked(2, &[(left, right)])).skip();
    }
    assert_eq!(t.tcp.counters().duplicate_acks, 0);
    t.phase(Phase::Open);
}

#[test]
fn a_lost_fin_is_repeated_by_recovery_too() {
    // RFC 9293 section 3.4: the FIN has its number.
    let mut t = ten_out(0);
    t.close().expect(fin(s(10)));
    t.recv(sacked(0, &[(1, 7)])).expect(data(1, MSS)).skip();
    t.at(ms(200)).recv(sacked(10, &[])).expect(fin(s(10)));
    t.at(ms(1200)).expect(fin(s(10))).recv(ack(s(10) + 1)).idle();
}
