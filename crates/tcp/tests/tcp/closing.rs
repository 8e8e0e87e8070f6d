//! Closing a connection: RFC 9293 sections 3.6 and 3.10.7.4.

use crate::ladder::{Ladder, ack, data, fin, ms, plain, prompt, rst, span_ms, syn, syn_ack};
use voxpath_tcp::{Config, Ended, State};

fn established() -> Ladder {
    Ladder::established(Config { msl: span_ms(1000), ..prompt() })
}

/// We closed first, and the peer acknowledged it.
fn fin_wait_2() -> Ladder {
    let mut t = established();
    t.close().expect(fin(1).ack(1)).state(State::FinWait1);
    t.at(ms(100)).recv(ack(2)).state(State::FinWait2).idle();
    t
}

/// The peer closed, and we have not yet.
fn close_wait() -> Ladder {
    let mut t = established();
    t.recv(fin(1)).expect(ack(2).seq(1)).state(State::CloseWait);
    t
}

#[test]
fn closing_first_goes_through_fin_wait_and_time_wait() {
    // RFC 9293 section 3.6, figure 12, TCP A
    let mut t = fin_wait_2();
    t.at(ms(200)).recv(fin(1)).expect(ack(2).seq(2)).state(State::TimeWait).ended(Ended::Closed);
    t.at(ms(2199)).state(State::TimeWait);
    t.at(ms(2200)).expect_nothing().state(State::Closed).idle();
}

#[test]
fn closing_second_goes_through_close_wait_and_last_ack() {
    // RFC 9293 section 3.6, figure 12, TCP B
    let mut t = close_wait();
    t.close().expect(fin(1).ack(2)).state(State::LastAck).ended(None);
    t.at(ms(100)).recv(ack(2)).expect_nothing().state(State::Closed).ended(Ended::Closed).idle();
}

#[test]
fn both_may_close_at_once() {
    // RFC 9293 section 3.6, figure 13
    let mut t = established();
    t.close().expect(fin(1).ack(1));
    t.at(ms(50)).recv(fin(1).ack(1)).expect(ack(2).seq(2)).state(State::Closing);
    t.at(ms(100)).recv(ack(2)).expect_nothing().state(State::TimeWait);
    t.at(ms(2100)).state(State::Closed).ended(Ended::Closed);
}

#[test]
fn a_fin_that_acknowledges_ours_leads_to_time_wait_at_once() {
    // RFC 9293 section 3.10.7.4, eighth check, FIN-WAIT-1
    let mut t = established();
    t.close().expect(fin(1));
    t.at(ms(50)).recv(fin(1).ack(2)).expect(ack(2)).state(State::TimeWait);
}

#[test]
fn data_and_fin_share_a_segment() {
    // RFC 9293 section 3.10.4: the FIN follows what was written.
    let mut t = established();
    t.write(3000).expect_data(1, 1460, 2).expect(data(2921, 80));
    t.write(100).expect(data(3001, 100));
    t.write(0).close().expect(fin(3101));
    let mut t = Ladder::established(Config { initial_window: 2, ..prompt() });
    t.write(3000).expect_data(1, 1460, 2).close().expect_nothing();
    t.at(ms(100)).recv(ack(2921)).expect(data(2921, 80).with_fin()).state(State::FinWait1);
    t.recv(ack(3002)).state(State::FinWait2);
}

#[test]
fn after_our_close_the_peer_still_sends() {
    // RFC 9293 section 3.6, case 1: a half-closed connection carries data the other way.
    let mut t = fin_wait_2();
    t.at(ms(200)).recv(data(1, 1000)).expect(ack(1001).seq(2)).read(1000);
    t.at(ms(90_000_000)).recv(data(1001, 500)).expect(ack(1501)).read(500).state(State::FinWait2);
    t.recv(fin(1501)).expect(ack(1502)).state(State::TimeWait);
    assert!(t.tcp.is_at_end());
}

#[test]
fn data_with_the_acknowledgment_of_our_fin_is_taken() {
    // RFC 9293 section 3.10.7.4, seventh check, FIN-WAIT-1
    let mut t = established();
    t.close().expect(fin(1));
    t.recv(data(1, 700).ack(1)).expect(ack(701)).state(State::FinWait1);
    t.recv(data(701, 300).ack(2)).expect(ack(1001)).state(State::FinWait2).read(1000);
}

#[test]
fn after_the_peers_close_we_still_send() {
    // RFC 9293 section 3.6, case 2
    let mut t = close_wait();
    t.write(2000).expect(data(1, 1460).ack(2)).expect(data(1461, 540));
    t.at(ms(100)).recv(ack(2001)).state(State::CloseWait).close().expect(fin(2001)).state(State::LastAck);
}

