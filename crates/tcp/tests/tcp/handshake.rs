//! Opening a connection: RFC 9293 section 3.5, RFC 6298 section 5, RFC 7323, RFC 2018, RFC 5681 section 3.1.

use crate::ladder::{Ladder, ack, data, fin, ms, plain, rst, span_ms, syn, syn_ack};
use voxpath_tcp::{Config, Ended, Profile, State};

#[test]
fn an_active_open_is_three_segments() {
    // RFC 9293 section 3.5, figure 6
    let mut t = Ladder::client(plain());
    t.expect(syn().mss(1460).scale(None).sack_permitted(false).stamps(None)).state(State::SynSent);
    t.at(ms(100)).recv(syn_ack().mss(1460));
    t.expect(ack(1).seq(1)).state(State::Established).idle();
}

#[test]
fn a_passive_open_is_three_segments() {
    // RFC 9293 section 3.5, figure 6
    let mut t = Ladder::server(plain(), syn().mss(1460));
    t.expect(syn_ack().mss(1460)).state(State::SynReceived);
    t.at(ms(100)).recv(ack(1)).expect_nothing().state(State::Established).idle();
}

#[test]
fn data_and_fin_may_come_with_the_acknowledgment_of_our_syn() {
    // RFC 9293 section 3.10.7.4: processing goes on after SYN-RECEIVED became ESTABLISHED.
    let mut t = Ladder::server(plain(), syn().mss(1460));
    t.expect(syn_ack());
    t.at(ms(100)).recv(data(1, 100).ack(1).with_fin()).expect(ack(102)).state(State::CloseWait);
    t.read(100);
    assert!(t.tcp.is_at_end());
}

#[test]
fn a_syn_is_repeated_with_back_off_and_then_given_up() {
    // RFC 6298 (5.5), RFC 9293 section 3.8.3
    let mut t = Ladder::client(Config { syn_retries: 3, ..plain() });
    t.expect(syn());
    t.at(ms(1000)).expect(syn());
    t.at(ms(3000)).expect(syn());
    t.at(ms(7000)).expect(syn());
    t.at(ms(14_999)).ended(None);
    t.at(ms(15_000)).expect_nothing().ended(Ended::TimedOut).state(State::Closed).idle();
}

#[test]
fn a_syn_ack_is_repeated_with_back_off() {
    // RFC 6298 (5.5)
    let mut t = Ladder::server(plain(), syn().mss(1460));
    t.expect(syn_ack());
    t.at(ms(1000)).expect(syn_ack().mss(1460));
    t.at(ms(3000)).expect(syn_ack());
    t.at(ms(3100)).recv(ack(1)).state(State::Established).idle();
}

#[test]
fn two_ends_that_take_each_others_syn_for_wrong_do_not_answer_each_other_for_ever() {
    // RFC 5961 section 7: as often as other segments that nobody should have sent; then the timer decides, and gives up.
    let mut t = Ladder::server(Config { syn_retries: 1, ..plain() }, syn().mss(1460));
    t.expect(syn_ack()).at(ms(10));
    for _ in 0..10 {
        t.recv(syn_ack().seq(200_000)).expect(syn_ack());
    }
    for _ in 0..10 {
        t.recv(syn_ack().seq(200_000)).expect_nothing();
    }
    t.at(ms(1010)).expect(syn_ack()).recv(syn_ack().seq(200_000)).expect_nothing();
    t.at(ms(3010)).expect_nothing().ended(Ended::TimedOut);
}

#[test]
fn a_repeated_syn_is_answered_with_the_syn_ack_again() {
    // RFC 9293 section 3.10.7.4: ours may have been lost.
    let mut t = Ladder::server(plain(), syn().mss(1460));
    t.expect(syn_ack());
    t.at(ms(500)).recv(syn().mss(1460)).expect(syn_ack()).state(State::SynReceived);
    t.at(ms(600)).recv(ack(1)).state(State::Established);
}

#[test]
fn after_a_lost_syn_the_timeout_is_three_seconds_and_the_window_one_segment() {
    // RFC 6298 (5.7), RFC 5681 section 3.1
    let mut t = Ladder::client(plain());
    t.expect(syn());
    t.at(ms(1000)).expect(syn());
    t.at(ms(1100)).recv(syn_ack().mss(1460)).expect(ack(1)).rto(3000).cwnd(1460);
    t.write(3000).expect(data(1, 1460));
    t.at(ms(4100)).expect(data(1, 1460)).rto(6000);
}

#[test]
fn after_a_lost_syn_timestamps_give_a_sample_all_the_same() {
    // RFC 7323 section 4: the echo tells which SYN was answered, so (5.7)'s ignorance does not apply.
    let mut t = Ladder::client(Config { timestamps: true, ..plain() });
    t.expect(syn().stamps((1, 0)));
    t.at(ms(1000)).expect(syn().stamps((1001, 0)));
    t.at(ms(1100)).recv(syn_ack().mss(1460).stamps((7, 1001))).expect(ack(1)).rto(1000);
    assert_eq!(t.tcp.metrics().srtt, Some(span_ms(100)));
}

