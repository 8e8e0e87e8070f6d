//! Whole transfers over a pipe with chosen losses: what the ways of recovery cost, and large transfers.

use crate::ladder::{plain, span_ms};
use crate::pair::{App, Pair};
use voxpath_tcp::{Config, Counters, Profile, Recovery};
use voxpath_units::{Span, Time};
use voxpath_wire::tcp::TcpHeader;

const MSS: u64 = 1460;

fn sends(octets: u64) -> App {
    App { octets, write_size: 1 << 20, slow_reader: None }
}

/// End 0 sends 100 segments, ten at first, over 20 ms each way; the data packets of these numbers (from 1, repetitions
/// counted) are lost. When the last octet was read, and what the sender counted.
fn transfer(config: Config, lost: &'static [u64]) -> (Time, Counters) {
    let mut data_packets = 0;
    let mut pair = Pair::new([config.clone(), config], [sends(100 * MSS), sends(0)], move |end, index, _| {
        // The first two packets are the SYN and the handshake's acknowledgment.
        data_packets += u64::from(end == 0 && index >= 2);
        let drop = end == 0 && index >= 2 && lost.contains(&data_packets);
        if drop { Vec::new() } else { vec![span_ms(20)] }
    });
    pair.drive();
    (pair.ends[1].finished.expect("it ended"), *pair.tcp(0).counters())
}

fn way(recovery: Option<Recovery>) -> Config {
    // Without limited transmit and delays: the classic diagrams.
    let config = Config {
        sack: recovery.is_none(),
        recovery: recovery.unwrap_or(Recovery::NewReno),
        limited_transmit: false,
        ..crate::ladder::prompt()
    };
    Config { receive_buffer: 20 * MSS as u32, ..config }
}

const WAYS: [Option<Recovery>; 4] =
    [Some(Recovery::Tahoe), Some(Recovery::Reno), Some(Recovery::NewReno), None];

#[test]
fn one_loss_is_one_repetition_for_all_but_tahoe() {
    // RFC 5681 section 3.2
    for way_of in WAYS {
        let (_, counters) = transfer(way(way_of), &[5]);
        assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 0), "{way_of:?}");
        if way_of != Some(Recovery::Tahoe) {
            assert_eq!(counters.retransmissions, 1, "{way_of:?}");
        }
    }
}

#[test]
fn each_way_of_recovery_is_at_least_as_fast_as_the_one_before() {
    // Fall and Floyd 1996: one to three losses in a window
    for lost in [&[5][..], &[5, 7], &[5, 7, 9]] {
        let times: Vec<Time> = WAYS.iter().map(|&w| transfer(way(w), lost).0).collect();
        assert!(times[1] >= times[2] && times[2] >= times[3], "{lost:?}: {times:?}");
    }
}

#[test]
fn two_losses_in_a_window_cost_newreno_and_sack_no_timeout() {
    // RFC 6582, RFC 6675
    for way_of in [Some(Recovery::NewReno), None] {
        let (_, counters) = transfer(way(way_of), &[5, 7]);
        assert_eq!(
            (counters.retransmissions, counters.fast_retransmits, counters.timeouts),
            (2, 1, 0),
            "{way_of:?}"
        );
    }
}

#[test]
fn three_losses_cost_reno_a_timeout() {
    // Fall and Floyd 1996, figure 4; what NewReno and SACK were made for
    let (slow, counters) = transfer(way(Some(Recovery::Reno)), &[5, 7, 9]);
    assert!(counters.timeouts >= 1, "{counters:?}");
    for way_of in [Some(Recovery::NewReno), None] {
        let (fast, counters) = transfer(way(way_of), &[5, 7, 9]);
        assert_eq!((counters.retransmissions, counters.timeouts), (3, 0), "{way_of:?}");
        assert!(fast + Span::from_millis(500) < slow);
    }
}

