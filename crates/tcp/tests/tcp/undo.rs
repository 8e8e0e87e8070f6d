//! Needless repetitions: how they are reported (RFC 2883), and what is taken back (RFC 3522, 3708, 5682).

use crate::ladder::{Ladder, Seg, ack, data, ms, plain, syn, syn_ack, with_sack};
use voxpath_tcp::{Config, Phase, Recovery};

const MSS: u32 = 1460;

const fn s(n: u32) -> u32 {
    1 + n * MSS
}

fn sacked(n: u32, runs: &[(u32, u32)]) -> Seg {
    let blocks: Vec<_> = runs.iter().map(|&(from, to)| (s(from), s(to))).collect();
    ack(s(n)).sack(&blocks)
}

fn reporting() -> Ladder {
    Ladder::established(Config { dsack: true, ..with_sack() })
}

#[test]
fn a_segment_that_came_before_is_reported_once() {
    // RFC 2883 section 4.1
    let mut t = reporting();
    t.recv(data(1, 500)).recv(data(1, 500)).expect(ack(501).sack(&[(1, 501)]));
    t.recv(data(1001, 500)).expect(ack(501).sack(&[(1001, 1501)]));
}

#[test]
fn a_duplicate_beyond_the_gap_is_reported_before_the_block_that_holds_it() {
    // RFC 2883 section 4.2
    let mut t = reporting();
    t.recv(data(501, 500)).recv(data(1001, 500)).skip();
    t.recv(data(1001, 500)).expect(ack(1).sack(&[(1001, 1501), (501, 1501)]));
}

#[test]
fn the_part_that_came_before_is_reported() {
    // RFC 2883 section 4.3
    let mut t = reporting();
    t.recv(data(1, 500)).recv(data(301, 700)).skip();
    t.recv(data(2001, 500))
        .skip()
        .recv(data(1801, 500))
        .expect(ack(1001).sack(&[(2001, 2301), (1801, 2501)]));
}

#[test]
fn a_report_of_a_duplicate_is_no_selective_acknowledgment() {
    // RFC 2883 section 4
    let mut t = Ladder::established(with_sack());
    t.write(4 * MSS).expect_data(1, MSS, 4).recv(ack(s(2)));
    for _ in 0..4 {
        t.recv(ack(s(2)).sack(&[(s(0), s(1))]));
    }
    t.expect_nothing().phase(Phase::Open);
}

/// Ten segments out since time 0, 30 more waiting; the time is 100 ms.
fn sender(config: Config) -> Ladder {
    let mut t = Ladder::established(config);
    t.write(40 * t.tcp.metrics().cwnd as u32 / 10).skip().at(ms(100));
    t
}

#[test]
fn repetitions_that_were_all_duplicates_are_taken_back() {
    // RFC 3708, as Linux responds (tcp_try_undo_dsack())
    let mut t = sender(Config { undo: true, prr: true, ..with_sack() });
    t.recv(sacked(0, &[(1, 4)])).expect(data(1, MSS)).ssthresh(5 * 1460).phase(Phase::Recovery).skip();
    t.at(ms(110)).recv(ack(s(4))).skip().phase(Phase::Recovery);
    t.at(ms(200)).recv(ack(s(4)).sack(&[(s(0), s(1))])).phase(Phase::Open).skip();
    assert_eq!(t.tcp.counters().undone, 1);
    assert!(t.tcp.metrics().cwnd >= 10 * 1460 && t.tcp.metrics().ssthresh.is_none_or(|at| at >= 7 * 1460));
}

#[test]
fn a_duplicate_for_only_one_of_two_repetitions_takes_nothing_back() {
    let mut t = sender(Config { undo: true, ..with_sack() });
    t.recv(sacked(0, &[(1, 2), (3, 7)])).expect(data(1, MSS)).expect(data(s(2), MSS)).skip();
    t.at(ms(200)).recv(sacked(2, &[(0, 1), (3, 7)])).skip().phase(Phase::Recovery);
    assert_eq!(t.tcp.counters().undone, 0);
}

#[test]
fn the_echo_of_an_older_timestamp_tells_the_original() {
    // RFC 3522: the acknowledgment answers what was sent before the repetition.
    let config = Config { undo: true, timestamps: true, recovery: Recovery::NewReno, ..plain() };
    let mut t = sender(config);
    let before = t.tcp.metrics().cwnd;
    for _ in 0..3 {
        t.recv(ack(1).stamps((101, 1)));
    }
    t.phase(Phase::Recovery).skip();
    t.at(ms(150)).recv(ack(1 + 10 * 1448).stamps((151, 1))).phase(Phase::Open).skip();
    assert_eq!(t.tcp.counters().undone, 1);
    assert!(t.tcp.metrics().cwnd >= before);
}