#[test]
fn the_initial_window_is_configured_in_segments() {
    // RFC 6928 section 2, of SMSS less the options that each segment carries.
    let mut t = Ladder::established(Config { initial_window: 4, ..plain() });
    t.cwnd(4 * 1460).write(20_000).expect_data(1, 1460, 4).expect_nothing();
    let mut t = Ladder::established(Config { timestamps: true, initial_window: 10, ..plain() });
    t.cwnd(10 * 1448).write(20_000).expect_data(1, 1448, 10).expect_nothing();
}

#[test]
fn a_refused_connection_ends() {
    // RFC 9293 section 3.10.7.3: a reset that acknowledges the SYN
    let mut t = Ladder::client(plain());
    t.expect(syn());
    t.at(ms(100)).recv(rst(0).ack(1)).expect_nothing().ended(Ended::Refused).idle();
}

#[test]
fn a_reset_that_does_not_acknowledge_the_syn_is_ignored() {
    // RFC 9293 section 3.10.7.3
    let mut t = Ladder::client(plain());
    t.expect(syn());
    t.at(ms(100)).recv(rst(0)).recv(rst(0).ack(2)).recv(rst(0).ack(0));
    t.expect_nothing().state(State::SynSent);
}

#[test]
fn a_wrong_acknowledgment_of_the_syn_is_reset() {
    // RFC 9293 section 3.10.7.3: <SEQ=SEG.ACK><CTL=RST>, and the SYN stays open.
    let mut t = Ladder::client(plain());
    t.expect(syn());
    t.at(ms(100)).recv(ack(77).seq(5)).expect(rst(77)).state(State::SynSent);
    t.recv(syn_ack().ack(2)).expect(rst(2)).state(State::SynSent);
    t.recv(syn_ack().mss(1460)).expect(ack(1)).state(State::Established);
}

#[test]
fn a_wrong_acknowledgment_in_syn_received_is_reset() {
    // RFC 9293 section 3.10.7.4, fifth check
    let mut t = Ladder::server(plain(), syn().mss(1460));
    t.expect(syn_ack());
    t.recv(ack(9)).expect(rst(9)).state(State::SynReceived);
    t.recv(ack(1)).state(State::Established);
}

#[test]
fn a_segment_without_acknowledgment_does_not_open() {
    // RFC 9293 section 3.10.7.4, fifth check: "if the ACK bit is off, drop the segment".
    let mut t = Ladder::server(plain(), syn().mss(1460));
    t.expect(syn_ack());
    t.recv(data(1, 10).without_ack()).expect_nothing().state(State::SynReceived);
}

#[test]
fn a_reset_in_syn_received_refuses() {
    // RFC 9293 section 3.10.7.4, second check
    let mut t = Ladder::server(plain(), syn().mss(1460));
    t.expect(syn_ack());
    t.recv(rst(1)).expect_nothing().ended(Ended::Refused);
}

#[test]
fn both_ends_may_open_at_once() {
    // RFC 9293 section 3.5, figure 7
    let mut t = Ladder::client(plain());
    t.expect(syn());
    t.at(ms(50)).recv(syn().mss(1000)).expect(syn_ack()).state(State::SynReceived);
    t.at(ms(100)).recv(syn_ack()).expect(ack(1).seq(1)).state(State::Established).idle();
    t.write(1000).expect(data(1, 1000));
}

#[test]
fn the_window_of_a_syn_ack_is_not_scaled_in_a_simultaneous_open_either() {
    // RFC 7323 section 2.2: "the window field in a SYN segment itself is never scaled".
    let mut t = Ladder::client(Config { window_scaling: true, ..plain() });
    t.expect(syn());
    t.at(ms(50)).recv(syn().mss(1460).scale(7).window(1000)).expect(syn_ack());
    t.at(ms(100)).recv(syn_ack().mss(1460).scale(7).window(1000)).expect(ack(1));
    assert_eq!(t.tcp.metrics().snd_wnd, 1000);
    t.recv(ack(1).window(1000));
    assert_eq!(t.tcp.metrics().snd_wnd, 128_000);
}

#[test]
fn a_connection_can_be_dropped_before_it_is_open() {
    // RFC 9293 section 3.10.4: CLOSE in SYN-SENT deletes the TCB.
    let mut t = Ladder::client(plain());
    t.expect(syn()).close().expect_nothing().ended(Ended::Closed).idle();
    t.at(ms(100)).recv(syn_ack()).expect(rst(1));
}

