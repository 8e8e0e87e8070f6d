//! When and what a receiver acknowledges: RFC 5681 section 4.2, RFC 9293 section 3.8.6.3, RFC 2018, RFC 7323.

use crate::ladder::{Ladder, ack, data, fin, ms, plain, prompt, span_ms, syn, syn_ack, with_sack};
use voxpath_tcp::config::DelayedAck;
use voxpath_tcp::{Config, Profile, State};
use voxpath_units::Span;

fn receiver() -> Ladder {
    Ladder::established(plain())
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    // RFC 9293 section 3.8.6.3
    let mut t = receiver();
    for pair in 0..5 {
        let seq = 1 + pair * 2920;
        t.recv(data(seq, 1460)).expect_nothing().recv(data(seq + 1460, 1460)).expect(ack(seq + 2920));
    }
    t.idle();
}

#[test]
fn a_single_segment_is_acknowledged_when_the_timer_expires() {
    // RFC 9293 section 3.8.6.3: within half a second; here 200 ms from the first segment.
    let mut t = receiver();
    t.at(ms(50)).recv(data(1, 1460)).expect_nothing();
    t.at(ms(250)).expect(ack(1461)).idle();
    t.at(ms(300)).recv(data(1461, 100)).at(ms(400)).recv(data(1561, 100));
    t.at(ms(500)).expect(ack(1661)).idle();
}

#[test]
fn data_carries_the_acknowledgment_and_stops_the_timer() {
    // RFC 9293 section 3.8.6.3
    let mut t = receiver();
    t.recv(data(1, 1000)).expect_nothing().write(10).expect(data(1, 10).ack(1001));
    t.recv(ack(11)).at(ms(500)).idle();
}

#[test]
fn small_segments_are_counted_by_their_octets() {
    // RFC 5681 section 4.2: "every second full-sized segment"
    let mut t = receiver();
    t.recv(data(1, 1460)).recv(data(1461, 1460)).expect(ack(2921));
    for i in 0..29 {
        t.recv(data(2921 + i * 100, 100)).expect_nothing();
    }
    t.recv(data(5821, 100)).expect(ack(5921));
}

#[test]
fn a_delay_of_zero_acknowledges_each_segment() {
    let config =
        Config { delayed_ack: DelayedAck { max_delay: span_ms(0), ..plain().delayed_ack }, ..plain() };
    Ladder::established(config).recv(data(1, 10)).expect(ack(11)).idle();
}

#[test]
fn an_out_of_order_segment_is_acknowledged_at_once() {
    // RFC 5681 section 4.2: "SHOULD generate an immediate ACK when an out-of-order segment arrives"
    let mut t = receiver();
    t.recv(data(1461, 1460)).expect(ack(1)).recv(data(2921, 1460)).expect(ack(1)).idle();
}

#[test]
fn a_segment_that_fills_a_gap_is_acknowledged_at_once() {
    // RFC 5681 section 4.2: "... that fills in all or part of a gap in the sequence space"
    let mut t = receiver();
    t.recv(data(1461, 1460)).expect(ack(1)).recv(data(4381, 1460)).expect(ack(1));
    t.recv(data(1, 1460)).expect(ack(2921)).recv(data(2921, 1460)).expect(ack(5841)).idle();
}

#[test]
fn part_of_a_gap_is_acknowledged_at_once() {
    // RFC 5681 section 4.2
    let mut t = receiver();
    t.recv(data(1461, 100)).expect(ack(1)).recv(data(1, 700)).expect(ack(701));
}

#[test]
fn a_duplicate_is_acknowledged_at_once() {
    // RFC 9293 section 3.10.7.4, first check
    let mut t = receiver();
    t.recv(data(1, 100)).recv(data(1, 100)).expect(ack(101)).idle();
    t.recv(data(301, 100)).expect(ack(101)).recv(data(301, 100)).expect(ack(101));
}

#[test]
fn a_fin_is_acknowledged_at_once() {
    // RFC 9293 section 3.10.7.4, eighth check
    let mut t = receiver();
    t.recv(data(1, 100)).expect_nothing().recv(fin(101)).expect(ack(102)).state(State::CloseWait).idle();
}

#[test]
fn a_delayed_acknowledgment_is_not_sent_twice() {
    let mut t = receiver();
    t.recv(data(1, 100)).recv(data(301, 100)).expect(ack(101)).at(ms(1000)).idle();
}

