//! A speech session: what is due when, and the arithmetic of the decoder's queue.
#![allow(missing_docs)]

mod common;

use common::*;
use proptest::prelude::*;
use std::sync::Arc;
use voxpath_apps::layers::websocket::{frame, masked};
use voxpath_apps::speech::decoder::Service;
use voxpath_apps::speech::{Account, Client, Segment, Server, Speech, SpeechResult};
use voxpath_apps::{StreamApplication, StreamMachine};
use voxpath_net::Seed;
use voxpath_units::{Span, Time};

const MS: u64 = 1_000_000;

/// Half a second for each second, 40 ms and a tenth of the segment at its end; nothing varies.
fn service() -> Service {
    Service {
        per_second_ns: 500 * MS,
        finishing_ns: 40 * MS,
        finishing_per_second_ns: 100 * MS,
        piece_bytes: 32_000,
        ..Service::default()
    }
}

/// A second of audio, 32 octets a millisecond, in blocks of a quarter; a partial result after 400 ms, and a final one.
fn speech() -> Speech {
    let told = |after_bytes, bytes, spoken_bytes| SpeechResult { after_bytes, bytes, spoken_bytes };
    Speech {
        request_bytes: 400,
        response_bytes: 200,
        audio_bytes: 32_000,
        length_ns: 1_000 * MS,
        block_bytes: 8_000,
        paced: true,
        waiting_ns: 0,
        segments: vec![WHOLE],
        results: vec![told(Some(12_800), 150, None), told(None, 300, Some(28_000))],
        farewell_bytes: 250,
        decoder: service(),
    }
}

const WHOLE: Segment = Segment { begins_bytes: 0, lead_ns: 0, ends_bytes: None };

fn ends(speech: Speech) -> [StreamApplication; 2] {
    drawn(speech, 1)
}

fn drawn(speech: Speech, seed: u64) -> [StreamApplication; 2] {
    let speech = Arc::new(speech);
    let server = Server::new(Arc::clone(&speech), Seed::new(seed, 0).stream("decoder"), 0, 1);
    [
        StreamApplication::SpeechClient(Client::new(speech, 0, 1)),
        StreamApplication::SpeechServer(Box::new(server)),
    ]
}

fn account(app: &StreamApplication) -> &Account {
    app.record().account().expect("both ends have one")
}

/// Milliseconds of each time.
fn millis(times: &[Time]) -> Vec<u64> {
    times.iter().map(|at| at.as_nanos() / 1_000_000).collect()
}

#[test]
fn paced_audio_is_sent_when_it_is_over_and_decoded_as_it_comes() {
    let both = ends(speech());
    // The request goes at 0 ms, and its answer comes back when both ends are driven again.
    let [client, server] = converse(both, u32::MAX, u32::MAX);
    let opened = account(&client).opened_at.expect("it stood");
    let since =
        |times: &[Time]| times.iter().map(|at| at.since(opened).as_nanos() / 1_000_000).collect::<Vec<_>>();
    assert_eq!(since(&account(&client).messages), [250, 500, 750, 1000, 1000]);
    assert_eq!(since(&account(&server).messages), [250, 500, 750, 1000, 1000]);
    // Each block takes 125 ms; after the last one the end: 40 ms and a tenth of a second.
    assert_eq!(since(&account(&server).results), [500 + 125, 1000 + 125 + 140]);
    assert_eq!(account(&server).decoding, Span::from_millis(4 * 125 + 140));
    assert_eq!((client.record().wrong_octets, server.record().wrong_octets), (0, 0));
    let up = 400 + 4 * masked(8_000) + masked(3) + masked(2);
    let down = 200 + frame(150) + frame(300) + frame(250) + frame(2);
    assert_eq!((server.record().octets, client.record().octets), (up, down));
    assert_eq!(up, 400 + 4 * 8_008 + 9 + 8);
}

#[test]
fn unpaced_audio_waits_for_the_decoder_not_the_decoder_for_it() {
    let [client, server] = converse(ends(Speech { paced: false, ..speech() }), u32::MAX, u32::MAX);
    let opened = account(&client).opened_at.expect("it stood");
    assert!(account(&client).messages.iter().all(|&at| at == opened), "32 kB fit into every buffer");
    let first = account(&server).messages[0];
    let after: Vec<u64> =
        account(&server).results.iter().map(|at| at.since(first).as_nanos() / 1_000_000).collect();
    assert_eq!(after, [250, 640], "two blocks of 125 ms, four and the end");
}

