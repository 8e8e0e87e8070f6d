//! A speech session: what is due when, and the arithmetic of the decoder's queue.
#![allow(missing_docs)]

mod common;

use common::*;
use proptest::prelude::*;
use std::sync::Arc;
use voxpath_apps::Application;
use voxpath_apps::speech::decoder::{Decoder, Segment, Service};
use voxpath_apps::speech::server::Worker;
use voxpath_apps::speech::{Account, Client, Server, Talk, Told, frame, masked};
use voxpath_net::Seed;
use voxpath_units::{Span, Time};

/// Half a second for each second, 40 ms and a tenth of the segment at its end; nothing varies.
fn service() -> Service {
    Service {
        curve: Vec::new(),
        per_second: Span::from_millis(500),
        listening: Span::ZERO,
        finishing: Span::from_millis(40),
        finishing_per_second: Span::from_millis(100),
        spread: 0.0,
        jitter: 0.0,
        finishing_spread: 0.0,
    }
}

/// A second of audio, 32 octets a millisecond, in blocks of a quarter; a partial result after 400 ms, and a final one.
fn talk() -> Talk {
    let told = |after, octets, spoken| Told { after, octets, spoken };
    Talk {
        request: 400,
        response: 200,
        audio: 32_000,
        length: Span::from_secs(1),
        block: 8_000,
        results: vec![told(Some(12_800), 150, None), told(None, 300, Some(28_000))],
        farewell: 250,
    }
}

const WORKER: Worker = Worker { piece: 32_000, waiting: Span::ZERO, forwarding: Span::ZERO };
const WHOLE: Segment = Segment { begins: 0, lead: Span::ZERO, ends: None };

fn ends(
    talk: Talk,
    is_paced: bool,
    worker: Worker,
    service: Service,
    segments: &[Segment],
) -> [Application; 2] {
    let talk = Arc::new(talk);
    let decoder = Decoder::new(service, segments.to_vec(), Seed::new(1, 0).stream("decoder"));
    let server = Server::new(Arc::clone(&talk), worker, decoder, 0, 1);
    [
        Application::SpeechClient(Client::new(talk, is_paced, 0, 1)),
        Application::SpeechServer(Box::new(server)),
    ]
}

fn account(app: &Application) -> &Account {
    app.record().speech().expect("both ends have one")
}

/// Milliseconds of each time.
fn millis(times: &[Time]) -> Vec<u64> {
    times.iter().map(|at| at.as_nanos() / 1_000_000).collect()
}

#[test]
fn paced_audio_is_sent_when_it_is_over_and_decoded_as_it_comes() {
    let both = ends(talk(), true, WORKER, service(), &[WHOLE]);
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
    let [client, server] = converse(ends(talk(), false, WORKER, service(), &[WHOLE]), u32::MAX, u32::MAX);
    let opened = account(&client).opened_at.expect("it stood");
    assert!(account(&client).messages.iter().all(|&at| at == opened), "32 kB fit into every buffer");
    let first = account(&server).messages[0];
    let after: Vec<u64> =
        account(&server).results.iter().map(|at| at.since(first).as_nanos() / 1_000_000).collect();
    assert_eq!(after, [250, 640], "two blocks of 125 ms, four and the end");
}

#[test]
fn a_decoder_that_is_slower_than_speech_falls_behind_by_what_it_is_slower() {
    let slow = Service { per_second: Span::from_millis(1_600), ..service() };
    let [client, server] = converse(ends(talk(), true, WORKER, slow, &[WHOLE]), u32::MAX, u32::MAX);
    let opened = account(&client).opened_at.expect("it stood");
    // Blocks take 400 ms each, one after the other from the first one's arrival on.
    let last = account(&server).results[1].since(opened);
    assert_eq!(last, Span::from_millis(250 + 4 * 400 + 140));
}

