//! How the congestion window moves: RFC 5681 section 3.1 and 4.1, RFC 3465, RFC 7661, RFC 9438.

use crate::ladder::{Ladder, ack, data, ms, plain, span_ms, syn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use voxpath_tcp::cc::{Ack, CongestionControl, CongestionFactory, CongestionMetrics, Window};
use voxpath_tcp::{Config, Congestion, Connection, Phase, Profile};
use voxpath_units::Time;
use voxpath_wire::Payload;
use voxpath_wire::tcp::{Seq, TcpFlags, TcpHeader};

const MSS: u32 = 1460;

const fn s(n: u32) -> u32 {
    1 + n * MSS
}

/// Two segments outstanding, as many waiting as the buffer holds; the time is 100 ms.
fn two_out(config: Config) -> Ladder {
    let mut t = Ladder::established(Config { initial_window: 2, ..config });
    t.write(200 * MSS).expect_data(1, MSS, 2).at(ms(100));
    t
}

#[test]
fn slow_start_adds_a_segment_for_each_acknowledgment() {
    // RFC 5681 equation (2): cwnd += min(N, SMSS)
    let mut t = two_out(plain());
    t.recv(ack(s(1))).cwnd(3 * 1460).expect_data(s(2), MSS, 2).recv(ack(s(2))).cwnd(4 * 1460).skip();
    t.at(ms(200)).recv(ack(s(6))).cwnd(5 * 1460).skip();
}

#[test]
fn a_small_acknowledgment_opens_the_window_by_no_more_than_it_acknowledges() {
    // RFC 5681 section 3.1: against dividing acknowledgments
    two_out(plain()).recv(ack(101)).cwnd(2 * 1460 + 100);
}

#[test]
fn slow_start_may_count_several_segments() {
    // RFC 3465 section 2.2: L = 2; Linux counts all
    two_out(Config { slow_start_limit: 2, ..plain() }).recv(ack(s(2))).cwnd(4 * 1460);
    let mut t = Ladder::established(Config { slow_start_limit: u32::MAX, initial_window: 8, ..plain() });
    t.write(100 * MSS).expect_data(1, MSS, 8).at(ms(100)).recv(ack(s(8))).cwnd(16 * 1460);
}

/// In congestion avoidance with a window of four segments, all outstanding.
fn avoiding(config: Config) -> Ladder {
    let mut t = Ladder::established(Config { initial_window: 4, initial_ssthresh: Some(4 * MSS), ..config });
    t.write(200 * MSS).expect_data(1, MSS, 4).at(ms(100));
    t
}

#[test]
fn congestion_avoidance_counts_octets() {
    // RFC 5681 section 3.1, RFC 3465 section 2.1: a segment for each window of octets
    let mut t = avoiding(plain());
    t.recv(ack(s(2))).cwnd(4 * 1460).recv(ack(s(4))).cwnd(5 * 1460).skip();
}

#[test]
fn congestion_avoidance_counts_acknowledgments() {
    // RFC 5681 equation (3): SMSS * SMSS / cwnd for each
    let mut t = avoiding(Config { byte_counting: false, ..plain() });
    t.recv(ack(s(2))).cwnd(5840 + 365).recv(ack(s(4))).cwnd(5840 + 365 + 1460 * 1460 / 6205).skip();
}

#[test]
fn slow_start_ends_at_ssthresh() {
    // RFC 5681 section 3.1
    let mut t = two_out(Config { initial_ssthresh: Some(3 * MSS), ..plain() });
    t.recv(ack(s(1))).cwnd(3 * 1460).recv(ack(s(2))).cwnd(3 * 1460).skip();
}

#[test]
fn the_window_does_not_grow_while_recovery_lasts() {
    // RFC 6675 section 5: cwnd is ssthresh until RecoveryPoint
    let mut t = Ladder::established(Config { sack: true, ..plain() });
    t.write(100 * MSS).expect_data(1, MSS, 10).at(ms(100));
    t.recv(ack(1).sack(&[(s(1), s(2)), (s(3), s(6))])).skip().phase(Phase::Recovery).cwnd(5 * 1460);
    t.recv(ack(s(2)).sack(&[(s(3), s(8))])).skip().phase(Phase::Recovery).cwnd(5 * 1460);
    t.recv(ack(s(10))).skip().phase(Phase::Open).cwnd(5 * 1460);
}

#[test]
fn a_sender_with_little_to_say_may_grow_its_window_unless_validated() {
    // RFC 7661 section 4.1: only a window that was used is known to be right.
    for (cwnd_validation, segments) in [(false, 15), (true, 10)] {
        let mut t = Ladder::established(Config { cwnd_validation, ..plain() });
        for i in 0..5 {
            t.write(MSS).expect(data(s(i), MSS)).at(ms(u64::from(100 * (i + 1)))).recv(ack(s(i + 1)));
        }
        t.cwnd(segments * 1460);
    }
}

#[test]
fn a_sender_that_uses_its_window_grows_it_under_validation() {
    // RFC 7661 section 4.1
    let mut t = Ladder::established(Config { cwnd_validation: true, ..plain() });
    t.write(100 * MSS).expect_data(1, MSS, 10).at(ms(100)).recv(ack(s(1))).cwnd(11 * 1460).skip();
}

#[test]
fn after_an_idle_timeout_the_window_is_the_restart_window() {
    // RFC 5681 section 4.1: RW = min(IW, cwnd)
    for (idle_restart, after) in [(true, 2), (false, 12)] {
        let mut t = Ladder::established(Config { initial_window: 2, idle_restart, ..plain() });
        t.write(10 * MSS).skip();
        for i in 1..=10 {
            t.at(ms(10 * u64::from(i))).recv(ack(s(i))).skip();
        }
        t.cwnd(12 * 1460).at(ms(900)).write(MSS).expect(data(s(10), MSS)).cwnd(12 * 1460);
        t.at(ms(950)).recv(ack(s(11))).cwnd(13 * 1460).at(ms(2200));
        t.write(20 * MSS).skip().cwnd(if idle_restart { after } else { after + 1 } * 1460);
    }
}

#[test]
fn a_restart_does_not_raise_the_window() {
    // RFC 5681 section 4.1: the minimum of both
    let mut t = Ladder::established(plain());
    t.write(MSS).skip().at(ms(1000)).expect(data(1, MSS)).at(ms(1100)).recv(ack(s(1))).cwnd(2 * 1460);
    t.at(ms(60_000)).write(20 * MSS).expect_data(s(1), MSS, 2).expect_nothing();
}

#[test]
fn cubic_reduces_to_seven_tenths_and_reno_to_half() {
    // RFC 9438 section 4.6, RFC 5681 equation (4)
    for (congestion, tenths) in [(Congestion::Cubic, 7), (Congestion::Reno, 5)] {
        let mut t = Ladder::established(Config { congestion, limited_transmit: false, ..plain() });
        t.write(40 * MSS).expect_data(1, MSS, 10).at(ms(100)).recv(ack(1)).recv(ack(1)).recv(ack(1));
        t.expect(data(1, MSS)).ssthresh(tenths * 1460).cwnd((tenths + 3) * 1460);
    }
}

#[test]
fn a_timeout_begins_with_one_segment() {
    // RFC 5681 section 3.1: the loss window
    for &(_, congestion) in Congestion::ALL {
        let mut t = Ladder::established(Config { congestion, ..plain() });
        t.write(40 * MSS)
            .expect_data(1, MSS, 10)
            .at(ms(1000))
            .expect(data(1, MSS))
            .expect_nothing()
            .cwnd(1460);
    }
}

#[test]
fn a_window_of_less_than_a_segment_is_not_used() {
    // RFC 9293 section 3.8.6.2.1: cwnd / 1460 is no whole number here, and the rest waits.
    let mut t = Ladder::established(plain());
    t.write(11 * MSS).expect_data(1, MSS, 10).at(ms(100)).recv(ack(101)).expect_nothing().cwnd(14_700);
}

#[test]
fn the_first_sample_is_that_of_the_handshake() {
    // RFC 6298 (2.2): the SYN is a segment as any other.
    let mut t = Ladder::client(plain());
    t.expect(crate::ladder::syn()).at(ms(80)).recv(crate::ladder::syn_ack().mss(1460)).expect(ack(1));
    let metrics = t.tcp.metrics();
    assert_eq!((metrics.srtt, metrics.rttvar), (Some(span_ms(80)), Some(span_ms(40))));
}

/// A congestion control of connections that share a state, as coupled ones do (RFC 6356): the window of each grows with what all deliver.
#[derive(Debug, Clone, Default)]
struct Coupled(Arc<AtomicU64>);

impl CongestionFactory for Coupled {
    fn build(&self, _config: &Config) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

impl CongestionControl for Coupled {
    fn ssthresh(&mut self, _now: Time, window: &Window, _flight: u64) -> u64 {
        window.ssthresh
    }

    fn cong_avoid(&mut self, ack: &Ack, window: &mut Window) {
        window.cwnd += self.0.fetch_add(ack.acked, Ordering::Relaxed) + ack.acked;
    }

    fn metrics(&self, window: &Window) -> CongestionMetrics {
        let own = [Some(("delivered_bytes", self.0.load(Ordering::Relaxed))), None];
        CongestionMetrics { state: "coupled", own, ..CongestionMetrics::of(window) }
    }
}

#[test]
fn a_congestion_control_from_outside_may_share_a_state_among_connections() {
    let coupled = Coupled::default();
    let config = || Config { initial_window: 2, ..plain() };
    let answer = |ack, flags| TcpHeader {
        ack: Seq(ack),
        flags: flags | TcpFlags::ACK,
        window: 60_000,
        ..TcpHeader::default()
    };
    let syn = TcpHeader { flags: TcpFlags::SYN, window: 60_000, ..TcpHeader::default() };
    let mut ends = [
        Connection::connect_with(config(), Seq(0), &coupled),
        Connection::accept_with(config(), Seq(0), &syn, &coupled),
    ];
    for (end, flags) in ends.iter_mut().zip([TcpFlags::SYN, TcpFlags::NONE]) {
        while end.poll_transmit(ms(0)).is_some() {}
        let seq = Seq(u32::from(flags == TcpFlags::NONE));
        end.handle_segment(ms(0), &TcpHeader { seq, ..answer(1, flags) }, &Payload::Empty);
        assert_eq!(end.write(&Payload::pattern(0, 0, 5000)), 5000);
        while end.poll_transmit(ms(0)).is_some() {}
        let before = end.metrics().cwnd;
        end.handle_segment(
            ms(50),
            &TcpHeader { seq: Seq(1), ..answer(101, TcpFlags::NONE) },
            &Payload::Empty,
        );
        let grown = end.metrics().cwnd - before;
        assert_eq!(end.congestion_metrics().own[0], Some(("delivered_bytes", grown)));
    }
    assert_eq!(ends.map(|end| end.metrics().cwnd), [2 * 536 + 100, 2 * 536 + 200]);
}

#[test]
fn each_algorithm_shows_what_it_goes_by() {
    for &(name, congestion) in Congestion::ALL {
        let mut t = two_out(Config { congestion, ..plain() });
        t.recv(ack(s(1))).skip();
        let (shown, metrics) = (t.tcp.congestion_metrics(), t.tcp.metrics());
        assert_eq!((shown.cwnd, shown.ssthresh), (metrics.cwnd, metrics.ssthresh), "{name}");
        let expected: (&str, [Option<&str>; 2]) = match congestion {
            Congestion::Bbr => ("startup", [Some("bandwidth_bytes_per_second"), Some("min_rtt_ns")]),
            Congestion::Vegas => ("slow_start", [Some("base_rtt_ns"), None]),
            // The others have nothing to show before a loss.
            _ => ("slow_start", [None, None]),
        };
        assert_eq!((shown.state, shown.own.map(|value| value.map(|(name, _)| name))), expected, "{name}");
    }
    let mut t = two_out(Config { congestion: Congestion::Cubic, ..plain() });
    t.recv(ack(1)).recv(ack(1)).recv(ack(1)).skip();
    assert_eq!(t.tcp.congestion_metrics().own[0], Some(("w_max_bytes", 2 * 1460)));
}

/// Karn's rule leaves nothing but the echo of a timestamp (tcp_ack_update_rtt()): BBR's smallest round-trip time is in whole milliseconds then.
#[test]
fn after_a_retransmission_the_echo_tells_the_round_trip() {
    let config = Config { congestion: Congestion::Bbr, ..Profile::Linux.config() };
    let mut t = Ladder::server(config, syn().mss(1460).sack_permitted(true).stamps((1, 0)));
    t.skip().at(ms(100)).recv(ack(1).stamps((2, 1)));
    let min_rtt = |t: &Ladder| t.tcp.congestion_metrics().own[1].map(|(_, nanos)| nanos);
    // The loss probe leaves at 416 ms, when the time was 417.
    t.write(1000).skip().at(ms(416)).skip();
    assert_eq!((t.tcp.counters().loss_probes, min_rtt(&t)), (1, Some(100_000_000)));
    t.at(ms(450)).recv(ack(1001).stamps((3, 417)));
    assert_eq!(min_rtt(&t), Some(34_000_000));
}