#[test]
fn sack_repairs_all_losses_of_a_window_in_two_round_trips() {
    // RFC 6675: NewReno needs a round trip for each.
    let (newreno, _) = transfer(way(Some(Recovery::NewReno)), &[11, 13, 15, 17]);
    let (sack, counters) = transfer(way(None), &[11, 13, 15, 17]);
    assert_eq!((counters.retransmissions, counters.timeouts), (4, 0));
    assert!(sack + span_ms(40) <= newreno, "{sack} {newreno}");
}

#[test]
fn a_lost_repetition_costs_every_way_a_timeout() {
    // RFC 6298: here the second segment is lost twice.
    for way_of in WAYS {
        let second = (u32::MAX - 20_000).wrapping_add(1 + MSS as u32);
        let mut copies = 0;
        let decide = move |end: usize, _: u64, header: &TcpHeader| {
            let is_second = end == 0 && header.seq.0 == second;
            copies += u64::from(is_second);
            if is_second && copies <= 2 { Vec::new() } else { vec![span_ms(20)] }
        };
        let mut pair = Pair::new([way(way_of), way(way_of)], [sends(100 * MSS), sends(0)], decide);
        pair.drive();
        assert!(pair.tcp(0).counters().timeouts >= 1, "{way_of:?}");
    }
}

#[test]
fn a_loss_free_transfer_takes_a_window_a_round_trip() {
    // An oracle: 8760 octets are six segments; slow start from one shows in the first rounds only.
    let config = Config { receive_buffer: 8760, initial_window: 6, ..crate::ladder::prompt() };
    let mut pair =
        Pair::new([config.clone(), config], [sends(600 * MSS - 1), sends(0)], |_, _, _| vec![span_ms(20)]);
    pair.drive();
    // The handshake, then 100 windows, the last with room for the FIN and read half a round trip after it was sent.
    assert_eq!(pair.ends[1].finished, Some(Time::ZERO + span_ms(40 + 99 * 40 + 20)));
    assert_eq!(pair.tcp(0).counters().retransmissions, 0);
}

#[test]
fn more_than_four_gibioctets_wrap_the_sequence_space_with_losses() {
    // RFC 9293 section 3.4; RFC 7323 section 5: timestamps tell the rounds apart.
    let config = Config {
        mss: 65_000,
        receive_buffer: 8 << 20,
        send_buffer: 8 << 20,
        cwnd_validation: true,
        ..Profile::Rfc.config()
    };
    let octets = (1 << 32) + (1 << 28);
    let lossy = |end: usize, index: u64, _: &TcpHeader| {
        if end == 0 && index % 997 == 996 { Vec::new() } else { vec![span_ms(10)] }
    };
    let mut pair = Pair::new([config.clone(), config], [sends(octets), sends(0)], lossy);
    pair.drive_bounded(400_000);
    assert_eq!(pair.ends[1].read, octets);
    assert!(pair.tcp(0).counters().fast_retransmits > 20);
}

#[test]
fn a_reader_that_rests_longer_than_the_peers_patience_loses_nothing() {
    // RFC 9293 section 3.8.6.1: the window stays closed for an hour at a time.
    let config = Config { receive_buffer: 5000, retries: 1, ..plain() };
    let reader = App { octets: 0, write_size: 1, slow_reader: Some((2500, Span::from_secs(3600))) };
    let mut pair = Pair::new([config.clone(), config], [sends(30_000), reader], |_, _, _| vec![span_ms(20)]);
    pair.drive();
    assert_eq!(pair.tcp(0).counters().timeouts, 0);
}

#[test]
fn both_ends_may_fill_each_others_window_and_read_nothing_for_a_while() {
    // RFC 9293 section 3.10.7.4: each end's acknowledgments come from the edge of the other's closed window.
    let config = Config { receive_buffer: 4000, retries: 1, ..plain() };
    let app = App { octets: 50_000, write_size: 50_000, slow_reader: Some((1000, Span::from_secs(20))) };
    let mut pair = Pair::new([config.clone(), config], [app.clone(), app], |_, _, _| vec![span_ms(20)]);
    pair.drive_bounded(2000);
    assert_eq!((pair.ends[0].read, pair.ends[1].read), (50_000, 50_000));
}