#[test]
fn a_lost_fin_is_repeated_and_at_last_given_up() {
    // RFC 6298 (5.4) to (5.6): the FIN is data to the timer.
    let mut t = Ladder::established(Config { retries: 2, ..prompt() });
    t.close().expect(fin(1));
    t.at(ms(1000)).expect(fin(1));
    t.at(ms(3000)).expect(fin(1));
    t.at(ms(7000)).expect_nothing().ended(Ended::TimedOut).idle();
}

#[test]
fn a_lost_fin_is_repeated_with_the_data_before_it() {
    // RFC 9293 section 3.10.7.4: the retransmission queue holds both.
    let mut t = established();
    t.write(2000).close().expect(data(1, 1460)).expect(data(1461, 540)).expect(fin(2001));
    t.at(ms(100)).recv(ack(1461));
    t.at(ms(1100)).expect(data(1461, 540).with_fin());
    t.recv(ack(2001)).expect_nothing().state(State::FinWait1);
    t.at(ms(3100)).expect(fin(2001)).recv(ack(2002)).state(State::FinWait2).idle();
}

#[test]
fn a_repeated_fin_is_acknowledged_in_every_state_after_it() {
    // RFC 9293 section 3.10.7.4, first check
    let mut t = close_wait();
    t.recv(fin(1)).expect(ack(2)).state(State::CloseWait);
    t.close().expect(fin(1)).recv(fin(1)).expect(ack(2).seq(2)).state(State::LastAck);
    let mut t = established();
    t.close().expect(fin(1)).recv(fin(1).ack(1)).expect(ack(2));
    t.recv(fin(1).ack(1)).expect(ack(2)).state(State::Closing);
}

#[test]
fn a_repeated_fin_restarts_time_wait() {
    // RFC 9293 section 3.10.7.4, eighth check: "Restart the 2 MSL time-wait timeout."
    let mut t = fin_wait_2();
    t.at(ms(200)).recv(fin(1)).expect(ack(2));
    t.at(ms(1700)).recv(fin(1)).expect(ack(2)).state(State::TimeWait);
    t.at(ms(3699)).state(State::TimeWait).at(ms(3700)).state(State::Closed);
}

#[test]
fn an_old_segment_does_not_restart_time_wait() {
    // RFC 9293 section 3.10.7.4: only the FIN does.
    let mut t = fin_wait_2();
    t.at(ms(100)).recv(data(1, 10)).expect(ack(11)).recv(fin(11)).expect(ack(12));
    t.at(ms(1500)).recv(data(1, 10)).expect(ack(12));
    t.at(ms(2100)).state(State::Closed);
}

#[test]
fn a_fin_beyond_a_gap_waits_for_the_gap_and_is_acknowledged_at_once() {
    // RFC 5681 section 4.2: an out-of-order segment, with data or without, is answered immediately.
    let mut t = Ladder::established(plain());
    t.recv(fin(101)).expect(ack(1)).state(State::Established);
    t.recv(data(1, 100)).expect(ack(102)).state(State::CloseWait).read(100);
    let mut t = Ladder::established(plain());
    t.recv(data(101, 100).with_fin()).expect(ack(1)).state(State::Established);
    t.recv(data(1, 100)).expect(ack(202)).state(State::CloseWait).read(200);
}

#[test]
fn nothing_is_written_after_close() {
    let mut t = established();
    t.close().expect(fin(1));
    assert_eq!(t.tcp.write(&voxpath_wire::Payload::pattern(0, 0, 10)), 0);
    assert_eq!(t.tcp.writable(), 0);
    t.close().expect_nothing();
}

#[test]
fn data_beyond_the_peers_fin_is_ignored() {
    // RFC 9293 section 3.10.7.4, seventh check: "this should not occur".
    let mut t = close_wait();
    t.recv(data(2, 100)).expect_nothing().state(State::CloseWait);
    assert_eq!(t.tcp.readable(), 0);
}

#[test]
fn an_abort_resets_at_snd_nxt() {
    // RFC 9293 section 3.10.5
    let mut t = established();
    t.write(3000).skip().abort().expect(rst(3001).ack(1)).ended(Ended::Aborted).state(State::Closed).idle();
    let mut t = close_wait();
    t.abort().expect(rst(1).ack(2)).ended(Ended::Aborted);
    let mut t = fin_wait_2();
    t.abort().expect(rst(2).ack(1)).ended(Ended::Aborted);
    let mut t = Ladder::server(plain(), syn());
    t.expect(syn_ack()).abort().expect(rst(1).ack(1)).ended(Ended::Aborted);
}

#[test]
fn an_abort_where_both_sides_have_closed_is_silent() {
    // RFC 9293 section 3.10.5: CLOSING, LAST-ACK and TIME-WAIT just delete the TCB; so does SYN-SENT.
    let mut t = close_wait();
    t.close().expect(fin(1)).abort().expect_nothing().ended(Ended::Aborted);
    let mut t = established();
    t.close().expect(fin(1)).recv(fin(1).ack(1)).expect(ack(2)).abort().expect_nothing().idle();
    let mut t = fin_wait_2();
    t.recv(fin(1)).expect(ack(2)).abort().expect_nothing().state(State::Closed).ended(Ended::Closed).idle();
    let mut t = Ladder::client(plain());
    t.expect(syn()).abort().expect_nothing().ended(Ended::Aborted).idle();
}

