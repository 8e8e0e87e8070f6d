//! Loss detection by time and tail loss probes: RFC 8985; proportional rate reduction: RFC 6937.

use crate::ladder::{Ladder, Seg, ack, data, ms, span_ms, syn, syn_ack, with_sack};
use voxpath_tcp::{Config, Phase};

const MSS: u32 = 1460;

/// The number of the `n`-th segment, from 0.
const fn s(n: u32) -> u32 {
    1 + n * MSS
}

fn sacked(n: u32, runs: &[(u32, u32)]) -> Seg {
    let blocks: Vec<_> = runs.iter().map(|&(from, to)| (s(from), s(to))).collect();
    ack(s(n)).sack(&blocks)
}

fn rack() -> Config {
    Config { rack: true, ..with_sack() }
}

/// An endpoint in ESTABLISHED since 100 ms, that has measured them as its round-trip time.
fn established(config: Config) -> Ladder {
    let mut t = Ladder::server(config, syn().mss(1460).sack_permitted(true));
    t.expect(syn_ack()).at(ms(100)).recv(ack(1));
    t
}

/// A segment every millisecond from 0 to 9 ms, so that each has a send time of its own, after round trips of 100 ms.
/// The time is 209 ms; `n`-th segments count from the second on.
fn spaced(config: Config) -> Ladder {
    let mut t = established(config);
    t.write(MSS).expect(data(1, MSS)).at(ms(200)).recv(ack(s(1)));
    for i in 0..10 {
        t.at(ms(200 + u64::from(i))).write(MSS).expect(data(s(1 + i), MSS));
    }
    t
}

#[test]
fn a_segment_sent_before_a_delivered_one_is_lost_after_the_reordering_window() {
    // RFC 8985 section 6.2, step 5: window min_RTT/4 = 25 ms while fewer than three are SACKed
    let mut t = spaced(rack());
    t.at(ms(301)).recv(sacked(1, &[(2, 3)])).expect_nothing().phase(Phase::Open);
    // The first was sent at 200 ms, RACK.rtt is 100 ms.
    t.at(ms(325)).expect(data(s(1), MSS)).phase(Phase::Recovery);
}

#[test]
fn three_sacked_segments_need_no_window_while_no_reordering_was_seen() {
    // RFC 8985 section 6.2, step 4
    let mut t = spaced(rack());
    t.at(ms(301)).recv(sacked(1, &[(2, 3)])).at(ms(302)).recv(sacked(1, &[(2, 4)])).expect_nothing();
    t.at(ms(303)).recv(sacked(1, &[(2, 5)])).expect(data(s(1), MSS)).phase(Phase::Recovery);
}

#[test]
fn reordering_within_the_window_repeats_nothing() {
    // RFC 8985 section 3.3.2: what duplicates would take for a loss
    let mut t = spaced(rack());
    t.at(ms(302)).recv(sacked(1, &[(3, 4)])).at(ms(303)).recv(sacked(1, &[(2, 4)])).recv(sacked(4, &[]));
    // From here on reordering is known, and three SACKed segments do not suffice.
    t.at(ms(306)).recv(sacked(4, &[(5, 8)])).expect_nothing().phase(Phase::Open);
    t.at(ms(310)).recv(ack(s(8))).expect_nothing();
    assert_eq!(t.tcp.counters().retransmissions, 0);
}

#[test]
fn a_lost_repetition_is_seen_without_the_timer() {
    // RFC 8985 section 1: "RACK can detect lost retransmissions"; the timer would take a second.
    let mut t = spaced(rack());
    t.at(ms(303)).recv(sacked(1, &[(2, 5)])).expect(data(s(1), MSS)).at(ms(310)).write(4 * MSS);
    t.recv(sacked(1, &[(2, 10)])).expect_data(s(11), MSS, 3).expect_nothing();
    t.at(ms(409))
        .expect_nothing()
        .at(ms(410))
        .recv(sacked(1, &[(2, 10), (11, 12)]))
        .expect(data(s(1), MSS))
        .skip();
    assert_eq!(t.tcp.counters().timeouts, 0);
}

/// The repetition of segment `n` was needless, as its original and then a D-SACK say: a later loss is repaired at `at`.
fn lost_after_a_dsack_at(t: &mut Ladder, n: u32, at: u64) {
    let sent = 199 + u64::from(n);
    t.at(ms(sent + 101)).recv(sacked(n, &[(n + 1, n + 2)]));
    t.at(ms(sent + 125)).expect(data(s(n), MSS));
    t.at(ms(sent + 130)).recv(ack(s(n + 2))).at(ms(sent + 225)).recv(ack(s(n + 2)).sack(&[(s(n), s(n + 1))]));
    t.at(ms(500)).recv(ack(s(11)));
    for i in 0..4 {
        t.at(ms(600 + i)).write(MSS).expect(data(s(11 + i as u32), MSS));
    }
    t.at(ms(701)).recv(sacked(11, &[(12, 13)])).at(ms(at - 1)).expect_nothing();
    t.at(ms(at)).expect(data(s(11), MSS));
}

#[test]
fn a_dsack_widens_the_window() {
    // RFC 8985 section 6.2, step 4: RACK.reo_wnd_mult; min_RTT is 100 ms: a quarter, twice.
    let mut t = spaced(Config { undo: true, ..rack() });
    t.at(ms(302)).recv(sacked(1, &[(3, 4)])).at(ms(303)).recv(sacked(1, &[(2, 4)])).recv(ack(s(4)));
    lost_after_a_dsack_at(&mut t, 4, 750);
}