#[test]
fn a_decoder_that_is_slower_than_speech_falls_behind_by_what_it_is_slower() {
    let decoder = Service { per_second_ns: 1_600 * MS, ..service() };
    let [client, server] = converse(ends(Speech { decoder, ..speech() }), u32::MAX, u32::MAX);
    let opened = account(&client).opened_at.expect("it stood");
    // Blocks take 400 ms each, one after the other from the first one's arrival on.
    let last = account(&server).results[1].since(opened);
    assert_eq!(last, Span::from_millis(250 + 4 * 400 + 140));
}

#[test]
fn what_is_held_back_is_decoded_at_once() {
    // Nothing for 600 ms, then 300 ms for these, then as before.
    let decoder = Service { curve_ns: vec![(600 * MS, 0), (601 * MS, 300 * MS)], ..service() };
    let [client, server] = converse(ends(Speech { decoder, ..speech() }), u32::MAX, u32::MAX);
    let opened = account(&client).opened_at.expect("it stood");
    let results: Vec<u64> = millis(&account(&server).results);
    let opened = opened.as_nanos() / 1_000_000;
    // The block of 500 to 750 ms takes 300 ms and half of 149 ms; the last one has to wait for that.
    let third = 750 + 300 + 74;
    assert_eq!(results[0] - opened, 500, "nothing is decoded yet");
    assert_eq!(results[1] - opened, third + 125 + 140);
}

#[test]
fn segments_end_on_audio_time() {
    // Speech is found after 200 ms with 150 ms of it, and its end after 700 ms.
    let segment = Segment { begins_bytes: 6_400, lead_ns: 150 * MS, ends_bytes: Some(22_400) };
    let told = SpeechResult { after_bytes: Some(22_400), bytes: 300, spoken_bytes: Some(16_000) };
    let speech = Speech { results: vec![told], segments: vec![segment], ..speech() };
    assert_eq!(speech.decided_by(told.after_bytes), 2);
    let [client, server] = converse(ends(speech), u32::MAX, u32::MAX);
    let opened = account(&client).opened_at.expect("it stood");
    // Of the third block 200 ms are speech; the segment has 650 ms, and ends with 40 ms and a tenth of that.
    let result = account(&server).results[0].since(opened);
    assert_eq!(result, Span::from_millis(750 + 100 + 40 + 65));
    assert_eq!(account(&server).decoding, Span::from_millis(325 + 105), "the rest is no speech");
}

#[test]
fn a_worker_that_is_waited_for_and_one_that_is_far_come_on_top() {
    let decoder = Service { forwarding_ns: 3 * MS, ..service() };
    let speech = Speech { waiting_ns: 2_000 * MS, decoder, ..speech() };
    let [client, server] = converse(ends(speech), u32::MAX, u32::MAX);
    let asked = account(&server).opened_at.expect("it stood");
    let results = &account(&server).results;
    assert_eq!(results[1].since(asked), Span::from_millis(2_000 + 640));
    assert_eq!(
        account(&client).results[1].since(results[1]),
        Span::from_millis(3 + 1),
        "driven a millisecond later"
    );
}

#[test]
fn a_message_longer_than_a_piece_is_decoded_in_pieces() {
    let decoder = Service { piece_bytes: 3_000, ..service() };
    let [_, server] = converse(ends(Speech { decoder, ..speech() }), u32::MAX, u32::MAX);
    let [_, whole] = converse(ends(speech()), u32::MAX, u32::MAX);
    assert_eq!(account(&server).decoding, account(&whole).decoding);
    // 12 800 octets are known after the second block's second piece, at 14 000; not after all of it.
    let early = account(&whole).results[0].since(account(&server).results[0]);
    assert_eq!(early, Span::from_nanos(2_000 * 500_000 / 32));
}

