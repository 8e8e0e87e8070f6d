//! Flow control: RFC 9293 section 3.8.6, RFC 7323 section 2.

use crate::ladder::{Ladder, ack, data, fin, ms, plain, prompt, span_ms, syn};
use voxpath_tcp::config::NagleRule;
use voxpath_tcp::{Config, ReceiveAccounting, State};

fn receiver(receive_buffer: u32) -> Ladder {
    Ladder::established(Config { receive_buffer, ..prompt() })
}

/// Its peer announces windows of this size.
fn sender(config: Config, window: u16) -> Ladder {
    Ladder::established_after(config, syn().mss(1460).window(window))
}

#[test]
fn the_announced_window_follows_the_buffer() {
    // RFC 9293 section 3.8.6
    let mut t = receiver(8760);
    t.recv(data(1, 1460)).expect(ack(1461).window(7300));
    t.recv(data(1461, 1460)).expect(ack(2921).window(5840));
    t.read(2920).expect(ack(2921).window(8760));
}

#[test]
fn a_window_counted_in_memory_grows_by_two_segments_an_arrival() {
    // Linux 6.18, SO_RCVBUF = 20000 (docs/kernel.md): 13 segments at first, 16 in the end, beside one that is yet to be read.
    let config = Config { receive_buffer: 20_000, receive_accounting: ReceiveAccounting::Memory, ..prompt() };
    let mut t = Ladder::established(config);
    t.recv(data(1, 1460)).expect(ack(1461).window(15 * 1460)).read(1460);
    for n in 2..6 {
        t.recv(data(1 + (n - 1) * 1460, 1460)).expect(ack(1 + n * 1460).window(16 * 1460)).read(1460);
    }
    let mut t = receiver(20_000);
    t.recv(data(1, 1460)).expect(ack(1461).window(20_000 - 1460)).read(1460);
    t.recv(data(1461, 1460)).expect(ack(2921).window(20_000 - 1460));
}

#[test]
fn what_waits_beyond_a_gap_does_not_move_the_right_edge() {
    // RFC 9293 section 3.8.6: the window counts from RCV.NXT.
    let mut t = receiver(8760);
    t.recv(data(1461, 1460)).expect(ack(1).window(8760));
    t.recv(data(1, 1460)).expect(ack(2921).window(5840));
}

#[test]
fn a_full_buffer_closes_the_window_and_reading_opens_it() {
    // RFC 9293 section 3.8.6
    let mut t = receiver(2920);
    t.recv(data(1, 1460)).expect(ack(1461).window(1460));
    t.recv(data(1461, 1460)).expect(ack(2921).window(0));
    t.recv(data(2921, 1)).expect(ack(2921).window(0));
    t.at(ms(10_000)).read(2920).expect(ack(2921).window(2920));
}

#[test]
fn a_probe_of_a_closed_window_brings_its_acknowledgment_all_the_same() {
    // RFC 9293 section 3.10.7.4, first check: "special allowance ... to accept valid ACKs".
    let mut t = receiver(1460);
    t.write(100).expect(data(1, 100));
    t.recv(data(1, 1460)).expect(ack(1461).window(0));
    t.recv(data(1461, 1).ack(101)).expect(ack(1461).window(0)).idle();
}

#[test]
fn a_fin_that_the_window_has_no_room_for_has_to_come_again() {
    // RFC 9293 section 3.4: the FIN occupies an octet of sequence space.
    let mut t = receiver(1460);
    t.recv(data(1, 1460)).expect(ack(1461).window(0));
    t.recv(fin(1461)).expect(ack(1461)).state(State::Established);
    t.read(1460).expect(ack(1461).window(1460));
    t.recv(fin(1461)).expect(ack(1462)).state(State::CloseWait);
}