#[test]
fn a_dsack_before_reordering_was_seen_does_not() {
    // Linux' tcp_dsack_seen()
    lost_after_a_dsack_at(&mut spaced(Config { undo: true, ..rack() }), 1, 725);
}

fn probing() -> Config {
    Config { loss_probe: true, ..rack() }
}

#[test]
fn a_lost_tail_is_repaired_without_the_timer() {
    // RFC 8985 section 7: the probe, sent after two round trips, is SACKed, and RACK sees what is missing before it.
    let mut t = spaced(probing());
    t.at(ms(303)).recv(ack(s(4))).expect_nothing();
    // SRTT is about 88 ms: a handshake of 0 and two samples of 100 and more.
    let probe = t.tcp.poll_timeout().expect("a probe is scheduled");
    assert!(probe < ms(520), "{probe}");
    t.at(probe).expect(data(s(10), MSS)).phase(Phase::Open);
    t.at(probe + span_ms(100))
        .recv(sacked(4, &[(10, 11)]))
        .expect_data(s(4), MSS, 1)
        .phase(Phase::Recovery)
        .skip();
    t.at(probe + span_ms(200)).recv(sacked(10, &[(10, 11)])).recv(ack(s(11))).phase(Phase::Open).idle();
    assert_eq!((t.tcp.counters().timeouts, t.tcp.counters().loss_probes), (0, 1));
}

#[test]
fn without_a_probe_a_lost_tail_waits_for_the_timer() {
    let mut t = spaced(rack());
    t.at(ms(303)).recv(ack(s(4))).at(ms(1302)).expect_nothing().at(ms(1303)).expect(data(s(4), MSS)).skip();
    assert_eq!(t.tcp.counters().timeouts, 1);
}

#[test]
fn new_data_is_the_better_probe() {
    // RFC 8985 section 7.3
    let mut t = established(Config { nagle: true, ..probing() });
    t.write(MSS).expect(data(1, MSS)).write(100).expect_nothing();
    let probe = t.tcp.poll_timeout().expect("a probe is scheduled");
    // A single segment may wait for a delayed acknowledgment: 2 SRTT + 200 ms.
    assert_eq!(probe, ms(100) + t.tcp.metrics().srtt.expect("known") * 2 + span_ms(200));
    t.at(probe).expect(data(s(1), 100));
    assert_eq!(t.tcp.counters().retransmissions, 0);
}

#[test]
fn a_loss_that_the_probe_repaired_reduces_the_window() {
    // RFC 8985 section 7.4.2
    let mut t = spaced(probing());
    t.at(ms(308)).recv(ack(s(10)));
    let probe = t.tcp.poll_timeout().expect("a probe is scheduled");
    t.at(probe).expect(data(s(10), MSS)).write(MSS).expect(data(s(11), MSS));
    let before = t.tcp.metrics().cwnd;
    t.at(probe + span_ms(100)).recv(ack(s(12)));
    assert!(t.tcp.metrics().cwnd < before, "{}", t.tcp.metrics().cwnd);
}

#[test]
fn a_probe_that_was_not_needed_costs_nothing() {
    // RFC 8985 section 7.4.2: a D-SACK says that both have arrived.
    let mut t = spaced(probing());
    t.at(ms(308)).recv(ack(s(10)));
    let probe = t.tcp.poll_timeout().expect("a probe is scheduled");
    let before = t.tcp.metrics().cwnd;
    t.at(probe)
        .expect(data(s(10), MSS))
        .recv(ack(s(11)))
        .at(probe + span_ms(100))
        .recv(ack(s(11)).sack(&[(s(10), s(11))]));
    assert!(t.tcp.metrics().cwnd >= before);
    t.ssthresh(None);
}

#[test]
fn the_window_falls_in_proportion_to_what_is_delivered() {
    // RFC 6937 section 3: ten in flight, threshold five: one out for two delivered, until the pipe is down to it.
    let config = Config { prr: true, limited_transmit: false, ..rack() };
    let mut t = established(config);
    t.write(40 * MSS).expect_data(1, MSS, 10).at(ms(200));
    t.recv(sacked(0, &[(1, 2)])).recv(sacked(0, &[(1, 3)])).expect_nothing();
    t.recv(sacked(0, &[(1, 4)])).ssthresh(5 * 1460).expect(data(1, MSS)).expect_nothing();
    let sent: Vec<usize> = (5..=9).map(|to| t.recv(sacked(0, &[(1, to)])).take_windows().len()).collect();
    // Eight of ten are SACKed; what was sent since keeps the pipe at the threshold.
    assert_eq!((sent.iter().sum::<usize>(), t.tcp.metrics().pipe), (3, 5 * 1460), "{sent:?}");
    t.at(ms(300)).recv(ack(s(10))).phase(Phase::Open).cwnd(5 * 1460);
}

#[test]
fn many_losses_do_not_empty_the_pipe() {
    // RFC 6937 section 3: below the threshold, as much is sent as is delivered, and one more where the repairs arrive.
    let mut t = established(Config { prr: true, ..rack() });
    t.write(40 * MSS).expect_data(1, MSS, 10).at(ms(200));
    // Seven of ten are lost.
    t.recv(sacked(0, &[(7, 10)])).expect_data(1, MSS, 3).expect_nothing();
    t.at(ms(300)).recv(sacked(1, &[(7, 10)])).expect_data(s(3), MSS, 2).expect_nothing();
}
