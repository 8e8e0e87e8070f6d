//! Explicit congestion notification: RFC 3168 section 6.1.

use crate::ladder::{Ladder, ack, data, ms, plain, syn, syn_ack};
use voxpath_tcp::config::Ecn;
use voxpath_tcp::{Config, Phase};

const MSS: u32 = 1460;

const fn s(n: u32) -> u32 {
    1 + n * MSS
}

fn speaking(ecn: Ecn) -> Config {
    Config { ecn, ..plain() }
}

#[test]
fn a_syn_asks_and_a_syn_ack_accepts() {
    // RFC 3168 section 6.1.1
    let mut t = Ladder::client(speaking(Ecn::Request));
    t.expect(syn().ece().cwr()).recv(syn_ack().ece()).expect(ack(1)).write(10).expect(data(1, 10));
    assert!(t.tcp.is_ecn_capable());
    let mut t = Ladder::server(speaking(Ecn::Accept), syn().ece().cwr());
    t.expect(syn_ack().ece());
    assert!(!t.tcp.is_ecn_capable(), "a SYN|ACK may not be marked");
}

#[test]
fn who_does_not_ask_or_is_not_answered_does_without() {
    // RFC 3168 section 6.1.1; a reflected CWR is no answer
    for (ours, answer) in [
        (Ecn::Off, syn_ack()),
        (Ecn::Accept, syn_ack()),
        (Ecn::Request, syn_ack()),
        (Ecn::Request, syn_ack().ece().cwr()),
    ] {
        let mut t = Ladder::client(speaking(ours));
        t.skip().recv(answer).expect(ack(1)).write(10).expect(data(1, 10));
        assert!(!t.tcp.is_ecn_capable(), "{ours:?}");
    }
    Ladder::server(speaking(Ecn::Off), syn().ece().cwr()).expect(syn_ack());
    Ladder::server(speaking(Ecn::Request), syn()).expect(syn_ack());
}

/// A connection that has agreed on it.
fn agreed(config: Config) -> Ladder {
    let mut t = Ladder::server(Config { ecn: Ecn::Accept, ..config }, syn().mss(1460).ece().cwr());
    t.expect(syn_ack().ece()).recv(ack(1));
    t
}

#[test]
fn a_mark_is_echoed_until_the_sender_has_reduced() {
    // RFC 3168 section 6.1.3
    let mut t = agreed(plain());
    t.tcp.congestion_experienced();
    t.recv(data(1, 1460)).expect(ack(1461).ece());
    t.recv(data(1461, 1460)).recv(data(2921, 1460)).expect(ack(4381).ece());
    t.recv(data(4381, 1460).cwr()).recv(data(5841, 1460)).expect(ack(7301)).idle();
    assert_eq!(t.tcp.counters().marked, 1);
}

#[test]
fn an_echo_reduces_the_window_once_a_round_trip_and_repeats_nothing() {
    // RFC 3168 section 6.1.2
    let mut t = agreed(plain());
    t.write(40 * MSS).expect_data(1, MSS, 10).at(ms(100));
    // Half of the ten outstanding: the acknowledgment that brings the echo lets the window grow no more, as it once did here.
    t.recv(ack(s(2)).ece()).phase(Phase::Reduction).ssthresh(5 * 1460).cwnd(5 * 1460).expect_nothing();
    t.recv(ack(s(4)).ece()).expect_nothing();
    t.recv(ack(s(6)).ece()).cwnd(5 * 1460).expect(data(s(10), MSS).cwr());
    t.recv(ack(s(8)).ece()).expect(data(s(11), MSS)).expect(data(s(12), MSS));
    t.at(ms(200)).recv(ack(s(10))).phase(Phase::Reduction).skip();
    t.recv(ack(s(11))).phase(Phase::Open).skip();
    assert_eq!(t.tcp.counters().retransmissions, 0);
}

#[test]
fn repetitions_and_bare_acknowledgments_may_not_be_marked() {
    // RFC 3168 sections 6.1.4 and 6.1.5
    let mut t = agreed(plain());
    t.write(MSS).expect(data(1, MSS));
    assert!(t.tcp.is_ecn_capable());
    t.at(ms(1000)).expect(data(1, MSS));
    assert!(!t.tcp.is_ecn_capable());
    t.recv(ack(s(1))).recv(data(1, 1460)).recv(data(1461, 1460)).expect(ack(2921));
    assert!(!t.tcp.is_ecn_capable());
}

#[test]
fn a_loss_is_told_by_cwr_too() {
    // RFC 3168 section 6.1.2: CWR whenever the window is reduced for any reason
    let mut t = agreed(Config { limited_transmit: false, ..plain() });
    t.write(40 * MSS).expect_data(1, MSS, 10).at(ms(100));
    t.recv(ack(1)).recv(ack(1)).recv(ack(1)).expect(data(1, MSS));
    t.at(ms(200)).recv(ack(s(10))).expect(data(s(10), MSS).cwr()).skip();
}