#[test]
fn the_receiver_does_not_offer_silly_windows() {
    // RFC 9293 section 3.8.6.2.2: the right edge moves by a segment or half the buffer.
    let mut t = receiver(2920);
    t.recv(data(1, 1460)).expect(ack(1461)).recv(data(1461, 1460)).expect(ack(2921).window(0));
    t.read(1459).expect_nothing();
    t.recv(data(2921, 1)).expect(ack(2921).window(0));
    t.read(1).expect(ack(2921).window(1460));
}

#[test]
fn a_buffer_below_two_segments_opens_by_half() {
    // RFC 9293 section 3.8.6.2.2: Fr = 1/2
    let mut t = receiver(1000);
    t.recv(data(1, 1000)).expect(ack(1001).window(0));
    t.read(499).expect_nothing().read(1).expect(ack(1001).window(500));
}

#[test]
fn data_beyond_the_window_is_cut_off() {
    // RFC 9293 section 3.10.7.4, first check: "trimming off any portions that lie outside the window".
    let mut t = receiver(2000);
    t.recv(data(1, 1460)).expect(ack(1461).window(540));
    t.recv(data(1461, 1460)).expect(ack(2001).window(0)).read(2000);
    t.recv(data(5000, 10)).expect(ack(2001)).recv(data(1, 10)).expect(ack(2001));
    assert_eq!(t.tcp.readable(), 0);
}

#[test]
fn data_that_overlaps_is_taken_once() {
    // RFC 9293 section 3.10.7.4, seventh check
    let mut t = receiver(8760);
    t.recv(data(1, 1000)).expect(ack(1001)).recv(data(501, 1000)).expect(ack(1501));
    t.recv(data(2001, 500)).expect(ack(1501)).recv(data(1401, 1400)).expect(ack(2801)).read(2800);
}

#[test]
fn a_scaled_window_is_rounded_down_and_what_was_announced_holds() {
    // RFC 7323 section 2.4, rule 1: honour "any segment that would have been in window for any ACK sent".
    let config = Config { receive_buffer: 1_000_003, window_scaling: true, ..prompt() };
    let mut t = Ladder::established_after(config, syn().mss(1460).scale(0));
    let (mut right, mut next) = (16, 1_u64);
    for i in 0..600_u32 {
        let len = 1 + i * 7 % 1460;
        t.recv(data(next as u32, len));
        next += u64::from(len);
        if i % 5 == 0 {
            t.read((t.tcp.readable() / 2) as u32);
        }
        for window in t.take_windows() {
            let edge = next + (u64::from(window) << 4);
            assert!(edge > right - 16 && edge <= t.read + 1 + 1_000_003, "segment {i}");
            right = right.max(edge);
        }
    }
    while next < right {
        let len = (right - next).min(1460) as u32;
        t.recv(data(next as u32, len)).skip();
        next += u64::from(len);
    }
    assert_eq!(t.read + t.tcp.readable(), right - 1, "all of it");
    t.recv(data(next as u32, 1)).expect(ack(next as u32).window(0));
}

#[test]
fn what_a_syn_ack_announces_is_what_counts() {
    // RFC 7323 section 2.2: its window is not scaled, so at most 65535 octets were offered.
    let config = Config { receive_buffer: 1 << 20, window_scaling: true, ..prompt() };
    let mut t = Ladder::established_after(config, syn().mss(1460).scale(0));
    t.recv(data(65_501, 100)).expect(ack(1).window(32_768));
    t.recv(data(1, 65_000)).recv(data(65_001, 500)).skip().read(65_535);
    assert_eq!(t.tcp.readable(), 0, "what lay beyond was not taken");
}

#[test]
fn the_peers_window_limits_what_is_sent() {
    // RFC 9293 section 3.8.6
    let mut t = sender(plain(), 4000);
    t.write(10_000).expect_data(1, 1460, 2).expect_nothing();
    t.at(ms(100)).recv(ack(2921)).expect_data(2921, 1460, 2);
    t.at(ms(200)).recv(ack(5841).window(1460)).expect(data(5841, 1460)).expect_nothing();
}

