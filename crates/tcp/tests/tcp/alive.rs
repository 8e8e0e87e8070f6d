//! Whether the peer is still there: RFC 9293 section 3.8.4, RFC 5482.

use crate::ladder::{Ladder, ack, data, fin, ms, plain, rst, span_ms};
use voxpath_tcp::config::Keepalive;
use voxpath_tcp::{Config, Ended};

fn probing() -> Ladder {
    let keepalive = Keepalive { idle: span_ms(10_000), interval: span_ms(1000), probes: 3 };
    Ladder::established(Config { keepalive: Some(keepalive), ..plain() })
}

#[test]
fn an_idle_connection_is_probed_from_before_its_window() {
    // RFC 9293 section 3.8.4: SEG.SEQ = SND.NXT - 1, which every receiver answers
    let mut t = probing();
    t.at(ms(10_000)).expect(ack(1).seq(0)).at(ms(10_100)).recv(ack(1)).expect_nothing();
    t.at(ms(20_100)).expect(ack(1).seq(0)).recv(ack(1));
}

#[test]
fn a_peer_that_does_not_answer_is_given_up() {
    let mut t = probing();
    for at in [10_000, 11_000, 12_000] {
        t.at(ms(at)).expect(ack(1).seq(0));
    }
    t.at(ms(12_999)).ended(None).at(ms(13_000)).expect(rst(1).ack(1)).ended(Ended::TimedOut).idle();
}

#[test]
fn a_connection_that_is_over_is_not_probed_whatever_still_comes() {
    // Each probe of a closed connection got a reset, which counted as heard: they went on for ever.
    let mut t = probing();
    t.close().expect(fin(1)).recv(fin(1).ack(2)).expect(ack(2).seq(2)).ended(Ended::Closed);
    t.at(ms(10)).recv(fin(1).ack(2)).expect(ack(2).seq(2)).at(ms(200_000)).expect_nothing();
    t.at(ms(300_000)).recv(rst(2).ack(2)).expect_nothing().idle();
}

#[test]
fn what_comes_from_the_peer_puts_the_probe_off() {
    let mut t = probing();
    t.at(ms(8000)).recv(data(1, 10)).at(ms(8200)).expect(ack(11));
    t.at(ms(17_999)).expect_nothing().at(ms(18_000)).expect(ack(11).seq(0)).recv(ack(1));
}

#[test]
fn the_next_probe_counts_from_what_was_heard_last() {
    // The timer looked again an interval later at the earliest: with an interval as long as the silence, probes came late.
    let keepalive = Keepalive { idle: span_ms(1000), interval: span_ms(1000), probes: 2 };
    let mut t = Ladder::established(Config { keepalive: Some(keepalive), ..plain() });
    t.at(ms(1000)).expect(ack(1).seq(0)).at(ms(1050)).recv(ack(1));
    t.at(ms(2050)).expect(ack(1).seq(0));
}

#[test]
fn unacknowledged_data_has_the_user_timeout() {
    // RFC 5482 section 3; by retransmissions alone it would take minutes.
    let mut t = Ladder::established(Config { user_timeout: Some(span_ms(5000)), ..plain() });
    t.at(ms(500)).write(100).expect(data(1, 100));
    t.at(ms(1500)).expect(data(1, 100)).at(ms(3500)).expect(data(1, 100));
    t.at(ms(5499)).ended(None).at(ms(5500)).expect(rst(101).ack(1)).ended(Ended::TimedOut).idle();
}

#[test]
fn progress_starts_the_user_timeout_anew() {
    let mut t = Ladder::established(Config { user_timeout: Some(span_ms(900)), ..plain() });
    t.write(200).expect(data(1, 200));
    t.at(ms(500)).recv(ack(101)).at(ms(1300)).ended(None).recv(ack(201)).at(ms(9000)).ended(None).idle();
}