#[test]
fn a_closed_connection_answers_with_resets() {
    // RFC 9293 section 3.10.7.1
    let mut t = close_wait();
    t.close().expect(fin(1)).recv(ack(2)).state(State::Closed);
    t.recv(data(2, 10).ack(5)).expect(rst(5));
    t.recv(data(7, 10).without_ack()).expect(rst(0).seq(0_u32.wrapping_sub(iss())).ack(17));
    t.recv(rst(7)).expect_nothing();
}

/// An unsynchronised reset has the absolute number 0.
fn iss() -> u32 {
    u32::MAX - 3000
}

#[test]
fn a_reset_ends_every_state() {
    // RFC 9293 section 3.10.7.4, second check
    let mut t = established();
    t.write(100).skip().recv(rst(1)).expect_nothing().ended(Ended::Reset).state(State::Closed).idle();
    let mut t = close_wait();
    t.recv(rst(2)).ended(Ended::Reset);
    let mut t = fin_wait_2();
    t.recv(rst(1)).ended(Ended::Reset);
    let mut t = established();
    t.close().expect(fin(1)).recv(rst(1)).ended(Ended::Reset);
    let mut t = close_wait();
    t.close().expect(fin(1)).recv(rst(2)).ended(Ended::Reset).idle();
    let mut t = fin_wait_2();
    t.recv(fin(1)).expect(ack(2)).recv(rst(2)).state(State::Closed).ended(Ended::Closed);
}

#[test]
fn only_the_exact_reset_counts_and_one_in_the_window_is_challenged() {
    // RFC 5961 section 3.2
    let mut t = Ladder::established(Config { receive_buffer: 10_000, ..prompt() });
    t.recv(rst(2)).expect(ack(1)).state(State::Established);
    t.recv(rst(10_000)).expect(ack(1));
    t.recv(rst(10_001)).expect_nothing().recv(rst(0)).expect_nothing().state(State::Established);
    t.recv(rst(1)).ended(Ended::Reset);
}

#[test]
fn a_reset_counts_at_a_closed_window_and_with_data() {
    // RFC 9293 section 3.10.7.4: "special allowance" at a closed window; section 3.5.3: it may carry text.
    let mut t = Ladder::established(Config { receive_buffer: 1000, ..prompt() });
    t.recv(data(1, 1000)).expect(ack(1001).window(0));
    t.recv(rst(1000)).expect_nothing().recv(rst(1001).len(20)).ended(Ended::Reset);
}

#[test]
fn a_syn_in_a_synchronised_state_is_challenged() {
    // RFC 5961 section 4.2, wherever its number lies
    let mut t = established();
    t.recv(syn().seq(50)).expect(ack(1)).recv(syn_ack().seq(1)).expect(ack(1));
    t.recv(syn()).expect(ack(1)).state(State::Established);
}

#[test]
fn challenges_are_throttled() {
    // RFC 5961 section 7: ten in five seconds
    let mut t = established();
    for _ in 0..10 {
        t.recv(rst(2)).expect(ack(1));
    }
    t.recv(rst(2)).expect_nothing();
    t.at(ms(5000)).recv(rst(2)).expect(ack(1));
}

#[test]
fn two_ends_that_disagree_do_not_acknowledge_each_other_for_ever() {
    // RFC 5961 section 7
    let mut t = established();
    for _ in 0..1000 {
        t.recv(ack(1).seq(50_000_000)).skip();
    }
    assert!(t.tcp.counters().segments_sent < 20);
}

#[test]
fn an_acknowledgment_of_what_was_never_sent_is_challenged_and_dropped() {
    // RFC 9293 section 3.10.7.4, fifth check; the text that comes with it is dropped too.
    let mut t = established();
    t.write(100).expect(data(1, 100));
    t.recv(data(1, 10).ack(102)).expect(ack(1));
    assert_eq!((t.tcp.readable(), t.tcp.metrics().flight), (0, 100));
}

#[test]
fn an_acknowledgment_from_long_ago_is_challenged_and_dropped() {
    // RFC 5961 section 5.2: older than the largest window ever seen
    let mut t = established();
    t.window = 2000;
    t.recv(ack(1));
    for i in 0..60 {
        t.write(1460).expect(data(1 + i * 1460, 1460)).recv(ack(1461 + i * 1460));
    }
    let una = 1 + 60 * 1460;
    t.recv(data(1, 10).ack(una - 65_000)).expect(ack(11)).read(10);
    t.recv(data(11, 10).ack(una - 66_000)).expect(ack(11)).ended(None);
    assert_eq!(t.tcp.readable(), 0);
}