#[test]
fn the_sender_does_not_send_silly_segments() {
    // RFC 9293 section 3.8.6.2.1: a segment, everything, or half the largest window.
    let mut t = sender(plain(), 4000);
    t.write(10_000).expect_data(1, 1460, 2).expect_nothing();
    let mut t = sender(plain(), 1000);
    t.write(10_000).expect(data(1, 1000)).at(ms(100)).recv(ack(1001).window(499)).expect_nothing();
    t.recv(ack(1001).window(500)).expect(data(1001, 500));
}

#[test]
fn what_silly_window_avoidance_held_back_leaves_in_the_end() {
    // RFC 9293 section 3.8.6.2.1, rule (4): the override timeout
    let mut t = sender(plain(), 1000);
    t.write(10_000).expect(data(1, 1000)).at(ms(100)).recv(ack(1001).window(499)).expect_nothing();
    t.at(ms(1100)).expect(data(1001, 499)).at(ms(1200)).recv(ack(1500).window(1000)).expect(data(1500, 1000));
}

#[test]
fn an_older_segment_does_not_set_the_window() {
    // RFC 9293 section 3.10.7.4, fifth check: SND.WL1 and SND.WL2
    let mut t = sender(plain(), 4000);
    t.recv(data(101, 100).window(5000)).skip().recv(data(1, 100).window(100)).skip();
    assert_eq!(t.tcp.metrics().snd_wnd, 5000);
    t.write(1000).skip().recv(ack(1001).window(3000)).recv(ack(501).window(7000));
    assert_eq!(t.tcp.metrics().snd_wnd, 3000);
}

#[test]
fn a_repetition_with_a_new_acknowledgment_sets_the_window() {
    // Linux' tcp_may_update_window(): its number is below SND.WL1, but what it acknowledges tells its age.
    let mut t = sender(prompt(), 4000);
    t.recv(data(101, 100)).expect(ack(1)).write(9000).expect_data(1, 1460, 2).expect_nothing();
    t.recv(data(1, 100).ack(1461).window(2540)).skip();
    assert_eq!(t.tcp.metrics().snd_wnd, 2540, "the right edge is where it was");
    assert_eq!(t.tcp.metrics().flight, 1460, "and nothing was sent beyond it");
}

/// A window closed with all data acknowledged and 10 000 octets waiting; the time is 100 ms.
fn closed_window() -> Ladder {
    let mut t = sender(plain(), 1460);
    t.write(11_460).expect(data(1, 1460)).at(ms(100)).recv(ack(1461).window(0)).expect_nothing();
    t.window = 0;
    t
}

#[test]
fn a_closed_window_is_probed_with_back_off_for_ever() {
    // RFC 9293 section 3.8.6.1: first after an RTO, then exponentially; it "MUST allow the connection to stay open".
    let mut t = closed_window();
    let (mut at, mut interval) = (100, 1000);
    for _ in 0..100 {
        at += interval;
        interval = (interval * 2).min(60_000);
        t.at(ms(at)).expect(data(1461, 1));
        t.at(ms(at + 50)).recv(ack(1461)).expect_nothing();
    }
    // Silence is judged once there is a window to send into.
    t.ended(None).cwnd(11 * 1460);
    assert_eq!((t.tcp.counters().timeouts, t.tcp.counters().fast_retransmits), (0, 0));
}

#[test]
fn a_probe_that_is_taken_moves_on() {
    // RFC 9293 section 3.8.6.1
    let mut t = closed_window();
    t.at(ms(1100)).expect(data(1461, 1)).at(ms(1200)).recv(ack(1462).window(2000)).expect(data(1462, 1460));
}

#[test]
fn a_probe_that_is_taken_at_a_closed_window_is_followed_by_the_next_octet() {
    // RFC 9293 section 3.8.6.1
    let mut t = closed_window();
    t.at(ms(1100)).expect(data(1461, 1)).at(ms(1200)).recv(ack(1462)).expect_nothing();
    t.at(ms(2200)).expect(data(1462, 1));
}