#[test]
fn sack_blocks_begin_with_the_latest_and_there_are_four() {
    // RFC 2018 sections 3 and 4
    let mut t = Ladder::established(with_sack());
    t.recv(data(1001, 100)).expect(ack(1).sack(&[(1001, 1101)]));
    t.recv(data(2001, 100)).expect(ack(1).sack(&[(2001, 2101), (1001, 1101)]));
    t.recv(data(3001, 100)).expect(ack(1).sack(&[(3001, 3101), (2001, 2101), (1001, 1101)]));
    t.recv(data(1101, 100)).expect(ack(1).sack(&[(1001, 1201), (3001, 3101), (2001, 2101)]));
    t.recv(data(4001, 9)).expect(ack(1).sack(&[(4001, 4010), (1001, 1201), (3001, 3101), (2001, 2101)]));
    t.recv(data(5001, 9)).expect(ack(1).sack(&[(5001, 5010), (4001, 4010), (1001, 1201), (3001, 3101)]));
    t.recv(data(1, 1000)).expect(ack(1201).sack(&[(5001, 5010), (4001, 4010), (3001, 3101)]));
}

#[test]
fn beside_timestamps_there_are_three_sack_blocks() {
    // RFC 2018 section 3, RFC 7323 section 3.2
    let mut t = Ladder::established(Config { timestamps: true, ..with_sack() });
    for i in 1..5 {
        t.skip().recv(data(i * 1000 + 1, 10));
    }
    t.expect(ack(1).sack(&[(4001, 4011), (3001, 3011), (2001, 2011)]));
}

#[test]
fn data_segments_carry_sack_blocks_and_become_shorter() {
    // RFC 2018 section 4: "SHOULD be included in all ACKs which do not ACK the highest sequence number"
    let mut t = Ladder::established(with_sack());
    t.recv(data(1001, 100)).expect(ack(1)).write(3000);
    t.expect(data(1, 1448).sack(&[(1001, 1101)])).expect(data(1449, 1448)).expect(data(2897, 104));
}

#[test]
fn without_permission_there_are_no_sack_blocks() {
    // RFC 2018 section 2
    receiver().recv(data(1001, 100)).expect(ack(1).sack(&[]));
}

fn stamped() -> Ladder {
    Ladder::established(Config { timestamps: true, ..plain() })
}

#[test]
fn the_echo_is_that_of_the_segment_at_the_left_edge() {
    // RFC 7323 section 4.3: delayed acknowledgments echo the first segment, gaps the last one before them.
    let mut t = stamped();
    t.at(ms(100)).recv(data(1, 1448).stamps((50, 1))).recv(data(1449, 1448).stamps((60, 1)));
    t.expect(ack(2897).stamps((101, 50)));
    t.recv(data(4345, 1448).stamps((70, 1))).expect(ack(2897).stamps((101, 50)));
    t.recv(data(2897, 1448).stamps((80, 1))).expect(ack(5793).stamps((101, 80)));
}

#[test]
fn an_old_timestamp_is_refused() {
    // RFC 7323 section 5.3, R1: acknowledged and dropped, in the window or not
    let mut t = stamped();
    t.at(ms(100)).recv(data(1, 100).stamps((500, 1))).at(ms(300)).expect(ack(101));
    t.recv(data(101, 100).stamps((499, 1))).expect(ack(101).stamps((301, 500)));
    t.recv(data(101, 100).stamps((500, 1))).recv(fin(201).stamps((500, 1))).expect(ack(202)).read(200);
}

#[test]
fn timestamps_compare_modulo_2_to_the_32() {
    // RFC 7323 section 5.2
    let mut t = Ladder::established(Config { timestamps: true, ..prompt() });
    for (i, stamp) in [0x7000_0000, 0xe000_0000, 5].into_iter().enumerate() {
        let seq = 1 + 100 * i as u32;
        t.recv(data(seq, 100).stamps((stamp, 1))).expect(ack(seq + 100));
    }
    t.recv(data(301, 100).stamps((0xffff_ffff, 1))).expect(ack(301)).read(300);
}

#[test]
fn a_timestamp_of_weeks_ago_is_no_measure() {
    // RFC 7323 section 5.5: after 24 days without a segment TS.Recent is invalid.
    let mut t = stamped();
    t.recv(data(1, 100).stamps((5, 1))).at(ms(200)).expect(ack(101));
    let days = 25 * 24 * 3_600_000;
    t.at(ms(days)).recv(data(101, 100).stamps((0x9000_0000, 1)));
    t.at(ms(days + 200)).expect(ack(201)).read(200);
}

/// Linux' way to delay, after a handshake of 100 ms.
fn adaptive() -> Ladder {
    let config = Config { delayed_ack: Profile::Linux.config().delayed_ack, ..plain() };
    let mut t = Ladder::server(config, syn().mss(1460));
    t.expect(syn_ack()).at(ms(100)).recv(ack(1));
    t
}