#[test]
fn a_close_in_syn_received_waits_for_the_handshake() {
    // RFC 9293 section 3.10.4
    let mut t = Ladder::server(plain(), syn().mss(1460));
    t.expect(syn_ack()).close().expect_nothing();
    t.at(ms(100)).recv(ack(1)).expect(fin(1).ack(1)).state(State::FinWait1);
}

#[test]
fn data_written_before_the_handshake_follows_it() {
    // RFC 9293 section 3.10.2: SEND in SYN-SENT queues the data.
    let mut t = Ladder::client(plain());
    t.expect(syn()).write(100).expect_nothing();
    t.at(ms(100)).recv(syn_ack().mss(1460)).expect(data(1, 100).ack(1)).expect_nothing();
}

#[test]
fn an_option_is_used_when_both_ends_offer_it() {
    // RFC 7323 sections 2.2 and 3.2, RFC 2018 section 2
    for bits in 0..64_u32 {
        let bit = |n: u32| bits >> n & 1 == 1;
        let config = Config {
            window_scaling: bit(0),
            timestamps: bit(1),
            sack: bit(2),
            receive_buffer: 1 << 20,
            ..Profile::Rfc.config()
        };
        let offer = syn()
            .mss(1460)
            .scale(bit(3).then_some(2))
            .stamps(bit(4).then_some((1, 0)))
            .sack_permitted(bit(5));
        let (scale, stamps, sack) = (bit(0) && bit(3), bit(1) && bit(4), bit(2) && bit(5));
        let mut t = Ladder::server(config.clone(), offer.clone());
        let answer = syn_ack()
            .scale(scale.then_some(5))
            .stamps(stamps.then_some((1, 1)))
            .sack_permitted(sack)
            .window(u16::MAX);
        t.expect(answer);
        t.recv(ack(1).window(1000));
        assert_eq!(t.tcp.metrics().snd_wnd, if scale { 4000 } else { 1000 }, "{bits:b}");
        t.recv(data(101, 100)).expect(ack(1).window(if scale { 32_768 } else { 65_535 }));
        t.recv(data(301, 100));
        t.expect(if sack { ack(1).sack(&[(301, 401), (101, 201)]) } else { ack(1).sack(&[]) });

        // The same from the side that connects.
        let mut t = Ladder::client(config);
        t.expect(
            syn()
                .scale(bit(0).then_some(5))
                .stamps(bit(1).then_some((1, 0)))
                .sack_permitted(bit(2))
                .window(u16::MAX),
        );
        t.recv(offer.with_syn().ack(1).window(1000));
        t.expect(ack(1).stamps(stamps.then_some((1, 1))).window(if scale { 32_768 } else { 65_535 }));
        assert_eq!(t.tcp.metrics().snd_wnd, 1000, "a SYN's window is not scaled");
    }
}

#[test]
fn a_scale_of_zero_is_answered_too() {
    // RFC 7323 section 2.2: the option announces readiness, whatever the shift.
    let config = Config { window_scaling: true, receive_buffer: 20_000, ..plain() };
    Ladder::server(config, syn().mss(1460).scale(0)).expect(syn_ack().scale(0));
}

#[test]
fn a_scale_above_fourteen_counts_as_fourteen() {
    // RFC 7323 section 2.3
    let mut t = Ladder::server(Config { window_scaling: true, ..plain() }, syn().mss(1460).scale(200));
    t.expect(syn_ack()).recv(ack(1).window(2));
    assert_eq!(t.tcp.metrics().snd_wnd, 2 << 14);
}

#[test]
fn the_smaller_maximum_segment_size_counts_and_its_absence_is_536() {
    // RFC 9293 section 3.7.1
    for (ours, theirs, expected) in
        [(1460, Some(1000), 1000), (500, Some(1460), 500), (1460, None, 536), (400, None, 400)]
    {
        let mut t = Ladder::established_after(Config { mss: ours, ..plain() }, syn().mss(theirs));
        t.write(5000).expect(data(1, expected));
    }
}

#[test]
fn timestamps_take_their_room_from_the_segment() {
    // RFC 9293 section 3.7.1: Eff.snd.MSS is less IP and TCP options.
    let mut t = Ladder::established(Config { timestamps: true, ..plain() });
    t.write(5000).expect(data(1, 1448));
}

#[test]
fn an_unacceptable_segment_in_syn_received_is_answered_with_the_state_of_things() {
    // RFC 9293 section 3.10.7.4, first check
    let mut t = Ladder::server(plain(), syn().mss(1460));
    t.expect(syn_ack());
    t.recv(data(3_000_000, 10).ack(1)).expect(ack(1).seq(1)).state(State::SynReceived);
}

#[test]
fn a_reset_from_before_the_connection_is_not_answered() {
    // RFC 9293 section 3.10.7.4, first check: "unless the RST bit is set".
    let mut t = Ladder::established(plain());
    t.recv(rst(0_u32.wrapping_sub(500))).expect_nothing().state(State::Established);
}