#[test]
fn an_update_reopens_the_window() {
    // RFC 9293 section 3.8.6
    let mut t = closed_window();
    t.at(ms(500)).recv(ack(1461).window(2920)).expect_data(1461, 1460, 2).expect_nothing();
}

#[test]
fn after_an_update_a_refused_probe_is_sent_again_with_what_follows() {
    // RFC 9293 section 3.8.6.1
    let mut t = closed_window();
    t.at(ms(1100)).expect(data(1461, 1)).at(ms(1200)).recv(ack(1461));
    t.at(ms(1300)).recv(ack(1461).window(1461)).expect(data(1461, 1)).expect(data(1462, 1460));
    t.expect_nothing().recv(ack(2922).window(4380)).expect_data(2922, 1460, 3);
}

#[test]
fn a_lost_update_is_made_up_for_by_a_probe() {
    // RFC 9293 section 3.8.6.1: "If the zero window is not probed ... the update is lost".
    let mut t = closed_window();
    t.at(ms(1100)).expect(data(1461, 1)).at(ms(1200)).recv(ack(1461));
    t.at(ms(3100)).expect(data(1461, 1)).at(ms(3200)).recv(ack(1462).window(1460)).expect(data(1462, 1460));
}

#[test]
fn a_fin_waits_for_the_window_and_probes_it() {
    // RFC 9293 section 3.4: the FIN occupies sequence space; 3.8.6.1: one that is refused is no dead peer.
    let mut t = sender(Config { retries: 2, ..plain() }, 1000);
    t.write(1000).expect(data(1, 1000)).close().expect_nothing();
    t.at(ms(100)).recv(ack(1001).window(0)).expect_nothing();
    t.window = 0;
    let mut at = 100;
    for interval in [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
        at += interval;
        t.at(ms(at)).expect(fin(1001)).recv(ack(1001));
    }
    t.ended(None).recv(ack(1001).window(10)).expect(fin(1001)).recv(ack(1002)).state(State::FinWait2).idle();
}

#[test]
fn a_bare_acknowledgment_stays_inside_the_peers_window() {
    // Linux' tcp_acceptable_seq(): with the number of the octet after a refused probe the peer would refuse it.
    let mut t = closed_window();
    t.at(ms(1100)).expect(data(1461, 1)).recv(data(1, 100)).recv(data(101, 100)).expect(ack(201).seq(1461));
}

#[test]
fn a_sender_that_filled_the_window_acknowledges_from_its_edge() {
    // RFC 9293 section 3.10.7.4 would refuse it, and with it the acknowledgment; Linux' tcp_sequence() takes it.
    let mut t = receiver(2920);
    t.write(500).expect(data(1, 500)).recv(ack(501).seq(2921)).expect_nothing().idle();
    t.recv(ack(501).seq(2922)).expect(ack(1));
}

#[test]
fn two_ends_that_have_taken_each_others_probe_go_on() {
    // Both speak from before the probe, as they do not know that it was taken, and so from before the other's window.
    let mut t = closed_window();
    t.recv(data(1, 100).ack(1461).window(0)).at(ms(300)).skip();
    t.at(ms(1100)).expect(data(1461, 1));
    t.recv(data(1, 100).ack(1462).window(2000)).expect(data(1462, 1460).ack(101));
}

#[test]
fn an_old_segment_that_acknowledges_what_was_never_sent_is_not_believed() {
    // RFC 5961 section 5.2
    let mut t = sender(plain(), 5000);
    t.write(1000).expect(data(1, 1000)).recv(data(1, 100)).at(ms(200)).skip();
    t.recv(data(1, 100).ack(1002)).expect(ack(101)).recv(ack(1001)).expect_nothing();
}