#[test]
fn what_is_held_back_is_decoded_at_once() {
    // Nothing for 600 ms, then 300 ms for these, then as before.
    let curve = vec![(600, 0), (601, 300)];
    let curve = curve.into_iter().map(|(x, y)| (Span::from_millis(x), Span::from_millis(y))).collect();
    let holding = Service { curve, ..service() };
    let [client, server] = converse(ends(talk(), true, WORKER, holding, &[WHOLE]), u32::MAX, u32::MAX);
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
    let segment = Segment { begins: 6_400, lead: Span::from_millis(150), ends: Some(22_400) };
    let told = Told { after: Some(22_400), octets: 300, spoken: Some(16_000) };
    let talk = Talk { results: vec![told], ..talk() };
    assert_eq!(talk.decided_by(told.after), 2);
    let [client, server] = converse(ends(talk, true, WORKER, service(), &[segment]), u32::MAX, u32::MAX);
    let opened = account(&client).opened_at.expect("it stood");
    // Of the third block 200 ms are speech; the segment has 650 ms, and ends with 40 ms and a tenth of that.
    let result = account(&server).results[0].since(opened);
    assert_eq!(result, Span::from_millis(750 + 100 + 40 + 65));
    assert_eq!(account(&server).decoding, Span::from_millis(325 + 105), "the rest is no speech");
}

#[test]
fn a_worker_that_is_waited_for_and_one_that_is_far_come_on_top() {
    let worker = Worker { waiting: Span::from_millis(2_000), forwarding: Span::from_millis(3), ..WORKER };
    let [client, server] = converse(ends(talk(), true, worker, service(), &[WHOLE]), u32::MAX, u32::MAX);
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
    let worker = Worker { piece: 3_000, ..WORKER };
    let [_, server] = converse(ends(talk(), true, worker, service(), &[WHOLE]), u32::MAX, u32::MAX);
    let [_, whole] = converse(ends(talk(), true, WORKER, service(), &[WHOLE]), u32::MAX, u32::MAX);
    assert_eq!(account(&server).decoding, account(&whole).decoding);
    // 12 800 octets are known after the second block's second piece, at 14 000; not after all of it.
    let early = account(&whole).results[0].since(account(&server).results[0]);
    assert_eq!(early, Span::from_nanos(2_000 * 500_000 / 32));
}

/// asyncio lets 64 KiB wait, and looks after every 256 KiB.
#[test]
fn a_program_stops_where_its_buffer_is_full() {
    let talk = Talk { audio: 800_000, length: Span::from_secs(25), ..talk() };
    let [mut client, _] = ends(talk, false, WORKER, service(), &[WHOLE]);
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
    let [mut client, mut server] = ends(talk(), true, WORKER, service(), &[WHOLE]);
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
        let talk = Arc::new(talk());
        let decoder = Decoder::new(varied.clone(), vec![WHOLE], Seed::new(seed, 0).stream("decoder"));
        let server =
            Application::SpeechServer(Box::new(Server::new(Arc::clone(&talk), WORKER, decoder, 0, 1)));
        let client = Application::SpeechClient(Client::new(talk, false, 0, 1));
        let [_, server] = converse([client, server], u32::MAX, u32::MAX);
        account(&server).decoding
    };
    assert_eq!(took(7), took(7));
    assert_ne!(took(7), took(8));
    let all: Vec<f64> = (0..400).map(|seed| took(seed).as_secs_f64()).collect();
    let mean = all.iter().sum::<f64>() / 400.0;
    let error = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 400.0 / 399.0).sqrt();
    assert!((mean - 0.64).abs() < 4.0 * error, "{mean} is not 0.64 (error {error})");
}

proptest! {
    /// However the streams are cut, every octet comes, and nothing that is understood depends on it.
    #[test]
    fn cutting_changes_nothing_but_times(room in 40_u32..20_000, read in 1_u32..20_000, is_paced: bool) {
        let [client, server] = converse(ends(talk(), is_paced, WORKER, service(), &[WHOLE]), room, read.max(40));
        prop_assert_eq!(client.record().wrong_octets + server.record().wrong_octets, 0);
        prop_assert_eq!(account(&client).results.len(), 2);
        prop_assert_eq!(account(&server).messages.len(), 5);
        prop_assert_eq!(account(&server).decoding, Span::from_millis(640));
        prop_assert!(client.record().completed_at.is_some() && server.record().completed_at.is_some());
    }
}