#[test]
fn the_first_sixteen_segments_are_acknowledged_at_once() {
    // Linux: TCP_MAX_QUICKACKS, for the sender's slow start
    let mut t = adaptive();
    for i in 0..16 {
        t.recv(data(1 + i * 1460, 1460)).expect(ack(1 + (i + 1) * 1460)).read(1460);
    }
    t.recv(data(23_361, 1460)).expect_nothing().recv(data(24_821, 1460)).expect(ack(26_281)).idle();
}

/// [`adaptive`], its quick acknowledgments used up.
fn settled() -> Ladder {
    let mut t = adaptive();
    for i in 0..16 {
        t.recv(data(1 + i * 10, 10)).skip().read(10);
    }
    t
}

#[test]
fn the_delay_begins_with_forty_milliseconds_and_grows_where_it_was_in_vain() {
    // Linux: TCP_ATO_MIN, tcp_delack_timer_handler(); bounded by the round-trip time
    let mut t = settled();
    t.at(ms(200)).recv(data(161, 10)).at(ms(240)).expect(ack(171));
    t.at(ms(300)).recv(data(171, 10)).at(ms(380)).expect(ack(181));
    t.at(ms(500)).recv(data(181, 10)).at(ms(600)).expect(ack(191)).idle();
}

#[test]
fn a_pause_brings_quick_acknowledgments_back() {
    // Linux' tcp_event_data_recv(): longer than the timeout
    let mut t = settled();
    t.at(ms(2000)).recv(data(161, 10)).expect(ack(171)).recv(data(171, 10)).expect(ack(181)).idle();
}

#[test]
fn the_end_of_a_talk_is_acknowledged_when_it_is_read() {
    // Linux: ICSK_ACK_PUSHED, tcp_cleanup_rbuf()
    let mut t = settled();
    t.at(ms(200)).recv(data(161, 10).pushed()).expect_nothing();
    t.at(ms(210)).read(10).expect(ack(171)).idle();
    // A reader needs a moment to wake up.
    t.at(ms(220)).recv(data(171, 10).pushed()).read(10).expect_nothing();
    t.at(ms(220) + Span::from_micros(50)).expect(ack(181)).idle();
}

#[test]
fn what_comes_before_the_reader_is_awake_is_acknowledged_once() {
    // __tcp_ack_snd_check(): beside what is unread the window would not move; tcp_cleanup_rbuf()
    let linux = Profile::Linux.config();
    let config = Config { receive_autotuning: false, receive_buffer: 20_000, ..linux };
    let mut t = Ladder::established(Config { timestamps: false, window_scaling: false, ..config });
    let mut seq = 1;
    let mut segments = |t: &mut Ladder, count: u32| {
        for _ in 0..count {
            t.recv(data(seq, 1460));
            seq += 1460;
            t.read(1460);
        }
        seq
    };
    // The window has grown, and the quick acknowledgments are over.
    for round in 1..=200 {
        segments(t.at(ms(100 + round)), 1);
        t.skip();
    }
    let next = segments(t.at(ms(400)), 6);
    t.expect_nothing().at(ms(400) + Span::from_micros(50)).expect(ack(next)).idle();
    // With time between them it is every second one.
    segments(t.at(ms(410)), 1);
    let next = segments(t.expect_nothing().at(ms(411)), 1);
    t.expect(ack(next)).idle();
}

#[test]
fn who_answers_lets_the_answer_carry_the_acknowledgment() {
    // Linux' pingpong mode: no quick acknowledgments, and the end of a talk waits for the answer.
    let mut t = settled();
    t.at(ms(200)).recv(data(161, 10).pushed()).write(5).expect(data(1, 5).ack(171)).read(10);
    t.at(ms(300))
        .recv(data(171, 10).ack(6).pushed())
        .read(10)
        .expect_nothing()
        .write(5)
        .expect(data(6, 5).ack(181));
}

#[test]
fn a_duplicate_outside_of_the_window_leaves_the_echo_as_it_was() {
    // RFC 7323 section 5.3: R2 rejects it before R3 takes its timestamp. Where the acknowledgment was lost, the sender so measures its timeout.
    let mut t = stamped();
    t.at(ms(100)).recv(data(1, 1448).stamps((50, 1))).recv(data(1449, 1448).stamps((60, 1))).skip();
    t.at(ms(2000)).recv(data(1, 1448).stamps((1900, 1))).expect(ack(2897).stamps((2001, 50)));
}