#[test]
fn a_window_drawn_back_with_data_under_way_is_probed_and_does_not_time_out() {
    // RFC 9293 section 3.8.6: "a sender SHOULD NOT time out the connection if data beyond the right window edge is
    // not acknowledged", and a window shrunk to zero MUST be probed.
    let mut t = sender(Config { retries: 3, ..plain() }, 8760);
    t.write(4380).expect_data(1, 1460, 3).at(ms(100)).recv(ack(1461).window(0));
    t.window = 0;
    let mut at = 100;
    for interval in [1000, 2000, 4000, 8000, 16_000] {
        at += interval;
        t.at(ms(at)).expect(data(1461, 1460)).recv(ack(1461)).expect_nothing();
    }
    t.ended(None)
        .at(ms(at + 100))
        .recv(ack(1461).window(8760))
        .expect_data(1461, 1460, 2)
        .recv(ack(4381))
        .idle();
}

#[test]
fn small_probes_do_not_wear_the_override_timeout_out() {
    // RFC 9293 section 3.8.6.1: progress begins a new series of intervals.
    let mut t = sender(plain(), 1000);
    t.write(20_000).expect(data(1, 1000));
    let mut seq = 1001;
    for round in 0..10 {
        t.at(ms(1000 * round + 100)).recv(ack(seq).window(400)).expect_nothing();
        t.at(ms(1000 * round + 1100)).expect(data(seq, 400));
        seq += 400;
    }
}

#[test]
fn nagle_holds_small_segments_while_data_is_outstanding() {
    // RFC 9293 section 3.7.4
    let mut t = Ladder::established(Config { nagle: true, ..plain() });
    t.write(100).expect(data(1, 100)).write(100).expect_nothing().write(100).expect_nothing();
    t.at(ms(100)).recv(ack(101)).expect(data(101, 200)).write(1460).expect(data(301, 1460));
    t.write(100).expect_nothing().close().expect(data(1761, 100).with_fin());
}

#[test]
fn minshalls_nagle_holds_small_segments_while_a_small_one_is_outstanding() {
    // draft-minshall-nagle-01
    let mut t = Ladder::established(Config { nagle: true, nagle_rule: NagleRule::Minshall, ..plain() });
    t.write(1560).expect(data(1, 1460)).expect(data(1461, 100));
    t.write(100).expect_nothing();
    t.at(ms(10)).recv(ack(1461)).expect_nothing();
    t.at(ms(11)).recv(ack(1561)).expect(data(1561, 100));
}

#[test]
fn nagle_holds_half_a_window_too() {
    // RFC 9293 section 3.8.6.2.1, rule (3): "[SND.NXT = SND.UNA and]" applies with Nagle's algorithm.
    let mut t = sender(Config { nagle: true, ..plain() }, 2000);
    t.write(2000).expect(data(1, 1460)).expect_nothing();
    let mut t = sender(Config { nagle: true, mss: 1000, ..plain() }, 1500);
    t.write(500).expect(data(1, 500)).write(900).expect_nothing();
    t.at(ms(100)).recv(ack(501)).expect(data(501, 900));
}

#[test]
fn without_nagle_small_segments_leave_at_once() {
    // RFC 9293 section 3.7.4: an application MUST be able to switch it off.
    let mut t = Ladder::established(plain());
    t.write(100).expect(data(1, 100)).write(100).expect(data(101, 100));
}

#[test]
fn a_closed_window_outlives_any_number_of_unanswered_probes() {
    // RFC 9293 section 3.8.6.1 does not let the persist timer give up; this crate never does.
    let mut t = sender(Config { retries: 1, persist: persist(100, 1000), ..plain() }, 1460);
    t.write(5000).expect(data(1, 1460)).at(ms(10)).recv(ack(1461).window(0));
    let mut at = 10;
    for _ in 0..200 {
        at += 1000;
        t.at(ms(at)).expect(data(1461, 1));
    }
    t.ended(None);
}

fn persist(min: u64, max: u64) -> voxpath_tcp::config::PersistConfig {
    voxpath_tcp::config::PersistConfig { min: span_ms(min), max: span_ms(max) }
}
