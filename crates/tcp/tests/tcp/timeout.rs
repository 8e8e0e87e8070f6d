//! The retransmission timer: RFC 6298, RFC 9293 section 3.8.3.

use crate::ladder::{Ladder, ack, data, ms, plain, span_ms};
use voxpath_tcp::{Config, Ended, Phase, Profile};

/// A sender with this minimum timeout, whose first sample will be of its first segment.
fn sender(min: u64) -> Ladder {
    let mut config = plain();
    config.rto.min = span_ms(min);
    Ladder::established(config)
}

#[test]
fn the_timer_starts_with_data_and_stops_when_all_is_acknowledged() {
    // RFC 6298 (5.1), (5.2)
    let mut t = sender(1000);
    t.idle().at(ms(10)).write(100).expect(data(1, 100));
    assert_eq!(t.tcp.poll_timeout(), Some(ms(1010)));
    t.at(ms(500)).recv(ack(101)).idle();
}

#[test]
fn later_data_does_not_restart_the_timer_but_an_acknowledgment_does() {
    // RFC 6298 (5.1), (5.3)
    let mut t = sender(1000);
    t.write(100).expect(data(1, 100)).at(ms(600)).write(100).expect(data(101, 100));
    assert_eq!(t.tcp.poll_timeout(), Some(ms(1000)));
    t.at(ms(700)).recv(ack(101)).rto(1000);
    assert_eq!(t.tcp.poll_timeout(), Some(ms(1700)));
}

#[test]
fn an_expiry_repeats_the_first_segment_and_doubles_the_timeout() {
    // RFC 6298 (5.4), (5.5), (5.6)
    let mut t = sender(1000);
    t.write(2920).expect_data(1, 1460, 2);
    t.at(ms(1000)).expect(data(1, 1460)).rto(2000).phase(Phase::Loss);
    t.at(ms(3000)).expect(data(1, 1460)).rto(4000).at(ms(7000)).expect(data(1, 1460)).rto(8000);
}

#[test]
fn a_repeated_segment_is_not_timed_and_the_back_off_stays() {
    // RFC 6298 sections 3 and 5: until a segment that was sent once is acknowledged.
    let mut t = sender(1000);
    t.write(100).expect(data(1, 100)).at(ms(1000)).expect(data(1, 100));
    t.at(ms(1010)).recv(ack(101)).rto(2000);
    t.write(100).expect(data(101, 100)).at(ms(3010)).expect(data(101, 100)).rto(4000);
    t.at(ms(3100)).recv(ack(201)).write(100).expect(data(201, 100));
    t.at(ms(3200)).recv(ack(301)).rto(1000);
}

#[test]
fn what_waited_behind_a_repeated_segment_is_not_timed_either() {
    // Karn: the acknowledgment of the second segment was held up by the loss of the first.
    let mut t = sender(1000);
    t.write(2920).expect_data(1, 1460, 2).at(ms(1000)).expect(data(1, 1460));
    t.at(ms(1040)).recv(ack(2921)).rto(2000);
    assert_eq!(t.tcp.metrics().srtt, Some(span_ms(0)), "that of the handshake");
}

#[test]
fn timestamps_time_repeated_segments_too() {
    // RFC 7323 section 4.1
    let mut t = Ladder::established(Config { timestamps: true, ..plain() });
    t.write(100).expect(data(1, 100)).at(ms(1000)).expect(data(1, 100));
    t.at(ms(1080)).recv(ack(101)).rto(1000);
    assert_eq!(t.tcp.metrics().srtt, Some(span_ms(10)), "an eighth of 80 ms over the handshake's 0");
}

#[test]
fn the_timeout_is_bounded_above() {
    // RFC 6298 (2.5)
    let mut config = plain();
    config.rto.max = span_ms(3000);
    let mut t = Ladder::established(config);
    t.write(100).expect(data(1, 100));
    for at in [1000, 3000, 6000, 9000, 12_000] {
        t.at(ms(at)).expect(data(1, 100));
    }
    t.rto(3000);
}

#[test]
fn expiries_fall_on_the_clocks_ticks() {
    // Sarkar et al. 2022, Table 2: "Timer Granularity (s): 0.5"
    let mut config = Profile::Riverbed16.config();
    config.rto.initial = span_ms(3000);
    let mut t = Ladder::established(config);
    t.at(ms(130)).write(100).expect(data(1, 100)).at(ms(1500)).expect(data(1, 100));
    t.at(ms(3500)).expect(data(1, 100)).at(ms(7500)).expect(data(1, 100));
}

#[test]
fn after_as_many_expiries_as_configured_the_connection_is_given_up() {
    // RFC 9293 section 3.8.3: R2
    let mut t = Ladder::established(Config { retries: 3, ..plain() });
    t.write(100).expect(data(1, 100));
    for at in [1000, 3000, 7000] {
        t.at(ms(at)).expect(data(1, 100));
    }
    t.at(ms(14_999)).ended(None).at(ms(15_000)).expect_nothing().ended(Ended::TimedOut).idle();
}

#[test]
fn progress_resets_the_count_of_expiries() {
    // RFC 9293 section 3.8.3: R2 counts transmissions of the same segment.
    let mut t = Ladder::established(Config { retries: 3, ..plain() });
    let mut at = 0;
    for i in 0..10 {
        let seq = 1 + i * 100;
        t.write(100).expect(data(seq, 100));
        at += t.tcp.metrics().rto.as_nanos() / 1_000_000;
        t.at(ms(at)).expect(data(seq, 100)).recv(ack(seq + 100));
    }
    t.ended(None);
}

#[test]
fn everything_outstanding_is_sent_again_in_slow_start() {
    // RFC 5681 section 3.1: cwnd = LW = 1 segment, then slow start from the left edge.
    let mut t = sender(1000);
    t.write(8760).expect_data(1, 1460, 6).at(ms(1000)).expect(data(1, 1460)).cwnd(1460).ssthresh(4380);
    t.at(ms(1100)).recv(ack(1461)).expect_data(1461, 1460, 2).cwnd(2920);
    t.at(ms(1200)).recv(ack(2921)).cwnd(4380).expect_data(4381, 1460, 2);
    t.recv(ack(4381)).expect(data(7301, 1460)).expect_nothing();
    t.at(ms(1300)).recv(ack(8761)).idle().phase(Phase::Open);
}

#[test]
fn a_segment_that_arrived_in_the_first_place_is_not_sent_again() {
    // RFC 6298 (5.4): only what no acknowledgment has covered.
    let mut t = sender(1000);
    t.write(8760).expect_data(1, 1460, 6).at(ms(1000)).expect(data(1, 1460));
    t.at(ms(1100)).recv(ack(7301)).expect(data(7301, 1460)).expect_nothing();
}

#[test]
fn ssthresh_is_held_while_the_same_segment_times_out() {
    // RFC 5681 section 3.1, after equation (4)
    let mut t = sender(1000);
    t.write(8760).expect_data(1, 1460, 6);
    t.at(ms(1000)).expect(data(1, 1460)).ssthresh(4380).at(ms(3000)).expect(data(1, 1460)).ssthresh(4380);
}

#[test]
fn an_acknowledgment_that_crosses_a_repetition_does_not_stall_the_sender() {
    // RFC 6298 (5.3): the timer runs as long as something is outstanding.
    let mut t = sender(200);
    t.write(2920).expect_data(1, 1460, 2).at(ms(200)).expect(data(1, 1460));
    t.recv(ack(1461)).expect(data(1461, 1460));
    assert!(t.tcp.poll_timeout().is_some());
}