#[test]
fn the_echo_of_the_repetition_takes_nothing_back() {
    let config = Config { undo: true, timestamps: true, recovery: Recovery::NewReno, ..plain() };
    let mut t = sender(config);
    for _ in 0..3 {
        t.recv(ack(1).stamps((101, 1)));
    }
    t.skip().at(ms(150)).recv(ack(1 + 10 * 1448).stamps((151, 101))).skip();
    assert_eq!(t.tcp.counters().undone, 0);
}

#[test]
fn the_answer_to_what_an_earlier_recovery_sent_again_takes_nothing_back() {
    // tcp_init_undo(), and `retrans_stamp`, which stays as long as a repetition is outstanding.
    let config = Config { undo: true, timestamps: true, rack: true, ..with_sack() };
    let at = |n: u32| 1 + n * 1448;
    let answer = |n, runs: &[(u32, u32)], echo| {
        let blocks: Vec<_> = runs.iter().map(|&(from, to)| (at(from), at(to))).collect();
        ack(at(n)).sack(&blocks).stamps((500, echo))
    };
    let mut t = sender(config);
    t.recv(answer(0, &[(1, 9)], 1)).phase(Phase::Recovery).expect(data(1, 1448)).skip();
    // The repetition is lost, and so is the eleventh; what is sent again for that outlasts the recovery.
    t.at(ms(200)).recv(answer(0, &[(1, 10), (11, 13)], 101));
    t.expect(data(1, 1448)).expect(data(at(10), 1448)).skip();
    t.at(ms(300)).recv(answer(10, &[(11, 13)], 201)).phase(Phase::Open).skip();
    t.at(ms(400)).recv(answer(10, &[(11, 13), (14, 17)], 201)).phase(Phase::Recovery);
    t.expect(data(at(10), 1448)).expect(data(at(13), 1448)).skip();
    t.at(ms(401)).recv(answer(13, &[(14, 17)], 201)).phase(Phase::Recovery);
    assert_eq!(t.tcp.counters().undone, 0);
}

#[test]
fn what_is_lost_above_a_recovery_begins_the_next_one_at_once() {
    // tcp_fastretrans_alert()
    let mut t = sender(Config { rack: true, prr: true, ..with_sack() });
    t.recv(sacked(0, &[(1, 9)])).phase(Phase::Recovery).expect(data(1, MSS)).skip();
    let out = t.tcp.metrics().flight as u32 / MSS;
    assert!(out >= 13, "{out} segments");
    // One acknowledgment ends the recovery and tells that the eleventh is lost.
    t.at(ms(200)).recv(sacked(10, &[(11, 13)])).phase(Phase::Recovery).expect(data(s(10), MSS));
    assert_eq!(t.tcp.counters().fast_retransmits, 2);
}

/// A timeout of ten segments; the time is 1000 ms, the first of them has been sent again.
fn timed_out(config: Config) -> Ladder {
    let mut t = Ladder::established(config);
    t.write(40 * MSS).expect_data(1, MSS, 10).at(ms(1000)).expect(data(1, MSS)).phase(Phase::Loss);
    t
}

#[test]
fn a_spurious_timeout_is_undone_and_nothing_else_is_repeated() {
    // RFC 5682 section 2.1: the acknowledgments of the originals were late.
    for sack in [false, true] {
        let mut t = timed_out(Config { frto: true, undo: true, sack, ..plain() });
        t.at(ms(1010)).recv(ack(s(1)));
        // Step 2b: new data in place of repetitions.
        t.expect_data(s(10), MSS, 2).expect_nothing();
        // Step 3b
        t.recv(ack(s(2))).phase(Phase::Open).skip();
        assert_eq!((t.tcp.counters().undone, t.tcp.counters().retransmissions), (1, 1), "SACK {sack}");
        assert!(t.tcp.metrics().cwnd >= 10 * 1460);
        t.at(ms(1011)).recv(ack(s(10))).skip();
        assert_eq!(t.tcp.counters().retransmissions, 1);
    }
}

#[test]
fn what_is_acknowledged_together_with_the_repetition_proves_nothing_without_sack() {
    // Linux' tcp_clean_rtx_queue(): the others may have waited behind the hole.
    let mut t = timed_out(Config { frto: true, undo: true, ..plain() });
    t.at(ms(1100)).recv(ack(s(5))).phase(Phase::Loss).skip();
    assert_eq!(t.tcp.counters().undone, 0);
}