/// asyncio lets 64 KiB wait, and looks after every 256 KiB.
#[test]
fn a_program_stops_where_its_buffer_is_full() {
    let long = Speech { audio_bytes: 800_000, length_ns: 25_000 * MS, paced: false, ..speech() };
    let [mut client, _] = ends(long);
    let (mut there, mut back) = (Pipe::default(), Pipe::default());
    back.data.push_back(voxpath_wire::Payload::pattern(1, 0, 200));
    back.len = 200;
    let mut turn = |room: u32, now: u64, there: &mut Pipe| {
        let socket = Socket { outgoing: there, incoming: &mut back, room, read: u32::MAX };
        drive(&mut client, ms(now), socket);
        account(&client).messages.len()
    };
    // Of 33 messages the last is more than 256 KiB: it is begun, and the program waits.
    assert_eq!(turn(10_000, 0, &mut there), 32);
    let waits = 400 + 33 * masked(8_000) - 10_000;
    let room = |left: u64| (10_000 + waits - left) as u32;
    assert_eq!(turn(room((1 << 14) + 1), 1, &mut there), 32, "more than 16 KiB wait");
    assert_eq!(turn(room(1 << 14), 2, &mut there), 33 + 32, "then it goes on to the next look");
}

#[test]
fn a_speaker_who_leaves_is_followed() {
    let [mut client, mut server] = ends(speech());
    let (mut there, mut back) = (Pipe::default(), Pipe::default());
    for now in 0..400 {
        if now == 300 {
            client.stop();
        }
        drive(
            &mut client,
            ms(now),
            Socket { outgoing: &mut there, incoming: &mut back, room: 99_999, read: 9_999 },
        );
        drive(
            &mut server,
            ms(now),
            Socket { outgoing: &mut back, incoming: &mut there, room: 99_999, read: 9_999 },
        );
    }
    assert!(client.record().finished && server.record().finished && there.closed && back.closed);
    assert_eq!((client.record().completed_at, account(&client).messages.len()), (None, 1));
    assert_eq!((client.poll_timeout(), server.poll_timeout()), (None, None));
}

#[test]
fn what_varies_is_drawn_alike_from_one_seed_and_keeps_its_mean() {
    let varied = Service { spread: 0.3, jitter: 0.4, finishing_spread: 0.2, ..service() };
    let took = |seed: u64| {
        let speech = Speech { decoder: varied.clone(), paced: false, ..speech() };
        let [_, server] = converse(drawn(speech, seed), u32::MAX, u32::MAX);
        account(&server).decoding
    };
    assert_eq!(took(7), took(7));
    assert_ne!(took(7), took(8));
    let all: Vec<f64> = (0..400).map(|seed| took(seed).as_secs_f64()).collect();
    let mean = all.iter().sum::<f64>() / 400.0;
    let error = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 400.0 / 399.0).sqrt();
    assert!((mean - 0.64).abs() < 4.0 * error, "{mean} is not 0.64 (error {error})");
}

/// Not as the piece's length says that was the last to come.
#[test]
fn speech_that_is_decoded_all_at_once_varies_as_its_length_says() {
    let decoder = Service { jitter: 0.4, ..service() };
    // 25 quarters of a second were heard before the segment counts as one, at the last octets of the audio.
    let late = Segment { begins_bytes: 32_000, lead_ns: 6_250 * MS, ends_bytes: None };
    let took = |seed: u64| {
        let speech = Speech { decoder: decoder.clone(), segments: vec![late], paced: false, ..speech() };
        let [_, server] = converse(drawn(speech, seed), u32::MAX, u32::MAX);
        account(&server).decoding.as_secs_f64()
    };
    let all: Vec<f64> = (0..400).map(took).collect();
    let mean = all.iter().sum::<f64>() / 400.0;
    let deviation = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 399.0).sqrt();
    let expected = 3.125 * 0.4 / 5.0;
    assert!((deviation / expected - 1.0).abs() < 0.15, "{deviation} is not {expected}");
}

proptest! {
    /// However the streams are cut, every octet comes, and nothing that is understood depends on it.
    #[test]
    fn cutting_changes_nothing_but_times(room in 40_u32..20_000, read in 1_u32..20_000, paced: bool) {
        let [client, server] = converse(ends(Speech { paced, ..speech() }), room, read.max(40));
        prop_assert_eq!(client.record().wrong_octets + server.record().wrong_octets, 0);
        prop_assert_eq!(account(&client).results.len(), 2);
        prop_assert_eq!(account(&server).messages.len(), 5);
        prop_assert_eq!(account(&server).decoding, Span::from_millis(640));
        prop_assert!(client.record().completed_at.is_some() && server.record().completed_at.is_some());
    }
}