#[test]
fn without_frto_a_spurious_timeout_repeats_on() {
    let mut t = timed_out(plain());
    t.at(ms(1010)).recv(ack(s(1))).expect_data(s(1), MSS, 2).recv(ack(s(2))).expect_data(s(3), MSS, 2);
}

#[test]
fn after_a_real_timeout_a_duplicate_resumes_the_repetitions() {
    // RFC 5682 section 2.1, step 3a
    let mut t = timed_out(Config { frto: true, undo: true, ..plain() });
    t.at(ms(1100)).recv(ack(s(1))).expect_data(s(10), MSS, 2);
    t.at(ms(1200)).recv(ack(s(1))).phase(Phase::Loss).skip();
    t.at(ms(1201)).recv(ack(s(2))).skip().phase(Phase::Loss);
    assert_eq!(t.tcp.counters().undone, 0);
    assert!(t.tcp.counters().retransmissions >= 2);
}

#[test]
fn a_selective_acknowledgment_of_an_original_shows_a_spurious_timeout() {
    // RFC 5682 section 3.1, step 3b
    let mut t = timed_out(Config { frto: true, undo: true, ..with_sack() });
    t.at(ms(1010)).recv(sacked(0, &[(3, 4)])).phase(Phase::Open).skip();
    assert_eq!(t.tcp.counters().undone, 1);
}

#[test]
fn without_sack_more_duplicates_than_a_loss_explains_raise_the_threshold() {
    // Linux' tcp_check_reno_reordering(): ten duplicates of ten outstanding segments
    let mut t =
        Ladder::established(Config { recovery: Recovery::Linux, max_reordering: 300, prr: true, ..plain() });
    t.write(4 * MSS).expect_data(1, MSS, 4).at(ms(100));
    for _ in 0..5 {
        t.recv(ack(1));
    }
    t.expect(data(1, MSS)).skip().recv(ack(s(4))).skip();
    t.at(ms(200)).write(10 * MSS).skip().recv(ack(s(5))).skip();
    for _ in 0..3 {
        t.recv(ack(s(5)));
    }
    t.skip().phase(Phase::Open);
    t.recv(ack(s(5))).phase(Phase::Recovery);
}

/// A connection with a round trip of 100 ms.
fn slow(config: Config, stamps: bool) -> Ladder {
    let offer = syn().mss(config.mss).scale(None).sack_permitted(true).stamps(stamps.then_some((1, 0)));
    let mut t = Ladder::server(config, offer);
    t.expect(syn_ack()).at(ms(100)).recv(ack(1));
    t
}

#[test]
fn what_is_lost_when_duplicates_take_a_reduction_back_begins_a_recovery() {
    // tcp_fastretrans_alert(): tcp_identify_packet_loss() comes after the undoing, tcp_enter_recovery() after that.
    let linux = Config { undo: true, prr: true, rack: true, whole_segments: true, ..with_sack() };
    let mut t = slow(Config { ssthresh_from_cwnd: true, ..linux }, false);
    t.write(40 * MSS).skip().at(ms(200)).recv(sacked(0, &[(1, 4)])).skip().phase(Phase::Recovery);
    t.at(ms(210)).recv(ack(s(4))).skip().phase(Phase::Recovery);
    // The repetition was needless, but what is sent before it is lost.
    t.at(ms(300)).recv(ack(s(4)).sack(&[(s(0), s(1)), (s(6), s(9))])).skip().phase(Phase::Recovery);
    assert_eq!((t.tcp.counters().undone, t.tcp.counters().fast_retransmits), (1, 2));
    assert_eq!(t.tcp.metrics().ssthresh, Some(u64::from(5 * MSS)));
}

#[test]
fn an_original_that_fills_a_hole_shows_reordering_and_what_is_lost_waits_for_its_window() {
    // The repetition is younger than a round trip and tells RACK nothing, but what was sent once and arrived beside it does
    // (tcp_rack_advance() looks at each segment).
    let linux =
        Config { undo: true, timestamps: true, rack: true, prr: true, loss_probe: true, ..with_sack() };
    let at = |n: u32| 1 + n * 1448;
    let answer = |n, to| ack(at(n)).sack(&[(at(n + 1), at(to))]).stamps((500, 101));
    let mut t = slow(linux, true);
    t.write(10 * 1448).skip().at(ms(200)).recv(answer(0, 4)).phase(Phase::Recovery).skip();
    // tcp_try_undo_partial(): packets overtake each other, by a quarter of the round trip at the most.
    t.at(ms(201)).recv(answer(4, 10)).expect_nothing();
    t.at(ms(226)).expect(data(at(4), 1448));
    assert_eq!(t.tcp.counters().undone, 1);
}
